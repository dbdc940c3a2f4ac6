"""Distances from a limit and pairs of amounts: where the marks stand, and what is said."""

import re

import pytest

from normscope.page.bars import HEAD, LEFT, LINE, MARK, RIGHT, Pair, Point, amounts, distances
from tests.lessons.dom import parse


def drawn(html):
    return parse(str(html)).one("svg")


def place(node, name):
    return float(node.attributes[name].removesuffix("%"))


def test_equal_ratios_are_equal_distances_on_either_side_of_the_limit():
    tree = drawn(distances("times", "copy", [Point(str(value), value, "") for value in (0.5, 1.0, 2.0, 8.0)]))
    at = [place(disc, "cx") for disc in tree.all("circle")]
    assert at[1] - at[0] == pytest.approx(at[2] - at[1], abs=0.02)
    assert at[3] - at[2] == pytest.approx(2 * (at[2] - at[1]), abs=0.03)
    (limit,) = tree.all("line", class_="limit")
    assert place(limit, "x1") == at[1]
    assert [place(stem, "x1") for stem in tree.all("line", class_="stem")] == [at[1]] * 4
    assert [int(disc.attributes["cy"]) for disc in tree.all("circle")] == [HEAD + LINE * row + MARK for row in range(4)]


@pytest.mark.parametrize("values", [(1.0,), (1.0, 1.01), (0.3, 900.0), (12345.0,), (1e-3, 1e6)])
def test_every_mark_and_tick_lies_within_the_drawing(values):
    tree = drawn(distances("times", "copy", [Point("a", value, "") for value in values]))
    numbers = [place(node, name) for node in tree.walk() for name in ("x1", "x2", "cx") if name in node.attributes]
    assert min(numbers) >= LEFT and max(numbers) <= RIGHT
    ticks = [node.text for node in tree.all("text", class_="scale")]
    assert "1×" in ticks and len(ticks) == len(set(ticks)) <= 12


def test_a_tick_at_the_edge_is_written_inwards():
    tree = drawn(distances("times", "copy", [Point("a", 100.0, "")]))
    last = tree.all("text", class_="scale")[-1]
    assert last.text == "100×" and "end" in last.attributes["class"]


def test_a_bar_for_what_was_measured_and_an_outline_for_what_was_predicted():
    pairs = [Pair("both", 50, 100, "a"), Pair("no prediction", None, 25, "b"), Pair("not seen", 80, None, "c")]
    tree = drawn(amounts("bytes", pairs))
    width = {
        kind: [place(each, "width") for each in tree.all("rect", class_=kind)] for kind in ("measured", "predicted")
    }
    whole = RIGHT - LEFT
    assert width == {"measured": [whole, whole / 4], "predicted": [whole / 2, round(whole * 0.8, 2)]}


@pytest.mark.parametrize("pairs", [[], [Pair("a", None, None, "?")], [Pair("a", 0, 0, "0 B")]])
def test_nothing_to_draw_is_drawn(pairs):
    assert drawn(amounts("bytes", pairs)).attributes["aria-label"] == "bytes"


def test_words_stand_at_both_edges_and_are_escaped():
    tree = drawn(distances("a < b", "copy", [Point("x < y", 2, "3 & 4", strong=True)]))
    (group,) = tree.all("g", class_="strong")
    name, words = group.all("text")
    assert (name.text, words.text) == ("x < y", "3 & 4") and place(words, "x") == RIGHT
    assert tree.attributes["role"] == "img" and tree.attributes["aria-label"] == "a < b"


def test_no_place_is_in_pixels_across():
    text = str(distances("t", "copy", [Point("a", 3, "")])) + str(amounts("b", [Pair("a", 1, 2, "")]))
    across = re.findall(r' (?:x|x1|x2|cx|width)="([^"]+)"', text)
    assert across and all(value.endswith("%") for value in across)
