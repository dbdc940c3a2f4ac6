"""Exercises: nice, the same everywhere, and with answers that follow from the exact view."""

from fractions import Fraction
from math import isqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

import normscope as ns
from normscope.errors import ExactError
from normscope.exercises import SMALL, exercises, is_nice, sheet


def rational_root(value: Fraction) -> bool:
    return all(isqrt(part) ** 2 == part for part in (value.numerator, value.denominator))


@given(st.integers(0, 10**6), st.sampled_from([None, 2, 3, 4, 5, 8]))
def test_mean_and_variance_are_small_fractions(seed, length):
    for each in exercises(seed, 3, cells=length):
        assert len(each.x) == len(each.update) and len(each.x) in ([length] if length else [2, 3, 4])
        assert any(each.update)
        made = each.solved
        for value in (made["mu"][0], made["var"][0]):
            assert max(abs(value.numerator), value.denominator) <= SMALL
        assert made["var"][0] > 0


@given(st.integers(0, 10**6), st.sampled_from([None, 2, 4, 5, 6, 7, 8]))
def test_a_rational_root_if_wanted(seed, length):
    for each in exercises(seed, 2, cells=length, rational_root=True):
        assert rational_root(each.solved["var"][0])
        assert all("sqrt" not in text for text in each.answers["xhat"])


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=8), st.booleans())
def test_nice_is_what_the_exact_view_computes(row, wanted):
    made = ns.exact(row)
    (mean,), (variance,) = made["mu"], made["var"]
    small = all(max(abs(value.numerator), value.denominator) <= SMALL for value in (mean, variance))
    assert is_nice(tuple(row), wanted) == (variance > 0 and small and (not wanted or rational_root(variance)))


def test_a_seed_gives_the_same_numbers_everywhere():
    """Recorded: a class has the sheet in print."""
    first, second = exercises(1, 2)
    assert first.to_json(True) == {
        "number": 1, "x": ["-8", "-3", "-11"], "update": ["2", "0", "3"],
        "answers": {
            "residual": ["-6", "-3", "-8"], "mu": ["-17/3"], "c": ["-1/3", "8/3", "-7/3"], "var": ["38/9"],
            "named": "sqrt(38/9)", "xhat": ["-1/38*sqrt(38)", "4/19*sqrt(38)", "-7/38*sqrt(38)"],
        },
    }  # fmt: skip
    assert second.to_json() == {"number": 2, "x": ["5", "4"], "update": ["-2", "1"]}


def test_no_update_is_all_zeros():
    assert all(any(each.update) for each in exercises(1, 200, cells=2))


def test_a_larger_count_only_adds_and_another_seed_changes():
    assert exercises(7, 30)[:10] == exercises(7, 10)
    assert len({each.x for each in exercises(7, 30)}) > 25 and exercises(7, 5) != exercises(8, 5)


def test_the_sheet_keeps_answers_apart():
    made = exercises(1, 3)
    plain, full = sheet(made), sheet(made, with_answers=True)
    assert full.startswith(plain) and "variance" not in plain.partition("\n")[2]
    assert full[len(plain) :].strip().startswith("Answers") and full.count("divided by sqrt(") == 3
    for each in made:
        assert f"({', '.join(each.to_json()['x'])})" in plain


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((1, 0), {}, "count is 0; it must be a whole number from 1 to 200."),
        ((1, 201), {}, "count is 201; it must be a whole number from 1 to 200."),
        ((1, 2.5), {}, "count is 2.5; it must be a whole number from 1 to 200."),
        ((-1, 1), {}, "seed is -1; it must be a whole number from 0 to 1,000,000,000,000,000,000."),
        (("a", 1), {}, "seed is 'a'; it must be a whole number from 0 to 1,000,000,000,000,000,000."),
        ((1, 1), {"cells": 9}, "cells is 9; a vector has 2 to 8."),
        (
            (1, 1),
            {"cells": 3, "rational_root": True},
            "cells is 3; the root of the variance of three rationals is rational only where it is 0.",
        ),
    ],
)
def test_what_cannot_be_had(arguments, options, message):
    with pytest.raises(ExactError) as caught:
        exercises(*arguments, **options)
    assert str(caught.value) == message


def test_three_whole_numbers_have_no_rational_root():
    for row in ((a, b, c) for a in range(-9, 10) for b in range(a, 10) for c in range(b, 10)):
        assert not is_nice(row, rational_root=True)
