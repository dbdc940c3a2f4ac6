"""The reading in costs of a training step: the forward pass, what it saves, and the backward pass from dy.

Conventions are the ledger's. A staged run keeps every buffer of both passes for inspection; `centered` and
`across` become dx in place. A fused backward kernel reads dy, gamma and what was saved, x with mu and r as in
PyTorch, and writes dx, dgamma and dbeta; the fused forward one then writes mu and r beside y. Sums for dgamma
and dbeta that a kernel keeps apart until its blocks meet are workspace and not counted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..gradients import GRADIENTS, SAVED, saved_values, training
from ..norm import Norm
from ..page import notebook
from ..page.html import el
from ..page.numbers import count
from ..page.text import table
from .ledger import HEAD, KINDS, Ledger, Row, bytes_of, input_lines, ledger, rows_of, written_bytes
from .saving import Saving, savings


@dataclass(frozen=True)
class TrainingLedger:
    """The cost of one training step.

    forward  the forward pass
    inputs   bytes of dy
    rows     the backward steps in order, from xhat; from x, two steps that compute it again come on top
    results  bytes of dx, dgamma and dbeta (where dbeta is dy itself it is no buffer of its own)
    saved    bytes of what the forward pass keeps for the backward one, parameters apart: `saved["xhat"]` as the
             textbook has it, `saved["x"]` as PyTorch does

    >>> cost = training_ledger(Norm("B S [d]", affine="d"), (2, 4, 8))
    >>> cost.forward.flops, cost.backward_flops, cost.flops
    (456, 688, 1144)
    >>> cost.saved["xhat"], cost.saved["x"]
    ({'r': 32, 'xhat': 256}, {'x': 256, 'mu': 32, 'r': 32})
    """

    forward: Ledger
    inputs: Mapping[str, int]
    rows: tuple[Row, ...]
    results: Mapping[str, int]
    saved: Mapping[str, Mapping[str, int]]

    @property
    def backward_flops(self) -> int:
        """+ - * / of every backward step; none takes a root."""
        return sum(row.flops for row in self.rows)

    @property
    def flops(self) -> int:
        """+ - * / of both passes."""
        return self.forward.flops + self.backward_flops

    @property
    def backward_bytes(self) -> int:
        """Bytes of dy and of every buffer that a staged backward pass adds to those of the forward one."""
        return sum(self.inputs.values()) + sum(row.bytes for row in self.rows)

    @property
    def peak_bytes(self) -> int:
        """Bytes of every buffer that a staged run of both passes keeps."""
        return self.forward.peak_bytes + self.backward_bytes

    @property
    def fused_backward_bytes(self) -> int:
        """What a fused backward kernel moves: dy, gamma and what is saved, in; dx, dgamma and dbeta, out."""
        read = sum(self.inputs.values()) + sum(self.saved["x"].values()) + self.forward.inputs.get("gamma", 0)
        return read + sum(self.results.values())

    @property
    def fused_bytes(self) -> int:
        """What both fused kernels move; the forward one writes the statistics that are saved too."""
        statistics = (size for name, size in self.saved["x"].items() if name not in self.forward.inputs)
        return self.forward.fused_bytes + sum(statistics) + self.fused_backward_bytes

    @property
    def savings(self) -> tuple[Saving, ...]:
        """What each implementation saves, by its name: `saved` and, the third, autograd of the steps written out."""
        return savings(self.forward.norm, self.forward.sizes, self.forward.storage)

    def to_json(self) -> dict[str, Any]:
        """The forward ledger's JSON, with "backward" and "training" beside."""
        backward = {
            "inputs": dict(self.inputs),
            "saved": {way: dict(sizes) for way, sizes in self.saved.items()},
            "saved_by": {each.implementation: dict(each.values) for each in self.savings},
            "results": dict(self.results),
            "bytes": self.backward_bytes,
            "flops": self.backward_flops,
            "fused_bytes": self.fused_backward_bytes,
            "steps": [row.to_json() for row in self.rows],
        }
        both = {"peak_bytes": self.peak_bytes, "flops": self.flops, "fused_bytes": self.fused_bytes}
        return self.forward.to_json() | {"backward": backward, "training": both}

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        """For a notebook: the forward ledger and the tables of `text`."""
        tables = (notebook.table(lines) for lines in (self._lines(), self._totals()))
        notes = (el("p", note) for note in self._notes())
        return self.forward._repr_html_() + str(el("div", el("p", "Backward, from dy"), *tables, *notes))

    def text(self, color: bool = False) -> str:
        """Tables for people: the forward ledger, the backward steps, the totals of both, and what is saved."""
        back = "\n".join(["Backward, from dy", table(self._lines(), KINDS, color)])
        totals = "\n".join([table(self._totals(), "<>>>>>", color), *self._notes()])
        return "\n\n".join([self.forward.text(color), back, totals])

    def _lines(self) -> list[list[str]]:
        """The cells of the backward table; what is saved takes no new buffer, but is read again."""
        lines = [HEAD, *input_lines(self.inputs)]
        again = {name: size for name, size in self.forward.inputs.items() if name == "gamma"}
        for name, size in (dict(self.saved["x"]) | again).items():
            lines.append([f"{name} (saved)", "", *written_bytes(0), *written_bytes(size), "", ""])
        for row in self.rows:
            shape, written = " x ".join(map(str, row.shape)), self.results.get(row.name, 0)
            costs = [count(row.flops), count(row.roots)]
            lines.append([row.name, shape, *written_bytes(row.bytes), *written_bytes(written), *costs])
        total = [*written_bytes(self.backward_bytes), *written_bytes(self.fused_backward_bytes)]
        return [*lines, ["total", "", *total, count(self.backward_flops), count(0)]]

    def _totals(self) -> list[list[str]]:
        there = self.forward
        saving = self.fused_bytes - self.fused_backward_bytes
        figures = {
            "forward": (there.peak_bytes, saving, there.flops),
            "backward": (self.backward_bytes, self.fused_backward_bytes, self.backward_flops),
            "training step": (self.peak_bytes, self.fused_bytes, self.flops),
        }
        lines = [
            [name, *written_bytes(staged), *written_bytes(fused), count(flops)]
            for name, (staged, fused, flops) in figures.items()
        ]
        return [["pass", "staged bytes", "", "fused bytes", "", "FLOPs"], *lines]

    def _notes(self) -> list[str]:
        saved = (
            f"{', '.join(sizes)} ({count(sum(sizes.values()))} bytes)" for sizes in map(self.saved.__getitem__, SAVED)
        )
        same = [] if "dbeta" in self.results or "beta" not in self.forward.inputs else ["dbeta is dy."]
        *_, written_out = self.savings
        kept = f"{', '.join(written_out.values)} ({count(written_out.bytes)} bytes)"
        more = f"Written out step by step and left to autograd, the forward pass saves {kept}."
        return [more, f"Saved for backward: {' or '.join(saved)}; fused, the latter.", *same]


def training_ledger(norm: Norm, sizes: Mapping[str, int] | Sequence[int], storage: str = "float32") -> TrainingLedger:
    """What one forward and one backward pass of `norm` cost; arguments and errors are those of `ledger`."""
    there = ledger(norm, sizes, storage)
    fitted, program = there.norm, training(there.norm)

    def size(*names: str) -> dict[str, int]:
        return bytes_of(names, program, fitted, there.sizes, storage)

    rows = rows_of(program, fitted, there.sizes, storage)[len(there.rows) :]
    results = size(*(name for name in GRADIENTS if name in program.by_name))
    saved = {way: size(*saved_values(fitted, way)) for way in SAVED}
    return TrainingLedger(there, size("dy"), rows, results, saved)
