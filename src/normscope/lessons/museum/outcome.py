"""What comes out of both sides of an exhibit for one input, and where the two differ."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import isnan

from ...errors import ExactError, StateError
from ...views import exact
from ...views.cells import FLOATS
from ...views.opaque import Exact
from ..state import words
from .catalogue import EXHIBITS
from .side import Given, Rows, Side
from .slips import Exhibit, Texts

NEAR, NEAR_ROUNDED = 1e-9, 1e-6
MOST_ROWS, MOST_COLUMNS = 4, 8
LONGEST = 12  # signs of a number
PARAMETERS = ("gamma", "beta")
FILLED = {"gamma": "1", "beta": "0", "dy": "0"}


@dataclass(frozen=True)
class Outcome:
    """Both outputs as rows of floats, and of exact numbers where they are exact; which cells differ."""

    right: Rows
    wrong: Rows
    exact_right: Rows | None
    exact_wrong: Rows | None

    @property
    def is_rounded(self) -> bool:
        """Whether both were run in float32."""
        return self.exact_right is None

    @cached_property
    def differ(self) -> list[list[bool]]:
        """For every cell, whether the two differ by more than rounding."""
        near = NEAR_ROUNDED if self.is_rounded else NEAR
        pairs = (zip(a, b, strict=True) for a, b in zip(self.right, self.wrong, strict=True))
        return [[not alike(a, b, near) for a, b in row] for row in pairs]

    @property
    def count(self) -> int:
        """How many cells differ."""
        return sum(map(sum, self.differ))


def alike(a: float, b: float, near: float) -> bool:
    """Whether two numbers agree; NaN agrees with NaN.

    >>> alike(1.0, 1.0 + 1e-12, 1e-9), alike(float("nan"), 1.0, 1e-9), alike(float("inf"), float("inf"), 1e-9)
    (True, False, True)
    """
    if isnan(a) or isnan(b):
        return isnan(a) and isnan(b)
    return a == b or abs(a - b) <= near * max(1.0, abs(a), abs(b))


def numbers(text: str, name: str) -> list[Fraction]:
    """The numbers of a row that was typed: `2, 2/3, 0.1`; StateError or ExactError for others."""
    given = words(text)
    if not given:
        raise StateError(f"{name} is empty; type numbers such as 2, 2/3, 0.1.")
    for word in given:
        if len(word) > LONGEST:
            raise StateError(f"{name} holds '{word[:LONGEST]}…'; a number has at most {LONGEST} signs here.")
    return [exact.rational(word, name) for word in given]


@lru_cache(maxsize=256)
def read(id: str, texts: Texts) -> Given:
    """The fields of an exhibit as numbers; StateError or ExactError names what is wrong with which."""
    exhibit, typed = EXHIBITS[id], dict(texts)
    x = [numbers(row, "x") for row in typed["x"].split(";")]
    rows, columns = len(x), len(x[0])
    if any(len(row) != columns for row in x):
        raise StateError("the rows of x differ in length; give every row as many numbers.")
    if rows > MOST_ROWS or columns > MOST_COLUMNS:
        raise StateError(f"x has {rows} rows of {columns}; here it has at most {MOST_ROWS} rows of {MOST_COLUMNS}.")
    if columns < 2 and "gamma" in typed:
        raise StateError("x has one feature; give it at least 2.")
    if reason := exhibit.fits(rows, columns):
        raise StateError(reason)
    return {name: x if name == "x" else _field(name, text, rows, columns) for name, text in texts}


def _field(name: str, text: str, rows: int, columns: int) -> object:
    if name == "dy":
        made = [numbers(row, name) for row in text.split(";")]
        if [len(row) for row in made] != [columns] * rows:
            raise StateError(f"dy must have the shape of x, {rows} x {columns}.")
        return made
    cells = numbers(text, name)
    if name in PARAMETERS:
        if len(cells) != columns:
            raise StateError(f"{name} has {len(cells)} numbers; x has {columns} features.")
        return cells
    if len(cells) != 1:
        raise StateError(f"{name} is one number, not {len(cells)}.")
    if cells[0] < 0 or (name == "momentum" and cells[0] > 1):
        raise StateError(
            f"{name} is {text.strip()}; it must be {'from 0 to 1' if name == 'momentum' else '0 or more'}."
        )
    return cells[0]


@lru_cache(maxsize=256)
def outcome(id: str, texts: Texts) -> Outcome:
    """Both sides, run on the fields as they are typed."""
    return ran(EXHIBITS[id], read(id, texts))


def ran(exhibit: Exhibit, given: Given) -> Outcome:
    """Both sides, run."""
    both = sides(exhibit, given)
    if exhibit.is_rounded:
        return Outcome(*both, None, None)
    return Outcome(*both, _exact(exhibit.right, given), _exact(exhibit.wrong, given))


def sides(exhibit: Exhibit, given: Given) -> tuple[Rows, Rows]:
    """What the right side and the wrong one give in floats; in float32 where the exhibit is about rounding."""
    if exhibit.is_rounded:
        return exhibit.right.rounded(given), exhibit.wrong.rounded(given)
    return exhibit.right.run(given, FLOATS), exhibit.wrong.run(given, FLOATS)


def _exact(side: Side, given: Given) -> Rows | None:
    """The output in exact numbers; None where their order cannot be told."""
    try:
        return side.run(given, exact.EXACT)
    except ExactError:
        return None


def written(value: Exact) -> str:
    """An exact number on one line, undefined ones in a word."""
    text = exact.text(value)
    return "undefined" if text.startswith("undefined") else text
