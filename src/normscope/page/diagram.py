"""A straight-line program as a wiring diagram: boxes with their values, wires, what is computed now.

A diagram is data. `svg` draws it from left to right, or from top to bottom where there is little room;
`description` says the same facts in words. A kind of box is told by its shape and its label as well as by
its colour: exact is a plain rectangle, named a double line with round corners, input has cut corners.

>>> diagram = Diagram("d", "A sum", (Box("x", "x", ("2",), "input"), Box("s", "sum", ("4",))), (Wire("x", "s"),))
>>> description(diagram)
'A sum. 2 boxes: 1 input, 1 exact. x, input: 2; feeds sum. sum, exact: 4; takes x.'
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from .box import Box, Fitted, Line, fit
from .fitting import shorten
from .html import Html, el
from .layers import Pair, in_one_file, layers
from .wiring import CHANNEL, EDGE, LANE, PORT, Point, Sheet, layout

__all__ = ["Box", "Diagram", "Wire", "description", "figure", "svg"]

WIDE, NARROW = 1000, 296  # px; 296 is what a screen of 320 leaves
CAPS = (220, 176, 148, 128, 112, 98)  # px of a box: the widest at which all layers stand in one band
FOLDED = 150  # where even the last cap needs several bands
SLIM = 150  # px that wires beside a file of boxes leave the boxes at least
BEND, TIP, WING, CUT = 6.0, 8.0, 4.0, 9.0
KINDS = ("exact", "named", "input")  # have a look of their own
STATES = {"now": "computed in this step", "done": "computed in an earlier step", "ahead": "not computed yet"}


@dataclass(frozen=True)
class Wire:
    """A value's way from the box that makes it to one that takes it."""

    source: str
    target: str


