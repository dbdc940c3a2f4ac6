"""The tensors of "Inside LayerNorm": the step in the middle of the page, and the strip of all steps."""

from ...page.grid import Grid, Row, figure
from ...page.html import Html, el, group, region
from ...page.numbers import general
from ...page.text import printable
from ...program import PARAMETERS, Step
from ...views.notation import LETTERS
from .view import View

SIGNS = {"add": "+", "sub": "−", "mul": "×"}


def stage(view: View) -> Html:
    """The current step: what goes in, the operation, what comes out."""
    name = view.state.step
    if name == "x":
        body = group(figure(_grid(view, "x")))
    else:
        body = _operation(view, view.program.by_name[name])
    arriving = el("div", body, id=f"stage-{name}", class_="stage")  # a new element a step: its cells come in anew
    return region(el("div", arriving, id="stage"), "stage")


def strip(view: View) -> Html:
    """Every step and parameter, small."""
    names = [*view.steps, *view.parameters]
    return el("div", *(figure(_grid(view, name, small=True)) for name in names), class_="strip")


def _operation(view: View, step: Step) -> Html:
    operands = [arg for arg in _operands(view, step) if isinstance(arg, str)]
    result = figure(_grid(view, step.name, computed=True))
    if step.op == "mean":
        return group(figure(_grid(view, operands[0])), _sign("mean", "over d"), result)
    if step.op == "rsqrt":
        inside = f"of {'σ²' if view.norm.center else 'm'} + {general(view.eps)}"
        return group(figure(_grid(view, operands[0])), _sign("1 / √", inside), result)
    if operands[0] == operands[-1]:
        return group(figure(_grid(view, operands[0])), _sign("square", "cell by cell"), result)
    left, right = operands
    repeated = figure(_grid(view, right, repeat=True))
    return group(figure(_grid(view, left)), _sign(SIGNS[step.op], ""), repeated, _sign("=", ""), result)


def _operands(view: View, step: Step) -> list[object]:
    """The arguments as shown: v stands for var and eps."""
    opened: list[object] = []
    for arg in step.args:
        opened += view.program.by_name["v"].args if arg == "v" else [arg]
    return [arg for arg in opened if arg != "eps"]


def _sign(sign: str, below: str) -> Html:
    return el("div", el("b", sign), el("small", below) if below else None, class_="sign")


def _grid(view: View, name: str, small: bool = False, computed: bool = False, repeat: bool = False) -> Grid:
    rows = _parameter_rows(view, name, repeat) if name in PARAMETERS else _rows(view, name, repeat)
    wide = repeat or "d" in view.axes(name)
    columns = tuple(str(k) for k in view.window[2]) if wide else ("1",)
    return Grid(
        name=name,
        label=f"{view.title(name)}, {_axes(view, name)}, {_shape(view, name)}",
        caption=_caption(view, name, small, computed, repeat),
        corner=_corner(name, wide, repeat),
        columns=columns,
        rows=rows,
        role=view.role(name),
        editable=name in ("x", *PARAMETERS),
        computed=computed,
        prefix=f"{name}-" if small else "",
    )


def _corner(name: str, wide: bool, repeat: bool) -> str:
    """The axes that the row heads and the column heads count."""
    if name in PARAMETERS and not repeat:
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
            )
        )
    return tuple(made)


def _parameter_rows(view: View, name: str, repeat: bool) -> tuple[Row, ...]:
    cells = tuple(view.row(name, 0, 0))
    k = view.focus[2]
    pinned = k if view.pinned and view.pinned[0] == name else None
    marks = _marks(view, name, None, len(cells))
    rows = [Row("*", _head(view, 0, 0) if repeat else "all", cells, marks, tab=k, pinned=pinned)]
    if repeat:
        hollow = ("hollow",) * len(cells)
        rows += [Row(f"{i}.{j}", _head(view, i, j), cells, hollow, gap=j == 0) for i, j in view.rows[1:]]
    return tuple(rows)


def _tab(view: View, name: str) -> tuple[int, int, int]:
    """The one cell of a grid that Tab reaches: at the place of the focus."""
    i, j, k = view.focus
    return i, j, k if "d" in view.axes(name) else 0


def _in_band(view: View, i: int, j: int) -> bool:
    return view.pinned is not None and view.pinned[0] not in PARAMETERS and view.focus[:2] == (i, j)


def _marks(view: View, name: str, row: tuple[int, int] | None, count: int) -> tuple[str, ...]:
    """For the cells of a row: whether each feeds on the pinned one, or the pinned one on it.

    `mixed` marks the cells that do so only by way of their row's statistic.
    """
    relation, mixed = view.relation(name)
    if not relation or view.pinned is None:
        return ("",) * count
    origin = view.pinned[0]
    if not (row is None or origin in PARAMETERS or row == view.focus[:2]):
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
        over = "row" if name not in PARAMETERS else "feature"
        parts.append(el("span", f"one a {over}, repeated: hollow cells are not stored", class_="axes"))
    else:
        parts.append(el("span", f"{_axes(view, name)} = {_shape(view, name)}", class_="axes"))
    if computed or (small and now):
        parts.append(el("span", "computed in this step" if computed else "this step", class_="tag"))
    return group(*parts)


def _axes(view: View, name: str) -> str:
    """The axes of a value, those that the norm reduces in brackets."""
    if name in PARAMETERS:
        return " ".join(view.axes(name))
    words = [f"[{axis}]" if axis in view.norm.over else axis for axis in view.norm.axes]
    return " ".join(words) if "d" in view.axes(name) else " ".join(view.axes(name)) + " 1"


def _shape(view: View, name: str) -> str:
    if name in PARAMETERS:
        return f"{view.sizes['d']:,}"
    return " × ".join(f"{size:,}" for size in view.program.shape(name, view.sizes))
