"""The ledger of "Inside LayerNorm": bytes and FLOPs of every step, there and back, staged and fused, of all of x."""

from collections.abc import Callable, Mapping
from functools import lru_cache

from ...axes import Axes
from ...norm import Norm
from ...page.frame import frame, head
from ...page.html import Html, el, group, region
from ...page.numbers import bytes_, count, operations
from ...steps import forward
from ...views.elsewhere import Count
from ...views.ledger import WIDTH, Ledger, Row
from ...views.ledger import ledger as costs_of
from ...views.training import TrainingLedger, training_ledger
from .measured import measured
from .view import View

FORTH, BACK = "Ledger of one forward pass", "The way back, from dy"
HEADS = ("step", "shape", "staged bytes", "fused bytes", "FLOPs", "1/√")
PROBE = {"B": 1, "S": 100, "d": 1_000_000}


def costs(view: View) -> Html:
    """The ledger as a table with its totals; with the way back, that of its pass too."""
    return _costs(view.norm, tuple(view.sizes.items()), view.state.storage, view.state.back)


def beside(view: View) -> Html:
    """What stands beside the ledger: the button that measures it, and what other tools count."""
    sizes = tuple(view.sizes.items())
    return group(measured(view.norm, view.sizes, view.state.storage), _elsewhere(view.norm, sizes))


@lru_cache(maxsize=32)
def _costs(norm: Norm, sizes: tuple[tuple[str, int], ...], storage: str, back: bool) -> Html:
    """Kept, since no number of the tensor is in it."""
    ledger = costs_of(norm, dict(sizes), storage)
    where = ", ".join(f"{axis} = {count(size)}" for axis, size in sizes)
    body = group(
        el("h2", FORTH),
        el("p", f"{where}; {storage}, statistics in float32.", class_="where"),
        frame(FORTH, _table(ledger), role="region"),
        el("p", _closed_form(ledger), class_="hint"),
        _backward_costs(training_ledger(norm, dict(sizes), storage)) if back else None,
    )
    return region(el("section", body, id="ledger", class_="ledger"), "ledger")


def _table(ledger: Ledger) -> Html:
    """A line a buffer or step; fused, only the inputs and the output reach memory."""
    axes = forward(ledger.norm).values
    inputs = (_line(name, _shape(ledger, axes[name]), size, size, 0, 0) for name, size in ledger.inputs.items())
    last = ledger.rows[-1]
    output = ledger.fused_bytes - sum(ledger.inputs.values())
    steps = (_step_line(row, output if row is last else 0) for row in ledger.rows)
    total = _line("total", "", ledger.peak_bytes, ledger.fused_bytes, ledger.flops, ledger.reciprocal_roots)
    return el("table", head(*HEADS), el("tbody", *inputs, *steps), el("tfoot", total))


def _shape(ledger: Ledger, axes: Axes) -> str:
    return " × ".join(count(ledger.sizes[axis]) for axis in axes)


