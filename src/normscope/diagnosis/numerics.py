"""The last instrument, once the others agree: rows that are hard in floating point.

What goes beyond the bound is a mistake: cancellation, a statistic in too few digits. What does not, and what real
kernels share, is a note: the rounding of constant rows, the range of a format.
"""

from collections.abc import Sequence
from typing import Any

from . import rounded
from .bounds import UNIT, np_max, shares
from .changes import Change
from .clipped import clipped
from .definition import Definition
from .examination import Examination, Row
from .fewest import fewest
from .pattern import many_rows
from .reference import STOPS, exact, is_small
from .rounded import LEAST
from .search import attempt
from .shrink import shown
from .verdict import Finding

EXACT = 3.0  # a constant row whose mean is exact in every order of summation
LARGEST_HALF = 65504.0
SEEN = 256  # units from which on the residue of a constant row is noted
POWER = 2.0**-20  # an eps whose root is a power of two, as a constant row's divisor
HARD = ("offset", "scale", "small variance")
FURTHER = (*HARD, "outlier")
PLAIN = ("both", "square", "", "own")  # center, spread, block and groups of a variance that may cancel
FINE = 64.0  # |x| / std up to which float64 values are good to a unit or two
ORDINARY = 30  # cells of a row at most, for the first suspicion
MOST = 0.6  # of ordinary rows that must be nearly right, for a suspicion of rounding


def numerics(asked: Examination, level: str) -> list[Finding]:
    """Findings on hard rows of a function that is right on ordinary ones."""
    hard = [*_hard(asked, level, FURTHER), *_parameters(asked, level)]
    found = [*_beyond(asked, hard, level), *many_rows(asked, _hard(asked, level, ("many rows",)), level)]
    _constant_rows(asked, level)
    _range(asked, level)
    if not found:
        _say_share(asked, hard, level)
    return found


def _parameters(asked: Examination, level: str) -> list[Row]:
    """gamma and beta with every digit of the dtype; what holds them in float32 is a note, as a layer's weights are."""
    rows = _hard(asked, level, ("parameters",))
    if asked.wrong(rows, level) and not asked.wrong(rows, "float32"):
        asked.notes.append(f"gamma or beta is rounded to float32, though x is {asked.dtype}.")
        return []
    return rows


def rounding(asked: Examination, rows: Sequence[Row], level: str) -> list[Finding]:
    """A statistic in too few digits, of a function that is off on ordinary rows, but by little."""
    plain = [row for row in rows if float(row[0].eps or 0) > 0.1 and row[1].cells < ORDINARY]
    near = [row for row in plain if asked.worst(row, "bfloat16") <= 1]
    if not plain or len(near) < MOST * len(plain):
        return []
    every = [*rows, *_hard(asked, level, HARD)]
    found = rounded.explain(asked.base(rows[0][0]), every, level, asked.dtype)
    return [_finding(asked, every, *found, level)] if found else []


def beside(asked: Examination, definition: Definition, level: str) -> list[Finding]:
    """A variance that cancels, of a function that is wrong otherwise: hard rows against its own definition."""
    is_plain = (definition.center, definition.spread, definition.block, definition.groups) == PLAIN
    if not is_plain or definition.running or definition.twice or definition.before:
        return []
    rows = [
        (probe, values, y)
        for probe, _, y in _hard(asked, level, HARD)
        if (values := attempt(definition, probe)) is not None
    ]
    off = [shares(values, y, level, asked.dtype) > 1 for _, values, y in rows]
    found = rounded.cancelling(definition, rows, level, off) if sum(int(each.sum()) for each in off) >= LEAST else None
    if not found:
        return []
    change, evidence = found
    probe, values, y = next(row for each, row in zip(off, rows, strict=True) if each.any())
    small = shown(probe, values.y, y)
    name = f"{change.name}; found beside the other mistakes"
    return [Finding(change.id, name, evidence, rounded.formula(change), change.fix, small, change.step)]


def _hard(asked: Examination, level: str, names: Sequence[str]) -> list[Row]:
    made = asked.maker.numerics(level)
    return asked.ask([probe for name in names for probe in made[name]])


def _finding(asked: Examination, rows: Sequence[Row], change: Change, evidence: str, level: str) -> Finding:
    kept = change.fields["kept"]
    asked.narrow = kept[1] if isinstance(kept, tuple) else ""
    small = fewest(asked, min(asked.wrong(rows, level), key=lambda row: int(row[0].x.size)), level)
    return Finding(change.id, change.name, evidence, rounded.formula(change), change.fix, small, change.step)


