"""What a person's actions do to the state of "Precision"."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from math import log2
from typing import Any

from ...errors import StateError
from ...norm import exact_eps
from ...page.controls import Decades
from ...views.policies import find
from ..state import finite
from .faults import FAULTS
from .state import CODECS, COLUMNS, FEWEST, MOST, Place, State, check, kind_of, policies_of

LOOKING = ("sel", "first", "safe", "ladder", "source", "at", "guess")
MEANS = Decades(-2, 6, 0.05)  # the leftmost place of each is 0
SPREADS = Decades(-4, 4, 0.05)
EPSES = Decades(-13, 0, 0.25)
LENGTHS = (log2(FEWEST), log2(MOST))

Action = Callable[[State, str], State]


def done(state: State, field: str, value: str) -> State:
    """The state after an action; NormscopeError or ValueError where it cannot be done."""
    if field not in ACTIONS:
        raise StateError(f"there is no field '{field[:40]}' here.")
    return check(ACTIONS[field](state, value))


def edited(state: State, **fields: Any) -> State:
    """The state with another row or policy: a preset's name no longer holds, and a guess was about the last one."""
    return replace(state, **{"fault": "", "guess": state.guess and "shown"} | fields)


def _number(field: str, state: State, value: str) -> State:
    return edited(state, **{field: finite(value)})


def _eps(state: State, value: str) -> State:
    exact_eps(value.strip())
    return edited(state, eps=value.strip())


def _length(state: State, value: str) -> State:
    """Set d; a selection beyond it goes to the last feature."""
    if not value.strip().isdecimal() or len(value) > 6:
        raise StateError(f"d is {value[:20]!r}; give a whole number from {FEWEST} to {MOST}.")
    d = int(value)
    sel = Place(state.sel.line, max(0, min(state.sel.feature, d - 1)))
    return edited(state, d=d, sel=sel, first=sel.feature // COLUMNS * COLUMNS)


def _mean_place(state: State, value: str) -> State:
    size = MEANS.value(finite(value))
    return edited(state, mean=-size if state.mean < 0 else size)


def _spread_place(state: State, value: str) -> State:
    return edited(state, spread=SPREADS.value(finite(value)))


def _eps_place(state: State, value: str) -> State:
    return edited(state, eps=f"{EPSES.value(finite(value)):g}")


def _length_place(state: State, value: str) -> State:
    low, high = LENGTHS
    return _length(state, str(round(2 ** min(max(finite(value), low), high))))


def _choose(field: str, state: State, value: str) -> State:
    return edited(state, **{field: CODECS[field][0](value)})


def _look(field: str, state: State, value: str) -> State:
    return replace(state, **{field: CODECS[field][0](value)})


def _format(state: State, value: str) -> State:
    """Store in another format, under the policy of the same kind if it has one."""
    named = policies_of(value)
    if not named:
        raise ValueError(value)
    same = [policy.name for policy in named if kind_of(policy.name) == kind_of(state.policy)]
    return edited(state, policy=[*same, named[0].name][0])


def _select(state: State, value: str) -> State:
    """Select a cell, `y.0.3` by its column on the table; nothing selects what was selected."""
    if not value:
        return state
    line, _, feature = value.split(".")
    sel = Place(line, CODECS["first"][0](feature))
    return replace(state, sel=CODECS["sel"][0](f"{sel.line}.{sel.feature + state.first}"))


def _first(state: State, value: str) -> State:
    """Turn the table; the selection comes along."""
    first = CODECS["first"][0](value)
    return replace(state, first=first, sel=Place(state.sel.line, min(first, state.d - 1)))


def _fault(state: State, value: str) -> State:
    if not value:
        return replace(state, fault="")
    if value not in FAULTS:
        raise ValueError(value)
    fault = FAULTS[value]
    guess = "" if fault.asks else "shown"
    kept = {"safe": state.safe, "source": state.source, "at": state.at, "ladder": state.ladder}
    return State(**{**kept, "guess": guess, "fault": value, **fault.sets})


def _source(state: State, value: str) -> State:
    return replace(state, source=value, at=0)


ACTIONS: Mapping[str, Action] = {
    **{field: partial(_number, field) for field in ("mean", "spread")},
    "eps": _eps,
    "d": _length,
    "drag.mean": _mean_place,
    "drag.spread": _spread_place,
    "drag.eps": _eps_place,
    "drag.d": _length_place,
    **{field: partial(_choose, field) for field in ("shape", "seed", "norm", "affine", "policy")},
    "format": _format,
    **{field: partial(_look, field) for field in ("safe", "guess", "ladder", "at")},
    "sel": _select,
    "first": _first,
    "fault": _fault,
    "source": _source,
    "reset": lambda state, value: State(),
}


def storage(state: State) -> str:
    """The format that a state stores in."""
    return find(state.policy).storage
