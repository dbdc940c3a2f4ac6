"""How far a right implementation may lie from the exact value, from the arithmetic that it computes in.

A sum of n cells in any order is off by at most (n - 1) u of the sum of magnitudes (Higham 2002, Accuracy and
Stability of Numerical Algorithms, 4.2), so a mean is off by n u max|x|, and so is a centered cell; the divisor's
relative error is half that of the variance, n u. So xhat is off by about n u (max|x| / std + |xhat|), and gamma
carries it to y. No tolerance is fixed: n, u, the condition max|x| / std and gamma decide.
"""

from collections.abc import Sequence
from math import isfinite
from typing import Any

from .definition import Values

UNIT = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
OPERATIONS = 10  # roundings of a cell beside those of the sums
TINY = {"float64": 1e-300, "float32": 1e-37, "float16": 1e-6, "bfloat16": 1e-37}


def bound(values: Values, computed: str, stored: str) -> Any:
    """The largest error of every cell of y, computed in one format and stored in another."""
    import numpy as np

    with np.errstate(all="ignore"):
        u = UNIT[computed] * (values.cells + OPERATIONS)
        condition = np.maximum(1.0, values.v_share)
        xhat = u * (values.size * values.root + np.abs(values.xhat) * condition)
        cells = np.abs(values.scale) * xhat + u * np.abs(values.shift) + TINY[computed]
        cells = np.broadcast_to(np.nan_to_num(cells, nan=np.inf), values.full).reshape(values.y.shape)
        return cells + (u + UNIT[stored]) * np.abs(values.y)


def share(values: Values, y: Any, computed: str, stored: str) -> float:
    """The largest error as a share of the bound; infinite where one is finite and the other is not."""
    return float(np_max(shares(values, y, computed, stored)))


def shares(values: Values, y: Any, computed: str, stored: str) -> Any:
    """The error of every cell as a share of its bound."""
    import numpy as np

    y = np.asarray(y, np.float64)
    if y.shape != values.y.shape:
        return np.array([np.inf])
    return ratios(y, values.y, bound(values, computed, stored))


def ratios(got: Any, there: Any, room: Any) -> Any:
    """The error of every cell as a share of its room; infinite where one is finite and the other is not."""
    import numpy as np

    with np.errstate(all="ignore"):
        apart = np.abs(got - there) / np.nan_to_num(room, nan=np.inf)
    finite = np.isfinite(got)
    apart = np.where(finite == np.isfinite(there), np.where(finite, apart, 0.0), np.inf)
    return np.nan_to_num(apart, nan=np.inf, posinf=np.inf)


def off(worst: Sequence[float], level: str, lost: str = "is not finite where the norm is") -> str:
    """How far answers are off, from the largest share of each, in words; infinity is no measure.

    >>> off([0.5, 32.0], "float64")
    'is off by up to 32 times the error bound of float64'
    >>> off([32.0, float("inf")], "float64")
    'is off by up to 32 times the error bound of float64, and is not finite where the norm is on 1 of 2 probes'
    >>> off([float("inf")], "float32")
    'is not finite where the norm is'
    """
    measured = [each for each in worst if isfinite(each)]
    if not measured:
        return lost
    text = f"is off by up to {max(measured):.3g} times the error bound of {level}"
    count = len(worst) - len(measured)
    return f"{text}, and {lost} on {count} of {len(worst)} probes" if count else text


def np_max(cells: Any) -> Any:
    """The largest cell; 0 of none."""
    import numpy as np

    return np.max(cells, initial=0.0)
