"""What a person's actions do to the state of "Inside LayerNorm".

An action is a field and a value. One that cannot be done leaves the state as it was, but for `bad`.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from ...errors import StateError
from ...norm import exact_eps
from ...page.numbers import plain
from ...steps import forward
from ..sources import Source
from ..state import finite, whole_numbers
from .state import (
    CODECS,
    DRAGGED,
    Edit,
    State,
    cell_id,
    check,
    norm_of,
    place,
    source_of,
    step_names,
    window_of,
)

MOST_EDITS = 400
LOOKING = ("step", "sel", "copy")


def done(sources: Mapping[str, Source]) -> Callable[[State, str, str], State]:
    """What an action makes of a state; NormscopeError or ValueError where it cannot be done."""

    def perform(state: State, field: str, value: str) -> State:
        action = ACTIONS.get(field)
        return check(action(state, value, sources) if action else _edit(state, field, value, sources), sources)

    return perform


def _absolute(state: State, cell: str, sources: Mapping[str, Source], names: tuple[str, ...]) -> str:
    """The place in the whole tensor of a cell that is named by its place in the window."""
    source = source_of(state, sources)
    norm = norm_of(state, source)
    window = window_of(state, source)
    name, at = place(cell, norm, source.shape, names)
    axes = forward(norm).values[name]
    ranges = [shown for axis, shown in zip("BSd", window, strict=True) if axis in axes]
    try:
        return cell_id(name, tuple(shown[i] for shown, i in zip(ranges, at, strict=True)))
    except IndexError:
        raise StateError(f"there is no cell '{cell[:40]}' in the window.") from None


def _edit(state: State, field: str, value: str, sources: Mapping[str, Source]) -> State:
    """Set a cell. What a slider sends (`drag.CELL`) takes the place of what it sent before: one edit a drag."""
    bare = field.removeprefix("drag.")
    cell = _absolute(state, bare, sources, ("x", "gamma", "beta"))
    number = ("" if bare == field else DRAGGED) + plain(finite(value))
    last = state.edits[-1] if state.edits else ("", "")
    is_same_drag = bare != field and last[0] == cell and last[1].startswith(DRAGGED)
    edits = state.edits[:-1] if is_same_drag else state.edits
    if len(edits) >= MOST_EDITS:
        edits = tuple({edit[0]: edit for edit in edits}.values())
        if len(edits) >= MOST_EDITS:
            raise StateError(f"{MOST_EDITS} cells are edited already; reset, or open the tensor as a file.")
    return replace(state, edits=(*edits, (cell, number)))


def _select(state: State, value: str, sources: Mapping[str, Source]) -> State:
    names = tuple(forward(norm_of(state, source_of(state, sources))).values)
    return replace(state, sel=_absolute(state, value, sources, names) if value else "")


def _step(state: State, value: str, sources: Mapping[str, Source]) -> State:
    names = step_names(norm_of(state, source_of(state, sources)))
    return replace(state, step=names[max(0, min(int(value), len(names) - 1))] if value.isdecimal() else value)


def _source(state: State, value: str, sources: Mapping[str, Source]) -> State:
    fresh = State(source=value, storage=state.storage, seed=state.seed, copy=state.copy)
    names = step_names(norm_of(fresh, source_of(fresh, sources)))
    return replace(fresh, step=state.step) if state.step in names else fresh


def _size(axis: int) -> Callable[..., State]:
    def resize(state: State, value: str, sources: Mapping[str, Source]) -> State:
        sizes = list(source_of(state, sources).shape)
        sizes[axis] = int(value)
        return replace(state, sizes=tuple(sizes), at=None, sel="", edits=())

    return resize


def _page(axis: int) -> Callable[..., State]:
    """Move the window along an axis; beyond the end it stops there."""

    def turn(state: State, value: str, sources: Mapping[str, Source]) -> State:
        source = source_of(state, sources)
        window = window_of(state, source)
        corner = [shown.start for shown in window]
        corner[axis] = max(0, min(int(value), source.shape[axis] - len(window[axis])))
        return replace(state, at=tuple(corner), sel="")

    return turn


def _norm(state: State, value: str, sources: Mapping[str, Source]) -> State:
    state = replace(state, norm=CODECS["norm"][0](value), sel="", edits=_without_beta(state, value))
    names = step_names(norm_of(state, source_of(state, sources)))
    return state if state.step in names else replace(state, step="x")


def _affine(state: State, value: str, sources: Mapping[str, Source]) -> State:
    gone = {"both": (), "scale": ("beta",), "none": ("gamma", "beta")}.get(value, ())
    edits = tuple(edit for edit in state.edits if edit[0].partition(".")[0] not in gone)
    state = replace(state, affine=CODECS["affine"][0](value), sel="", edits=edits)
    names = step_names(norm_of(state, source_of(state, sources)))
    return state if state.step in names else replace(state, step=names[-1])


def _without_beta(state: State, kind: str) -> tuple[Edit, ...]:
    return tuple(edit for edit in state.edits if kind != "rms_norm" or not edit[0].startswith("beta."))


def _eps(state: State, value: str, sources: Mapping[str, Source]) -> State:
    exact_eps(value.strip())
    return replace(state, eps=value.strip())


def _plain_field(field: str) -> Callable[..., State]:
    def assign(state: State, value: str, sources: Mapping[str, Source]) -> State:
        return replace(state, **{field: CODECS[field][0](value)})

    return assign


def _seed(state: State, value: str, sources: Mapping[str, Source]) -> State:
    return replace(state, seed=whole_numbers(value)[0], edits=())


ACTIONS: Mapping[str, Callable[[State, str, Mapping[str, Source]], State]] = {
    "source": _source,
    "norm": _norm,
    "affine": _affine,
    "eps": _eps,
    "storage": _plain_field("storage"),
    "copy": _plain_field("copy"),
    "seed": _seed,
    "step": _step,
    "sel": _select,
    "undo": lambda state, value, sources: replace(state, edits=state.edits[:-1]),
    "reset": lambda state, value, sources: replace(state, edits=(), sel=""),
    **{f"size.{axis}": _size(i) for i, axis in enumerate("BSd")},
    **{f"at.{axis}": _page(i) for i, axis in enumerate("BSd")},
}
