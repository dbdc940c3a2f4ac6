"""The state of the axes lab: a small table of numbers, and how it is looked at."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from ...conventions import CONVENTIONS
from ...errors import StateError
from ...norm import exact_eps
from ...page.numbers import plain
from ..state import FLAG, PAIR, WHOLE, Codec, choice, finite, indices, pairs

Numbers = tuple[float, ...]
Pairs = tuple[tuple[str, str], ...]

MOST = 32  # tokens, features
LANES = 8  # features that the lanes show at once
LONGEST_WORD = 24
EPS = "eps"  # its cell: one number for the whole table
NOUNS = ("token", "feature")
ZOOMS = {"fixed": "−5 to 5", "fit": "fit"}
LAYOUTS = {"tokens": "(B, S, d)", "ncl": "(N, C, L)", "nchw": "(N, C, H, W)"}


@dataclass(frozen=True)
class State:
    """What is seen; the defaults are the lesson's figures.

    x            tokens x features; `tokens` names its rows
    gamma, beta  one a feature, shared by all tokens
    sel          the selected token and feature, from 0
    last         what the last edit overwrote, cell by cell (`x.1.0`, `eps`): undo sets it back, ghosts show it
    dragged      the cell that a slider is being drawn for: its next step belongs to the same edit
    zoom         the axis of the lanes; `first` their first feature
    layout, norm, pattern, groups, momentum, convention, batches   the axes panel
    task, guesses   guided tasks; `fresh`: one was answered or done just now, and is said aloud
    bad          an action that could not be done, with its value
    """

    x: tuple[Numbers, ...] = ((0.2, -0.8, 0.4, 0.1), (-1.0, -1.0, 1.0, 1.0), (0.3, 0.5, -0.7, -0.1))
    tokens: tuple[str, ...] = ("The", "cat", "sat")
    gamma: Numbers = (1.2, 0.8, 1.0, 1.0)
    beta: Numbers = (0.1, -0.2, 0.0, 0.4)
    eps: str = "1e-5"
    sel: tuple[int, int] = (1, 0)
    last: Pairs = ()
    dragged: str = ""
    zoom: str = "fixed"
    first: int = 0
    layout: str = "tokens"
    norm: str = "batch_norm"
    pattern: str = ""
    groups: int = 2
    momentum: str = "0.1"
    convention: str = "pytorch"
    batches: int = 1
    task: str = ""
    guesses: Pairs = ()
    fresh: bool = False
    bad: tuple[str, str] | None = None

    @property
    def size(self) -> tuple[int, int]:
        """Tokens, features."""
        return len(self.x), len(self.x[0])


def _numbers(text: str) -> Numbers:
    return tuple(float(word) for word in text.split(","))


def _written(values: Numbers) -> str:
    return ",".join(map(plain, values))


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.replace("%2C", ",").replace("%25", "%") for word in text.split(","))


def _joined(words: tuple[str, ...]) -> str:
    return ",".join(word.replace("%", "%25").replace(",", "%2C") for word in words)


NUMBERS: Codec = (_numbers, _written)
PAIRS = pairs(";")
CODECS: Mapping[str, Codec] = {
    "x": (lambda text: tuple(map(_numbers, text.split(";"))), lambda rows: ";".join(map(_written, rows))),
    "tokens": (_words, _joined),
    "gamma": NUMBERS,
    "beta": NUMBERS,
    "eps": (str, str),
    "sel": indices(2),
    "last": PAIRS,
    "dragged": (str, str),
    "zoom": choice(tuple(ZOOMS)),
    "first": WHOLE,
    "layout": choice(tuple(LAYOUTS)),
    "norm": (str, str),
    "pattern": (str, str),
    "groups": WHOLE,
    "momentum": (str, str),
    "convention": choice(tuple(CONVENTIONS)),
    "batches": WHOLE,
    "task": (str, str),
    "guesses": PAIRS,
    "fresh": FLAG,
    "bad": PAIR,
}


def place(cell: str, size: tuple[int, int]) -> tuple[str, tuple[int, ...]]:
    """`x.1.0` as its name and its place in a table of that size; StateError if there is no such cell.

    >>> place("x.1.0", (3, 4)), place("gamma.3", (3, 4))
    (('x', (1, 0)), ('gamma', (3,)))
    """
    name, *words = cell.split(".")
    sizes = {"x": size, "gamma": size[1:], "beta": size[1:]}.get(name, ())
    at = tuple(int(word) for word in words if word.isdecimal())
    if not sizes or len(at) != len(sizes) or not all(i < most for i, most in zip(at, sizes, strict=True)):
        raise StateError(f"there is no cell '{cell[:40]}' in {tokens_by_features(size)}.")
    return name, at


def tokens_by_features(size: tuple[int, int]) -> str:
    """`3 tokens x 4 features`, in words."""
    tokens, features = (f"{count:,} {noun}{'' if count == 1 else 's'}" for count, noun in zip(size, NOUNS, strict=True))
    return f"a table of {tokens} and {features}"


def check(state: State) -> State:
    """The state, if everything in it fits together; a NormscopeError names what does not."""
    _check_table(state)
    tokens, features = state.size
    if not (state.sel[0] < tokens and state.sel[1] < features):
        raise StateError(
            f"sel is token {state.sel[0]}, feature {state.sel[1]}; {tokens_by_features(state.size)} is here."
        )
    if state.first % LANES or state.first >= features:
        raise StateError(f"first is {state.first}; the lanes start at a multiple of {LANES} below {features}.")
    if state.dragged:
        place(state.dragged, state.size)
    for cell, value in state.last:
        if cell == EPS:
            eps_of(value)
        else:
            place(cell, state.size)
            finite(value)
    return state


def _check_table(state: State) -> None:
    tokens, features = state.size
    if tokens > MOST or features > MOST:
        raise StateError(f"{tokens_by_features(state.size)} is too large; {MOST} x {MOST} are shown.")
    for at, row in enumerate(state.x, 1):
        if len(row) != features:
            raise StateError(f"row {at} of x has {len(row)} numbers, row 1 has {features}.")
    for name, count, wanted in (
        ("tokens", len(state.tokens), tokens),
        ("gamma", len(state.gamma), features),
        ("beta", len(state.beta), features),
    ):
        if count != wanted:
            raise StateError(f"{name} has {count} entries; {tokens_by_features(state.size)} needs {wanted}.")
    if not all(map(math.isfinite, [*state.gamma, *state.beta, *chain(*state.x)])):
        raise StateError("x, gamma and beta hold finite numbers alone.")
    if any(len(word) > LONGEST_WORD for word in state.tokens):
        raise StateError(f"a token's name has at most {LONGEST_WORD} characters.")
    eps_of(state.eps)


@lru_cache(maxsize=64)
def eps_of(text: str) -> float:
    """eps as it is computed with."""
    return float(exact_eps(text))
