"""Inputs at the edge: NaN and infinity, zero rows, d = 1, strides, empty batches, huge shapes."""

import math
import time
from fractions import Fraction

import numpy as np
import pytest

import normscope as ns

RNG = np.random.default_rng(0)
KINDS = {"layer_norm": ns.layer_norm(), "rms_norm": ns.rms_norm(eps=1e-5)}
BAD = [math.nan, math.inf, -math.inf, 1e308, -1e200]
BETA = [0.5, -1.0, 2.0, 0.0]


def both(x, norm=None, **given):
    """The traces of x as an array and as plain lists."""
    x = np.asarray(x)
    return ns.trace(x, norm, **given), ns.trace(x.tolist(), norm, **given)


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("kind", KINDS)
def test_nan_infinity_and_overflow_stay_in_their_row(kind, bad):
    x = RNG.normal(size=(3, 4))
    good = both(x, KINDS[kind])
    x[1, 2] = bad
    for trace, whole in zip(both(x, KINDS[kind]), good, strict=True):
        for name in trace:
            rows, expected = np.array(trace[name]), np.array(whole[name])
            assert np.array_equal(rows[[0, 2]], expected[[0, 2]]), name
    array, plain = both(x, KINDS[kind])
    for name in array:
        np.testing.assert_allclose(array[name][1], plain[name][1], rtol=1e-12, err_msg=name)
    if not math.isfinite(bad):
        assert math.isnan(array["y"][1, 2])


def test_infinities_of_both_signs_give_nan_without_a_warning():
    for trace in both([[math.inf, -math.inf, 1.0], [1.0, 2.0, 3.0]]):
        assert np.isnan(trace["mu"][0][0])
        assert np.all(np.isfinite(trace["y"][1]))


def test_a_mean_whose_sum_overflows():
    """Plain cells give the mean; arrays, which only add, infinity (not nan)."""
    array, plain = both([[1e308, 1e308], [1.0, 2.0]])
    assert array["mu"].tolist() == [[math.inf], [1.5]]
    assert (plain["mu"], plain["c"][0], plain["y"][0]) == ([[1e308], [1.5]], [0.0, 0.0], [0.0, 0.0])


@pytest.mark.parametrize(
    "row, mean",
    [
        ([1e308, 1e308, -1e308, -1e308], 0.0),
        ([1.5e308, 1.7e308, 5e-324], 1.0666666666666667e308),
        ([-1e308] * 100, -1e308),
        ([1e308, 1e308, math.inf], math.inf),
        ([1e308, 1e308, -math.inf], -math.inf),
        ([1e308, 1e308, math.inf, -math.inf], math.nan),
        ([1e308, 1e308, math.nan], math.nan),
    ],
)
def test_means_of_plain_cells_do_not_overflow_on_the_way(row, mean):
    found = ns.trace([row])["mu"][0][0]
    assert found == pytest.approx(mean, rel=1e-15, nan_ok=True)
    if math.isfinite(mean):
        exact = sum(map(Fraction, row)) / len(row)
        assert abs(Fraction(found) - exact) <= abs(exact) / 2**52


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_of_zeros_gives_beta(kind):
    norm = KINDS[kind]
    given = {"beta": BETA} if norm.shift else {}
    for trace in both(np.zeros((2, 4)), norm, gamma=[3.0] * 4, **given):
        assert np.array_equal(trace["y"], [BETA] * 2 if norm.shift else np.zeros((2, 4)))
        assert np.allclose(trace["r"], 1 / math.sqrt(1e-5))


def test_a_constant_row_gives_beta_and_without_eps_nan():
    for trace in both(np.full((1, 4), 3.0), gamma=[1.0] * 4, beta=BETA):
        assert np.array_equal(trace["y"], [BETA])
    for trace in both(np.full((1, 4), 3.0), ns.layer_norm(eps=0)):
        assert trace["r"][0][0] == math.inf
        assert np.all(np.isnan(trace["xhat"]))


def test_one_feature_is_always_at_its_mean():
    for trace in both([[5.0], [-7.0]], gamma=[2.0], beta=[0.25]):
        assert np.array_equal(trace["y"], [[0.25], [0.25]])
    for trace in both([[5.0], [-7.0]], ns.rms_norm(eps=0)):
        assert np.allclose(trace["y"], [[1.0], [-1.0]], rtol=1e-15)


def test_a_correction_that_leaves_nothing_gives_nan():
    for trace in both([[5.0], [7.0]], ns.Norm("S [d]", correction=1)):
        assert np.all(np.isnan(trace["var"]))


VIEWS = {
    "every other column": lambda x: x[:, ::2],
    "backwards": lambda x: x[::-1, ::-1],
    "transposed": lambda x: x.T,
    "Fortran order": np.asfortranarray,
    "repeated by a stride of 0": lambda x: np.broadcast_to(x[:1], (5, x.shape[1])),
    "read only": lambda x: _read_only(x),
    "the other byte order": lambda x: x.astype(x.dtype.newbyteorder()),
}


