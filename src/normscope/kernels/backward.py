"""The way back of a norm over the last axis: the gradients of x, gamma and beta, from x and dy alone."""

from math import prod
from typing import Any

from . import arrange, fallback
from .extension import NATIVE

Array = Any
LINE = 64  # bytes of a line of the cache


def layer_norm_backward(
    dy: Array, x: Array, gamma: Array | None = None, eps: float = 1e-5, *, threads: int | None = None
) -> tuple[Array, Array, Array]:
    """(dx, dgamma, dbeta) of LayerNorm over the last axis, for the gradient dy of y.

    dy      (..., d), of x's shape and dtype
    x       (..., d), what the norm was given; mean and 1/std are computed again, which costs no pass over memory
    gamma   (d,), as for `layer_norm`; None: 1
    dx      (..., d) in x's dtype
    dgamma  (d,) and dbeta (d,), in gamma's dtype, x's where gamma is None

    With g = dy * gamma: dx = r * (g - mean(g) - xhat * mean(g * xhat)); dgamma = sum(dy * xhat) and dbeta = sum(dy)
    over all rows, with the same bits whatever the threads. See `normscope.backward`.

    >>> import numpy as np
    >>> [each.tolist() for each in layer_norm_backward(np.float32([[1, 0, 0, 0]]), np.float32([[1, 3, 1, 3]]), eps=0)]
    [[[0.5, 0.0, -0.5, 0.0]], [-1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]]
    """
    return _gradients(dy, x, gamma, eps, threads, center=True)


def rms_norm_backward(
    dy: Array, x: Array, gamma: Array | None = None, eps: float = 1e-5, *, threads: int | None = None
) -> tuple[Array, Array]:
    """(dx, dgamma) of RMSNorm over the last axis; otherwise as `layer_norm_backward`.

    >>> import numpy as np
    >>> [each.tolist() for each in rms_norm_backward(np.float32([1, 0]), np.float32([1, 1]), eps=0)]
    [[0.5, -0.5], [1.0, 0.0]]
    """
    return _gradients(dy, x, gamma, eps, threads, center=False)[:2]


def _gradients(dy: Array, x: Array, gamma: Array, eps: float, threads: Any, *, center: bool) -> tuple[Array, ...]:
    made = _of_ordinary(dy, x, gamma, eps, threads, center)
    return _of_any(dy, x, gamma, eps, threads, center) if made is None else made


def _of_ordinary(dy: Array, x: Array, gamma: Array, eps: float, threads: Any, center: bool) -> tuple[Array, ...] | None:
    """Of what the C code takes as it comes, else None: the checks of `arrange` take long when arrays fill the cache."""
    import numpy as np

    if NATIVE is None or type(x) is not np.ndarray or x.dtype.char not in "fd" or not x.size or not x.ndim:
        return None
    dx, sums = _at_a_line(x.shape, x.dtype), np.empty((2, x.shape[-1]), x.dtype)
    if NATIVE.backward(x, dy, gamma, None, eps, dx, None, threads, center, False, sums) is NotImplemented:
        return None
    return dx, sums[0], sums[1]


def _of_any(dy: Array, x: Array, gamma: Array, eps: float, threads: Any, center: bool) -> tuple[Array, ...]:
    import numpy as np

    call = arrange.checked(x, None, gamma, None, eps, None, None, threads, center)
    dy = arrange.like(call.x, "dy", arrange.floats("dy", dy))
    if NATIVE is None:
        return fallback.gradients(dy, call.x, call.gamma, call.eps, center=center)
    dx = _at_a_line(call.x.shape, call.x.dtype.newbyteorder("="))
    sums = np.zeros((2, dx.shape[-1]))
    rows = arrange.native_form(call._replace(residual=dy, out=dx))
    if dx.size and NATIVE.backward(*rows, sums) is NotImplemented:
        raise AssertionError("the C code refuses what was brought into its form")
    made = np.empty_like(sums, dtype=dx.dtype if call.gamma is None else call.gamma.dtype)
    with np.errstate(all="ignore"):
        fallback.store(sums, made)
    return dx.astype(call.x.dtype, copy=False), made[0], made[1]


def _at_a_line(shape: tuple[int, ...], dtype: Any) -> Array:
    """A new array that begins where a line of the cache does, so that whole lines can be written past it."""
    import numpy as np

    size = prod(shape) * dtype.itemsize
    room = np.empty(size + LINE, np.uint8)
    start = -room.ctypes.data % LINE
    return room[start : start + size].view(dtype).reshape(shape)
