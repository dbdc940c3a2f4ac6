"""The numbers of a state, traced: now, and before the last edit."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from ...norm import layer_norm
from ...program import Program
from ...run import Rules, run
from ...steps import forward
from ...views.cells import Cells, inputs, rules
from .actions import before
from .rounding import beside, settling
from .state import LANES, Numbers, State, eps_of

TABLE: Program = forward(layer_norm().fit(2))
ROW: Program = forward(layer_norm().fit(1))  # the formulas of this page speak of one row
SHOWN = 0.5e-6  # a change that six decimals show

Row = tuple[float, ...]


@dataclass(frozen=True)
class Numbered:
    """A table with its parameters, run: every value of the program by its name."""

    values: Mapping[str, Cells]

    def row(self, name: str, token: int) -> Row:
        """The cells of a value in one token's row: one a feature, of a statistic one."""
        tokens, cells = self.values[name].shape
        at = min(token, tokens - 1) * cells
        return tuple(self.values[name].flat[at : at + cells])

    def one(self, name: str, token: int) -> float:
        """A statistic of one token."""
        return self.row(name, token)[0]


@dataclass(frozen=True)
class View:
    """A state with its numbers, and those before the last edit (the same ones where there was none)."""

    state: State
    now: Numbered
    before: Numbered

    @property
    def token(self) -> int:
        """The selected token, from 0."""
        return self.state.sel[0]

    @property
    def feature(self) -> int:
        """The selected feature, from 0."""
        return self.state.sel[1]

    @property
    def name(self) -> str:
        """The selected token's name."""
        return self.state.tokens[self.token]

    @property
    def features(self) -> range:
        """The features that the lanes show."""
        return range(self.state.first, min(self.state.first + LANES, self.state.size[1]))

    def cell(self, name: str) -> float:
        """The number of a value at the selection."""
        row = self.now.row(name, self.token)
        return row[self.feature if len(row) > 1 else 0]

    @cached_property
    def mean(self) -> float:
        """The selected row's mean."""
        return beside(self.now.one("mu", self.token), self.now.row("x", self.token))

    @cached_property
    def spread(self) -> dict[str, tuple[float, float]]:
        """The mean and the variance of the selected row of z and of y, from the same program."""
        names = ("xhat", "y")
        rows = tuple(self.now.row(name, self.token) for name in names)
        ones, zeros = (1.0,) * len(rows[0]), (0.0,) * len(rows[0])
        made = _traced(rows, ones, zeros, self.state.eps)
        return {name: (beside(made.one("mu", at), rows[at]), made.one("var", at)) for at, name in enumerate(names)}

    def moved(self, name: str) -> list[list[bool]]:
        """For every token and feature, whether the last edit changed a value by what six decimals show."""
        tokens = range(self.state.size[0])
        return [
            [differs(a, b) for a, b in zip(self.before.row(name, t), self.now.row(name, t), strict=True)]
            for t in tokens
        ]


def differs(a: float, b: float) -> bool:
    """Whether two numbers differ by what six decimals show; two nan do not."""
    return not abs(a - b) < SHOWN and (a == a or b == b) and a != b


@lru_cache(maxsize=64)
def _traced(x: tuple[Numbers, ...], gamma: Numbers, beta: Numbers, eps: str) -> Numbered:
    """Kept, since a selection changes no number, and those before an edit stay the same while it goes on."""
    given = {"x": x, "gamma": gamma, "beta": beta, "eps": eps_of(eps)}
    sizes = dict(zip(TABLE.axes, (len(x), len(x[0])), strict=True))
    return Numbered(run(TABLE, _rules(*sizes.values()), inputs(TABLE, sizes, given)))


@lru_cache(maxsize=16)
def _rules(*sizes: int) -> Rules:
    return settling(rules(TABLE, dict(zip(TABLE.axes, sizes, strict=True))))


def view_of(state: State) -> View:
    """The numbers of a state that has been checked."""
    earlier = before(state) if state.last else state
    return View(state, *(_traced(each.x, each.gamma, each.beta, each.eps) for each in (state, earlier)))
