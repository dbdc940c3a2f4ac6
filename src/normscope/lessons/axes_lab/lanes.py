"""The lanes of the selected row, x, z and y on one axis; what moved; the table behind the plots."""

import math
from functools import lru_cache

from ...page.controls import button, select
from ...page.frame import frame, head
from ...page.html import Html, el, region
from ...page.lanes import Axis, Lane, Lanes, drawing, fitting
from ...page.numbers import fixed
from ...page.text import printable
from .state import LANES, ZOOMS
from .view import View, differs

FIXED = Axis(-5, 5, 1)
SHOWN = {"x": ("x", "input", "an activation"), "xhat": ("z", "unit", "no unit"), "y": ("y", "output", "an activation")}


def lanes(view: View) -> Html:
    """Three plots, one over the other on one axis, and the choices of how they are seen."""
    axis = _axis(view)
    plots = (_plot(view, name, axis) for name in SHOWN)
    title = el("h2", f"The row of {printable(view.name)}", id="lanes-title")
    zoom = select("zoom", "Axis", ZOOMS, view.state.zoom)
    head = region(el("div", title, zoom, _paging(view), id="lanes-head", class_="lanes-head"), "lanes-head")
    return el("section", head, *plots, class_="plots", aria_labelledby="lanes-title")


def _axis(view: View) -> Axis:
    if view.state.zoom == "fixed":
        return FIXED
    rows = (each.row(name, view.token) for name in SHOWN for each in (view.now, view.before))
    return fitting(row[feature] for row in rows for feature in view.features)


def _paging(view: View) -> Html | None:
    first, count = view.state.first, view.state.size[1]
    if count <= LANES:
        return None
    return el(
        "div",
        button("◂", f"first:{max(0, first - LANES)}", first == 0),
        el("span", f"features {first + 1} to {view.features.stop} of {count}", class_="range"),
        button("▸", f"first:{first + LANES}", view.features.stop == count),
        class_="turn",
    )


def _plot(view: View, name: str, axis: Axis) -> Html:
    letter, role, unit = SHOWN[name]
    now, then = view.now.row(name, view.token), view.before.row(name, view.token)
    drawn = tuple(Lane(str(k + 1), now[k], then[k]) for k in view.features)
    chosen = view.feature - view.state.first if view.feature in view.features else None
    plot = Lanes(name, _words(view, letter, axis), role, axis, drawn, chosen, _band(view, name))
    caption = el("figcaption", el("var", letter), f" {unit}", _key(view) if name == "x" else None)
    return el("figure", caption, drawing(plot, numbered=name == "y"), class_=f"plot {role}")


def _band(view: View, name: str) -> tuple[float, float] | None:
    if name != "x":
        return None
    return view.mean, view.now.one("var", view.token) ** 0.5


def _key(view: View) -> Html:
    """What the line and the band in the plot of x are."""
    std = view.now.one("var", view.token) ** 0.5
    text = f"line: row mean {fixed(view.mean, 4)}; band: ± 1 std, {fixed(std, 4)}"
    return region(el("span", text, id="key", class_="key"), "key")


def _words(view: View, letter: str, axis: Axis) -> str:
    shown = f"features {view.features.start + 1} to {view.features.stop}"
    reach = f"{fixed(axis.low, 0)} to {fixed(axis.high, 0)}" if axis == FIXED else "an axis that fits them"
    return f"{letter} of {view.name}, {shown}, on {reach}; the numbers stand in the table of this row"


def row_table(view: View) -> Html:
    """The selected row in numbers: feature, x, z and y to six decimals."""
    rows = [view.now.row(name, view.token) for name in SHOWN]
    body = (_line(feature, values, feature == view.feature) for feature, values in enumerate(zip(*rows, strict=True)))
    caption = el("caption", f"{printable(view.name)} in numbers", id="row-name")
    numbers = region(el("tbody", *body, id="row"), "row")
    table = el("table", region(caption, "row-name"), head("feature", "x", "z", "y"), numbers, class_="figures")
    return frame("The selected row in numbers", table, role="region")


@lru_cache(maxsize=512)
def _line(feature: int, values: tuple[float, ...], is_here: bool) -> Html:
    head = el("th", str(feature + 1), " ◂" if is_here else "", scope="row")
    numbers = (el("td", fixed(value)) for value in values)
    return el("tr", head, *numbers, aria_current="true" if is_here else None)


def moved(view: View) -> Html:
    """What the last edit moved, counted."""
    return region(el("p", *_told(view), id="moved", class_="moved"), "moved")


def _told(view: View) -> list[Html | str]:
    if not view.state.last:
        return ["Change a number: how many outputs move, and in which rows, is counted here."]
    counts = [sum(row) for row in view.moved("y")]
    tokens, features = view.state.size
    words = el("b", _rule(view, counts))
    of = "; ".join(
        f"{printable(name)} {count} of {features}"
        for name, count in zip(view.state.tokens, counts, strict=True)
        if count
    )
    hidden = f" Outputs that moved: {sum(counts)} of {tokens * features}" + (f" ({of})." if of else ".")
    return [words, hidden, _change(view)]


def _rule(view: View, counts: list[int]) -> str:
    """The shape of what moved, read off the counts."""
    features = view.state.size[1]
    rows = [token for token, count in enumerate(counts) if count]
    columns = {feature for row in view.moved("y") for feature, did in enumerate(row) if did}
    if not rows:
        return "No output moved."
    if len(rows) == 1 and counts[rows[0]] == features:
        others = "; no other row did" if len(counts) > 1 else ""
        return f"Every output of {_row_name(view, rows[0])} moved{others}."
    if sum(counts) == features * len(counts):
        return "Every output moved."
    if len(columns) == 1 and len(rows) == len(counts):
        others = "; no other feature did" if features > 1 else ""
        return f"Feature {min(columns) + 1} of every token moved{others}."
    return "Some outputs moved."


def _row_name(view: View, token: int) -> str:
    return "this row" if token == view.token else f"the row of {printable(view.state.tokens[token])}"


def _change(view: View) -> str:
    then, now = view.before.row("y", view.token)[view.feature], view.cell("y")
    if not differs(then, now):
        return f" At the selection y stays {fixed(now)}."
    step = now - then
    by = f", by {'+' * (step > 0)}{fixed(step)}" if math.isfinite(step) else ""
    return f" At the selection y went from {fixed(then)} to {fixed(now)}{by}."
