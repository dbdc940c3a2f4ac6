"""Where an unknown mistake lies: which axes, which step, from which size or value on."""

from collections.abc import Sequence

from ..norm import Norm
from .blocks import rows_of
from .causes import causes
from .effective import added
from .examination import LEVELS, Examination, Row
from .fewest import fewest
from .instruments import Influence
from .pattern import pattern
from .shrink import smallest
from .verdict import Finding

NAME = "it is not this norm, and no known mistake"
SHOWN = 3  # rows
NOISE = 1e-9  # of the variance
STEADY = 1e-3  # of the variance: how much what is added to it may differ within a row


def localised(
    asked: Examination,
    rows: Sequence[Row],
    seen: Influence | None,
    forms: Sequence[tuple[str, str]] | None,
    stays: bool | None,
) -> Finding:
    """The finding of a function that no definition explains."""
    level = LEVELS[asked.dtype][-1]
    wrong = asked.wrong(rows, level) or list(rows)
    parts = [seen.text if seen else "", _entering(asked, rows, forms), _shift(asked, stays), *_divisor(asked, wrong)]
    parts += [f"{len(wrong)} of {len(rows)} probes are wrong", causes(asked, rows, level)]
    parts += [pattern(asked, wrong, level)]
    takes, rank = asked.implementation.accepts, rows[0][0].x.ndim
    small = smallest(asked.implementation, asked.maker, rank, takes, settled=asked.with_eps)
    small = small or fewest(asked, wrong[0], level)
    evidence = "; ".join(part for part in parts if part)
    reaction = seen.reaction if seen else None
    return Finding("unrecognised", NAME, evidence, "", "", small, "axes", reaction)


def _entering(asked: Examination, rows: Sequence[Row], forms: Sequence[tuple[str, str]] | None) -> str:
    base = asked.base(rows[0][0])
    if forms is None or not base.takes_gamma:
        return ""
    if not forms:
        return "gamma and beta enter in no way that is known, or y is not affine in them"
    is_right = forms[0] == (base.scale, base.shift)
    if idle := _idle(asked, base.norm):
        return f"{idle}; in the others they enter {'as they should' if is_right else 'as ' + ' and '.join(forms[0])}"
    return f"gamma and beta enter {'as they should' if is_right else 'as ' + ' and '.join(forms[0])}"


def _idle(asked: Examination, norm: Norm) -> str:
    """How many cells neither gamma nor beta reaches."""
    import numpy as np

    answers = asked.answers(asked.maker.affine(norm)[0])
    if not answers:
        return ""
    still = np.all([answer == answers[0] for answer in answers], axis=0)
    return f"gamma and beta do not reach {int(still.sum())} of {still.size} cells" if still.any() else ""


def _shift(asked: Examination, stays: bool | None) -> str:
    if stays is None or stays == asked.norm.center:
        return ""
    return f"y {'stays' if stays else 'does not stay'} when a constant is added to x"


def _divisor(asked: Examination, rows: Sequence[Row]) -> list[str]:
    """Whether one number a row, added to the variance, would explain the answers; for two eps those numbers."""
    first = _added(asked, rows[0])
    if first is None:
        return ["what would have to be added to the variance differs within a row: not the divisor alone is wrong"]
    other = next((row for row in rows if row[0].eps != rows[0][0].eps), None)
    told = [_told(rows[0], first)]
    if other is not None and (more := _added(asked, other)) is not None:
        told.append(_told(other, more))
    return ["what is added to the variance is one number a row: the divisor is wrong", *filter(None, told)]


def _told(row: Row, numbers: Sequence[tuple[float, float]]) -> str:
    """What is added in the first rows, beside eps."""
    if not numbers:
        return ""
    variances, added = (", ".join(f"{pair[at]:.3g}" for pair in numbers[:SHOWN]) for at in (0, 1))
    return f"with eps = {float(row[0].eps or 0):g} it is {added} for variances {variances}"


def _added(asked: Examination, row: Row) -> list[tuple[float, float]] | None:
    """The variance and what is added to it for every row where that is one number; None where it is not."""
    import numpy as np

    probe, values, y = row
    base = asked.base(probe)
    more, spread = added(values, y), np.broadcast_to(values.v, values.full)
    more, spread = (rows_of(each, base.norm) for each in (more, spread))
    made = []
    for numbers, v in zip(more, spread[:, 0], strict=True):
        known = numbers[np.isfinite(numbers)]
        if known.size and np.ptp(known) >= STEADY * np.max(values.v):
            return None
        if known.size:
            number = float(np.median(known))
            made.append((float(v), number if abs(number) > NOISE * v else 0.0))
    return made
