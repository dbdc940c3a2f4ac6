"""The search for a definition that gives what a function gives: single mistakes, pairs of them, and solved numbers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from math import isfinite
from typing import Any

from ..axes import Axes
from . import changes
from .affine import SCALES, SHIFTS, Form
from .block_table import BLOCKS
from .bounds import UNIT, share
from .changes import Change, affine_changes, merged, weight
from .definition import Definition, Values, divided, evaluate, full_shape, sizes_of
from .division import ONE_CELL
from .effective import Divisor, solve_divisor, solve_factor
from .probes import Probe

Asked = tuple[Probe, Any]  # a probe and the y that came back
MOST = 4  # explanations that are kept
NEAR = 2e-3  # of the largest answer: what a definition may be off on the screening probe
ROUNDINGS = 8  # on the way to a cell


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
    forms      how gamma and beta enter, the likeliest first; not is_affine: none was found
    """

    base: Definition
    asked: Sequence[Asked]
    computed: str
    stored: str
    reacting: Axes | None = None
    forms: Sequence[tuple[str, str]] = ()
    keep_center: bool | None = None
    is_affine: bool = True
    _candidates: dict[Definition, list[Change]] = field(default_factory=dict)

    def explanations(self) -> list[Explanation]:
        """Those with the fewest mistakes; none where nothing fits."""
        forms = self.forms or [(self.base.scale, self.base.shift)]
        likeliest = forms[0]
        if not self.is_affine:
            return self._fitting(self._applied_before(self.base), self.base, [])
        for form in forms:
            start = replace(self.base, scale=form[0], shift=form[1])
            known = affine_changes(*form, self.base)
            rounds = (self._none, self._singles, self._solved, self._pairs, self._solved_pairs, self._block_pairs)
            for round_of in rounds if form == likeliest else rounds[:3]:
                found = self._fitting(round_of(start), start, known)
                if found:
                    return found
        return []

    def _fitting(
        self, tried: Iterator[tuple[Change, ...]], start: Definition, known: list[Change]
    ) -> list[Explanation]:
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
        return Screen(*self.asked[0], room=nearness(self.computed))

    def _none(self, start: Definition) -> Iterator[tuple[Change, ...]]:
        yield ()

    def _applied_before(self, start: Definition) -> Iterator[tuple[Change, ...]]:
        """Where y is not affine in gamma and beta, they may enter before the norm."""
        every = self.candidates(start)
        before = next(change for change in every if "before" in change.fields)
        yield (before,)
        yield from ((before, change) for change in every if change is not before)

    def _singles(self, start: Definition) -> Iterator[tuple[Change, ...]]:
        return ((change,) for change in self.candidates(start))

    def candidates(self, start: Definition) -> list[Change]:
        """Every single mistake that the instruments leave possible."""
        if start not in self._candidates:
            self._candidates[start] = self._made(start)
        return self._candidates[start]

    def _made(self, start: Definition) -> list[Change]:
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
        return (change.fields["center"] in ("both", "apart")) == self.keep_center

    def _pairs(self, start: Definition) -> Iterator[tuple[Change, ...]]:
        return combinations([change for change in self.candidates(start) if "block" not in change.fields], 2)

    def _block_pairs(self, start: Definition) -> Iterator[tuple[Change, ...]]:
        plausible = self.candidates(start)
        others = [change for change in plausible if not change.key & {*changes.STATISTICS, "twice", "before"}]
        blocks = [block for block in plausible if "block" in block.fields and self._matters(start, block)]
        return ((block, other) for block in blocks for other in others)

    def _matters(self, start: Definition, change: Change) -> bool:
        """Whether a block mistake changes anything on the screening probe, and can be there."""
        import numpy as np

        if "block" not in change.fields:
            return True
        was, made = self.screen.known_of(start), self.screen.known_of(replace(start, **change.fields))
        if was is None or made is None:
            return False
        full = was.values.full
        pairs = ((was.values.c, made.values.c), (was.values.v, made.values.v))
        return not all(np.array_equal(np.broadcast_to(a, full), np.broadcast_to(b, full)) for a, b in pairs)

    def _solved(self, start: Definition) -> Iterator[tuple[Change, ...]]:
        yield from self._solutions(start, ())
        yield from self._outside(start, ())

    def _outside(self, start: Definition, known: tuple[Change, ...]) -> Iterator[tuple[Change, ...]]:
        """A constant after the root, of a function that takes no eps and has one of its own."""
        if len({probe.eps for probe, _ in self.asked}) == 1 and start.division != changes.EPS_OUTSIDE:
            every = self.candidates(start)
            after = next((change for change in every if change.fields == {"division": changes.EPS_OUTSIDE}), None)
            definition = after and _changed(start, (after,))
            if after and definition:
                yield from self._solutions(definition, (*known, after))

    def _solved_pairs(self, start: Definition) -> Iterator[tuple[Change, ...]]:
        for change in self.candidates(start):
            definition = _changed(start, (change,))
            if definition is not None and not definition.twice and self._matters(start, change):
                yield from self._solutions(definition, (change,))
                yield from self._outside(definition, (change,))

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
                definition = _changed(start, found)
                if definition is not None and self.fits(definition):
                    return  # what is solved beside the round numbers are their last digits


