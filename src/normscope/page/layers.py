"""The order of a wiring diagram: which boxes stand in one layer, and which layers in one band."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import inf

Pair = tuple[int, int]  # a wire: its source and its target, which is the larger
Layers = tuple[tuple[int, ...], ...]


def layers(count: int, wires: Iterable[Pair]) -> Layers:
    """The boxes 0 ... count - 1 by their longest path from a source; a source stands just before its use.

    >>> layers(5, [(0, 1), (0, 2), (1, 2), (2, 4), (3, 4)])
    ((0,), (1,), (2, 3), (4,))
    """
    depth = [0] * count
    feeds, fed = defaultdict(list), set()
    for source, target in sorted(wires, key=lambda wire: wire[1]):
        depth[target] = max(depth[target], depth[source] + 1)
        feeds[source].append(target)
        fed.add(target)
    for box in feeds.keys() - fed:
        depth[box] = min(depth[target] for target in feeds[box]) - 1
    levels = range(max(depth, default=-1) + 1)
    return tuple(tuple(box for box in range(count) if depth[box] == at) for at in levels)


def in_one_file(columns: Layers, wires: Iterable[Pair]) -> Layers:
    """The same order with every box in a layer of its own, those that nothing feeds last: next to their use."""
    fed = {target for _, target in wires}
    return tuple((box,) for layer in columns for box in sorted(layer, key=lambda box: box not in fed))


def bands(columns: Layers, lengths: Sequence[float], room: float, gap: float) -> tuple[Layers, ...]:
    """Fill bands of `room` px with layers that stand `gap` apart, as lines are filled with words.

    >>> bands(((0,), (1,), (2,)), [50, 50, 50], 130, 20)
    (((0,), (1,)), ((2,),))
    """
    filled: list[list[tuple[int, ...]]] = []
    end = inf
    for layer in columns:
        length = max(lengths[box] for box in layer)
        end += gap + length
        if end > room or not filled:
            filled.append([])
            end = length
        filled[-1].append(layer)
    return tuple(map(tuple, filled))
