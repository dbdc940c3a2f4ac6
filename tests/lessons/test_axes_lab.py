"""The axes lab, requirement by requirement, as a person sees it on the page."""

import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from tests.lessons.axes import after, card, formula, line, marks, numbers, page, percent, plain, signals, state

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "lessons.json").read_text())["C"]
SHOWN = GOLDEN["shown"]
NAMES = ("The", "cat", "sat")


def test_lesson_C1_three_tokens_with_four_features_and_cat_selected():
    tree = page()
    body = tree.one("tbody", data_t="x")
    heads = [row.one("th").text for row in body.all("tr")]
    assert heads == list(NAMES) == GOLDEN["tokens"]
    assert signals(tree) == [[str(float(v)).removesuffix(".0") for v in GOLDEN["x"][name]] for name in NAMES]
    assert signals(tree, "gamma") == [["1.2", "0.8", "1", "1"]] and signals(tree, "beta") == [
        ["0.1", "-0.2", "0", "0.4"]
    ]
    (chosen,) = tree.one("div", class_="signals").all("td", aria_selected="true")
    assert plain(chosen.text) == "-1.00" and chosen in body.all("tr")[1].all("td")[:1]
    assert tree.one("h2", id="selected").text == "cat, feature 1"
    lead = tree.one("p", class_="source").text
    assert "A table of 3 tokens and 4 features" in lead
    assert "illustrative signals, not embeddings; the words only label the rows" in lead


def test_lesson_C1_another_place_is_selected():
    tree = after("sel:x.2.3")
    assert tree.one("h2", id="selected").text == "sat, feature 4"
    assert numbers(tree)[3] == ["-0.100000", "-0.218213", "0.181787"]
    assert tree.one("h2", id="lanes-title").text == "The row of sat"
    tree = after("sel:gamma.2")
    assert tree.one("h2", id="selected").text == "cat, feature 3"
    assert after("sel:", query="v=1&sel=2,3").one("h2", id="selected").text == "sat, feature 4"


def test_lesson_C2_the_entry_has_a_slider_and_a_field_for_the_exact_value():
    tree = page()
    slider = tree.one("input", data_do="drag.x.1.0").attributes
    assert (slider["type"], slider["min"], slider["max"], slider["value"]) == ("range", "-5", "5", "-1")
    field = tree.one("input", data_do="x.1.0").attributes
    assert field["value"] == "-1" and field["data-pair"] == slider["data-pair"]
    exact = after("x.1.0:0.123456789")
    assert exact.one("input", data_do="x.1.0").attributes["value"] == "0.123456789"
    assert signals(exact)[1] == ["0.123456789", "-1", "1", "1"]
    assert "x=0.2,-0.8,0.4,0.1%3B0.123456789,-1,1,1%3B" in state("x.1.0:0.123456789")


def test_lesson_C3_scale_and_shift_have_sliders_and_fields_and_every_token_shares_them():
    tree = page()
    scale, shift = (tree.one("input", data_do=f"drag.{name}.0").attributes for name in ("gamma", "beta"))
    assert [float(scale[end]) for end in ("min", "max")] == GOLDEN["scale_slider"]
    assert (shift["min"], shift["max"]) == ("-2", "2")
    assert scale["aria-valuetext"] == "scale, feature 1: 1.20"
    assert "real ones may be zero or negative" in tree.one("main").text
    for value in ("0", "-3", "1e6"):
        changed = after(f"gamma.0:{value}")
        assert float(changed.one("input", data_do="gamma.0").attributes["value"]) == float(value)
        for token, name in enumerate(NAMES):
            z = Decimal(GOLDEN["layer_norm"][name]["z"][0])
            shown = numbers(after(f"sel:x.{token}.0", query=state(f"gamma.0:{value}")))[0][2]
            assert (
                abs(Decimal(shown) - (z * Decimal(value) + Decimal("0.1")))
                < Decimal("2e-6") + abs(Decimal(value)) / 10**11
            )


def test_lesson_C4_a_row_is_made_constant_and_there_is_a_way_back():
    tree = page()
    (constant,) = [node for node in tree.all("button") if node.text == "Make row constant"]
    assert constant.attributes["data-do"] == "constant:1"
    flat = after("constant:1")
    assert signals(flat)[1] == ["0"] * 4
    assert [row[1:] for row in numbers(flat)] == [
        ["0.000000", "0.100000"],
        ["0.000000", "-0.200000"],
        ["0.000000", "0.000000"],
        ["0.000000", "0.400000"],
    ]
    assert state("constant:1", "reset:1") == "v=1" == state("constant:1", "undo:1")


