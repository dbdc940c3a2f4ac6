"""Which cells are wrong, where that is a pattern: a row, a column, all from one on, those where |xhat| is large."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..norm import Norm
from .blocks import rows_of
from .bounds import shares
from .examination import Examination, Row
from .fewest import fewest
from .verdict import Finding

LARGE = 0.5  # |xhat| from which on cells are a pattern of their own
MOST = 0.7  # of the cells of a pattern that must be wrong: one may be right by chance


@dataclass(frozen=True)
class Mask:
    """The wrong cells of one answer, and xhat and the spread, each of shape (rows, cells of a row)."""

    wrong: Any
    xhat: Any
    spread: Any

    def fills(self, rows: Any, cells: Any) -> bool:
        """Whether the wrong cells are those of these rows and cells, or nearly all of them."""
        import numpy as np

        there = np.logical_and.outer(rows, cells)
        inside = float(np.mean(self.wrong[there])) if there.any() else 0.0
        return not np.any(self.wrong & ~there) and inside >= MOST and not there.all()


def pattern(asked: Examination, rows: Sequence[Row], level: str) -> str:
    """In words which cells are wrong, the same on every probe; empty where they follow no pattern."""
    masks = [mask for row in rows if (mask := _mask(asked, row, level)).wrong.any()]
    if not masks or all(mask.wrong.all() for mask in masks):
        return ""
    for holds, text in _patterns(masks):
        if all(holds(mask) for mask in masks):
            return f"only these are wrong: {text}"
    return ""


def many_rows(asked: Examination, rows: Sequence[Row], level: str) -> list[Finding]:
    """What is wrong where there are many rows, of a function that is right where there are few."""
    wrong = asked.wrong(rows, level)
    if not wrong:
        return []
    probe, values, y = wrong[0]
    bad = _mask(asked, wrong[0], level).wrong.any(1)
    first, count = int(bad.argmax()), len(bad)
    where = pattern(asked, wrong, level) or f"{int(bad.sum())} of {count} rows are wrong, the first of them {first}"
    evidence = f"x of few rows is right; of {count} rows {where}"
    small, link = fewest(asked, wrong[0], level), "axes"
    if not first or not bad[first:].all():
        return [Finding("unrecognised", "many rows are not normalized as few are", evidence, "", "", small, link)]
    become = _become(asked.norm.fit(probe.x.ndim), values.full, probe.x, y, first)
    name = f"only the first {first} rows are normalized; those from {first} on {become}"
    return [Finding("rows-beyond-block", name, evidence, f"y[{first}:] is not norm(x[{first}:])",
                    "loop over all rows, whatever their count", small, link)]  # fmt: skip


def _become(norm: Norm, full: tuple[int, ...], x: Any, y: Any, first: int) -> str:
    """What the rows from one on are."""
    import numpy as np

    given, got = (rows_of(np.reshape(np.asarray(each, np.float64), full), norm)[first:] for each in (x, y))
    if np.array_equal(got, given):
        return "come back as they are"
    return "are other than their own norm" if got.any() else "are 0"


def _mask(asked: Examination, row: Row, level: str) -> Mask:
    import numpy as np

    probe, values, y = row
    norm = asked.norm.fit(probe.x.ndim)
    wrong = np.broadcast_to(shares(values, y, level, asked.dtype) > 1, values.y.shape)
    each = (np.reshape(wrong, values.full), np.abs(values.xhat), np.broadcast_to(values.v, values.full))
    return Mask(*(rows_of(np.broadcast_to(cells, values.full), norm) for cells in each))


def _patterns(masks: Sequence[Mask]) -> Iterator[tuple[Callable[[Mask], bool], str]]:
    """What may be wrong in all of them, the plainest first."""
    import numpy as np

    rows, cells = ([np.flatnonzero(mask.wrong.any(1 - axis)) for mask in masks] for axis in (0, 1))
    yield lambda mask: mask.fills(_at(mask, 0, 0), _all(mask, 1)), "the cells of the first row"
    yield lambda mask: mask.fills(_at(mask, 0, -1), _all(mask, 1)), "the cells of the last row"
    yield lambda mask: mask.fills(_all(mask, 0), _at(mask, 1, 0)), "the first cell of every row"
    yield lambda mask: mask.fills(_all(mask, 0), _at(mask, 1, -1)), "the last cell of every row"
    yield lambda mask: bool(np.array_equal(mask.wrong.any(1), ~mask.spread.any(1))), "rows without variance"
    cell, row = (min(int(each[0]) for each in part) for part in (cells, rows))
    if all(len(each) == 1 for each in cells):
        yield lambda mask: mask.fills(_all(mask, 0), _at(mask, 1, cell)), f"cell {cell} of every row"
    yield lambda mask: mask.fills(_all(mask, 0), _from(mask, 1, cell)), f"the cells of every row from cell {cell} on"
    yield lambda mask: mask.fills(_from(mask, 0, row), _all(mask, 1)), f"the rows from row {row} on"
    least = min(float(mask.xhat[mask.wrong].min()) for mask in masks)
    if least < LARGE:
        return
    yield lambda mask: not np.any(mask.xhat[~mask.wrong] >= least), f"cells whose |xhat| is {least:.3g} or more"


def _all(mask: Mask, axis: int) -> Any:
    import numpy as np

    return np.ones(mask.wrong.shape[axis], bool)


def _at(mask: Mask, axis: int, place: int) -> Any:
    import numpy as np

    return np.arange(mask.wrong.shape[axis]) == place % mask.wrong.shape[axis]


def _from(mask: Mask, axis: int, place: int) -> Any:
    import numpy as np

    return np.arange(mask.wrong.shape[axis]) >= place
