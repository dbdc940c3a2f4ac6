"""The table under every norm at once, and what a person may choose of it: fields, actions, checks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

from ...averages import MOST_BATCHES, History, Running, history
from ...axes import Pattern, parse
from ...comparison import NAMES, Compared, Comparison, compare
from ...conventions import CONVENTIONS
from ...errors import NormscopeError, StateError
from ...norm import Norm
from ...page.numbers import plain
from .layouts import Arranged, arranged
from .rounding import settled
from .state import CODECS, MOST, Numbers, State

TYPED = "pattern"  # the norm of a pattern that a person typed
LONGEST = 60
LONGEST_COUNT = 9  # digits


class Reach(NamedTuple):
    """The whole numbers that a field takes."""

    least: int
    most: int

    def __str__(self) -> str:
        return f"a whole number from {self.least} to {self.most:,}"


MOST_GROUPS, MOST_SEEN = Reach(1, MOST), Reach(0, MOST_BATCHES)


@dataclass(frozen=True)
class Scene:
    """A state's table in its layout, under every norm.

    norms   by the names of `NAMES`, and the typed pattern where it fits
    refuse  why the typed pattern does not fit
    kept    by convention the running statistics of BatchNorm after the same update, told by its own momentum
    """

    state: State
    arranged: Arranged
    norms: Comparison
    refuse: str
    kept: Mapping[str, Running]

    @property
    def chosen(self) -> Compared | None:
        """The norm that is looked at; None for a pattern that does not fit."""
        if self.state.norm != TYPED:
            return self.norms[self.state.norm]
        return None if self.refuse else self.norms.norms[-1]

    @property
    def index(self) -> tuple[int, ...]:
        """The selected number's index in x as it is arranged."""
        return self.arranged.index(*self.state.sel)

    def at_selection(self, each: Compared) -> float:
        """xhat of the selected number under a norm."""
        return settled(each).z[self.arranged.flat(*self.state.sel)]


def scene(state: State) -> Scene:
    """The scene of a state that has been checked."""
    seen = arranged(state.x, state.tokens, state.layout)
    rule = Rule(state.momentum, state.convention, state.batches)
    norms, refuse = _compared(state.x, state.layout, state.eps, state.groups, rule, state.pattern)
    own = norms["batch_norm"].running
    kept = _other(state.x, state.layout, rule, norms["batch_norm"].norm) | ({state.convention: own} if own else {})
    return Scene(state, seen, norms, refuse, {name: kept[name] for name in CONVENTIONS})


class Rule(NamedTuple):
    """How the running statistics come to be."""

    momentum: str
    convention: str
    batches: int


@lru_cache(maxsize=16)
def _compared(
    x: tuple[Numbers, ...], layout: str, eps: str, groups: int, rule: Rule, pattern: str
) -> tuple[Comparison, str]:
    """Every norm, and why the typed pattern is none of them; kept, since a selection changes neither."""
    seen = arranged(x, ("",) * len(x), layout)

    def under(norms: list[str]) -> Comparison:
        count = divided(groups, len(x[0]))
        return compare(seen.x, norms, layout=seen.kind, eps=eps, num_groups=count, **rule._asdict())

    try:
        if pattern:
            _fits(pattern)
        return under([*NAMES, pattern] if pattern else list(NAMES)), ""
    except NormscopeError as error:
        return under(list(NAMES)), str(error)


def _fits(pattern: str) -> None:
    """Nothing, if this page can give a pattern what it needs; StateError says what to write."""
    read = parse(pattern)
    if not read.over:
        raise StateError(f"'{pattern}' reduces no axis; put brackets round one, as in 'B S [d]'.")
    if any(len(set(dim) - {"g"}) > 1 for dim in read.dims):
        raise StateError(f"'{pattern}': name the split axis g, as in '(g [c])'; groups g gives its size.")


