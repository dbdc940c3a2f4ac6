"""What a prediction is about: a place in the table, a table before and after an edit, and what comes of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import sqrt
from typing import NamedTuple

from ...comparison import compare
from ...page.numbers import fixed
from ...page.text import printable
from .rounding import beside, settled
from .state import State
from .view import Numbered, view_of


class Place(NamedTuple):
    """A token and a feature, from 0."""

    token: int
    feature: int


class Outcome(NamedTuple):
    """What the numbers say.

    truth  the right answer: an option, or a number that reads back as it is
    facts  what happened, in figures
    would  other answers, each with a sentence on what gives it
    """

    truth: str
    facts: str
    would: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Change:
    """A table before and after an edit, seen from a place."""

    was: State
    now: State
    place: Place

    @cached_property
    def numbers(self) -> tuple[Numbered, Numbered]:
        """Every value before and after."""
        was, now = (numbered(state) for state in (self.was, self.now))
        return was, now

    @property
    def name(self) -> str:
        """The token's name, as a page shows it."""
        return printable(self.now.tokens[self.place.token])

    def cells(self, name: str) -> tuple[float, float]:
        """A value of the program at the place."""
        was, now = (made.row(name, self.place.token)[self.place.feature] for made in self.numbers)
        return was, now

    def means(self) -> tuple[float, float]:
        """The row's mean."""
        was, now = (beside(made.one("mu", self.place.token), made.row("x", self.place.token)) for made in self.numbers)
        return was, now

    def variances(self) -> tuple[float, float]:
        """The row's variance."""
        was, now = (made.one("var", self.place.token) for made in self.numbers)
        return was, now

    @property
    def centered(self) -> float:
        """x − mean at the place, before."""
        return self.cells("x")[0] - self.means()[0]

    def roots(self) -> tuple[float, float]:
        """sqrt(variance + eps) of the row."""
        was, now = (sqrt(made.one("v", self.place.token)) for made in self.numbers)
        return was, now


@dataclass(frozen=True)
class Task:
    """Something to predict, and to look at then.

    ask      the question about a place, in the numbers of the state
    deed     what the button does, in words
    outcome  what came of it
    edit     the cells that it sets; none where it only shows
    options  the answers to choose from; none where a number is asked for
    refuse   why the table cannot show it at this place; nothing where it can
    """

    title: str
    ask: Callable[[State, Place], str]
    deed: Callable[[State, Place], str]
    outcome: Callable[[Change], Outcome]
    edit: Callable[[State, Place], dict[str, float]] = lambda state, place: {}
    options: Mapping[str, str] = field(default_factory=dict)
    refuse: Callable[[State, Place], str] = lambda state, place: ""


def numbered(state: State) -> Numbered:
    """The numbers of a state."""
    return view_of(replace(state, last=())).now


def over(pattern: str, state: State) -> dict[str, dict[Place, float]]:
    """Mean, variance and z that every cell of a table gets under a norm over the axes S and d."""
    made = compare([list(row) for row in state.x], [pattern], eps=state.eps)[0]
    places = [Place(token, feature) for token in range(state.size[0]) for feature in range(state.size[1])]
    z, variances = settled(made)
    mean, variance = ([row[group] for group in made.group_of] for row in (made.mean, variances))
    values = {"mu": mean, "var": variance, "xhat": z}
    return {name: dict(zip(places, cells, strict=True)) for name, cells in values.items()}


def went(what: str, pair: tuple[float, float], digits: int = 6) -> str:
    """`z goes from 0.500000 to 0.750000`, or `z stays 0.500000`."""
    was, now = (fixed(value, digits) for value in pair)
    return f"{what} stays {was}" if was == now else f"{what} goes from {was} to {now}"
