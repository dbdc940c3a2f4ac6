"""A value that is cut off, xhat or y: its bounds are read off the cells that are off, and must give every cell."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import Any

from .bounds import UNIT, share, shares
from .definition import Values
from .effective import CELLS
from .examination import Examination, Row
from .fewest import fewest
from .verdict import Finding

LEAST = 2  # cells at each bound: one alone would be at some bound whatever is wrong
INSIDE = 0.25  # of all cells, which the bounds must leave as they are


@dataclass(frozen=True)
class Cut:
    """Bounds of xhat or of the output; infinite where there is none."""

    of: str
    low: float
    high: float

    def values(self, values: Values) -> Values:
        """What is right, cut off."""
        import numpy as np

        if self.of == "output":
            return replace(values, y=np.clip(values.y, self.low, self.high))
        y = np.clip(values.xhat, self.low, self.high) * values.scale + values.shift
        return replace(values, y=np.broadcast_to(y, values.full).reshape(values.y.shape))

    @property
    def words(self) -> str:
        """Where it is cut off."""
        if self.low == -self.high:
            return f"at -{self.high:g} and {self.high:g}"
        ends = [f"{what} {end:g}" for what, end in (("below", self.low), ("above", self.high)) if isfinite(end)]
        return " and ".join(ends)


def clipped(asked: Examination, rows: Sequence[Row], level: str) -> Finding | None:
    """The finding of a function that is right but for cells that are cut off; None where that is not it."""
    for cut in _cuts(rows, level, asked.dtype):
        if all(share(cut.values(values), y, level, asked.dtype) <= 1 for _, values, y in rows):
            return _finding(asked, rows, cut, level)
    return None


def _cuts(rows: Sequence[Row], level: str, stored: str) -> Iterator[Cut]:
    """What may be cut off where, round bounds first."""
    for of in ("xhat", "output"):
        bounds = _bounds(rows, of, level, stored)
        if bounds is not None:
            short = [float(f"{end:.3g}") for end in bounds]
            yield from (Cut(of, *short), Cut(of, *bounds))


def _bounds(rows: Sequence[Row], of: str, level: str, stored: str) -> tuple[float, float] | None:
    """Where the cells that are off stand, below and above; None where they do not stand at two values."""
    import numpy as np

    cells = [_cells(row, of, level, stored) for row in rows]
    there, got, off = (np.concatenate([each[at] for each in cells]) for at in range(3))
    if not np.isfinite(got[off]).all() or not off.any() or np.mean(~off) < INSIDE:
        return None
    ends = []
    for part, none in ((off & (got > there), -inf), (off & (got < there), inf)):
        end = float(np.median(got[part])) if part.any() else none
        room = CELLS * max(UNIT[level], UNIT[stored]) * (1 + abs(end))
        if part.any() and (part.sum() < LEAST or np.max(np.abs(got[part] - end)) > room):
            return None
        ends.append(end)
    return (ends[0], ends[1]) if ends[0] < ends[1] else None


def _cells(row: Row, of: str, level: str, stored: str) -> tuple[Any, Any, Any]:
    """xhat or y of every cell as it should be, as it came back, and whether it is off."""
    import numpy as np

    _, values, y = row
    off = np.ravel(np.broadcast_to(shares(values, y, level, stored) > 1, values.y.shape))
    got = np.reshape(np.asarray(y, np.float64), values.full)
    there: Any = values.y
    if of == "xhat":
        there, got = values.xhat, (got - values.shift) / values.scale
    return np.ravel(there), np.ravel(got), off


def _finding(asked: Examination, rows: Sequence[Row], cut: Cut, level: str) -> Finding:
    wrong = asked.wrong(rows, level)
    most = max(float(abs(values.xhat if cut.of == "xhat" else values.y).max()) for _, values, _ in wrong)
    what = "the normalized value" if cut.of == "xhat" else "the output"
    evidence = (
        f"{len(wrong)} of {len(rows)} probes are wrong, in the cells alone where {what} should lie beyond; it reaches "
        f"{most:.3g} there"
    )
    ends = ", ".join(f"{end:g}" for end in (cut.low, cut.high))
    text = f"clip({'xhat' if cut.of == 'xhat' else 'y'}, {ends})"
    plainest = min(wrong, key=lambda row: float(row[1].size.max()))
    return Finding(
        f"{cut.of}-clipped",
        f"{what} is cut off {cut.words}",
        evidence,
        f"{text} * gamma + beta" if cut.of == "xhat" else text,
        "leave every value: a row of n cells may hold xhat up to sqrt(n - 1)",
        fewest(asked, plainest, level),
        "xhat" if cut.of == "xhat" else "y",
    )
