"""A window on a large tensor: its edges along every axis, as index ranges."""

from collections.abc import Sequence
from math import prod
from typing import Any

Spans = tuple[tuple[int, int], ...]

CELLS = 10_000  # a tensor of at most so many cells is shown whole
EDGE = 3  # cells kept at either end of an axis that is cut


def spans(size: int, edge: int = EDGE, whole: int | None = None) -> Spans:
    """The half-open index ranges that are shown of one axis; all of it up to `whole` (2 * edge).

    >>> spans(6), spans(768)
    (((0, 6),), ((0, 3), (765, 768)))
    """
    if size <= (2 * edge if whole is None else whole):
        return ((0, size),)
    return ((0, edge), (size - edge, size))


def window(shape: Sequence[int], cells: int = CELLS) -> tuple[Spans, ...] | None:
    """The ranges that are shown of every axis; None where the tensor is shown whole.

    >>> window((8, 1024, 768))
    (((0, 3), (5, 8)), ((0, 3), (1021, 1024)), ((0, 3), (765, 768)))
    >>> window((2, 4, 8)) is None
    True
    """
    if prod(shape) <= cells:
        return None
    for edge in range(EDGE, 0, -1):  # thinner edges where there are many axes
        cut = tuple(spans(size, edge) for size in shape)
        if prod(len(indices(each)) for each in cut) <= cells:
            break
    return cut


def indices(shown: Spans) -> list[int]:
    """Every index in the ranges."""
    return [i for start, stop in shown for i in range(start, stop)]


def cut_out(value: Any, shown: Sequence[Spans]) -> Any:
    """The cells of `value` (nested lists or an array) in the ranges of every axis, as nested lists.

    >>> cut_out([[1, 2, 3], [4, 5, 6]], (((0, 2),), ((0, 1), (2, 3))))
    [[1, 3], [4, 6]]
    """
    if not shown:
        return value.item() if hasattr(value, "item") else value
    return [cut_out(value[i], shown[1:]) for i in indices(shown[0])]
