"""The table as one item of a tensor: as tokens, or transposed, features as channels."""

from dataclasses import dataclass
from functools import lru_cache
from math import isqrt
from typing import Any

from ...page.text import printable
from .state import Numbers


@dataclass(frozen=True)
class Arranged:
    """x in a layout.

    x, shape       nested lists with an item axis of size 1, and their sizes
    axes           their names
    kind           which layout of `compare` that is
    how            the transpose, as code; nothing where x stands as it is
    rows, columns  what heads the two sides of its drawing, in which features are rows if it is transposed
    """

    x: Any
    shape: tuple[int, ...]
    axes: tuple[str, ...]
    kind: str
    how: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]

    @property
    def is_transposed(self) -> bool:
        """Whether features are rows."""
        return self.kind == "channels"

    @property
    def sizes(self) -> str:
        """`(N, C, L) = (1, 4, 3)`."""
        return f"({', '.join(self.axes)}) = {self.shape}"

    def place(self, token: int, feature: int) -> tuple[int, int]:
        """The row and the column of a number in the drawing."""
        return (feature, token) if self.is_transposed else (token, feature)

    def index(self, token: int, feature: int) -> tuple[int, ...]:
        """Its index in x: the positions of `N C H W` are tokens, row by row."""
        if not self.is_transposed:
            return 0, token, feature
        return (0, feature, *divmod(token, self.shape[3])) if len(self.shape) == 4 else (0, feature, token)

    def flat(self, token: int, feature: int) -> int:
        """Its place among the cells of x in order."""
        row, column = self.place(token, feature)
        return row * len(self.columns) + column


@lru_cache(maxsize=8)
def arranged(x: tuple[Numbers, ...], tokens: tuple[str, ...], layout: str) -> Arranged:
    """The table in the layout `tokens`, `ncl` or `nchw`."""
    words, count = tuple(map(printable, tokens)), len(x)
    features = tuple(str(feature + 1) for feature in range(len(x[0])))
    if layout == "tokens":
        whole = [list(map(list, x))]
        return Arranged(whole, (1, count, len(features)), ("B", "S", "d"), "tokens", "", words, features)
    columns = list(map(list, zip(*x, strict=True)))
    if layout == "ncl":
        how = "x.transpose(1, 2)"
        return Arranged([columns], (1, len(features), count), ("N", "C", "L"), "channels", how, features, words)
    high, wide = square(count)
    image = [[column[at : at + wide] for at in range(0, count, wide)] for column in columns]
    sizes = (1, len(features), high, wide)
    how = f"x.transpose(1, 2).reshape{sizes}"
    placed = tuple(f"{word} {divmod(at, wide)}" for at, word in enumerate(words))
    return Arranged([image], sizes, ("N", "C", "H", "W"), "channels", how, features, placed)


def square(count: int) -> tuple[int, int]:
    """The factors of a count that are nearest to each other, the smaller one first.

    >>> square(3), square(12), square(16)
    ((1, 3), (3, 4), (4, 4))
    """
    high = next(size for size in range(isqrt(count), 0, -1) if count % size == 0)
    return high, count // high