@lru_cache(maxsize=16)
def _other(x: tuple[Numbers, ...], layout: str, rule: Rule, norm: Norm) -> dict[str, Running]:
    """What the other conventions keep, the momentum told from their side."""
    seen = arranged(x, ("",) * len(x), layout)
    share = CONVENTIONS[rule.convention].share(rule.momentum)
    kept = {}
    for name in CONVENTIONS.keys() - {rule.convention}:
        momentum = float(CONVENTIONS[name].momentum_for(share))
        kept[name] = History(None, None, rule.batches, momentum, name).running(seen.x, seen.shape, norm)
    return kept


def divided(groups: int, channels: int) -> int:
    """The count of groups where the channels divide into them; 1 where they do not."""
    return groups if channels % groups == 0 else 1


def check(state: State) -> State:
    """The state, if the fields of the axes panel can be had; a NormscopeError names the one that cannot."""
    history(state.convention, state.momentum, None, None, state.batches)
    if state.norm not in NAMES and not (state.norm == TYPED and state.pattern):
        raise StateError(f"norm is '{state.norm[:40]}'; it is one of {', '.join(NAMES)}, or pattern beside a pattern=.")
    if not 1 <= state.groups <= MOST:
        raise StateError(f"groups is {state.groups}; it must be {MOST_GROUPS}.")
    if len(state.pattern) > LONGEST:
        raise StateError(f"a pattern has at most {LONGEST} characters.")
    return state


def _layout(state: State, value: str) -> State:
    """Another layout has other axes: a pattern that was typed for the old ones is let go."""
    state = replace(state, layout=CODECS["layout"][0](value))
    return replace(state, pattern="", norm="layer_norm" if state.norm == TYPED else state.norm)


def _norm(state: State, value: str) -> State:
    """Choose a norm; a pattern where none was typed begins as the one that reduces every axis."""
    if value != TYPED or state.pattern:
        return replace(state, norm=value)
    axes = arranged(state.x, state.tokens, state.layout).axes
    return replace(state, norm=TYPED, pattern=str(Pattern(tuple((axis,) for axis in axes), axes)))


def _pattern(state: State, value: str) -> State:
    """Type a pattern, and look at it; nothing lets it go."""
    text = value.strip()
    if not text:
        return replace(state, pattern="", norm="layer_norm" if state.norm == TYPED else state.norm)
    made = check(replace(state, pattern=text, norm=TYPED))
    if refuse := scene(made).refuse:
        raise StateError(refuse)
    return made


def _groups(state: State, value: str) -> State:
    made = _count("groups", MOST_GROUPS)(state, value)
    features = state.size[1]
    if features % made.groups:
        raise StateError(f"{features} features do not divide into {made.groups} groups.")
    return made


def _convention(state: State, value: str) -> State:
    """The same update in the other convention: the momentum is told from the other side."""
    share = CONVENTIONS[state.convention].share(state.momentum)
    chosen = CODECS["convention"][0](value)
    return replace(state, convention=chosen, momentum=plain(float(CONVENTIONS[chosen].momentum_for(share))))


def _momentum(state: State, value: str) -> State:
    return check(replace(state, momentum=value.strip()))


def _count(field: str, reach: Reach) -> Callable[[State, str], State]:
    """Set a field to a whole number within reach."""

    def assign(state: State, value: str) -> State:
        text = value.strip()
        if not text.isdecimal() or len(text) > LONGEST_COUNT or not reach.least <= int(text) <= reach.most:
            raise StateError(f"{field} is {text[:20] or 'empty'}; it must be {reach}.")
        count: dict[str, Any] = {field: int(text)}
        return check(replace(state, **count))

    return assign


ACTIONS: Mapping[str, Callable[[State, str], State]] = {
    "layout": _layout,
    "norm": lambda state, value: check(_norm(state, value)),
    "pattern": _pattern,
    "groups": _groups,
    "convention": _convention,
    "momentum": _momentum,
    "batches": _count("batches", MOST_SEEN),
}