def test_lesson_C5_three_plots_on_one_fixed_axis_with_a_lane_a_feature():
    tree = page()
    want = [[float(v) for v in GOLDEN["x"]["cat"]], *([float(v) for v in GOLDEN["layer_norm"]["cat"][k]] for k in "zy")]
    for name, values in zip(("x", "xhat", "y"), want, strict=True):
        axis = tree.one("svg", id=f"{name}-axis")
        assert [text.text for text in axis.all("text", class_="nr")] == ["1", "2", "3", "4"]
        assert marks(tree, name) == pytest.approx([percent(v) for v in values], abs=0.01)
        (chosen,) = tree.one("svg", id=f"{name}-marks").all("rect", class_="chosen")
        assert chosen.attributes["y"] == "1"  # the first lane
    ticks = [plain(text.text) for text in tree.one("svg", id="y-axis").all("text") if "class" not in text.attributes]
    assert ticks == [str(tick) for tick in range(GOLDEN["axis"][0], GOLDEN["axis"][1] + 1)]
    captions = [caption.text for caption in tree.one("section", class_="plots").all("figcaption")]
    assert captions[0].startswith("x an activation") and captions[1:] == ["z no unit", "y an activation"]
    chosen = after("sel:x.1.2").one("svg", id="x-marks").one("rect", class_="chosen")
    assert chosen.attributes["y"] == "49"


def test_lesson_C5_what_lies_outside_the_axis_is_marked_at_its_edge_with_its_number():
    tree = after("x.1.0:7.25", "x.1.1:-6")
    assert marks(tree, "x")[:2] == [-100, -100]
    texts = tree.one("svg", id="x-marks").all("text", class_="out")
    assert [plain(text.text) for text in texts] == ["7.25 ▶", "◀ -6.00", "", ""]
    assert [text.attributes["x"] for text in texts[:2]] == ["97.0%", "8.0%"]
    assert marks(after("x.1.0:5", "x.1.1:-5"), "x")[:2] == [97, 8]


def test_lesson_C5_the_axis_fits_only_where_that_is_chosen():
    tree = after("x.1.0:7.25", "zoom:fit")
    ticks = [plain(text.text) for text in tree.one("svg", id="y-axis").all("text") if "class" not in text.attributes]
    assert ticks == ["-2", "0", "2", "4", "6", "8"]
    assert marks(tree, "x")[0] == pytest.approx(percent(7.25, -2, 8), abs=0.01)
    assert page("v=1&zoom=fit").one("option", value="fit", selected="").text == "fit"


def test_lesson_C5_the_rows_mean_and_spread_stand_in_the_plot_of_x():
    svg = after("sel:x.0.0").one("svg", id="x-marks")
    mean, std = Fraction(GOLDEN["layer_norm"]["The"]["mean"]), float(Fraction("339/1600")) ** 0.5
    band, middle = svg.one("rect", class_="spread").attributes, svg.one("line", class_="middle").attributes
    assert float(middle["x1"].rstrip("%")) == pytest.approx(percent(float(mean)), abs=0.01)
    assert float(band["x"].rstrip("%")) == pytest.approx(percent(float(mean) - std), abs=0.01)
    assert float(band["width"].rstrip("%")) == pytest.approx(89 * 2 * std / 10, abs=0.02)
    assert plain(after("sel:x.0.0").one(id="key").text) == "line: row mean -0.0250; band: ± 1 std, 0.4603"
    assert not page().one("svg", id="y-marks").all("rect", class_="spread")


def test_lesson_C6_the_selected_numbers_stand_in_the_formulas():
    tree = page()
    assert line(tree, "z") == "z = (-1.000000 - (0.000000)) / sqrt(1.000000 + 0.00001) = -0.999995"
    assert line(tree, "y") == "y = 1.20 * (-0.999995) + 0.10 = -1.099994"
    assert (SHOWN["z"], SHOWN["y"]) == ("-0.999995", "-1.099994")
    assert "Rounded for display, computed in full precision." in tree.one("section", class_="formulas").text
    letters = [formula(math) for math in tree.one("section", class_="formulas").all("math")][::2]
    assert letters == ["zi = (xi - μ) / sqrt(σ² + ε)", "yi = γi * zi + βi"]


@pytest.mark.parametrize(
    ("actions", "z", "y"),
    [
        (
            ["sel:x.0.1"],
            "z = (-0.800000 - (-0.025000)) / sqrt(0.211875 + 0.00001) = -1.683649",
            "y = 0.80 * (-1.683649) + (-0.20) = -1.546919",
        ),
        (
            ["gamma.0:-0.123456", "eps:1"],
            "z = (-1.000000 - (0.000000)) / sqrt(1.000000 + 1) = -0.707107",
            "y = (-0.123456) * (-0.707107) + 0.10 = 0.187297",
        ),
    ],
)
def test_lesson_C6_other_numbers(actions, z, y):
    tree = after(*actions)
    assert (line(tree, "z"), line(tree, "y")) == (z, y)


