"""The ledger of the way back: its steps, what the forward pass saves for it, and both passes together."""

from collections.abc import Mapping

from ...page.html import Html, el, group
from ...page.numbers import bytes_, count
from ...views.training import TrainingLedger
from .ledger_lines import framed, heads, line, step_line


def backward_costs(ledger: TrainingLedger) -> Html:
    """The backward steps under the forward ones, as what is saved says what the forward pass is kept for."""
    return group(
        el("h2", "The way back, from dy", id="back-title"),
        framed(_table(ledger), "back-title"),
        el("p", _saved(ledger), class_="hint"),
        el("p", _both(ledger), class_="hint"),
    )


def _table(ledger: TrainingLedger) -> Html:
    """dy and what is saved are read; a fused kernel writes the gradients alone."""
    given = [line("dy (given)", "", size, size, 0, 0) for size in ledger.inputs.values()]
    read = dict(ledger.saved["x"]) | {name: size for name, size in ledger.forward.inputs.items() if name == "gamma"}
    again = [
        line(f"{name} ({'read again' if name == 'gamma' else 'saved'})", "", 0, size, 0, 0)
        for name, size in read.items()
    ]
    steps = (step_line(row, ledger.results.get(row.name, 0)) for row in ledger.rows)
    total = line("total", "", ledger.backward_bytes, ledger.fused_backward_bytes, ledger.backward_flops, 0)
    return el("table", heads(), el("tbody", *given, *again, *steps), el("tfoot", total))


def _saved(ledger: TrainingLedger) -> str:
    textbook, kernel = (_listed(ledger.saved[way]) for way in ("xhat", "x"))
    return (
        f"Saved by the forward pass: {textbook}, as the steps here read them; or {kernel}, as PyTorch does, which "
        "computes x̂ again: x is often kept anyway. Staged, nothing is copied for it; fused, the statistics are written."
    )


def _listed(sizes: Mapping[str, int]) -> str:
    return f"{', '.join(sizes)} ({bytes_(sum(sizes.values()))})"


def _both(ledger: TrainingLedger) -> str:
    return (
        f"Both passes: {count(ledger.peak_bytes)} bytes staged, {count(ledger.fused_bytes)} bytes fused and "
        f"{count(ledger.flops)} FLOPs."
    )
