"""What a policy makes of one row, in plain Python: the errors of y, what overflows, the share of eps."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import frexp, inf, isfinite, ldexp, nan
from typing import Any

from ...norm import Norm
from ...steps import NUMBERS, output
from ...tracing import Trace, trace
from ...variance import eps_share
from ...views.cells import flatten
from ...views.formats import Format
from ...views.policies import Policy, find, strict
from .rows import Row, parameters, row_of
from .state import State, norm_of, policies_of

Parameters = tuple[Sequence[float] | None, Sequence[float] | None]


@dataclass(frozen=True, eq=False)
class Reading:
    """One row under one policy; the figures are those of `losses.precision`.

    stored, y  what the policy keeps; `errors` of y are in ulps of the storage at the row's largest |y|
    overflow   the first value that is not finite, or that lay beyond the largest number and became it; or empty
    lost       the first value that is not finite, or empty
    v          the policy's own var + eps
    share      eps / (var + eps) of the policy's own variance; 0 where v is var, nan where it is 0
    """

    policy: Policy
    stored: list[float]
    y: list[float]
    errors: list[float]
    var: float
    v: float
    share: float
    overflow: str
    lost: str

    @property
    def worst(self) -> float:
        """The largest error; nan where the reference itself is none."""
        return nan if any(error != error for error in self.errors) else max(self.errors)


def reference(x: Sequence[float], norm: Norm, given: Parameters) -> list[float]:
    """y in float64, of x as it was given."""
    return flatten(trace(x, norm, *given)["y"])


def read(x: Sequence[float], norm: Norm, given: Parameters, policy: Policy | str, wanted: list[float]) -> Reading:
    """The row under a policy, beside the y that is wanted."""
    policy = find(policy)
    made = trace(list(x), norm, *given, policy=policy)
    kept = policy.formats(made.program, norm.over)
    y = flatten(made["y"])
    (var,), (v,) = flatten(made["var"]), flatten(made["v"])
    share = _share(var, v, made.inputs["eps"])
    errors = _errors(y, wanted, kept[output(made.program)])
    lost = _lost(made)
    overflow = _lost(trace(list(x), norm, *given, policy=strict(policy))) if policy.saturate else lost
    return Reading(policy, flatten(made.inputs["x"]), y, errors, var, v, share, overflow, lost)


def _share(var: float, v: float, eps: float) -> float:
    if not v or var + eps == 0:
        return nan
    return 0.0 if v == var else eps_share(var, eps)


def _errors(y: list[float], wanted: list[float], storage: Format) -> list[float]:
    """Each error in ulps at the largest wanted number; beside a row of zeros in those of 1/2, as in losses.py."""
    largest = max(map(abs, wanted))
    unit = ldexp(1, max(frexp(largest)[1] - 1 - storage.fraction, storage.last)) if isfinite(largest) else nan
    return [_error(got, right, unit) for got, right in zip(y, wanted, strict=True)]


def _error(got: float, right: float, unit: float) -> float:
    if isfinite(right) and not isfinite(got):
        return inf
    return abs(got - right) / unit


def _lost(made: Trace) -> str:
    """The first value of the program, inputs included, that holds what is no finite number any more; or empty."""
    for name in made.program.values:
        if name not in NUMBERS and not all(map(isfinite, flatten(_value(made, name)))):
            return name
    return ""


def _value(made: Trace, name: str) -> Any:
    return made.inputs[name] if name in made.inputs else made[name]


@dataclass(frozen=True, eq=False)
class Row64:
    """A row with its y in float64, and what every policy of a format makes of it."""

    x: Row
    wanted: list[float]
    readings: tuple[Reading, ...]

    def under(self, policy: str) -> Reading:
        """The reading of one policy."""
        return next(each for each in self.readings if each.policy.name == policy)


def rows_of(state: State) -> Row64:
    """The row of a state under the policies of its format."""
    given = parameters(state.affine, state.norm, state.seed, state.d)
    return _rows(row_of(state), norm_of(state), given, find(state.policy).storage)


@lru_cache(maxsize=32)
def _rows(x: Row, norm: Norm, given: tuple[Row | None, Row | None], storage: str) -> Row64:
    """Kept, since a selection changes no number."""
    wanted = reference(x, norm, given)
    return Row64(x, wanted, tuple(read(x, norm, given, each, wanted) for each in policies_of(storage)))
