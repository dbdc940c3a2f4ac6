"""Curves over powers of ten on both axes, with a region that is safe and the points where one is now.

Places across are percentages, so that one drawing fits every screen; curves differ by their dashes and marks,
not by colour. The curves and the points of now are two drawings, one over the other, as in `lanes`.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import isfinite, log10

from .html import Html, el, group, raw, region
from .numbers import MINUS

LEFT, RIGHT = 15.0, 96.0  # percent of the width where the axis begins and ends
TOP, BOTTOM, FOOT = 10, 230, 54  # px: the plot's edges, and the room under it
SWATCH = 12  # px
RADIUS = 3.5


@dataclass(frozen=True)
class Decade:
    """An axis from one power of ten to another."""

    low: int
    high: int

    def part(self, value: float) -> float:
        """How far along a value lies, from 0 to 1; what lies outside is put at the edge.

        >>> Decade(-1, 7).part(1000.0), Decade(-1, 7).part(0.0), Decade(-1, 7).part(float("inf"))
        (0.5, 0.0, 1.0)
        """
        if not isfinite(value):
            return 1.0
        exponent = log10(value) if value > 0 else self.low
        return (min(max(exponent, self.low), self.high) - self.low) / (self.high - self.low)


@dataclass(frozen=True)
class Curve:
    """A curve: its name, its mark (a class of the style sheet), and an error at each place across."""

    name: str
    mark: str
    points: tuple[float, ...]


@dataclass(frozen=True)
class Plot:
    """Curves on common axes.

    id, label     the plot's name on the page, and what it shows, in words
    places        where the curves' points lie across
    names         what the two axes measure
    safe          the largest value that is safe, and how far across anything can be
    safe_label    what the region is called
    """

    id: str
    label: str
    across: Decade
    up: Decade
    names: tuple[str, str]
    places: tuple[float, ...]
    curves: tuple[Curve, ...]
    safe: tuple[float, float | None]
    safe_label: str


def drawing(plot: Plot, now: float, points: tuple[tuple[str, float], ...]) -> Html:
    """The plot: its curves, and over them a line at `now` with a point for each mark."""
    curves = region(_curves(plot), f"{plot.id}-curves")
    return el("div", curves, region(_now(plot, now, points), f"{plot.id}-now"), class_="curves")


@lru_cache(maxsize=64)
def _curves(plot: Plot) -> Html:
    """What lies behind the point of now."""
    body = (_safe(plot), _grid(plot), *(_curve(plot, curve) for curve in plot.curves), _edge(plot))
    named = {"role": "img", "aria_label": plot.label}
    return el("svg", *body, id=f"{plot.id}-curves", width="100%", height=BOTTOM + FOOT, **named)


def _x(plot: Plot, value: float) -> float:
    return round(LEFT + (RIGHT - LEFT) * plot.across.part(value), 2)


def _y(plot: Plot, value: float) -> float:
    return round(BOTTOM - (BOTTOM - TOP) * plot.up.part(value), 1)


def _safe(plot: Plot) -> Html:
    """The tinted region: at most the safe error, as far across as there is any."""
    most, far = plot.safe
    y, end = _y(plot, most), LEFT if far is None else _x(plot, far)
    tinted = el("rect", x=f"{LEFT}%", y=y, width=f"{round(end - LEFT, 2)}%", height=round(BOTTOM - y, 1), class_="safe")
    line = el("line", x1=f"{LEFT}%", x2=f"{end}%", y1=y, y2=y, class_="limit")
    side = el("line", x1=f"{end}%", x2=f"{end}%", y1=y, y2=BOTTOM, class_="limit")
    return group(tinted, line, side, *_safe_key(plot))


def _safe_key(plot: Plot) -> tuple[Html, Html]:
    """What the tint means, under the plot: in it the line of now would cross the words."""
    swatch = el("rect", x=0, y=BOTTOM + FOOT - SWATCH - 2, width=SWATCH, height=SWATCH, class_="swatch")
    return swatch, el("text", plot.safe_label, x=SWATCH + 6, y=BOTTOM + FOOT - 4, class_="safe-label")


def _grid(plot: Plot) -> Html:
    powers = range(plot.across.low, plot.across.high + 1)
    upright = (_upright(plot, 10.0**power) for power in powers)
    under = (
        el("text", _power(power), x=f"{_x(plot, 10.0**power)}%", y=BOTTOM + 15, class_="middle") for power in powers
    )
    levels = range(plot.up.low, plot.up.high + 1, 2)
    level = (
        group(
            el("line", x1=f"{LEFT}%", x2=f"{RIGHT}%", y1=_y(plot, 10.0**p), y2=_y(plot, 10.0**p), class_="tick"),
            el(
                "text",
                ("≤" if p == plot.up.low else "") + _power(p),
                x=f"{LEFT - 1}%",
                y=_y(plot, 10.0**p) + 4,
                class_="end",
            ),
        )
        for p in levels
    )
    return group(*upright, *under, *level)


def _upright(plot: Plot, value: float) -> Html:
    x = _x(plot, value)
    return el("line", x1=f"{x}%", x2=f"{x}%", y1=TOP, y2=BOTTOM, class_="tick")


def _edge(plot: Plot) -> Html:
    """The names of the axes."""
    across, up = plot.names
    return group(
        el("text", across, x=f"{RIGHT}%", y=BOTTOM + 32, class_="end name"),
        el("text", up, x="0", y=BOTTOM + 32, class_="name"),
    )


def _power(power: int) -> str:
    """A power of ten for an axis.

    >>> _power(-1), _power(3), _power(5)
    ('0.1', '1000', '1e5')
    """
    return f"{10.0**power:g}" if -3 < power < 4 else f"1e{str(power).replace('-', MINUS)}"


def _curve(plot: Plot, curve: Curve) -> Html:
    """Lines from point to point, and a mark at each; a value that is no number ends the line."""
    at = [(_x(plot, x), _y(plot, y)) for x, y in zip(plot.places, curve.points, strict=True) if y == y]
    lines = "".join(f'<line x1="{a[0]}%" y1="{a[1]}" x2="{b[0]}%" y2="{b[1]}"></line>' for a, b in pairwise(at))
    marks = "".join(mark(curve.mark, x, y) for x, y in at)
    return el("g", raw(lines + marks), class_=f"curve {curve.mark}")


def mark(kind: str, x: float, y: float) -> str:
    """A mark in the middle of a place: a disc, a ring, a square, a diamond or a cross."""
    if kind in ("disc", "ring"):
        return f'<circle cx="{x}%" cy="{y}" r="{RADIUS}"></circle>'
    size = 2 * RADIUS
    return f'<rect x="{x}%" y="{y - RADIUS}" width="{size}" height="{size}"></rect>'


def key(kind: str) -> Html:
    """A piece of a curve with its mark, for a table that names it."""
    line = raw('<line x1="0" x2="100%" y1="8" y2="8"></line>')
    body = el("g", line, raw(mark(kind, 50, 8)), class_=f"curve {kind}")
    return el("svg", body, width=36, height=16, class_="key", aria_hidden="true")


def _now(plot: Plot, now: float, points: tuple[tuple[str, float], ...]) -> Html:
    """The line where one is, and the marks on it, larger."""
    x = _x(plot, now)
    line = el("line", x1=f"{x}%", x2=f"{x}%", y1=TOP, y2=BOTTOM, class_="here")
    marks = (
        el("g", raw(mark(kind, x, _y(plot, value))), class_=f"curve {kind}") for kind, value in points if value == value
    )
    drawn = group(line, *marks)
    return el("svg", drawn, id=f"{plot.id}-now", width="100%", height=BOTTOM + FOOT, class_="now", aria_hidden="true")
