"""Gradients by finite differences: move one cell a little both ways, run the norm again, and see what it does."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import fsum, inf, prod
from typing import Any

from .axes import whole
from .errors import NormError, ShapeError
from .gradients import GRADIENTS
from .run import run
from .steps import forward, output
from .tracing import Trace
from .views import cells

STEP = 2.0**-17  # near the cube root of float64's eps: there rounding and curvature weigh alike
LINEAR = 1.0  # y is linear in gamma and beta, so that any step is exact but for rounding


@dataclass(frozen=True)
class Difference:
    """One cell moved by `step` up and down.

    name, index  the cell: of x, gamma or beta, by its indices along that input's own axes
    low, high    the loss sum(dy * y) with the cell lower and higher
    gradient     what the backward pass says
    """

    name: str
    index: tuple[int, ...]
    step: float
    low: float
    high: float
    gradient: float

    @property
    def slope(self) -> float:
        """The central difference of the loss: the gradient, but for a term in step^2 and rounding."""
        return (self.high - self.low) / (2 * self.step)


def difference(made: Trace, name: str = "x", index: Sequence[int] = (), step: float | None = None) -> Difference:
    """The central difference of the loss at one cell, computed in float64, beside its gradient.

    made   a trace with a dy
    index  along the input's own axes, from 0; the first cell if not given
    step   how far the cell moves; if not given a small part of its row's sqrt(var + eps)

    >>> from .tracing import trace
    >>> from .norm import layer_norm
    >>> found = difference(trace([[1.0, 3.0]], layer_norm(eps=3), dy=[[1.0, 0.0]]), "x", (0, 0))
    >>> found.gradient, round(found.slope, 9)
    (0.1875, 0.1875)

    Raises NormError for a trace without a dy, an input that has no gradient or a step that is not above 0, and
    ShapeError for an index outside.
    """
    if f"d{name}" not in GRADIENTS or f"d{name}" not in made:
        known = [each[1:] for each in GRADIENTS if each in made]
        raise NormError(f"name is {name!r}; this trace has gradients of {' '.join(known) or 'nothing: give it a dy'}.")
    shape = tuple(made.sizes[axis] for axis in made.axes(name))
    index = tuple(index) or (0,) * len(shape)
    at = _place(index, shape)
    if step is None:
        step = _small(made, at) if name == "x" else LINEAR
    if not 0 < step < inf:
        raise NormError(f"step is {step!r}; it must be a number above 0, such as 1e-5.")
    gradient = float(cells.flatten(_lists(made[f"d{name}"]))[at])
    return Difference(name, index, step, _loss(made, name, at, -step), _loss(made, name, at, step), gradient)


def _place(index: tuple[int, ...], shape: tuple[int, ...]) -> int:
    """The place in row-major order."""
    fits = len(index) == len(shape) and all(
        whole(at) is not None and 0 <= at < size for at, size in zip(index, shape, strict=True)
    )
    if not fits:
        raise ShapeError(f"index is {index}; it must lie in the shape {shape}.")
    return sum(at * prod(shape[axis + 1 :]) for axis, at in enumerate(index))


def _small(made: Trace, at: int) -> float:
    wide, narrow = made.shape_of("x"), made.shape_of("r")
    r = float(cells.flatten(_lists(made["r"]))[cells.places(narrow, wide)[at]])
    return STEP / r if 0 < r < inf else STEP


def _loss(made: Trace, name: str, at: int, move: float) -> float:
    """sum(dy * y) with one cell of an input moved."""
    program = forward(made.norm)
    values = {each: _lists(value) for each, value in made.inputs.items()}
    given = cells.inputs(program, made.sizes, values)
    flat = list(given[name].flat)
    flat[at] += move
    given[name] = replace(given[name], flat=flat)
    y = run(program, cells.rules(program, made.sizes), given)[output(program)]
    return fsum(g * cell for g, cell in zip(cells.flatten(values["dy"]), y.flat, strict=True))


def _lists(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value
