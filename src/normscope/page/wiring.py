"""Where the boxes of a wiring diagram stand and how its wires run: numbers alone, no text and no markup.

Points are (u, v): u along the flow, v across it; a drawing from top to bottom swaps them. Layers of boxes
follow one another along u in bands, as words do in lines. Wires keep to three kinds of free ground: the
channel before each layer, the corridor beside each band, and the gutter ahead of all bands. Each value
has lanes of its own there, so a wire never runs through a box and two values never share a line.
"""

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property, lru_cache
from math import inf
from typing import NamedTuple

from .layers import Layers, Pair, bands

Point = tuple[float, float]
Place = tuple[int, int]  # of a box: its band and its column there; of a channel: those of the layer behind it

LANE = 8.0  # px between wires
EDGE = 2.0  # px around the drawing, for thick outlines
LEAVE, ARRIVE = 10.0, 16.0  # px of wire before the first lane of a channel and after the last
CHANNEL, STACK, BAND = 30.0, 16.0, 28.0  # px at least between layers, boxes of one layer, bands
PORT = 9.0  # px between the wires that enter a box


class Sheet(NamedTuple):
    """A finished layout: its extent, every box's corner and size, every wire's corners."""

    extent: Point
    corners: tuple[Point, ...]
    sizes: tuple[Point, ...]
    wires: tuple[tuple[Point, ...], ...]
    bands: int
    lanes: int  # in the first corridor


@lru_cache(maxsize=256)
def layout(
    sizes: tuple[Point, ...], wires: tuple[Pair, ...], columns: Layers, limit: float = inf, lane: float = LANE
) -> Sheet:
    """Place boxes of these sizes and route the wires, in bands that are at most `limit` long.

    Where one layer and its wires are longer than that, lanes stand closer. Kept, since most steps of a lesson
    change words and colours alone.
    """
    room = limit
    while True:
        filled = bands(columns, [size[0] for size in sizes], room - 2 * EDGE, CHANNEL)
        sheet = _Plan(sizes, wires, filled, lane).sheet()
        over = sheet.extent[0] - limit
        if over <= 0:
            return sheet
        if all(len(band) == 1 for band in filled):
            return layout(sizes, wires, columns, limit, lane / 2) if lane > 1 else sheet
        room -= max(over, LANE)


