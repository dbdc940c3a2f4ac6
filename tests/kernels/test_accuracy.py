"""float32 and float64 against exact fractions and long double: every size, mean and magnitude."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.kernels.reference import assert_near, exact, wide, worst

WIDTHS = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 23, 31, 32, 33, 47, 63, 64, 65, 100, 127, 255, 257, 768, 1000, 1023, 4099]
MEANS = [0.0, 1.0, -37.5, 1e3, 1e4, -1e5, 1e6]
WIDE = [np.float32, np.float64]


def rows(shape: tuple[int, int], dtype: Any, mean: float = 0.0, spread: float = 1.0, seed: int = 0) -> Any:
    return (np.random.default_rng([seed, *shape]).normal(size=shape) * spread + mean).astype(dtype)


def parameters(width: int, dtype: Any) -> Any:
    return np.random.default_rng(width).normal(size=(2, width)).astype(dtype)


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("width", WIDTHS)
def test_every_width_at_every_mean(kernels, width, dtype):
    gamma, beta = parameters(width, dtype)
    for mean in MEANS:
        x = rows((5, width), dtype, mean)
        assert_near(kernels.layer_norm(x, gamma, beta), wide(x, gamma, beta), gamma, note=mean)
        assert_near(kernels.layer_norm(x), wide(x), note=mean)
        assert_near(kernels.rms_norm(x, gamma), wide(x, gamma, center=False), gamma, note=mean)


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("width", [1, 2, 3, 8, 11, 67])
def test_against_exact_fractions(kernels, width, dtype):
    gamma, beta = parameters(width, dtype)
    for mean, spread in product([0.0, 1e4, 1e6], [1.0, 1e-3]):
        x = rows((2, width), dtype, mean * spread, spread)
        assert_near(kernels.layer_norm(x, gamma, beta), exact(x, gamma, beta), gamma)
        assert_near(kernels.rms_norm(x, gamma), exact(x, gamma, center=False), gamma)


@pytest.mark.parametrize("gamma_given,beta_given", [*product([False, True], repeat=2)])
def test_gamma_and_beta_stand_apart(kernels, gamma_given, beta_given):
    x = rows((4, 37), np.float32, 5.0)
    gamma, beta = (
        values if given else None
        for values, given in zip(parameters(37, np.float32), (gamma_given, beta_given), strict=True)
    )
    assert_near(kernels.layer_norm(x, gamma, beta), wide(x, gamma, beta), gamma)


@pytest.mark.parametrize("exponent", [-44, -38, -30, -19, -10, 10, 18, 19, 25, 30, 36, 38])
@pytest.mark.parametrize("width", [2, 13, 96, 1001])
def test_every_magnitude_of_float32(kernels, width, exponent):
    x = (np.random.default_rng(width).uniform(-1, 1, (3, width)) * 10.0**exponent).astype(np.float32)
    for eps in (1e-5, 0.0 if np.ptp(x, axis=-1).all() else 1e-30):
        assert_near(kernels.layer_norm(x, eps=eps), wide(x, eps=eps), note=eps)
        assert_near(kernels.rms_norm(x, eps=eps), wide(x, eps=eps, center=False), note=eps)


@pytest.mark.parametrize("width", [2, 3, 8, 40, 777])
def test_the_largest_float32(kernels, width):
    """Where x - K, its square and the sum of either would overflow."""
    largest = np.finfo(np.float32).max
    sign = np.where(np.arange(width) % 2, np.float32(1), np.float32(-1))
    ramp = np.linspace(0.5, 1, width, dtype=np.float32)
    x = np.stack([sign * largest, -sign * largest, ramp * largest, sign * ramp * largest])
    gamma, beta = parameters(width, np.float32)
    assert_near(kernels.layer_norm(x, gamma, beta), wide(x, gamma, beta), gamma)
    assert_near(kernels.rms_norm(x, gamma), wide(x, gamma, center=False), gamma)


@pytest.mark.parametrize("scale", [1e150, 1e200, 1e300, 1e307])
def test_large_float64(kernels, scale):
    x = rows((3, 50), np.float64, 2.0) * scale
    assert_near(kernels.layer_norm(x), wide(x))
    assert_near(kernels.rms_norm(x), wide(x, center=False))


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("width", [9, 32, 33, 300])
def test_a_first_cell_far_from_the_others(kernels, width, dtype):
    """A pivot of the first cells is then a poor guess of the mean: the sums must be taken again."""
    for far, count in product([1e3, 1e6, -1e8], [1, 8]):
        x = rows((2, width), dtype, 7.0)
        x[:, :count] += far
        assert_near(kernels.layer_norm(x), wide(x), note=(far, count))
        assert_near(kernels.layer_norm(x[:, ::-1]), wide(x[:, ::-1]), note=(far, count))


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("width", [9, 40, 768])
def test_means_about_the_spread(kernels, width, dtype):
    """Where the mean is within the spread it is not taken away from the cells; so it is here, or seems to be."""
    gamma, beta = parameters(width, dtype)
    for mean in (0.3, 0.6, 0.7, 0.8, 1.0, 1.4, -2.0):
        x = rows((40, width), dtype, mean)
        assert_near(kernels.layer_norm(x, gamma, beta), wide(x, gamma, beta), gamma, note=mean)
        x[:, 8:] += dtype(50 * mean)
        assert_near(kernels.layer_norm(x, gamma, beta), wide(x, gamma, beta), gamma, note=(mean, "but the first eight"))


@pytest.mark.parametrize("width", [64, 768, 4096])
def test_an_outlier_beside_a_mean_about_the_spread(kernels, width):
    """The outlier makes the spread, so that every other cell is near the mean, and all of them round alike."""
    for share, at in product([0.1, 0.5, 0.9, 1.1], [0, 5, width - 1]):
        x = np.full((4, width), 1.1, np.float32) + rows((4, width), np.float32, spread=1e-3)
        x[:, at] += np.float32(share * np.sqrt(width) * 1.1)
        assert_near(kernels.layer_norm(x), wide(x), note=(share, at))
        assert_near(kernels.rms_norm(x), wide(x, center=False), note=(share, at))


@pytest.mark.parametrize("dtype", WIDE)
def test_a_mean_that_moves_along_the_row(kernels, dtype):
    x = np.cumsum(rows((3, 1500), dtype, 1.0), axis=-1) + dtype(1e4)
    assert_near(kernels.layer_norm(x), wide(x))


@pytest.mark.parametrize("eps", [0.0, 1e-12, 1e-5, 0.1, 1e3, 1e30])
@pytest.mark.parametrize("dtype", WIDE)
def test_every_eps(kernels, eps, dtype):
    for spread in (1e-4, 1.0, 1e4):
        x = rows((3, 45), dtype, 0.0, spread)
        assert_near(kernels.layer_norm(x, eps=eps), wide(x, eps=eps))
        assert_near(kernels.rms_norm(x, eps=eps), wide(x, eps=eps, center=False))


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("width", [1, 2, 3, 7, 8, 31, 100, 769])
def test_constant_rows_are_beta_exactly(kernels, width, dtype):
    gamma, beta = parameters(width, dtype)
    largest = np.finfo(dtype).max
    values = np.array([0.0, 0.1, -3.3, 1e6 + 0.1, 1e-40, 1e-165, 5e-324, 1e18, 1e30, largest, -largest], dtype)
    x = np.broadcast_to(values[:, None], (len(values), width))
    assert np.array_equal(kernels.layer_norm(x, gamma, beta), np.broadcast_to(beta, x.shape))
    assert not kernels.layer_norm(x, gamma).any()
    assert not kernels.layer_norm(x, gamma, eps=1e-30).any()


@pytest.mark.parametrize("width", [768, 4096, 8192])
@pytest.mark.parametrize("rest", ["flat, and the first cells off the mean", "flat", "normal"])
def test_an_outlier_of_many_standard_deviations(kernels, width, rest):
    """Its square hides the others' in a short sum, and a guess of the mean that is off makes it worse."""
    draw = np.random.default_rng(width)
    x = draw.normal(size=(40, width)) if rest == "normal" else np.tile(draw.uniform(-1, 1, (40, 1)), width)
    if rest != "flat":
        x[:, :8] += draw.uniform(0, 4, (40, 1))
    x[range(40), draw.integers(8, width, 40)] += draw.uniform(20, 300, 40)
    x = x.astype(np.float32)
    assert_near(kernels.layer_norm(x), wide(x))
    assert_near(kernels.rms_norm(x), wide(x, center=False))


@pytest.mark.parametrize("dtype", WIDE)
def test_gamma_and_beta_that_cancel_or_are_large(kernels, dtype):
    x = rows((4, 64), dtype, 1e4)
    xhat = wide(x).xhat[0].astype(dtype)
    gamma = np.full(64, 1e3, dtype)
    beta = (-1e3 * xhat).astype(dtype)
    assert_near(kernels.layer_norm(x, gamma, beta), wide(x, gamma, beta), gamma)
    gamma, beta = parameters(64, dtype) * dtype(1e30)
    assert_near(kernels.layer_norm(x, gamma, beta), wide(x, gamma, beta), gamma)


def test_the_reference_turns_red_for_a_mean_in_float32():
    """What usual kernels do: E[x^2] - E[x]^2, or a mean that is rounded."""
    x = rows((4, 768), np.float32, 1e4)
    c = x - x.mean(axis=-1, keepdims=True)
    y = c / np.sqrt((c * c).mean(axis=-1, keepdims=True) + np.float32(1e-5))
    assert worst(y, wide(x)) > 100
