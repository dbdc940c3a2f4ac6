"""The state of "Precision": a row by its mean and spread, and the policy that it goes through."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ...errors import StateError
from ...norm import Norm, exact_eps, layer_norm, rms_norm
from ...page.numbers import plain
from ...views.formats import FORMATS
from ...views.policies import POLICIES, Policy
from ..state import FLAG, PAIR, WHOLE, Codec, choice, whole_number
from .faults import FAULTS

NORMS = {"layer_norm": "LayerNorm", "rms_norm": "RMSNorm"}
SHAPES = {"normal": "like noise", "even": "evenly spaced", "outlier": "one outlier"}
AFFINES = {"none": "none", "seeded": "from the seed"}
SAFE = ("1", "4", "16", "256")
LINES = ("x", "stored", "exact", "y", "error")
GUESSES = ("", "near", "off", "zero", "negative", "shown")
COLUMNS = 8  # features that the table shows at once
FEWEST, MOST = 2, 64  # features
LARGEST = 1e30


class Place(NamedTuple):
    """A cell of the table: its line and its feature, from 0."""

    line: str
    feature: int


FIRST = Place("y", 0)


@dataclass(frozen=True)
class State:
    """What is seen.

    mean, spread, d, shape, seed   the row: `rows.row_of` makes it
    affine   gamma and beta: none, or seeded ones
    policy   which step is kept in which format; its storage is the format of the page
    safe     how many ulp of an error are called safe
    sel      the selected cell; `first` is the first feature of the table
    guess    what a person said of the one-pass variance: "near", "off", "zero", "negative"; "shown": not asked
    ladder   whether the ladder of the selected cell stands open
    fault    the preset that was chosen, until something is set
    source   a tensor by its name, `at` the first of its rows that are shown
    bad      an action that could not be done, with its value
    """

    mean: float = 10.0
    spread: float = 1.0
    eps: str = "1e-5"
    d: int = 8
    shape: str = "normal"
    seed: int = 0
    norm: str = "layer_norm"
    affine: str = "none"
    policy: str = "pytorch-bf16"
    safe: str = "4"
    sel: Place = FIRST
    first: int = 0
    guess: str = ""
    ladder: bool = False
    fault: str = ""
    source: str = ""
    at: int = 0
    bad: tuple[str, str] | None = None


def _place(text: str) -> Place:
    line, _, feature = text.partition(".")
    if line not in LINES:
        raise ValueError(text)
    return Place(line, whole_number(feature))


NUMBER: Codec = (float, plain)
CODECS: Mapping[str, Codec] = {
    "mean": NUMBER,
    "spread": NUMBER,
    "eps": (str, str),
    "d": WHOLE,
    "shape": choice(tuple(SHAPES)),
    "seed": WHOLE,
    "norm": choice(tuple(NORMS)),
    "affine": choice(tuple(AFFINES)),
    "policy": choice(tuple(POLICIES)),
    "safe": choice(SAFE),
    "sel": (_place, lambda place: f"{place.line}.{place.feature}"),
    "first": WHOLE,
    "guess": choice(GUESSES),
    "ladder": FLAG,
    "fault": (str, str),
    "source": (str, str),
    "at": WHOLE,
    "bad": PAIR,
}


def check(state: State) -> State:
    """The state, if everything in it fits together; a NormscopeError names what does not."""
    if not abs(state.mean) <= LARGEST:
        raise StateError(f"the mean is {plain(state.mean)}; here it lies within ±{LARGEST:g}.")
    if not (0 <= state.spread <= LARGEST and math.isfinite(state.spread)):
        raise StateError(f"the spread is {plain(state.spread)}; it is 0 or more, and at most {LARGEST:g}.")
    if not FEWEST <= state.d <= MOST:
        raise StateError(f"d is {state.d:,}; here it goes from {FEWEST} to {MOST}.")
    exact_eps(state.eps)
    if state.sel.feature >= state.d:
        raise StateError(f"feature {state.sel.feature + 1} is selected; the row has {state.d}.")
    if state.fault and state.fault not in FAULTS:
        raise StateError(f"there is no preset '{state.fault[:40]}'; there are {', '.join(FAULTS)}.")
    if state.first % COLUMNS or state.first >= state.d:
        raise StateError(f"first is {state.first}; the table starts at a multiple of {COLUMNS} below {state.d}.")
    return state


def norm_of(state: State) -> Norm:
    """The norm of one row."""
    return norm_with(state.norm, state.eps, state.affine != "none")


def norm_with(kind: str, eps: str, affine: bool) -> Norm:
    """The norm of a kind, over the features of a row."""
    norm = layer_norm(eps=eps, elementwise_affine=affine) if kind == "layer_norm" else None
    return (norm or rms_norm(eps=eps, elementwise_affine=affine)).fit(1)


def policies_of(storage: str) -> tuple[Policy, ...]:
    """The named policies that store in a format."""
    return tuple(policy for policy in POLICIES.values() if policy.storage == storage)


def kind_of(policy: str) -> str:
    """`pytorch` of `pytorch-bf16`; of float32 and float64 the name itself."""
    return policy.rpartition("-")[0] or policy


def formats() -> dict[str, str]:
    """The formats to choose from, with their bits."""
    return {name: f"{name}, {each.bits} bits" for name, each in FORMATS.items()}
