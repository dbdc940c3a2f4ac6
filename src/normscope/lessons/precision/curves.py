"""The variance of a row several ways beside its exact value, and how far from it they come as the mean grows."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import inf, isfinite, nan
from statistics import pvariance
from typing import Any

from ...variance import variances
from ...views.formats import FORMATS
from ...views.policies import find
from .rows import Row, placed, row_of, shape
from .state import State

WAYS = ("two-pass", "one-pass", "chunked", "Welford")
STORAGE = "storage"
LOW, HIGH, A_DECADE = -1, 7, 2  # the ratios of mean and spread: powers of ten, and places in each
RATIOS = tuple(10 ** (LOW + at / A_DECADE) for at in range((HIGH - LOW) * A_DECADE + 1))


@dataclass(frozen=True)
class Ways:
    """The variance of one row.

    given   exactly that of the row as it was given
    exact   that of the row as it is stored; nan where that is not finite
    found   what each way gives
    errors  how far it is off, in ulps of the storage format at the exact value, and nan where storing the row has
            left no variance of it; STORAGE's is that of `exact` from `given`
    """

    given: Fraction
    exact: Fraction | float
    found: Mapping[str, float]
    errors: Mapping[str, float]


@dataclass(frozen=True)
class Curves:
    """The errors of every way at every ratio of mean and spread, and what the storage itself loses.

    The storage's is that of the exact variance of the stored row, beside that of the row as it was given: no way
    of computing brings it back.
    """

    errors: Mapping[str, tuple[float, ...]]

    def safe(self, way: str, most: float) -> float | None:
        """The largest ratio up to which every error is at most this many ulp; None where the first is more."""
        reached = None
        for ratio, error in zip(RATIOS, self.errors[way], strict=True):
            if not error <= most:
                break
            reached = ratio
        return reached


def ways_of(state: State) -> Ways:
    """The variance of the state's row, under its policy."""
    return _ways(row_of(state), state.policy)


@lru_cache(maxsize=256)
def _ways(x: Row, policy: str) -> Ways:
    found: dict[str, Any] = variances(x, policy)
    exact = found.pop("exact")
    storage = find(policy).storage
    given = variance(x)
    lost = exact == 0 != given  # nothing is left to be right about
    errors = {way: nan if lost else error(value, exact, storage) for way, value in found.items()}
    return Ways(given, exact, found, errors | {STORAGE: error(exact, given, storage)})


def variance(x: Row) -> Fraction:
    """The exact population variance of some numbers."""
    return pvariance([Fraction(value) for value in x])


def error(value: Fraction | float, exact: Fraction | float, storage: str) -> float:
    """How far a variance is from the exact one, in ulps of a format there.

    >>> error(1.0, Fraction(5, 4), "bfloat16"), error(0.0, Fraction(0), "float16")
    (32.0, 0.0)
    """
    if exact != exact:
        return nan
    if not isfinite(value):
        return inf
    if not exact:
        return 0.0 if not value else inf  # beside nothing, anything is too much
    right = Fraction(exact)
    try:
        return float(abs(Fraction(value) - right) / FORMATS[storage].ulp(right))
    except OverflowError:  # more than a float64 counts
        return inf


def curves_of(state: State) -> Curves:
    """The errors along the plot, of rows of the state's shape with spread 1."""
    return _curves(state.shape, state.seed, state.d, state.policy)


@lru_cache(maxsize=64)
def _curves(kind: str, seed: int, d: int, policy: str) -> Curves:
    """Kept: mean, spread and eps of the row do not change it."""
    unit = shape(kind, seed, d)
    along = [_ways(placed(unit, ratio, 1.0), policy) for ratio in RATIOS]
    return Curves({way: tuple(each.errors[way] for each in along) for way in (*WAYS, STORAGE)})


def ratio_of(state: State) -> float:
    """|mean| / spread."""
    return abs(state.mean) / state.spread if state.spread else inf if state.mean else nan


def is_near(value: float | Fraction, exact: Fraction) -> bool:
    """Whether a finite variance is within 1% of the exact one."""
    return 100 * abs(Fraction(value) - Fraction(exact)) <= Fraction(exact)


def outcome(state: State) -> str:
    """What the one-pass way gives for the row: `near`, `off`, `zero`, `negative`, or `beyond`: no finite number."""
    ways = ways_of(state)
    value = ways.found["one-pass"]
    if not isfinite(value) or ways.exact != ways.exact:
        return "beyond"
    if is_near(value, Fraction(ways.exact)):
        return "near"
    return "zero" if value == 0 else "negative" if value < 0 else "off"
