"""The reading in plain Python: cells of any kind of number, no library.

Every value is a `Cells` of the program's full rank; an axis that it lacks has size 1. The rules are written
once for any numbers: floats here, exact and rounded ones in their own views.
"""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial, reduce
from itertools import product
from typing import Any

from ..errors import DtypeError, ShapeError
from ..program import Program, Step
from ..run import Rules, run

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Numbers:
    """What the rules need from a kind of number; +, - and * are the numbers' own."""

    make: Callable[[Any], Any]
    total: Callable[[Sequence[Any]], Any]
    mean: Callable[[Sequence[Any], int], Any]
    sqrt: Callable[[Any], Any]
    recip: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Cells:
    """Numbers in row-major order, with the sizes of every axis of the program."""

    shape: Shape
    flat: list[Any]

    def nested(self) -> Any:
        """The cells as nested lists.

        >>> Cells((2, 2), [1, 2, 3, 4]).nested()
        [[1, 2], [3, 4]]
        """
        rows: list[Any] = self.flat
        for size in reversed(self.shape[1:]):
            rows = (
                [rows[i : i + size] for i in range(0, len(rows), size)] if size else [[]] * math.prod(self.shape[:-1])
            )
        return rows if self.shape else rows[0]


def float_sum(values: Sequence[float]) -> float:
    """The correctly rounded sum.

    >>> float_sum([1e16, 1.0, -1e16]), float_sum([1e308, 1e308])
    (1.0, inf)
    """
    return float_mean(values, 1)


def float_mean(values: Sequence[float], count: int) -> float:
    """The correctly rounded sum, divided by `count`; no overflow on the way to a mean that is a float64.

    >>> float_mean([1e308, 1e308], 2)
    1e+308
    """
    try:
        return float_divide(math.fsum(values), count)
    except (OverflowError, ValueError):
        pass
    down = 0.5 ** len(values).bit_length()  # a power of two, so that only the smallest cells round
    try:
        return float_divide(math.fsum(value * down for value in values), count) / down
    except ValueError:  # infinities of both signs
        return math.nan


def float_divide(total: float, count: int) -> float:
    """total / count as IEEE 754 has it: 0/0 is nan."""
    return total / count if count else total * math.inf


def float_sqrt(value: float) -> float:
    """The root, nan for a negative value."""
    return math.sqrt(value) if not value < 0 else math.nan


def float_recip(value: float) -> float:
    """1 / value as IEEE 754 has it: infinity at zero.

    >>> float_recip(0.0), float_recip(-0.0)
    (inf, -inf)
    """
    return 1.0 / value if value else math.copysign(math.inf, value)


def larger(a: Any, b: Any) -> Any:
    """The larger of two numbers; nan if one is nan, which Python's max may drop."""
    return b if b > a or b != b else a


PLAIN = frozenset({float, int, Fraction})
FLOATS = Numbers(float, float_sum, float_mean, float_sqrt, float_recip)


def rules(program: Program, sizes: Mapping[str, int], numbers: Numbers = FLOATS) -> Rules:
    """One rule per op over `Cells`."""

    def each(function: Callable[..., Any]) -> Callable[..., Cells]:
        def rule(step: Step, *args: Cells | Fraction) -> Cells:
            wide = program.shape(step.axes, sizes)
            return Cells(wide, list(map(function, *(spread(arg, wide, numbers) for arg in args))))

        return rule

    def fold(function: Callable[[list[Any]], Any], step: Step, arg: Cells) -> Cells:
        narrow, wide = program.shape(step.axes, sizes), program.shape(step.axes + step.over, sizes)
        flat = spread(arg, wide, numbers)
        return Cells(narrow, [function([flat[i] for i in row]) for row in rows(wide, narrow)])

    def mean(step: Step, arg: Cells) -> Cells:
        count = math.prod(sizes[axis] for axis in step.counted) - step.less
        return fold(lambda row: numbers.mean(row, count), step, arg)

    return {
        "add": each(operator.add),
        "sub": each(operator.sub),
        "mul": each(operator.mul),
        "maximum": each(larger),
        "abs": each(abs),
        "sqrt": each(numbers.sqrt),
        "recip": each(numbers.recip),
        "rsqrt": each(lambda value: numbers.recip(numbers.sqrt(value))),
        "sum": partial(fold, numbers.total),
        "mean": mean,
        "max": partial(fold, partial(reduce, larger)),
    }


