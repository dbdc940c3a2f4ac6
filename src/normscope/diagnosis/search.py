"""The search for a definition that gives what a function gives: single mistakes, pairs of them, and solved numbers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any

from ..axes import Axes
from . import changes
from .affine import SCALES, SHIFTS
from .bounds import UNIT, share
from .changes import Change, affine_changes, weight
from .blocks import BLOCKS
from .definition import Definition, Values, divided, evaluate, sizes_of
from .effective import Divisor, solve_divisor, solve_factor
from .probes import Probe

Asked = tuple[Probe, Any]  # a probe and the y that came back
MOST = 4  # explanations that are kept


@dataclass(frozen=True)
class Explanation:
    """A definition that gives what the function gives, and the mistakes that it is made of."""

    definition: Definition
    changes: tuple[Change, ...]


@dataclass
class Search:
    """Explanations of answers.

    asked      what every explanation must give, the screening probe first
    computed   the format that the function computes in; stored: that of its answers
    reacting   the axes along which a cell reacts, where they are known
    forms      how gamma and beta enter, the likeliest first
    """

    base: Definition
    asked: Sequence[Asked]
    computed: str
    stored: str
    reacting: Axes | None = None
    forms: Sequence[tuple[str, str]] = ()
    keep_center: bool | None = None

    def explanations(self) -> list[Explanation]:
        """Those with the fewest mistakes; none where nothing fits."""
        forms = self.forms or [(self.base.scale, self.base.shift)]
        likeliest = forms[0]
        for form in forms:
            start = replace(self.base, scale=form[0], shift=form[1])
            known = affine_changes(*form, self.base)
            rounds = (self._none, self._singles, self._solved, self._pairs, self._solved_pairs, self._block_pairs)
            for round_of in rounds if form == likeliest else rounds[:3]:
                found = self._fitting(round_of(start), start, known)
                if found:
                    return found
        return []

    def _fitting(self, tried: Iterator[tuple[Change, ...]], start: Definition, known: list[Change]) -> list[Explanation]:
        found: list[Explanation] = []
        for several in tried:
            definition = _changed(start, several)
            if definition is not None and self.fits(definition):
                found.append(Explanation(definition, (*several, *known)))
                if len(found) == MOST:
                    break
        return found

    def fits(self, definition: Definition) -> bool:
        """Whether the definition gives every answer within the bound."""
        if not self.screen.may_give(definition):
            return False
        for probe, y in self.asked:
            values = attempt(definition, probe)
            if values is None or share(values, y, self.computed, self.stored) > 1:
                return False
        return True

    @cached_property
    def screen(self) -> "Screen":
        """The first probe, asked first of every definition."""
        return Screen(*self.asked[0])

    def _none(self, start: Definition) -> Iterator[tuple[Change, ...]]:
        yield ()

    def _singles(self, start: Definition) -> Iterator[tuple[Change, ...]]:
        return ((change,) for change in self.candidates(start))

    def candidates(self, start: Definition) -> list[Change]:
        """Every single mistake that the instruments leave possible."""
        made = [
            *changes.statistics_changes(start),
            *changes.division_changes(start),
            *(changes.axes_changes(start, self.reacting) if not start.running else ()),
            *changes.block_changes(start),
        ]
        return [change for change in made if self._possible(change)]

    def _possible(self, change: Change) -> bool:
        """The shift test rules out whole families."""
        if self.keep_center is None or "center" not in change.fields:
            return True
        return (change.fields["center"] in ("both",)) == self.keep_center

    def _pairs(self, start: Definition) -> Iterator[tuple[Change, ...]]:
        return combinations([change for change in self.candidates(start) if "block" not in change.fields], 2)

    def _block_pairs(self, start: Definition) -> Iterator[tuple[Change, ...]]:
        plausible = self.candidates(start)
        others = [change for change in plausible if not change.key & {*changes.STATISTICS, "twice", "before"}]
        return ((block, other) for block in plausible if "block" in block.fields for other in others)

    def _solved(self, start: Definition) -> Iterator[tuple[Change, ...]]:
        return self._solutions(start, ())

    def _solved_pairs(self, start: Definition) -> Iterator[tuple[Change, ...]]:
        for change in self.candidates(start):
            definition = _changed(start, (change,))
            if definition is not None and not definition.twice:
                yield from self._solutions(definition, (change,))

    def _solutions(self, start: Definition, known: tuple[Change, ...]) -> Iterator[tuple[Change, ...]]:
        """A foreign eps and a foreign factor, as the function's own numbers give them."""
        unit = UNIT[self.computed]
        solved = solve_divisor(start, self.asked, unit)
        if solved is None and start.factor == 1.0:
            factor = solve_factor(start, self.asked, unit)
            solved = Divisor(factor, 1.0, 0.0) if factor else None
        if solved is None:
            return
        for divisor in dict.fromkeys((solved.rounded(), solved)):
            found = changes.solved(divisor.factor, divisor.times, divisor.plus)
            if found and (start.factor == 1.0 or len(found) == 1):
                yield (*known, *found)


