"""The numbers of a state: the tensor's shown rows, traced with all of their features."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...norm import Norm
from ...program import PARAMETERS, Program
from ...tracing import Trace
from ...views.formats import Format
from ...views.policies import FUSED
from ..sources import Source
from . import names
from .layer import norm_of, place, program_of, source_of, step_names, window_of
from .numbers import numbers_of
from .rounding import policy_name
from .state import State

SPOKEN = {"B": "batch", "S": "token", "d": "feature"}


@dataclass(frozen=True)
class View:
    """A state with its source, norm and program, the window, and the trace of the rows in it.

    given  what went in, before any rounding: x and dy by row, gamma and beta once
    """

    state: State
    source: Source
    norm: Norm
    program: Program
    window: tuple[range, range, range]
    trace: Trace
    given: Mapping[str, Any]

    @cached_property
    def steps(self) -> list[str]:
        """The steps of the scrubber."""
        return step_names(self.program)

    @property
    def forward_steps(self) -> list[str]:
        """Those of the forward pass."""
        return self.steps[: self.steps.index("dy")] if self.state.back else self.steps

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The sizes of the whole tensor."""
        return dict(zip("BSd", self.source.shape, strict=True))

    @property
    def eps(self) -> float:
        """What is added to the variance, before any rounding."""
        return float(self.norm.eps or 0)

    @property
    def is_whole(self) -> bool:
        """Whether every cell of the tensor is shown."""
        return tuple(map(len, self.window)) == self.source.shape

    @cached_property
    def rows(self) -> list[tuple[int, int]]:
        """The rows shown, as (b, s) within the window."""
        return [(i, j) for i in range(len(self.window[0])) for j in range(len(self.window[1]))]

    @property
    def parameters(self) -> list[str]:
        """gamma and beta, as far as the norm has them."""
        return [name for name in PARAMETERS if name in self.trace.inputs]

    def title(self, name: str) -> str:
        """What a step is called."""
        return names.title(name, self.norm)

    def role(self, name: str) -> str:
        """Which colour and shape a value has everywhere."""
        return names.role(name, self.program)

    def axes(self, name: str) -> tuple[str, ...]:
        """The axes of a value."""
        return self.program.values[name]

    def is_strip(self, name: str) -> bool:
        """Whether a value has one number a feature, for all rows."""
        return "S" not in self.axes(name)

    @cached_property
    def formats(self) -> Mapping[str, Format]:
        """The format that every value is kept in; empty where nothing is rounded."""
        policy = self.trace.policy
        return policy.formats(self.program, self.norm.over) if policy else {}

    def kept(self, name: str) -> str:
        """The format of a value in words; nothing where values are not rounded."""
        policy = self.trace.policy
        if not policy:
            return ""
        is_fused = dict(policy.keep).get(name) == FUSED and name not in PARAMETERS
        return "not rounded on its own" if is_fused else self.formats[name].name

    def value(self, name: str) -> float:
        """The number at the focus."""
        i, j, k = self.focus
        return self.row(name, i, j)[k if "d" in self.axes(name) else 0]

    def row(self, name: str, i: int, j: int) -> list[float]:
        """The shown cells of one row: one for a statistic, one a feature else."""
        cells = self.whole_row(name, i, j)
        return _floats(cells[self._features] if "d" in self.axes(name) else cells)

    def whole_row(self, name: str, i: int, j: int) -> Any:
        """All cells of one row, by the row's place in the window; those of a parameter for any row."""
        if name not in self._read:
            self._read[name] = self.trace.inputs[name] if name in self.trace.inputs else self.trace[name]
        values, axes = self._read[name], self.axes(name)
        return values[i if "B" in axes else 0][j if "S" in axes else 0]

    def given_row(self, name: str, i: int, j: int) -> list[float]:
        """The shown cells of one row of x, dy, gamma or beta, as they were before any rounding."""
        cells = self.given[name] if name in PARAMETERS else self.given[name][i][j]
        return _floats(cells[self._features])

    @cached_property
    def _read(self) -> dict[str, Any]:
        """Values of the trace that were asked for: each is laid out once."""
        return {}

    @cached_property
    def _features(self) -> slice:
        return slice(self.window[2].start, self.window[2].stop)

    @cached_property
    def pinned(self) -> tuple[str, tuple[int, ...]] | None:
        """The pinned cell as its name and its place in the window (b, s, k; fewer for others); None outside."""
        if not self.state.sel:
            return None
        name, at = place(self.state.sel, self.program, self.source.shape)
        shown = [part for axis, part in zip("BSd", self.window, strict=True) if axis in self.axes(name)]
        if not all(i in part for i, part in zip(at, shown, strict=True)):
            return None
        return name, tuple(i - part.start for i, part in zip(at, shown, strict=True))

    @cached_property
    def focus(self) -> tuple[int, int, int]:
        """The place that formulas and controls speak of: that of the pinned cell, else the window's corner."""
        name, at = self.pinned or ("x", (0, 0, 0))
        axes = self.axes(name)
        places = dict(zip(axes, at, strict=True))
        return places.get("B", 0), places.get("S", 0), places.get("d", 0)

    def place(self, name: str) -> dict[str, int]:
        """Where the focus is in the whole tensor, along the axes of a value."""
        at = zip("BSd", (part.start + i for part, i in zip(self.window, self.focus, strict=True)), strict=True)
        return {axis: i for axis, i in at if axis in self.axes(name)}

    def address(self, name: str) -> str:
        """`xhat[0, 1, 2]`, as code would have it."""
        return f"{name}[{', '.join(map(str, self.place(name).values()))}]"

    def spoken_place(self, name: str) -> str:
        """`batch 0, token 1 (cat), feature 2`."""
        words = [f"{SPOKEN[axis]} {i}" for axis, i in self.place(name).items()]
        if self.source.tokens and "S" in self.axes(name):
            words[1] += f" ({self.source.tokens[self.place(name)['S']]})"
        return ", ".join(words)

    def relation(self, name: str) -> tuple[str, bool]:
        """How cells of `name` hang on the pinned cell: feeds, reads or nothing; and whether row by row."""
        if not self.pinned:
            return "", False
        origin, mixes = self.pinned[0], self.program.mixes["d"]
        if name in self.program.feeds[origin]:
            return "feeds", name in mixes[origin]
        if origin in self.program.feeds[name]:
            return "reads", origin in mixes[name]
        return "", False


def view_of(state: State, sources: Mapping[str, Source]) -> View:
    """The numbers of a state that has been checked."""
    source = source_of(state, sources)
    norm = norm_of(state, source)
    program, window = program_of(state, norm), window_of(state, source)
    policy = policy_name(state.storage, state.rounding)
    made = numbers_of(state, source, norm, program, window[0], window[1], policy)
    return View(state, source, norm, program, window, made.trace, made.given)


def _floats(cells: Sequence[Any]) -> list[float]:
    return [float(cell) for cell in cells]
