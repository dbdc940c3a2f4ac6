"""Sizes at which a program is tried: only as much of a graph's own as memory and patience have room for."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import prod

from ..program import Program
from .regions import Unreadable

ROWS = 3  # positions along a kept axis that are tried
ENOUGH = 1 << 18  # cells of x above which axes are shortened
MOST_CELLS = 1 << 22  # of x that is tried at all


def small(program: Program, over: Sequence[str], sizes: Mapping[str, int]) -> dict[str, int]:
    """Whole rows, since the graph may hold their count as a number, but only a few of them.

    Raises Unreadable where they are too long even so.
    """
    few = {axis: size if axis in over else min(size, ROWS) for axis, size in sizes.items()}
    made = shortened(program, few, over)
    if prod(made.values()) > MOST_CELLS:
        raise Unreadable(f"{prod(made[axis] for axis in over)} cells that share a statistic are too many to try")
    return made


def shortened(program: Program, sizes: Mapping[str, int], axes: Iterable[str]) -> dict[str, int]:
    """The sizes with the longest of these axes halved until there are few enough cells; 2 are left of each.

    >>> from normscope.program import Builder
    >>> build = Builder(("S", "d"), {"x": ("S", "d")})
    >>> _ = build.let("mu", "mean", "x", over=("d",))
    >>> shortened(build.program(), {"S": 3, "d": 1 << 20}, ["d"])
    {'S': 3, 'd': 65536}

    Only axes along which nothing but means are taken, in a program without a number that may be their count.
    """
    made = dict(sizes)
    fixed = {axis for step in program if step.over and step.op != "mean" for axis in step.over}
    if any(_may_count(arg) for step in program for arg in step.args if isinstance(arg, Fraction)):
        fixed = {axis for step in program for axis in step.over}
    free = [axis for axis in axes if axis not in fixed]
    while prod(made.values()) > ENOUGH:
        longest = max(free, key=made.__getitem__, default=None)
        if longest is None or made[longest] < 4:
            break
        made[longest] //= 2
    return made


def _may_count(number: Fraction) -> bool:
    """Whether a number is n, its root, or n / (n - 1): eps is smaller, and 1 and -1 say nothing."""
    return abs(number) > Fraction(1, 2) and abs(number) != 1
