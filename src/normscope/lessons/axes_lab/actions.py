"""What a person's actions do to the state of the axes lab.

An action is a field and a value. One that cannot be done leaves the state as it was, but for `bad`.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from ...errors import StateError
from ...norm import exact_eps
from ...page.numbers import plain
from ..state import finite
from .reading import read_csv
from .state import CODECS, EPS, LANES, State, check, place

LOOKING = ("sel", "zoom", "first", "layout", "norm")
VIEW = ("zoom", "layout", "norm", "pattern", "groups", "momentum", "convention", "batches", "task", "guesses")

Action = Callable[[State, str], State]


def value_of(state: State, cell: str) -> float:
    """The number in a cell of x, gamma or beta."""
    name, at = place(cell, state.size)
    values = getattr(state, name)
    for i in at:
        values = values[i]
    return float(values)


def edited(state: State, cells: Mapping[str, float], dragged: str = "") -> State:
    """The state with these cells set, as one edit: `last` keeps what they were.

    dragged  the cell that a slider is drawn for: as long as it is the same one, that is the same edit
    """
    is_same_drag = bool(dragged) and dragged == state.dragged
    overwritten = tuple((cell, plain(value_of(state, cell))) for cell in cells)
    return replace(written(state, cells), last=state.last if is_same_drag else overwritten, dragged=dragged)


def written(state: State, cells: Mapping[str, float]) -> State:
    """The state with these cells set, and nothing remembered."""
    tables = {"x": [list(row) for row in state.x], "gamma": [list(state.gamma)], "beta": [list(state.beta)]}
    for cell, value in cells.items():
        name, at = place(cell, state.size)
        *row, feature = at
        tables[name][row[0] if row else 0][feature] = value
    x = tuple(map(tuple, tables["x"]))
    return replace(state, x=x, gamma=tuple(tables["gamma"][0]), beta=tuple(tables["beta"][0]))


def before(state: State) -> State:
    """The numbers before the last edit; the state itself where there was none."""
    overwritten = dict(state.last)
    earlier = replace(state, eps=overwritten.pop(EPS, state.eps))
    return written(earlier, {cell: float(value) for cell, value in overwritten.items()})


def row_of(state: State, token: str) -> dict[str, float]:
    """The cells of one token and their numbers."""
    cells = {f"x.{token}.{feature}": feature for feature in range(state.size[1])}
    return {cell: value_of(state, cell) for cell in cells}


def _set(name: str) -> Callable[[State, str, str], State]:
    def assign(state: State, at: str, value: str) -> State:
        return edited(state, {f"{name}.{at}": finite(value)})

    return assign


def _drag(state: State, cell: str, value: str) -> State:
    return edited(state, {cell: finite(value)}, dragged=cell)


def _shift_row(state: State, token: str, value: str) -> State:
    by = finite(value)
    return edited(state, {cell: old + by for cell, old in row_of(state, token).items()})


def _scale_row(state: State, token: str, value: str) -> State:
    by = finite(value)
    return edited(state, {cell: old * by for cell, old in row_of(state, token).items()})


def _constant(state: State, value: str) -> State:
    return edited(state, dict.fromkeys(row_of(state, value), 0.0))


def _undo(state: State, value: str) -> State:
    return replace(before(state), last=(), dragged="")


def _reset(state: State, value: str) -> State:
    return State(**{field: getattr(state, field) for field in VIEW})


def _select(state: State, value: str) -> State:
    """Select a cell of x, or with one of gamma or beta its feature; nothing selects what was selected."""
    if not value:
        return state
    name, at = place(value, state.size)
    token = at[0] if name == "x" else state.sel[0]
    return replace(state, sel=(token, at[-1]), first=at[-1] // LANES * LANES, dragged="")


def _table(state: State, value: str) -> State:
    """Take a person's own table; gamma and beta keep what fits, and get ones and zeros for more features."""
    x, tokens = read_csv(value)
    features = len(x[0])
    gamma, beta = (
        (*kept[:features], *[filled] * (features - len(kept)))
        for kept, filled in ((state.gamma, 1.0), (state.beta, 0.0))
    )
    return replace(state, x=x, tokens=tokens, gamma=gamma, beta=beta, sel=(0, 0), first=0, last=(), dragged="")


def _eps(state: State, value: str) -> State:
    exact_eps(value.strip())
    return replace(state, eps=value.strip(), last=((EPS, state.eps),), dragged="")


def _plain(field: str, state: State, value: str) -> State:
    return replace(state, **{field: CODECS[field][0](value)})


ACTIONS: Mapping[str, Action] = {
    "sel": _select,
    "constant": _constant,
    "undo": _undo,
    "reset": _reset,
    "table": _table,
    "eps": _eps,
    **{field: partial(_plain, field) for field in ("zoom", "first")},
}
PLACED: Mapping[str, Callable[[State, str, str], State]] = {
    **{name: _set(name) for name in ("x", "gamma", "beta")},
    "drag": _drag,
    "rowshift": _shift_row,
    "rowscale": _scale_row,
}


def done(more: Mapping[str, Action]) -> Callable[[State, str, str], State]:
    """What an action makes of a state; NormscopeError or ValueError where it cannot be done.

    more  actions of the page's other parts
    """
    actions = {**ACTIONS, **more}

    def perform(state: State, field: str, value: str) -> State:
        state = replace(state, fresh=False)
        if field in actions:
            return check(actions[field](state, value))
        name, _, at = field.partition(".")
        if name not in PLACED:
            raise StateError(f"there is no field '{field[:40]}' here.")
        return check(PLACED[name](state, at, value))

    return perform
