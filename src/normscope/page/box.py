"""One box of a wiring diagram: its words, fitted to a width."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from .fitting import LINES, measure, shorten, wrap, wrap_lines

TITLE, SMALL, VALUE = 14.0, 11.0, 12.0  # px of type
SIDE, TOP, INDENT, CHIP = 11.0, 8.0, 8.0, 4.0  # px beside the text, above it, of a continued value, in a tag
TITLE_ROW, ROW, GAP = 18.0, 16.0, 4.0  # px from line to line, between parts
SIZE = {"title": (TITLE, False), "label": (SMALL, False), "value": (VALUE, True), "tag": (SMALL, False)}


@dataclass(frozen=True)
class Box:
    """One value: the step that makes it and, where known, its cells.

    lines  its values as text, one a line; long ones are wrapped, very long ones shortened. Those of a box
           ahead are not shown, but have their room: so no box moves when they are
    kind   `exact`, `named`, `input` or a word of the caller's: the label under the title
    state  `now`, `done`, `ahead`, or nothing
    tag    what is said of it in this drawing, such as "computed in this step"
    """

    key: str
    title: str
    lines: tuple[str, ...] = ()
    kind: str = "exact"
    state: str = ""
    tag: str = ""


class Line(NamedTuple):
    """A line of text in a box: what it is, its start (a tag: its middle), and the whole value if it is a part."""

    kind: str
    x: float
    y: float
    text: str
    whole: str = ""


class Fitted(NamedTuple):
    """A box's lines from its corner on, the size they take, and the ground of its tag (x, y, width, height)."""

    width: float
    height: float
    lines: tuple[Line, ...]
    chip: tuple[float, float, float, float] | None


@lru_cache(maxsize=2048)
def fit(box: Box, tag: str, most: float, stretch: bool = False) -> Fitted:
    """The words of a box at most `most` px wide, or that wide if it is to stretch.

    Room is kept for `tag`, whether or not the box carries one: so no box moves as the tag does.

    >>> [line.text for line in fit(Box("mu", "mean", ("5/2",)), "", 100).lines]
    ['mean', 'exact', '5/2']
    """
    room = most - 2 * SIDE
    head = _head(box, room)
    lines = [*head, *_values(box, room, head[-1].y + GAP)]
    end = lines[-1].y + 5
    shown = [line for line in lines if box.state != "ahead" or line.kind != "value"]
    beside = measure(box.kind, SMALL) + 2 * GAP + measure(tag, SMALL) + 2 * CHIP <= room
    kept = () if beside or not tag else wrap(tag, room - 2 * CHIP, SMALL)
    height = end + (GAP + ROW * len(kept) if kept else 0) + TOP
    widest = max([_end(line) for line in lines] + [SIDE + 2 * CHIP + measure(text, SMALL) for text in kept])
    width = most if stretch else min(most, widest + SIDE)
    if not box.tag:
        return Fitted(width, height, tuple(shown), None)
    label = next(line for line in lines if line.kind == "label")
    own = (box.tag,) if beside else wrap(box.tag, room - 2 * CHIP, SMALL)
    across = 2 * CHIP + max(measure(text, SMALL) for text in own)
    x, y = (width - SIDE - across, label.y - 12) if beside else (SIDE, end + GAP)
    said = [Line("tag", x + across / 2, y + 12 + ROW * at, text) for at, text in enumerate(own)]
    return Fitted(width, height, (*shown, *said), (x, y, across, ROW * len(own)))


def _head(box: Box, room: float) -> list[Line]:
    """The title, and the kind under it."""
    lines = [
        Line("title", SIDE, TOP + 14 + TITLE_ROW * at, text) for at, text in enumerate(wrap(box.title, room, TITLE))
    ]
    y = lines[-1].y + ROW
    return lines + [Line("label", SIDE, y + ROW * at, text) for at, text in enumerate(wrap(box.kind, room, SMALL))]


def _values(box: Box, room: float, y: float) -> Iterator[Line]:
    """The values under y; the lines that continue one are indented."""
    for value in box.lines:
        pieces = wrap_lines(shorten(value), room, VALUE, INDENT)
        for at, text in enumerate(pieces):
            y += ROW
            whole = value if at == 0 and (len(pieces) == LINES or shorten(value) != value) else ""
            yield Line("value", SIDE + INDENT * bool(at), y, text, whole)


def _end(line: Line) -> float:
    size, mono = SIZE[line.kind]
    return line.x + measure(line.text, size, mono)
