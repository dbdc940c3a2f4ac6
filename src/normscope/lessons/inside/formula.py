"""The mathematics beside the stage: the step in letters, with numbers, what to notice, and a check by differences."""

from collections.abc import Sequence
from functools import lru_cache
from math import isnan

from ...differences import Difference, difference
from ...norm import Norm
from ...page.controls import button
from ...page.html import Html, el, region
from ...page.numbers import fixed, general
from ...tracing import trace
from ...views.formula import ROOT, TEXTBOOK, expression, substituted
from ...views.formula import symbol as letter
from ...views.notation import Expr, Literal, equation
from .layer import FOLDED
from .view import View
from .words import UNDEFINED, notices

MOST_TERMS = 17  # of a sum: a row of the largest symbolic tensor, or a window and what is left out
MOST_CELLS = 2048  # that are computed three times for one finite difference
NO_STEP = "No finite difference: no step is small enough here beside the row's √(variance + eps), in float64."
SLOPES = {"dx": "x", "dgamma": "gamma", "dbeta": "beta"}
OPENED = {"xhat": ROOT | {"xr", "mr"}, "across": TEXTBOOK, "dx": TEXTBOOK}  # steps written out a second way

Rows = tuple[tuple[float, ...], ...]


def formula(view: View) -> Html:
    """The step in letters, the same with the numbers of the pinned place, and what to notice."""
    name, state = view.state.step, view.state
    lines = _equations(view, name) if name in view.program.by_name else []
    said = [el("p", text, class_="notice") for text in _said(view)]
    onward = name == view.steps[-1] and not state.back
    way = el("p", button("Walk on: the gradients, from dy back to dx", "back:1")) if onward else None
    return region(el("div", *lines, _slope(view), *said, way, id="formula", class_="formula"), "formula")


def _said(view: View) -> list[str]:
    """What to notice, with what holds for these numbers alone."""
    name, policy = view.state.step, view.trace.policy
    are_ones = view.state.dy == "ones" and not any(cell.startswith("dy.") for cell, _ in view.state.edits)
    said = notices(name, view.norm, are_ones, policy.storage if policy else "float64")
    is_behind = view.steps.index(name) >= view.steps.index("xhat")
    return [*said, UNDEFINED] if is_behind and view.value("v") == 0 and isnan(view.value("xhat")) else said


def _equations(view: View, name: str) -> list[Html]:
    rights = _rights(view, name)
    numbers = substituted(
        rights[-1], lambda symbol: _leaves(view, name, symbol), view.sizes, limit=MOST_TERMS, more=_more(view, name)
    )
    kept = f", {view.kept(name)}" if view.formats else ""
    left = letter(view.program, name)
    return [
        equation(left, *rights),
        el("p", f"{view.address(name)}{kept}:", class_="where"),
        el("div", equation(left, numbers, Literal(fixed(view.value(name)))), class_="numbers", **_scrolled(view, name)),
    ]


def _scrolled(view: View, name: str) -> dict[str, str]:
    """A sum of many terms may be wider than its place: then it can be reached and scrolled by keys."""
    is_long = bool(view.program.by_name[name].over)
    return {"tabindex": "0", "role": "group", "aria_label": "The sum in numbers"} if is_long else {}


def _rights(view: View, name: str) -> list[Expr]:
    """The right-hand side as the step is, and where that helps written out."""
    short = expression(view.program, name, FOLDED)
    whole = expression(view.program, name, FOLDED | OPENED.get(name, frozenset()))
    return [short] if short == whole else [short, whole]


def _leaves(view: View, step: str, name: str) -> list[str]:
    """The numbers that a symbol stands for: a row or a column of them under a sum, else the one at the focus."""
    if name == "eps":
        return [general(view.eps)]
    over = view.program.by_name[step].over
    if not over:
        return [fixed(view.value(name))]
    i, j, k = view.focus
    cells = view.row(name, i, j) if "d" in over else [view.row(name, *row)[k] for row in view.rows]
    return [fixed(cell, 4) for cell in cells]


def _more(view: View, step: str) -> str:
    """What a sum has beyond the cells that are shown."""
    over = view.program.by_name[step].over
    if "d" in over:
        hidden = view.sizes["d"] - len(view.window[2])
        return f"… {hidden:,} more" if hidden else ""
    hidden = view.sizes["B"] * view.sizes["S"] - len(view.rows)
    return f"… {hidden:,} rows of 0" if hidden and over else ""


def _slope(view: View) -> Html | None:
    """The sentence beside a gradient of x, gamma or beta; nothing at any other step."""
    name = SLOPES.get(view.state.step, "")
    if not name:
        return None
    rows = [view.focus[:2]] if name == "x" else view.rows
    count = len(rows) * view.sizes["d"]
    if count > MOST_CELLS:
        text = f"No finite difference here: it would compute {count:,} cells three times. ns.difference does."
        return el("p", text, class_="where")
    found = _difference(view, name, rows)
    gradient = f"d{name} is {fixed(view.value(f'd{name}'))}."
    if found.slope is None:
        return el("p", f"{NO_STEP} {gradient}", class_="where check")
    text = (
        f"Finite difference, in float64: {name} here ± {general(found.step)} moves the loss sum(dy · y) by "
        f"{general(found.high - found.low)}, a slope of {fixed(found.slope)}. {gradient}"
    )
    return el("p", text, class_="where check")


def _difference(view: View, name: str, rows: list[tuple[int, int]]) -> Difference:
    """That of the focus, from the given numbers: a row is all that x here can move."""
    x, dy = (tuple(_floats(view.given[each][i][j]) for i, j in rows) for each in ("x", "dy"))
    parameters = {each: _floats(view.given[each]) for each in view.parameters}
    k = view.window[2].start + view.focus[2]
    return _found(view.norm, x, dy, tuple(parameters.items()), name, (0, 0, k) if name == "x" else (k,))


@lru_cache(maxsize=64)
def _found(
    norm: Norm, x: Rows, dy: Rows, parameters: tuple[tuple[str, tuple[float, ...]], ...], name: str, at: tuple[int, ...]
) -> Difference:
    given = {each: list(cells) for each, cells in parameters}
    made = trace([list(map(list, x))], norm, given.get("gamma"), given.get("beta"), dy=[list(map(list, dy))])
    return difference(made, name, at)


def _floats(cells: Sequence[float]) -> tuple[float, ...]:
    return tuple(map(float, cells))
