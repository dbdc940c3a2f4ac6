"""Norms that run at the speed of memory: LayerNorm and RMSNorm over the last axis, fused with a residual add or not.

A C extension reads x once and writes y once, on as many threads as are worth it; where it could not be built, NumPy
serves, block by block, with the same promises of accuracy. `explain` says how a call would be done.
"""

from typing import Any

from . import arrange
from .backward import layer_norm_backward, rms_norm_backward
from .explanation import Explanation, explain
from .extension import norm as _norm

__all__ = [
    "Explanation",
    "add_layer_norm",
    "add_rms_norm",
    "explain",
    "layer_norm",
    "layer_norm_backward",
    "rms_norm",
    "rms_norm_backward",
]

Array = Any


def layer_norm(
    x: Array,
    gamma: Array | None = None,
    beta: Array | None = None,
    eps: float = 1e-5,
    *,
    out: Array | None = None,
    threads: int | None = None,
) -> Array:
    """LayerNorm over the last axis: y = (x - mean) / sqrt(var + eps) * gamma + beta.

    x            (..., d), float32, float64, float16 or bfloat16 (ml_dtypes); y has its shape and dtype
    gamma, beta  (d,), in x's dtype; for 16-bit x also float32. Others are cast
    out          where y is written; x itself is allowed
    threads      at most so many; None: one for each processor where x is large enough

    The error in float32 is at most 2e-6 of the row's spread (times |gamma|) and 2 ulp, also for a mean of 1e6 spreads
    and for numbers up to 1e38. A row gives the same bits whatever the threads, the batch and the layout.

    >>> import numpy as np
    >>> layer_norm(np.float32([[1, 3], [1e6, 1e6 + 2]]), eps=0).tolist()
    [[-1.0, 1.0], [-1.0, 1.0]]
    """
    y = _norm(x, None, gamma, beta, eps, out, None, threads, True, False)
    return arrange.norm(x, None, gamma, beta, eps, out, None, threads, True) if y is NotImplemented else y


def rms_norm(
    x: Array,
    gamma: Array | None = None,
    eps: float = 1e-5,
    *,
    out: Array | None = None,
    threads: int | None = None,
) -> Array:
    """RMSNorm over the last axis: y = x / sqrt(mean(x^2) + eps) * gamma; otherwise as `layer_norm`.

    >>> import numpy as np
    >>> rms_norm(np.float32([3, -3, 3]), eps=0).tolist()
    [1.0, -1.0, 1.0]
    """
    y = _norm(x, None, gamma, None, eps, out, None, threads, False, False)
    return arrange.norm(x, None, gamma, None, eps, out, None, threads, False) if y is NotImplemented else y


def add_layer_norm(
    x: Array,
    residual: Array,
    gamma: Array | None = None,
    beta: Array | None = None,
    eps: float = 1e-5,
    *,
    out: Array | None = None,
    sum_out: Array | None = None,
    threads: int | None = None,
) -> tuple[Array, Array]:
    """(y, sum): the sum x + residual, rounded to x's dtype, and the LayerNorm of that rounded sum.

    residual  (..., d), of x's shape and dtype; either may be `out` or `sum_out`

    >>> import numpy as np
    >>> y, total = add_layer_norm(np.float32([1, 2]), np.float32([0, 1]), eps=0)
    >>> y.tolist(), total.tolist()
    ([-1.0, 1.0], [1.0, 3.0])
    """
    given = (x, residual, gamma, beta, eps, out, sum_out, threads, True)
    both = NotImplemented if residual is None else _norm(*given, False)
    return arrange.added_norm(*given) if both is NotImplemented else both


def add_rms_norm(
    x: Array,
    residual: Array,
    gamma: Array | None = None,
    eps: float = 1e-5,
    *,
    out: Array | None = None,
    sum_out: Array | None = None,
    threads: int | None = None,
) -> tuple[Array, Array]:
    """(y, sum): the sum x + residual, rounded to x's dtype, and the RMSNorm of that rounded sum.

    >>> import numpy as np
    >>> y, total = add_rms_norm(np.float32([1, -2]), np.float32([1, 0]), eps=0)
    >>> y.tolist(), total.tolist()
    ([1.0, -1.0], [2.0, -2.0])
    """
    given = (x, residual, gamma, None, eps, out, sum_out, threads, False)
    both = NotImplemented if residual is None else _norm(*given, False)
    return arrange.added_norm(*given) if both is NotImplemented else both
