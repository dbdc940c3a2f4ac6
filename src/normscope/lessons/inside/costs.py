"""The ledger of "Inside LayerNorm": bytes and FLOPs of every step, staged and fused, of the whole tensor."""

from functools import lru_cache

from ...axes import Axes
from ...norm import Norm
from ...page.html import Html, el, group, region
from ...page.numbers import count
from ...steps import forward
from ...views.ledger import WIDTH, Ledger
from ...views.ledger import ledger as costs_of
from ...views.training import training_ledger
from .costs_back import backward_costs
from .ledger_lines import framed, heads, line, step_line
from .view import View

PROBE = {"B": 1, "S": 100, "d": 1_000_000}


def costs(view: View) -> Html:
    """The ledger as a table with its totals; with the way back, that of its pass too."""
    return _costs(view.norm, tuple(view.sizes.items()), view.state.storage, view.state.back)


@lru_cache(maxsize=32)
def _costs(norm: Norm, sizes: tuple[tuple[str, int], ...], storage: str, back: bool) -> Html:
    """Kept, since no number of the tensor is in it."""
    ledger = costs_of(norm, dict(sizes), storage)
    where = ", ".join(f"{axis} = {count(size)}" for axis, size in sizes)
    body = group(
        el("h2", "Ledger of one forward pass", id="ledger-title"),
        el("p", f"{where}; {storage}, statistics in float32.", class_="where"),
        framed(_table(ledger), "ledger-title"),
        el("p", _closed_form(ledger), class_="hint"),
        backward_costs(training_ledger(norm, dict(sizes), storage)) if back else None,
    )
    return region(el("section", body, id="ledger", class_="ledger"), "ledger")


def _table(ledger: Ledger) -> Html:
    """A line a buffer or step; fused, only the inputs and the output reach memory."""
    axes = forward(ledger.norm).values
    inputs = (line(name, _shape(ledger, axes[name]), size, size, 0, 0) for name, size in ledger.inputs.items())
    last = ledger.rows[-1]
    output = ledger.fused_bytes - sum(ledger.inputs.values())
    steps = (step_line(row, output if row is last else 0) for row in ledger.rows)
    total = line("total", "", ledger.peak_bytes, ledger.fused_bytes, ledger.flops, ledger.reciprocal_roots)
    return el("table", heads(), el("tbody", *inputs, *steps), el("tfoot", total))


def _shape(ledger: Ledger, axes: Axes) -> str:
    return " × ".join(count(ledger.sizes[axis]) for axis in axes)


def _closed_form(ledger: Ledger) -> str:
    """The totals as the sums that they are, read off the ledger of a tensor whose N, d and R cannot be mixed up."""
    rows, d, cells = PROBE["S"], PROBE["d"], PROBE["S"] * PROBE["d"]
    probe = costs_of(ledger.norm, PROBE, "float8_e4m3fn")
    full, rest = divmod(probe.peak_bytes, cells)
    parameters, rest = divmod(rest, d)
    per_cell, per_row = divmod(probe.flops, cells)
    memory = _sum((full, "Nw"), (rest // rows, "R"), (parameters, "dw"))
    work = _sum((per_cell, "N"), (per_row // rows, "R"))
    return (
        f"{memory} bytes and {work} FLOPs, with N = {count(ledger.cells)} cells, "
        f"R = {count(ledger.statistics)} rows and w = {WIDTH[ledger.storage]} bytes."
    )


def _sum(*terms: tuple[int, str]) -> str:
    return " + ".join(f"{factor if factor > 1 else ''}{letter}" for factor, letter in terms if factor)


LIMITS = (
    "Staged bytes are new with their step; v and r take the variance's place, y that of scaled. A trace, which keeps "
    "every value, holds more.",
    "Not in these figures: optimizer state, the allocator's overhead, kernel workspace; gradients have a ledger of "
    "their own on the way back.",
    "A fused kernel keeps the steps out of memory: it reads x and the parameters, and writes y.",
    "Real traffic and time depend on the implementation and the hardware.",
    "Each + − × / counts 1; reciprocal roots are counted apart. v and r are charged to the step that broadcasts them.",
)