def _changed(start: Definition, several: Sequence[Change]) -> Definition | None:
    """The definition with these mistakes; None where two set one field, or nothing changes."""
    fields = merged(several)
    if fields is None:
        return None
    if fields.keys() & {"block"} and fields.keys() & (changes.STATISTICS - {"block", "center"}):
        return None
    made = replace(start, **fields)
    return None if several and made == start else made


SHARED = (
    "over",
    "mean_over",
    "center",
    "spread",
    "count",
    "mean_count",
    "block",
    "v_times",
    "running",
    "swapped",
    "scale",
    "shift",
)


@dataclass(frozen=True)
class Known:
    """What definitions share that differ in their division alone."""

    values: Values
    x: Any
    sizes: dict[str, int]
    cell: tuple[float, ...]  # x, c, v, scale and shift of the screen's loudest cell


@dataclass
class Screen:
    """One answer that a definition must roughly give, before it is asked for every other in full.

    What definitions share, their statistics and parameters, is computed once.
    """

    probe: Probe
    y: Any
    room: float = NEAR
    known: "dict[Any, Known | None]" = field(default_factory=dict)

    def may_give(self, definition: Definition) -> bool:
        """Whether the answer is the definition's to about a thousandth."""
        import numpy as np

        if definition.twice or definition.before or definition.groups != "own":
            values = attempt(definition, self.probe)
            return values is not None and near(values.y, self.y, self.room)
        known = self.known_of(definition)
        if known is None or not self._near_in_a_cell(definition, known):
            return False
        with np.errstate(all="ignore"):
            y = self.xhat(definition, known) * known.values.scale + known.values.shift
            if definition.block:
                y = BLOCKS[definition.block].written(y, known.x, definition.norm)
        return near(np.broadcast_to(y, known.x.shape).reshape(self.y.shape), self.y, self.room)

    def xhat(self, definition: Definition, known: Known) -> Any:
        """The normalized values."""
        import numpy as np

        with np.errstate(all="ignore"):
            return divided(definition, self.probe, known.x, known.values.c, known.values.v, known.sizes)

    def known_of(self, definition: Definition) -> "Known | None":
        """The statistics and parameters of a definition, as every other with the same ones has them."""
        import numpy as np

        key = tuple(getattr(definition, name) for name in SHARED)
        if key not in self.known:
            plain = replace(definition, division="none", eps_times=1.0, eps_plus=0.0, factor=1.0)
            values = attempt(plain, self.probe)
            self.known[key] = None
            if values is not None:
                x = np.reshape(np.asarray(self.probe.x, np.float64), values.full)
                block = definition.block and BLOCKS[definition.block]
                kept = block.written(np.ones(values.full), x, definition.norm) if block else 1.0
                read = (x, values.c, values.v, values.scale * kept, values.shift * kept)
                cell = tuple(float(np.broadcast_to(each, values.full).flat[self.loudest]) for each in read)
                self.known[key] = Known(values, x, dict(zip(definition.norm.axes, values.full, strict=True)), cell)
        return self.known[key]

    @cached_property
    def loudest(self) -> int:
        """The place of the largest finite answer."""
        import numpy as np

        return int(np.argmax(np.where(np.isfinite(self.y), np.abs(self.y), -1.0)))

    def _near_in_a_cell(self, definition: Definition, known: Known) -> bool:
        """Whether the loudest cell is the definition's, where it does not take the others to tell."""
        import numpy as np

        there = float(np.asarray(self.y).flat[self.loudest])
        if not isfinite(there):
            return True
        x, c, v, scale, shift = known.cell
        try:
            y = divided(definition, self.probe, x, c, v, known.sizes, ONE_CELL) * scale + shift
        except KeyError:  # a reduction
            return True
        return bool(abs(y - there) <= self.room * abs(there))