def _closed_form(ledger: Ledger) -> str:
    """The totals as the sums that they are, read off the ledger of a tensor whose N, d and R cannot be mixed up."""
    rows, d, cells = PROBE["S"], PROBE["d"], PROBE["S"] * PROBE["d"]
    probe = costs_of(ledger.norm, PROBE, "float8_e4m3fn")
    full, rest = divmod(probe.peak_bytes, cells)
    parameters, rest = divmod(rest, d)
    per_cell, others = divmod(probe.flops, cells)
    per_feature, per_row = divmod(others, d)
    memory = _sum((full, "Nw"), (rest // rows, "R"), (parameters, "dw"))
    work = _sum((per_cell, "N"), (per_row // rows, "R"), (per_feature, "d"))
    return (
        f"{memory} bytes and {work} FLOPs, with N = {count(ledger.cells)} cells, "
        f"R = {count(ledger.statistics)} rows and w = {WIDTH[ledger.storage]} bytes."
    )


@lru_cache(maxsize=32)
def _elsewhere(norm: Norm, sizes: tuple[tuple[str, int], ...]) -> Html:
    """What other tools count for the same layer, with the convention behind each; nothing where it is another norm."""
    ledger = costs_of(norm, dict(sizes))
    lines = (
        el("tr", el("th", each.tool, scope="row"), el("td", f"{operations(each.says)} {each.unit}"), _why(each))
        for each in ledger.elsewhere
    )
    title = f"What other tools say, beside {operations(ledger.flops)} FLOPs here"
    table = el("table", head("tool", "it says", "its convention"), el("tbody", *lines))
    body = group(el("h2", title), frame(title, table, role="region")) if ledger.elsewhere else None
    return region(el("section", body, id="elsewhere", class_="ledger elsewhere"), "elsewhere")


def _why(each: Count) -> Html:
    return el("td", each.convention, class_="why")


def _sum(*terms: tuple[int, str]) -> str:
    return " + ".join(f"{factor if factor > 1 else ''}{letter}" for factor, letter in terms if factor)


def _backward_costs(ledger: TrainingLedger) -> Html:
    """The backward steps under the forward ones, as what is saved says what the forward pass is kept for."""
    return group(
        el("h2", BACK),
        frame(BACK, _back_table(ledger), role="region"),
        el("p", _saved(ledger), class_="hint"),
        el("p", _both(ledger), class_="hint"),
    )


def _back_table(ledger: TrainingLedger) -> Html:
    """dy and what is saved are read; a fused kernel writes the gradients alone."""
    given = [_line("dy (given)", "", size, size, 0, 0) for size in ledger.inputs.values()]
    read = dict(ledger.saved["x"]) | {name: size for name, size in ledger.forward.inputs.items() if name == "gamma"}
    again = [
        _line(f"{name} ({'read again' if name == 'gamma' else 'saved'})", "", 0, size, 0, 0)
        for name, size in read.items()
    ]
    steps = (_step_line(row, ledger.results.get(row.name, 0)) for row in ledger.rows)
    total = _line("total", "", ledger.backward_bytes, ledger.fused_backward_bytes, ledger.backward_flops, 0)
    return el("table", head(*HEADS), el("tbody", *given, *again, *steps), el("tfoot", total))


def _saved(ledger: TrainingLedger) -> str:
    textbook, kernel = (_listed(ledger.saved[way]) for way in ("xhat", "x"))
    return (
        f"Saved by the forward pass: {textbook}, as the steps here read them; or {kernel}, as PyTorch does, which "
        "computes x̂ again: x is often kept anyway. Written out step by step and left to autograd, the forward pass "
        f"saves {_listed(ledger.savings[-1].values)}. "
        "Staged, nothing is copied for any of it; fused, the statistics are written."
    )


def _listed(sizes: Mapping[str, int]) -> str:
    return f"{', '.join(sizes)} ({bytes_(sum(sizes.values()))})"


def _both(ledger: TrainingLedger) -> str:
    return (
        f"Both passes: {count(ledger.peak_bytes)} bytes staged, {count(ledger.fused_bytes)} bytes fused and "
        f"{count(ledger.flops)} FLOPs."
    )


def _step_line(row: Row, fused: int) -> Html:
    """The line of a step; `fused` bytes reach memory where the steps are one kernel."""
    name = row.name if len(row.steps) == 1 else f"{row.name} (with {', '.join(row.steps[:-1])})"
    return _line(name, " × ".join(map(count, row.shape)), row.bytes, fused, row.flops, row.roots)


def _line(name: str, shape: str, staged: int, fused: int, flops: int, roots: int) -> Html:
    """A line: bytes of a staged run and of a fused one, FLOPs and reciprocal roots."""
    cells = (el("td", shape), _figure(staged, bytes_), _figure(fused, bytes_), _figure(flops, operations))
    return el("tr", el("th", name, scope="row"), *cells, _figure(roots, operations))


def _figure(value: int, human: Callable[[int], str]) -> Html:
    """An exact integer, and under it the same in a unit where it is large; nothing for 0."""
    if not value:
        return el("td")
    unit = el("small", human(value)) if human(value) not in (count(value), f"{value} B") else None
    return el("td", count(value), unit)


LIMITS = (
    "Staged bytes are new with their step; v and r take the variance's place, y that of scaled. A trace, which keeps "
    "every value, holds more.",
    "Not in these figures: optimizer state, the allocator's overhead, kernel workspace; gradients have a ledger of "
    "their own on the way back.",
    "A fused kernel keeps the steps out of memory: it reads x and the parameters, and writes y.",
    "Real traffic and time depend on the implementation and the hardware.",
    "Each + − × / counts 1; reciprocal roots are counted apart. v and r are charged to the step that broadcasts them.",
)
