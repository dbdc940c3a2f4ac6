"""The ladder of the pinned cell: exactly, with its root by name, and in every format with its error."""

from functools import lru_cache

from ...gradients import training
from ...norm import Norm
from ...page.html import Html, el, region
from ...page.numbers import general
from ...rungs import Rung
from ...rungs import ladder as rungs_of
from ...views.policies import KINDS
from ..rungs_table import rungs_table
from .rounding import usual
from .view import View

MOST_FEATURES = 16
MOST_CELLS = 128  # of all rows, where a value is a sum over them
LONG = (
    f"The ladder is for rows of at most {MOST_FEATURES} features, and sums over at most {MOST_CELLS} cells: "
    "what is longer has hundreds of digits when exact."
)
ORDERS = {
    "steps": "every step in the format",
    "statistics": "cells in the format, statistics in float32",
    "pytorch": "in the order of PyTorch's CPU kernel",
    "llama": "in Llama's order",
    "gemma": "in Gemma's order",
}


def ladder(view: View) -> Html:
    """A fold that says what it holds; computed only when it is open."""
    name = view.pinned[0] if view.pinned else view.state.step
    title = f"Ladder of {view.address(name)}"
    is_open = view.state.ladder
    switch = el(
        "button",
        title,
        type="button",
        id="ladder-switch",
        data_do=f"ladder:{int(not is_open)}",
        aria_expanded="true" if is_open else "false",
    )
    body = _body(view, name, title) if is_open else None
    return region(el("section", switch, body, id="ladder", class_="ladder"), "ladder")


def _body(view: View, name: str, title: str) -> Html:
    rows = _rows_of(view, name)
    if view.sizes["d"] > MOST_FEATURES or len(rows) * view.sizes["d"] > MOST_CELLS:
        return el("p", LONG, class_="hint")
    kind = view.state.rounding or usual(view.state.storage)
    kind = kind if kind in KINDS else "steps"
    if name not in training(view.norm).values:
        return el("p", f"{name} belongs to one order of rounding; the ladder has the norm's own steps.", class_="hint")
    rungs = _rungs(view, name, rows, kind)
    about = (
        f"From the numbers as given, eps = {general(view.eps)}. Rounded: {ORDERS[kind]}. An ulp is the distance of a "
        "format's neighbours at the exact value."
    )
    return el("div", el("p", about, class_="hint"), rungs_table(rungs, title), class_="rungs")


def _rows_of(view: View, name: str) -> list[tuple[int, int]]:
    """The row in view, or all rows where the value is a sum over them."""
    is_summed = view.is_strip(name) and name not in view.given
    return view.rows if is_summed else [view.focus[:2]]


def _rungs(view: View, name: str, rows: list[tuple[int, int]], kind: str) -> list[Rung]:
    x, dy = (_rows(view, each, rows) if each in view.given else () for each in ("x", "dy"))
    gamma, beta = (tuple(map(float, view.given[each])) if each in view.given else () for each in ("gamma", "beta"))
    return _found(view.norm, x, dy, gamma, beta, name, view.window[2].start + view.focus[2], kind)


def _rows(view: View, name: str, rows: list[tuple[int, int]]) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(map(float, view.given[name][i][j])) for i, j in rows)


@lru_cache(maxsize=16)
def _found(
    norm: Norm,
    x: tuple[tuple[float, ...], ...],
    dy: tuple[tuple[float, ...], ...],
    gamma: tuple[float, ...],
    beta: tuple[float, ...],
    name: str,
    k: int,
    kind: str,
) -> list[Rung]:
    """Kept, since a step of the scrubber changes no pinned cell."""
    given = [list(row) for row in x]
    back = [[list(row) for row in dy]] if dy else None
    return rungs_of([given], norm, name, (0, 0, k), list(gamma) or None, list(beta) or None, dy=back, kind=kind)
