"""The judgement of a forward pass: ask, apply the instruments in order, search, then look at the numerics."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from ..axes import Axes
from ..norm import Norm
from . import rounded
from .bounds import UNIT, np_max, shares
from .changes import Change
from .definition import Definition, Values, right
from .formula import formula
from .instruments import Influence, influence, moves_with_shift
from .probes import Failure, Implementation, Probe
from .questions import Maker
from .running import judge_running, tolerance
from .search import Explanation, Search, affine_forms, attempt
from .shrink import shown, smallest
from .verdict import Finding, Verdict

LEVELS = {
    "float64": ("float64", "float32"),
    "float32": ("float32",),
    "float16": ("float32", "float16"),
    "bfloat16": ("float32", "bfloat16"),
}
LARGEST_HALF = 65504.0
EXACT = 3.0  # a constant row whose mean is exact in every order of summation
Row = tuple[Probe, Values, Any]


@dataclass
class Forward:
    """One examination of an implementation's forward pass."""

    implementation: Implementation
    norm: Norm
    dtype: str
    seed: int = 0
    notes: list[str] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)

    @cached_property
    def maker(self) -> Maker:
        """Makes the probes."""
        ranks = tuple(getattr(self.implementation, "ranks", ()))
        features = getattr(self.implementation, "features", None)
        return Maker(self.norm, self.dtype, self.implementation.accepts, self.seed, ranks, features)

    def base(self, probe: Probe) -> Definition:
        """The right definition for a probe's rank; parameters that the function does not take are left out."""
        return right(self.norm.fit(probe.x.ndim), self.implementation.accepts)

    def verdict(self) -> Verdict:
        """Ask and judge."""
        core = self._ask([*self.maker.core(), *self.maker.wide()])
        if not core:
            first = self.failures[0]
            return self._mistakes([_failed(first)])
        core = self._ranks_meant(core)
        level = self._level(core)
        if level is None:
            found = self._wrong(core)
        else:
            found = [*self._layout(level), *self._numerics(level)]
        found += self._failures_left(found)
        found += judge_running(self.implementation, self.maker, tolerance(level or LEVELS[self.dtype][0], self.dtype))
        if any(finding.id == "unrecognised" for finding in found):
            return Verdict("unrecognised", tuple(found), tuple(self.notes))
        return self._mistakes(found)

    def _mistakes(self, found: Sequence[Finding]) -> Verdict:
        return Verdict("mistake" if found else "correct", tuple(found), tuple(self.notes))

    def _ask(self, probes: Sequence[Probe]) -> list[Row]:
        """The rows of probes, right values and answers; failures are kept apart."""
        rows = []
        for probe, answer in zip(probes, self.implementation.run(probes), strict=True):
            if isinstance(answer, Failure):
                self.failures.append(replace(answer, probe=answer.probe or probe))
                continue
            values = attempt(self.base(probe), self._with_eps(probe))
            if values is not None:
                rows.append((self._with_eps(probe), values, answer["y"]))
        return rows

    def _with_eps(self, probe: Probe) -> Probe:
        """The eps that counts: the norm's own where the function takes none."""
        if "eps" in self.implementation.accepts:
            return probe
        return probe.but(eps=self._own_eps)

    @cached_property
    def _own_eps(self) -> float:
        if self.norm.eps is not None:
            return float(self.norm.eps)
        return 2 * UNIT["float64" if self.dtype == "float64" else "float32"]

    def _level(self, rows: Sequence[Row]) -> str | None:
        """The format in whose arithmetic every answer is right; None where some is wrong."""
        for level in LEVELS[self.dtype]:
            worst = max(float(np_max(shares(values, y, level, self.dtype))) for _, values, y in rows)
            if worst <= 1:
                if UNIT[level] > UNIT[self.dtype]:
                    self.notes.append(
                        f"It computes in {level}, though x is {self.dtype}; it is judged by {level}'s bound."
                    )
                return level
        return None

    def _ranks_meant(self, rows: list[Row]) -> list[Row]:
        """Without the ranks that a function was not written for: it fails there, and is right elsewhere."""
        ranks = sorted({probe.x.ndim for probe, _, _ in rows})
        failed = {failure.probe.x.ndim for failure in self.failures if failure.probe is not None}
        for rank in sorted(failed - set(ranks)):
            first = next(each for each in self.failures if each.probe is not None and each.probe.x.ndim == rank)
            self.notes.append(f"It was not judged on x of {rank} dimensions: it {first.kind} there ({first.text}).")
            self.failures = [each for each in self.failures if each.probe is None or each.probe.x.ndim != rank]
        plain = self.norm.name == "BatchNorm" and not {"gamma", "beta"} & self.implementation.accepts
        if plain and len(ranks) > 1:
            low = [row for row in rows if row[0].x.ndim == ranks[0]]
            if self._quietly(low) and not self._quietly(rows):
                self.notes.append(
                    f"It is right on x of {ranks[0]} dimensions, and takes each cell of the others as a channel of its own on x of more."
                )
                return low
        return rows

    def _quietly(self, rows: Sequence[Row]) -> bool:
        return any(
            all(np_max(shares(values, y, level, self.dtype)) <= 1 for _, values, y in rows)
            for level in LEVELS[self.dtype]
        )

    def _layout(self, level: str) -> list[Finding]:
        """The first instrument: the same cells lying otherwise in memory."""
        import numpy as np

        rows = self._ask(self.maker.layouts())
        found = []
        for probe, values, y in rows[1:]:
            worst = float(np_max(shares(values, y, level, self.dtype)))
            if worst > 1:
                evidence = f"the same x as {probe.layout} view differs from x in one piece by {worst:.3g} times the error bound"
                small = smallest(
                    self.implementation, self.maker, probe.x.ndim, self.implementation.accepts, layout=probe.layout
                )
                found.append(Finding(
                    "ignores-offset-and-strides", "the buffer is read without the view's offset and strides", evidence,
                    "norm(buffer[:x.size].reshape(x.shape))", "read x through its offset and strides, or copy it first",
                    small or shown(probe, values.y, y), "/inside?v=1",
                ))  # fmt: skip
                return found
            if not np.array_equal(np.asarray(y, np.float64), np.asarray(rows[0][2], np.float64), equal_nan=True):
                self.notes.append(
                    f"Last bits depend on the layout: a {probe.layout} view gives others than x in one piece."
                )
        self._batch_mates()
        return found

    def _batch_mates(self) -> None:
        """Whether a row's bits depend on the rows beside it."""
        import numpy as np

        if self.norm.layout.dims[0][0] in self.norm.over or "running_mean" in self.implementation.accepts:
            return
        probe = self.maker.layouts()[0]
        both = self.implementation.run([probe, probe.but(x=probe.x[:1].copy())])
        if any(isinstance(each, Failure) for each in both):
            return
        all_rows, alone = (np.asarray(each["y"], np.float64) for each in both)  # type: ignore[index]
        if not np.array_equal(all_rows[:1], alone, equal_nan=True):
            self.notes.append("Last bits of a row depend on its batch mates: alone it gives others.")

    def _wrong(self, rows: Sequence[Row]) -> list[Finding]:
        """What is wrong, at a rank where it is."""
        here = self._of_rank(rows, self._rank_of(rows))
        for level in LEVELS[self.dtype]:
            suspicion = self._rounding(here, level)
            if suspicion:
                return suspicion
        seen = self._influence()
        reacting = seen.axes if seen else None
        if seen and seen.axes != seen.norm.over and (highest := self._of_rank(rows, len(seen.norm.layout.dims))):
            here = highest  # where the axes have names of their own
        elif seen and len(seen.norm.layout.dims) != here[0][0].x.ndim:
            reacting = self.base(here[0][0]).over
        level = self._arithmetic(here[0][0])
        found = self._explained(here, level, reacting)
        if found:
            return self._named(here, found, level)
        return [self._localised(here, seen)]

    def _arithmetic(self, probe: Probe) -> str:
        """The format that it computes in: whether a change of x that float32 cannot hold is seen in y."""
        import numpy as np

        levels = LEVELS[self.dtype]
        if self.dtype != "float64":
            return levels[-1]
        x = probe.x.copy()
        x.flat[0] += 2.0**-32  # one cell: a norm hardly changes when all of them are scaled
        answers = self.implementation.run([probe, probe.but(x=x)])
        if any(isinstance(answer, Failure) for answer in answers):
            return levels[0]
        same = np.array_equal(answers[0]["y"], answers[1]["y"], equal_nan=True)  # type: ignore[index]
        return levels[1] if same else levels[0]

    @staticmethod
    def _of_rank(rows: Sequence[Row], rank: int) -> list[Row]:
        return [row for row in rows if row[0].x.ndim == rank]

    def _rank_of(self, rows: Sequence[Row]) -> int:
        """The first rank at which an answer is wrong."""
        usual = [len(norm.layout.dims) for norm in self.maker.fitted]
        for rank in usual:
            here = self._of_rank(rows, rank)
            if here and not self._quietly(here):
                return rank
        return rows[0][0].x.ndim

    def _explained(self, rows: Sequence[Row], level: str, reacting: Axes | None) -> list[Explanation]:
        base = self.base(rows[0][0])
        forms = self._forms(rows, level)
        stays = self._keeps_center(rows)
        wrong_first = sorted(rows, key=lambda row: self._quietly([row]))  # so that the screening probe tells
        asked = [(probe, y) for probe, _, y in wrong_first]
        return Search(base, asked, level, self.dtype, reacting, forms or (), stays, forms != []).explanations()

    def _forms(self, rows: Sequence[Row], level: str) -> list[tuple[str, str]] | None:
        """The third instrument: how gamma and beta enter; None where it could not be asked."""
        base = self.base(rows[0][0])
        sets = []
        for probes in self.maker.affine(base.norm):
            answers = self.implementation.run(probes)
            if not any(isinstance(answer, Failure) for answer in answers):
                sets.append([(probe, answer["y"]) for probe, answer in zip(probes, answers, strict=True)])  # type: ignore[index]
        return affine_forms(base, sets, level)[:3] if sets else None

    def _keeps_center(self, rows: Sequence[Row]) -> bool | None:
        """The fourth instrument: whether y stays when a constant is added to x."""
        if self.norm.running:
            return None
        answers = self.implementation.run(self.maker.shifts())
        if any(isinstance(answer, Failure) for answer in answers):
            return None
        return not moves_with_shift(*(answer["y"] for answer in answers))  # type: ignore[index]

    def _influence(self) -> Influence | None:
        """The second instrument: which cells react to one."""
        probes, places = self.maker.influence()
        answers = self.implementation.run(probes)
        if any(isinstance(answer, Failure) for answer in answers):
            return None
        norm = self.norm.fit(probes[0].x.ndim)
        return influence(norm, probes, places, [answer["y"] for answer in answers])  # type: ignore[index]

    def _named(self, rows: Sequence[Row], found: Sequence[Explanation], level: str) -> list[Finding]:
        """A finding for each mistake of the explanation that further probes leave."""
        best, *rest = self._decided(rows, found, level)
        others = sorted(
            {change.id for each in rest for change in each.changes} - {change.id for change in best.changes}
        )
        findings = []
        for change in best.changes:
            others_text = f"; {', '.join(others)} cannot be told from it on any probe" if others else ""
            findings.append(self._finding(rows, best, change, level, others_text))
        return findings

    def _decided(self, rows: Sequence[Row], found: Sequence[Explanation], level: str) -> list[Explanation]:
        """The explanations that are left when the function is asked where they differ."""
        left = list(found)
        for probe in self.maker.more(self.base(rows[0][0]).norm) if len(found) > 1 else ():
            probe = self._with_eps(probe)
            made = [(each, attempt(each.definition, probe)) for each in left]
            able = [(each, values) for each, values in made if values is not None]
            if len(able) < 2 or all(
                float(np_max(shares(values, able[0][1].y, level, self.dtype))) <= 2 for _, values in able[1:]
            ):
                continue
            (answer,) = self.implementation.run([probe])
            if not isinstance(answer, Failure):
                kept = [
                    each for each, values in able if float(np_max(shares(values, answer["y"], level, self.dtype))) <= 1
                ]
                left = kept or left
        return left

    def _finding(self, rows: Sequence[Row], best: Explanation, change: Change, level: str, more: str) -> Finding:
        base = self.base(rows[0][0])
        without = replace(best.definition, **{name: getattr(base, name) for name in change.fields})
        wrong = max(float(np_max(shares(values, y, level, self.dtype))) for _, values, y in rows)
        held = max(
            float(np_max(shares(made, y, level, self.dtype)))
            for probe, _, y in rows
            if (made := attempt(best.definition, probe)) is not None
        )
        evidence = (
            f"on {len(rows)} probes the norm is off by up to {wrong:.3g} times the error bound of {level}, "
            f"this definition by {held:.2g}{more}"
        )
        small = smallest(
            self.implementation, self.maker, rows[0][0].x.ndim, self.implementation.accepts, without, best.definition
        )
        if not small:
            probe, values, y = max(rows, key=lambda row: float(np_max(shares(row[1], row[2], level, self.dtype))))
            small = shown(probe, values.y, y)
        return Finding(change.id, change.name, evidence, formula(best.definition), change.fix, small, change.link)

    def _localised(self, rows: Sequence[Row], seen: Influence | None) -> Finding:
        """Where an unknown mistake lies: which axes, which step, from which size or value on."""
        from .effective import effective_eps

        level = LEVELS[self.dtype][-1]
        parts = [seen.text] if seen else []
        forms = self._forms(rows, level)
        base = self.base(rows[0][0])
        if forms is not None and base.scale == "gamma":
            rightly = forms[:1] == [(base.scale, base.shift)]
            entering = (
                f"as {' and '.join(forms[0])}" if forms else "in no way that is known, or y is not affine in them"
            )
            parts.append(f"gamma and beta enter {'as they should' if rightly else entering}")
        stays = self._keeps_center(rows)
        if stays is not None and stays != self.norm.center:
            parts.append(
                "y does not stay when a constant is added to x"
                if self.norm.center
                else "y stays when a constant is added to x"
            )
        import numpy as np

        probe, values, y = rows[0]
        e = effective_eps(values, y)
        at = tuple(self.base(probe).norm.axes.index(axis) for axis in self.base(probe).over)
        spread = (
            float(np.nanmax(np.nanmax(e, axis=at) - np.nanmin(e, axis=at))) if np.isfinite(e).any() else float("nan")
        )
        parts.append(
            "what is added to the variance is one number a row: the divisor is wrong" if spread < 1e-3 * float(np.max(values.v))
            else "what would have to be added to the variance differs within a row: not the divisor alone is wrong"
        )  # fmt: skip
        wrong = [row for row in rows if float(np_max(shares(row[1], row[2], level, self.dtype))) > 1]
        parts.append(f"{len(wrong)} of {len(rows)} probes are wrong")
        right_ones = sorted({row[1].cells for row in rows} - {row[1].cells for row in wrong})
        if right_ones:
            parts.append(
                f"rows of {', '.join(map(str, right_ones))} cells are right; the first wrong ones have {min(row[1].cells for row in wrong)}"
            )
        small = smallest(self.implementation, self.maker, probe.x.ndim, self.implementation.accepts)
        return Finding(
            "unrecognised",
            "it is not this norm, and no known mistake",
            "; ".join(parts),
            "",
            "",
            small or shown(*wrong[0][:1], wrong[0][1].y, wrong[0][2]),
            "/inside?v=1",
        )

    def _rounding(self, rows: Sequence[Row], level: str) -> list[Finding]:
        """A statistic in too few digits: only where ordinary rows are right to a few digits."""
        plain = [row for row in rows if float(row[0].eps) > 0.1 and row[1].cells < 30]
        loose = "bfloat16"
        near = [float(np_max(shares(values, y, loose, self.dtype))) <= 1 for _, values, y in plain]
        if not plain or sum(near) < 0.6 * len(near):
            return []
        asked = [*rows, *self._hard(level, ("scale", "small variance", "offset"))]
        found = rounded.explain(self.base(rows[0][0]), asked, level, self.dtype)
        return [self._rounded_finding(asked, *found, level)] if found else []

    def _hard(self, level: str, names: Sequence[str]) -> list[Row]:
        made = self.maker.numerics(level)
        return self._ask([probe for name in names for probe in made[name]])

    def _rounded_finding(self, rows: Sequence[Row], change: Change, evidence: str, level: str) -> Finding:
        wrong = [row for row in rows if float(np_max(shares(row[1], row[2], level, self.dtype))) > 1]
        probe, values, y = min(wrong, key=lambda row: row[0].x.size)
        return Finding(
            change.id,
            change.name,
            evidence,
            rounded.formula(change),
            change.fix,
            shown(probe, values.y, y),
            change.link,
        )

    def _numerics(self, level: str) -> list[Finding]:
        """The last instrument, once the others agree."""
        hard = self._hard(level, ("offset", "scale", "small variance"))
        found = self._rounded_or_unknown(hard, level)
        self._constant_rows(level)
        self._range(level)
        if not found:
            self._say_share(hard, level)
        return found

    def _rounded_or_unknown(self, hard: Sequence[Row], level: str) -> list[Finding]:
        wrong = [row for row in hard if float(np_max(shares(row[1], row[2], level, self.dtype))) > 1]
        if not wrong:
            return []
        explained = rounded.explain(self.base(hard[0][0]), hard, level, self.dtype)
        if explained:
            return [self._rounded_finding(hard, *explained, level)]
        worst = max(float(np_max(shares(row[1], row[2], level, self.dtype))) for row in wrong)
        probe, values, y = wrong[0]
        if level == "float16" and all(float(np_max(row[1].size)) ** 2 * row[1].cells > LARGEST_HALF for row in wrong):
            return [Finding(
                "squares-in-half", "the sum of squares overflows in float16", f"only rows whose squares sum to more than {LARGEST_HALF:g} are wrong",
                "float16(sum(c^2))", "square and sum in float32", shown(probe, values.y, y), "/inside?v=1&step=q",
            )]  # fmt: skip
        ratio = float(np_max(values.size / (values.v + float(probe.eps)) ** 0.5))
        return [Finding(
            "unrecognised", "it loses more digits than the arithmetic explains",
            f"ordinary rows are right; on {len(wrong)} of {len(hard)} hard ones the error is up to {worst:.3g} times {level}'s bound, first at |x|/std = {ratio:.3g}",
            "", "", shown(probe, values.y, y), "/inside?v=1&step=var",
        )]  # fmt: skip

    def _constant_rows(self, level: str) -> None:
        """A constant row should give beta; what is left of rounding the mean is a note, never a mistake."""
        import numpy as np

        exact, rest, wrong = 0.0, 0.0, False
        for probe, values, y in self._hard(level, ("constant",)):
            apart = float(np.max(np.nan_to_num(np.abs(np.asarray(y, np.float64) - values.y), nan=np.inf)))
            if float(np.ravel(probe.x)[0]) == EXACT:
                exact = max(exact, apart)
            rest, wrong = max(rest, apart), wrong or float(np_max(shares(values, y, level, self.dtype))) > 1
        if wrong:
            self.notes.append(
                "A constant row with a tiny eps is not beta: the rounding of its mean is divided by sqrt(eps)."
            )
        elif exact > 256 * UNIT[level]:
            self.notes.append(
                f"fused-scale-shift: a constant row leaves up to {exact:.3g} instead of beta, though its mean is exact: the "
                "centering is folded into one multiply-add, x * r - mean * r, whose second term is rounded."
            )
        elif rest > 256 * UNIT[level]:
            self.notes.append(
                f"A constant row leaves up to {rest:.3g} instead of beta: the rounding of its mean, times r."
            )

    def _range(self, level: str) -> None:
        """Where numbers become too large, a note: real kernels have the same limit."""
        before = list(self.failures)
        rows = self._hard(level, ("range",))
        failed, self.failures = self.failures[len(before) :], before
        for each in failed:
            self.notes.append(f"Rows of size 1e30 or more fail ({each.text}): a range limit.")
            return
        for _, values, y in rows:
            if float(np_max(shares(values, y, level, self.dtype))) > 1:
                size = float(np_max(values.size))
                self.notes.append(
                    f"Rows of size {size:.0e} overflow: the range limit of {level}, which real kernels share."
                )
                return

    def _say_share(self, rows: Sequence[Row], level: str) -> None:
        import numpy as np

        worst = max(float(np_max(shares(values, y, level, self.dtype))) for _, values, y in rows)
        ulps = max(
            float(np_max(np.abs(np.asarray(y, np.float64) - values.y) / (2 * UNIT[level] * np.maximum(np.abs(values.y), 1e-30))))
            for probe, values, y in rows if np.isfinite(np.asarray(y, np.float64)).all()
        )  # fmt: skip
        self.notes.append(
            f"Largest error on hard rows: {ulps:.3g} ulp of {level}, {worst:.2g} of the bound that n, x's condition and gamma allow."
        )

    def _failures_left(self, found: Sequence[Finding]) -> list[Finding]:
        """A call that failed is a mistake of its own; behind another mistake it is evidence."""
        if not self.failures:
            return []
        first = self.failures[0]
        if found and first.kind == "raises":
            self.notes.append(f"{len(self.failures)} other calls failed: {first.text}")
            return []
        return [_failed(first)]


def _failed(failure: Failure) -> Finding:
    probe = failure.probe
    given = {} if probe is None else {name: getattr(value, "shape", value) for name, value in probe.arguments().items()}
    small = (
        {}
        if probe is None
        else (
            {name: value for name, value in shown(probe, 0, 0).items() if name not in ("expected", "got")}
            if probe.x.size <= 64
            else {}
        )
    )
    shapes = ", ".join(f"{name} {value}" for name, value in given.items())
    return Finding(failure.kind, failure.text, f"called with {shapes}", "", "let it answer this call", small, "")
