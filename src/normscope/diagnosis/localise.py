"""Where an unknown mistake lies: which axes, which step, from which size or value on."""

from collections.abc import Sequence

from .definition import places
from .effective import added
from .examination import LEVELS, Examination, Row
from .instruments import Influence
from .shrink import shown, smallest
from .verdict import Finding

NAME = "it is not this norm, and no known mistake"
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
    parts = [seen.text if seen else "", _entering(asked, rows, forms), _shift(asked, stays), _divisor(asked, rows[0])]
    wrong = asked.wrong(rows, level) or list(rows)
    parts += [f"{len(wrong)} of {len(rows)} probes are wrong", _sizes(rows, wrong)]
    small = smallest(asked.implementation, asked.maker, rows[0][0].x.ndim, asked.implementation.accepts)
    probe, values, y = wrong[0]
    evidence = "; ".join(part for part in parts if part)
    reaction = seen.reaction if seen else None
    return Finding("unrecognised", NAME, evidence, "", "", small or shown(probe, values.y, y), "/inside?v=1", reaction)


def _entering(asked: Examination, rows: Sequence[Row], forms: Sequence[tuple[str, str]] | None) -> str:
    base = asked.base(rows[0][0])
    if forms is None or not base.takes_gamma:
        return ""
    if not forms:
        return "gamma and beta enter in no way that is known, or y is not affine in them"
    is_right = forms[0] == (base.scale, base.shift)
    return f"gamma and beta enter {'as they should' if is_right else 'as ' + ' and '.join(forms[0])}"


def _shift(asked: Examination, stays: bool | None) -> str:
    if stays is None or stays == asked.norm.center:
        return ""
    return f"y {'stays' if stays else 'does not stay'} when a constant is added to x"


def _divisor(asked: Examination, row: Row) -> str:
    """Whether one number a row, added to the variance, would explain the answers."""
    import numpy as np

    probe, values, y = row
    more = added(values, y)
    base = asked.base(probe)
    at = places(base.norm, base.over)
    known = np.isfinite(more)
    high, low = (
        np.max(more, axis=at, where=known, initial=-np.inf),
        np.min(more, axis=at, where=known, initial=np.inf),
    )
    spread = np.where(high >= low, high - low, 0.0)
    if np.max(spread) < STEADY * np.max(values.v):
        return "what is added to the variance is one number a row: the divisor is wrong"
    return "what would have to be added to the variance differs within a row: not the divisor alone is wrong"


def _sizes(rows: Sequence[Row], wrong: Sequence[Row]) -> str:
    """From which width on it is wrong."""
    sizes = sorted({row[1].cells for row in rows} - {row[1].cells for row in wrong})
    if not sizes:
        return ""
    least = min(row[1].cells for row in wrong)
    return f"rows of {', '.join(map(str, sizes))} cells are right; the first wrong ones have {least}"
