"""The numbers of a state: the tensor's shown rows, traced with all of their features."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from ...norm import Norm
from ...program import PARAMETERS, Program
from ...steps import forward
from ...tracing import Trace, trace
from ..sources import Source
from .state import Edit, State, norm_of, place, set_to, source_of, step_names, window_of

TITLES = {
    "x": "input",
    "mu": "mean",
    "c": "centered",
    "q": "squares",
    "var": "variance",
    "r": "reciprocal root",
    "xhat": "normalized",
    "scaled": "scale",
    "y": "output",
    "gamma": "scale parameter",
    "beta": "shift parameter",
}
ROLES = {"x": "input", "mu": "stat", "var": "stat", "r": "stat", "gamma": "param", "beta": "param", "xhat": "unit"}


@dataclass(frozen=True)
class View:
    """A state with its source, norm and program, the window, and the trace of the rows in it."""

    state: State
    source: Source
    norm: Norm
    program: Program
    window: tuple[range, range, range]
    trace: Trace

    @cached_property
    def steps(self) -> list[str]:
        """The steps of the scrubber."""
        return step_names(self.norm)

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The sizes of the whole tensor."""
        return dict(zip("BSd", self.source.shape, strict=True))

    @property
    def eps(self) -> float:
        """What is added to the variance."""
        return float(self.trace.inputs["eps"])

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
        """What a step is called: RMSNorm's var is its mean square, the last step the output."""
        if name == "var" and not self.norm.center:
            return "mean square"
        if name == "y" and self.norm.shift:
            return "shift: the output"
        if name == "y":
            return "scale: the output"
        return TITLES[name]

    def role(self, name: str) -> str:
        """Which colour and shape a value has everywhere."""
        return "output" if name == self.steps[-1] else ROLES.get(name, "work")

    def axes(self, name: str) -> tuple[str, ...]:
        """The axes of a value."""
        return self.program.values[name]

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
        name, at = place(self.state.sel, self.norm, self.source.shape, tuple(self.program.values))
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

    def relation(self, name: str) -> tuple[str, bool]:
        """How cells of `name` hang on the pinned cell: feeds, reads or nothing; and whether row by row."""
        if not self.pinned:
            return "", False
        origin = self.pinned[0]
        if name in self.program.feeds[origin]:
            return "feeds", name in self.program.mixes[origin]
        if origin in self.program.feeds[name]:
            return "reads", origin in self.program.mixes[name]
        return "", False


@lru_cache(maxsize=64)
def _traced(
    source: Source, norm: Norm, b: range, s: range, edits: tuple[Edit, ...], gamma_beta: tuple[Edit, ...]
) -> Trace:
    """The rows traced; kept, since a step of the scrubber changes no number."""
    x = _edited_rows(source, norm, b, s, edits)
    given: dict[str, Any] = {
        name: _edited_parameter(source, norm, name, gamma_beta)
        for name, wanted in (("gamma", norm.scale), ("beta", norm.shift))
        if wanted
    }
    return trace(x, norm, **given)


def view_of(state: State, sources: Mapping[str, Source]) -> View:
    """The numbers of a state that has been checked."""
    source = source_of(state, sources)
    norm = norm_of(state, source)
    window = window_of(state, source)
    latest = tuple(dict(state.edits).items())
    of_x = tuple(edit for edit in latest if edit[0].startswith("x."))
    others = tuple(edit for edit in latest if not edit[0].startswith("x."))
    made = _traced(source, norm, window[0], window[1], of_x, others)
    return View(state, source, norm, forward(norm), window, made)


def _edited_rows(source: Source, norm: Norm, b: range, s: range, edits: tuple[Edit, ...]) -> Any:
    x = source.rows(b, s)
    for edit in edits:
        _, (i, j, k) = place(edit[0], norm, source.shape, ("x",))
        if i in b and j in s:
            x[i - b.start][j - s.start][k] = set_to(edit)
    return x


def _edited_parameter(source: Source, norm: Norm, name: str, edits: tuple[Edit, ...]) -> list[float]:
    recorded: Sequence[float] | None = getattr(source, name)
    cells = [float(name == "gamma")] * source.shape[2] if recorded is None else list(recorded)
    for edit in edits:
        edited, at = place(edit[0], norm, source.shape, PARAMETERS)
        if edited == name:
            cells[at[0]] = set_to(edit)
    return cells


def _floats(cells: Sequence[Any]) -> list[float]:
    return [float(cell) for cell in cells]
