"""The state of "Mistakes", and what a person's actions do to it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...errors import StateError
from ..state import FLAG, PAIR, WHOLE, Codec, choice, fitted, words
from .catalogue import ALL, EXHIBITS, of_kind
from .outcome import FILLED, read
from .quiz import question
from .slips import KINDS, Exhibit, Texts

FIRST = "correction-1"
FIELDS = ("x", "gamma", "beta", "eps", "momentum", "dy")
MOST_SEED = 999_999


@dataclass(frozen=True)
class State:
    """What is seen.

    show   the exhibit's id      kind   whose exhibits are listed
    x ... dy   its input, where a person typed another; rows are separated by ";"
    quiz, seed, pick   whether a hidden mistake is asked for, which question, and the answer
    bad    an action that could not be done, with its value
    """

    show: str = FIRST
    kind: str = ALL
    x: str = ""
    gamma: str = ""
    beta: str = ""
    eps: str = ""
    momentum: str = ""
    dy: str = ""
    quiz: bool = False
    seed: int = 1
    pick: str = ""
    bad: tuple[str, str] | None = None

    @property
    def exhibit(self) -> Exhibit:
        """What is in view."""
        return EXHIBITS[self.show]

    @property
    def texts(self) -> Texts:
        """The fields of the exhibit, as they stand."""
        return tuple((name, getattr(self, name) or text) for name, text in self.exhibit.given.items())


CODECS: Mapping[str, Codec] = {
    "show": choice(tuple(EXHIBITS)),
    "kind": choice((ALL, *KINDS)),
    **dict.fromkeys(FIELDS, (str, str)),
    "quiz": FLAG,
    "seed": WHOLE,
    "pick": (str, str),
    "bad": PAIR,
}


def check(state: State) -> State:
    """The state, if its input can be run and its answer is one; a NormscopeError names what is not so."""
    for name in FIELDS:
        if getattr(state, name) and name not in state.exhibit.given:
            raise StateError(f"{state.show} takes no {name}.")
    read(state.show, state.texts)
    if not 1 <= state.seed <= MOST_SEED:
        raise StateError(f"there is no question {state.seed:,}; they go from 1 to {MOST_SEED:,}.")
    if state.pick and state.pick not in question(state.seed).options:
        raise StateError(f"'{state.pick[:40]}' is no answer to this question.")
    return state


def fresh(state: State, show: str) -> State:
    """Another exhibit, with its own input."""
    return replace(State(), show=show, kind=state.kind, seed=state.seed)


def _show(state: State, value: str) -> State:
    return fresh(state, CODECS["show"][0](value))


def _kind(state: State, value: str) -> State:
    kind = CODECS["kind"][0](value)
    listed = of_kind(kind)
    return replace(fresh(state, state.show if state.show in listed else next(iter(listed))), kind=kind)


def _typed(name: str) -> Callable[[State, str], State]:
    def assign(state: State, value: str) -> State:
        text = " ".join(value.split())
        if not text:
            raise StateError(f"{name} is empty; type a number, or press Reset for the first input.")
        return _with(state, {name: text})

    return assign


def _x(state: State, value: str) -> State:
    """Set x; where its shape changes the vectors follow: cut, or filled up with what changes nothing."""
    rows = [words(row) for row in value.split(";")]
    if not all(rows):
        raise StateError("x has an empty row; type numbers, with ; between rows.")
    typed = dict(state.texts)
    changes = {"x": ";".join(",".join(row) for row in rows)}
    for name in ("gamma", "beta"):
        if name in typed:
            changes[name] = fitted(typed[name], len(rows[0]), FILLED[name])
    if "dy" in typed:
        given = (typed["dy"].split(";") + [""] * len(rows))[: len(rows)]
        changes["dy"] = ";".join(fitted(row, len(rows[0]), FILLED["dy"]) for row in given)
    return _with(state, changes)


def _with(state: State, changes: Mapping[str, str]) -> State:
    """The state with fields set; one that is the exhibit's own is left out of the address."""
    given = state.exhibit.given
    own: dict[str, Any] = {name: "" if text == given.get(name) else text for name, text in changes.items()}
    return replace(state, **own)


def _pick(state: State, value: str) -> State:
    if state.pick:
        raise StateError("this question is answered; press Next question.")
    return replace(state, pick=value)


ACTIONS: Mapping[str, Callable[[State, str], State]] = {
    "show": _show,
    "kind": _kind,
    "x": _x,
    **{name: _typed(name) for name in FIELDS if name != "x"},
    "quiz": lambda state, value: replace(fresh(state, state.show), quiz=FLAG[0](value)),
    "pick": _pick,
    "next": lambda state, value: replace(state, seed=state.seed % MOST_SEED + 1, pick=""),
    "reset": lambda state, value: fresh(state, state.show),
}
