"""On which sizes a function was tried: the ground on which a verdict of correct stands."""

from collections.abc import Collection
from math import prod

from ..norm import Norm


def tried(norm: Norm, shapes: Collection[tuple[int, ...]]) -> tuple[str, ...]:
    """A note of the ranks of x and of how many cells a statistic was taken over; none where nothing answered.

    >>> from normscope import layer_norm
    >>> tried(layer_norm(), {(4, 6), (2, 3, 1030)})
    ('Tried on x of 2 and 3 dimensions, with statistics over 6 to 1,030 cells.',)
    """
    if not shapes:
        return ()
    ranks = sorted({len(shape) for shape in shapes})
    cells = sorted({_cells(norm, shape) for shape in shapes})
    over = f"{cells[0]:,} to {cells[-1]:,}" if len(cells) > 1 else f"{cells[0]:,}"
    return (f"Tried on x of {_listed(ranks)} dimensions, with statistics over {over} cells.",)


def _cells(norm: Norm, shape: tuple[int, ...]) -> int:
    fitted = norm.fit(len(shape))
    sizes = fitted.sizes_for(shape)
    return prod(sizes[axis] for axis in fitted.over)


def _listed(ranks: list[int]) -> str:
    is_row = len(ranks) > 2 and ranks == list(range(ranks[0], ranks[-1] + 1))
    return f"{ranks[0]} to {ranks[-1]}" if is_row else " and ".join(map(str, ranks))
