"""The tensors of "Inside LayerNorm" as grids: cells, marks, captions, the same for both ways."""

from ...page.grid import Grid, Row
from ...page.html import Html, el, group
from ...page.text import printable
from ...views.notation import LETTERS
from .view import View


def grid(view: View, name: str, small: bool = False, computed: bool = False, repeat: bool = False) -> Grid:
    """A value as a grid: small for the strip, computed in this step, or repeated to the shape of x."""
    rows = _strip_rows(view, name, repeat) if view.is_strip(name) else _rows(view, name, repeat)
    wide = repeat or "d" in view.axes(name)
    columns = tuple(str(k) for k in view.window[2]) if wide else ("1",)
    return Grid(
        name=name,
        label=f"{view.title(name)}, {_axes(view, name)}, {_shape(view, name)}",
        caption=_caption(view, name, small, computed, repeat),
        corner=_corner(view.is_strip(name) and not repeat, wide),
        columns=columns,
        rows=rows,
        role=view.role(name),
        editable=name in view.given,
        computed=computed,
        prefix=f"{name}-" if small else "",
    )


def _corner(is_strip: bool, wide: bool) -> str:
    """The axes that the row heads and the column heads count."""
    if is_strip:
        return "d"
    return "b s \\ d" if wide else "b s"


def _rows(view: View, name: str, repeat: bool) -> tuple[Row, ...]:
    tab, pinned_here = _tab(view, name), view.pinned is not None and view.pinned[0] == name
    made = []
    for i, j in view.rows:
        cells = tuple(view.row(name, i, j))
        marks = _marks(view, name, (i, j), len(cells))
        if repeat:
            more = len(view.window[2]) - 1
            cells, marks = cells * (more + 1), marks + ("hollow",) * more
        here = tab[:2] == (i, j)
        made.append(
            Row(
                key=f"{i}.{j}",
                head=_head(view, i, j),
                cells=cells,
                marks=marks,
                band=_in_band(view, i, j),
                gap=j == 0 and i > 0,
                tab=tab[2] if here else None,
                pinned=tab[2] if here and pinned_here else None,
                given=_given(view, name, i, j),
            )
        )
    return tuple(made)


def _given(view: View, name: str, i: int, j: int) -> tuple[float, ...]:
    """What an edit starts from, where rounding has changed it."""
    return tuple(view.given_row(name, i, j)) if name in view.given and view.formats else ()


def _strip_rows(view: View, name: str, repeat: bool) -> tuple[Row, ...]:
    cells = tuple(view.row(name, 0, 0))
    k = view.focus[2]
    pinned = k if view.pinned and view.pinned[0] == name else None
    marks = _marks(view, name, None, len(cells))
    head, given = _head(view, 0, 0) if repeat else "all", _given(view, name, 0, 0)
    rows = [Row("*", head, cells, marks, tab=k, pinned=pinned, given=given)]
    if repeat:
        hollow = ("hollow",) * len(cells)
        rows += [Row(f"{i}.{j}", _head(view, i, j), cells, hollow, gap=j == 0) for i, j in view.rows[1:]]
    return tuple(rows)


def _tab(view: View, name: str) -> tuple[int, int, int]:
    """The one cell of a grid that Tab reaches: at the place of the focus."""
    i, j, k = view.focus
    return i, j, k if "d" in view.axes(name) else 0


def _in_band(view: View, i: int, j: int) -> bool:
    return view.pinned is not None and not view.is_strip(view.pinned[0]) and view.focus[:2] == (i, j)


def _marks(view: View, name: str, row: tuple[int, int] | None, count: int) -> tuple[str, ...]:
    """For the cells of a row: whether each feeds on the pinned one, or the pinned one on it.

    `mixed` marks the cells that do so only by way of their row's statistic.
    """
    relation, mixed = view.relation(name)
    if not relation or view.pinned is None:
        return ("",) * count
    origin = view.pinned[0]
    if not (row is None or view.is_strip(origin) or row == view.focus[:2]):
        return ("",) * count
    alone = "d" not in view.axes(name) or "d" not in view.axes(origin)
    other = f"{relation} mixed" if mixed else ""
    return tuple(relation if alone or k == view.focus[2] else other for k in range(count))


def _head(view: View, i: int, j: int) -> str:
    b, s = view.window[0][i], view.window[1][j]
    return (printable(view.source.tokens[s]) if view.source.tokens else "") or f"{b} {s}"


def symbol(name: str, view: View) -> Html:
    """A value's letter."""
    key = "mean square" if name == "var" and not view.norm.center else name
    return el("var", LETTERS.get(key, (name, ""))[0])


def _caption(view: View, name: str, small: bool, computed: bool, repeat: bool) -> Html:
    now = name == view.state.step
    parts = [symbol(name, view), el("span", view.title(name), class_="name")]
    if repeat:
        over = "feature" if view.is_strip(name) else "row"
        parts.append(el("span", f"one a {over}, repeated: hollow cells are not stored", class_="axes"))
    else:
        kept = f", {view.kept(name)}" if view.formats else ""
        parts.append(el("span", f"{_axes(view, name)} = {_shape(view, name)}{kept}", class_="axes"))
    if computed or (small and now):
        parts.append(el("span", "computed in this step" if computed else "this step", class_="tag"))
    return group(*parts)


def _axes(view: View, name: str) -> str:
    """The axes of a value, those that the norm reduces in brackets."""
    if view.is_strip(name):
        return " ".join(view.axes(name))
    words = [f"[{axis}]" if axis in view.norm.over else axis for axis in view.norm.axes]
    return " ".join(words) if "d" in view.axes(name) else " ".join(view.axes(name)) + " 1"


def _shape(view: View, name: str) -> str:
    if view.is_strip(name):
        return f"{view.sizes['d']:,}"
    return " × ".join(f"{size:,}" for size in view.program.shape(name, view.sizes))
