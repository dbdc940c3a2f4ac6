"""Tables for a notebook: plain HTML that takes on the notebook's own look, light or dark."""

from collections.abc import Sequence

from .html import Html, el

RIGHT = "text-align:right"


def table(rows: Sequence[Sequence[str]], labels: int = 1) -> Html:
    """Rows of cells, the first row the head; the first `labels` cells of a row are its names.

    >>> str(table([["step", "bytes"], ["mu", "32"]])).count("<th")
    4
    """
    head = el("tr", *(el("th", cell, scope="col", style=RIGHT) for cell in rows[0]))
    body = (el("tr", *(_cell(cell, at < labels) for at, cell in enumerate(row))) for row in rows[1:])
    return el("table", el("thead", head), el("tbody", *body))


def _cell(text: str, is_label: bool) -> Html:
    return el("th", text, scope="row", style=RIGHT) if is_label else el("td", text, style=RIGHT)


def fold(title: str, body: Html, is_open: bool = False) -> Html:
    """A part that can be folded away under its title."""
    return el("details", el("summary", el("code", title)), body, open=is_open)
