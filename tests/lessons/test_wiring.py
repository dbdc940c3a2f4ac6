"""The lesson "A named step", requirement by requirement, as a person sees it on the page."""

import json
import random
import re
from fractions import Fraction
from pathlib import Path

import pytest

from normscope.block import exact
from normscope.lessons.site import respond
from normscope.lessons.wiring import panels
from normscope.lessons.wiring.fold import boxes_of, panels_of
from normscope.mistakes import check
from tests.lessons.dom import Node, parse

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "lessons.json").read_text())["B"]
PANELS = ["residual", "mu", "c", "var", "norm", "closing"]


def page(query: str = "") -> Node:
    status, _, body = respond("/named", query)
    assert status == 200, body
    return parse(body)


def panel(name: str, more: str = "") -> Node:
    """The page at a panel, with its answer shown."""
    shown = f"guesses={name}:" if name in ("mu", "c", "var") else ""
    return page("&".join(filter(None, [f"panel={PANELS.index(name)}", shown, more])))


def said(node: Node) -> str:
    """Mathematics as a line of text: fractions as a/b, roots as sqrt(...)."""
    if node.tag == "#text":
        return node.words[0]
    parts = [said(child) for child in node.children]
    if node.tag == "mfrac":
        return f"{parts[0]}/{parts[1]}" if all(part.isdigit() for part in parts) else f"({parts[0]})/({parts[1]})"
    if node.tag == "msqrt":
        return f"sqrt({''.join(parts)})"
    if node.tag == "msup":
        return f"{parts[0]}^{parts[1]}"
    return "".join(parts)


def formulas(tree: Node) -> list[str]:
    return [said(math).replace("−", "-").replace("\u2062", "") for math in tree.one(id="mathematics").all("math")]


def test_lesson_B1_the_residual_add_is_exact():
    assert formulas(panel("residual")) == ["residuali=(2+1,3+(-1))=(3,2)"]
    assert GOLDEN["residual"] == ["3", "2"]
    assert "statistics from this sum" in panel("residual").one(id="heading").text


def test_lesson_B2_mean_centered_and_variance_are_fractions():
    assert formulas(panel("mu")) == ["μ=(3+2)/(2)=5/2".replace("(3+2)/(2)", "(3+2)/(2)")]
    assert formulas(panel("c")) == ["ci=(3-5/2,2-5/2)=(1/2,-1/2)"]
    assert formulas(panel("var")) == ["σ²=((1/2)^2+(-1/2)^2)/(2)=1/4"]
    assert (GOLDEN["mean"], GOLDEN["centered"], GOLDEN["variance"]) == ("5/2", ["1/2", "-1/2"], "1/4")


def test_lesson_B3_the_root_is_named_and_no_decimal_is_pinned_to_it():
    tree = panel("norm")
    assert "Subtract the mean, then divide by sqrt(1/4)." in tree.one(id="heading").text
    (line,) = formulas(tree)
    assert line.count("sqrt(1/4)") == 2
    assert not re.search(r"\d\.\d", tree.one("main", id="main").text)
    assert not re.search(r"\d\.\d", panel("closing").one("main", id="main").text)


def test_lesson_B4_five_boxes_and_what_is_computed_in_this_step():
    assert boxes_of(exact(["2", "3"], update=["1", "-1"]).program) == ("residual", "mu", "c", "var", "norm")
    for name in PANELS[:-1]:
        drawing = panel(name).one(id="drawing")
        for svg in drawing.all("svg"):
            assert "computed in this step" in svg.text
        assert drawing.all("svg")[0].text.count("computed in this step") >= 1
    words = panel("var").all("desc")[0].text
    assert panel("var").one(id="say").text == "panel 4 of 6: variance, computed in this step: 1/4."
    assert "5 boxes: 4 exact, 1 named" in words and "variance, exact, computed in this step: 1/4" in words


def test_lesson_B4_a_switch_opens_all_steps():
    words = page("panel=5&every=1").all("desc")[0].text
    for name in ("squares", "v, exact", "r, named", "xhat, named"):
        assert name in words
    assert "10 boxes" in words


def test_lesson_B5_every_panel_has_a_heading_sentences_mathematics_and_a_diagram():
    for name in PANELS:
        tree = panel(name)
        assert len(tree.one(id="heading").all("h2")) == 1
        assert 1 <= tree.one(id="heading").one("p").text.count(".") <= 3
        assert formulas(tree)
        for svg in tree.one(id="drawing").all("svg"):
            assert svg.attributes["role"] == "img" and svg.attributes["aria-labelledby"]
    assert "What was exact, and what was named" in panel("closing").text
    assert len(formulas(panel("closing"))) == 5


