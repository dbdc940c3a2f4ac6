"""The norms in NumPy, block of rows by block of rows: what serves where the C extension is missing.

The functions have the interface of `normscope.kernels` and keep its promises of accuracy. A block of rows is
widened to float64, normalized there and rounded once as it is stored, so only some blocks exist at a time,
whatever the size of x. `threads` is accepted and unused: one thread computes.
"""

from collections.abc import Iterator
from typing import Any

from ..views.formats import BFLOAT16, round_array

Array = Any
BLOCK = 2**15  # cells of a block: 256 KB in float64, so that a block and its kin stay in cache
LARGE, SMALL = 2.0**500, 2.0**-500  # a float64 beyond them could overflow or vanish when it is squared
SHRINK, GROW = 2.0**-600, 2.0**600
SMALLEST = 2.0**-1074


def layer_norm(
    x: Array,
    gamma: Array = None,
    beta: Array = None,
    eps: float = 1e-5,
    *,
    out: Array = None,
    threads: int | None = None,
) -> Array:
    """LayerNorm over the last axis of x (..., d); y is rounded once, to the dtype of x.

    >>> import numpy as np
    >>> layer_norm(np.array([[1.0, 3.0]]), beta=np.array([0.0, 5.0]), eps=0).tolist()
    [[-1.0, 6.0]]
    """
    return _normalized(x, gamma, beta, eps, out, center=True)


def rms_norm(
    x: Array, gamma: Array = None, eps: float = 1e-5, *, out: Array = None, threads: int | None = None
) -> Array:
    """RMSNorm over the last axis of x (..., d): no mean is taken away.

    >>> import numpy as np
    >>> rms_norm(np.array([[3.0, -3.0]]), eps=0).tolist()
    [[1.0, -1.0]]
    """
    return _normalized(x, gamma, None, eps, out, center=False)


def add_layer_norm(
    x: Array,
    residual: Array,
    gamma: Array = None,
    beta: Array = None,
    eps: float = 1e-5,
    *,
    out: Array = None,
    sum_out: Array = None,
    threads: int | None = None,
) -> tuple[Array, Array]:
    """LayerNorm of x + residual, and that sum, which is rounded to the dtype of x first.

    >>> import numpy as np
    >>> y, total = add_layer_norm(np.array([1.0, 2.0]), np.array([0.0, 1.0]), eps=0)
    >>> y.tolist(), total.tolist()
    ([-1.0, 1.0], [1.0, 3.0])
    """
    total = _sum(x, residual, sum_out)
    return _normalized(total, gamma, beta, eps, out, center=True), total


def add_rms_norm(
    x: Array,
    residual: Array,
    gamma: Array = None,
    eps: float = 1e-5,
    *,
    out: Array = None,
    sum_out: Array = None,
    threads: int | None = None,
) -> tuple[Array, Array]:
    """RMSNorm of x + residual, and that sum, which is rounded to the dtype of x first."""
    total = _sum(x, residual, sum_out)
    return _normalized(total, gamma, None, eps, out, center=False), total


def layer_norm_backward(
    dy: Array, x: Array, gamma: Array = None, eps: float = 1e-5, *, threads: int | None = None
) -> tuple[Array, Array, Array]:
    """dx (..., d) in the dtype of x, dgamma (d,) and dbeta (d,) in that of gamma, of x where gamma is None.

    >>> import numpy as np
    >>> [each.tolist() for each in layer_norm_backward(np.array([[1.0, 0.0]]), np.array([[1.0, 3.0]]), eps=0)]
    [[[0.0, 0.0]], [-1.0, 0.0], [1.0, 0.0]]
    """
    return gradients(dy, x, gamma, eps, center=True)


def rms_norm_backward(
    dy: Array, x: Array, gamma: Array = None, eps: float = 1e-5, *, threads: int | None = None
) -> tuple[Array, Array]:
    """dx (..., d) and dgamma (d,) of RMSNorm, as `layer_norm_backward` gives them."""
    return gradients(dy, x, gamma, eps, center=False)[:2]


