"""Curves over powers of ten: where points lie, what ends a curve, what is safe."""

import math

import pytest

from normscope.page.curves import Curve, Decade, Plot, drawing
from tests.lessons.dom import parse

PLACES = (1.0, 10.0, 100.0, 1000.0)


def plot(*points: float, safe=(10.0, 100.0)) -> Plot:
    curve = Curve("one", "disc", points)
    return Plot("p", "a plot", Decade(0, 3), Decade(-1, 3), ("across", "up"), PLACES, (curve,), safe, "safe here")


def drawn(made: Plot, now: float = 10.0, points=()):
    return parse(str(drawing(made, now, points)))


def test_points_lie_by_their_powers_and_what_lies_outside_at_the_edge():
    discs = drawn(plot(1.0, 0.0, 1e9, math.inf)).one("svg", id="p-curves").all("circle")
    x = [float(disc.attributes["cx"].rstrip("%")) for disc in discs]
    y = [float(disc.attributes["cy"]) for disc in discs]
    assert x == pytest.approx([15, 15 + 27, 15 + 54, 96], abs=0.01)
    assert y == [175, 230, 10, 10]


def test_what_is_no_number_ends_a_curve():
    group = drawn(plot(1.0, 1.0, math.nan, math.nan)).one("g", class_="disc")
    assert len(group.all("circle")) == 2 and len(group.all("line")) == 1


def test_the_safe_region_reaches_as_far_as_it_is_told():
    tinted = drawn(plot(1, 1, 1, 1)).one("rect", class_="safe").attributes
    assert (tinted["y"], tinted["width"]) == ("120.0", "54.0%")
    assert float(tinted["height"]) == 110
    assert drawn(plot(1, 1, 1, 1, safe=(10.0, None))).one("rect", class_="safe").attributes["width"] == "0.0%"


def test_what_the_tint_means_stands_under_the_plot():
    svg = drawn(plot(1, 1, 1, 1)).one("svg", id="p-curves")
    label, swatch = svg.one("text", class_="safe-label"), svg.one("rect", class_="swatch")
    assert label.text == "safe here" and float(label.attributes["y"]) > float(swatch.attributes["y"]) > 230


def test_now_is_a_line_and_a_mark_for_each_number():
    tree = drawn(plot(1, 1, 1, 1), 100.0, (("square", 10.0), ("ring", math.nan)))
    svg = tree.one("svg", id="p-now")
    assert float(svg.one("line").attributes["x1"].rstrip("%")) == pytest.approx(15 + 54, abs=0.01)
    assert len(svg.all("rect")) == 1 and svg.all("circle") == []


def test_it_is_told_in_words_and_the_axes_have_numbers():
    svg = drawn(plot(1, 1, 1, 1)).one("svg", id="p-curves")
    assert svg.attributes["aria-label"] == "a plot" and svg.attributes["role"] == "img"
    words = [text.text for text in svg.all("text")]
    assert words == ["safe here", "1", "10", "100", "1000", "≤0.1", "10", "1000", "across", "up"]
