"""A right norm with something done outside of it: x added to the result, constant rows answered apart."""

from collections.abc import Sequence
from dataclasses import replace

from .bounds import share, shares
from .examination import Examination, Row
from .search import attempt
from .shrink import smallest
from .verdict import Finding


def nearly(asked: Examination, rows: Sequence[Row], level: str) -> Finding | None:
    """The finding of a function that is right but for that; None where it is not."""
    return _residual(asked, rows, level) or _guarded(asked, rows, level)


def _residual(asked: Examination, rows: Sequence[Row], level: str) -> Finding | None:
    """x added to the norm."""
    import numpy as np

    for probe, values, y in rows:
        with_x = replace(values, y=values.y + np.asarray(probe.x, np.float64))
        if share(with_x, y, level, asked.dtype) > 1:
            return None
    evidence = f"on {len(rows)} probes y - x is the norm of x"
    return _finding(asked, rows, "residual-added", "x is added to the normalized row", evidence, "norm(x) + x",
                    "return the norm alone; a residual connection adds x outside of it", "y")  # fmt: skip


def _guarded(asked: Examination, rows: Sequence[Row], level: str) -> Finding | None:
    """No eps at all, where rows without variance, which would be 0/0, are answered apart."""
    import numpy as np

    without = replace(asked.base(rows[0][0]), division="sqrt(v)")
    constant = []
    for probe, _, y in rows:
        values = attempt(without, probe)
        if values is None:
            return None
        has_variance = np.broadcast_to(values.v > 0, values.full).reshape(values.y.shape)
        if np.any(shares(values, y, level, asked.dtype)[has_variance] > 1):
            return None
        constant.append(np.asarray(y, np.float64)[~has_variance])
    if not np.isfinite(np.concatenate(constant)).all():
        return None
    evidence = (
        f"rows with a variance are right with eps = 0 on all {len(rows)} probes: 0 is added to the variance instead of "
        "eps; rows without one are finite, so 0/0 is avoided there"
    )
    name = "eps has no effect: only rows without variance are kept from 0/0"
    text = "(x - mean) / sqrt(var), rows of variance 0 apart"
    return _finding(asked, rows, "eps-missing", name, evidence, text, "add eps to the variance of every row", "r")


def _finding(
    asked: Examination, rows: Sequence[Row], id: str, name: str, evidence: str, text: str, fix: str, step: str
) -> Finding:
    rank, takes = rows[0][0].x.ndim, asked.implementation.accepts
    small = smallest(asked.implementation, asked.maker, rank, takes, settled=asked.with_eps)
    return Finding(id, name, evidence, text, fix, small, step)
