"""Lines of a ledger on the page: an exact figure, and the same in a unit."""

from collections.abc import Callable

from ...page.html import Html, el
from ...page.numbers import bytes_, count, operations
from ...views.ledger import Row

HEADS = ("step", "shape", "staged bytes", "fused bytes", "FLOPs", "1/√")


def framed(table: Html, title: str) -> Html:
    """A table that scrolls in a frame of its own, named by the element with the id `title`."""
    return el("div", table, class_="frame", tabindex=0, role="region", aria_labelledby=title)


def heads() -> Html:
    """The head of a table of steps."""
    return el("thead", el("tr", *(el("th", text, scope="col") for text in HEADS)))


def step_line(row: Row, fused: int) -> Html:
    """The line of a step; `fused` bytes reach memory where the steps are one kernel."""
    name = row.name if len(row.steps) == 1 else f"{row.name} (with {', '.join(row.steps[:-1])})"
    return line(name, " × ".join(map(count, row.shape)), row.bytes, fused, row.flops, row.roots)


def line(name: str, shape: str, staged: int, fused: int, flops: int, roots: int) -> Html:
    """A line: bytes of a staged run and of a fused one, FLOPs and reciprocal roots."""
    cells = (el("td", shape), _figure(staged, bytes_), _figure(fused, bytes_), _figure(flops, operations))
    return el("tr", el("th", name, scope="row"), *cells, _figure(roots, operations))


def _figure(value: int, human: Callable[[int], str]) -> Html:
    """An exact integer, and under it the same in a unit where it is large; nothing for 0."""
    if not value:
        return el("td")
    unit = el("small", human(value)) if human(value) not in (count(value), f"{value} B") else None
    return el("td", count(value), unit)