def _normalized(x: Array, gamma: Array, beta: Array, eps: float, out: Array, *, center: bool) -> Array:
    import numpy as np

    y = np.empty(x.shape, x.dtype) if out is None else out
    source, target = _rows(x), _rows(y)
    if np.may_share_memory(x, y) and not _same_cells(x, y):
        source = source.copy()  # else a block would be stored over rows that are still to be read
    with np.errstate(all="ignore"):
        gamma, beta = _wide(gamma), _wide(beta)
        for rows in _blocks(source):
            cells, r, _ = _standard(source[rows], eps, center)
            cells *= r
            if gamma is not None:
                cells *= gamma
            if beta is not None:
                cells += beta
            store(cells, target[rows])
    if not np.may_share_memory(target, y):
        y[...] = target.reshape(y.shape)
    return y


def gradients(dy: Array, x: Array, gamma: Array, eps: float, *, center: bool) -> tuple[Array, Array, Array]:
    """dx, dgamma and dbeta of LayerNorm, or of RMSNorm, which has no use for the last."""
    import numpy as np

    dx = np.empty(x.shape, x.dtype)
    given, source, target = _rows(dy), _rows(x), _rows(dx)
    width = source.shape[-1]
    sums = np.zeros((2, width))
    with np.errstate(all="ignore"):
        scale = _wide(gamma)
        for rows in _blocks(source):
            xhat, r, shrink = _standard(source[rows], eps, center)
            xhat *= r
            g = given[rows].astype(np.float64, order="C")
            sums += np.add.reduce([g * xhat, g], axis=1)
            if scale is not None:
                g *= scale
            along = _mean(g * xhat)
            if center:
                g -= _mean(g)
            g -= xhat * along
            g *= r * shrink
            store(g, target[rows])
        made = np.empty_like(sums, dtype=x.dtype if gamma is None else gamma.dtype)
        store(sums, made)
    return dx, made[0], made[1]


def _standard(rows: Array, eps: float, center: bool) -> tuple[Array, Array, Array]:
    """Cells (rows, d) less their mean, 1/std (rows, 1) and by what (rows, 1) both were scaled, in float64.

    The first cell is taken away before the mean is: a constant row becomes 0 exactly, and a large mean costs
    no digits.
    """
    import numpy as np

    cells = rows.astype(np.float64, order="C")  # the order of a sum is that of the cells in memory
    shrink: Array = np.float64(1)
    if rows.dtype == np.float64:
        largest = np.max(np.abs(cells), axis=-1, keepdims=True, initial=np.sqrt(eps))
        shrink = np.where(largest > LARGE, SHRINK, np.where(largest < SMALL, GROW, 1.0))
        cells *= shrink
    if center:
        cells -= cells[:, :1].copy()
        cells -= _mean(cells)
    added = np.maximum(eps * shrink * shrink, min(eps, SMALLEST))  # an eps that shrinks to 0 is still there
    return cells, 1 / np.sqrt(_mean(cells * cells) + added), shrink


def _mean(cells: Array) -> Array:
    import numpy as np

    return np.add.reduce(cells, axis=-1, keepdims=True) / cells.shape[-1]


def _sum(x: Array, residual: Array, out: Array) -> Array:
    import numpy as np

    with np.errstate(all="ignore"):
        return np.add(x, residual, out=out, dtype=x.dtype)


def _rows(values: Array) -> Array:
    """An array (..., d) as rows (n, d): a view where its layout allows one."""
    width = values.shape[-1]
    return values.reshape(-1 if width else 0, width)


def _blocks(rows: Array) -> Iterator[slice]:
    """Slices of as many whole rows as a block holds; they depend on the shape alone."""
    count, width = rows.shape
    step = max(1, BLOCK // max(1, width))
    return (slice(start, start + step) for start in range(0, count, step))


def _same_cells(a: Array, b: Array) -> bool:
    """Whether two arrays of one shape and dtype have each cell at the same place."""
    return bool(a.ctypes.data == b.ctypes.data and a.strides == b.strides)


def _wide(parameter: Array) -> Array:
    import numpy as np

    return None if parameter is None else parameter.astype(np.float64)


def store(values: Array, target: Array) -> None:
    """Round float64 values once, to the dtype of the target: ml_dtypes would go by way of float32."""
    target[...] = round_array(values, BFLOAT16) if target.dtype.name == BFLOAT16.name else values
