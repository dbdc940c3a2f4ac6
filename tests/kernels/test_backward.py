"""The way back against the whole Jacobian, in long double and in fractions, and against the program of gradients."""

from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import normscope as ns
from tests.kernels.engines import ENGINES, forced
from tests.kernels.reference import BFLOAT16, DTYPES, EPS, FLOAT16, FLOAT32, FLOAT64, Right, exact, fractions, ulp, wide

SHARE = {FLOAT32: 1e-6, FLOAT64: 4e-15}
WIDTHS = [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 100, 130]
Gradients = tuple[Any, Any, Any]


def case(shape: tuple[int, int], dtype: Any, mean: float = 0.0, spread: float = 1.0) -> tuple[Any, Any, Any]:
    random = np.random.default_rng(shape)
    x = (random.normal(size=shape) * spread + mean).astype(dtype)
    return random.normal(size=shape).astype(dtype), x, random.normal(size=shape[1]).astype(dtype)


def jacobian(right: Right, center: bool) -> Any:
    """d xhat_i / d x_k of each row (n, d, d): what moving one cell does to every other."""
    count = right.xhat.shape[-1]
    same = np.eye(count, dtype=int)
    apart = same - (right.r * 0 + 1)[..., None] / count if center else same
    return right.r[..., None] * (apart - right.xhat[:, :, None] * right.xhat[:, None, :] / count)


def of_jacobian(dy: Any, right: Right, gamma: Any, center: bool) -> Gradients:
    g = dy if gamma is None else dy * gamma
    dx = (g[:, :, None] * jacobian(right, center)).sum(axis=1)
    return dx, (dy * right.xhat).sum(axis=0), dy.sum(axis=0)


def plain(values: Any) -> Any:
    return np.asarray(values).astype(np.float64)


def assert_near(made: Gradients, right: Gradients, dy: Any, norm: Right, gamma: Any, note: Any = "") -> None:
    """Each error is a small share of the terms that the gradient is the sum of."""
    dtype = made[0].dtype
    share = SHARE.get(dtype, SHARE[FLOAT32])
    r, xhat, dy = plain(norm.r), np.abs(plain(norm.xhat)), np.abs(plain(dy))
    g = dy if gamma is None else dy * np.abs(plain(gamma))
    along = np.mean(g * (xhat + 1), axis=-1, keepdims=True)
    terms = r * (g + np.mean(g, axis=-1, keepdims=True) + (xhat + 1) * along)
    allowed = [terms * share, (dy * (xhat + 1)).sum(axis=0) * share, dy.sum(axis=0) * share]
    for name, mine, other, bound in zip(("dx", "dgamma", "dbeta"), made, right, allowed, strict=False):
        error = np.abs(plain(np.asarray(mine).astype(np.float64) - plain(other)))
        room = bound + ulp(plain(other), mine.dtype)
        worst = float(np.max(error / room, initial=0))
        assert worst <= 1, f"{note} {name}: the error is {worst:.3g} of what it may be"


def long(values: Any) -> Any:
    return plain(values).astype(np.longdouble)


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
@pytest.mark.parametrize("width", WIDTHS)
def test_every_width(kernels, width, dtype):
    for mean, rows in product([0.0, 1.0, 1e2 if dtype.itemsize == 2 else 1e4], [1, 5, 40]):
        dy, x, gamma = case((rows, width), dtype, mean)
        for given in (gamma, None):
            right = wide(x, given)
            factor = None if given is None else long(given)
            wanted = of_jacobian(long(dy), right, factor, True)
            assert_near(kernels.layer_norm_backward(dy, x, given), wanted, dy, right, given, (mean, rows))
            right = wide(x, given, center=False)
            wanted = of_jacobian(long(dy), right, factor, False)
            assert_near(kernels.rms_norm_backward(dy, x, given), wanted, dy, right, given, (mean, rows))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 2, 5, 17])
def test_against_exact_fractions(kernels, width, dtype):
    for mean in (0.0, 1e6):
        dy, x, gamma = case((3, width), dtype, mean)
        right = exact(x, gamma)
        wanted = of_jacobian(fractions(dy), right, fractions(gamma), True)
        assert_near(kernels.layer_norm_backward(dy, x, gamma), wanted, dy, right, gamma, mean)