def _beyond(asked: Examination, hard: Sequence[Row], level: str) -> list[Finding]:
    """What is wrong beyond the bound."""
    wrong = asked.wrong(hard, level)
    if not wrong:
        return []
    if cut := clipped(asked, hard, level):
        return [cut]
    explained = rounded.explain(asked.base(hard[0][0]), hard, level, asked.dtype)
    if explained:
        return [_finding(asked, hard, *explained, level)]
    probe, values, _ = wrong[0]
    small, sums = fewest(asked, wrong[0], level), [float(np_max(row[1].size)) ** 2 * row[1].cells for row in wrong]
    if level == "float16" and min(sums) > LARGEST_HALF:
        evidence = f"only rows whose squares sum to more than {LARGEST_HALF:g} are wrong"
        fix, link = "square and sum in float32", "q"
        name = "the sum of squares overflows in float16"
        return [Finding("squares-in-half", name, evidence, "float16(sum(c^2))", fix, small, link)]
    worst = max(asked.worst(row, level) for row in wrong)
    ratio = float(np_max(values.size / (values.v + float(probe.eps or 0)) ** 0.5))
    evidence = (
        f"ordinary rows are right; on {len(wrong)} of {len(hard)} hard ones the error is up to {worst:.3g} times "
        f"{level}'s bound, first at |x|/std = {ratio:.3g}"
    )
    name = "it loses more digits than the arithmetic explains"
    return [Finding("unrecognised", name, evidence, "", "", small, "var")]


def _constant_rows(asked: Examination, level: str) -> None:
    """A constant row should give beta; what is left of rounding the mean is a note, never a mistake."""
    if not asked.norm.center or asked.norm.running:  # beta is not what they give
        return
    rows = _hard(asked, level, ("constant",))
    own = max((_residue(row) for row in rows if float(row[0].x.flat[0]) == EXACT), default=0.0)
    rest = max((_residue(row) for row in rows), default=0.0)
    if asked.wrong(rows, level):
        asked.notes.append(
            "A constant row with a tiny eps is not beta: the rounding of its mean is divided by sqrt(eps)."
        )
    elif own > SEEN * UNIT[level]:
        left = f"a constant row is off beta by up to {own:.3g}, though its mean is exact"
        asked.notes.append(
            f"fused-scale-shift: {left}, and nothing where x * r and mean * r are exact too: x is scaled before the "
            "mean is subtracted, as x * r - mean * r, whose terms are rounded."
            if _is_scaled_first(asked)
            else f"{left[0].upper()}{left[1:]}."
        )
    elif rest > SEEN * UNIT[level]:
        asked.notes.append(
            f"A constant row is off beta by up to {rest:.3g}, as much as the rounding of its mean, times r."
        )


def _residue(row: Row) -> float:
    """How far a constant row is from beta, which is right for it to the last bit."""
    import numpy as np

    beta = np.broadcast_to(row[1].shift, row[1].full).reshape(row[0].x.shape)
    return float(np.max(np.nan_to_num(np.abs(np.asarray(row[2], np.float64) - beta), nan=np.inf), initial=0))


def _is_scaled_first(asked: Examination) -> bool:
    """Whether a constant row is beta where r is a power of two, gamma 1 and beta 0: its product with r is exact."""
    import numpy as np

    first = asked.maker.numerics(asked.dtype)["constant"][0]
    gamma, beta = (None if each is None else each * 0 + more for each, more in ((first.gamma, 1), (first.beta, 0)))
    plain = first.but(x=first.x * 0 + first.x.dtype.type(EXACT), eps=POWER, gamma=gamma, beta=beta)
    answers = asked.answers([plain]) if "eps" in asked.implementation.accepts else None
    return answers is not None and not np.any(np.asarray(answers[0], np.float64))


def _range(asked: Examination, level: str) -> None:
    """Where numbers become too large, a note: real kernels have the same limit."""
    before = len(asked.failures)
    rows = _hard(asked, level, ("range",))
    lost, asked.failures[before:] = asked.failures[before:], []
    if lost and lost[0].text not in {each.text for each in asked.failures}:  # else size is not why
        asked.notes.append(f"Rows of size 1e30 or more fail ({lost[0].text}): a range limit.")
        return
    for row in asked.wrong(rows, level)[:1]:
        size = float(np_max(row[1].size))
        asked.notes.append(f"Rows of size {size:.0e} overflow: the range limit of {level}, which real kernels share.")


def _say_share(asked: Examination, rows: Sequence[Row], level: str) -> None:
    """The largest error, against decimals where float64 values are too coarse to measure by."""
    coarse = [level == "float64" and float(np_max(row[1].size * row[1].root)) > FINE for row in rows]
    known = [is_small(row[0]) for row in rows]
    measured = [
        (row[0], exact(asked.base(row[0]), row[0], row[1]), row[2]) if is_coarse and is_known else row
        for row, is_coarse, is_known in zip(rows, coarse, known, strict=True)
    ]
    worst = max((asked.worst(row, level) for row in measured), default=0.0)
    ulps = max((_ulps(row[1].y, row[2], level) for row in measured), default=0.0)
    stops = any(is_coarse and not is_known for is_coarse, is_known in zip(coarse, known, strict=True))
    asked.notes.append(
        f"Largest error on hard rows: {ulps:.3g} ulp of {level} at the largest |y|, {worst:.2g} of the bound that n, "
        f"x's condition and gamma allow{f', {STOPS}' if stops else ''}."
    )


def _ulps(there: Any, y: Any, level: str) -> float:
    """The largest error in units of the last place of the largest |y|."""
    import numpy as np

    apart = np.abs(np.asarray(y, np.float64) - there)
    return float(np.max(apart, initial=0) / (2 * UNIT[level] * np.max(np.abs(there), initial=1e-30)))
