"""The reading in costs of a whole model: all of its norms, in one forward pass and in one training step.

Conventions are the ledger's and the training ledger's; the figures of one norm, times the count of norms alike.
Moved is what goes between memory and the kernels: staged, every step is a kernel of its own, which reads its
arguments and writes its result; fused, a pass is one kernel. Saved is what stays from the forward to the backward
pass of each norm: x, mu and r as PyTorch keeps them (x is often kept anyway), or xhat and r as the textbook does.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..axes import whole
from ..errors import NormError, ShapeError
from ..gradients import saved_values, training
from ..norm import Norm
from ..page import notebook
from ..page.html import el
from ..page.numbers import bytes_, count
from ..page.text import table
from ..presets import PRESETS, Norms, Preset
from ..program import Program, Step
from ..steps import forward as forward_of
from .ledger import bytes_of
from .training import TrainingLedger, training_ledger

FORWARD = ["one forward pass", "x of each", "norms", "moved, staged", "", "moved, fused", "", "FLOPs", "1/sqrt"]
TRAINING = ["one training step", "saved", "", "moved, staged", "", "moved, fused", "", "FLOPs"]


@dataclass(frozen=True)
class Figures:
    """Costs of norms: bytes, and + - * / as FLOPs.

    moved  forward and backward together in a training step
    saved  by the way of keeping: "x" as PyTorch does, "xhat"; nothing in a forward pass alone
    """

    flops: int
    roots: int
    staged: int
    fused: int
    saved: Mapping[str, int]

    def times(self, number: int) -> "Figures":
        """Those of so many norms."""
        saved = {way: number * size for way, size in self.saved.items()}
        return Figures(number * self.flops, number * self.roots, number * self.staged, number * self.fused, saved)

    def to_json(self) -> dict[str, Any]:
        """The figures as JSON values."""
        data = {"flops": self.flops, "reciprocal_roots": self.roots}
        saved = {"saved_bytes": dict(self.saved)} if self.saved else {}
        return data | {"moved_bytes": {"staged": self.staged, "fused": self.fused}} | saved


def total(figures: Iterable[Figures]) -> Figures:
    """Their sum."""
    every = list(figures)
    ways = {way: sum(each.saved[way] for each in every) for way in every[0].saved}
    flops, roots = sum(each.flops for each in every), sum(each.roots for each in every)
    return Figures(flops, roots, sum(each.staged for each in every), sum(each.fused for each in every), ways)


@dataclass(frozen=True)
class ModelRow:
    """The norms of a model that are alike, and what all of them cost together.

    shape  of what each of them reads
    one    the ledger of one of them
    """

    norms: Norms
    norm: Norm
    shape: tuple[int, ...]
    one: TrainingLedger
    forward: Figures
    training: Figures

    def to_json(self) -> dict[str, Any]:
        """The row as JSON values."""
        head = {"where": self.norms.where, "norm": self.norm.to_json(), "shape": list(self.shape)}
        figures = {"forward": self.forward.to_json(), "training": self.training.to_json()}
        return head | {"count": self.norms.count} | figures


@dataclass(frozen=True)
class ModelLedger:
    """The cost of every norm of a model.

    >>> cost = model_ledger("llama-3-8b", batch=1, seq=8192, storage="bfloat16")
    >>> cost.calls, cost.forward.fused, cost.training.saved["x"]
    (65, 8724684800, 4364206080)
    """

    model: Preset
    batch: int
    seq: int
    storage: str
    rows: tuple[ModelRow, ...]

    @property
    def calls(self) -> int:
        """The norms in one forward pass."""
        return self.model.calls

    @property
    def forward(self) -> Figures:
        """One forward pass of all norms."""
        return total(row.forward for row in self.rows)

    @property
    def training(self) -> Figures:
        """One forward and one backward pass of all norms."""
        return total(row.training for row in self.rows)

    @property
    def notes(self) -> tuple[str, ...]:
        """Where the norms are from, and where the sequence is longer than the model's."""
        model = self.model
        longer = f"The model's longest sequence is {count(model.positions)}." if self.seq > model.positions else ""
        pytorch, textbook = (_listed(saved_values(model.norm(), way)) for way in ("x", "xhat"))
        size = self.training.saved["xhat"]
        kept = f"Saved: {pytorch}, as PyTorch does; {textbook} would be {count(size)} bytes ({bytes_(size)})."
        return tuple(filter(None, (longer, kept, f"Norms: {model.about}.")))

    def to_json(self) -> dict[str, Any]:
        """Totals and rows as JSON values."""
        return {
            "model": self.model.name,
            "batch": self.batch,
            "seq": self.seq,
            "storage": self.storage,
            "count": self.calls,
            "forward": self.forward.to_json(),
            "training": self.training.to_json(),
            "norms": [row.to_json() for row in self.rows],
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        """For a notebook: the tables of `text`."""
        tables = (notebook.table(lines) for lines in (self._forward(), self._training()))
        return str(el("div", el("p", self._head), *tables, *(el("p", note) for note in self.notes)))

    def text(self, color: bool = False) -> str:
        """Tables for people: a line for the norms that are alike, the forward pass and the training step."""
        tables = table(self._forward(), "<<>>>>>>>", color), table(self._training(), "<>>>>>>>", color)
        return "\n\n".join([self._head, *tables, "\n".join(self.notes)])

    @property
    def _head(self) -> str:
        norm = self.model.norm()
        offset = f" with gamma + {norm.offset}" if norm.offset else ""
        sizes = f"B = {count(self.batch)}" + (f", S = {count(self.seq)}" if self.seq else "")
        return f"{self.model.name}: {self.calls} {norm.name}s{offset}; {sizes}, {self.storage}, statistics in float32"

    def _forward(self) -> list[list[str]]:
        lines = [[row.norms.where, " x ".join(map(str, row.shape)), str(row.norms.count)] for row in self.rows]
        heads = [*lines, ["total", "", str(self.calls)]]
        figures = (*(row.forward for row in self.rows), self.forward)
        made = zip(heads, figures, strict=True)
        return [FORWARD, *([*head, *_moved(each), count(each.flops), count(each.roots)] for head, each in made)]

    def _training(self) -> list[list[str]]:
        figures = [*((row.norms.where, row.training) for row in self.rows), ("total", self.training)]
        lines = ([name, *_bytes(each.saved["x"]), *_moved(each), count(each.flops)] for name, each in figures)
        return [TRAINING, *lines]


def _listed(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _bytes(size: int) -> tuple[str, str]:
    return count(size), bytes_(size)


def _moved(figures: Figures) -> list[str]:
    return [*_bytes(figures.staged), *_bytes(figures.fused)]


def model_ledger(model: Preset | str, batch: int = 1, seq: int | None = None, storage: str = "float32") -> ModelLedger:
    """What all norms of a model cost in one forward pass and in one training step.

    model    a preset or its name, a key of `presets.PRESETS`
    batch    sequences (or images)
    seq      tokens of each; None: as many as the model takes. What has positions of its own, such as the image
             beside a text, keeps them
    storage  float64, float32, bfloat16, float16, float8_e4m3fn or float8_e5m2; statistics are FP32 always

    >>> model_ledger("gpt2-small", batch=8).forward.flops
    1101209600

    Raises NormError for a name that is no preset, ShapeError for a size that is none and DtypeError for an unknown
    storage.
    """
    chosen = _preset(model)
    batch, seq = _size("batch", batch), _sequence(chosen, seq)
    rows = tuple(_row(chosen, norms, batch, seq, storage) for norms in chosen.norms)
    return ModelLedger(chosen, batch, seq, storage, rows)


def _preset(model: object) -> Preset:
    if isinstance(model, Preset):
        return model
    if not isinstance(model, str) or model not in PRESETS:
        raise NormError(f"model is {model!r}; it must be a Preset or the name of one: {', '.join(PRESETS)}.")
    return PRESETS[model]


def _sequence(model: Preset, seq: int | None) -> int:
    if seq is None:
        return model.positions
    if not model.positions:
        raise ShapeError(f"seq is {seq!r}; {model.name} reads no sequence, and its images have one size: leave it out.")
    return _size("seq", seq)


def _size(name: str, size: object) -> int:
    number = whole(size)
    if number is None or number < 1:
        raise ShapeError(f"{name} is {size!r}; it must be a whole number from 1.")
    return number


def _row(model: Preset, norms: Norms, batch: int, seq: int, storage: str) -> ModelRow:
    norm, shape = model.norm_of(norms), model.shape_of(norms, batch, seq)
    one = training_ledger(norm, shape, storage)
    there, program = one.forward, training(norm)
    forward = Figures(there.flops, there.reciprocal_roots, moved(forward_of(norm), program, one), there.fused_bytes, {})
    saved = {way: sum(sizes.values()) for way, sizes in one.saved.items()}
    both = Figures(one.flops, there.reciprocal_roots, moved(program, program, one), one.fused_bytes, saved)
    return ModelRow(norms, norm, shape, one, forward.times(norms.count), both.times(norms.count))


def moved(steps: Iterable[Step], program: Program, cost: TrainingLedger) -> int:
    """Bytes that the steps move, each a kernel of its own: it reads its arguments and writes its result."""
    norm, sizes, storage = cost.forward.norm, cost.forward.sizes, cost.forward.storage
    touched = (
        {arg for arg in step.args if isinstance(arg, str)} | {step.name}  # an argument that stands twice is read once
        for step in steps
    )
    return sum(sum(bytes_of(names, program, norm, sizes, storage).values()) for names in touched)
