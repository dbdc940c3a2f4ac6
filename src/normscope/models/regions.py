"""Axes of a tensor's dimensions while a graph is read: which run of axes a dimension is, and how they are split.

A dimension is a tuple of axis names, `("g", "c")` for one that holds both, `()` for a size of 1. Sizes are those of
the model, or chosen where the model leaves them open. Where a choice turns out wrong, or an axis must be split,
`Again` says how to begin anew.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import lcm, prod

from ..axes import Axes

Dims = tuple[Axes, ...]
FREE = "~"  # begins the name of an axis that is not yet known to be one of x's


class Unreadable(Exception):
    """A node whose meaning is none that a program can say."""


class Clash(Unreadable):
    """Two axes of x that meet in one dimension."""


class Again(Exception):
    """Begin anew: an axis is split into these sizes, or has another size. `told`: the model itself says so."""

    def __init__(self, axis: str, sizes: tuple[int, ...], told: bool = False) -> None:
        super().__init__(axis)
        self.axis = axis
        self.sizes = sizes
        self.told = told


@dataclass
class Layout:
    """The sizes of every axis, and what free axes turned out to be.

    fixed  axes whose size is the model's, not a choice
    """

    sizes: dict[str, int]
    fixed: set[str]
    bound: dict[str, Axes] = field(default_factory=dict)

    def free(self, size: int) -> Axes:
        """A dimension of this size whose axis is not yet known."""
        if size == 1:
            return ()
        name = f"{FREE}{len(self.sizes)}"
        self.sizes[name] = size
        self.fixed.add(name)
        return (name,)

    def axes(self, dim: Axes) -> Axes:
        """A dimension with what its free axes turned out to be."""
        return tuple(real for axis in dim for real in (self.axes(self.bound[axis]) if axis in self.bound else (axis,)))

    def size(self, dim: Axes) -> int:
        """The size of a dimension."""
        return prod(self.sizes[axis] for axis in self.axes(dim))

    def aligned(self, a: Dims, b: Dims) -> Dims:
        """The dimensions of an elementwise result: broadcast from the right.

        Raises Clash where two axes of x meet.
        """
        rank = max(len(a), len(b))
        padded = (((),) * (rank - len(each)) + each for each in (a, b))
        return tuple(self._met(self.axes(one), self.axes(other)) for one, other in zip(*padded, strict=True))

    def _met(self, one: Axes, other: Axes) -> Axes:
        if one == other or not other or self.size(other) == 1:
            return one or other
        if not one or self.size(one) == 1:
            return other
        first, second = (other, one) if _is_free(one) else (one, other)
        if not any(_is_free((axis,)) for axis in second):
            raise Clash(f"{one} meets {other}")
        if len(second) == 1:
            self._bind(second[0], first)
            return first
        if len(first) == 1 and self.size(first) == self.size(second):
            raise Again(first[0], tuple(self.sizes[axis] for axis in second))
        if len(first) == len(second):
            return tuple(axis for pair in zip(first, second, strict=True) for axis in self._met(*((a,) for a in pair)))
        raise Unreadable(f"{one} meets {other}")

    def _bind(self, free: str, dim: Axes) -> None:
        wanted = self.sizes[free]
        if self.size(dim) != wanted:
            self._resize(dim, wanted)
        self.bound[free] = dim

    def _resize(self, dim: Axes, wanted: int) -> None:
        """Begin anew with a size that makes the dimension as large as wanted."""
        open_axes = [axis for axis in dim if axis not in self.fixed]
        others = self.size(dim) // prod(self.sizes[axis] for axis in open_axes)
        if len(open_axes) != 1 or wanted % others:
            raise Unreadable(f"{dim} is not of size {wanted}")
        raise Again(open_axes[0], (wanted // others,), told=True)

    def reshaped(self, dims: Dims, target: Sequence[int | None]) -> Dims:
        """The dimensions after a reshape to these sizes; None is a size that is not known.

        Raises Again where an axis must be split for it.
        """
        flat = [axis for dim in dims for axis in self.axes(dim)]
        sizes = self._guessed(dims, target)
        gap = sizes.index(None) if None in sizes else len(sizes)
        front = [self._taken(flat, size, 0) for size in sizes[:gap] if size is not None]
        back = [self._taken(flat, size, -1) for size in reversed(sizes[gap + 1 :]) if size is not None]
        if gap < len(sizes):
            return (*front, tuple(flat), *reversed(back))
        if rest := [axis for axis in flat if self.sizes[axis] != 1]:
            raise Unreadable(f"{rest} is left over")
        return tuple(front)

    def _guessed(self, dims: Dims, target: Sequence[int | None]) -> list[int | None]:
        """The sizes with one unknown at most: the first ones are taken to be those of the same places before."""
        sizes = list(target)
        for at in range(len(sizes)):
            if sizes.count(None) > 1 and sizes[at] is None:
                if at >= len(dims):
                    raise Unreadable("a shape that is not known")
                sizes[at] = self.size(dims[at])
        return sizes

    def _taken(self, flat: list[str], size: int, end: int) -> Axes:
        """Axes from the front (0) or the back (-1) whose sizes make up a dimension."""
        made: list[str] = []
        while size > 1 or (not made and flat and self.sizes[flat[end]] == 1):
            if not flat:
                raise Unreadable("too few cells")
            axis = flat[end]
            count = self.sizes[axis]
            if size % count == 0:
                size //= count
                made.append(flat.pop(end))
            elif count % size == 0:
                raise Again(axis, (size, count // size) if end == 0 else (count // size, size))
            elif axis not in self.fixed:
                raise Again(axis, (lcm(count, size),))
            else:
                raise Unreadable(f"{axis} of {count} cells cannot be split by {size}")
        return tuple(made if end == 0 else reversed(made))


def _is_free(dim: Axes) -> bool:
    return bool(dim) and all(axis.startswith(FREE) for axis in dim)
