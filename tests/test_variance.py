"""The variance several ways: equal in exact numbers; in rounded ones what each is known to give."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from normscope.run import run
from normscope.variance import chunked, eps_share, one_pass, two_pass, variances, welford
from normscope.views import cells
from normscope.views.exact import EXACT
from normscope.views.formats import FLOAT32, round_array
from normscope.views.policies import find
from normscope.views.rounding import evaluate

LEVEL = [40000.0, 40001.0, 40002.0, 40003.0]
NUMBERS = st.lists(st.fractions(-50, 50, max_denominator=9), min_size=4, max_size=12).filter(lambda x: len(x) % 2 == 0)


def by_definition(row):
    mean = Fraction(sum(row)) / len(row)
    return sum((x - mean) ** 2 for x in row) / len(row)


@given(row=NUMBERS)
def test_every_program_is_the_variance_in_exact_numbers(row):
    sizes = {"d": len(row), "k": 2, "c": len(row) // 2}
    for program in (two_pass(), one_pass(), chunked()):
        shape = program.shape("x", sizes)
        x = {"x": cells.Cells(shape, [Fraction(cell) for cell in row])}
        made = run(program, cells.rules(program, sizes, EXACT), x)
        assert made["var"].flat == [by_definition(row)]
        assert made["mu"].flat == [Fraction(sum(row)) / len(row)]


@given(row=NUMBERS)
def test_welford_is_too(row):
    mean, var = welford([Fraction(cell) for cell in row], Fraction)
    assert (mean, var) == (Fraction(sum(row)) / len(row), by_definition(row))


def test_four_numbers_at_40000_in_float32():
    """One pass loses all: the squares are near 1.6e9, where float32's numbers lie 128 apart."""
    found = variances(LEVEL)
    assert found == {"exact": Fraction(5, 4), "two-pass": 1.25, "one-pass": 0.0, "chunked": 1.25, "Welford": 1.25}
    assert FLOAT32.ulp(40000.0**2) == 128
    assert variances(LEVEL, "float64")["one-pass"] == 1.25


@pytest.mark.parametrize("seed", range(5))
def test_a_mean_of_10000_and_a_spread_of_1_in_float32(seed):
    rng = np.random.default_rng(seed)
    row = (rng.normal(size=1024) + 1e4).astype(np.float32).tolist()
    found = variances(row)
    exact = by_definition([Fraction(cell) for cell in row])
    assert found["exact"] == exact
    off = {way: abs(float(value - exact) / float(exact)) for way, value in found.items()}
    assert off["two-pass"] < 1e-6
    assert off["chunked"] < 1e-4 and off["Welford"] < 3e-3
    assert off["one-pass"] > 0.5


def test_arrays_give_each_row_what_plain_cells_give():
    rng = np.random.default_rng(1)
    x = (rng.normal(size=(3, 12)) + 100).astype(np.float32)
    policy = find("float32")
    sizes = {"S": 3, "d": 12, "k": 3, "c": 4}
    plain = [variances(row.tolist(), chunk=4) for row in x]
    programs = {"two-pass": two_pass("S [d]"), "one-pass": one_pass("S [d]"), "chunked": chunked("S [k c]")}
    for way, program in programs.items():
        made = evaluate(program, sizes, {"x": x.reshape(program.shape("x", sizes))}, policy, program.axes[-1:])["var"]
        assert made.ravel().tolist() == [each[way] for each in plain], way
    _, var = welford(x.T, lambda values: round_array(np.asarray(values), FLOAT32))
    assert var.tolist() == [each["Welford"] for each in plain]


def test_the_statistics_of_chunks_are_kept_as_statistics():
    """With cells in bfloat16 and statistics in float32, a chunk's mean is no bfloat16."""
    policy, program = find("statistics-bf16"), chunked()
    made = evaluate(program, {"k": 2, "c": 2}, {"x": [1.0, 1.0078125, 3.0, 3.0]}, policy, program.axes[-1:])
    assert made["mu_chunk"].flat == [1.00390625, 3.0]


def test_chunks_as_one_asks_for_them():
    row = [0.1 * k for k in range(12)]
    assert variances(row, chunk=12)["chunked"] == variances(row)["two-pass"]
    assert variances(row, "float64", chunk=3)["chunked"] == pytest.approx(float(variances(row, "float64")["exact"]))


def test_a_row_that_a_format_cannot_hold_has_no_variance():
    found = variances([1e5, 1.0], "steps-fp16")
    assert all(math.isnan(value) for value in found.values())


def test_how_much_of_the_root_is_eps():
    assert eps_share(0.0, 1e-5) == 1
    assert eps_share(np.array([0.0, 1.0]), 1.0).tolist() == [1, 0.5]


def test_what_a_policy_stores_as_the_largest_number_is_stored_so_here_too():
    found = variances([500.0, 1000.0, 0.0, 448.0], "pytorch-e4m3fn")
    assert found["exact"] == by_definition([Fraction(448)] * 3 + [Fraction(0)]) == found["two-pass"]
    every = variances([500.0, 1000.0, 0.0, 448.0], "steps-e4m3fn")
    assert (every["two-pass"], every["Welford"]) == (448, 448 / 4)  # each square is cut; Welford's sum of them is