@dataclass(frozen=True)
class Diagram:
    """Boxes in the order of the program, and the wires between them; `id` is unique on the page.

    Two wires of one way are drawn as one. ValueError where two boxes share a key, or a wire does not lead
    from a box to a later one.
    """

    id: str
    title: str
    boxes: tuple[Box, ...]
    wires: tuple[Wire, ...]
    room: str = ""  # a tag that boxes have room for, though none may carry it in this drawing
    pairs: tuple[Pair, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        at = {box.key: index for index, box in enumerate(self.boxes)}
        if len(at) < len(self.boxes):
            raise ValueError("two boxes share a key")
        for wire in self.wires:
            if not at.get(wire.source, len(at)) < at.get(wire.target, -1):
                raise ValueError(f"no wire leads from {wire.source} to {wire.target}: a later box is its target")
        pairs = dict.fromkeys((at[wire.source], at[wire.target]) for wire in self.wires)
        object.__setattr__(self, "pairs", tuple(pairs))


def figure(diagram: Diagram) -> Html:
    """Both drawings; the style sheet shows the one that the screen has room for."""
    return el("div", svg(diagram, WIDE), svg(diagram, NARROW), class_="diagram")


@lru_cache(maxsize=256)
def svg(diagram: Diagram, width: int) -> Html:
    """The drawing, at most `width` px wide: from left to right above 640, else from top to bottom."""
    down = width <= 640
    texts, sheet = _down(diagram, width) if down else _across(diagram, width)
    name = f"{diagram.id}-{'narrow' if down else 'wide'}"
    extent = _swap(sheet.extent, down)
    order = sorted(range(len(diagram.pairs)), key=lambda at: ("ahead", "", "now").index(_current(diagram, at)))
    return el(
        "svg",
        el("title", diagram.title, id=f"{name}-title"),
        el("desc", description(diagram), id=f"{name}-desc"),
        *(_wire(diagram, at, [_swap(point, down) for point in sheet.wires[at]]) for at in order),
        *(_box(box, _swap(corner, down), _swap(size, down), fitted)
          for box, corner, size, fitted in zip(diagram.boxes, sheet.corners, sheet.sizes, texts, strict=True)),
        class_=f"diagram-{'narrow' if down else 'wide'}",
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
        viewBox=f"0 0 {_px(extent[0])} {_px(extent[1])}",
        width=_px(extent[0]),
        height=_px(extent[1]),
    )  # fmt: skip


def description(diagram: Diagram) -> str:
    """What the drawing shows, in words: every box, its kind, state and values, what it takes and feeds."""
    kinds = ", ".join(f"{count} {kind}" for kind, count in Counter(box.kind for box in diagram.boxes).items())
    said = [f"{diagram.title}.", f"{len(diagram.boxes)} boxes: {kinds}."]
    for at, box in enumerate(diagram.boxes):
        takes = [diagram.boxes[source].title for source, target in diagram.pairs if target == at]
        feeds = [diagram.boxes[target].title for source, target in diagram.pairs if source == at]
        state = box.tag or STATES.get(box.state, "")
        text = ", ".join(filter(None, (box.title, box.kind, state)))
        text += ": " + "; ".join(map(shorten, box.lines)) if box.lines and box.state != "ahead" else ""
        text += f"; takes {', '.join(takes)}" if takes else ""
        text += f"; feeds {', '.join(feeds)}" if feeds else ""
        said.append(f"{text}.")
    return " ".join(said)


def _across(diagram: Diagram, width: int) -> tuple[list[Fitted], Sheet]:
    """Boxes as wide as lets all layers stand in one band, or else in as few bands as it takes."""
    columns = layers(len(diagram.boxes), diagram.pairs)
    for cap in (*CAPS, FOLDED):
        texts = _fitted(diagram, [cap] * len(diagram.boxes), stretch=False)
        least = sum(max(texts[box].width for box in layer) + CHANNEL for layer in columns) - CHANNEL
        if least > width and cap != FOLDED:
            continue
        sheet = layout(tuple((text.width, text.height) for text in texts), diagram.pairs, columns, width)
        if sheet.bands == 1:
            break
    return _fitted(diagram, [size[0] for size in sheet.sizes], stretch=True), sheet


def _down(diagram: Diagram, width: int) -> tuple[list[Fitted], Sheet]:
    """One box under another, the wires that pass some beside them; each box as wide as those leave it."""
    count = len(diagram.boxes)
    columns = in_one_file(layers(count, diagram.pairs), diagram.pairs)
    lanes = layout(((1.0, SLIM),) * count, diagram.pairs, columns).lanes
    lane = min(LANE, (width - SLIM) / (lanes + 1))
    beside = (lanes + 1) * lane if lanes else 0.0
    texts = _fitted(diagram, [width - beside - 2 * EDGE] * count, stretch=True)
    sheet = layout(tuple((text.height, text.width) for text in texts), diagram.pairs, columns, lane=lane)
    return texts, sheet


def _fitted(diagram: Diagram, widths: Sequence[float], stretch: bool) -> list[Fitted]:
    """The boxes' texts; every box but an input has room for the longest tag, so that no box moves as the tag does."""
    tag = max((diagram.room, *(box.tag for box in diagram.boxes)), key=len)
    entries = Counter(target for _, target in diagram.pairs)
    fitted = [
        fit(box, box.tag if box.kind == "input" else tag, width, stretch)
        for box, width in zip(diagram.boxes, widths, strict=True)
    ]
    return [text._replace(height=max(text.height, PORT * (entries[at] + 3))) for at, text in enumerate(fitted)]


def _current(diagram: Diagram, at: int) -> str:
    """The state of a wire: that of the box that takes it, or ahead if its source is."""
    source, target = (diagram.boxes[box].state for box in diagram.pairs[at])
    return "ahead" if "ahead" in (source, target) else "now" if target == "now" else ""


def _wire(diagram: Diagram, at: int, points: list[Point]) -> Html:
    source, target = (diagram.boxes[box].key for box in diagram.pairs[at])
    (x, y), (dx, dy) = points[-1], _toward(points[-1], points[-2], 1.0)
    wings = [(x + TIP * dx + side * WING * dy, y + TIP * dy + side * WING * dx) for side in (1, -1)]
    return el(
        "g",
        el("path", d=_curve([*points[:-1], (x + dx * (TIP - 2), y + dy * (TIP - 2))])),
        el("path", d=f"M{_at((x, y))}L{_at(wings[0])}L{_at(wings[1])}Z", class_="tip"),
        class_=f"wire {_current(diagram, at)}".rstrip(),
        data_from=source,
        data_to=target,
    )


def _curve(points: list[Point]) -> str:
    """A path along these corners, each rounded."""
    d = f"M{_at(points[0])}"
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        bend = min(BEND, _distance(before, corner) / 2, _distance(corner, after) / 2)
        enter, leave = _toward(corner, before, bend), _toward(corner, after, bend)
        d += f"L{_at((corner[0] + enter[0], corner[1] + enter[1]))}Q{_at(corner)} "
        d += _at((corner[0] + leave[0], corner[1] + leave[1]))
    return f"{d}L{_at(points[-1])}"


def _distance(a: Point, b: Point) -> float:
    return abs(a[0] - b[0]) + abs(a[1] - b[1])


def _toward(start: Point, goal: Point, length: float) -> Point:
    """The move of this length from one point toward another on its level or above or below it."""
    whole = _distance(start, goal) or 1.0
    return (goal[0] - start[0]) * length / whole, (goal[1] - start[1]) * length / whole


def _box(box: Box, corner: Point, size: Point, fitted: Fitted) -> Html:
    (x, y), (width, height) = corner, size
    top = y + (height - fitted.height) / 2
    return el(
        "g",
        *_outline(box.kind, x, y, width, height),
        _chip(fitted, x, top),
        *(_text(line, x, top) for line in fitted.lines),
        class_=" ".join(filter(None, ("box", box.kind if box.kind in KINDS else "", box.state))),
        data_box=box.key,
    )


def _outline(kind: str, x: float, y: float, width: float, height: float) -> list[Html]:
    if kind == "input":
        cut, right, bottom = CUT, x + width, y + height
        corners = ((x + cut, y), (right, y), (right, bottom - cut), (right - cut, bottom), (x, bottom), (x, y + cut))
        return [el("path", d="M" + "L".join(map(_at, corners)) + "Z", class_="outline")]
    if kind != "named":
        return [_rect(x, y, width, height, "outline")]
    return [_rect(x, y, width, height, "outline", 12), _rect(x + 4, y + 4, width - 8, height - 8, "inner", 8)]


def _text(line: Line, x: float, y: float) -> Html:
    whole = el("title", line.whole) if line.whole else None
    anchor = "middle" if line.kind == "tag" else None
    return el("text", whole, line.text, x=_px(x + line.x), y=_px(y + line.y), class_=line.kind, text_anchor=anchor)


def _chip(fitted: Fitted, x: float, y: float) -> Html | None:
    if not fitted.chip:
        return None
    left, top, width, height = fitted.chip
    return _rect(x + left, y + top, width, height, "chip", 3)


def _rect(x: float, y: float, width: float, height: float, name: str, round: int | None = None) -> Html:
    return el("rect", x=_px(x), y=_px(y), width=_px(width), height=_px(height), rx=round, class_=name)


def _swap(point: Point, down: bool) -> Point:
    return (point[1], point[0]) if down else point


def _at(point: Point) -> str:
    return f"{_px(point[0])} {_px(point[1])}"


def _px(length: float) -> str:
    return f"{round(length, 1):g}"
