"""NaN and infinity stay in their row; d = 1; nothing at all."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.kernels.reference import DTYPES

BAD = [np.nan, -np.nan, np.inf, -np.inf]


@pytest.fixture(params=DTYPES)
def dtype(request: Any) -> Any:
    return DTYPES[request.param]


def stored(values: Any) -> Any:
    return np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}")


@pytest.mark.parametrize("width", [1, 2, 3, 8, 31, 100, 769])
def test_what_is_no_number_stays_in_its_row(kernels, dtype, width):
    x = np.random.default_rng(width).normal(size=(9, width)).astype(dtype)
    gamma, beta = np.random.default_rng(1).normal(size=(2, width)).astype(dtype)
    right = kernels.layer_norm(x, gamma, beta)
    for bad, at in product(BAD, {0, width // 2, width - 1}):
        given = x.copy()
        given[4, at] = bad
        for threads in (1, 3):
            y = kernels.layer_norm(given, gamma, beta, threads=threads)
            others = np.arange(9) != 4
            assert np.array_equal(stored(y[others]), stored(right[others]))
            assert np.isnan(y[4].astype(np.float32)).all(), (bad, at)


def test_rows_of_nothing_but_infinities(kernels, dtype):
    x = np.full((3, 40), np.inf, dtype)
    x[1] = -x[1]
    x[2, ::2] = -x[2, ::2]
    assert np.isnan(kernels.layer_norm(x).astype(np.float32)).all()


def test_rms_norm_of_an_infinity_is_0_elsewhere(kernels, dtype):
    """x / inf: the others are 0, the infinite cell is no number; a NaN makes the row NaN."""
    x = np.ones((3, 33), dtype)
    x[1, 20] = np.inf
    x[2, 20] = np.nan
    y = kernels.rms_norm(x).astype(np.float32)
    assert np.isnan(y[1, 20]) and not np.delete(y[1], 20).any()
    assert np.isnan(y[2]).all() and np.isfinite(y[0]).all()


def test_parameters_that_are_no_numbers_touch_their_column_alone(kernels, dtype):
    x = np.random.default_rng(0).normal(size=(3, 21)).astype(dtype)
    gamma, beta = np.ones((2, 21), dtype)
    right = kernels.layer_norm(x, gamma, beta)
    gamma[5], beta[7], beta[9] = np.nan, np.inf, -np.inf
    y = kernels.layer_norm(x, gamma, beta).astype(np.float32)
    assert np.isnan(y[:, 5]).all() and (y[:, 7] == np.inf).all() and (y[:, 9] == -np.inf).all()
    kept = np.delete(np.arange(21), [5, 7, 9])
    assert np.array_equal(y[:, kept], right[:, kept].astype(np.float32))


def test_no_warning_and_no_change_of_the_error_state(kernels, dtype):
    """A floating-point exception is no business of the caller: pytest turns a warning into an error."""
    x = np.array([[np.inf, 1.0, np.nan], [1e4, -1e4, 0.0]]).astype(dtype)
    with np.errstate(all="raise"):
        kernels.layer_norm(x, np.full(3, 1e300), eps=0.0)
        kernels.layer_norm(x, eps=0.0)
        kernels.add_layer_norm(x, x, eps=0.0)
        assert set(np.geterr().values()) == {"raise"}


def test_one_cell_a_row_is_beta(kernels, dtype):
    x = np.array([[3.0], [-0.0], [60000.0]]).astype(dtype)
    beta = np.array([0.3]).astype(dtype)
    assert np.array_equal(kernels.layer_norm(x, beta, beta), np.broadcast_to(beta, x.shape))
    y = kernels.rms_norm(x, eps=0.0)
    assert y[0] == 1 and y[2] == 1


def test_no_rows(kernels, dtype):
    gamma = np.ones(5, dtype)
    for shape in [(0, 5), (3, 0, 5), (0, 0, 5)]:
        x = np.empty(shape, dtype)
        for threads in (None, 1, 4):
            y = kernels.layer_norm(x, gamma, gamma, threads=threads)
            assert y.shape == shape and y.dtype == dtype
        y, total = kernels.add_rms_norm(x, x, gamma)
        assert y.shape == total.shape == shape


def test_x_and_the_parameters_are_not_written(kernels, dtype):
    given = [np.random.default_rng(0).normal(size=size).astype(dtype) for size in ((50, 40), (40,), (40,))]
    kept = [values.copy() for values in given]
    for values in given:
        values.flags.writeable = False
    y = kernels.layer_norm(*given)
    assert y.flags.writeable and not np.may_share_memory(y, given[0])
    assert all(np.array_equal(stored(mine), stored(was)) for mine, was in zip(given, kept, strict=True))


@pytest.mark.parametrize("margin", [1, 7, 64])
def test_nothing_beyond_the_output_is_written(kernels, dtype, margin):
    """Guard cells stand before, after and between the rows of a strided output."""
    for width, threads in product([1, 3, 8, 37, 769], [1, 2]):
        x = np.random.default_rng(width).normal(size=(70, width)).astype(dtype)
        room = np.full((70, width + 2 * margin), 7, dtype)
        kernels.layer_norm(x, out=room[:, margin:-margin], threads=threads)
        assert (room[:, :margin] == 7).all() and (room[:, -margin:] == 7).all()
        assert np.array_equal(stored(room[:, margin:-margin]), stored(kernels.layer_norm(x)))


@pytest.mark.parametrize("pattern", [0x7FFFFFFF, 0xFFFFFFFF, 0x7F800001, 0x7FC00000])
def test_a_nan_of_any_payload_stays_one_in_16_bits(kernels, pattern):
    """Rounding a NaN whose payload is all ones must not carry into the exponent, and so to 0."""
    nan = np.array([pattern], np.uint32).view(np.float32)
    for name in ("float16", "bfloat16"):
        x = np.array([[1.0, 3.0, 5.0] * 7]).astype(DTYPES[name])
        gamma, beta = np.ones((2, 21), np.float32)
        gamma[4:5] = nan
        beta[20:] = nan
        y = kernels.layer_norm(x, gamma, beta).astype(np.float32)[0]
        assert np.isnan(y[[4, 20]]).all() and np.isfinite(np.delete(y, [4, 20])).all()


@pytest.mark.parametrize("pattern", [0x7FFF, 0xFFFF, 0x7F81])
def test_a_bfloat16_nan_of_any_payload_stays_one(kernels, pattern):
    x = np.ones((2, 40), DTYPES["bfloat16"])
    x[1].view(np.uint16)[33] = pattern
    for y in (kernels.layer_norm(x), kernels.rms_norm(x), kernels.add_layer_norm(x, x)[0]):
        assert np.isnan(y[1].astype(np.float32)).all() and np.isfinite(y[0].astype(np.float32)).all()
    total = kernels.add_rms_norm(x, x)[1].astype(np.float32)
    assert np.isnan(total[1, 33]) and (np.delete(total[1], 33) == 2).all()
    dx, _, dbeta = kernels.layer_norm_backward(x, x)
    assert np.isnan(dx[1].astype(np.float32)).all() and np.isfinite(dx[0].astype(np.float32)).all()
    assert np.isnan(dbeta[33].astype(np.float32)) and np.isfinite(np.delete(dbeta, 33).astype(np.float32)).all()


@pytest.mark.parametrize("exponent", [-1060, -1030, -700, -400, 400, 700, 1000])
def test_float64_of_any_size_without_eps(kernels, exponent):
    """Scaled by a power of two, numbers have the same norm: exactly, where none of them is rounded by it."""
    x = np.random.default_rng(0).integers(-50, 50, size=(5, 37)).astype(np.float64)
    y, scaled = kernels.layer_norm(x, eps=0.0), kernels.layer_norm(np.ldexp(x, exponent), eps=0.0)
    assert np.allclose(scaled, y, rtol=0, atol=1e-14)
    y, scaled = kernels.rms_norm(x, eps=0.0), kernels.rms_norm(np.ldexp(x, exponent), eps=0.0)
    assert np.allclose(scaled, y, rtol=0, atol=1e-14)


def test_rows_of_zeros_without_eps_have_no_norm(kernels, dtype):
    assert np.isnan(kernels.layer_norm(np.zeros((2, 9), dtype), eps=0.0).astype(np.float32)).all()
