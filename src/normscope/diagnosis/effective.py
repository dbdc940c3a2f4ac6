"""The effective epsilon: what a function adds to the variance, read off its answers.

e = (c / xhat)^2 - v is constant along a row exactly when the mistake is in the divisor, and then says which. A
foreign eps or factor is solved for from it, never guessed from a list.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .definition import Definition, Values, evaluate
from .probes import Probe

NEARLY = 1e-4  # of solved numbers that are taken for the round one beside them
CELLS = 256  # units that a solved number may be off by: roundings of y, times what dividing beta off magnifies
ROOT = ("sqrt(v + eps)", "sqrt(v) + eps")


def effective_eps(values: Values, y: Any, outside: bool = False) -> Any:
    """e of every cell of c's shape, nan where c or the factor is 0; `outside` the root: |c / xhat| - sqrt(v)."""
    import numpy as np

    with np.errstate(all="ignore"):
        y = np.reshape(np.asarray(y, np.float64), values.full)
        divisor = np.abs(values.c * values.scale / (y - values.shift))
        divisor = np.where((np.abs(values.c) > 0.05 * np.max(np.abs(values.c))) & np.isfinite(divisor), divisor, np.nan)
        return divisor - np.sqrt(values.v) if outside else divisor**2 - values.v


def constant(cells: Any, room: float) -> float | None:
    """The value of cells that agree to within `room` or nearly, those that are nan left out; None where they do not."""
    import numpy as np

    known = cells[np.isfinite(cells)]
    if known.size < 2:
        return None
    middle = float(np.median(known))
    return middle if np.max(np.abs(known - middle)) <= max(NEARLY * abs(middle), room) else None


def foreign_eps(
    definition: Definition, asked: Sequence[tuple[Probe, Any]], unit: float
) -> tuple[float, float] | None:
    """From answers that are off by a few `unit`: (times, plus) where the function adds times * eps + plus, in the place where the definition adds eps."""
    if definition.division not in ROOT:
        return None
    outside = definition.division == ROOT[1]
    points = []
    for probe, y in asked:
        values = _values(definition, probe)
        if values is None:
            continue
        spread = float(abs(values.v).max())
        size = spread**0.5 if outside else spread + float(probe.eps or 0)
        added = constant(effective_eps(values, y, outside), CELLS * unit * size)
        if added is None and not points:
            return None
        if added is not None:
            points.append((float(probe.eps or 0), added, spread))
    return _line(points, unit)


def _line(points: list[tuple[float, float, float]], unit: float) -> tuple[float, float] | None:
    """The line through (eps, what is added), the constant from the rows of the smallest variance."""
    if len(points) < 3:
        return None
    low, high = min(points), max(points)
    if low[0] == high[0]:
        times = 0.0
    else:
        near = max((point for point in points if point[0] < high[0]), key=lambda point: point[0])
        times = _round((high[1] - near[1]) / (high[0] - near[0]))
    exact = min(points, key=lambda point: point[2])
    plus = exact[1] - times * exact[0]
    largest = abs(times) * exact[0] + exact[2]
    return times, (0.0 if abs(plus) < max(1e-5, CELLS * unit) * largest else _significant(plus))


def _round(value: float) -> float:
    for whole in (0.0, 0.5, 1.0, 2.0, 3.0, 4.0):
        if abs(value - whole) < NEARLY:
            return whole
    return _significant(value)


def _significant(value: float) -> float:
    """The number of one or two digits beside a value, else five digits."""
    for digits in ("1", "2"):
        short = float(f"{value:.{digits}g}")
        if abs(short - value) <= 10 * NEARLY * abs(value):
            return short
    return float(f"{value:.5g}")


def foreign_factor(definition: Definition, asked: Sequence[tuple[Probe, Any]], unit: float) -> float | None:
    """The factor of xhat, where it is one for every cell of every probe."""
    import numpy as np

    found = []
    for probe, y in asked:
        values = _values(replace(definition, factor=1.0), probe)
        if values is None:
            return None
        with np.errstate(all="ignore"):
            ratio = (np.reshape(np.asarray(y, np.float64), values.full) - values.shift) / (values.xhat * values.scale)
            ratio = np.where(np.abs(values.xhat) > 1e-3 * np.max(np.abs(values.xhat)), ratio, np.nan)
        known = ratio[np.isfinite(ratio)]
        if known.size and constant(np.resize(known, max(known.size, 2)), CELLS * unit) is None:
            return None
        if known.size:
            found.append(known)
    value = constant(np.concatenate(found), CELLS * unit) if found else None
    return None if value is None or abs(value - 1) < NEARLY or value == 0 else _significant(value)


def _values(definition: Definition, probe: Probe) -> Values | None:
    try:
        return evaluate(definition, probe)
    except (ValueError, KeyError):
        return None
