"""Numbers at the edges of float64 in the axes lab: what is 0, what only looks like it, and what is no number."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from normscope import compare
from normscope.lessons.axes_lab.rounding import settled
from tests.lessons.axes import after, formula, line, marks, numbers, page, percent, plain
from tests.lessons.panel import table


def query(x, gamma="", beta="", **more):
    d = len(x.split(";")[0].split(","))
    given = {"gamma": gamma or ",".join("1" * d), "beta": beta or ",".join("0" * d), "sel": "0,0"} | more
    tokens = ",".join(f"t{i}" for i in range(x.count(";") + 1))
    return f"v=1&x={x}&tokens={tokens}&" + "&".join(f"{name}={value}" for name, value in given.items())


def test_an_input_is_shown_as_it_is_beside_a_much_larger_one():
    tree = page(query("1e12,0.5", beta="0,0.3", sel="0,1"))
    assert numbers(tree)[1] == ["0.500000", "-1.000000", "-0.700000"]
    assert line(tree, "z").startswith("z = (0.500000 - (5.000000e11))")
    assert marks(tree, "x")[1] == pytest.approx(percent(0.5), abs=0.01)
    assert "x 0.50, z −1.000000, y −0.700000" in tree.one(id="say").text
    assert formula(tree.one(id="column-side").all("math")[1]).startswith("z = (0.500000 - (0.500000))")


def test_an_output_is_shown_as_it_is_beside_a_much_larger_one():
    tree = page(query("1e12,0.5", gamma="1e13,1", beta="0,0.3", sel="0,1"))
    assert numbers(tree)[1][2] == "-0.700000" and line(tree, "y") == "y = 1.00 * (-1.000000) + 0.30 = -0.700000"
    edited = after("beta.1:0.4", query=query("1e12,0.5", gamma="1e13,1", beta="0,0.3", sel="0,1"))
    assert "y went from −0.700000 to −0.600000, by +0.100000" in edited.one(id="moved").text


@pytest.mark.parametrize("x", ["0.1,0.2,0.3;0.1,0.1,0.1", "1e8,100000000.1,100000000.2;7e-5,7e-5,7e-5"])
def test_what_floats_leave_of_0_is_0(x):
    tree = page(query(x, beta="0.25,0.25,0.25"))
    middle = numbers(tree)[1]
    assert middle[1:] == ["0.000000", "0.250000"] or x.startswith("1e8")
    constant = page(query(x, beta="0.25,0.25,0.25", sel="1,0"))
    assert [row[1:] for row in numbers(constant)] == [["0.000000", "0.250000"]] * 3
    assert plain(constant.one(id="card-variance-0").text) == "0.000000"
    by_row = page(query("0.1,0.1,0.1", norm="layer_norm"))
    assert table(by_row.one(id="every"))[1][5] == "0.000000"
    assert table(by_row.one(id="column-statistics"))[2][2] == "0.000000"


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.integers(-(10**6), 10**6), min_size=3, max_size=3), min_size=2, max_size=4),
    st.sampled_from([-14, -3, 0, 9]),
    st.sampled_from(["layer_norm", "batch_norm", "rms_norm", "[B S d]"]),
)
def test_a_z_is_0_exactly_where_x_is_its_mean(rows, power, name):
    x = [[float(Fraction(cell) * Fraction(10) ** power) for cell in row] for row in rows]
    each = compare([x], [name])[0]
    at = [(i, j) for i in range(len(x)) for j in range(3)]
    for place, z, group in zip(at, settled(each).z, each.group_of, strict=True):
        cells = [rows[i][j] for (i, j), of in zip(at, each.group_of, strict=True) if of == group]
        mean = Fraction(0) if name == "rms_norm" else Fraction(sum(cells), len(cells))
        assert (z == 0) == (rows[place[0]][place[1]] == mean)


# What float64 cannot hold


def test_a_variance_that_overflows_is_told():
    tree = page(query("1e155,2e155,3e155"))
    note = tree.one(id="precision")
    assert note.text == "Beyond float64: a square overflows, the variance is ∞, and so z comes out 0."
    assert note.fits("p", {"class_": "notice"})
    beyond = tree.one(id="every").one("p", class_="notice").text
    assert beyond == ("Beyond float64: a square overflows under LayerNorm, RMSNorm, GroupNorm, and so z comes out 0.")
    columns = page(query("1e155,1;3e155,2")).one(id="every").one("p", class_="notice").text
    assert "BatchNorm, BatchNorm, evaluation, InstanceNorm" in columns
    plain_page = page()
    assert plain_page.one(id="precision").text == "Rounded for display, computed in full precision."
    assert not plain_page.one(id="every").all("p")
    assert page(query("1.7e308,-1.7e308,-1.7e308")).one(id="precision").text.endswith("and so z is no number.")


def test_without_eps_a_constant_row_is_0_by_0():
    tree = page(query("0.1,0.1,0.1", eps="0"))
    assert (
        tree.one(id="precision").text == "The denominator is 0, since eps is: here z = 0/0, which is no number (NaN)."
    )
    assert [row[1:] for row in numbers(tree)] == [["NaN", "NaN"]] * 3
    assert [text.text for text in tree.one("svg", id="xhat-marks").all("text")] == ["NaN"] * 3
    assert table(tree.one(id="every"))[1][5] == "NaN"
    assert page(query("1e-200,0", eps="0")).one(id="precision").text.startswith("Below float64: every square is 0")
    moved = after("eps:0", "constant:1").one(id="moved").text
    assert moved.endswith("At the selection y went from −1.100000 to NaN.")
    assert "by" not in moved.partition("At the selection")[2]


def test_a_z_that_is_no_number_stays_one():
    each = compare([[5.0, 5.0], [1.0, 2.0]], eps=0)[0]
    assert [math.isnan(z) for z in settled(each).z] == [True, True, False, False]
