"""The row as a table: x as given and as stored, y in float64 and under the policy, and the error of each."""

from fractions import Fraction
from functools import lru_cache
from html import escape
from math import log2, sqrt, ulp

from ...norm import exact_eps
from ...page.controls import Complaint, Span, button, placed
from ...page.frame import head
from ...page.grid import shade
from ...page.html import Html, el, group, raw, region
from ...page.numbers import plain, ulps, written
from .actions import EPSES, LENGTHS, MEANS, SPREADS
from .curves import is_near
from .reading import Reading, Row64
from .state import COLUMNS, LINES, State
from .words import LINES as NAMES
from .words import SEEDED

ROLES = {"x": "input", "stored": "input", "exact": "output", "y": "output", "error": "work"}
WIDE = 10  # signs that fit a cell
SLIDERS = (("mean", "mean", MEANS), ("spread", "spread (std)", SPREADS), ("eps", "eps", EPSES))


def sliders(state: State, wrong: Complaint, variance: Fraction) -> Html:
    """Mean, spread, eps and d: a slider each, on powers of ten, and a field that takes anything; of which row."""
    values = {"mean": plain(state.mean), "spread": plain(state.spread), "eps": state.eps}
    sizes = {"mean": state.mean, "spread": state.spread, "eps": float(exact_eps(state.eps))}
    made = []
    for field, label, reach in SLIDERS:
        value = values[field]
        span = Span(reach.low, reach.high, reach.step)
        made.append(_kept(field, placed(field, label, value, reach.place(sizes[field]), span, wrong)))
    place = f"{round(log2(state.d))}"
    made.append(_kept("d", placed("d", "d, features", str(state.d), place, Span(*LENGTHS, 1), wrong)))
    told = (el("p", SEEDED[state.shape], class_="hint"), _coarse(state, variance))
    return el("div", *made, region(el("div", *told, id="row-told"), "row-told"), class_="sliders")


def _coarse(state: State, variance: Fraction) -> Html | None:
    """Where float64 has no room for the spread: then the errors are beside a row that has lost it already."""
    asked = Fraction(state.spread) ** 2
    if is_near(asked, variance) or not asked:
        return None
    left = f"a spread of {written(state.spread * sqrt(variance / asked), 3)}" if variance else "no spread at all"
    apart = f"at {written(state.mean)} its numbers lie {written(ulp(state.mean), 3)} apart"
    text = f"float64 itself leaves this row {left}: {apart}. No error here tells of what is lost by that."
    return el("p", text, class_="notice")


def _kept(field: str, slider: Html) -> Html:
    return region(el("div", slider, id=f"slider-{field}"), f"slider-{field}")


def table(state: State, row: Row64, reading: Reading) -> Html:
    """Eight features at a time; a cell is selected by a click or the arrow keys."""
    span = range(state.first, min(state.first + COLUMNS, state.d))
    cells = {
        "x": row.x,
        "stored": reading.stored,
        "exact": row.wanted,
        "y": reading.y,
        "error": reading.errors,
    }
    scales = {"x": _largest(row.x), "stored": _largest(row.x), "exact": _largest(row.wanted), "y": _largest(row.wanted)}
    bodies = (
        _line(line, tuple(cells[line][k] for k in span), scales.get(line, 0.0), _column(state, line)) for line in LINES
    )
    columns = region(head("feature", *(str(k + 1) for k in span), id="row-head"), "row-head")
    grid = el("table", columns, *bodies, role="grid", aria_label="The row, and what the policy makes of it")
    caption = region(el("figcaption", _caption(state, span), id="row-caption"), "row-caption")
    return el("figure", caption, el("div", grid, class_="frame"), class_="tensor rounded")


def _largest(values: tuple[float, ...] | list[float]) -> float:
    return max((abs(value) for value in values if abs(value) < float("inf")), default=0.0)


def _column(state: State, line: str) -> int | None:
    return state.sel.feature - state.first if line == state.sel.line else None


def _line(line: str, values: tuple[float, ...], scale: float, selected: int | None) -> Html:
    return region(raw(_drawn(line, values, scale, selected)), f"row-{line}")


@lru_cache(maxsize=512)
def _drawn(line: str, values: tuple[float, ...], scale: float, selected: int | None) -> str:
    cells = "".join(_cell(line, value, scale, at == selected) for at, value in enumerate(values))
    head = f'<th scope="row">{escape(NAMES[line])}</th>'
    return f'<tbody id="row-{line}" class="{ROLES[line]}" data-t="{line}"><tr data-row="0">{head}{cells}</tr></tbody>'


def _fitting(value: float, digits: int) -> str:
    """A number with so many digits as fit a cell."""
    text = written(value, digits)
    return text if len(text) <= WIDE else written(value, 5)


def _cell(line: str, value: float, scale: float, is_selected: bool) -> str:
    text = ulps(value) if line == "error" else _fitting(value, 9 if line in ("x", "stored") else 6)
    kind = "" if line == "error" and value == value else shade(value, scale)
    classes = f' class="{kind}"' if kind else ""
    stop = ' tabindex="0" aria-selected="true"' if is_selected else ""
    return f"<td{classes}{stop}>{text}</td>"


def _caption(state: State, span: range) -> Html:
    name = el("span", f"One row, {state.d} features", class_="name")
    if state.d <= COLUMNS:
        return group(name)
    return group(
        name,
        button("◂", f"first:{max(0, state.first - COLUMNS)}", state.first == 0),
        el("span", f"{span.start + 1} to {span.stop} of {state.d}", class_="range"),
        button("▸", f"first:{state.first + COLUMNS}", span.stop == state.d),
    )
