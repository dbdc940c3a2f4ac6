"""The reading in costs: bytes kept and FLOPs of every step, derived from the program.

Conventions: + - * / count 1 each and reciprocal roots are counted apart; a mean over d cells costs d (d - 1
additions, 1 division). Statistics are kept in FP32, everything else in the storage dtype. What is kept is
what a staged run keeps for inspection: one buffer a step, except that the variance becomes v and r in place
and scaled becomes y in place. Not in these figures: gradients (views/training.py counts them), optimizer
state, the allocator's overhead, kernel workspace. A fused kernel reads x and the parameters and writes y;
nothing else reaches memory.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from ..axes import ELLIPSIS, Axes, sized, whole
from ..errors import ShapeError
from ..norm import Norm, a_norm
from ..page import notebook
from ..page.html import el
from ..page.numbers import bytes_, count
from ..page.text import table
from ..program import REDUCTIONS, Program, Step
from ..steps import NUMBERS, forward, is_statistic, trace_bytes
from .elsewhere import Count, elsewhere
from .formats import FORMATS, format_of

WIDTH = {name: each.bits // 8 for name, each in FORMATS.items()}
STATISTIC_WIDTH = 4
HEAD = ["step", "shape", "staged bytes", "", "fused bytes", "", "FLOPs", "1/sqrt"]
KINDS = "<<>>>>>>"  # of the columns: words to the left, numbers to the right


@dataclass(frozen=True)
class Cost:
    """What one step computes."""

    flops: int
    roots: int = 0


def _elementwise(cells: int, result: int) -> Cost:
    return Cost(result)


def _free(cells: int, result: int) -> Cost:
    return Cost(0)


def _root(cells: int, result: int) -> Cost:
    return Cost(0, result)


RULES = {
    "add": _elementwise,
    "sub": _elementwise,
    "mul": _elementwise,
    "recip": _elementwise,
    "mean": lambda cells, result: Cost(cells),
    "sum": lambda cells, result: Cost(max(0, cells - result)),  # a sum of no cells takes no addition
    "sqrt": _root,
    "rsqrt": _root,
    "maximum": _free,
    "abs": _free,
    "max": _free,
}


@dataclass(frozen=True)
class Row:
    """One line of the ledger: a step, with the small steps on statistics that are charged to it.

    steps  the names of the steps charged here; `v r xhat` stand together, since r is computed once a row
           where it is broadcast
    bytes  the buffers that are new with this row
    """

    name: str
    steps: tuple[str, ...]
    axes: Axes
    shape: tuple[int, ...]
    bytes: int
    flops: int
    roots: int

    def to_json(self) -> dict[str, Any]:
        """The row as JSON values."""
        axes, shape = list(self.axes), list(self.shape)
        figures = {"bytes": self.bytes, "flops": self.flops, "reciprocal_roots": self.roots}
        return {"name": self.name, "steps": list(self.steps), "axes": axes, "shape": shape} | figures


@dataclass(frozen=True)
class Ledger:
    """The cost of one forward pass.

    inputs  x and the parameters, bytes each
    rows    the steps in order; same_as is the step that y is, where there is no affine

    >>> cost = ledger(Norm("B S [d]", affine="d"), (2, 4, 8))
    >>> cost.peak_bytes, cost.flops, cost.reciprocal_roots
    (1408, 456, 8)
    """

    norm: Norm
    sizes: Mapping[str, int]
    storage: str
    inputs: Mapping[str, int]
    rows: tuple[Row, ...]

    @property
    def cells(self) -> int:
        """N, the number of cells of x."""
        return prod(self.sizes[axis] for axis in self.norm.axes)

    @property
    def statistics(self) -> int:
        """R, the number of rows that have a statistic each."""
        return prod(self.sizes[axis] for axis in self.norm.kept)

    @property
    def peak_bytes(self) -> int:
        """Bytes of every buffer that a staged run keeps."""
        return sum(self.inputs.values()) + sum(row.bytes for row in self.rows)

    @property
    def flops(self) -> int:
        """+ - * / of every step."""
        return sum(row.flops for row in self.rows)

    @property
    def reciprocal_roots(self) -> int:
        """1/sqrt of every step."""
        return sum(row.roots for row in self.rows)

    @property
    def fused_bytes(self) -> int:
        """What a fused kernel moves and keeps: x, the parameters and the output, each once."""
        return sum(self.inputs.values()) + self.cells * WIDTH[self.storage]

    @property
    def trace_bytes(self) -> int:
        """What `trace()` keeps of such an x: every step apart, float64 as it is and all else in float32."""
        return trace_bytes(forward(self.norm), self.sizes, WIDTH[self._traced_in])

    @property
    def elsewhere(self) -> tuple[Count, ...]:
        """What other tools count for this layer in PyTorch, each by its own convention; empty for other norms."""
        return elsewhere(self.norm, self.sizes)

    @property
    def _traced_in(self) -> str:
        return "float64" if self.storage == "float64" else "float32"

    @property
    def same_as(self) -> str:
        """The step that y is, where y is no step of its own."""
        return "" if self.rows[-1].name == "y" else self.rows[-1].name

    def to_json(self) -> dict[str, Any]:
        """Totals and rows as JSON values."""
        data = {
            "norm": self.norm.to_json(),
            "sizes": dict(self.sizes),
            "storage": self.storage,
            "N": self.cells,
            "R": self.statistics,
            "peak_bytes": self.peak_bytes,
            "flops": self.flops,
            "reciprocal_roots": self.reciprocal_roots,
            "fused_bytes": self.fused_bytes,
            "inputs": dict(self.inputs),
            "steps": [row.to_json() for row in self.rows],
        }
        others = {"elsewhere": [each._asdict() for each in self.elsewhere]} if self.elsewhere else {}
        return data | others | ({"same_as": self.same_as} if self.same_as else {})

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        """For a notebook: the table of `text`."""
        head, *notes = self._around
        return str(el("div", el("p", head), notebook.table(_lines(self)), *(el("p", note) for note in notes)))

    @property
    def _around(self) -> list[str]:
        """What stands above the table, and the notes below it."""
        head = f"{self.norm.name} '{self.norm.pattern}' of x {sized(self.norm.axes, self.sizes)}"
        named = [f"y is {self.same_as}: the norm has no gamma and beta."] if self.same_as else []
        kept = f"{count(self.trace_bytes)} bytes ({bytes_(self.trace_bytes)})"
        apart = f"A trace in {self._traced_in} keeps every step apart: {kept}."
        said = ["Other tools count by other conventions:"] if self.elsewhere else []
        others = [f"  {each.tool} says {count(each.says)} {each.unit}: {each.convention}." for each in self.elsewhere]
        return [f"{head}, {self.storage}, statistics in float32", *named, apart, *said, *others]

    def text(self, color: bool = False) -> str:
        """A table for people: every buffer and step, staged beside fused, and the totals."""
        head, *notes = self._around
        return "\n".join([head, table(_lines(self), KINDS, color), *notes])


def ledger(norm: Norm, sizes: Mapping[str, int] | Sequence[int], storage: str = "float32") -> Ledger:
    """What one forward pass of `norm` costs on an x of these sizes.

    sizes    by axis name, `{"B": 2, "S": 4, "d": 8}`, or a shape, `(2, 4, 8)`
    storage  float64, float32, bfloat16, float16, float8_e4m3fn or float8_e5m2; statistics are FP32 always

    Raises ShapeError for sizes that do not fit and DtypeError for an unknown storage.
    """
    format_of(storage, "storage")
    norm, sizes = fit_sizes(norm, sizes)
    program = forward(norm)
    given = bytes_of([name for name, _ in program.inputs], program, norm, sizes, storage)
    return Ledger(norm, sizes, storage, given, rows_of(program, norm, sizes, storage))


def rows_of(program: Program, norm: Norm, sizes: Mapping[str, int], storage: str) -> tuple[Row, ...]:
    """A program's steps as lines; those that only rewrite a statistic stand with the step that broadcasts it."""
    charged: list[tuple[Step, list[Step]]] = []
    waiting: list[Step] = []
    for step in program:
        waiting.append(step)
        if not _on_statistics(step, norm):
            charged.append((step, waiting))
            waiting = []
    seen: set[str] = set()
    return tuple(_row(step, steps, program, norm, sizes, WIDTH[storage], seen) for step, steps in charged)