def test_lesson_B6_any_rationals_and_the_boundary_opened():
    more = GOLDEN["more"][0]
    query = f"x={','.join(more['x'])}&update=0,0,0&eps={more['eps']}&panel=4&opened=1&digits=12"
    tree = page(query)
    made = exact(more["x"], update=[0, 0, 0])
    assert made.written("xhat") == more["xhat_closed"]
    assert formulas(tree)[0].endswith("(-2/7sqrt(14),-1/14sqrt(14),5/14sqrt(14))")
    digits = [li.text for li in tree.one(id="boundary").all("li")]
    assert digits == ["-1.069044967650", "-0.267261241912", "1.336306209562"]


def test_lesson_B6_opened_at_eps_0_the_lessons_own_vector_is_1_and_minus_1():
    tree = panel("norm", "opened=1&digits=3")
    assert formulas(tree)[0].endswith("=(1,-1)") and GOLDEN["opened_eps_0"] == ["1", "-1"]
    assert [li.text for li in tree.one(id="boundary").all("li")] == ["1.000", "-1.000"]


def test_lesson_B6_fractions_any_length_gamma_and_beta():
    tree = panel("norm", "x=2/3,0.1,-1,4&update=0,0,0,1/2&gamma=2,2,2,1/3&beta=0,0,1,1&opened=1")
    made = exact(["2/3", "0.1", "-1", "4"], gamma=[2, 2, 2, "1/3"], beta=[0, 0, 1, 1], update=[0, 0, 0, "1/2"])
    assert [li.text for li in tree.one(id="boundary").all("li")] == made.digits("y", 30)
    assert len(formulas(tree)) == 2


def test_lesson_B6_symbolic_eps_shows_the_formula_and_asks_for_a_value():
    tree = panel("norm", "eps=eps&opened=1")
    assert "sqrt(1/4+ε)" in formulas(tree)[0].replace("eps", "ε")
    assert "give it a value" in tree.one(id="boundary").text


def test_lesson_B6_pre_norm_adds_last():
    tree = page("wiring=pre&panel=4")
    assert tree.one(id="heading").text.startswith("5. Residual add")
    assert "Pre-norm" in tree.one(id="wired").text and "Post-norm" in page().one(id="wired").text
    assert formulas(page("wiring=pre&panel=0&guesses=mu:")) == ["μ=(2+3)/(2)=5/2"]


def test_a_constant_vector_is_undefined_and_says_so():
    tree = panel("norm", "x=1,1&update=0,0&opened=1")
    assert "undefined: 0/0" in tree.one(id="mathematics").text
    with_eps = panel("norm", "x=1,1&update=0,0&opened=1&eps=1/100000").one(id="boundary")
    assert with_eps.all("li")[0].text == "0." + "0" * 30


def test_rms_norm_has_three_boxes():
    assert panels_of(exact(["2", "3"], _rms(), update=["1", "-1"]).program) == ("residual", "var", "norm", "closing")
    assert formulas(page("norm=rms_norm&panel=1&guesses=var:")) == ["m=(3^2+2^2)/(2)=13/2"]


def _rms():
    from normscope.norm import rms_norm

    return rms_norm(elementwise_affine=False)


@pytest.mark.parametrize("name", ["mu", "c", "var"])
def test_predict_then_reveal(name):
    at = PANELS.index(name)
    hidden = page(f"panel={at}")
    assert formulas(hidden)[0].endswith("=?") and hidden.one("input", id=f"set-guess.{name}")
    assert formulas(page(f"panel={at}&guesses={name}:"))[0][-1] != "?"
    assert formulas(page(f"panel={at + 1}"))


@pytest.mark.parametrize(
    ("name", "answer", "words"),
    [
        ("mu", "5/2", "is right"),
        ("mu", "5", "leave out the division"),
        ("var", "1/2", "divide by n - 1 = 1 instead of n = 2"),
        ("var", "13/2", "forget to center before squaring"),
        ("c", "1/2,-1/2", "is right"),
        ("c", "-1/2,1/2", "comes out when you"),
        ("mu", "17", "no mistake known here gives it"),
    ],
)
def test_a_guess_is_answered_with_the_mistake_that_gives_it(name, answer, words):
    line = respond("/named", f"panel={PANELS.index(name)}&do=guess.{name}:{answer}&patch=")[2].splitlines()[0]
    assert words in page(line).one(id="guess").text


def test_an_answer_is_judged_once_a_drawing(monkeypatch):
    asked = []
    monkeypatch.setattr(panels, "judged", lambda *given: asked.append(given) or check(*given))
    tree = page("panel=1&guesses=mu:7")
    assert len(asked) == 1
    assert "7 is not it" in tree.one(id="guess").text and "7 is not it" in tree.one(id="say").text


