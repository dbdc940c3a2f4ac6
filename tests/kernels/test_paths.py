"""The ways of the C code give the same bits: portable C and vectors, plain and streaming stores."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.kernels.engines import ENGINES, NUMPY, forced
from tests.kernels.reference import DTYPES

NATIVE_WAYS = [name for name in ENGINES if name != NUMPY]
WIDTHS = [1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 255, 256, 257, 511, 513, 768, 1001, 4099]

pytestmark = pytest.mark.skipif(len(NATIVE_WAYS) < 2, reason="there is no other way here")


def stored(values: Any) -> Any:
    """The stored patterns; a NaN is a NaN, whatever its sign and payload."""
    made = np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}").copy()
    made[np.isnan(values.astype(np.float64))] = 1
    return made


def rows(width: int, dtype: Any) -> Any:
    """Ordinary rows, and those that take every other turn of the code."""
    x = np.random.default_rng(width).normal(size=(16, width)) + 2
    x[1] *= 1e-3
    x[2] = 1e4 + x[2]  # a large mean
    x[3, : 1 + width // 9] += 3e4  # a poor pivot
    x[4] = 0.1  # constant
    x[5] *= 1e30 if dtype.itemsize > 2 else 6e3  # squares overflow
    x[6] *= 1e-30  # and vanish
    x[7, width // 2] = np.nan
    x[8, -1] = np.inf
    x[9] = 0
    x[10, 0] = -6e4
    with np.errstate(all="ignore"):
        return x.astype(dtype)


def outcomes(x: Any, gamma: Any, beta: Any, eps: float) -> dict[str, list[Any]]:
    """For every way, what every function makes of x, with an aligned output and with one that is off by a cell."""
    made = {}
    for name in NATIVE_WAYS:
        with forced(name) as kernels:
            out = np.zeros(x.size + 1, x.dtype)[1:].reshape(x.shape)
            found = [
                kernels.layer_norm(x, gamma, beta, eps),
                kernels.layer_norm(x, gamma, None, eps, out=out),
                kernels.layer_norm(x, None, beta, eps),
                kernels.layer_norm(x, None, None, eps),
                kernels.rms_norm(x, gamma, eps),
                *kernels.add_layer_norm(x, x[::-1], gamma, beta, eps),
                *kernels.add_rms_norm(x, x[::-1], None, eps),
                *kernels.layer_norm_backward(x[::-1].copy(), x, gamma, eps),
                *kernels.rms_norm_backward(x[::-1].copy(), x, gamma, eps),
            ]
            made[name] = [stored(values) for values in found]
    return made


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
@pytest.mark.parametrize("width", WIDTHS)
def test_every_way_gives_the_same_bits(width, dtype):
    x = rows(width, dtype)
    gamma, beta = np.random.default_rng(1).normal(size=(2, width)).astype(dtype)
    for eps in (1e-5, 0.0):
        first, *others = outcomes(x, gamma, beta, eps).values()
        for other, (index, values) in product(others, enumerate(first)):
            assert np.array_equal(values, other[index]), (eps, index)


@pytest.mark.parametrize("dtype", [DTYPES["float16"], DTYPES["bfloat16"]], ids=["float16", "bfloat16"])
def test_parameters_in_float32(dtype):
    x = rows(133, dtype)
    gamma, beta = np.random.default_rng(1).normal(size=(2, 133)).astype(np.float32)
    first, *others = outcomes(x, gamma, beta, 1e-5).values()
    for other, (index, values) in product(others, enumerate(first)):
        assert np.array_equal(values, other[index]), index


def test_ways_are_forced():
    """Were they not, all would agree."""
    from normscope import kernels

    x = np.zeros((2, 8), np.float32)
    seen = {}
    for name in NATIVE_WAYS:
        with forced(name):
            made = kernels.explain(x)
            seen[name] = (made.path, made.instructions, made.stores)
    assert seen["portable"] == ("native", "portable", "plain")
    if "avx2" in seen:
        assert seen["avx2"] == ("native", "avx2", "plain")
        assert seen["avx2-streaming"] == ("native", "avx2", "streaming")
