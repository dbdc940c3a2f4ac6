"""Gradients by finite differences: move one cell a little both ways, run the norm again, and see what it does."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import cbrt, fsum, inf, prod
from typing import Any

from .axes import whole
from .errors import NormError, ShapeError
from .gradients import GRADIENTS
from .run import run
from .steps import forward, output
from .tracing import Trace
from .views import cells

STEP = 2.0**-17  # near the cube root of float64's eps: there rounding and curvature weigh alike
COARSEST = 2.0**-5  # of a row's root: a longer step is off by its curvature in the third digit
LINEAR = 1.0  # y is linear in gamma and beta, so that any step is exact but for rounding


@dataclass(frozen=True)
class Difference:
    """One cell moved by `step` up and down.

    name, index  the cell: of x, gamma or beta, by its indices along that input's own axes
    step         0 where none is small enough
    moved        the distance of the two cells, in float64: twice the step, but for rounding
    low, high    the loss sum(dy * y) with the cell lower and higher
    gradient     what the backward pass says
    """

    name: str
    index: tuple[int, ...]
    step: float
    moved: float
    low: float
    high: float
    gradient: float

    @property
    def slope(self) -> float | None:
        """The central difference of the loss: the gradient, but for a term in step^2 and rounding.

        None where the cell has not moved: the step is 0, or float64 has no number so near the cell.
        """
        return (self.high - self.low) / self.moved if self.moved else None


def difference(made: Trace, name: str = "x", index: Sequence[int] = (), step: float | None = None) -> Difference:
    """The central difference of the loss at one cell, computed in float64, beside its gradient.

    made   a trace with a dy
    index  along the input's own axes, from 0; the first cell if not given
    step   how far the cell moves; if not given a part of its row's sqrt(var + eps), the larger the further the
           cell lies from 0, and 0 where float64 rounds too coarsely there for any

    >>> from .tracing import trace
    >>> from .norm import layer_norm
    >>> found = difference(trace([[1.0, 3.0]], layer_norm(eps=3), dy=[[1.0, 0.0]]), "x", (0, 0))
    >>> found.gradient, round(found.slope, 9)
    (0.1875, 0.1875)

    Raises NormError for what is no trace or has no dy, an input that has no gradient or a step that is not above
    0, and ShapeError for an index outside.
    """
    if not isinstance(made, Trace):
        raise NormError(f"made is of type {type(made).__name__}; give a Trace, such as trace(x, dy=dy).")
    if f"d{name}" not in GRADIENTS or f"d{name}" not in made:
        known = [each[1:] for each in GRADIENTS if each in made]
        raise NormError(f"name is {name!r}; this trace has gradients of {' '.join(known) or 'nothing: give it a dy'}.")
    shape = tuple(made.sizes[axis] for axis in made.axes(name))
    at = _place(index := _index(index, shape), shape)
    cell = float(cells.flatten(_lists(made.inputs[name]))[at])
    if step is None:
        step = _small(made, at, cell) if name == "x" else max(LINEAR, abs(cell))
    elif not isinstance(step, (int, float)) or not 0 < step < inf:
        raise NormError(f"step is {step!r}; it must be a number above 0, such as 1e-5.")
    low, high = cell - step, cell + step
    gradient = float(cells.flatten(_lists(made[f"d{name}"]))[at])
    losses = _loss(made, name, at, low), _loss(made, name, at, high)
    return Difference(name, index, step, high - low, *losses, gradient)


def _index(index: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The index as a tuple, that of the first cell for an empty one."""
    if not isinstance(index, Sequence) or isinstance(index, str):
        raise ShapeError(f"index is {index!r}; give one index for each of the axes of shape {shape}, as a tuple.")
    return tuple(index) or (0,) * len(shape)


def _place(index: tuple[int, ...], shape: tuple[int, ...]) -> int:
    """The place in row-major order."""
    fits = len(index) == len(shape) and all(
        whole(at) is not None and 0 <= at < size for at, size in zip(index, shape, strict=True)
    )
    if not fits:
        raise ShapeError(f"index is {index}; it must lie in the shape {shape}.")
    return sum(at * prod(shape[axis + 1 :]) for axis, at in enumerate(index))


def _small(made: Trace, at: int, cell: float) -> float:
    """The step at which rounding and curvature weigh alike; 0 where that is no small part of the row's root.

    In parts of the root, 1/r, float64 rounds a cell by eps * |cell| * r, or by eps near 0. A slope is off by
    about that over the step, and by the step squared.
    """
    wide, narrow = made.shape_of("x"), made.shape_of("r")
    r = float(cells.flatten(_lists(made["r"]))[cells.places(narrow, wide)[at]])
    share = STEP * cbrt(max(1.0, abs(cell) * r))
    return share / r if 0 < r < inf and share <= COARSEST else 0.0


def _loss(made: Trace, name: str, at: int, cell: float) -> float:
    """sum(dy * y) with another number in one cell of an input."""
    program = forward(made.norm)
    values = {each: _lists(value) for each, value in made.inputs.items()}
    given = cells.inputs(program, made.sizes, values)
    flat = list(given[name].flat)
    flat[at] = cell
    given[name] = replace(given[name], flat=flat)
    y = run(program, cells.rules(program, made.sizes), given)[output(program)]
    return fsum(g * cell for g, cell in zip(cells.flatten(values["dy"]), y.flat, strict=True))


def _lists(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value
