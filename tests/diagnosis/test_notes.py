"""What is noted of a right function's last digits: measured against what is right, not against another rounding."""

import re
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

import normscope as ns
from normscope.diagnosis.judge import judge
from tests.diagnosis.asking import Local


def rows(function):
    def layer_norm(x, gamma, beta, eps):
        y = np.empty_like(x)
        for at in np.ndindex(x.shape[:-1]):
            y[at] = function(x[at], eps)
        return y * gamma + beta

    return Local(layer_norm)


def exact(row, eps):
    cells = [Fraction(float(cell)) for cell in row]
    mean = sum(cells) / len(cells)
    var = sum((cell - mean) ** 2 for cell in cells) / len(cells)
    try:
        return [float(cell - mean) / sqrt(var + Fraction(eps)) for cell in cells]
    except OverflowError:
        return [0.0] * len(cells)


def welford(row, eps):
    mean = spread = 0.0
    for count, cell in enumerate(row, 1):
        delta = cell - mean
        mean += delta / count
        spread += delta * (cell - mean)
    return (row - mean) / sqrt(spread / len(row) + eps)


def two_pass(row, eps):
    return (row - row.mean()) / np.sqrt(row.var() + eps)


def projected(row, eps):
    n = len(row)
    c = row @ (np.eye(n) - 1 / n)
    return c / np.sqrt((c * c).mean() + eps)


def scaled_first(row, eps):
    r = 1 / np.sqrt(row.var() + row.dtype.type(eps))
    wide = np.float64(r) * row.astype(np.float64)  # as a fused multiply-add has it
    return (wide - row.mean() * r).astype(row.dtype)


def notes(function, dtype="float64"):
    made = judge(rows(function), ns.layer_norm(), dtype=dtype)
    assert made.verdict == "correct"
    return " ".join(made.notes)


def ulps(function):
    return float(re.search(r"hard rows: (\S+) ulp", notes(function))[1])


def test_a_better_kernel_looks_better():
    assert ulps(exact) < 2 < 1e4 < min(ulps(two_pass), ulps(welford))


@pytest.mark.parametrize("function", [exact, welford])
def test_what_gives_beta_on_constant_rows_is_not_said_to_leave_something(function):
    assert "onstant row" not in notes(function)
    assert "A constant row is off beta by up to " in notes(two_pass)


def test_a_multiply_add_is_claimed_only_where_its_rounding_is_seen_to_vanish():
    assert "fused-scale-shift: a constant row is off beta by up to " in notes(scaled_first, "float32")
    assert "fused" not in notes(projected)
    assert "A constant row is off beta by up to 5.55e-10, though its mean is exact." in notes(projected)


def test_beta_is_not_due_where_nothing_is_centered():
    def batch_norm(x, gamma, beta, running_mean, running_var, eps):
        return (x - running_mean) / np.sqrt(running_var + eps) * gamma + beta

    made = judge(Local(batch_norm), ns.Norm("[N] C", affine="C", running=True, name="BatchNorm"))
    assert (made.verdict, "onstant row" in " ".join(made.notes)) == ("correct", False)


def test_a_row_too_wide_for_decimals_says_what_it_is_measured_by():
    class Wide(Local):
        features = 300

    def layer_norm(x, gamma, beta, eps):
        return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps) * gamma + beta

    made = judge(Wide(layer_norm), ns.layer_norm())
    assert "measured against a float64 reference, which is rounded itself." in made.notes[-1]
