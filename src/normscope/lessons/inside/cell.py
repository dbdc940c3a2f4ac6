"""The pinned place of "Inside LayerNorm": its x, dy, gamma and beta, each with a slider and a field."""

import math

from ...page.controls import Complaint, Span, choices, slider
from ...page.html import Html, el, group, region
from ...page.numbers import fixed, general, plain
from ...program import PARAMETERS
from .grids import symbol
from .state import COTANGENTS
from .view import View

SHIFT_SPAN = Span(-2, 2, 0.01)
REACH = 5.0


def cell(view: View, wrong: Complaint) -> Html:
    """The numbers that go in at the pinned place, to be moved."""
    names = ["x", *(["dy"] if view.state.back else []), *view.parameters]
    sliders = [_slider(view, name, wrong) for name in names]
    hint = f"Click a cell to pin it, or walk with the arrow keys. Enter edits a cell of {_listed(names)}."
    place = view.spoken_place("x")
    title = el("h3", place[0].upper() + place[1:])
    asked = _cotangents(view) if view.state.back else None
    drawn = el(
        "div",
        title,
        *sliders,
        asked,
        _stored(view, names),
        el("p", hint, class_="hint hands"),
        id="cell",
        class_="cell",
    )
    return region(drawn, "cell")


def _listed(names: list[str]) -> str:
    return ", ".join(names[:-1]) + f" or {names[-1]}" if len(names) > 1 else names[0]


def _cotangents(view: View) -> Html:
    """Where dy comes from."""
    question = el("span", symbol("dy", view), " is", id="dy-asked")
    return el("div", question, choices("dy", "dy-asked", COTANGENTS, view.state.dy), class_="asked")


def _stored(view: View, names: list[str]) -> Html | None:
    """What the formats make of the numbers, where they change one."""
    i, j, k = view.focus
    kept = [
        f"{name} = {general(view.value(name))} in {view.formats[name].name}"
        for name in names
        if name in view.formats and view.value(name) != view.given_row(name, i, j)[k]
    ]
    return el("p", f"Stored as {', '.join(kept)}.", class_="hint") if kept else None


def _slider(view: View, name: str, wrong: Complaint) -> Html:
    i, j, k = view.focus
    field = f"{name}.{k}" if name in PARAMETERS else f"{name}.{i}.{j}.{k}"
    value = view.given_row(name, i, j)[k]
    label = group(symbol(name, view), el("small", view.address(name)))
    spoken = f"{view.title(name)}, {view.spoken_place(name)}"
    return slider(field, label, spoken, plain(value), fixed(value, 2), _span(view, name), wrong)


def _span(view: View, name: str) -> Span:
    """The slider's reach: -5 to 5 for x, or as far as the unedited numbers go."""
    if name in PARAMETERS:
        return SHIFT_SPAN
    reach = _most(view) if name == "x" else REACH
    return Span(-reach, reach, 0.05 if reach == REACH else reach / 100)


def _most(view: View) -> float:
    i, j, _ = view.focus
    row = view.source.rows(_one(view.window[0], i), _one(view.window[1], j))[0][0]
    shown = row[view.window[2].start : view.window[2].stop]
    most = max((abs(float(v)) for v in shown if math.isfinite(v)), default=0)
    return max(REACH, float(math.ceil(most)))


def _one(part: range, i: int) -> range:
    return range(part[i], part[i] + 1)