def test_lesson_C7_the_cards_and_their_definitions():
    tree = page()
    cards = tree.all("div", class_="card")
    assert [node.one("h3").text for node in cards] == ["Row mean", "Variance", "Output std, around y’s own mean"]
    assert [formula(node.one("math")) for node in cards] == [
        "μ = (∑ixi) / 4",
        "σ² = (∑i(xi - μ)^2) / 4",
        "yi = γi * zi + βi",
    ]
    assert card(tree, "mean") == SHOWN["row_mean"] == "0.0000"
    assert card(tree, "mean-0") == SHOWN["normalized_mean"] and card(tree, "mean-1") == SHOWN["output_mean"]
    assert card(tree, "variance") == SHOWN["variance"] == "1.0000"
    assert card(tree, "variance-0") == SHOWN["raw_std"] and card(tree, "variance-1") == SHOWN["denominator"]
    assert card(tree, "spread") == SHOWN["output_std"] and card(tree, "spread-0") == SHOWN["var_z"]
    labels = [plain(label.text) for label in tree.one("div", class_="cards").all("dt")]
    assert labels == [
        "normalized mean",
        "output mean",
        "raw std",
        "denominator sqrt(variance + eps)",
        "var(z) = variance / (variance + eps)",
    ]


def test_lesson_C8_the_selected_row_to_six_decimals():
    tree = page()
    assert [row[2] for row in numbers(tree)] == SHOWN["row_y"]
    for token, name in enumerate(NAMES):
        rows = numbers(after(f"sel:x.{token}.0"))
        given = [Decimal(v) for v in GOLDEN["x"][name]]
        assert [row[0] for row in rows] == [f"{v:.6f}" for v in given]
        for at, key in ((1, "z"), (2, "y")):
            assert [row[at] for row in rows] == [f"{Decimal(v):.6f}" for v in GOLDEN["layer_norm"][name][key]]
    marked = tree.one("tbody", id="row").all("tr", aria_current="true")
    assert [row.one("th").text for row in marked] == ["1 ◂"]
    assert [head.text for head in tree.all("table", class_="figures")[0].one("thead").all("th")] == [
        "feature",
        "x",
        "z",
        "y",
    ]


def test_lesson_C10_what_holds_here_and_what_does_not():
    notes = page().one("section", class_="notes").text
    for words in (
        "variance is that of the population",
        "normalizes over the trailing dimensions that it is declared with: here the features of one token",
        "the leading dimensions, the tokens, share them",
        "no linguistic meaning",
        "LayerNorm’s statistics are those of the current input, in training and in evaluation alike",
        "BatchNorm in evaluation may use running statistics",
        "the axes panel shows what this table would leave in them",
        "No parameter is trained: no optimizer changes γ or β, and no training runs are compared",
    ):
        assert words in notes


def test_lesson_C11_the_selection_in_words():
    assert plain(page().one("p", id="say").text) == (
        "cat, feature 1. Row mean 0.0000, variance 1.000000, denominator 1.000005. x -1.00, z -0.999995, "
        "y -1.099994. Scale 1.20 and shift 0.10, shared with feature 1 of the other tokens."
    )
    assert SHOWN["variance_live"] == "1.000000"
    assert plain(after("sel:x.2.3", "beta.3:0.125").one("p", id="say").text) == (
        "sat, feature 4. Row mean 0.0000, variance 0.210000, denominator 0.458268. x -0.10, z -0.218213, "
        "y -0.093213. Scale 1.00 and shift 0.125, shared with feature 4 of the other tokens."
    )


def test_lesson_C12_the_table_has_one_tab_stop_and_every_control_a_name():
    for query in ("", "do=sel:x.2.3", "do=table:1,2%0A3,4"):
        tree = page(query)
        grid = tree.one("div", class_="signals").one("table", role="grid")
        assert len(grid.all(tabindex="0")) == 1
        labelled = {label.attributes["for"] for label in tree.all("label")}
        for control in [*tree.all("input"), *tree.all("select"), *tree.all("textarea")]:
            assert "aria-label" in control.attributes or control.attributes["id"] in labelled


def test_lesson_C13_signs_eps_and_parameters():
    notes = page().one("section", class_="notes").text
    assert "z has the sign of x − mean" in notes
    assert "eps is positive and protects the denominator" in notes
    assert "eps = 0 as well: then z of a constant row is 0/0, which is no number (NaN)" in notes
    assert "outputs of a row need not keep mean 0 or unit spread" in notes