@pytest.mark.parametrize("shape", [(33, 768), (600, 41), (3, 4099)])
def test_against_the_program_of_gradients(kernels, shape):
    dy, x, gamma = case(shape, np.float32, 3.0)
    trace = ns.trace(x.astype(np.float64), ns.Norm("S [d]", affine="d", eps=EPS), gamma=gamma, dy=dy.astype(np.float64))
    wanted = tuple(trace.gradients[name] for name in ("dx", "dgamma", "dbeta"))
    assert_near(kernels.layer_norm_backward(dy, x, gamma), wanted, dy, wide(x, gamma), gamma)
    trace = ns.trace(x.astype(np.float64), ns.rms_norm(eps=EPS), gamma=gamma, dy=dy.astype(np.float64))
    wanted = tuple(trace.gradients[name] for name in ("dx", "dgamma"))
    right = wide(x, gamma, center=False)
    assert_near(kernels.rms_norm_backward(dy, x, gamma), wanted, dy, right, gamma)


def test_against_finite_differences(kernels):
    """A loss sum(dy * y) moves by dx * h when x moves by h: both from the kernel itself, in float64."""
    dy, x, gamma = case((2, 9), np.float64, 0.5)
    dx, dgamma, dbeta = kernels.layer_norm_backward(dy, x, gamma)
    h = 1e-6

    def moved(values: Any, at: Any) -> Any:
        up, down = values.copy(), values.copy()
        up[at] += h
        down[at] -= h
        return up, down

    beta = np.zeros(9)
    for at in np.ndindex(x.shape):
        up, down = ((dy * kernels.layer_norm(each, gamma, beta)).sum() for each in moved(x, at))
        assert abs((up - down) / (2 * h) - dx[at]) < 1e-8
    for at in range(9):
        up, down = ((dy * kernels.layer_norm(x, each, beta)).sum() for each in moved(gamma, at))
        assert abs((up - down) / (2 * h) - dgamma[at]) < 1e-8
        up, down = ((dy * kernels.layer_norm(x, gamma, each)).sum() for each in moved(beta, at))
        assert abs((up - down) / (2 * h) - dbeta[at]) < 1e-8


@pytest.mark.parametrize("kept", [None, FLOAT32])
@pytest.mark.parametrize("dtype", [FLOAT16, BFLOAT16], ids=["float16", "bfloat16"])
def test_the_gradients_of_parameters_have_their_dtype(kernels, dtype, kept):
    dy, x, gamma = case((50, 24), dtype)
    gamma = gamma.astype(kept or dtype)
    made = kernels.layer_norm_backward(dy, x, gamma)
    assert [each.dtype for each in made] == [dtype, kept or dtype, kept or dtype]
    right = wide(x, gamma)
    assert_near(made, of_jacobian(long(dy), right, long(gamma), True), dy, right, gamma)


@pytest.mark.parametrize("exponent", [-38, -30, -20, -10, 10, 19, 30, 37])
def test_every_magnitude(kernels, exponent):
    dy, x, gamma = case((4, 50), np.float32)
    x = (x * 10.0 ** (exponent - 0.5)).astype(np.float32)
    dy = (dy * 10.0 ** (exponent / 2)).astype(np.float32)  # so that dx, of the order dy / x, is a float32
    for eps in (1e-5, 0.0):
        right = wide(x, gamma, eps=eps)
        wanted = of_jacobian(long(dy), right, long(gamma), True)
        assert_near(kernels.layer_norm_backward(dy, x, gamma, eps), wanted, dy, right, gamma, eps)


@pytest.mark.parametrize("far", [1e3, 1e6, -1e8])
def test_a_first_cell_far_from_the_others(kernels, far):
    dy, x, gamma = case((3, 100), np.float32, 7.0)
    for count in (1, 8):
        x[:, :count] += np.float32(far)
        right = wide(x, gamma)
        wanted = of_jacobian(long(dy), right, long(gamma), True)
        assert_near(kernels.layer_norm_backward(dy, x, gamma), wanted, dy, right, gamma)


@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64, FLOAT16, BFLOAT16])
def test_one_cell_a_row_has_no_gradient(kernels, dtype):
    dy, x, gamma = case((30, 1), dtype, 3.0)
    dx, dgamma, dbeta = kernels.layer_norm_backward(dy, x, gamma)
    assert not dx.any() and not dgamma.any()
    assert abs(float(dbeta[0]) - plain(dy).sum()) <= 1e-6 * np.abs(plain(dy)).sum() + float(
        np.abs(dbeta[0].astype(float)) * float(ml_dtypes.finfo(dtype).eps)
    )


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
@pytest.mark.parametrize("shape", [(1, 40), (15, 3), (16, 8), (17, 768), (513, 100), (5000, 65), (700, 1025)])
def test_threads_and_paths_change_no_bit(dtype, shape):
    dy, x, gamma = case(shape, dtype, 1.0)
    x[::5] = 3e4  # constant rows
    x[1::7, 0] = 6e4
    native = [name for name in ENGINES if name != "numpy"]
    for function in ("layer_norm_backward", "rms_norm_backward"):
        first = None
        for name, threads in [*product(native, (1, 2, 3, 8, None)), *product(["numpy"], (1, 2))]:
            if name == "numpy" and threads == 1:
                first = None
            with forced(name) as kernels:
                made = getattr(kernels, function)(dy, x, gamma, threads=threads)
            first = first or made
            for mine, other in zip(made, first, strict=True):
                assert np.array_equal(mine.view(f"u{mine.itemsize}"), other.view(f"u{other.itemsize}")), (name, threads)


