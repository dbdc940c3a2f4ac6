"""What floats leave of a number that is 0: told from small numbers by what it was computed from."""

import math
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

from ...comparison import Compared
from ...program import Step
from ...run import Rules
from ...views.cells import Cells, places

RESIDUE = 1e-12  # beside the numbers that were summed: what is left of a sum that is 0
ULPS = 2.0**-50  # beside the numbers that were subtracted: a mean is a rounded one, so a few units in the last place


def beside(value: float, numbers: Iterable[float]) -> float:
    """A number that was computed from others: 0 where it is nothing beside them.

    >>> beside(1e-17, (1.0, 0.5)), beside(1e-17, (1e-10,))
    (0.0, 1e-17)
    """
    return 0.0 if abs(value) < RESIDUE * max(map(abs, numbers)) else value


def difference(x: float, mean: float, reach: float) -> float:
    """x - mean, 0 where it is only the rounding of the mean; `reach` is the largest number in it.

    >>> difference(0.2, 0.2 + 2**-55, 0.3), difference(1e12 + 0.5, 1e12 + 0.25, 1e12 + 0.5)
    (0.0, 0.25)
    """
    made = x - mean
    return 0.0 if abs(made) <= ULPS * reach else made


def settling(rules: Rules) -> Rules:
    """The rules of plain cells, but x - mean is 0 where it is only rounding; so z is 0 there, and y is beta."""

    def subtract(step: Step, *terms: Cells) -> Cells:
        x, mean = terms
        at = places(mean.shape, x.shape)
        reach = _reach(x.flat, at, len(mean.flat))
        numbers = zip(x.flat, at, strict=True)
        return Cells(x.shape, [difference(value, mean.flat[i], reach[i]) for value, i in numbers])

    return {**rules, "sub": subtract}


class Settled(NamedTuple):
    """What a norm makes of x, cell by cell, and the variance of each group."""

    z: tuple[float, ...]
    variance: tuple[float, ...]


@lru_cache(maxsize=64)
def settled(each: Compared) -> Settled:
    """z and the variances, 0 where x - mean is only rounding."""
    z, variance = _flat(each.xhat), _flat(each.variance)
    if not each.norm.center:
        return Settled(tuple(z), tuple(variance))
    x, mean, at = _flat(each.trace.inputs["x"]), _flat(each.mean), each.group_of
    reach = _reach(x, at, len(mean))
    centered = [difference(cell, mean[i], reach[i]) for cell, i in zip(x, at, strict=True)]
    varied = set(at) if each.norm.running else {i for c, i in zip(centered, at, strict=True) if c}
    # A constant group is divided by eps alone; where that is 0 too, 0 / 0 is no number.
    constant = 0.0 if each.trace.inputs["eps"] else math.nan
    cells = zip(z, centered, at, strict=True)
    return Settled(
        tuple(value if c else 0.0 if i in varied else constant for value, c, i in cells),
        tuple(value if i in varied else 0.0 for i, value in enumerate(variance)),
    )


def _flat(nested: Any) -> list[float]:
    """The cells of nested lists, which a comparison has checked."""
    cells = [nested]
    while isinstance(cells[0], list):
        cells = list(chain.from_iterable(cells))
    return cells


def _reach(x: Iterable[float], group_of: Iterable[int], groups: int) -> list[float]:
    """The largest number of every group."""
    most = [0.0] * groups
    for value, at in zip(x, group_of, strict=True):
        most[at] = max(most[at], abs(value))
    return most