MISTAKES = {
    "x:two": "x holds 'two'; give a whole number, a fraction such as 2/3 or a decimal such as 0.1.",
    "x:1/0,2": "x holds '1/0', which divides by 0; give a whole number, a fraction such as 2/3 or a decimal such "
    "as 0.1.",
    "x:": "x is empty; type up to 8 numbers, such as 2, 2/3, 0.1.",
    "update:1,2,3": "update has shape (3,); the residual add x + update needs that of x, (2,).",
    "x:1,2,3,4,5,6,7,8,9": "x has 9 numbers; here a vector has at most 8.",
    "eps:-1": "eps is -1; it must not be negative: it keeps variance + eps above zero.",
    "digits:1001": "1,001 decimals are asked for; 0 to 1,000 can be had.",
    "gamma:1": "gamma has shape (1,); LayerNorm over d of x (d=2) needs (2,).",
}


@pytest.mark.parametrize("action", MISTAKES)
def test_bad_input_gets_a_message_beside_the_field_and_changes_nothing(action):
    field, _, value = action.partition(":")
    line = respond("/named", f"v=1&panel=4&opened=1&do={action}&patch=")[2].splitlines()[0]
    tree = page(line)
    assert tree.one("p", id=f"bad-{field}").text == MISTAKES[action]
    assert tree.one("input", id=f"set-{field}").attributes["value"] == value
    assert formulas(tree) == formulas(page("panel=4&opened=1"))


@pytest.mark.parametrize(
    ("x", "update", "gamma"), [("1,2,3", "1,-1,0", "2,2,1"), ("7", "1", "2"), ("1/2, 3", "1,-1", "2,2")]
)
def test_the_other_vectors_follow_the_length_of_x(x, update, gamma):
    line = respond("/named", f"v=1&gamma=2,2&do=x:{x}&patch=")[2].splitlines()[0]
    tree = page(line)
    assert tree.one("input", id="set-update").attributes["value"] == update
    assert tree.one("input", id="set-gamma").attributes["value"] == gamma


def test_a_number_of_a_million_digits_is_refused():
    line = respond("/named", "v=1&do=x:" + "1" * 50_000 + ",2&patch=")[2].splitlines()[0]
    assert "1,000 digits" in page(line).one("p", id="bad-x").text


def test_the_strings_on_the_page_are_those_of_the_exact_view():
    draw = random.Random(3)

    def number() -> str:
        return str(Fraction(draw.randint(-30, 30), draw.randint(1, 12)))

    for _ in range(200):
        d = draw.randint(1, 8)
        x, update = [number() for _ in range(d)], [number() for _ in range(d)]
        made = exact(x, update=update)
        words = (
            page(f"x={','.join(x)}&update={','.join(update)}&panel=5&opened=1&every=1&digits=20").all("desc")[0].text
        )
        tree = page(f"x={','.join(x)}&update={','.join(update)}&panel=5&opened=1&digits=20")
        assert [li.text for li in tree.one(id="boundary").all("li")] == made.digits("xhat", 20)
        for name in ("mu", "var"):
            assert f": {made.written(name)[0]};" in words
        assert f": ({', '.join(made.written('xhat'))})" in words if d > 1 else made.written("xhat")[0] in words


def test_a_pre_norm_add_is_wired_to_its_inputs():
    wide = page("wiring=pre").one(id="drawing").all("svg")[0]
    wires = {(g.attributes["data-from"], g.attributes["data-to"]) for g in wide.all("g") if "data-from" in g.attributes}
    assert {("x", "residual"), ("update", "residual"), ("x", "mu"), ("x", "c")} <= wires


@pytest.mark.parametrize("name", PANELS)
def test_no_box_moves_and_no_title_is_broken_as_the_panels_go_by(name):
    svg = panel(name).one(id="drawing").all("svg")[0]
    first = page().one(id="drawing").all("svg")[0]
    corners = [[rect.attributes["x"] for rect in each.all("rect", class_="outline")] for each in (svg, first)]
    assert corners[0] == corners[1] and len(corners[0]) == 5
    assert "mean" in [text.text for text in svg.all("text", class_="title")]


@pytest.mark.parametrize("query", ["every=2", "opened=x", "guesses=mu:1,2", "guesses=c:1"])
def test_an_address_that_fits_no_state_is_told(query):
    assert respond("/named", query)[0] == 400


def test_the_named_panel_says_where_its_root_comes_from():
    assert "divide by sqrt(7/12) (that is 1/4 + eps)." in panel("norm", "eps=1/3").one(id="heading").text
    assert "All cells are alike" in panel("norm", "x=1,1&update=0,0").one(id="heading").text
    assert "All cells are 0" in page("x=0,0&update=0,0&norm=rms_norm&panel=2").one(id="heading").text
