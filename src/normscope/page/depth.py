"""Numbers against depth: one place across for each layer, and several series over it, each with its mark.

It looks as the curves of `curves` do. A point tells its layer and its number to the mouse; a table tells them to all.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

from .curves import BOTTOM, FOOT, LEFT, RIGHT, TOP, Decade, mark
from .html import Html, el, group, raw
from .lanes import Axis, fitting
from .numbers import MINUS, general, written

MOST_TICKS = 8


@dataclass(frozen=True)
class Series:
    """One number a layer: its name, its mark (a class of the style sheet)."""

    name: str
    mark: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class Depth:
    """A plot.

    id, label  the plot's name on the page, and what it shows, in words
    name       what its numbers measure
    layers     the name of every place across
    series     what is drawn
    powers     whether the axis goes by powers of ten; what is not above 0 then lies at its foot
    """

    id: str
    label: str
    name: str
    layers: tuple[str, ...]
    series: tuple[Series, ...]
    powers: bool


def drawing(plot: Depth) -> Html:
    """The plot as one drawing that fits every screen."""
    up = _axis(plot)
    body = (_levels(up), _places(plot), *(_series(plot, up, each) for each in plot.series), _names(plot))
    svg = el("svg", *body, id=plot.id, width="100%", height=BOTTOM + FOOT - 14, role="img", aria_label=plot.label)
    return el("div", svg, class_="curves")


def _axis(plot: Depth) -> "Decade | Axis":
    """An axis that holds every finite number."""
    values = [value for each in plot.series for value in each.values if math.isfinite(value)]
    if not plot.powers:
        return fitting(values)
    powers = [math.log10(value) for value in values if value > 0] or [0.0]
    low, high = math.floor(min(powers)), math.ceil(max(powers))
    return Decade(low, max(high, low + 1))


def _x(plot: Depth, place: int) -> float:
    """Percent of the width; one layer stands in the middle."""
    part = place / (len(plot.layers) - 1) if len(plot.layers) > 1 else 0.5
    return round(LEFT + 2 + (RIGHT - LEFT - 4) * part, 2)


def _y(up: "Decade | Axis", value: float) -> float:
    if isinstance(up, Axis):
        part = 1.0 if not math.isfinite(value) else (min(max(value, up.low), up.high) - up.low) / (up.high - up.low)
    else:
        part = up.part(value)
    return round(BOTTOM - (BOTTOM - TOP) * part, 1)


def _levels(up: "Decade | Axis") -> Html:
    lines = []
    for value, text in _ticks(up):
        y = _y(up, value)
        lines.append(el("line", x1=f"{LEFT}%", x2=f"{RIGHT}%", y1=y, y2=y, class_="tick"))
        lines.append(el("text", text, x=f"{LEFT - 1}%", y=y + 4, class_="end"))
    return group(*lines)


def _ticks(up: "Decade | Axis") -> list[tuple[float, str]]:
    """Where the axis has a number, and that number.

    >>> _ticks(Decade(0, 1))
    [(1.0, '1'), (2.0, '2'), (5.0, '5'), (10.0, '10')]
    """
    if isinstance(up, Axis):
        return [(tick, general(round(tick, 12))) for tick in up.ticks()]
    step = max(1, math.ceil((up.high - up.low) / MOST_TICKS))
    between = (1, 2, 5) if up.high - up.low == 1 else (1,)
    powers = range(up.low, up.high + 1, step)
    made = [(float(f"{times}e{power}"), times, power) for power in powers for times in between]
    return [(value, _shown(times, power)) for value, times, power in made if value <= 10.0**up.high]


def _shown(times: int, power: int) -> str:
    return f"{times * 10.0**power:g}" if -3 < power < 4 else f"{times}e{str(power).replace('-', MINUS)}"


def _places(plot: Depth) -> Html:
    """The numbers of the layers, from 1, as many as there is room for."""
    step = max(1, math.ceil(len(plot.layers) / MOST_TICKS))
    shown = range(0, len(plot.layers), step)
    return group(*(el("text", at + 1, x=f"{_x(plot, at)}%", y=BOTTOM + 15, class_="middle") for at in shown))


def _names(plot: Depth) -> Html:
    across = el("text", "norm, in the order of the run", x=f"{RIGHT}%", y=BOTTOM + 32, class_="end name")
    return group(across, el("text", plot.name, x="0", y=BOTTOM + 32, class_="name"))


def _series(plot: Depth, up: "Decade | Axis", series: Series) -> Html:
    """Lines from layer to layer and a mark at each; what is no number ends the line, what is infinite lies on top."""
    at = [(_x(plot, place), _y(up, value), place) for place, value in enumerate(series.values) if value == value]
    near = (pair for pair in pairwise(at) if pair[1][2] == pair[0][2] + 1)
    lines = "".join(f'<line x1="{a[0]}%" y1="{a[1]}" x2="{b[0]}%" y2="{b[1]}"></line>' for a, b in near)
    marks = (_told(plot, series, place, mark(series.mark, x, y)) for x, y, place in at)
    return el("g", raw(lines), *marks, class_=f"curve {series.mark}")


def _told(plot: Depth, series: Series, place: int, drawn: str) -> Html:
    words = f"{place + 1} {plot.layers[place]}: {series.name} {written(series.values[place], 4)}"
    return el("g", el("title", words), raw(drawn))


def numbers(plot: Depth) -> list[list[str]]:
    """The rows of the table behind a plot: a layer each."""
    rows = enumerate(zip(*(each.values for each in plot.series), strict=True))
    return [[str(at + 1), plot.layers[at], *(written(value, 5) for value in row)] for at, row in rows]