def _read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("norm", [ns.layer_norm(), ns.batch_norm(), ns.group_norm(2)], ids=lambda norm: norm.name)
def test_any_strides(norm, view):
    x = VIEWS[view](RNG.normal(size=(8, 12)))
    trace, plain = ns.trace(x, norm), ns.trace(np.ascontiguousarray(x), norm)
    assert trace.output.shape == x.shape
    np.testing.assert_allclose(trace.output, plain.output, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "float16"])
def test_nothing_given_is_modified(dtype):
    x = (RNG.normal(size=(4, 6)) * 9).astype(dtype)
    given = [x, np.ones(6, dtype), np.zeros(6, dtype)]
    before = [array.tobytes() for array in given]
    trace = ns.trace(x, ns.layer_norm(), *given[1:])
    for name in trace:
        assert not any(np.shares_memory(trace[name], array) for array in given)
        trace[name][...] = 9
    ns.running_statistics(x, ns.batch_norm(), given[1], given[2])
    assert [array.tobytes() for array in given] == before


def test_lists_are_not_modified():
    x, gamma = [[1, 3.5]], (2, 2)
    trace = ns.trace(x, ns.layer_norm(), gamma)
    trace["c"][0][0] = trace.inputs["x"][0][0] = 99
    assert (x, gamma, trace["c"][0][0]) == ([[1, 3.5]], (2, 2), -1.25)


@pytest.mark.parametrize(
    "norm, shape",
    [
        (ns.layer_norm(), (0, 4, 8)),
        (ns.layer_norm(), (2, 0, 8)),
        (ns.instance_norm(), (0, 3, 4)),
        (ns.group_norm(2), (0, 4, 3)),
    ],
)
def test_an_empty_batch_gives_an_empty_output(norm, shape):
    trace = ns.trace(np.empty(shape), norm)
    assert trace.output.shape == shape
    assert trace["r"].size == 0


def test_an_empty_batch_costs_its_parameters():
    cost = ns.ledger(ns.layer_norm(), (0, 8))
    assert (cost.peak_bytes, cost.flops) == (64, 0)


def test_a_huge_shape_in_time():
    """(8, 1024, 768) float32, its input one row repeated by a stride of 0: every row of y is the same."""
    row = RNG.normal(size=768).astype(np.float32)
    start = time.perf_counter()
    trace = ns.trace(np.broadcast_to(row, (8, 1024, 768)))
    assert np.array_equal(trace["y"], np.broadcast_to(trace["y"][0, 0], (8, 1024, 768)))
    assert time.perf_counter() - start < 5
    np.testing.assert_allclose(trace["y"][0, 0], ns.trace([row.tolist()])["y"][0], rtol=1e-4, atol=1e-6)


def test_statistics_over_a_million_rows_keep_their_digits():
    """NumPy's float32 sum along a first axis is off by 1e-4 here."""
    x = (RNG.normal(size=(1_000_000, 2)) + 3).astype(np.float32)
    trace = ns.trace(x, ns.batch_norm(affine=False))
    np.testing.assert_allclose(np.ravel(trace["mu"]), x.mean(0, dtype=float), rtol=3e-7)
    np.testing.assert_allclose(np.ravel(trace["var"]), x.var(0, dtype=float), rtol=3e-7)


LAYOUTS = {
    "Fortran order": np.asfortranarray,
    "transposed": lambda x: np.ascontiguousarray(x.T).T,
    "every other row of it": lambda x: np.repeat(np.asfortranarray(x), 2, axis=0)[::2],
    "C order": np.ascontiguousarray,
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("mean", [0, 100])
def test_float32_statistics_do_not_depend_on_the_order_in_memory(layout, mean):
    """NumPy adds pairwise along the last axis in memory alone."""
    x = LAYOUTS[layout]((np.random.default_rng(1).normal(size=(2, 500_000)) + mean).astype(np.float32))
    trace, wide = ns.trace(x), ns.trace(x.astype(float))
    digit = np.finfo(np.float32).eps
    assert np.all(np.abs(trace["mu"] - wide["mu"]) <= 2 * digit * (1 + mean))
    np.testing.assert_allclose(trace["var"], wide["var"], rtol=4 * digit)
    assert np.max(np.abs(trace["y"] - wide["y"])) <= 4 * digit * (5 + mean)


def test_more_axes_than_letters():
    x = RNG.normal(size=(1, 2, 1, 2, 1, 2, 3))
    trace = ns.trace(x)
    assert trace.norm.pattern == "a1 a2 a3 a4 a5 a6 [d]"
    assert np.array_equal(trace["y"].reshape(-1, 3), ns.trace(x.reshape(-1, 3))["y"])