def inputs(
    program: Program, sizes: Mapping[str, int], given: Mapping[str, Any], numbers: Numbers = FLOATS
) -> dict[str, Cells]:
    """Each input of the program as Cells, from nested lists or a single number.

    Raises ShapeError if the lists are ragged or of another count, DtypeError if a cell is no number.
    """
    made = {}
    for name, axes in program.inputs:
        flat = [number(cell, name, numbers) for cell in flatten(given[name], name)]
        made[name] = Cells(program.shape(axes, sizes), flat)
    return made


def evaluate(
    program: Program, sizes: Mapping[str, int], given: Mapping[str, Any], numbers: Numbers = FLOATS
) -> dict[str, Any]:
    """Every input and every step of a program, from nested lists or single numbers."""
    return run(program, rules(program, sizes, numbers), inputs(program, sizes, given, numbers))


def number(cell: Any, name: str, numbers: Numbers = FLOATS) -> Any:
    """One cell as a number of the kind wanted."""
    if isinstance(cell, (str, bytes, bool, complex)):
        raise DtypeError(f"{name} holds {cell!r}; every cell must be a real number.")
    try:
        return numbers.make(cell)
    except OverflowError:
        raise DtypeError(f"{name} holds an integer beyond the range of float64.") from None
    except (TypeError, ValueError):
        raise DtypeError(f"{name} holds {cell!r}; every cell must be a real number.") from None


def shape_of(nested: Any, name: str = "x") -> Shape:
    """The shape of nested lists.

    >>> shape_of([[1, 2, 3], [4, 5, 6]])
    (2, 3)

    Raises ShapeError if they are ragged.
    """
    if not isinstance(nested, (list, tuple)) and not _is_row(nested):
        return ()
    if PLAIN.issuperset(map(type, nested)):  # a row of numbers, as most are
        return (len(nested),)
    inner = [shape_of(item, name) for item in nested]
    for at, other in enumerate(inner):
        if other != inner[0]:
            raise ShapeError(
                f"{name} is ragged: item 0 has shape {inner[0]}, item {at} has {other}; "
                "give every row the same number of cells."
            )
    return (len(inner), *(inner[0] if inner else ()))


def _is_row(value: Any) -> bool:
    """Whether a value that is neither list nor tuple is a sequence of cells."""
    return not isinstance(value, (float, int, str, bytes)) and isinstance(value, Sequence)


def flatten(nested: Any, name: str = "x") -> list[Any]:
    """The cells of nested lists, of an unnested number, in order."""
    rank = len(shape_of(nested, name))
    cells = [nested]
    for _ in range(rank):
        cells = [cell for row in cells for cell in row]
    return cells


def spread(arg: Cells | Fraction, wide: Shape, numbers: Numbers) -> Sequence[Any]:
    """The cells of `arg` broadcast to a shape."""
    if isinstance(arg, Fraction):
        return [numbers.make(arg)] * math.prod(wide)
    if arg.shape == wide:
        return arg.flat
    return [arg.flat[i] for i in places(arg.shape, wide)]


@lru_cache(maxsize=256)
def places(narrow: Shape, wide: Shape) -> tuple[int, ...]:
    """For every cell of a `wide` value, the cell of a `narrow` one that is broadcast to it.

    >>> places((1, 3), (2, 3)), places((2, 1), (2, 3))
    ((0, 1, 2, 0, 1, 2), (0, 0, 0, 1, 1, 1))
    """
    strides = [0 if size == 1 else math.prod(narrow[i + 1 :]) for i, size in enumerate(narrow)]
    return tuple(sum(map(operator.mul, at, strides)) for at in product(*map(range, wide)))


@lru_cache(maxsize=256)
def rows(wide: Shape, narrow: Shape) -> tuple[tuple[int, ...], ...]:
    """For every cell of a reduced value, the cells that it is made of.

    >>> rows((2, 3), (2, 1))
    ((0, 1, 2), (3, 4, 5))
    """
    made: list[list[int]] = [[] for _ in range(math.prod(narrow))]
    for cell, row in enumerate(places(narrow, wide)):
        made[row].append(cell)
    return tuple(map(tuple, made))
