"""Two plots for a few named things: a figure of each as a distance from a limit, and two amounts of each side by side.

Places across are percentages, so that one drawing fits every screen; a name and its figure stand above its mark,
so that none needs room beside it.
"""

from collections.abc import Callable, Sequence
from math import ceil, floor, log10
from typing import NamedTuple

from .html import Html, el, group

LEFT, RIGHT = 1.0, 99.0  # percent of the width where an axis begins and ends
LINE, HEAD, FOOT = 40, 22, 22  # px: of a thing, above the first, under the last
TEXT, MARK = 14, 26  # px from the top of a line: its words, and its mark
RADIUS, THICK = 5, 8
TICKS = (1, 2, 5)
NEAR_EDGE = 94.0  # percent, beyond which what is written in the middle of a place would be cut


class Point(NamedTuple):
    """A thing, how many times the limit its figure is, and the figure in words; `strong` ones stand out."""

    name: str
    value: float
    words: str
    strong: bool = False


class Pair(NamedTuple):
    """A thing, what was predicted of it and what was measured, None where that is not known, and both in words."""

    name: str
    predicted: int | None
    measured: int | None
    words: str
    strong: bool = False


def distances(label: str, limit: str, points: Sequence[Point], width: str = "100%") -> Html:
    """How far each is from the limit, which is 1, on an axis of powers of ten.

    >>> "<circle" in str(distances("times", "a copy", [Point("mine", 1.1, "1.1 ms")]))
    True
    """
    low = min(1.0, *(point.value for point in points)) * 0.8
    high = max(2.0, *(point.value for point in points)) * 1.2

    def x(value: float) -> float:
        part = (log10(value) - log10(low)) / (log10(high) - log10(low))
        return round(LEFT + (RIGHT - LEFT) * part, 2)

    bottom = HEAD + LINE * len(points)
    ticks = (_tick(x(value), f"{value:g}×", bottom) for value in _ticks(low, high))
    one = el("line", x1=f"{x(1)}%", x2=f"{x(1)}%", y1=HEAD - 4, y2=bottom, class_="limit")
    said = el("text", limit, x=f"{x(1)}%", y=TEXT - 2, class_="limit-label")
    drawn = (_point(point, x, HEAD + LINE * at) for at, point in enumerate(points))
    return _svg(label, width, bottom + FOOT, *ticks, one, said, *drawn)


def _ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times each power of ten, or the powers alone where that would be many."""
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    steps = TICKS if len(powers) <= 4 else TICKS[:1]
    return [step * 10.0**power for power in powers for step in steps if low <= step * 10.0**power <= high]


def _tick(x: float, text: str, bottom: int) -> Html:
    line = el("line", x1=f"{x}%", x2=f"{x}%", y1=HEAD - 4, y2=bottom, class_="tick")
    side = "end" if x > NEAR_EDGE else "middle"
    return group(line, el("text", text, x=f"{x}%", y=bottom + 15, class_=f"{side} scale"))


def _point(point: Point, x: Callable[[float], float], top: int) -> Html:
    at = x(point.value)
    stem = el("line", x1=f"{x(1)}%", x2=f"{at}%", y1=top + MARK, y2=top + MARK, class_="stem")
    disc = el("circle", cx=f"{at}%", cy=top + MARK, r=RADIUS)
    return el("g", *_words(point.name, point.words, top), stem, disc, class_="strong" if point.strong else None)


def amounts(label: str, pairs: Sequence[Pair], width: str = "100%") -> Html:
    """What was predicted, an outline, over what was measured, a bar; both from 0 to the largest.

    >>> str(amounts("bytes", [Pair("mine", 8, 8, "8 bytes")])).count("<rect")
    2
    """
    most = max([amount for pair in pairs for amount in pair[1:3] if amount is not None], default=1) or 1
    drawn = (_pair(pair, most, LINE * at) for at, pair in enumerate(pairs))
    return _svg(label, width, LINE * len(pairs), *drawn)


def _pair(pair: Pair, most: int, top: int) -> Html:
    def rect(amount: int | None, kind: str) -> Html | None:
        if amount is None:
            return None
        size = {"y": top + MARK - THICK // 2, "width": f"{round(amount / most * (RIGHT - LEFT), 2)}%", "height": THICK}
        return el("rect", x=f"{LEFT}%", **size, class_=kind)

    bars = rect(pair.measured, "measured"), rect(pair.predicted, "predicted")
    return el("g", *_words(pair.name, pair.words, top), *bars, class_="strong" if pair.strong else None)


def _words(name: str, words: str, top: int) -> tuple[Html, Html]:
    """A name at the left edge, its figure at the right one."""
    return (
        el("text", name, x=f"{LEFT}%", y=top + TEXT, class_="name"),
        el("text", words, x=f"{RIGHT}%", y=top + TEXT, class_="end"),
    )


def _svg(label: str, width: str, height: int, *body: Html) -> Html:
    return el("svg", *body, width=width, height=height, role="img", aria_label=label, class_="bars")
