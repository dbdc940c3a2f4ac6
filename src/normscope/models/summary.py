"""A parameter in a few numbers."""

from dataclasses import dataclass
from typing import Any

FAR = 6.0  # standard deviations, taken from the median distance, from which a feature is an outlier
MOST = 8  # outliers that are listed


@dataclass(frozen=True)
class Summary:
    """The smallest, largest and mean cell, and the features that stand far from the others.

    outliers  (place, value), the furthest first
    strange   cells that are not finite; the other figures are of those that are, and nan where none is
    """

    count: int
    least: float
    most: float
    mean: float
    outliers: tuple[tuple[int, float], ...] = ()
    strange: int = 0


def summary(cells: Any) -> Summary:
    """A summary of an array's cells.

    >>> import numpy as np
    >>> summary(np.array([1.0, 1.1, 0.9, 1.0, 9.0])).outliers
    ((4, 9.0),)
    """
    import numpy as np

    flat = np.asarray(cells, np.float64).ravel()
    places = np.flatnonzero(np.isfinite(flat))
    finite = flat[places]
    if not finite.size:
        nothing = float("nan") if flat.size else 0.0
        return Summary(flat.size, nothing, nothing, nothing, (), flat.size)
    distance = np.abs(finite - np.median(finite))
    scale = float(np.median(distance)) * 1.4826
    far = [int(at) for at in np.argsort(-distance, kind="stable")[:MOST] if scale and distance[at] > FAR * scale]
    outliers = tuple((int(places[at]), float(finite[at])) for at in far)
    figures = float(finite.min()), float(finite.max()), float(finite.mean())
    return Summary(flat.size, *figures, outliers, flat.size - finite.size)
