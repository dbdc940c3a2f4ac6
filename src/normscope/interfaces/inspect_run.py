"""A model run on a person's input: what enters, leaves and is lost in each of its norms, as tables and as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import FileError, ShapeError
from ..models.capture import captured
from ..models.found import Found
from ..models.measuring import Measured, Spread, measured
from ..models.modules import is_module
from ..models.passing import Passage
from ..page.numbers import ulps, written
from ..page.text import table
from .feeds import read_feeds
from .progress import Progress

LONGEST = 44  # characters of a place in a table
TOLD = 3  # outlier features of a norm that a table names
ENTERS = (
    "norm",
    "kind",
    "rows",
    "mean",
    "var, median",
    "var, most",
    "max |x|",
    "feature",
    "outlier features",
    "eps, most",
)
LEAVES = ("norm", "gamma", "beta", "y off by", "bf16", "bf16 stat.", "fp16", "fp16 stat.")
NONE = "—"
BREAKS = "A name behind an error is that of the step whose value is the first not to be finite."


@dataclass(frozen=True)
class Run:
    """What one run showed.

    norms     every call of a norm in figures, in the order of the run
    warnings  what could not be had, and what was done to the input
    called    the norms that only the run showed: functions that a PyTorch module calls
    """

    norms: tuple[Measured, ...]
    warnings: tuple[str, ...]
    called: tuple[Found, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The figures as JSON values."""
        return {"norms": [each.to_json() for each in self.norms], "warnings": list(self.warnings)}


def run(source: Any, norms: Sequence[Found], feeds: str) -> Run:
    """Run a model on the arrays of an .npz file and measure what goes through its norms.

    source  what was inspected: a path or a PyTorch module
    Raises FileError for feeds that are not the model's, a model that cannot be run, and where nothing that goes
    through its norms can be measured.
    """
    made: list[Measured] = []
    strange: list[str] = []
    known = {found.where for found in norms}
    called: dict[str, Found] = {}

    def each(passage: Passage) -> None:
        if passage.found.where not in known:
            called.setdefault(passage.found.where, passage.found)
        try:
            made.append(measured(passage))
        except ShapeError as error:
            strange.append(f"{passage.where}: what goes through it cannot be measured: {error}")

    with Progress() as progress:
        progress.status = lambda: f"running the model; {len(made)} of {len(norms)} norms are measured"
        notes = captured(source, read_feeds(feeds), norms, each)
    if strange and not made:
        raise FileError(" ".join(["nothing could be measured.", *notes, *strange]))
    return Run(tuple(made), (*notes, *strange), tuple(called.values()))


def passage_at(source: Any, norms: Sequence[Found], feeds: str, where: str) -> Passage:
    """What goes through one norm, by its place; FileError where there is none, or its name could mean several."""
    arrays, named = read_feeds(feeds), {found.where: found for found in norms}
    if is_module(source) and not any(where in name for name in named):
        captured(source, arrays, norms, lambda each: named.update({each.found.where: each.found}))  # functions too
    found = _named(list(named.values()), where)
    kept: list[Passage] = []

    def keep(passage: Passage) -> None:
        if passage.found.where == found.where and not kept:
            kept.append(passage)

    notes = captured(source, arrays, norms if is_module(source) else [found], keep)
    if not kept:
        raise FileError(" ".join([f"nothing went through {found.where}.", *notes]))
    return kept[0]


def _named(norms: Sequence[Found], where: str) -> Found:
    """The norm at a place: its whole name, else the only one whose name ends or begins so."""
    exact = [found for found in norms if found.where == where]
    some = exact or [found for found in norms if where in found.where]
    if len(some) == 1:
        return some[0]
    names = ", ".join(found.where for found in (some or norms)[:8])
    more = " ..." if len(some or norms) > 8 else ""
    why = f"'{where}' could be {len(some)} of the norms" if some else f"there is no norm at '{where}'"
    raise NoSuchNorm(f"{why}: {names}{more}.")


class NoSuchNorm(FileError):
    """A place where no norm is: a wrong request, as the command line counts it."""

    exit_code = 2


def text(made: Run, color: bool = False, how: str = "") -> str:
    """Two tables for a terminal, warnings, and how to go on."""
    if not made.norms:
        return "\n".join(["Nothing went through a norm.", *told(made)])
    enters = table([list(ENTERS), *map(_enters, made.norms)], "<<>>>>>><>", color)
    leaves = table([list(LEAVES), *map(_leaves, made.norms)], "<<<>>>>>", color)
    parts = [
        "What enters each norm",
        enters,
        "What leaves it, and the worst error of a row in narrow formats, in ulps",
        leaves,
    ]
    breaks = any(lost.breaks_at for each in made.norms for lost in each.lost)
    notes = "\n".join([*([BREAKS] if breaks else []), *told(made)])
    return "\n\n".join(filter(None, [*parts, notes, how]))


def _enters(each: Measured) -> list[str]:
    share = NONE if each.eps_share is None else written(each.eps_share.most, 3)
    figures = [written(each.mean.median, 4), written(each.var.median, 4), written(each.var.most, 5)]
    peak = [written(each.largest, 5), str(each.feature)]
    return [cut(each.where), each.kind, f"{each.rows:,}", *figures, *peak, outliers(each), share]


def _leaves(each: Measured) -> list[str]:
    off = NONE if each.apart is None else written(each.apart, 2)
    lost = [lost_text(each, at) for at in range(4)]
    return [cut(each.where), *(reach(each.parameters.get(role)) for role in ("gamma", "beta")), off, *lost]


def outliers(each: Measured) -> str:
    """The features that stand out, the furthest first, as many as fit."""
    named = [str(at) for at, _ in each.outliers[:TOLD]]
    return ", ".join(named) + (" …" if len(each.outliers) > TOLD else "") if named else NONE


def lost_text(each: Measured, at: int) -> str:
    """The worst error under a policy, with the value that is first not to be finite."""
    if at >= len(each.lost):
        return NONE
    lost = each.lost[at]
    return ulps(lost.worst) + (f" {lost.breaks_at}" if lost.breaks_at else "")


def reach(spread: Spread | None) -> str:
    """From the least to the most.

    >>> reach(Spread(0.5, 0.9, 1.0, 1.1, 2.0))
    '0.5 to 2'
    """
    return NONE if spread is None else f"{written(spread.least, 3)} to {written(spread.most, 3)}"


def cut(where: str) -> str:
    """A place, its middle left out where it is long."""
    return where if len(where) <= LONGEST else f"{where[:12]}…{where[-(LONGEST - 13) :]}"


def told(made: Run) -> Iterator[str]:
    """What must be said, each once."""
    yield from dict.fromkeys(
        [*made.warnings, *(f"{each.where}: {line}" for each in made.norms for line in each.warnings)]
    )
