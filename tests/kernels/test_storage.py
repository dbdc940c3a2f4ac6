"""float16 and bfloat16: one storage ulp of the rightly rounded value, whatever gamma and beta are kept in."""

from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from normscope.kernels import fallback
from tests.kernels.reference import BFLOAT16, FLOAT16, FLOAT32, assert_near, exact, rounded, wide

NARROW = [pytest.param(FLOAT16, id="float16"), pytest.param(BFLOAT16, id="bfloat16")]
WIDTHS = [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 257, 768, 1001]


def normal(shape: Any, dtype: Any, mean: float = 0.0, spread: float = 1.0) -> Any:
    return (np.random.default_rng(shape).normal(size=shape) * spread + mean).astype(dtype)


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("width", WIDTHS)
def test_every_width(kernels, width, dtype):
    for mean, spread in product([0.0, 1.0, -100.0], [1.0, 1e-2, 30.0]):
        x = normal((7, width), dtype, mean, spread)
        assert_near(kernels.layer_norm(x), wide(x), note=(mean, spread))
        assert_near(kernels.rms_norm(x), wide(x, center=False), note=(mean, spread))


@pytest.mark.parametrize("kept", [None, FLOAT32])
@pytest.mark.parametrize("dtype", NARROW)
def test_parameters_in_either_format(kernels, dtype, kept):
    gamma, beta = (normal((width, 130), kept or dtype)[0] for width in (1, 2))
    x = normal((9, 130), dtype, 2.0)
    assert_near(kernels.layer_norm(x, gamma, beta), wide(x, gamma, beta), gamma)
    assert_near(kernels.layer_norm(x, beta=beta), wide(x, beta=beta))
    assert_near(kernels.layer_norm(x, gamma), wide(x, gamma), gamma)
    assert_near(kernels.rms_norm(x, gamma), wide(x, gamma, center=False), gamma)
    assert kernels.layer_norm(x, gamma, beta).dtype == dtype


@pytest.mark.parametrize("dtype", NARROW)
def test_gamma_and_beta_that_cancel(kernels, dtype):
    x = normal((5, 96), dtype)
    gamma = np.full(96, 3, FLOAT32)
    beta = (-3 * wide(x).xhat[0]).astype(FLOAT32)
    assert_near(kernels.layer_norm(x, gamma, beta), wide(x, gamma, beta), gamma)


@pytest.mark.parametrize("dtype", NARROW)
def test_against_exact_fractions(kernels, dtype):
    x = normal((2, 19), dtype, 3.0)
    gamma, beta = normal((2, 19), dtype)
    assert_near(kernels.layer_norm(x, gamma, beta), exact(x, gamma, beta), gamma)


@pytest.mark.parametrize("dtype", NARROW)
def test_almost_every_cell_is_the_rightly_rounded_one(kernels, dtype):
    x = normal((64, 768), dtype, 0.5)
    y = kernels.layer_norm(x).astype(float)
    assert np.mean(y != rounded(wide(x), dtype)) < 1e-3


@pytest.mark.parametrize("dtype", NARROW)
def test_cells_near_the_mean_keep_their_digits(kernels, dtype):
    """Where xhat is small, an ulp of it is far finer than float32's share of the spread."""
    x = normal((256, 768), dtype, 1.0, 0.25)
    assert_near(kernels.layer_norm(x), wide(x))


@pytest.mark.parametrize("dtype", NARROW)
def test_the_whole_range(kernels, dtype):
    info = np.finfo(FLOAT16) if dtype == FLOAT16 else None
    largest = float(info.max) if info else 2.0**127 * 1.9921875
    sign = np.where(np.arange(40) % 2, 1.0, -1.0)
    ramp = np.linspace(0.25, 1, 40)
    x = np.stack([sign * largest, ramp * largest, sign * ramp * largest]).astype(dtype)
    assert_near(kernels.layer_norm(x), wide(x))
    assert_near(kernels.rms_norm(x), wide(x, center=False))
    small = (x.astype(np.float64) * (2.0**-24 / 65504 if info else 1e-78)).astype(dtype)
    assert_near(kernels.rms_norm(small), wide(small, center=False))
    assert_near(kernels.layer_norm(small), wide(small))


