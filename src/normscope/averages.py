"""What training leaves behind in a BatchNorm: the running statistics after some batches, in either convention."""

from math import prod
from typing import Any, NamedTuple

from .axes import whole
from .conventions import CONVENTIONS
from .errors import NormError
from .norm import Norm
from .tracing import Trace, running_statistics
from .views import arrays, cells

MOST_BATCHES = 1000


class Running(NamedTuple):
    """Running statistics by kept position, and how they came to be."""

    mean: Any
    var: Any
    batches: int
    momentum: float
    convention: str


class History(NamedTuple):
    """From which running statistics on, by what rule and how often a batch is seen; made by `history`."""

    mean: Any
    var: Any
    batches: int
    momentum: float | str
    convention: str

    def running(self, x: Any, shape: tuple[int, ...], norm: Norm) -> Running:
        """The running statistics after x was seen so often.

        Each time the batch has the same share of the new value, so what is left of the start is (1 - share) to the
        power of the count: one update by the rest of it does the same.
        """
        rule = CONVENTIONS[self.convention]
        share = 1 - (1 - rule.share(self.momentum)) ** self.batches
        mean, var = self._start(norm, shape)
        made = running_statistics(x, norm, mean, var, share, correction=rule.correction)
        if self.batches:
            mean, var = (by_group(made, made[name]) for name in ("new_running_mean", "new_running_var"))
        return Running(mean, var, self.batches, float(self.momentum), self.convention)

    def _start(self, norm: Norm, shape: tuple[int, ...]) -> tuple[Any, Any]:
        """What is given, else what a new layer has: zeros and ones."""
        sizes = norm.sizes_for(shape)
        kept = tuple(sizes[axis] for axis in norm.kept)
        zeros, ones = (cells.Cells(kept, [value] * prod(kept)).nested() for value in (0.0, 1.0))
        return zeros if self.mean is None else self.mean, ones if self.var is None else self.var


def history(
    convention: str, momentum: float | str | None, running_mean: Any, running_var: Any, batches: int | None
) -> History:
    """The arguments of `compare`, checked; NormError names the one that is wrong."""
    if convention not in CONVENTIONS:
        raise NormError(f"convention is {convention!r}; it must be one of {', '.join(CONVENTIONS)}.")
    momentum = CONVENTIONS[convention].momentum if momentum is None else momentum
    CONVENTIONS[convention].share(momentum)
    if batches is None:
        batches = 1 if running_mean is None and running_var is None else 0
    count = whole(batches)
    if count is None or not 0 <= count <= MOST_BATCHES:
        raise NormError(f"batches is {batches!r}; it must be a whole number from 0 to {MOST_BATCHES:,}.")
    return History(running_mean, running_var, count, momentum, convention)


def by_group(made: Trace, value: Any) -> Any:
    """A statistic of a trace without the reduced axes."""
    kept = tuple(made.sizes[axis] for axis in made.norm.kept)
    if arrays.is_array(value):
        return value.__array_namespace__().reshape(value, kept)
    return cells.Cells(kept, cells.flatten(value)).nested()
