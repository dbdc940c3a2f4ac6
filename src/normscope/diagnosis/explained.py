"""From explanations to findings: further probes decide between them, and each mistake gets its own evidence."""

from collections.abc import Sequence
from dataclasses import replace

from .bounds import np_max, shares
from .changes import Change
from .definition import Values
from .examination import Examination, Row
from .formula import formula
from .search import Explanation, attempt
from .shrink import shown, smallest
from .verdict import Finding

APART = 2  # bounds


def decided(asked: Examination, rows: Sequence[Row], found: Sequence[Explanation], level: str) -> list[Explanation]:
    """The explanations that are left when the function is asked where they differ."""
    left = list(found)
    for probe in asked.maker.more(asked.base(rows[0][0]).norm) if len(found) > 1 else ():
        probe = asked.with_eps(probe)
        able = [(each, made) for each in left if (made := attempt(each.definition, probe)) is not None]
        first = able[0][1].y if able else None
        if all(_share(asked, made, first, level) <= APART for _, made in able[1:]):
            continue
        answers = asked.answers([probe])
        kept = [each for each, made in able if answers and _share(asked, made, answers[0], level) <= 1]
        left = kept or left
    return left


def _share(asked: Examination, values: Values, y: object, level: str) -> float:
    return float(np_max(shares(values, y, level, asked.dtype)))


def named(asked: Examination, rows: Sequence[Row], left: Sequence[Explanation], level: str) -> list[Finding]:
    """A finding for each mistake of the first explanation; what cannot be told from it is said."""
    best, *rest = left
    own = {change.id for change in best.changes}
    others = {change.id: change.name for each in rest for change in each.changes if change.id not in own}
    more = "".join(f"; on every input that was asked this is the same as {id} ({name})" for id, name in others.items())
    return [_finding(asked, rows, best, change, level, more) for change in best.changes]


def _finding(
    asked: Examination, rows: Sequence[Row], best: Explanation, change: Change, level: str, more: str
) -> Finding:
    base = asked.base(rows[0][0])
    without = replace(best.definition, **{name: getattr(base, name) for name in change.fields})
    wrong = max(asked.worst(row, level) for row in rows)
    held = [
        _share(asked, made, y, level) for probe, _, y in rows if (made := attempt(best.definition, probe)) is not None
    ]
    evidence = (
        f"on {len(rows)} probes the norm is off by up to {wrong:.3g} times the error bound of {level}, "
        f"this definition by {max(held):.2g}{more}"
    )
    rank, takes = rows[0][0].x.ndim, asked.implementation.accepts
    small = smallest(asked.implementation, asked.maker, rank, takes, without, best.definition)
    if not small:
        probe, values, y = max(rows, key=lambda row: asked.worst(row, level))
        small = shown(probe, values.y, y)
    return Finding(change.id, change.name, evidence, formula(best.definition), change.fix, small, change.link)
