"""Which cells share a statistic: the cells coloured and numbered by group, counts in words, all norms in a table."""

from functools import lru_cache
from math import isinf
from typing import NamedTuple

from ...comparison import Compared
from ...conventions import CONVENTIONS
from ...page.controls import button
from ...page.frame import frame, head
from ...page.html import Html, el, group, raw, region
from ...page.numbers import fixed, short
from .rounding import settled
from .scene import TYPED, Scene

COLOURS = 6  # neighbours differ; the number in the cell says which is which
MOVES = "↕"
HELD = "Here they come from this table, so an edit changes them too."
GIVEN = "This table has no part in them."
HEADS = ("norm", "pattern", "reduced", "kept", "statistics", "z of the selection", "outputs that move")


def sharing(scene: Scene) -> Html:
    """The cells by group, and beside them what that means."""
    return el("div", _cells(scene), _words(scene), class_="sides")


def _cells(scene: Scene) -> Html:
    chosen = scene.chosen
    if chosen is None:
        return region(el("p", scene.refuse, id="shared", class_="bad"), "shared")
    seen = scene.arranged
    corner = "C" if seen.is_transposed else "S"
    across = " ".join(axis for axis in seen.axes if axis not in ("B", "N", corner))
    table = el(
        "table", head(f"{corner} ↓  {across} →", *seen.columns), el("tbody", *_rows(scene, chosen)), role="grid",
        aria_label=f"x as {' '.join(seen.axes)}, each cell with the number of its statistic",
        data_t="turned" if seen.is_transposed else "x",
    )  # fmt: skip
    caption = el("figcaption", el("b", _title(scene, chosen)), " ", el("code", chosen.pattern))
    drawn = el("figure", caption, el("div", table, class_="frame"), _legend(), id="shared", class_="tensor shared")
    return region(drawn, "shared")


@lru_cache(maxsize=1)
def _legend() -> Html:
    return el("p", f"Small: the number of the cell’s statistic. {MOVES}: moves with the selected cell.", class_="hint")


def _rows(scene: Scene, chosen: Compared) -> list[Html]:
    seen, at = scene.arranged, scene.arranged.place(*scene.state.sel)
    moved = set(chosen.moved_by(*scene.index))
    values = scene.state.x
    rows = []
    for row, name in enumerate(seen.rows):
        cells = []
        for col in range(len(seen.columns)):
            token, feature = seen.place(row, col)  # its own inverse: both swap or both stay
            group_of = chosen.group_of[row * len(seen.columns) + col]
            moves = seen.index(token, feature) in moved
            cells.append(_cell(values[token][feature], group_of, moves, (row, col) == at))
        rows.append(raw(f'<tr data-row="{row}">{el("th", name, scope="row")}{"".join(cells)}</tr>'))
    return rows


def _cell(value: float, group_of: int, moves: bool, is_here: bool) -> str:
    classes = f"g{group_of % COLOURS + 1}{' moves' if moves else ''}"
    here = ' tabindex="0" aria-selected="true"' if is_here else ""
    return (
        f'<td class="{classes}"{here}>{short(value)} <small>{group_of + 1}{" " + MOVES if moves else ""}</small></td>'
    )


def _words(scene: Scene) -> Html:
    chosen = scene.chosen
    if chosen is None:
        return region(el("div", id="shared-words"), "shared-words")
    seen = scene.arranged
    return _facts(seen.how, " ".join(seen.axes), seen.sizes, scene.state.size, _Facts.of(chosen))


class _Facts(NamedTuple):
    """What is told of a norm whatever the numbers are."""

    counts: str
    reduced: str
    kept: str
    axis: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, each: Compared) -> "_Facts":
        sizes = each.trace.sizes
        reduced, kept = (", ".join(f"{axis} ({sizes[axis]})" for axis in axes) for axes in (each.reduced, each.kept))
        told = counts(each, len(each.group_of))
        return cls(told, reduced, kept or "none: one statistic for all", tuple(each.axis.items()))