def test_layouts(kernels):
    dy, x, gamma = case((24, 30), np.float32, 1.0)
    wanted = kernels.layer_norm_backward(dy, x, gamma)
    strided = np.zeros((24, 35), np.float32)[:, 3:33]
    strided[...] = x
    for x_given, dy_given in [
        (strided, dy),
        (np.asfortranarray(x), np.asfortranarray(dy)),
        (x, dy[:, ::-1].copy()[:, ::-1]),
    ]:
        for mine, other in zip(kernels.layer_norm_backward(dy_given, x_given, gamma), wanted, strict=True):
            assert np.array_equal(mine, other)
    dx, dgamma, _ = kernels.layer_norm_backward(dy.reshape(2, 3, 4, 30), x.reshape(2, 3, 4, 30), gamma)
    assert np.array_equal(dx.reshape(24, 30), wanted[0]) and np.array_equal(dgamma, wanted[1])
    dx, dgamma, dbeta = kernels.layer_norm_backward(dy[3], x[3], gamma)
    assert np.array_equal(dx, wanted[0][3]) and dgamma.shape == dbeta.shape == (30,)


def test_what_is_no_number_stays_in_its_row_of_dx(kernels):
    dy, x, gamma = case((20, 37), np.float32)
    wanted = kernels.layer_norm_backward(dy, x, gamma)[0]
    for bad, place in product([np.nan, np.inf, -np.inf], (0, 20, 36)):
        for values in (x, dy):
            kept = values[7, place]
            values[7, place] = bad
            dx, dgamma, dbeta = kernels.layer_norm_backward(dy, x, gamma)
            values[7, place] = kept
            others = np.arange(20) != 7
            assert np.array_equal(dx[others], wanted[others]) and not np.isfinite(dx[7]).all()
            assert not np.isfinite(dgamma).all()
            assert np.isfinite(dbeta).all() == (values is x)


def test_no_rows(kernels):
    dx, dgamma, dbeta = kernels.layer_norm_backward(np.empty((0, 5)), np.empty((0, 5)), np.ones(5))
    assert dx.shape == (0, 5) and not dgamma.any() and not dbeta.any() and dgamma.shape == (5,)


def test_memory_that_is_no_multiple_of_a_cell(kernels):
    def off(values):
        room = np.empty(values.nbytes + 1, np.uint8)[1:].view(values.dtype).reshape(values.shape)
        room[...] = values
        return room

    draw = np.random.default_rng(0)
    dy, x, gamma = (draw.normal(size=shape).astype(np.float32) for shape in ((4, 9), (4, 9), 9))
    there = kernels.layer_norm_backward(dy, x, gamma)
    here = kernels.layer_norm_backward(off(dy), off(x), off(gamma))
    assert all(np.array_equal(one, other) for one, other in zip(here, there, strict=True))


def test_what_cancels_over_the_rows_may_be_beyond_float32_between(kernels):
    dy, x, gamma = case((8, 64), np.float32)
    x[:], gamma[5] = x[0], 0.1
    dy[:4, 5], dy[4:, 5] = 2e38, -2e38
    right = wide(x, gamma)
    made = kernels.layer_norm_backward(dy, x, gamma)
    assert_near(made, of_jacobian(long(dy), right, long(gamma), True), dy, right, gamma)
    assert made[2][5] == 0


def test_a_row_s_gradient_has_the_same_bits_whatever_stands_beside_it(kernels):
    dy, x, gamma = case((40, 100), np.float32)
    alone = kernels.layer_norm_backward(dy, x, gamma)[0]
    x[3], x[17], dy[20, 1] = np.nan, 1e38, 3e38
    beside = kernels.layer_norm_backward(dy, x, gamma)[0]
    others = [i for i in range(40) if i not in (3, 17, 20)]
    assert np.array_equal(alone[others], beside[others])
