"""The state of "A named step", and what a person's actions do to it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from ...block import SYMBOL, ExactTrace, exact
from ...errors import StateError
from ...norm import layer_norm, rms_norm
from ...steps import WIRINGS
from ...views.exact import MOST_DIGITS, rational
from ..state import FLAG, PAIR, WHOLE, Codec, choice, fitted, pairs, whole_number, words
from .fold import PREDICTED, panels_of

KINDS = {"layer_norm": "LayerNorm", "rms_norm": "RMSNorm"}
WIRING = {"post": "post-norm", "pre": "pre-norm"}
LONGEST_VECTOR = 8
Guess = tuple[str, str]


@dataclass(frozen=True)
class State:
    """What is seen.

    x, update, gamma, beta  vectors as they were typed; gamma and beta empty: the norm has none
    eps      "0", a rational, or "eps" for the symbol
    panel    which panel is open
    every    whether all steps are drawn, not the folded boxes
    opened   whether the boundary is open: closed forms and decimals beyond the root
    guesses  answers that a person committed, by step; an empty answer only had the step shown
    bad      an action that could not be done, with its value
    """

    x: str = "2,3"
    update: str = "1,-1"
    norm: str = "layer_norm"
    wiring: str = "post"
    eps: str = "0"
    gamma: str = ""
    beta: str = ""
    panel: int = 0
    every: bool = False
    opened: bool = False
    digits: int = 30
    guesses: tuple[Guess, ...] = ()
    bad: Guess | None = None


CODECS: Mapping[str, Codec] = {
    "x": (str, str),
    "update": (str, str),
    "norm": choice(tuple(KINDS)),
    "wiring": choice(WIRINGS),
    "eps": (str, str),
    "gamma": (str, str),
    "beta": (str, str),
    "panel": WHOLE,
    "every": FLAG,
    "opened": FLAG,
    "digits": WHOLE,
    "guesses": pairs(";"),
    "bad": PAIR,
}


def vector(text: str, name: str) -> list[Fraction]:
    """The numbers of a vector that was typed, separated by commas or blanks: `2, 2/3, 0.1`.

    Raises StateError if there is none, or more than 8; ExactError for what is no number.
    """
    given = words(_one_row(text))
    if not given:
        raise StateError(f"{name} is empty; type up to {LONGEST_VECTOR} numbers, such as 2, 2/3, 0.1.")
    if len(given) > LONGEST_VECTOR:
        raise StateError(f"{name} has {len(given)} numbers; here a vector has at most {LONGEST_VECTOR}.")
    return [rational(word, name) for word in given]


def _one_row(text: str) -> str:
    """A vector has one row; a semicolon in it is read as a comma."""
    return text.replace(";", ",")


def trace_of(state: State) -> ExactTrace:
    """Every step of the state in exact numbers."""
    return _traced(state.x, state.update, state.norm, state.wiring, state.eps, state.gamma, state.beta)


@lru_cache(maxsize=128)
def _traced(x: str, update: str, kind: str, wiring: str, eps: str, gamma: str, beta: str) -> ExactTrace:
    """Kept, since a step forward or back changes no number."""
    given = {name: vector(text, name) for name, text in (("gamma", gamma), ("beta", beta)) if text}
    affine = bool(given)
    norm = layer_norm(elementwise_affine=affine, bias="beta" in given) if kind == "layer_norm" else None
    norm = norm or rms_norm(elementwise_affine=affine)
    return exact(vector(x, "x"), norm, **given, update=vector(update, "update"), wiring=wiring, eps=eps)


def check(state: State) -> State:
    """The state, if everything in it fits together; a NormscopeError names what does not."""
    trace = trace_of(state)
    last = len(panels_of(trace.program)) - 1
    if state.panel > last:
        raise StateError(f"there is no panel {state.panel}; the last is {last}.")
    if state.digits > MOST_DIGITS:
        raise StateError(f"{state.digits:,} decimals are asked for; 0 to {MOST_DIGITS:,} can be had.")
    for step, answer in state.guesses:
        if step not in PREDICTED:
            raise StateError(f"there is no guess for '{step[:20]}'; there are guesses for {', '.join(PREDICTED)}.")
        if answer and step in trace.program.by_name:
            given, asked = len(vector(answer, "your answer")), trace.sizes["d"] if trace.axes(step) else 1
            if given != asked:
                raise StateError(f"your answer has {_numbers(given)}; here it takes {_numbers(asked)}.")
    return state


def _numbers(count: int) -> str:
    return "one number" if count == 1 else f"{count} numbers"


def _typed(field: str) -> Callable[[State, str], State]:
    """Set a field of numbers: what was guessed before no longer holds."""

    def assign(state: State, value: str) -> State:
        return _with(state, field, " ".join(value.split()), guesses=())

    return assign


def _with(state: State, field: str, value: Any, **more: Any) -> State:
    return replace(state, **{field: value}, **more)


def _x(state: State, value: str) -> State:
    """Set x; where its length changes, the other vectors follow: cut, or filled up with what changes nothing."""
    length = len(vector(value, "x"))
    others = {"update": "0", "gamma": "1", "beta": "0"}
    given = {field: _one_row(getattr(state, field)) for field in others}
    follow: dict[str, Any] = {field: fitted(text, length, others[field]) for field, text in given.items() if text}
    return replace(_typed("x")(state, value), **follow)


def _eps(state: State, value: str) -> State:
    value = value.strip()
    if value != SYMBOL:
        rational(value, "eps")
    return replace(state, eps=value)


def _digits(state: State, value: str) -> State:
    text = value.strip()
    if not text.isdecimal() or len(text) > 6:
        raise StateError(f"'{text[:20]}' decimals are asked for; a whole number from 0 to {MOST_DIGITS:,} can be had.")
    return replace(state, digits=int(text))


def _choose(field: str) -> Callable[[State, str], State]:
    def assign(state: State, value: str) -> State:
        return _with(state, field, CODECS[field][0](value))

    return assign


def _norm(state: State, value: str) -> State:
    kind = CODECS["norm"][0](value)
    return replace(state, norm=kind, beta="" if kind == "rms_norm" else state.beta, panel=0, guesses=())


def _panel(state: State, value: str) -> State:
    last = len(panels_of(trace_of(state).program)) - 1
    return replace(state, panel=min(whole_number(value), last))


def _guess(step: str) -> Callable[[State, str], State]:
    def commit(state: State, value: str) -> State:
        others = tuple(guess for guess in state.guesses if guess[0] != step)
        answer = _one_row(" ".join(value.split()))
        if answer:
            vector(answer, "your answer")
        return replace(state, guesses=(*others, (step, answer)))

    return commit


ACTIONS: Mapping[str, Callable[[State, str], State]] = {
    "x": _x,
    **{field: _typed(field) for field in ("update", "gamma", "beta")},
    **{field: _choose(field) for field in ("every", "opened")},
    "digits": _digits,
    **{f"guess.{step}": _guess(step) for step in PREDICTED},
    "wiring": lambda state, value: replace(_choose("wiring")(state, value), panel=0, guesses=()),
    "norm": _norm,
    "eps": _eps,
    "panel": _panel,
    "reset": lambda state, value: State(),
}