@lru_cache(maxsize=64)
def _facts(how: str, axes: str, sizes: str, size: tuple[int, int], facts: _Facts) -> Html:
    lines = (("reduced", facts.reduced), ("kept", facts.kept), *facts.axis)
    drawn = el(
        "div",
        el("p", facts.counts, class_="counts"),
        el("p", _arrangement(how, axes, sizes, size), class_="hint"),
        el("dl", *(group(el("dt", name), el("dd", text)) for name, text in lines)),
        id="shared-words",
        class_="shared-words",
    )
    return region(drawn, "shared-words")


def _arrangement(how: str, axes: str, sizes: str, size: tuple[int, int]) -> Html:
    """The layout, and the transpose that led to it."""
    tokens, features = size
    if not how:
        return group(f"x as {sizes}: one item of {tokens} tokens, {features} features each.")
    start = f"(B, S, d) = (1, {tokens}, {features}) becomes {sizes}: a feature is a channel, a token a position. "
    alone = axes.replace("C", "[C]")
    behind = (
        f"LayerNorm and RMSNorm reduce what stands behind the features too, {axes.partition('C ')[2]}; that of one "
        f"token alone is now {alone}. "
    )
    return group(el("code", how), f": {start}", behind, button(f"Try {alone}", f"pattern:{alone}"))


def counts(each: Compared, cells: int) -> str:
    """How many statistics there are, and how many outputs one cell moves.

    >>> from ...comparison import compare
    >>> counts(compare([[1, 2], [3, 4]], "layer_norm")[0], 4)
    '4 cells, 2 statistics of 2 cells. Change the selected cell and 2 outputs move, 2 stay.'
    """
    shared = f"{_many(each.groups, 'statistic')} of {_many(each.cells, 'cell')}"
    if each.norm.running:
        shared = _many(each.groups, "running statistic")
    verb = "moves" if each.moves == 1 else "move"
    moved = f"{_many(each.moves, 'output') if each.moves else 'no output'} {'moves' if not each.moves else verb}"
    stay = cells - each.moves
    return f"{_many(cells, 'cell')}, {shared}. Change the selected cell and {moved}, {stay} stay{_why(each, stay)}"


def _why(each: Compared, stay: int) -> str:
    end = "s" if stay == 1 else ""
    if each.norm.running:
        return f"{end}, with the running statistics held. {HELD if _has_part(each) else GIVEN}"
    return f"{end}: a cell alone is its own mean." if not each.moves else f"{end}."


def _has_part(each: Compared) -> bool:
    """Whether x has a part in the running statistics: it was seen, and not with a share of 0."""
    told = each.running
    return told is not None and told.batches > 0 and CONVENTIONS[told.convention].share(told.momentum) > 0


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def every(scene: Scene) -> Html:
    """A line for each norm."""
    lines = (_norm(scene, each) for each in scene.norms)
    table = el("table", head(*HEADS), el("tbody", *lines), class_="figures")
    drawn = el("div", frame("Every norm on these numbers", table, role="region"), _beyond(scene), id="every")
    return region(drawn, "every")


def _beyond(scene: Scene) -> Html | None:
    """Which norms have a variance that float64 cannot hold."""
    names = ", ".join(_title(scene, each) for each in scene.norms if any(map(isinf, settled(each).variance)))
    if not names:
        return None
    return el("p", f"Beyond float64: a square overflows under {names}, and so z comes out 0.", class_="notice")


def _norm(scene: Scene, each: Compared) -> Html:
    is_here = each.name == (scene.state.pattern if scene.state.norm == TYPED else scene.state.norm)
    moves = f"{each.moves} of {len(each.group_of)}{', statistics held' if each.norm.running else ''}"
    axes = each.pattern, " ".join(each.reduced), " ".join(each.kept) or "none"
    first = _line_head(_title(scene, each), is_here, *axes, str(each.groups))
    numbers = raw(f"<td>{fixed(scene.at_selection(each))}</td><td>{moves}</td>")
    return el("tr", first, numbers, aria_current="true" if is_here else None)


def _title(scene: Scene, each: Compared) -> str:
    return "your pattern" if each.name == scene.state.pattern else each.title


@lru_cache(maxsize=256)
def _line_head(title: str, is_here: bool, pattern: str, *texts: str) -> Html:
    """What a line says whatever the numbers are."""
    name = el("th", title, " ◂" if is_here else "", scope="row")
    return group(name, *(el("td", text) for text in (el("code", pattern), *texts)))
