"""A tensor as a table: one row a row, one cell a number, one Tab stop, colours scaled to the tensor.

A number is always in its cell; the colour repeats it on a diverging palette of eight shades a side.
"""

import math
from dataclasses import dataclass, field
from functools import lru_cache
from html import escape

from .frame import head
from .html import Html, el, raw, region
from .numbers import plain, short

SHADES = 8


@dataclass(frozen=True)
class Row:
    """One row of a grid.

    key    its place, `0.1`; `*` for a row that belongs to all
    head   what its header says
    marks  a class for every cell: `feeds`, `reads`, `hollow` (a repeat that is stored nowhere), or nothing
    given  what an edit of a cell starts from, where that is not the number shown: empty for the cells themselves
    """

    key: str
    head: str
    cells: tuple[float, ...]
    marks: tuple[str, ...]
    band: bool = False
    gap: bool = False
    tab: int | None = None
    pinned: int | None = None
    given: tuple[float, ...] = ()


@dataclass(frozen=True)
class Grid:
    """A tensor's shown cells, with what is said around them."""

    name: str
    label: str
    caption: Html
    corner: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    role: str
    editable: bool = False
    computed: bool = False
    prefix: str = ""
    scale: float = field(init=False)

    def __post_init__(self) -> None:
        sizes = [abs(cell) for row in self.rows for cell in row.cells if math.isfinite(cell)]
        object.__setattr__(self, "scale", max(sizes, default=0.0))


def figure(grid: Grid) -> Html:
    """The grid as a figure. With a prefix, its caption and every row are regions of the page."""
    caption = el("figcaption", grid.caption, id=f"{grid.prefix}caption" if grid.prefix else None)
    repeated = any("hollow" in row.marks for row in grid.rows)
    classes = f"tensor {grid.role}{' computed' if grid.computed else ''}{' repeated' if repeated else ''}"
    return el(
        "figure",
        region(caption, f"{grid.prefix}caption") if grid.prefix else caption,
        el("div", table(grid), class_="frame"),
        class_=classes,
    )


def table(grid: Grid) -> Html:
    """The grid as a table that the script walks by arrow keys."""
    rows = (_region(grid, row) if grid.prefix else raw(_row(row, grid.scale, grid.editable, "")) for row in grid.rows)
    return el(
        "table",
        head(grid.corner, *grid.columns),
        el("tbody", *rows),
        role="grid",
        aria_label=grid.label,
        data_t=grid.name,
        data_edit=grid.editable,
    )


def stacked(label: str, corner: str, columns: tuple[str, ...], parts: tuple[Grid, ...]) -> Html:
    """Several grids of the same columns as one table, with one Tab stop: a body each."""
    bodies = (
        el(
            "tbody",
            *(_region(part, row) for row in part.rows),
            class_=part.role,
            data_t=part.name,
            data_edit=part.editable,
        )
        for part in parts
    )
    return el("table", head(corner, *columns), *bodies, role="grid", aria_label=label)


def _region(grid: Grid, row: Row) -> Html:
    id = f"{grid.prefix}{row.key.replace('.', '-').replace('*', 'all')}"
    return region(raw(_row(row, grid.scale, grid.editable, id)), id)


@lru_cache(maxsize=2048)
def _row(row: Row, scale: float, editable: bool, id: str) -> str:
    """One row; kept, since most rows stay as they are from one drawing to the next."""
    cells = "".join(_cell(row, at, scale, editable) for at in range(len(row.cells)))
    classes = " ".join(word for word, wanted in (("band", row.band), ("gap", row.gap)) if wanted)
    named = (f' id="{id}"' if id else "") + (f' class="{classes}"' if classes else "")
    return f'<tr{named} data-row="{row.key}"><th scope="row">{escape(row.head)}</th>{cells}</tr>'


def _cell(row: Row, at: int, scale: float, editable: bool) -> str:
    value = row.cells[at]
    text = short(value)
    more = f' class="{classes}"' if (classes := f"{shade(value, scale)} {row.marks[at]}".strip()) else ""
    if at == row.tab:
        more += ' tabindex="0"'
    if at == row.pinned:
        more += ' aria-selected="true"'
    if editable and (exact := plain((row.given or row.cells)[at])) != text:
        more += f' data-v="{exact}"'
    return f"<td{more}>{text}</td>"


def shade(value: float, scale: float) -> str:
    """The class of a value's colour: n8 ... n1, none at zero, p1 ... p8; marks for what is no number.

    >>> shade(1.0, 1.0), shade(-0.3, 1.0), shade(0.0, 1.0), shade(float("nan"), 1.0)
    ('p8', 'n2', '', 'nan')
    """
    if not math.isfinite(value):
        return "nan" if value != value else "inf"
    if not scale:
        return ""
    step = min(SHADES, round(abs(value) / scale * SHADES))
    return f"{'p' if value > 0 else 'n'}{step}" if step else ""
