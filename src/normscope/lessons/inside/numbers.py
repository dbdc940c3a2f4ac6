"""The numbers that go into the layer, and what comes of them: the shown rows, each with all of its features."""

from collections.abc import Sequence
from functools import lru_cache
from random import Random
from typing import Any, NamedTuple

from ...norm import Norm
from ...program import PARAMETERS, Program
from ...tracing import Trace, initial, trace
from ..sources import Source
from .layer import place
from .state import EDITABLE, State, set_to

Cells = tuple[tuple[tuple[int, ...], float], ...]  # what a person has set: where in the whole tensor, and to what


class Numbers(NamedTuple):
    """The rows traced, and what was given before any rounding: x and dy row by row, gamma and beta once."""

    trace: Trace
    given: dict[str, Any]


def numbers_of(state: State, source: Source, norm: Norm, program: Program, b: range, s: range, policy: str) -> Numbers:
    """The rows of a state that has been checked. Kept, since a step of the scrubber changes no number."""
    edits = dict(state.edits)
    names = [name for name in EDITABLE if name in program.values]
    cells = tuple(_cells(name, edits, program, source) for name in names)
    cotangent = (state.dy, state.seed) if state.back else None
    return _traced(source, norm, b, s, tuple(zip(names, cells, strict=True)), cotangent, policy)


def _cells(name: str, edits: dict[str, str], program: Program, source: Source) -> Cells:
    own = (edit for edit in edits.items() if edit[0].startswith(f"{name}."))
    return tuple((place(edit[0], program, source.shape)[1], set_to(edit)) for edit in own)


@lru_cache(maxsize=64)
def _traced(
    source: Source,
    norm: Norm,
    b: range,
    s: range,
    edits: tuple[tuple[str, Cells], ...],
    cotangent: tuple[str, int] | None,
    policy: str,
) -> Numbers:
    given: dict[str, Any] = {"x": source.rows(b, s)}
    if cotangent:
        given["dy"] = [[list(_cotangent(*cotangent, i, j, source.shape[2])) for j in s] for i in b]
    for name, cells in edits:
        if name in PARAMETERS:
            given[name] = _parameter(source, name, norm)
        _set(given[name], cells, b, s)
    gamma, beta, dy = (given.get(name) for name in (*PARAMETERS, "dy"))
    return Numbers(trace(given["x"], norm, gamma, beta, dy=dy, policy=policy or None), given)


def _set(values: Any, cells: Cells, b: range, s: range) -> None:
    for at, value in cells:
        if len(at) == 1:
            values[at[0]] = value
        elif at[0] in b and at[1] in s:
            values[at[0] - b.start][at[1] - s.start][at[2]] = value


@lru_cache(maxsize=256)
def _cotangent(kind: str, seed: int, b: int, s: int, d: int) -> tuple[float, ...]:
    """A row of dy; rows that are not shown have none, as if theirs were 0."""
    if kind == "ones":
        return (1.0,) * d
    draw = Random(f"{seed}:dy:{b}:{s}")
    return tuple(round(draw.gauss(0, 1), 2) + 0.0 for _ in range(d))


def _parameter(source: Source, name: str, norm: Norm) -> list[float]:
    recorded: Sequence[float] | None = getattr(source, name)
    return [float(initial(name, norm))] * source.shape[2] if recorded is None else list(recorded)
