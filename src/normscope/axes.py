"""Axes have names, and a pattern says which of them are reduced: `"B S [d]"`.

A pattern lists the dimensions of x in order. Brackets mark the axes that share one statistic (the reduced
ones); parentheses split one dimension into several axes; `...` stands for any number of dimensions.

==========================  ===================================================
`B S [d]`                   LayerNorm over d
`[N] C [...]`               BatchNorm, any number of trailing dimensions
`N (g [c]) [...]`           GroupNorm: the channels are g groups of c
==========================  ===================================================

The bracket notation is the one that einx made known (https://einx.readthedocs.io).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod
from operator import index
from typing import SupportsIndex

from .errors import PatternError, ShapeError

Axes = tuple[str, ...]

ELLIPSIS = "..."
MISPLACED = {
    "[": "inside a bracket; brackets do not nest",
    "]": "without a '[' before it",
    "(": "inside a group; groups do not nest",
    ")": "without a '(' before it",
}
TOKEN = re.compile(r"\.\.\.|[^\W\d_]\w*|\S")
LEADING: dict[int, Axes] = {1: ("S",), 2: ("B", "S"), 3: ("B", "H", "S")}
TRAILING: dict[int, Axes] = {1: ("L",), 2: ("H", "W"), 3: ("D", "H", "W")}


@dataclass(frozen=True)
class Pattern:
    """The dimensions of x, each a tuple of axis names, and the axes that are reduced.

    >>> parse("N (g [c]) [H W]")
    Pattern(dims=(('N',), ('g', 'c'), ('H',), ('W',)), over=('c', 'H', 'W'))
    """

    dims: tuple[Axes, ...]
    over: Axes

    @cached_property
    def axes(self) -> Axes:
        """Every axis in order: `N g c H W` for `N (g [c]) [H W]`."""
        return tuple(axis for dim in self.dims for axis in dim)

    @cached_property
    def kept(self) -> Axes:
        """The axes that are not reduced: one statistic for each of their positions."""
        return tuple(axis for axis in self.axes if axis not in self.over)

    def __str__(self) -> str:
        words = [[f"[{axis}]" if axis in self.over else axis for axis in dim] for dim in self.dims]
        text = " ".join(dim[0] if len(dim) == 1 else f"({' '.join(dim)})" for dim in words)
        return text.replace("] [", " ")

    def fit(self, rank: int, names: Axes = ()) -> "Pattern":
        """The same pattern with `...` written out for an input of `rank` dimensions, by `names` if given.

        >>> str(parse("... [d]").fit(3)), str(parse("N C [...]").fit(4))
        ('B S [d]', 'N C [H W]')
        """
        if ELLIPSIS not in self.axes:
            if rank != len(self.dims):
                raise ShapeError(f"x has {dimensions(rank)}; the pattern '{self}' needs {len(self.dims)}.")
            return self
        count = rank - len(self.dims) + 1
        if count < 0:
            least = len(self.dims) - 1
            raise ShapeError(f"x has {dimensions(rank)}; the pattern '{self}' needs at least {least}.")
        names = names or self._names(count)
        at = self.dims.index((ELLIPSIS,))
        dims = self.dims[:at] + tuple((name,) for name in names) + self.dims[at + 1 :]
        return Pattern(dims, expand(self.over, names))

    def _names(self, count: int) -> Axes:
        """Names for the axes behind `...`: the field's letters where they are free, else a1, a2, ..."""
        usual = (LEADING if self.dims[0] == (ELLIPSIS,) else TRAILING).get(count, ())
        if count and usual and not set(usual) & set(self.axes):
            return usual
        free = (f"a{i}" for i in range(1, count + len(self.axes) + 1))
        return tuple(name for name in free if name not in self.axes)[:count]

    def sizes(self, shape: Sequence[int], known: Mapping[str, int]) -> dict[str, int]:
        """The size of every axis of an x of this shape; `known` gives the sizes that the shape leaves open.

        >>> parse("N (g [c]) [H W]").sizes((2, 6, 4, 4), {"g": 3})
        {'N': 2, 'g': 3, 'c': 2, 'H': 4, 'W': 4}

        Raises ShapeError if a dimension does not divide, or if it disagrees with `known`.
        """
        sizes: dict[str, int] = {}
        for dim, size in zip(self.dims, shape, strict=True):
            sizes |= self._split(dim, size, known)
        return sizes

    def _split(self, dim: Axes, size: int, known: Mapping[str, int]) -> dict[str, int]:
        open_axes = [axis for axis in dim if axis not in known]
        given = prod(known[axis] for axis in dim if axis in known)
        if not open_axes and given != size:
            wanted = ", ".join(f"{axis}={known[axis]}" for axis in dim)
            raise ShapeError(f"x has size {size} where the norm needs {wanted}; pattern '{self}'.")
        if len(open_axes) > 1:
            raise ShapeError(
                f"({' '.join(dim)}) of the pattern '{self}' is one dimension of size {size}; "
                f"say how it is split, for example sizes={{'{open_axes[0]}': 2}}."
            )
        if open_axes and size % given:
            groups = " * ".join(f"{axis}={known[axis]}" for axis in dim if axis in known)
            raise ShapeError(f"{size} channels do not divide into {groups} groups; pattern '{self}'.")
        return {axis: known.get(axis, size // given) for axis in dim}


def expand(axes: Axes, names: Axes) -> Axes:
    """`axes` with `...` replaced by `names`."""
    return tuple(name for axis in axes for name in (names if axis == ELLIPSIS else (axis,)))


@lru_cache(maxsize=256)
def parse(text: str) -> Pattern:
    """Read a pattern.

    >>> parse("B S [d]").over
    ('d',)

    Raises PatternError, which quotes the pattern and names the fault.
    """
    dims: list[list[str]] = []
    over: list[str] = []
    opened = {"[]": False, "()": False}
    outside = False
    for token in _tokens(text):
        if _turn(opened, token, text):
            if token == "(":
                dims.append([])
                outside = opened["[]"]
            elif token == ")" and opened["[]"] != outside:
                raise PatternError(f"pattern '{text}': a bracket crosses a group; write '(g [c])'.")
            continue
        if not opened["()"]:
            dims.append([])
        dims[-1].append(token)
        if opened["[]"]:
            over.append(token)
    for pair, still in opened.items():
        if still:
            raise PatternError(f"pattern '{text}': '{pair[0]}' is never closed; add '{pair[1]}'.")
    _check(text, dims)
    return Pattern(tuple(map(tuple, dims)), tuple(over))


def _turn(opened: dict[str, bool], token: str, text: str) -> bool:
    """Open or close a bracket or a group, if the token does so."""
    pair = next((pair for pair in opened if token in pair), "")
    if pair:
        if opened[pair] == (token == pair[0]):
            raise PatternError(f"pattern '{text}': '{token}' {MISPLACED[token]}.")
        opened[pair] = not opened[pair]
    return bool(pair)


def _tokens(text: object) -> Iterable[str]:
    if not isinstance(text, str):
        raise PatternError(f"a pattern is text such as 'B S [d]', not {type(text).__name__}.")
    for token in TOKEN.findall(text):
        if not (token == ELLIPSIS or token in "[]()" or token[0].isalpha()):
            raise PatternError(f"pattern '{text}': '{token}' is no axis name; use letters, as in 'B S [d]'.")
        yield token


def _check(text: str, dims: list[list[str]]) -> None:
    names = [axis for dim in dims for axis in dim]
    if not names:
        raise PatternError(f"pattern '{text}' names no axis; for LayerNorm write 'B S [d]'.")
    for name in names:
        if names.count(name) > 1:
            raise PatternError(f"pattern '{text}': axis '{name}' stands twice; every axis has its own name.")
    for dim in dims:
        if not dim or (len(dim) > 1 and ELLIPSIS in dim):
            raise PatternError(f"pattern '{text}': a group lists axis names, as in '(g [c])'.")


def dimensions(rank: int) -> str:
    """A rank in words: `1 dimension`, `2 dimensions`."""
    return f"{rank} dimension{'s' * (rank != 1)}"


def whole(value: object) -> int | None:
    """A whole number as an int, NumPy's included; None for anything else, and for True and False."""
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        return None
    try:
        return index(value)
    except TypeError:  # an array of several numbers
        return None


def order(axes: Iterable[str], like: Axes) -> Axes:
    """`axes` in the order that they have in `like`."""
    wanted = set(axes)
    return tuple(axis for axis in like if axis in wanted)


def sized(axes: Axes, sizes: Mapping[str, int]) -> str:
    """Axes with their sizes, for messages: `(B=2, S=4, d=8)`."""
    return "(" + ", ".join(f"{axis}={sizes[axis]}" for axis in axes) + ")"