def _changed(start: Definition, several: Sequence[Change]) -> Definition | None:
    """The definition with these mistakes; None where two set one field, or nothing changes."""
    fields: dict[str, Any] = {}
    for change in several:
        if fields.keys() & change.fields.keys():
            return None
        fields |= change.fields
    if fields.keys() & {"block"} and fields.keys() & (changes.STATISTICS - {"block", "center"}):
        return None
    made = replace(start, **fields)
    return None if several and made == start else made


@dataclass
class Screen:
    """One answer that a definition must roughly give, before it is asked for every other in full.

    What definitions share, their statistics and parameters, is computed once.
    """

    probe: Probe
    y: Any
    known: dict[Any, Any] = field(default_factory=dict)

    def may_give(self, definition: Definition) -> bool:
        """Whether the answer is the definition's to about a thousandth."""
        import numpy as np

        if definition.twice or definition.before or definition.groups != "own":
            values = attempt(definition, self.probe)
            return values is not None and self._near(values.y)
        known = self._known(replace(definition, division="sqrt(v + eps)", eps_times=1.0, eps_plus=0.0, factor=1.0))
        if known is None:
            return False
        with np.errstate(all="ignore"):
            x = np.reshape(np.asarray(self.probe.x, np.float64), known.full)
            sizes = dict(zip(definition.norm.axes, known.full, strict=True))
            xhat = divided(definition, self.probe, x, known.c, known.v, sizes)
            y = xhat * known.scale + known.shift
            if definition.block:
                y = BLOCKS[definition.block].written(y, x, definition.norm)
        return self._near(np.broadcast_to(y, known.full).reshape(self.y.shape))

    def _known(self, plain: Definition) -> Values | None:
        if plain not in self.known:
            self.known[plain] = attempt(plain, self.probe)
        found: Values | None = self.known[plain]
        return found

    def _near(self, y: Any) -> bool:
        import numpy as np

        with np.errstate(all="ignore"):
            finite = np.isfinite(y)
            if np.any(finite != np.isfinite(self.y)):
                return False
            apart = np.where(finite, np.abs(y - self.y), 0.0)
            return bool(np.all(apart <= 2e-3 * np.max(np.abs(self.y), where=finite, initial=1e-30)))


def attempt(definition: Definition, probe: Probe) -> Values | None:
    """What the definition makes of a probe; None where its shape does not allow it."""
    try:
        return evaluate(definition, probe)
    except (ValueError, KeyError):
        return None


def affine_forms(base: Definition, sets: Sequence[Sequence[Asked]], computed: str) -> list[tuple[str, str]]:
    """The factors and summands that fit what one x gives under several gammas and betas, the plainest first.

    y is affine in (gamma, beta), whatever xhat is: from one setting xhat follows, and gives the others.
    """
    every = [(scale, shift) for scale in _usable(SCALES, base) for shift in _usable(SHIFTS, base)]
    fitting = [form for form in every if all(_is_affine(base, form, asked, computed) for asked in sets)]
    return sorted(fitting, key=lambda form: weight(*form, base))


def _usable(table: Any, base: Definition) -> list[str]:
    """Forms of the parameters that the function takes."""
    has = {"gamma": base.scale == "gamma", "beta": base.shift == "beta"}
    return [key for key in table if all(has[name] for name in has if name in key)]


def _is_affine(base: Definition, form: tuple[str, str], asked: Sequence[Asked], computed: str) -> bool:
    import numpy as np

    with np.errstate(all="ignore"):
        lines = []
        for probe, y in asked:
            sizes = sizes_of(base.norm, probe)
            full = tuple(sizes[axis] for axis in base.norm.axes)
            try:
                scale, shift = (table[key].value(base.norm, probe, sizes) for table, key in zip((SCALES, SHIFTS), form, strict=True))
            except (ValueError, KeyError):
                return False
            lines.append((*np.broadcast_arrays(scale, shift, np.zeros(full))[:2], np.reshape(np.asarray(y, np.float64), full)))
        # Where a block writes nothing, no answer moves: those cells say nothing.
        moves = np.any([line[2] != lines[0][2] for line in lines], axis=0)
        if not moves.any() and form != ("1", "0"):
            return False
        live = moves if moves.any() else np.ones_like(moves)
        scale, shift, y = lines[0]
        xhat = (y - shift) / scale if form[0] != "0" else y * 0
        tolerance = 2.0**10 * UNIT[computed]
        for scale, shift, y in lines:
            expected = xhat * scale + shift
            room = tolerance * (np.abs(xhat * scale) + np.abs(shift) + np.abs(y) + 1e-30)
            with np.errstate(all="ignore"):
                apart = np.abs(y - expected) > room
            if np.any((apart | (np.isfinite(y) != np.isfinite(expected))) & live):
                return False
    return True
