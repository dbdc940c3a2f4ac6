"""What a person's actions do to the state of "Inside LayerNorm".

An action is a field and a value. One that cannot be done leaves the state as it was, but for `bad`.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from ...errors import StateError
from ...norm import exact_eps
from ...page.numbers import plain
from ...program import Program
from ..sources import Source
from ..state import finite, whole_number
from .layer import check, norm_of, place, program_of, source_of, step_names, window_of
from .rounding import roundings
from .state import CODECS, DRAGGED, EDITABLE, Edit, State, cell_id

MOST_EDITS = 400
KEPT = ("storage", "rounding", "back", "dy", "seed", "step", "ladder", "copy")  # when another tensor is chosen
LOOKING = ("step", "sel", "copy", "back", "ladder")


def done(state: State, field: str, value: str, sources: Mapping[str, Source]) -> State:
    """What an action makes of a state; NormscopeError or ValueError where it cannot be done."""
    action = ACTIONS.get(field)
    return check(action(state, value, sources) if action else _edit(state, field, value, sources), sources)


def _program(state: State, sources: Mapping[str, Source], back: bool | None = None) -> Program:
    return program_of(state, norm_of(state, source_of(state, sources)), back=back)


def _walkable(state: State, sources: Mapping[str, Source]) -> State:
    """The state at a step that its program has: its own, else the first."""
    return state if state.step in step_names(_program(state, sources)) else replace(state, step="x")


def _absolute(state: State, cell: str, sources: Mapping[str, Source], names: tuple[str, ...] = ()) -> str:
    """The place in the whole tensor of a cell that is named by its place in the window."""
    source = source_of(state, sources)
    program = _program(state, sources, back=True if names else None)
    window = window_of(state, source)
    name, at = place(cell, program, source.shape, names)
    axes = program.values[name]
    ranges = [shown for axis, shown in zip("BSd", window, strict=True) if axis in axes]
    try:
        return cell_id(name, tuple(shown[i] for shown, i in zip(ranges, at, strict=True)))
    except IndexError:
        raise StateError(f"there is no cell '{cell[:40]}' in the window.") from None


def _edit(state: State, field: str, value: str, sources: Mapping[str, Source]) -> State:
    """Set a cell. What a slider sends (`drag.CELL`) takes the place of what it sent before: one edit a drag."""
    bare = field.removeprefix("drag.")
    cell = _absolute(state, bare, sources, EDITABLE)
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
    return replace(state, sel=_absolute(state, value, sources) if value else "")


def _step(state: State, value: str, sources: Mapping[str, Source]) -> State:
    names = step_names(_program(state, sources))
    return replace(state, step=names[max(0, min(int(value), len(names) - 1))] if value.isdecimal() else value)


def _source(state: State, value: str, sources: Mapping[str, Source]) -> State:
    return _walkable(State(source=value, **{name: getattr(state, name) for name in KEPT}), sources)


def _size(axis: int) -> Callable[..., State]:
    def resize(state: State, value: str, sources: Mapping[str, Source]) -> State:
        sizes = list(source_of(state, sources).shape)
        sizes[axis] = whole_number(value)
        return replace(state, sizes=tuple(sizes), at=None, sel="", edits=())

    return resize


def _page(axis: int) -> Callable[..., State]:
    """Move the window along an axis; beyond the end it stops there."""

    def turn(state: State, value: str, sources: Mapping[str, Source]) -> State:
        source = source_of(state, sources)
        window = window_of(state, source)
        corner = [shown.start for shown in window]
        corner[axis] = max(0, min(whole_number(value), source.shape[axis] - len(window[axis])))
        return replace(state, at=tuple(corner), sel="")

    return turn


def _norm(state: State, value: str, sources: Mapping[str, Source]) -> State:
    state = replace(state, norm=CODECS["norm"][0](value), sel="", edits=_without_beta(state, value))
    return _walkable(state, sources)


def _affine(state: State, value: str, sources: Mapping[str, Source]) -> State:
    gone = {"both": (), "scale": ("beta",), "none": ("gamma", "beta")}.get(value, ())
    edits = tuple(edit for edit in state.edits if edit[0].partition(".")[0] not in gone)
    state = replace(state, affine=CODECS["affine"][0](value), sel="", edits=edits)
    names = step_names(_program(state, sources))
    return state if state.step in names else replace(state, step=names[-1])


def _storage(state: State, value: str, sources: Mapping[str, Source]) -> State:
    """Another precision; a rounding that it lacks is given up."""
    storage = CODECS["storage"][0](value)
    rounding = state.rounding if state.rounding in roundings(storage) else None
    return _reordered(replace(state, storage=storage, rounding=rounding), sources)


def _rounding(state: State, value: str, sources: Mapping[str, Source]) -> State:
    return _reordered(replace(state, rounding=CODECS["rounding"][0](value)), sources)


def _reordered(state: State, sources: Mapping[str, Source]) -> State:
    """The state under another rounding, whose order of operations may lack the pinned cell's step."""
    return _walkable(_pinned(state, _program(state, sources)), sources)


def _pinned(state: State, program: Program) -> State:
    return state if state.sel.partition(".")[0] in program.values else replace(state, sel="")


def _back(state: State, value: str, sources: Mapping[str, Source]) -> State:
    """Walk the way back too, from dy; or no more, and then from the last step of the forward pass."""
    if CODECS["back"][0](value):
        return replace(state, back=True, step="dy")
    there = _program(state, sources, back=False)
    names = step_names(there)
    step = state.step if state.step in names else names[-1]
    return _pinned(replace(state, back=False, step=step), there)


def _cotangent(state: State, value: str, sources: Mapping[str, Source]) -> State:
    edits = tuple(edit for edit in state.edits if not edit[0].startswith("dy."))
    return replace(state, dy=CODECS["dy"][0](value), edits=edits)


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
    return replace(state, seed=whole_number(value), edits=())


ACTIONS: Mapping[str, Callable[[State, str, Mapping[str, Source]], State]] = {
    "source": _source,
    "norm": _norm,
    "affine": _affine,
    "eps": _eps,
    "storage": _storage,
    "rounding": _rounding,
    "back": _back,
    "dy": _cotangent,
    "ladder": _plain_field("ladder"),
    "copy": _plain_field("copy"),
    "seed": _seed,
    "step": _step,
    "sel": _select,
    "undo": lambda state, value, sources: replace(state, edits=state.edits[:-1]),
    "reset": lambda state, value, sources: replace(state, edits=(), sel=""),
    **{f"size.{axis}": _size(i) for i, axis in enumerate("BSd")},
    **{f"at.{axis}": _page(i) for i, axis in enumerate("BSd")},
}