@pytest.mark.parametrize("dtype", NARROW)
def test_a_result_beyond_the_largest_is_infinite(kernels, dtype):
    x = np.array([[1.0, 3.0]], dtype)
    y = kernels.layer_norm(x, beta=np.array([0.0, 3.4e38], FLOAT32) if dtype == BFLOAT16 else np.float32([0, 65520]))
    assert np.isinf(y[0, 1].astype(float)) and np.isfinite(y[0, 0].astype(float))


@pytest.mark.parametrize("dtype", NARROW)
def test_constant_rows_are_beta_exactly(kernels, dtype):
    beta = normal((1, 33), dtype)[0]
    x = np.broadcast_to(np.array([[0.1], [-7.0], [60000.0], [1e-7]]).astype(dtype), (4, 33))
    assert np.array_equal(kernels.layer_norm(x, beta=beta), np.broadcast_to(beta, x.shape))


@pytest.mark.parametrize("dtype", NARROW)
def test_every_stored_number_is_read_and_written_right(kernels, dtype):
    """A row (v, -v) without eps is (1, -1), and gamma of a constant |xhat| = 1 comes out rounded as it was given."""
    every = np.arange(2**16, dtype=np.uint16).view(dtype)
    finite = every[np.isfinite(every.astype(np.float32)) & (every.astype(np.float32) != 0)]
    x = np.stack([finite, (-finite.astype(np.float32)).astype(dtype)], axis=-1)
    y = kernels.layer_norm(x, eps=0.0).astype(np.float32)
    assert np.array_equal(y, np.sign(x.astype(np.float32)))
    signs = np.where(np.arange(finite.size) % 2, 1.0, -1.0).astype(dtype)[None]
    signs = np.concatenate([signs, -signs], axis=-1)
    gamma = np.concatenate([finite, finite]).astype(np.float32)
    y = kernels.layer_norm(signs, gamma, eps=0.0).astype(np.float32)
    assert np.array_equal(y, signs.astype(np.float32) * gamma)


@pytest.mark.parametrize("dtype", NARROW)
def test_ties_go_to_the_even_number(kernels, dtype):
    """xhat is exactly 1 or -1, so y is the rounded gamma: halfway between two stored numbers, and beside it."""
    infinity = np.array(np.inf).astype(dtype).view(np.uint16)
    every = np.arange(infinity, dtype=np.uint16).view(dtype).astype(np.float64)
    pairs = np.stack([every[:-1], every[1:]])
    half = pairs.mean(axis=0)
    gamma = np.concatenate([half, half]).astype(np.float32)
    for nudge in (None, 0.0, np.inf):
        given = gamma if nudge is None else np.nextafter(gamma, np.float32(nudge))
        signs = np.concatenate([np.ones(half.size), -np.ones(half.size)]).astype(dtype)[None]
        y = kernels.layer_norm(signs, given, eps=0.0).astype(np.float64)[0]
        low, high = np.concatenate([pairs, pairs], axis=1)
        even = np.concatenate([np.arange(half.size)] * 2) % 2 == 0
        below = (given < gamma) | ((given == gamma) & even)
        assert np.array_equal(np.abs(y), np.where(below, low, high)), nudge


@pytest.mark.parametrize("dtype", NARROW)
def test_numpy_rounds_once(dtype):
    """Just above a tie, where float32 would see the tie itself and round to the even number below."""
    half = 2.0 ** -(ml_dtypes.finfo(dtype).nmant + 1)
    gamma, beta = np.full(2, 1 + half, FLOAT32), np.array([2.0**-40, 0], FLOAT32)
    y = fallback.layer_norm(np.array([[3.0, 1.0]], dtype), gamma, beta, eps=0.0)
    assert y.astype(float).tolist() == [[1 + 2 * half, -1.0]]
