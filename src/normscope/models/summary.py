"""A parameter in a few numbers."""

from dataclasses import dataclass
from typing import Any

FAR = 6.0  # standard deviations, taken from the median distance, from which a feature is an outlier
MOST = 8  # outliers that are listed


@dataclass(frozen=True)
class Summary:
    """The smallest, largest and mean cell, and the features that stand far from the others.

    outliers  (place, value), the furthest first
    """

    count: int
    least: float
    most: float
    mean: float
    outliers: tuple[tuple[int, float], ...] = ()


def summary(cells: Any) -> Summary:
    """A summary of an array's cells.

    >>> import numpy as np
    >>> summary(np.array([1.0, 1.1, 0.9, 1.0, 9.0])).outliers
    ((4, 9.0),)
    """
    import numpy as np

    flat = np.asarray(cells, np.float64).ravel()
    if not flat.size:
        return Summary(0, 0.0, 0.0, 0.0)
    distance = np.abs(flat - np.median(flat))
    scale = float(np.median(distance)) * 1.4826
    far = [int(at) for at in np.argsort(-distance, kind="stable")[:MOST] if scale and distance[at] > FAR * scale]
    outliers = tuple((at, float(flat[at])) for at in far)
    return Summary(flat.size, float(flat.min()), float(flat.max()), float(flat.mean()), outliers)
