"""Lanes: marks at their places, what lies outside, and a drawing whose nodes stay the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from normscope.page.html import Region, group
from normscope.page.lanes import Axis, Lane, Lanes, drawing, fitting
from tests.lessons.dom import Node, parse

FIXED = Axis(-5, 5, 1)
FINITE = st.floats(allow_nan=False, allow_infinity=False)


def plot(*values: float, before: tuple[float, ...] = (), **more) -> Lanes:
    pairs = zip(values, before or values, strict=True)
    lanes = tuple(Lane(str(at), value, was) for at, (value, was) in enumerate(pairs, 1))
    return Lanes("x", "x of cat", "input", more.pop("axis", FIXED), lanes, **more)


def drawn(lanes: Lanes, numbered: bool = False) -> Node:
    return parse(str(drawing(lanes, numbered)))


def marks(tree: Node, kind: str) -> list[str]:
    return [mark.attributes["x"] for mark in tree.all("rect", class_=kind)]


def test_a_mark_stands_at_its_place_on_the_axis():
    assert marks(drawn(plot(-5, 0, 5, 2.5)), "mark") == ["8.0%", "52.5%", "97.0%", "74.75%"]


def test_what_lies_outside_is_never_drawn_as_if_inside():
    tree = drawn(plot(5.01, -7.5, float("inf"), float("-inf"), float("nan"), 1e9))
    assert marks(tree, "mark") == ["-100.0%"] * 6
    told = [(text.text, text.attributes["x"]) for text in tree.all("text", class_="out")]
    assert told == [
        ("5.01 ▶", "97.0%"),
        ("◀ −7.50", "8.0%"),
        ("∞ ▶", "97.0%"),
        ("◀ −∞", "8.0%"),
        ("NaN", "97.0%"),
        ("1.0e9 ▶", "97.0%"),
    ]


def test_a_ghost_stands_where_a_number_was_if_it_moved():
    tree = drawn(plot(1, 2, 3, before=(0, 2, 9)))
    assert marks(tree, "ghost") == ["52.5%", "-100.0%", "-100.0%"]
    ways = [(way.attributes["x1"], way.attributes["x2"]) for way in tree.all("line", class_="way")]
    assert ways == [("52.5%", "61.4%"), ("70.3%", "70.3%"), ("97.0%", "79.2%")]


def test_the_chosen_lane_is_outlined():
    assert drawn(plot(1, 2, chosen=1)).one("rect", class_="chosen").attributes["y"] == "25"
    assert drawn(plot(1, 2)).one("rect", class_="chosen").attributes["y"] == "-100"


@pytest.mark.parametrize(
    ("band", "x", "width", "middle"),
    [((0, 1), "43.6%", "17.8%", "52.5%"), ((4, 3), "61.4%", "35.6%", "88.1%"), ((9, 1), "97.0%", "0.0%", "-100.0%")],
)
def test_the_band_is_tinted_as_far_as_the_axis_goes(band, x, width, middle):
    tree = drawn(plot(1, band=band))
    tinted, line = tree.one("rect", class_="spread").attributes, tree.one("line", class_="middle").attributes
    assert (tinted["x"], tinted["width"], line["x1"], line["x2"]) == (x, width, middle, middle)


def test_the_axis_has_its_numbers_where_they_are_asked_for():
    numbers = [text.text for text in drawn(plot(1), numbered=True).all("text") if "class" not in text.attributes]
    assert numbers == ["−5", "−4", "−3", "−2", "−1", "0", "1", "2", "3", "4", "5"]
    assert [text.text for text in drawn(plot(1)).all("text", class_="nr")] == ["1"]
    assert len(drawn(plot(1)).all("line", class_="zero")) == 1


def test_a_change_touches_the_marks_alone_and_keeps_their_nodes():
    before, after = (drawing(plot(*values, before=(0, 0)), numbered=True) for values in ((1, 2), (-7, 9)))
    pairs = [
        (old, new)
        for old, new in zip(before.pieces, after.pieces, strict=True)
        if isinstance(old, Region) and old != new
    ]
    assert [new.id for _, new in pairs] == ["x-marks"]
    shapes = [[node.tag for node in parse(region.html).walk()] for region in pairs[0]]
    assert shapes[0] == shapes[1]


def test_names_are_escaped():
    lanes = Lanes("x", '"><b>', "input", FIXED, (Lane("<i>", 1, 1),))
    tree = parse(str(group(drawing(lanes, True))))
    assert tree.one("text", class_="nr").text == "<i>" and not tree.all("b")


@given(st.lists(FINITE, max_size=6))
def test_a_fitting_axis_holds_zero_and_every_value_and_has_few_ticks(values):
    axis = fitting(values)
    assert axis.low <= 0 <= axis.high and axis.low < axis.high
    assert all(not axis.side(value) for value in values if abs(value) <= 1e300)
    ticks = axis.ticks()
    assert 2 <= len(ticks) <= 11
    assert ticks[0] == pytest.approx(axis.low, abs=axis.step * 1e-6) and ticks[-1] == pytest.approx(
        axis.high, abs=axis.step * 1e-6
    )
    assert min(abs(tick) for tick in ticks) < axis.step / 2


@given(st.lists(FINITE, min_size=1, max_size=4), st.lists(FINITE, min_size=1, max_size=4))
def test_places_rise_with_the_values(values, others):
    axis = fitting([*values, *others])
    ordered = sorted([*values, *others])
    places = [axis.at(value) for value in ordered]
    assert places == sorted(places) and places[0] >= 8 and places[-1] <= 97
