"""The effective epsilon: what a function adds to the variance, read off its answers.

e = (c / xhat)^2 - v is constant along a row exactly when the mistake is in the divisor, and then says which. A
foreign eps or factor is solved for from it, never guessed from a list.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .definition import Definition, Values, evaluate
from .probes import Probe

NEARLY = 1e-3  # of solved numbers, for which the round one beside them is tried first
CLEAR = 0.05  # of |y|: what taking beta off leaves, else its rounding hides the divisor
CELLS = 256  # units that a solved number may be off by: roundings of y, times what dividing beta off magnifies
ROOT = ("sqrt(v + eps)", "sqrt(v) + eps")


def added(values: Values, y: Any) -> Any:
    """What is added to the variance at every cell, (c / xhat)^2 - v; nan where that cannot be told."""
    import numpy as np

    with np.errstate(all="ignore"):
        y = np.reshape(np.asarray(y, np.float64), values.full)
        divisor = np.abs(values.c * values.scale / (y - values.shift))
        clear = (np.abs(values.c) > CLEAR * np.max(np.abs(values.c))) & np.isfinite(divisor)
        return np.where(clear, divisor**2 - values.v, np.nan)


@dataclass(frozen=True)
class Divisor:
    """xhat = factor * c / sqrt(v + times * eps + plus), or with that sum outside the root: solved, not guessed."""

    factor: float
    times: float
    plus: float

    def rounded(self) -> "Divisor":
        """The round numbers beside the solved ones."""
        return Divisor(_round(self.factor), _round(self.times), _round(self.plus))


def solve_divisor(definition: Definition, asked: Sequence[tuple[Probe, Any]], unit: float) -> Divisor | None:
    """The divisor that all answers have in common, where they have one and are off by a few `unit`.

    (c / xhat)^2 = (v + times * eps + plus) / factor^2 is linear in three unknowns; every cell is an equation, and
    is weighed by its own size, so that rows of tiny variance say what is added to it.
    """
    if definition.division not in ROOT:
        return None
    outside = definition.division == ROOT[1]
    is_one_eps = len({probe.eps for probe, _ in asked}) == 1  # then no more than their sum can be told
    equations = []
    for probe, y in asked:
        part = _equations(definition, probe, y, outside)
        if part is None:
            return None
        if is_one_eps:
            part[0][:, 1] = 0
        if len(part[1]):
            equations.append(part)
            if len(equations) == 1 and _solved(part[0][:, [0, 2]], part[1], unit) is None:
                return None
    return _divisor(equations, unit, outside) if len(equations) > 2 else None


def solve_factor(definition: Definition, asked: Sequence[tuple[Probe, Any]], unit: float) -> float | None:
    """What all answers are times those of the definition, where it is one number."""
    import numpy as np

    found: list[float] = []
    for probe, y in asked:
        try:
            values = evaluate(definition, probe)
        except (ValueError, KeyError):
            return None
        with np.errstate(all="ignore"):
            made = values.xhat * values.scale
            y = np.reshape(np.asarray(y, np.float64), values.full) - values.shift
            ratio = np.where(np.abs(made) > CLEAR * np.nanmax(np.abs(made), initial=0.0), y / made, np.nan)
        known = ratio[np.isfinite(ratio)]
        found += [float(np.median(known))] if known.size else []
        if not known.size or np.max(np.abs(known - found[0])) > CELLS * unit * abs(found[0]):
            return None
    return found[0] if found and found[0] else None


def _equations(definition: Definition, probe: Probe, y: Any, outside: bool) -> tuple[Any, Any, float] | None:
    """Rows (spread, eps, 1) and what they should sum to, each over its own size; and the sign of the factor."""
    import numpy as np

    try:
        values = evaluate(definition, probe)
    except (ValueError, KeyError):
        return None
    with np.errstate(all="ignore"):
        y = np.reshape(np.asarray(y, np.float64), values.full)
        divisor = values.c * values.scale * values.factor / (y - values.shift)
        clear = (
            np.isfinite(divisor)
            & (np.abs(values.c) > 0.05 * np.max(np.abs(values.c)))
            & (np.abs(y - values.shift) > CLEAR * np.abs(y))
        )
        spread = np.broadcast_to(np.sqrt(values.v) if outside else values.v, values.full)[clear]
        found = np.abs(divisor[clear]) if outside else divisor[clear] ** 2
        sign = float(np.sign(np.median(divisor[clear]))) if clear.any() else 1.0
        table = np.stack([spread, np.full_like(spread, float(probe.eps or 0)), np.ones_like(spread)], 1)
        return table / found[:, None], np.ones_like(found), sign


def _solved(table: Any, ones: Any, unit: float) -> Any:
    """The unknowns where every equation holds; None where they do not."""
    import numpy as np

    if len(ones) <= table.shape[1] or not np.isfinite(table).all():
        return None
    size = np.max(np.abs(table), axis=0)
    size[size == 0] = 1
    unknowns = np.linalg.lstsq(table / size, ones, rcond=None)[0] / size
    return unknowns if np.max(np.abs(table @ unknowns - ones)) < CELLS * unit else None


def _divisor(equations: Sequence[tuple[Any, Any, float]], unit: float, outside: bool) -> Divisor | None:
    import numpy as np

    table, ones = (np.concatenate([part[at] for part in equations]) for at in (0, 1))
    unknowns = _solved(table, ones, unit)
    if unknowns is None or not unknowns[0] > 0:
        return None
    slope, times, plus = map(float, unknowns)
    # What is added, where it is less than the noise of the smallest divisor, is 0.
    shares = np.max(np.abs(table * unknowns), axis=0)
    times, plus = (0.0 if part < CELLS * unit else value for part, value in zip(shares[1:], (times, plus), strict=True))
    factor = 1 / slope if outside else slope**-0.5
    return Divisor(factor * equations[0][2], times / slope, plus / slope)


def _round(value: float) -> float:
    """The number of one or two digits beside a value, else the value."""
    for digits in ("1", "2"):
        short = float(f"{value:.{digits}g}")
        if abs(short - value) <= NEARLY * abs(value):
            return short
    return value