def nearness(computed: str) -> float:
    """How much of the largest answer a screen allows: in a narrow format some roundings take more than NEAR."""
    return max(NEAR, ROUNDINGS * UNIT[computed])


def near(y: Any, there: Any, room: float = NEAR) -> bool:
    """Whether y is about what is there: finite in the same cells, and off by little of the largest."""
    import numpy as np

    with np.errstate(all="ignore"):
        finite = np.isfinite(y)
        if np.any(finite != np.isfinite(there)):
            return False
        apart = np.where(finite, np.abs(y - there), 0.0)
        return bool(np.all(apart <= room * np.max(np.abs(there), where=finite, initial=1e-30)))


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
    lined = [_Lines(base, asked) for asked in sets]
    scales, shifts = _usable(SCALES, base), _usable(SHIFTS, base)
    forms = [
        (scale, shift)
        for scale in scales
        for shift in shifts
        if all(each.fit(scale, shift, computed) for each in lined)
    ]
    return sorted(forms, key=lambda form: weight(form[0], form[1], base))


def _usable(table: Any, base: Definition) -> list[str]:
    """Forms of the parameters that the function takes."""
    has = {"gamma": base.takes_gamma, "beta": base.shift == "beta"}
    return [key for key in table if all(has[name] for name in has if name in key)]


class _Lines:
    """The answers to one x under several gammas and betas, and every factor and summand there."""

    def __init__(self, base: Definition, asked: Sequence[Asked]) -> None:
        import numpy as np

        sizes, full = sizes_of(base.norm, asked[0][0]), full_shape(base.norm, asked[0][0])
        self.y = np.stack([np.reshape(np.asarray(y, np.float64), full) for _, y in asked])
        # Where a block writes nothing, no answer moves: those cells say nothing.
        moves = np.any(self.y != self.y[0], axis=0)
        self.moves = bool(moves.any())
        self.live = moves if self.moves else np.ones_like(moves)
        self.scales = {key: self._lines(SCALES[key], base, asked, sizes, full) for key in _usable(SCALES, base)}
        self.shifts = {key: self._lines(SHIFTS[key], base, asked, sizes, full) for key in _usable(SHIFTS, base)}

    @staticmethod
    def _lines(
        form: Form, base: Definition, asked: Sequence[Asked], sizes: dict[str, int], full: tuple[int, ...]
    ) -> Any:
        import numpy as np

        try:
            with np.errstate(all="ignore"):
                return np.stack([np.broadcast_to(form.value(base.norm, probe, sizes), full) for probe, _ in asked])
        except (ValueError, KeyError):
            return None

    def fit(self, scale: str, shift: str, computed: str) -> bool:
        """Whether one xhat gives every answer."""
        import numpy as np

        factor, more = self.scales[scale], self.shifts[shift]
        if factor is None or more is None or (not self.moves and (scale, shift) != ("1", "0")):
            return False
        with np.errstate(all="ignore"):
            xhat = (self.y[0] - more[0]) / factor[0]
            made = xhat * factor
            lost = (np.abs(self.y[0]) + np.abs(more[0])) * np.abs(factor / factor[0])  # where the shift hides xhat
            room = 2.0**10 * UNIT[computed] * (np.abs(made) + np.abs(more) + np.abs(self.y) + np.nan_to_num(lost))
            apart = np.abs(self.y - made - more) > room
            other = np.isfinite(self.y) != np.isfinite(made + more)
        return not np.any((apart | other) & self.live)
