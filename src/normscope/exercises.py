"""Exercises with nice numbers: vectors whose mean and variance, and if wanted root, are small fractions.

Deterministic: number i of a seed is the same whatever the count, on every machine and version of Python.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from random import Random
from typing import Any

from .axes import whole
from .block import ExactTrace, exact
from .errors import ExactError
from .views.exact import text

MOST = 200  # exercises at a time
LONGEST = 8  # cells of a vector
LARGEST = 9  # of a cell of the residual, above and below 0
LARGEST_UPDATE = 3
SMALL = 60  # numerator and denominator of what is asked for
TRIES = 100_000


@dataclass(frozen=True)
class Exercise:
    """Add the update to x, then take the steps of LayerNorm with eps 0."""

    number: int
    x: tuple[Fraction, ...]
    update: tuple[Fraction, ...]

    @property
    def solved(self) -> ExactTrace:
        """Every step of it."""
        return exact(self.x, update=self.update)

    @property
    def answers(self) -> dict[str, Any]:
        """The values of the steps as text, the name of the root, and what opening it gives."""
        made = self.solved
        asked = {name: made.written(name) for name in ("residual", "mu", "c", "var")}
        return asked | {"named": made.roots[0], "xhat": made.written("xhat")}

    def to_json(self, with_answers: bool = False) -> dict[str, Any]:
        """The exercise as JSON values; numbers are text."""
        given = {"number": self.number, "x": list(map(text, self.x)), "update": list(map(text, self.update))}
        return given | ({"answers": self.answers} if with_answers else {})


def exercises(
    seed: int, count: int = 10, *, cells: int | None = None, rational_root: bool = False
) -> tuple[Exercise, ...]:
    """`count` exercises of a seed.

    cells          how long the vectors are, 2 to 8; if not given, 2 to 4
    rational_root  the root of the variance is rational: three cells have no such vector

    >>> [first] = exercises(1, 1)
    >>> first.answers["mu"], first == exercises(1, 5)[0]
    (['-17/3'], True)

    Raises ExactError for a count, a length or a seed that cannot be had.
    """
    for name, value, least, most in (("seed", seed, 0, 10**18), ("count", count, 1, MOST)):
        if whole(value) is None or not least <= value <= most:
            raise ExactError(f"{name} is {value!r}; it must be a whole number from {least} to {most:,}.")
    if cells is not None and (whole(cells) is None or not 2 <= cells <= LONGEST):
        raise ExactError(f"cells is {cells!r}; a vector has 2 to {LONGEST}.")
    if rational_root and cells == 3:
        raise ExactError("cells is 3; the root of the variance of three rationals is rational only where it is 0.")
    return tuple(_exercise(seed, number, cells, rational_root) for number in range(1, count + 1))


def _exercise(seed: int, number: int, cells: int | None, rational_root: bool) -> Exercise:
    draws = _draws(Random(f"normscope {seed} {number}"))
    lengths = [cells] if cells else [2, 4] if rational_root else [2, 3, 4]
    length = lengths[next(draws) % len(lengths)]
    residual = _nice(draws, length, rational_root)
    update = _drawn(draws, length, LARGEST_UPDATE)
    while not any(update):
        update = _drawn(draws, length, LARGEST_UPDATE)
    x = tuple(Fraction(a - b) for a, b in zip(residual, update, strict=True))
    return Exercise(number, x, tuple(map(Fraction, update)))


def _draws(source: Random) -> Iterator[int]:
    """Whole numbers from random(), whose sequence Python promises to keep."""
    while True:
        yield int(source.random() * 2**32)


def _nice(draws: Iterator[int], length: int, rational_root: bool) -> tuple[int, ...]:
    for _ in range(TRIES):
        row = _drawn(draws, length, LARGEST)
        if is_nice(row, rational_root):
            return row
    raise AssertionError(f"no vector of {length} cells in {TRIES:,} tries")


def _drawn(draws: Iterator[int], length: int, largest: int) -> tuple[int, ...]:
    return tuple(next(draws) % (2 * largest + 1) - largest for _ in range(length))


def is_nice(row: tuple[int, ...], rational_root: bool = False) -> bool:
    """Whether mean and variance are small fractions, the variance not 0, and the root rational if wanted.

    Drawing takes thousands of tries, so that this is in whole numbers: variance = (n sum(x^2) - sum(x)^2) / n^2.

    >>> is_nice((3, 2), rational_root=True), is_nice((2, 2))
    (True, False)
    """
    n = len(row)
    spread = n * sum(cell * cell for cell in row) - sum(row) ** 2
    if not spread or (rational_root and isqrt(spread) ** 2 != spread):
        return False
    values = Fraction(sum(row), n), Fraction(spread, n * n)
    return all(max(abs(value.numerator), value.denominator) <= SMALL for value in values)


def sheet(made: tuple[Exercise, ...], with_answers: bool = False) -> str:
    """The exercises as plain text, their answers after all of them."""
    lines = ["Add the update to x; then mean, centered values and variance as fractions (divide by n).", ""]
    for each in made:
        lines.append(f"{each.number:>3}.  x = {_row(each.x)}   update = {_row(each.update)}")
    if with_answers:
        lines += ["", "Answers", ""]
        lines += [_answer(each) for each in made]
    return "\n".join(lines)


def _row(values: tuple[Fraction, ...]) -> str:
    return f"({', '.join(map(text, values))})"


def _answer(each: Exercise) -> str:
    answers = each.answers
    shown = {name: value if isinstance(value, str) else ", ".join(value) for name, value in answers.items()}
    return (
        f"{each.number:>3}.  residual ({shown['residual']})   mean {shown['mu']}   centered ({shown['c']})   "
        f"variance {shown['var']}\n      divided by {shown['named']}: ({shown['xhat']})"
    )
