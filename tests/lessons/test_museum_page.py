"""The page "Mistakes": what a person's actions do, what is drawn, and the question that hides a mistake."""

import random
import subprocess
import sys
from fractions import Fraction
from itertools import chain
from pathlib import Path

import pytest

import normscope
from normscope.lessons.museum.catalogue import EXHIBITS, of_kind
from normscope.lessons.museum.formulas import formulas
from normscope.lessons.museum.outcome import NEAR, NEAR_ROUNDED, alike, read, sides
from normscope.lessons.museum.page import LESSON
from normscope.lessons.museum.quiz import askable, question
from normscope.lessons.museum.slips import KINDS
from normscope.lessons.museum.usual import findings
from normscope.lessons.state import split
from tests.lessons.dom import parse
from tests.lessons.test_site import get, main_of, patched, plain


def page(query="v=1"):
    return parse(get(f"/mistakes?{query}")[2])


def state(query):
    return LESSON.state_of(split(query), {})


def text(query, id):
    return page(query).one(id=id).text


@pytest.mark.parametrize("id", EXHIBITS)
def test_every_exhibit_says_all_that_it_must(id):
    drawn, exhibit = page(f"v=1&show={id}"), EXHIBITS[id]
    assert exhibit.name in drawn.one(id="heading").text and id in drawn.one(id="heading").text
    assert [node.text for node in drawn.one(id="definitions").all("h3")] == ["✓ The right one", "✗ This one"]
    assert drawn.one(id="definitions").all("math")
    off = drawn.one(id="outputs").all("td", class_="off")
    assert off and all("≠ differs" in cell.text for cell in off)
    assert f"normscope check FILE.py:{exhibit.function}" == drawn.one(id="command").text
    links = [node.attributes["href"] for node in drawn.one(id="wild").all("a")]
    assert links == ([exhibit.seen] if exhibit.seen else [])
    through = sum(each.passes is True for each in findings(id))
    assert drawn.one(id="usual").text.count("✗ lets it through") == through
    assert f"{through} of these" in drawn.one(id="usual").text


def test_a_differing_line_is_marked_by_a_sign_and_a_word():
    definitions = page("v=1&show=eps-outside-root").one(id="definitions")
    (marked,) = definitions.one(class_="wrong").all("div", class_="differs")
    assert marked.text.endswith("≠ differs") and "ε" in marked.text


def test_an_edit_runs_both_again():
    assert "2 of 2 cells differ" in text("v=1", "outputs")
    assert state("v=1&do=x:1,2,6").texts == (("x", "1,2,6"), ("gamma", "1,1,1"), ("beta", "0,0,0"), ("eps", "0"))
    assert "all 2" in text("v=1&show=eps-missing&do=eps:0", "outputs")  # both divide by 0


def test_the_figures_of_a_public_case():
    # https://github.com/pytorch/pytorch/issues/22192, on the input of the case: 1.2247 where equal weights give 1
    assert "1.2247" in text("v=1&show=chunks-merged-with-equal-weights&do=x:0,0,0,6,6", "outputs")


@pytest.mark.parametrize(
    ("action", "told"),
    [
        ("x:", "x has an empty row"),
        ("x:1,2;3", "differ in length"),
        ("x:1,q", "x holds 'q'"),
        ("x:1,2,3,4,5,6,7,8,9", "at most 4 rows of 8"),
        ("x:1", "one feature"),
        ("x:1234567890123,2", "at most 12 signs"),
        ("gamma:1", "gamma has 1 numbers; x has 2"),
        ("gamma:", "gamma is empty"),
        ("eps:-1", "must be 0 or more"),
        ("eps:1,2", "eps is one number"),
        ("dy:1,2", "takes no dy"),
        ("show:nothing", "is none of wrong-axes, "),
        ("odd:1", "no field 'odd'"),
    ],
)
def test_a_refused_value_stands_at_its_field_and_says_why(action, told):
    drawn = page(f"v=1&do={action}")
    field = action.partition(":")[0]
    message = drawn.one(class_="bad")
    assert told in message.text
    boxes = drawn.all("input", aria_describedby=message.attributes["id"])
    assert [box.attributes["data-do"] for box in boxes] == ([field] if field in ("x", "gamma", "eps") else [])
    assert told in drawn.one(id="say").text
    assert "cells differ" in drawn.one(id="outputs").text


@pytest.mark.parametrize(
    ("id", "x", "told"),
    [
        ("keepdims-dropped", "1,2,3", "fails loudly"),
        ("statistics-per-chunk", "1,2,3", "even count"),
        ("block-bleeds-into-next-row", "1,2,3,4", "needs 6"),
        ("ignores-offset-and-strides", "1,2", "a row before it"),
        ("affine-per-group", "1,2", "at least 4"),
    ],
)
def test_a_shape_that_a_mistake_cannot_have_is_refused(id, x, told):
    assert told in page(f"v=1&show={id}&do=x:{x}").one(class_="bad").text


@pytest.mark.parametrize(("typed", "x"), [("1 / 2, 3", "1/2,3"), ("1/ 2 3;5, 7 /3", "1/2,3;5,7/3")])
def test_blanks_round_a_slash_do_not_cut_a_fraction(typed, x):
    edited = state(f"v=1&do=x:{typed}")
    assert edited.x == x and edited.bad is None
    rows = read(edited.show, edited.texts)["x"]
    assert rows == [[Fraction(word) for word in row.split(",")] for row in x.split(";")]


