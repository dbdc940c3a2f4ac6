"""What went through one norm of a model: its x and y, its parameters, and the same as rows that share a statistic."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any

from ..norm import Norm
from .found import Found

FLOAT32_EPS = Fraction(1, 2**23)  # what an eps that is left to the dtype is, to float32 and narrower


@dataclass(frozen=True, eq=False)
class Passage:
    """One call of a norm.

    found       which norm
    x           what entered, an array of the shape that the norm's pattern describes
    y           what left, of the same shape; None where that was not recorded
    parameters  gamma, beta, running_mean and running_var, those that the norm has
    call        1 for the first call of the norm in this run
    """

    found: Found
    x: Any
    y: Any = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    call: int = 1

    @property
    def where(self) -> str:
        """The norm's place in the model; with the call, where it is not the first."""
        return self.found.where if self.call == 1 else f"{self.found.where} (call {self.call})"

    @cached_property
    def norm(self) -> Norm:
        """The norm as it fits x, with an eps in numbers. Raises ShapeError where x is none of its x."""
        norm = self.found.norm.fit(self.x.ndim)
        norm.sizes_for(self.x.shape)
        wide = self.x.dtype.name == "float64"
        return norm if norm.eps is not None or wide else replace(norm, eps=FLOAT32_EPS)

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """The size of every axis of the norm."""
        return self.norm.sizes_for(self.x.shape)

    @property
    def has_eps(self) -> bool:
        """Whether eps is known: weights alone do not tell it."""
        return "eps" not in self.found.unknown

    @property
    def feature_axes(self) -> tuple[str, ...]:
        """The axes along which a feature is counted: those of gamma, else those that are reduced."""
        return self.norm.param_axes or self.norm.over

    @property
    def row_count(self) -> int:
        """How many statistics there are."""
        return prod(self.sizes[axis] for axis in self.norm.kept)

    @property
    def cell_count(self) -> int:
        """How many cells share a statistic."""
        return prod(self.sizes[axis] for axis in self.norm.over)

    def named(self, cells: Any) -> Any:
        """x or y with a dimension for each axis of the norm."""
        return cells.reshape([self.sizes[axis] for axis in self.norm.axes])

    def in_rows(self, cells: Any) -> Any:
        """x or y as (rows, cells): a row is what shares a statistic; a view, where the axes allow."""
        axes = self.norm.axes
        order = [axes.index(axis) for axis in (*self.norm.kept, *self.norm.over)]
        return self.named(cells).transpose(order).reshape(self.row_count, self.cell_count)

    def of_rows(self, picked: Any) -> "Rows":
        """Some rows, by their places, as a tensor and a norm of their own."""
        norm = self.norm
        affine = "row cell" if norm.affine else None
        small = Norm(
            "row [cell]",
            affine,
            norm.eps,
            norm.correction,
            norm.center,
            norm.scale,
            norm.shift,
            norm.running,
            offset=norm.offset,
        )
        x = self.in_rows(self.x)[picked]
        y = None if self.y is None else self.in_rows(self.y)[picked]
        return Rows(small, x, y, {role: self._picked(role, picked) for role in self.parameters})

    def _picked(self, role: str, picked: Any) -> Any:
        """A parameter at the cells of some rows; a running statistic, at the rows."""
        import numpy as np

        norm, cells = self.norm, np.asarray(self.parameters[role])
        if role.startswith("running"):
            return cells.reshape(-1)[picked]
        own = norm.param_axes
        wide = cells.reshape([self.sizes[axis] if axis in own else 1 for axis in norm.axes])
        whole = np.broadcast_to(wide, [self.sizes[axis] for axis in norm.axes])
        at = np.unravel_index(picked, [self.sizes[axis] for axis in norm.kept]) if norm.kept else ()
        order = [norm.axes.index(axis) for axis in (*norm.kept, *norm.over)]
        return whole.transpose(order)[at].reshape(len(picked), self.cell_count)


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a norm's x (rows, cells) with the norm of `row [cell]`, its parameters at every cell."""

    norm: Norm
    x: Any
    y: Any
    parameters: Mapping[str, Any]
