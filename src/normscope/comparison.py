"""The same data under several norms: which cells share a statistic, and which outputs one cell moves.

gamma and beta are left out: what differs is the axes alone. Nothing is defined here; every number is read
from a `trace`, or from the program that updates running statistics.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

from .averages import Running, by_group, history
from .axes import Axes
from .conventions import axis_words
from .errors import ShapeError
from .kinds import NAMES as NAMES
from .kinds import Norms, asked, kind_of
from .norm import Norm, Number
from .page import text
from .page.html import el
from .page.notebook import fold, table
from .tracing import Trace, shape_of, trace
from .views import cells

HEAD = ["norm", "pattern", "reduced", "kept", "statistics", "cells each", "one cell moves"]

ALONE = "a statistic has one cell here: PyTorch refuses to train on it, and there is no variance over n - 1."

Index = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Compared:
    """One norm of a comparison.

    name     as it was asked for: a key of `NAMES`, a pattern, a norm's name
    trace    every step of it
    running  for a BatchNorm: its running statistics
    """

    name: str
    trace: Trace
    running: Running | None = None

    @property
    def norm(self) -> Norm:
        """The norm, fitted to x."""
        return self.trace.norm

    @property
    def title(self) -> str:
        """What people call it."""
        return NAMES.get(self.name, self.norm.name)

    @property
    def pattern(self) -> str:
        """The axes of x, the reduced ones in brackets."""
        return self.norm.pattern

    @property
    def reduced(self) -> Axes:
        """The axes along which cells share a statistic."""
        return self.norm.over

    @property
    def kept(self) -> Axes:
        """The axes of the statistics."""
        return self.norm.kept

    @property
    def groups(self) -> int:
        """How many statistics there are."""
        return prod(self.trace.sizes[axis] for axis in self.kept)

    @property
    def cells(self) -> int:
        """How many cells of x share one."""
        return prod(self.trace.sizes[axis] for axis in self.reduced)

    @property
    def xhat(self) -> Any:
        """The normalized x, in x's own shape."""
        return self.trace.output

    @property
    def mean(self) -> Any:
        """The mean of each group, by kept position; None where the norm subtracts none."""
        if not self.norm.center:
            return None
        return by_group(self.trace, self.trace.inputs["running_mean"] if self.norm.running else self.trace["mu"])

    @property
    def variance(self) -> Any:
        """The variance of each group, by kept position; of an RMSNorm the mean square."""
        return by_group(self.trace, self.trace.inputs["running_var"] if self.norm.running else self.trace["var"])

    @property
    def group_of(self) -> tuple[int, ...]:
        """For every cell of x in order the group that it is in, counted from 0 along the kept axes.

        >>> compare([[1, 2], [3, 4]], "batch_norm")[0].group_of
        (0, 1, 0, 1)
        """
        return cells.places(self.trace.shape_of("r"), tuple(self.trace.sizes.values()))

    def moved_by(self, *index: int) -> list[Index]:
        """The cells of xhat that change with x[index].

        The whole group, since all of it shares a statistic; the cell alone where running statistics are held (see
        `moves`); none where a cell is a group of its own, and so its own mean.

        >>> compare([[1, 2], [3, 4]], "layer_norm")[0].moved_by(1, 0)
        [(1, 0), (1, 1)]
        """
        shape, group_of = self.trace.shape, self.group_of
        at = _flat(index, shape)
        if self.moves < 2:
            return [tuple(text.unravel(at, shape))] * self.moves
        return [tuple(text.unravel(cell, shape)) for cell, group in enumerate(group_of) if group == group_of[at]]

    @property
    def moves(self) -> int:
        """How many cells of xhat one cell of x moves: the length of `moved_by`.

        1 for a BatchNorm in evaluation, with its running statistics held. Those that `compare` takes from x itself
        (`batches` above 0) change with x too, and then the others of the group move as well.
        """
        if self.norm.running:
            return 1
        return 0 if self.norm.center and self.cells == 1 else self.cells

    @property
    def axis(self) -> dict[str, str]:
        """How PyTorch, Keras and NumPy are told the axes: `axis` is the reduced one in some, the kept in others."""
        return axis_words(self.norm, self.trace.shape, kind_of(self.norm))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know: a dtype that was widened, statistics that one cell alone cannot have."""
        is_trained = self.running.batches > 0 if self.running else kind_of(self.norm) == "instance_norm"
        return self.trace.notes + ((ALONE,) if is_trained and self.cells == 1 else ())

    @property
    def row(self) -> list[str]:
        """Its line in the table."""
        counts = (self.groups, self.cells, self.moves)
        return [self.title, self.pattern, " ".join(self.reduced), " ".join(self.kept) or "-", *map(str, counts)]

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON values and arrays nested by shape."""
        made = {
            "name": self.name,
            "title": self.title,
            "pattern": self.pattern,
            "reduced": list(self.reduced),
            "kept": list(self.kept),
            "groups": self.groups,
            "cells": self.cells,
            "moves": self.moves,
            "eps": float(self.trace.inputs["eps"]),
            "mean": self.mean,
            "variance": self.variance,
            "xhat": self.xhat,
            "axis": self.axis,
            "notes": list(self.notes),
        }
        return made | ({"running": self.running._asdict()} if self.running else {})


