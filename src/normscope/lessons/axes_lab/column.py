"""LayerNorm beside BatchNorm1d on the same numbers: one divides a row, the other a column."""

from functools import lru_cache

from ...comparison import Compared
from ...norm import Norm
from ...page.frame import frame, head
from ...page.html import Html, el, group, region
from ...page.numbers import fixed
from ...page.text import printable
from ...steps import forward
from ...views.formula import ROOT, expression, substituted
from ...views.notation import Expr, Literal, Symbol, equation
from .cards import written_eps
from .rounding import beside, settled
from .scene import Scene
from .state import Numbers

WORDS = {"x": "x", "mu": "column\N{NO-BREAK SPACE}mean", "var": "column\N{NO-BREAK SPACE}variance"}
NOTES = (
    "Both in training: the statistics are those of this input, the variance that of the population.",
    "Scale and shift are left out on both sides, so that the axes alone differ.",
)


def column(scene: Scene, row: Compared, col: Compared) -> Html:
    """The declared layouts, the whole table with z of the selected column, the formula and both statistics.

    row, col  LayerNorm and BatchNorm on the tokens as they stand
    """
    feature = scene.state.sel[1] + 1
    title = el("h3", f"LayerNorm reads a row, BatchNorm1d a column: feature {feature}", id="column-title")
    return el(
        "section",
        region(title, "column-title"),
        _layouts(*scene.state.size),
        el("div", el("div", _table(scene, col), _notes()), _side(scene, row, col), class_="sides"),
        aria_labelledby="column-title",
        class_="column",
    )


@lru_cache(maxsize=8)
def _layouts(tokens: int, features: int) -> Html:
    """Which axis is which, before any number."""
    text = group(
        el("b", "LayerNorm"), f" takes x as [1, {tokens}, {features}], (B, S, d), with normalized_shape {features}. ",
        el("b", "BatchNorm1d"), f" takes it after a transpose to [N=1, C={features}, L={tokens}]: a feature is a ",
        f"channel, a token a position. The {tokens} position{'s' * (tokens != 1)} are not {tokens} ",
        "examples of a batch: N is 1.",
    )  # fmt: skip
    return region(el("p", text, id="column-layouts", class_="notice wide"), "column-layouts")


def _table(scene: Scene, col: Compared) -> Html:
    """x, and beside every token the z of the selected column."""
    feature, features = scene.state.sel[1], scene.state.size[1]
    rows = (_row(scene, col, at) for at in range(scene.state.size[0]))
    body = el("table", _head(feature, features), el("tbody", *rows), class_="figures")
    return region(frame("x and z of the selected feature", body, "column-table", "region"), "column-table")


@lru_cache(maxsize=64)
def _head(feature: int, features: int) -> Html:
    heads = [str(at + 1) for at in range(features)]
    names = (el("th", name, scope="col") for name in ("feature", *heads))
    last = el("th", f"z, feature {feature + 1}", scope="col", class_="unit")
    caption = el("caption", f"x, and z of feature {feature + 1} under BatchNorm1d")
    return group(caption, el("thead", el("tr", *names, last)))


def _row(scene: Scene, col: Compared, at: int) -> Html:
    token, feature = scene.state.sel
    z = settled(col).z[at * scene.state.size[1] + feature]
    return _line_of(printable(scene.state.tokens[at]), scene.state.x[at], feature, fixed(z), at == token)


@lru_cache(maxsize=256)
def _line_of(name: str, x: Numbers, feature: int, z: str, is_here: bool) -> Html:
    """A token, its row of x and its z in the selected column."""
    cells = (
        el("td", fixed(cell, 2), class_="across" if i == feature else "along" if is_here else None)
        for i, cell in enumerate(x)
    )
    here = "true" if is_here else None
    return el("tr", el("th", name, scope="row"), *cells, el("td", z, class_="across unit"), aria_current=here)


def _side(scene: Scene, row: Compared, col: Compared) -> Html:
    """The formula, the same in numbers, and the statistics of column and row beside each other."""
    token, feature = scene.state.sel
    values = tuple(each[feature] for each in scene.state.x)
    made = settled(col)
    mean, variance = fixed(beside(col.mean[feature], values)), fixed(made.variance[feature])
    eps = written_eps(scene.state.eps)
    numbers = {"x": fixed(values[token]), "mu": f"({mean})", "var": variance, "eps": eps}
    right = substituted(_formula(col.norm), lambda name: [numbers[name]], {})
    z = Literal(fixed(made.z[token * scene.state.size[1] + feature]))
    lines = (
        ("BatchNorm1d: column, feature", str(feature + 1), mean, variance, col.cells),
        (
            "LayerNorm: row,",
            printable(scene.state.tokens[token]),
            fixed(beside(row.mean[0][token], scene.state.x[token])),
            fixed(settled(row).variance[token]),
            row.cells,
        ),
    )
    drawn = (_worded(col.norm, eps), equation(Symbol("z"), right, z), _statistics(lines))
    return region(el("div", *drawn, id="column-side", class_="column-side"), "column-side")


@lru_cache(maxsize=4)
def _formula(norm: Norm) -> Expr:
    return expression(forward(norm), "xhat", ROOT | {"c"})


@lru_cache(maxsize=8)
def _worded(norm: Norm, eps: str) -> Html:
    """The formula with words for its letters."""
    right = substituted(_formula(norm), lambda name: [{**WORDS, "eps": eps}[name]], {})
    return equation(Symbol("z"), right)


def _statistics(lines: tuple[tuple[str, str, str, str, int], ...]) -> Html:
    body = el("tbody", *(_statistic(*line) for line in lines))
    table = el("table", head("", "mean", "population variance", "of cells"), body, class_="figures")
    return frame("The statistics of column and row", table, "column-statistics", "region")


def _statistic(what: str, which: str, mean: str, variance: str, cells: int) -> Html:
    numbers = (el("td", text) for text in (mean, variance, str(cells)))
    return el("tr", el("th", f"{what} {which}", scope="row"), *numbers)


@lru_cache(maxsize=1)
def _notes() -> Html:
    return el("ul", *(el("li", note) for note in NOTES), class_="told")
