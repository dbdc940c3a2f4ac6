"""From explanations to findings: further probes decide between them, and each mistake gets its own evidence."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .bounds import off, share
from .changes import Change
from .examination import Examination, Row
from .fewest import fewest
from .formula import formula
from .probes import Probe
from .search import Explanation, attempt
from .shrink import smallest
from .verdict import Finding

APART = 2  # bounds
CLEARLY = 4  # times nearer
ROUNDING = 0.05  # of the bound: what a right explanation usually leaves


@dataclass(frozen=True)
class Left:
    """The explanations that are left, and an input on which they differ but that the function does not answer."""

    explanations: tuple[Explanation, ...]
    deciding: Probe | None = None

    @property
    def says(self) -> str:
        """What cannot be told apart, and what would decide."""
        best, *rest = self.explanations
        own = {change.id for change in best.changes}
        others = {change.id: change.name for each in rest for change in each.changes if change.id not in own}
        if not others:
            return ""
        both = " and ".join(f"{id} ({name})" for id, name in others.items())
        text = f"; on every input that it answers this is the same as {both}"
        if self.deciding is None:
            return text
        return f"{text}; x of shape {self.deciding.x.shape} with eps = {self.deciding.eps:g} would decide"


def decided(asked: Examination, rows: Sequence[Row], found: Sequence[Explanation], level: str) -> Left:
    """The explanations that are left when the function is asked where they differ."""
    left, deciding = list(found), None
    for probe in asked.maker.more(asked.base(rows[0][0]).norm) if len(found) > 1 else ():
        probe = asked.with_eps(probe)
        able = [(each, made) for each in left if (made := attempt(each.definition, probe)) is not None]
        first = able[0][1].y if able else None
        if all(share(made, first, level, asked.dtype) <= APART for _, made in able[1:]):
            continue
        answers = asked.answers([probe])
        kept = [each for each, made in able if answers and share(made, answers[0], level, asked.dtype) <= 1]
        deciding = deciding if answers else probe
        left = kept or left
    return Left(tuple(_closest(asked, rows, left, level)), deciding)


def _closest(asked: Examination, rows: Sequence[Row], left: Sequence[Explanation], level: str) -> list[Explanation]:
    """In a narrow format several fit: those that are clearly nearer than others are left."""
    if len(left) < 2:
        return list(left)
    worst = [_held(asked, rows, each, level) for each in left]
    most = CLEARLY * max(min(worst), ROUNDING)
    return [each for each, share_of_bound in zip(left, worst, strict=True) if share_of_bound <= most]


def _held(asked: Examination, rows: Sequence[Row], of: Explanation, level: str) -> float:
    """The largest error that an explanation leaves, as a share of the bound."""
    made = [(attempt(of.definition, probe), y) for probe, _, y in rows]
    return max(share(values, y, level, asked.dtype) for values, y in made if values is not None)


def named(asked: Examination, rows: Sequence[Row], left: Left, level: str) -> list[Finding]:
    """A finding for each mistake of the first explanation; what cannot be told from it is said."""
    best = left.explanations[0]
    return [_finding(asked, rows, best, change, level, left.says) for change in best.changes]


def _lost(rows: Sequence[Row]) -> str:
    """What an infinite error is: numbers on one side alone."""
    import numpy as np

    is_ours = any(
        np.any(np.isfinite(values.y) & ~np.isfinite(y)) for _, values, y in rows if np.shape(y) == values.y.shape
    )
    return "is not finite where the norm is" if is_ours else "is finite where the norm is not"


def _finding(
    asked: Examination, rows: Sequence[Row], best: Explanation, change: Change, level: str, more: str
) -> Finding:
    base = asked.base(rows[0][0])
    without = replace(best.definition, **{name: getattr(base, name) for name in change.fields})
    held = _held(asked, rows, best, level)
    wrong = off([asked.worst(row, level) for row in rows], level, _lost(rows))
    evidence = f"on {len(rows)} probes y {wrong}; this definition gives it to {held:.2g} of that bound{more}"
    rank, takes = rows[0][0].x.ndim, asked.implementation.accepts
    small = smallest(asked.implementation, asked.maker, rank, takes, without, best.definition, settled=asked.with_eps)
    if not small:
        small = fewest(asked, max(rows, key=lambda row: asked.worst(row, level)), level)
    return Finding(change.id, change.name, evidence, formula(best.definition), change.fix, small, change.step)
