"""On which probes an unknown mistake is seen: from which width on, with which eps, on rows of which size."""

from collections.abc import Callable, Sequence
from typing import Any

from .examination import Examination, Row

KINDS: Sequence[tuple[str, Callable[[Row], Any]]] = (
    ("rows of {} cells", lambda row: int(row[1].cells)),
    ("probes with eps = {}", lambda row: float(row[0].eps or 0)),
)


def causes(asked: Examination, rows: Sequence[Row], level: str) -> str:
    """What sets the wrong probes apart from the right ones; empty where nothing does."""
    wrong = asked.wrong(rows, level)
    fine = [row for row in rows if not any(row is each for each in wrong)]
    if not wrong or not fine:
        return ""
    for place, (text, of) in enumerate(KINDS):
        good, bad = ({of(row) for row in part} for part in (fine, wrong))
        if good & bad:
            continue
        if place == 0 and min(bad) > max(good):
            return f"{text.format(_listed(good))} are right; the first wrong ones have {min(bad)}"
        if place == 0:
            return f"{text.format(_listed(good))} are right, those of {_listed(bad)} are wrong"
        return _eps_or_size(asked, fine, wrong, level, f"{text.format(_listed(bad))} are wrong")
    return ""


def _eps_or_size(asked: Examination, fine: Sequence[Row], wrong: Sequence[Row], level: str, text: str) -> str:
    """Probes of a small eps have small rows too: each is asked with the other's usual value."""
    one, other = fine[0][0], wrong[0][0]
    with_eps, with_rows = asked.ask([one.but(eps=other.eps)]), asked.ask([other.but(eps=one.eps)])
    by_eps, by_rows = bool(asked.wrong(with_eps, level)), bool(asked.wrong(with_rows, level))
    size = float(abs(other.x).max())
    if by_eps and not by_rows:
        return f"{text}, whatever the rows"
    if by_rows and not by_eps:
        return f"rows whose largest |x| is {size:.3g} are wrong, whatever eps"
    return f"{text}, and their rows reach |x| = {size:.3g}"


def _listed(values: set[Any]) -> str:
    return ", ".join(f"{value:g}" for value in sorted(values))