class _Plan:
    """One attempt: bands are given; each property is a stage of the layout and reads the ones above it."""

    def __init__(self, sizes: Sequence[Point], wires: Sequence[Pair], bands: tuple[Layers, ...], lane: float) -> None:
        self.bands, self.wires, self.lane = bands, wires, lane
        self.fed = {target for _, target in wires}
        self.place = {box: (b, c) for b, band in enumerate(bands) for c, layer in enumerate(band) for box in layer}
        self.sizes = [(max(sizes[other][0] for other in bands[b][c]), sizes[box][1])
                      for box, (b, c) in sorted(self.place.items())]  # fmt: skip

    def corridors(self, wire: Pair) -> tuple[int, ...]:
        """The corridors that a wire takes: none to the next layer, two (and the gutter) to a far band."""
        (band, column), (to, at) = self.place[wire[0]], self.place[wire[1]]
        if band == to:
            return () if at == column + 1 else (band,)
        return (to,) if to == band + 1 else (band + 1, to)

    def after(self, box: int) -> Place:
        """The channel that a box's value leaves into; the one that it enters from is its place."""
        band, column = self.place[box]
        return band, column + 1

    @cached_property
    def middles(self) -> dict[int, float]:
        """v of every box's middle within its band: in line with the first value that it takes, if free."""
        middles: dict[int, float] = {}
        for layer in (layer for band in self.bands for layer in band):
            wishes = {box: [middles[s] for s, t in self.wires if t == box and not self.corridors((s, t))][:1]
                      for box in layer}  # fmt: skip
            edge = -inf
            for box in sorted(layer, key=lambda box: (not wishes[box], box not in self.fed, wishes[box], box)):
                half = self.sizes[box][1] / 2
                middles[box] = max((wishes[box] or [0.0])[0], edge + STACK + half)
                edge = middles[box] + half
        return middles

    @cached_property
    def ports(self) -> dict[Pair, float]:
        """v of every wire's end within its band: straight on if it can be, else on the corridor's side."""
        ports: dict[Pair, float] = {}
        for wire in sorted(self.wires, key=lambda wire: (wire[1], self.corridors(wire), wire[0])):
            source, target = wire
            size, middle = self.sizes[target][1], self.middles[target]
            wish = middle - size / 4 if self.corridors(wire) else self.middles[source]
            used = [at for (_, box), at in ports.items() if box == target]
            others = [
                self.middles[box] for box in self.place if self.after(box) == self.place[target] and box != source
            ]
            ports[wire] = _free(wish, middle - size / 2 + PORT, middle + size / 2 - PORT, used, others)
        return ports

    @cached_property
    def runs(self) -> dict[Place, dict[int, float]]:
        """For every channel, the lane of each value that turns in it.

        Values that leave keep before values that arrive, each kind in the order that crosses least.
        """
        ends: dict[Place, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
        for wire in self.wires:
            source, target = wire
            way, leaving = self.corridors(wire), ends[self.after(source)][source]
            leaving += [self.middles[source], self.ports[wire] if not way else self._aside(source, way[0])]
            if way:
                ends[self.place[target]][source] += [self.ports[wire], -inf]
        return {channel: self._lanes(channel, values) for channel, values in ends.items()}

    def _aside(self, source: int, corridor: int) -> float:
        return -inf if corridor == self.place[source][0] else inf

    def _lanes(self, channel: Place, ends: dict[int, list[float]]) -> dict[int, float]:
        turning = [source for source in ends if min(ends[source]) < max(ends[source])]
        leaving = sorted((s for s in turning if self.after(s) == channel), key=lambda s: self.middles[s])
        arriving = sorted((s for s in turning if self.after(s) != channel), key=lambda s: -max(ends[s]))
        return {source: at * self.lane for at, source in enumerate(leaving + arriving)}

    @cached_property
    def gutter(self) -> dict[int, float]:
        """u of the values that pass a whole band."""
        passing = sorted({wire[0] for wire in self.wires if len(self.corridors(wire)) == 2})
        return {source: EDGE + at * self.lane for at, source in enumerate(passing)}

    @cached_property
    def starts(self) -> tuple[dict[Place, float], dict[Place, float], float]:
        """u of every channel's first lane and of every layer, and the end of the longest band."""
        lanes, left, ends = {}, {}, [0.0]
        for b, band in enumerate(self.bands):
            u = EDGE + self.lane * len(self.gutter)
            for c in range(len(band) + 1):
                width, first = self._channel((b, c), 0 < c < len(band))
                lanes[b, c] = u + first
                u += width
                if c < len(band):
                    left[b, c] = u
                    u += self.sizes[band[c][0]][0]
            ends.append(u)
        return lanes, left, max(ends) + EDGE

    def _channel(self, channel: Place, inner: bool) -> Point:
        """A channel's width and where its first lane is."""
        turns = len(self.runs.get(channel, ()))
        if not inner and not turns:
            return 0.0, 0.0
        between = (turns - 1) * self.lane
        need = (LEAVE if channel[1] else 0) + between + (ARRIVE if channel[1] < len(self.bands[channel[0]]) else 0)
        width = max(need, CHANNEL if inner else 0)
        return width, (LEAVE if channel[1] else 0) + (width - need) / 2

    def turn(self, source: int, channel: Place) -> float:
        """u at which a value turns in a channel."""
        return self.starts[0][channel] + self.runs[channel].get(source, 0.0)

    @cached_property
    def rows(self) -> dict[int, dict[int, int]]:
        """For every corridor, the lane of each value in it, 0 nearest to its band; short ways stand inside."""
        spans: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
        for wire in self.wires:
            source, target = wire
            if way := self.corridors(wire):
                bend = [self.gutter[source]] if len(way) == 2 else []
                spans[way[0]][source] += [self.turn(source, self.after(source)), *bend]
                spans[way[-1]][source] += [self.turn(source, self.place[target]), *bend]
        return {corridor: _rows({s: (min(us), max(us)) for s, us in values.items()})
                for corridor, values in spans.items()}  # fmt: skip

    @cached_property
    def tops(self) -> tuple[list[float], list[float], float]:
        """For every band, v of its corridor's first lane and of its zero line; and the end of the last."""
        corridors, zeros, v = [], [], EDGE
        for b, band in enumerate(self.bands):
            boxes = [(self.middles[box], self.sizes[box][1] / 2) for layer in band for box in layer]
            count = 1 + max(self.rows.get(b, {}).values(), default=-1)
            v += max((count + 1) * self.lane if count else 0.0, BAND if b else 0.0) + (LANE if b else 0.0)
            corridors.append(v - self.lane)
            zeros.append(v - min(middle - half for middle, half in boxes))
            v = zeros[-1] + max(middle + half for middle, half in boxes)
        return corridors, zeros, v + EDGE

    def across(self, box: int, v: float) -> float:
        """v on the sheet of a v within the box's band."""
        return self.tops[1][self.place[box][0]] + v

    def path(self, wire: Pair) -> tuple[Point, ...]:
        """The corners of a wire."""
        source, target = wire
        out, end = self.after(source), self.place[target]
        v, port = self.across(source, self.middles[source]), self.across(target, self.ports[wire])
        us = [self.turn(source, out)]
        vs = [self.tops[0][corridor] - self.rows[corridor][source] * self.lane for corridor in self.corridors(wire)]
        us += [self.gutter[source]] if len(vs) == 2 else []
        us += [self.turn(source, end)] if vs else []
        start, stop = self.starts[1][self.place[source]] + self.sizes[source][0], self.starts[1][end]
        corners = [(start, v)]
        for u, to in zip(us, [*vs, port], strict=True):
            corners += [(u, corners[-1][1]), (u, to)]
        return _plain([*corners, (stop, port)])

    def sheet(self) -> Sheet:
        """The stages put together."""
        corners = [(self.starts[1][self.place[box]], self.across(box, self.middles[box] - size[1] / 2))
                   for box, size in enumerate(self.sizes)]  # fmt: skip
        lanes = 1 + max(self.rows.get(0, {}).values(), default=-1)
        extent = (self.starts[2], self.tops[2])
        paths = tuple(map(self.path, self.wires))
        return Sheet(extent, tuple(corners), tuple(self.sizes), paths, len(self.bands), lanes)


def _free(wish: float, low: float, high: float, used: Sequence[float], others: Sequence[float]) -> float:
    """The place between low and high nearest to the wish that keeps clear of used places and others' wires."""
    wish = min(max(wish, low), high)

    def room(place: float) -> float:
        clear = [abs(place - at) for at in used] + [2 * abs(place - at) for at in others]
        return min([PORT, *clear])

    if room(wish) == PORT:
        return wish
    return min((low + step for step in range(int(high - low) + 1)), key=lambda place: (-room(place), abs(place - wish)))


def _rows(spans: dict[int, Point]) -> dict[int, int]:
    """Rows for spans so that those of one row do not touch, short spans first."""
    rows: dict[int, int] = {}
    for key in sorted(spans, key=lambda key: (spans[key][1] - spans[key][0], key)):
        low, high = spans[key]
        taken = {row for other, row in rows.items() if spans[other][0] <= high and low <= spans[other][1]}
        rows[key] = next(row for row in range(len(spans)) if row not in taken)
    return rows


def _plain(points: Sequence[Point]) -> tuple[Point, ...]:
    """The same way without points that stand on a straight line."""
    kept = list(points[:1])
    for point, following in zip(points[1:], [*points[2:], None], strict=True):
        if point == kept[-1]:
            continue
        if following and (kept[-1][0] == point[0] == following[0] or kept[-1][1] == point[1] == following[1]):
            continue
        kept.append(point)
    return tuple(kept)