def bytes_of(
    names: Iterable[str], program: Program, norm: Norm, sizes: Mapping[str, int], storage: str
) -> dict[str, int]:
    """Bytes of every value that is a tensor; a single number such as eps is an argument, not a buffer."""
    tensors = [(name, program.values[name]) for name in names if name not in NUMBERS]
    return {name: _count(axes, sizes) * _width(name, axes, norm, WIDTH[storage]) for name, axes in tensors}


def fit_sizes(norm: Norm, sizes: Mapping[str, int] | Sequence[int]) -> tuple[Norm, dict[str, int]]:
    """The norm without `...`, and a size for every axis, from sizes by name or from a shape."""
    norm = a_norm(norm)
    if isinstance(sizes, str) or not isinstance(sizes, Iterable):
        raise ShapeError(f"sizes is {sizes!r}; give sizes by axis name or a shape, such as (2, 4, 8).")
    shape = tuple(map(_size, sizes.values() if isinstance(sizes, Mapping) else sizes))
    if not isinstance(sizes, Mapping):
        norm = norm.fit(len(shape))
    else:
        free = tuple(axis for axis in sizes if axis not in norm.axes)
        norm = norm.fit(len(norm.layout.dims) - 1 + len(free), free) if ELLIPSIS in norm.axes else norm
        known = dict(norm.sizes) | dict(zip(sizes, shape, strict=True))
        for axis in norm.axes:
            if axis not in known:
                raise ShapeError(f"sizes lacks axis {axis}; {norm.name} '{norm.pattern}' needs all of its axes.")
        if unknown := [axis for axis in sizes if axis not in norm.axes]:
            raise ShapeError(f"sizes names axis {unknown[0]}; {norm.name} '{norm.pattern}' has no such axis.")
        shape = tuple(prod(known[axis] for axis in dim) for dim in norm.layout.dims)
    return norm, norm.sizes_for(shape)


