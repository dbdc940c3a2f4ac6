"""The ledger of "Inside LayerNorm": bytes and FLOPs of every step, staged and fused, of the whole tensor."""

from collections.abc import Callable
from functools import lru_cache

from ...axes import Axes
from ...norm import Norm
from ...page.html import Html, el, group, region
from ...page.numbers import bytes_, count, operations
from ...steps import forward
from ...views.ledger import WIDTH, Ledger, Row
from ...views.ledger import ledger as costs_of
from .view import View

PROBE = {"B": 1, "S": 100, "d": 1_000_000}


def costs(view: View) -> Html:
    """The ledger as a table with its totals."""
    return _costs(view.norm, tuple(view.sizes.items()), view.state.storage)


@lru_cache(maxsize=32)
def _costs(norm: Norm, sizes: tuple[tuple[str, int], ...], storage: str) -> Html:
    """Kept, since no number of the tensor is in it."""
    ledger = costs_of(norm, dict(sizes), storage)
    where = ", ".join(f"{axis} = {count(size)}" for axis, size in sizes)
    body = group(
        el("h2", "Ledger of one forward pass", id="ledger-title"),
        el("p", f"{where}; {storage}, statistics in float32.", class_="where"),
        el("div", _table(ledger), class_="frame", tabindex=0, role="region", aria_labelledby="ledger-title"),
        _totals(ledger),
        el("p", _closed_form(ledger), class_="hint"),
    )
    return region(el("section", body, id="ledger", class_="ledger"), "ledger")


def _table(ledger: Ledger) -> Html:
    head = el("tr", *(el("th", text, scope="col") for text in ("step", "shape", "new bytes", "FLOPs", "1/√")))
    axes = forward(ledger.norm).values
    inputs = (_line(name, _shape(ledger, axes[name]), size, 0, 0) for name, size in ledger.inputs.items())
    return el("table", el("thead", head), el("tbody", *inputs, *map(_step, ledger.rows)))


def _shape(ledger: Ledger, axes: Axes) -> str:
    return " × ".join(count(ledger.sizes[axis]) for axis in axes)


def _step(row: Row) -> Html:
    name = row.name if len(row.steps) == 1 else f"{row.name} (with {', '.join(row.steps[:-1])})"
    return _line(name, " × ".join(map(count, row.shape)), row.bytes, row.flops, row.roots)


def _line(name: str, shape: str, size: int, flops: int, roots: int) -> Html:
    cells = (shape, bytes_(size) if size else "in place", operations(flops) if flops else "", str(roots or ""))
    titles = (None, count(size), count(flops) if flops else None, None)
    row = (el("td", cell, title=title) for cell, title in zip(cells, titles, strict=True))
    return el("tr", el("th", name, scope="row"), *row)


def _totals(ledger: Ledger) -> Html:
    def total(name: str, exact: int, human: Callable[[int], str]) -> Html:
        shown = el("small", human(exact)) if exact >= 1024 else None
        return el("div", el("dt", name), el("dd", el("b", count(exact)), shown))

    return el(
        "dl",
        total("staged: peak bytes", ledger.peak_bytes, bytes_),
        total("fused: bytes moved", ledger.fused_bytes, bytes_),
        total("FLOPs", ledger.flops, operations),
        total("reciprocal roots", ledger.reciprocal_roots, operations),
        class_="totals",
    )


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
    "Not in these figures: gradients, optimizer state, the allocator's overhead, kernel workspace.",
    "Staged means one buffer a step, kept for inspection. A fused kernel keeps the steps out of memory: it reads x "
    "and the parameters, and writes y.",
    "Real traffic and time depend on the implementation and the hardware.",
    "Each + − × / counts 1; reciprocal roots are counted apart. v and r are charged to the step that broadcasts them.",
)