def test_the_first_field_that_is_wrong_is_named_whatever_the_hash_seed():
    assert "gamma has 2 numbers" in get("/mistakes?v=1&x=1,2,3")[2]


def test_reset_another_exhibit_and_another_kind():
    edited = state("v=1&do=x:4,9&do=eps:2")
    assert (edited.x, edited.eps) == ("4,9", "2")
    assert state("v=1&x=4,9&do=reset:1").x == ""
    assert state("v=1&x=4,9&do=show:eps-twice").texts == tuple(EXHIBITS["eps-twice"].given.items())
    for kind in KINDS:
        chosen = state(f"v=1&do=kind:{kind}")
        assert EXHIBITS[chosen.show].kind == kind
        options = page(f"v=1&do=kind:{kind}").one("select", id="set-show").all("option")
        assert [node.attributes["value"] for node in options] == list(of_kind(kind))


def test_an_address_that_cannot_be_is_refused():
    for query in ("show=none", "kind=odd", "x=1,2;3", "gamma=1", "dy=1,2", "seed=0", "quiz=1&pick=none", "momentum=1"):
        assert get(f"/mistakes?v=1&{query}")[0] == 400, query
    assert "from 1 to 999,999" in get("/mistakes?v=1&quiz=1&seed=1000000")[2]


def test_one_edit_is_a_small_patch():
    whole, patch = len(get("/mistakes?v=1")[2]), get("/mistakes?v=1&do=eps:2&patch=")[2]
    assert len(patch) < whole / 4 and patch.count("<template>") == 2  # settings, outputs


def test_a_patched_page_is_the_page_drawn_afresh():
    draw = random.Random(3)
    does = ["x:1,2,4", "x:q", "eps:2", "gamma:2,1", "reset:1", "kind:block", "kind:all", "quiz:1", "quiz:0", "next:1"]
    does += [f"show:{id}" for id in EXHIBITS] + [f"pick:{id}" for id in question(1).options]
    query, shown = "v=1", main_of(get("/mistakes?v=1")[2])
    for _ in range(60):
        body = get(f"/mistakes?{query}&do={draw.choice(does)}&patch=")[2]
        query, shown = patched(shown, body)
        assert plain(shown) == plain(main_of(get(f"/mistakes?{query}")[2])), query


def test_every_exhibit_and_question_is_drawn_where_numpy_cannot_be_imported():
    code = f"""
import sys
sys.path.insert(0, {str(Path(normscope.__file__).parent.parent)!r})
sys.modules.update(dict.fromkeys(("numpy", "ml_dtypes", "torch")))  # None: each import of one raises ImportError
from normscope.lessons.museum.catalogue import EXHIBITS
from normscope.lessons.site import respond
queries = ["v=1&quiz=1", *(f"v=1&show={{id}}" for id in EXHIBITS)]
print({{respond("/mistakes", query)[0] for query in queries}})
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "{200}\n"


# ---- Which is it?


def test_only_the_hidden_mistake_gives_these_numbers():
    assert len(askable()) >= 24
    for seed in range(1, 60):
        asked = question(seed)
        hidden = EXHIBITS[asked.id]
        near = NEAR_ROUNDED if hidden.is_rounded else NEAR
        wanted = list(chain(*sides(hidden, read(asked.id, asked.texts))[1]))
        fitting = []
        for id in asked.options:
            made = list(chain(*sides(EXHIBITS[id], read(id, asked.texts))[1]))
            fitting += [id] if all(alike(a, b, near) for a, b in zip(made, wanted, strict=True)) else []
        assert fitting == [asked.id] and 3 <= len(set(asked.options)) == len(asked.options)


def test_nothing_is_told_before_the_answer():
    hidden = question(1).id
    drawn = page("v=1&quiz=1")
    assert not drawn.one(id="answer").children and not drawn.all(id="definitions")
    before = drawn.one(id="say").text + drawn.one(id="asked").text + drawn.one(id="outputs").text
    assert EXHIBITS[hidden].name not in before and hidden not in before


def test_the_answer_is_judged_with_the_evidence():
    asked = question(1)
    right = page(f"v=1&quiz=1&do=pick:{asked.id}").one(id="answer")
    assert right.one(class_="guess").one(class_="right").text.startswith("Right: ")
    assert right.one(id="fingerprint").all("td")
    other = next(id for id in asked.options if id != asked.id)
    wrong = page(f"v=1&quiz=1&do=pick:{other}").one(id="answer")
    assert f"It is: {EXHIBITS[asked.id].name}." in wrong.one(class_="guess").one(class_="wrong").text
    assert "That one gives" in wrong.text
    again = page(f"v=1&quiz=1&do=pick:{other}&do=pick:{asked.id}")
    assert "is answered" in again.one(class_="bad").text
    assert state("v=1&quiz=1&do=next:1").seed == 2


def test_what_a_usual_test_misses_is_said_of_what_the_exhibit_computes():
    assert "y.sum()" in text("v=1&show=mean-term-missing", "usual")
    for id in ("momentum-inverted", "running-variance-biased"):
        said = text(f"v=1&show={id}", "usual")
        assert "y.sum()" not in said and "running statistics" in said


def test_a_maximum_says_over_what_and_a_new_statistic_has_a_letter():
    exhibit = EXHIBITS["eps-after-rescale"]
    assert "t[s,i] = x[s,i] / max_i(abs(x[s,i]))" in map(str, formulas(exhibit, exhibit.wrong))
    drawn = page("v=1&show=momentum-inverted").one(id="definitions")
    assert "new_running" not in drawn.text and "μ̄′" in drawn.text
