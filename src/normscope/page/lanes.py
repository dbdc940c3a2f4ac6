"""Numbers on one axis, a lane each: where they are now, where they were, and what lies outside.

Places are percentages, so that one drawing fits every screen. The axis and the marks are two drawings, one
over the other: a change of a number touches the marks alone, and their nodes stay the same.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from .html import Html, el, group, raw, region
from .numbers import general, short

LANE, TICKS = 24, 18  # px: a lane's height, that of the numbers under the axis
LEFT, RIGHT = 8.0, 97.0  # percent of the width where the axis begins and ends
MARK = 10  # px
MOST_TICKS = 8
LARGEST = 1e300
NOWHERE = -100.0


@dataclass(frozen=True)
class Axis:
    """The reach of an axis and the distance of its ticks."""

    low: float
    high: float
    step: float

    def at(self, value: float) -> float:
        """The place of a value in percent; a value outside is put at the edge.

        >>> Axis(-5, 5, 1).at(-5), Axis(-5, 5, 1).at(7.25)
        (8.0, 97.0)
        """
        part = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return round(LEFT + (RIGHT - LEFT) * part, 2)

    def side(self, value: float) -> str:
        """On which side of the axis a value lies: `left`, `right`, or nothing where it lies on it."""
        if value != value:
            return "right"
        return "left" if value < self.low else "right" if value > self.high else ""

    def ticks(self) -> list[float]:
        """The places of the ticks.

        >>> Axis(-1, 1, 0.5).ticks()
        [-1.0, -0.5, 0.0, 0.5, 1.0]
        """
        first = round(self.low / self.step)
        return [first * self.step + i * self.step for i in range(round((self.high - self.low) / self.step) + 1)]


@dataclass(frozen=True)
class Lane:
    """One number: its name, where it is and where it was (the same: it has not moved)."""

    name: str
    value: float
    before: float


@dataclass(frozen=True)
class Lanes:
    """A plot: its lanes, the axis under them, and what is tinted behind them.

    id, label  the plot's name on the page, and what it shows, in words
    role       its colour; its marks' shape goes with it
    chosen     the place of the lane that is outlined, if any
    band       a middle and the distance on both sides of it that is tinted
    """

    id: str
    label: str
    role: str
    axis: Axis
    lanes: tuple[Lane, ...]
    chosen: int | None = None
    band: tuple[float, float] | None = None

    @property
    def height(self) -> int:
        """px, without the numbers of the axis."""
        return LANE * len(self.lanes)


def fitting(values: Iterable[float]) -> Axis:
    """The smallest axis with round ends that holds 0 and all values, but for those beyond 1e300.

    >>> fitting([0.3, -1.7, 6.2])
    Axis(low=-2.0, high=7.0, step=1.0)
    """
    within = [0.0, *(value for value in values if abs(value) <= LARGEST)]
    low, high = min(within), max(within)
    reach = high - low if high - low >= 1 / LARGEST else 1.0
    power = 10.0 ** math.floor(math.log10(reach))
    step = next(power * size for size in (0.2, 0.5, 1.0, 2.0) if reach / (power * size) <= MOST_TICKS)
    low, high = min(low, math.floor(low / step) * step), max(high, math.ceil(high / step) * step)
    return Axis(low, high if high > low else low + step, step)


def drawing(plot: Lanes, numbered: bool) -> Html:
    """The plot: its axis, and over it the marks. `numbered`: the axis has its numbers under it."""
    axis = region(
        _axis(f"{plot.id}-axis", plot.axis, tuple(lane.name for lane in plot.lanes), numbered), f"{plot.id}-axis"
    )
    return el("div", axis, region(_marks(plot), f"{plot.id}-marks"), class_=f"lanes {plot.role}")


@lru_cache(maxsize=64)
def _axis(id: str, axis: Axis, names: tuple[str, ...], numbered: bool) -> Html:
    """What lies behind the marks: ticks, and a line with its name for every lane."""
    ticks, height = axis.ticks(), LANE * len(names)
    lines = (_upright(axis.at(tick), height, "zero" if abs(tick) < axis.step / 2 else "tick") for tick in ticks)
    words = (el("text", general(round(tick, 12)), x=f"{axis.at(tick)}%", y=height + 13) for tick in ticks)
    lanes = (_track(name, row) for row, name in enumerate(names))
    whole = height + TICKS if numbered else height
    drawn = group(*lines, *lanes, *(words if numbered else ()))
    return el("svg", drawn, id=id, width="100%", height=whole, class_="axis", aria_hidden="true")


def _track(name: str, row: int) -> Html:
    y = _middle(row)
    line = el("line", x1=f"{LEFT}%", x2=f"{RIGHT}%", y1=y, y2=y, class_="track")
    return group(el("text", name, x="3%", y=y + 4, class_="nr"), line)


def _middle(row: int) -> int:
    return row * LANE + LANE // 2


def _upright(at: float, height: int, kind: str) -> Html:
    return el("line", x1=f"{at}%", x2=f"{at}%", y1=0, y2=height, class_=kind)


def _marks(plot: Lanes) -> Html:
    lanes = raw("".join(_lane(plot.axis, lane, row) for row, lane in enumerate(plot.lanes)))
    body = group(_band(plot), lanes, _outline(plot))
    named = {"role": "img", "aria_label": plot.label}
    return el("svg", body, id=f"{plot.id}-marks", width="100%", height=plot.height, class_="marks", **named)


def _band(plot: Lanes) -> Html | None:
    """What is tinted: as much of the middle and its two sides as the axis shows."""
    if plot.band is None:
        return None
    middle, side = plot.band
    low, high = plot.axis.at(middle - side), plot.axis.at(middle + side)
    width = round(high - low, 2)
    line = NOWHERE if plot.axis.side(middle) else plot.axis.at(middle)
    tinted = el("rect", x=f"{low}%", y=0, width=f"{width}%", height=plot.height, class_="spread")
    return group(tinted, _upright(line, plot.height, "middle"))


def _outline(plot: Lanes) -> Html:
    top = NOWHERE if plot.chosen is None else plot.chosen * LANE + 1
    return el("rect", x=1, y=f"{top:g}", width="99.6%", height=LANE - 2, class_="chosen")


@lru_cache(maxsize=512)
def _lane(axis: Axis, lane: Lane, row: int) -> str:
    """A lane's nodes, always the same ones: a mark that is not wanted stands outside the drawing."""
    y = _middle(row)
    side = axis.side(lane.value)
    now, then = (axis.at(value) if value == value else RIGHT for value in (lane.value, lane.before))
    ghost = NOWHERE if lane.before == lane.value or axis.side(lane.before) else then
    return (
        f'<line x1="{then}%" x2="{now}%" y1="{y}" y2="{y}" class="way"></line>'
        f"{_mark(ghost, y, 'ghost')}{_mark(NOWHERE if side else now, y, 'mark')}"
        f'<text x="{now}%" y="{y + 4}" class="out {side}">{_outside(lane.value, side)}</text>'
    )


def _mark(at: float, y: int, kind: str) -> str:
    return f'<rect x="{at}%" y="{y - MARK // 2}" width="{MARK}" height="{MARK}" class="{kind}"></rect>'


def _outside(value: float, side: str) -> str:
    if value != value:
        return short(value)
    return {"left": f"◀ {short(value)}", "right": f"{short(value)} ▶", "": ""}[side]