@dataclass(frozen=True, eq=False)
class Comparison:
    """Several norms on the same x; `comparison[0]` or `comparison["layer_norm"]` is one of them."""

    norms: tuple[Compared, ...]

    def __iter__(self) -> Iterator[Compared]:
        return iter(self.norms)

    def __len__(self) -> int:
        return len(self.norms)

    def __getitem__(self, key: int | str) -> Compared:
        if isinstance(key, int):
            return self.norms[key]
        if not isinstance(key, str):
            raise TypeError(f"{key!r} is no place and no name; comparison.norms is the tuple of all, for slices.")
        for each in self.norms:
            if each.name == key:
                return each
        raise KeyError(f"the comparison has no '{key}'; it has {', '.join(each.name for each in self.norms)}.")

    @property
    def title(self) -> str:
        """The shape of x, and how many norms there are."""
        count = len(self.norms)
        return f"x of shape {self.norms[0].trace.shape} under {count} norm{'s' * (count != 1)}"

    @property
    def notes(self) -> list[str]:
        """The notes of all norms, each once, behind the norms that it is of."""
        titles: dict[str, list[str]] = {}
        for each in self.norms:
            for note in each.notes:
                titles.setdefault(note, []).append(each.title)
        return [f"{', '.join(of)}: {note}" for note, of in titles.items()]

    def text(self, color: bool = False) -> str:
        """A table: a line for each norm; the notes under it."""
        rows = [HEAD, *(each.row for each in self.norms)]
        lines = (f"  {line}" for line in text.table(rows, "<<<<>>>", color).splitlines())
        return "\n".join([self.title, *lines, *self.notes])

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        """For a notebook: the table, and xhat of each norm folded under its name."""
        folded = (
            fold(f"xhat of {each.title} '{each.pattern}'", table(*text.layout(*drawn(each)))) for each in self.norms
        )
        rows = table([HEAD, *(each.row for each in self.norms)])
        notes = (el("p", note) for note in self.notes)
        return str(el("div", el("p", self.title), rows, *notes, *folded))

    def to_json(self) -> dict[str, Any]:
        """`{"norms": [{"name", "pattern", "reduced", "kept", "groups", "xhat", ...}]}`."""
        return {"norms": [each.to_json() for each in self.norms]}


def drawn(each: Compared) -> tuple[list[str], tuple[int, ...], Any]:
    """The axes of xhat in x's own layout, its shape and its cells, as `text.tensor` takes them."""
    names = [dim[0] if len(dim) == 1 else f"({' '.join(dim)})" for dim in each.norm.layout.dims]
    return names, each.trace.shape, each.xhat


def compare(
    x: Any,
    norms: Norms = ("layer_norm", "batch_norm"),
    *,
    layout: str = "tokens",
    eps: Number | None = None,
    num_groups: int | None = None,
    running_mean: Any = None,
    running_var: Any = None,
    momentum: float | str | None = None,
    convention: str = "pytorch",
    batches: int | None = None,
) -> Comparison:
    """Run several norms on the same x, without gamma and beta.

    x             nested lists, a NumPy array or any Array API array
    norms         names of `NAMES`, patterns such as `"B [S] d"`, and Norms; a text may hold several, with commas
    layout        what the names take the axes of x to be: `tokens`, features last (d; S d; B S d; ...), or
                  `channels`, the second axis (N C; N C L; N C H W; ...). Patterns and Norms name their own
    eps           of every norm; None: each norm's own
    num_groups    of group_norm, and of an axis g that a pattern splits off, as in `"B [S] (g [c])"`
    running_mean, running_var   by kept position, what a BatchNorm starts from; None: zeros and ones
    momentum      of the running statistics; None: the convention's own, 0.1 or 0.99
    convention    `pytorch` or `keras`: which value the momentum weighs, which variance is kept
    batches       how often x was seen in training; None: once, not at all where running statistics are given.
                  `batch_norm_eval` uses the running statistics after these

    >>> compare([[0.0, 2.0], [4.0, 8.0]], eps=0)
    x of shape (2, 2) under 2 norms
      norm       pattern  reduced  kept  statistics  cells each  one cell moves
      LayerNorm  S [d]    d        S              2           2               2
      BatchNorm  [S] d    S        d              2           2               2

    Raises NormError, PatternError, ShapeError or DtypeError; the message names the argument and the fix.
    """
    shape = shape_of(x, "x")
    after = history(convention, momentum, running_mean, running_var, batches)
    made = []
    kept: dict[str, Running] = {}  # training and evaluation have the same
    for name, norm in asked(norms, len(shape), layout, eps, num_groups):
        is_batch_norm = norm.running or norm.name == "BatchNorm"
        if is_batch_norm and norm.pattern not in kept:
            kept[norm.pattern] = after.running(x, shape, norm)
        running = kept[norm.pattern] if is_batch_norm else None
        given = {"running_mean": running.mean, "running_var": running.var} if running and norm.running else {}
        made.append(Compared(name, trace(x, norm, **given), running))
    return Comparison(tuple(made))


def _flat(index: Index, shape: Index) -> int:
    """The place of a cell in row-major order."""
    if len(index) != len(shape) or not all(0 <= i < size for i, size in zip(index, shape, strict=True)):
        raise ShapeError(f"there is no cell {index} in x of shape {shape}; give one index from 0 for each dimension.")
    at = 0
    for i, size in zip(index, shape, strict=True):
        at = at * size + i
    return at
