"""The judgement of a forward pass: ask, apply the instruments in order, search, then look at the numerics."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..axes import Axes
from .backward import Backward
from .bounds import UNIT
from .changes import Change
from .clipped import clipped
from .definition import Definition
from .examination import LEVELS, Examination, Row
from .explained import Left, decided, named
from .failing import failed
from .first_look import stub, unsteady
from .following import followed
from .instruments import Influence, influence, moves_with_shift
from .layouts import layout_finding
from .localise import localised
from .nearly import nearly
from .numerics import beside, numerics, rounding
from .permuted import judge_permuted
from .probes import Probe
from .running import judge_running, tolerance
from .search import Explanation, Search, affine_forms
from .verdict import Finding, Verdict

Forms = list[tuple[str, str]]
UNSEEN = 2.0**-32  # a change of x that float32 does not hold
FORMS_TRIED = 3


@dataclass
class Forward(Examination):
    """One examination of an implementation's forward pass.

    backward    what a framework makes of it, whose gradients tell explanations apart that y does not
    computes    the wrong definition whose gradients that gives
    is_unknown  no definition explains y
    """

    backward: Backward | None = None
    computes: Definition | None = None
    is_unknown: bool = False

    def verdict(self) -> Verdict:
        """Ask and judge."""
        core = self.ask([*self.maker.core(), *self.maker.wide()])
        if not core:
            return Verdict("mistake", (failed(self.failures[0], self),), tuple(self.notes))
        core = self._ranks_meant(core)
        if differs := unsteady(self, core):
            return Verdict("mistake", (differs,), tuple(self.notes))
        level = self._level(core)
        if level is None and (nothing := stub(self, core)):
            return Verdict("mistake", (nothing,), tuple(self.notes))
        found = self._wrong(core) if level is None else [*self._layout(level), *numerics(self, level)]
        found += self._failures_left(found)
        found += judge_running(self.implementation, self.maker, tolerance(level or LEVELS[self.dtype][0], self.dtype))
        kind = "mistake" if found else "correct"
        if any(finding.id == "unrecognised" for finding in found):
            kind = "unrecognised"
        return Verdict(kind, tuple(found), tuple(self.notes))

    def _level(self, rows: Sequence[Row]) -> str | None:
        """The format in whose arithmetic every answer is right; None where some is wrong."""
        for level in LEVELS[self.dtype]:
            if not self.wrong(rows, level):
                if UNIT[level] > UNIT[self.dtype]:
                    self.notes.append(
                        f"It computes in {level}, though x is {self.dtype}; it is judged by {level}'s bound."
                    )
                return level
        return None

    def _ranks_meant(self, rows: list[Row]) -> list[Row]:
        """Without the ranks that a function was not written for: it fails there, and is right elsewhere."""
        ranks = sorted({row[0].x.ndim for row in rows})
        lost = {each.probe.x.ndim: each for each in self.failures if each.probe is not None}
        for rank in sorted(lost.keys() - set(ranks)):
            what = f"{lost[rank].kind}: {lost[rank].text}"
            self.notes.append(f"It was not judged on x of {rank} dimensions, where every call failed ({what}).")
            self.failures = [each for each in self.failures if each.probe is None or each.probe.x.ndim != rank]
        low = [row for row in rows if row[0].x.ndim == ranks[0]]
        is_plain = self.norm.name == "BatchNorm" and not {"gamma", "beta"} & self.implementation.accepts
        if is_plain and self.is_right(low) and not self.is_right(rows):
            self.notes.append(
                f"It is right on x of {ranks[0]} dimensions; on x of more it takes each position for a channel."
            )
            return low
        return rows

    def _layout(self, level: str) -> list[Finding]:
        """The first instrument: the same cells lying otherwise in memory, and a row without its batch mates."""
        import numpy as np

        rows = self.ask(self.maker.layouts())
        if rows and (found := layout_finding(self, rows[1:], level)):
            return [found]
        for probe, _, y in rows[1:]:
            if not np.array_equal(y, rows[0][2], equal_nan=y.dtype.kind == "f"):
                self.notes.append(f"Last bits depend on the layout: a {probe.layout} view gives others.")
        self._batch_mates()
        return judge_permuted(self, level)

    def _batch_mates(self) -> None:
        """Whether a row's bits depend on the rows beside it."""
        import numpy as np

        if self.norm.layout.dims[0][0] in self.norm.over or "running_mean" in self.implementation.accepts:
            return
        probe = self.maker.layouts()[0]
        both = self.answers([probe, probe.but(x=probe.x[:1].copy())])
        if both and not np.array_equal(both[0][:1], both[1]):
            self.notes.append("Last bits of a row depend on its batch mates: alone it gives others.")

    def _wrong(self, rows: Sequence[Row]) -> list[Finding]:
        """What is wrong, at a rank where it is."""
        here = self._of_rank(rows, self._rank_of(rows))
        for level in LEVELS[self.dtype]:
            if known := nearly(self, here, level) or clipped(self, here, level):
                return [known]
            if suspicion := rounding(self, here, level):
                return suspicion
        seen = self._influence()
        reacting = seen.axes if seen else None
        if seen and seen.axes != seen.norm.over and (highest := self._of_rank(rows, len(seen.norm.layout.dims))):
            here = highest  # where the axes have names of their own
        elif seen and len(seen.norm.layout.dims) != here[0][0].x.ndim:
            reacting = self.base(here[0][0]).over
        level = self._arithmetic(here[0][0])
        forms, stays = self._forms(here, level), self._keeps_center()
        explained = self._explanations(here, level, reacting, forms, stays)
        if explained:
            left = self._with_gradients(decided(self, here, explained, level), level)
            best = left.explanations[0]
            told = zip(named(self, here, left, level), best.changes, strict=True)
            found = [self._moved(rows, seen, *each) for each in told]
            return [*found, *beside(self, best.definition, level)]
        self.is_unknown = True
        return [localised(self, here, seen, forms, stays)]

    def _moved(self, rows: Sequence[Row], seen: Influence | None, finding: Finding, change: Change) -> Finding:
        """A finding on axes or blocks with the cells that react, and the ranks at which the function is right."""
        if not change.moves_cells:
            return finding
        fine = [rank for rank in sorted({row[0].x.ndim for row in rows}) if self.is_right(self._of_rank(rows, rank))]
        more = "".join(f"; on x of {rank} dimensions it is right" for rank in fine)
        return replace(finding, evidence=finding.evidence + more, reaction=seen.reaction if seen else None)

    def _with_gradients(self, left: Left, level: str) -> Left:
        """The explanation whose gradients the framework gives comes first; it then explains both passes."""
        if self.backward is None:
            return left
        self.computes = followed(self.backward, [each.definition for each in left.explanations], level)
        return replace(
            left, explanations=tuple(sorted(left.explanations, key=lambda each: each.definition != self.computes))
        )

    def _arithmetic(self, probe: Probe) -> str:
        """The format that it computes in: whether a change of x that float32 cannot hold is seen in y."""
        import numpy as np

        levels = LEVELS[self.dtype]
        if self.dtype != "float64":
            return levels[-1]
        x = probe.x.copy()
        x.flat[0] += UNSEEN  # one cell: a norm hardly changes when all of them are scaled
        both = self.answers([probe, probe.but(x=x)])
        return levels[1] if both and np.array_equal(both[0], both[1], equal_nan=True) else levels[0]

    @staticmethod
    def _of_rank(rows: Sequence[Row], rank: int) -> list[Row]:
        return [row for row in rows if row[0].x.ndim == rank]

    def _rank_of(self, rows: Sequence[Row]) -> int:
        """The first rank at which an answer is wrong."""
        for norm in self.maker.fitted:
            here = self._of_rank(rows, len(norm.layout.dims))
            if here and not self.is_right(here):
                return len(norm.layout.dims)
        rank: int = rows[0][0].x.ndim
        return rank

    def _explanations(
        self, rows: Sequence[Row], level: str, reacting: Axes | None, forms: Forms | None, stays: bool | None
    ) -> list[Explanation]:
        wrong_first = sorted(rows, key=lambda row: self.is_right([row]))  # so that the screening probe tells
        asked = [(probe, y) for probe, _, y in wrong_first]
        base = self.base(rows[0][0])
        return Search(base, asked, level, self.dtype, reacting, forms or (), stays, forms != []).explanations()

    def _forms(self, rows: Sequence[Row], level: str) -> Forms | None:
        """The third instrument: how gamma and beta enter; None where it could not be asked."""
        base = self.base(rows[0][0])
        sets = []
        for probes in self.maker.affine(base.norm):
            answers = self.answers(probes)
            if answers is not None:
                sets.append(list(zip(probes, answers, strict=True)))
        return affine_forms(base, sets, level)[:FORMS_TRIED] if sets else None

    def _keeps_center(self) -> bool | None:
        """The fourth instrument: whether y stays when a constant is added to x; None where that says nothing."""
        answers = None if self.norm.running else self.answers(self.maker.shifts())
        return None if answers is None else not moves_with_shift(*answers)

    def _influence(self) -> Influence | None:
        """The second instrument: which cells react to one."""
        probes, places = self.maker.influence()
        answers = self.answers(probes)
        return None if answers is None else influence(self.norm.fit(probes[0].x.ndim), probes, places, answers)

    def _failures_left(self, found: Sequence[Finding]) -> list[Finding]:
        """A call that failed is a mistake of its own; behind another mistake it is evidence."""
        if not self.failures:
            return []
        first = self.failures[0]
        if found and first.kind == "raises":
            self.notes.append(f"{len(self.failures)} other calls failed: {first.text}")
            return []
        return [failed(first, self)]
