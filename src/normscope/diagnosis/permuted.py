"""The first instrument at rank 3 and more: x as a view with two axes exchanged, as attention heads leave it."""

from .examination import Examination, Row
from .shrink import shown, smallest
from .verdict import Finding


def judge_permuted(asked: Examination, level: str) -> list[Finding]:
    """A finding where a permuted view of the same cells gives something else; a call that fails there is a note."""
    before = len(asked.failures)
    rows = asked.ask(asked.maker.permuted())
    lost, asked.failures[before:] = asked.failures[before:], []
    if lost:
        asked.notes.append(f"It fails on a permuted view ({lost[0].text}): it takes x in one piece alone.")
    fine = {row[0].x.ndim for row in rows if row[0].layout == "contiguous" and not asked.wrong([row], level)}
    views = [row for row in rows if row[0].layout != "contiguous" and row[0].x.ndim in fine]
    return [finding(asked, row, level) for row in asked.wrong(views, level)[:1]]


def finding(asked: Examination, row: Row, level: str) -> Finding:
    """What is said of a view whose answer is neither the norm nor that of its buffer."""
    probe, values, y = row
    small = smallest(
        asked.implementation,
        asked.maker,
        probe.x.ndim,
        asked.implementation.accepts,
        layout=probe.layout,
        settled=asked.with_eps,
    )
    evidence = (
        f"the same x of shape {probe.x.shape} as a view with its first two axes exchanged differs from x in one piece "
        f"by {asked.worst(row, level):.3g} times the error bound{_what(row)}"
    )
    return Finding(
        "wrong-on-permuted-view",
        "a view with its axes exchanged gives something else than the same cells in one piece",
        evidence,
        "y = zeros_like(x); y.reshape(-1, d)[...] = norm(x): the reshape of a permuted array is a copy",
        "write into an array in C order, such as np.empty(x.shape), or return the result reshaped",
        small or shown(probe, values.y, y),
    )


def _what(row: Row) -> str:
    import numpy as np

    return "" if np.any(np.asarray(row[2], np.float64)) else "; every cell of y is 0"