def _lines(cost: Ledger) -> list[list[str]]:
    """The cells of the table; fused, only the inputs and the last step's result take memory."""
    lines = [HEAD, *input_lines(cost.inputs)]
    for row in cost.rows:
        fused = cost.cells * WIDTH[cost.storage] if row is cost.rows[-1] else 0
        shape = " x ".join(map(str, row.shape))
        counts = [count(row.flops), count(row.roots)]
        lines.append([", ".join(row.steps), shape, *written_bytes(row.bytes), *written_bytes(fused), *counts])
    counts = [count(cost.flops), count(cost.reciprocal_roots)]
    return [*lines, ["total", "", *written_bytes(cost.peak_bytes), *written_bytes(cost.fused_bytes), *counts]]


def input_lines(inputs: Mapping[str, int]) -> list[list[str]]:
    """A line for what a pass is given: staged and fused, it is there."""
    return [
        [f"{name} (input)", "", *written_bytes(size), *written_bytes(size), "", ""] for name, size in inputs.items()
    ]


def written_bytes(value: int) -> tuple[str, str]:
    """The exact number, and in KiB, MiB and so on where it is large."""
    return count(value), bytes_(value) if value >= 1024 else ""


def _size(size: object) -> int:
    count = whole(size)
    if count is None or count < 0:
        raise ShapeError(f"sizes holds {size!r}; a size is a whole number.")
    return count


def _on_statistics(step: Step, norm: Norm) -> bool:
    """Whether the step only rewrites a statistic: its cost goes to the step that broadcasts it."""
    return step.op not in REDUCTIONS and is_statistic(norm, step.name, step.axes)


def _row(
    step: Step,
    steps: list[Step],
    program: Program,
    norm: Norm,
    sizes: Mapping[str, int],
    width: int,
    seen: set[str],
) -> Row:
    costs, new = [], 0
    for each in steps:
        result = _count(each.axes, sizes)
        costs.append(RULES[each.op](result * _count(each.over, sizes), result))
        if each.into not in seen:
            new += result * _width(each.into, each.axes, norm, width)
            seen.add(each.into)
    shape = program.shape(step.axes, sizes)
    flops, roots = sum(cost.flops for cost in costs), sum(cost.roots for cost in costs)
    return Row(step.name, tuple(each.name for each in steps), step.axes, shape, new, flops, roots)


def _width(name: str, axes: Axes, norm: Norm, width: int) -> int:
    """Bytes a cell: statistics are FP32, all other values have the storage's width."""
    return STATISTIC_WIDTH if is_statistic(norm, name, axes) else width


def _count(axes: Axes, sizes: Mapping[str, int]) -> int:
    return prod(sizes[axis] for axis in axes)
