"""The judgement of a backward pass: for random cotangents, never for y.sum(), which hides almost every mistake."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import chain, combinations, islice
from typing import Any

from ..gradients import GRADIENTS
from . import changes, gradients_of
from .bounds import TINY, UNIT, np_max, off, ratios
from .changes import Change, merged
from .definition import Definition, evaluate, full_shape, places, right
from .dgamma import DgammaScreen
from .empty_gradients import empty
from .examination import LEVELS, Examination
from .failing import failed
from .first_look_back import stub_back, unsteady_back
from .formula import formula
from .gradients_of import Gradient, altered, evaluated, textbook
from .probes import Failure, Probe
from .questions import ABOVE, NARROW, NEAR, SMALL, WIDTHS
from .returned import exchanged
from .search import nearness
from .shrink import candidates, digits
from .verdict import Finding, Verdict

Evaluation = Callable[[Gradient, Probe, Definition], Mapping[str, Any] | None]
LOUD = 1e-2  # of the largest gradient: what the smallest input must show


@dataclass(frozen=True)
class Asked:
    """One probe with what is right, how far an answer may be off in units of arithmetic, and what came back."""

    probe: Probe
    right: Mapping[str, Any]
    room: Mapping[str, Any]
    got: Mapping[str, Any]

    def share(self, made: Mapping[str, Any], name: str, computed: str, stored: str) -> float:
        """The largest error of one gradient as a share of its bound."""
        import numpy as np

        got, there = np.asarray(self.got[name], np.float64), made[name]
        if got.shape != there.shape:
            return float("inf")
        with np.errstate(all="ignore"):
            room = UNIT[computed] * self.room[name] + UNIT[stored] * np.abs(there) + TINY[computed]
        return float(np_max(ratios(got, there, room)))


@dataclass
class Backward(Examination):
    """One examination of a backward pass.

    found     the wrong gradients that explain what came back
    computes  what the forward pass computes, where that is wrong and this is its backward pass
    """

    found: list[Gradient] = field(default_factory=list)
    computes: Definition | None = None

    @cached_property
    def attempt(self) -> Evaluation:
        """Evaluates a gradient on a probe, once: every level and name asks again.

        Kept here and not by the module, so that no probe outlives the examination.
        """
        return cache(gradients_of.attempt)

    @property
    def levels(self) -> tuple[str, ...]:
        """The formats that it may compute in, with that which its forward pass was found to keep something in."""
        known = LEVELS[self.dtype]
        return known if self.narrow in ("", *known) else (*known, self.narrow)

    def verdict(self) -> Verdict:
        """Ask and judge."""
        probes = self._probes()
        found = self._empty(probes[0])
        if any(each.id == "missing-dx" for each in found):
            return Verdict("mistake", tuple(found))
        asked = self._asked(probes)
        if not asked:
            return Verdict("mistake", (failed(self.failures[0], self),))
        if differs := unsteady_back(self, asked):
            return Verdict("mistake", (differs,), tuple(self.notes))
        names = [name for name in GRADIENTS if all(name in each.got for each in asked)]
        for level in self.levels:
            wrong = [name for name in names if not self._holds(asked, name, level)]
            if not wrong:
                break
        if "dx" in wrong and (nothing := stub_back(self, asked)):
            return Verdict("mistake", (*found, nothing), tuple(self.notes))
        for name in wrong:
            made = self._explained(asked, name) if self.computes is None else self._at_zero(asked, name, self.computes)
            found += [each for each in made if each.id not in {one.id for one in found}]
        if wrong and self.computes is not None:
            self.notes.append(f"The gradients are those of what the forward pass computes, {formula(self.computes)}.")
        found = exchanged(found)
        if self.failures and not found:
            found.append(failed(self.failures[0], self))
        kind = "unrecognised" if any(each.id == "unrecognised" for each in found) else "mistake" if found else "correct"
        return Verdict(kind, tuple(found), tuple(self.notes))

    def _empty(self, probe: Probe) -> list[Finding]:
        """What autograd gives no gradient."""
        probe = self.with_eps(next(self._small(probe.x.ndim)))
        return [empty(name, probe, self.right_of(probe)[0]) for name in getattr(self.implementation, "missing", ())]

    def _small(self, rank: int) -> Iterator[Probe]:
        """Small probes with a dy, from the smallest on."""
        import numpy as np

        for probe in candidates(self.maker, rank):
            dy = np.arange(probe.x.size).reshape(probe.x.shape) ** 2 % 5 - 1
            yield probe.but(dy=self.maker.cast(dy))

    def _holds(self, asked: Sequence[Asked], name: str, level: str) -> bool:
        return all(each.share(each.right, name, level, self.dtype) <= 1 for each in asked)

    def _probes(self) -> list[Probe]:
        import numpy as np

        made = []
        for place, norm in enumerate(self.maker.fitted):
            for width in WIDTHS if place == 0 else WIDTHS[:1]:
                at = self.maker.sizes(norm, width)
                made += [self.maker.probe(at, self.maker.x(at), eps) for eps in (NEAR, ABOVE)]
            at = self.maker.sizes(norm, WIDTHS[0])
            made.append(self.maker.probe(at, self.maker.with_constant_row(at), NEAR / 2))
            if self.dtype not in NARROW:
                made.append(self.maker.probe(at, self.maker.x(at, SMALL), 2.0**-17))
            zero = self.maker.probe(at, self.maker.x(at), NEAR)
            if zero.gamma is not None:
                gamma = zero.gamma.copy()
                gamma.flat[1] = 0
                made.append(zero.but(gamma=gamma))
        return [probe.but(dy=self.maker.cast(self._cotangent(np.shape(probe.x)))) for probe in made]

    def _cotangent(self, shape: Sequence[int]) -> Any:
        """Random multiples of 1/4, none constant."""
        return self.maker.cells(shape) + 0.125

    def _asked(self, probes: Sequence[Probe]) -> list[Asked]:
        made = []
        ranks = set()
        probes = [self.with_eps(probe) for probe in probes]
        for probe, answer in zip(probes, self.implementation.run(probes), strict=True):
            if isinstance(answer, Failure):
                self.failures.append(replace(answer, probe=answer.probe or probe))
                continue
            ranks.add(probe.x.ndim)
            given, room = self.right_of(probe)
            made.append(Asked(probe, given, room, answer))
        elsewhere = [each for each in self.failures if each.probe is not None and each.probe.x.ndim not in ranks]
        if made and elsewhere:
            rank, what = elsewhere[0].probe.x.ndim, f"{elsewhere[0].kind}: {elsewhere[0].text}"  # type: ignore[union-attr]
            self.notes.append(f"It was not judged on x of {rank} dimensions, where every call failed ({what}).")
            self.failures = [each for each in self.failures if each not in elsewhere]
        return made

    def base(self, probe: Probe) -> Definition:
        """The right definition for a probe's rank, with beta even where the function takes none: few need it."""
        norm = self.norm.fit(probe.x.ndim)
        return right(norm, self.implementation.accepts | ({"beta"} if norm.shift else frozenset()))

    def _textbook(self, probe: Probe) -> Gradient:
        return textbook(self.norm.fit(probe.x.ndim), self.implementation.accepts)

    def right_of(self, probe: Probe) -> tuple[dict[str, Any], dict[str, Any]]:
        """The right gradients, and the size of what they are made of, times the count of operations."""
        import numpy as np

        gradient, definition = self._textbook(probe), self.base(probe)
        values = evaluate(definition, probe)
        made = evaluated(gradient, probe, definition)
        dy = np.abs(np.reshape(np.asarray(probe.dy, np.float64), values.full))
        with np.errstate(all="ignore"):
            r = 1 / np.sqrt(values.v + float(probe.eps or 0))
            at = places(gradient.norm, gradient.norm.over)
            largest = np.max(np.abs(values.xhat), axis=at, keepdims=True)
            g = np.max(dy * np.abs(values.scale), axis=at, keepdims=True)
            size = (1 + largest) ** 2 * (1 + values.size * r)
        count = 4 * (values.cells + 10)
        room = {"dx": np.broadcast_to(count * r * g * size, values.full).reshape(probe.x.shape)}
        rows = count + dy.size
        for name in set(made) - {"dx"}:
            room[name] = (
                rows * np.max(size) * np.reshape(gradients_of.gathered(dy, gradient.norm, "sum"), made[name].shape)
            )
        return made, room

    def _explained(self, asked: Sequence[Asked], name: str) -> list[Finding]:
        """The findings for one gradient."""
        rank = self._rank(asked, name)
        here = [each for each in asked if each.probe.x.ndim == rank]
        base, definition = self._textbook(here[0].probe), self.base(here[0].probe)
        for level in self.levels:
            if any(self._gives(made, definition, here, name, level) for made in self.found):
                return []
            for several in self._tried(base, definition, name, here[0]):
                made = self._altered(base, several, definition)
                if made is not None and self._gives(made, definition, here, name, level):
                    self.found.append(made)
                    return self._named(here, made, several, name, level)
        return [self._unknown(here, name)]

    def _rank(self, asked: Sequence[Asked], name: str) -> int:
        """The lowest rank at which the gradient is wrong."""
        level = self.levels[-1]
        return min(int(each.probe.x.ndim) for each in asked if each.share(each.right, name, level, self.dtype) > 1)

    def _tried(self, base: Gradient, definition: Definition, name: str, asked: Asked) -> Iterator[tuple[Change, ...]]:
        own = list(gradients_of.dx_changes(base) if name == "dx" else gradients_of.parameter_changes(name))
        of_axes = changes.axes_changes(definition, None)
        of_rest = (changes.statistics_changes(definition), changes.division_changes(definition))
        wrong = gradients_of.forward_changes(chain(*of_rest, of_axes))
        forward = list(wrong) if not base.norm.running else []
        yield from ((change,) for change in own)
        yield from ((change,) for change in forward)
        yield from combinations(own, 2)
        feeds = DgammaScreen(definition, asked.probe, asked.got.get("dgamma"), nearness(self.levels[-1]))
        yield from (pair for pair in combinations(forward[:60], 2) if feeds.may_give(_forward(pair, definition)))

    def _altered(self, base: Gradient, several: tuple[Change, ...], definition: Definition) -> Gradient | None:
        if not any("forward" in change.fields for change in several):
            return altered(base, several)
        forward = _forward(several, definition)
        return None if forward is None else replace(base, forward=forward)

    def _gives(self, made: Gradient, definition: Definition, asked: Sequence[Asked], name: str, level: str) -> bool:
        for each in asked:
            there = self.attempt(made, each.probe, definition)
            if there is not None and made.forward is not None and name == "dx":
                there = {**there, name: self._where_defined(there[name], each)}
            if there is None or each.share(there, name, level, self.dtype) > 1:
                return False
        return True

    def _where_defined(self, there: Any, asked: Asked) -> Any:
        """dx; what came back on constant rows, where a root at 0 leaves it undefined: frameworks pick a number."""
        import numpy as np

        values, got = evaluate(self.base(asked.probe), asked.probe), np.asarray(asked.got["dx"], np.float64)
        if got.shape != there.shape:
            return there
        is_constant = np.broadcast_to(values.v == 0, values.full).reshape(there.shape)
        return np.where(np.isnan(there) & is_constant, got, there)

    def _named(
        self, asked: Sequence[Asked], made: Gradient, several: tuple[Change, ...], name: str, level: str
    ) -> list[Finding]:
        worst = off([each.share(each.right, name, level, self.dtype) for each in asked], level)
        evidence = f"on {len(asked)} probes with random dy {name} {worst}; this gradient holds on all of them"
        text = gradients_of.formula(made, name) if made.forward is None else f"gradient of {formula(made.forward)}"
        small = self.smallest(asked, name)
        found = [Finding(change.id, change.name, evidence, text, change.fix, small, name) for change in several]
        return found if made.forward is None else found + self._at_zero(asked, name, made.forward)

    def _at_zero(self, asked: Sequence[Asked], name: str, forward: Definition) -> list[Finding]:
        """The finding of a gradient that is lost on a constant row, though y is not."""
        import numpy as np

        lost = self._lost(asked, name)
        if lost is None:
            return []
        if (
            len(forward.norm.layout.dims) == lost.probe.x.ndim
            and not np.isfinite(evaluate(forward, lost.probe).y).all()
        ):
            return []
        finding = Finding(
            "root-gradient-at-zero",
            "the root's gradient is infinite on a constant row, and infinity times 0 is nan",
            f"{name} is not finite on a constant row, where the right one is finite",
            f"gradient of {formula(forward)}",
            "keep eps inside the root, so that the root's argument is never 0",
            self._shown(lost, name),
            name,
        )
        return [finding]

    def _lost(self, asked: Sequence[Asked], name: str) -> Asked | None:
        """A probe on which the answer is not finite, though gamma holds no 0."""
        import numpy as np

        for each in asked:
            has_zero = each.probe.gamma is not None and bool(np.any(np.asarray(each.probe.gamma, np.float64) == 0))
            if not has_zero and not np.isfinite(np.asarray(each.got[name], np.float64)).all():
                return each
        return None

    def smallest(self, asked: Sequence[Asked], name: str) -> Mapping[str, Any]:
        """The first small input whose gradient is off; else one of those asked."""
        rank = asked[0].probe.x.ndim
        made = list(islice(self._small(rank), 40))
        if name == "dx" and not any(self._off(each, name) for each in asked if self._plain(each)):
            made = []
        for each in self._quiet(made):
            if name in each.got and self._off(each, name):
                return self._shown(each, name)
        wrong = [each for each in asked if self._off(each, name)] or list(asked)
        return self._shown(min(wrong, key=lambda each: each.probe.x.size), name)

    def _quiet(self, probes: Sequence[Probe]) -> list[Asked]:
        """Asked without counting failures."""
        kept = list(self.failures)
        made = self._asked(probes)
        self.failures = kept
        return made

    @staticmethod
    def _plain(asked: Asked) -> bool:
        import numpy as np

        return asked.probe.gamma is None or bool(np.all(np.asarray(asked.probe.gamma, np.float64) != 0))

    def _off(self, asked: Asked, name: str) -> bool:
        import numpy as np

        got, there = np.asarray(asked.got[name], np.float64), asked.right[name]
        if got.shape != there.shape or not np.isfinite(got).all():
            return bool(np.isfinite(there).all())
        return bool(np.max(np.abs(got - there)) > LOUD * np.max(np.abs(there)) + 1e-9)

    def _shown(self, asked: Asked, name: str) -> dict[str, Any]:
        import numpy as np

        probe = asked.probe
        given = {key: getattr(probe, key) for key in ("x", "gamma", "beta", "eps", "dy")}
        made = {key: np.asarray(value, np.float64).tolist() for key, value in given.items() if value is not None}
        return made | {f"expected {name}": digits(asked.right[name]), f"got {name}": digits(asked.got[name])}

    def _unknown(self, asked: Sequence[Asked], name: str) -> Finding:
        """Where an unknown mistake lies."""
        import numpy as np

        level = self.levels[-1]
        wrong = [each for each in asked if each.share(each.right, name, level, self.dtype) > 1]
        parts = [f"{name} is wrong on {len(wrong)} of {len(asked)} probes"]
        if name == "dx":
            probe, got = asked[0].probe, np.asarray(asked[0].got[name], np.float64)
            norm = self.norm.fit(probe.x.ndim)
            rows = np.sum(np.reshape(got, full_shape(norm, probe)), axis=places(norm, norm.over))
            if norm.center and not norm.running:
                sums = float(np.max(np.abs(rows)))
                parts.append(f"the sum of a row of dx is up to {sums:.3g}; a right one is 0")
        return Finding(
            "unrecognised",
            f"{name} is not this norm's, and no known mistake",
            "; ".join(parts),
            "",
            "",
            self.smallest(asked, name),
            name,
        )


def _forward(several: Sequence[Change], definition: Definition) -> Definition | None:
    """The forward definition with these mistakes; None where two set one field."""
    fields = merged([change.fields["forward"] for change in several if "forward" in change.fields])
    return None if fields is None else replace(definition, **fields)
