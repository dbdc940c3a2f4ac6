"""Statistics that no program has: of blocks, chunks, padded lanes, of the wrong cells in memory, or badly accumulated.

Each is an array function of rows (rows, n) and gives the mean and the spread of every cell's numerator, of shape
(rows, n) or (rows, 1); what a mistake leaves unwritten is set by `unwritten`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..norm import Norm

Pair = tuple[Any, Any]


class OneBlockError(ValueError):
    """A row that is no longer than a block, which no block mistake changes."""


@dataclass(frozen=True)
class About:
    """What the rows of a norm are measured about: their mean, or 0 for one that does not center.

    following  for every row the cells that lie behind it in memory, nan where nothing lies
    channels   how many channels a row is made of, each of `positions` cells
    """

    center: bool
    following: Any
    channels: int
    positions: int

    def mean(self, rows: Any) -> Any:
        """The means of rows, (rows, 1)."""
        return rows.mean(-1, keepdims=True) if self.center else 0 * rows[:, :1]

    def var(self, rows: Any) -> Any:
        """The mean squares about them."""
        return ((rows - self.mean(rows)) ** 2).mean(-1, keepdims=True)

    def sums(self, rows: Any, mean_count: float, count: float) -> Pair:
        """The sum over a count as mean, and the sum of squares about it over another."""
        mean = rows.sum(-1, keepdims=True) / mean_count if self.center else 0 * rows[:, :1]
        return mean, ((rows - mean) ** 2).sum(-1, keepdims=True) / count


@dataclass(frozen=True)
class Block:
    """A mistake of block, chunk, layout or accumulation.

    id, name, fix    as a finding has them
    formula          what is computed
    rows             rows (rows, n) to mean and spread
    unwritten        of n cells, how many are written; the rest stay 0
    mean, std        what stands for them in the formula, where that says it all
    """

    id: str
    name: str
    formula: str
    fix: str
    rows: Callable[[Any, About], Pair]
    unwritten: Callable[[int], int] | None = None
    mean: str = ""
    std: str = ""

    def statistics(self, x: Any, norm: Norm) -> Pair:
        """Mean and spread against x of the program's rank; those of the whole row where that is one block.

        Raises ValueError where the shape does not allow the mistake.
        """
        rows = rows_of(x, norm)
        about = _about(x, norm)
        try:
            mean, spread = self.rows(rows, about)
        except OneBlockError:
            mean, spread = about.mean(rows), about.var(rows)
        return back(mean, x, norm), back(spread, x, norm)

    def written(self, y: Any, x: Any, norm: Norm) -> Any:
        """y with 0 where nothing is written."""
        import numpy as np

        if self.unwritten is None:
            return y
        rows = rows_of(np.broadcast_to(y, x.shape), norm).copy()
        rows[:, self.unwritten(rows.shape[1]) :] = 0
        return back(rows, x, norm)


def rows_of(x: Any, norm: Norm) -> Any:
    """x of the program's rank as (rows, cells that share a statistic)."""
    import numpy as np

    at = [norm.axes.index(axis) for axis in (*norm.kept, *norm.over)]
    moved = np.transpose(x, at)
    n = 1
    for axis in norm.over:
        n *= x.shape[norm.axes.index(axis)]
    return moved.reshape(-1, n)


def back(rows: Any, x: Any, norm: Norm) -> Any:
    """What `rows_of` undoes; a value of one column has size 1 along every reduced axis."""
    import numpy as np

    order = [norm.axes.index(axis) for axis in (*norm.kept, *norm.over)]
    kept = [x.shape[norm.axes.index(axis)] for axis in norm.kept]
    over = [x.shape[norm.axes.index(axis)] for axis in norm.over]
    shape = kept + (over if rows.shape[1] > 1 else [1] * len(over))
    return np.transpose(rows.reshape(shape), np.argsort(order))


def _about(x: Any, norm: Norm) -> About:
    """What rows of x are measured about, and what lies behind each: of the same item where channels are grouped."""
    rows = rows_of(x, norm)
    channels = x.shape[norm.axes.index("c")] if "c" in norm.over else rows.shape[1]
    return About(norm.center, _following(rows, x, norm), channels, rows.shape[1] // channels)


def _following(rows: Any, x: Any, norm: Norm) -> Any:
    import numpy as np

    count, n = rows.shape
    together = x.shape[norm.axes.index("g")] if "g" in norm.axes and norm.kept[-1:] == ("g",) else count
    made = np.zeros((count, n))
    for at in range(count):
        end = (at // together + 1) * together
        rest = rows[at + 1 : min(at + 2, end)].ravel()
        made[at, : rest.size] = rest
        made[at, rest.size :] = np.nan  # nothing lies there
    return made
