"""A gradient held against a finite difference: move the cell a little both ways and see what the loss does."""

from functools import lru_cache

from ...differences import Difference, difference
from ...norm import Norm
from ...page.html import Html, el
from ...page.numbers import fixed, general
from ...tracing import trace
from .view import View

MOST_CELLS = 2048  # that are computed three times for one difference
OF = {"dx": "x", "dgamma": "gamma", "dbeta": "beta"}

Rows = tuple[tuple[float, ...], ...]


def slope(view: View) -> Html | None:
    """The sentence beside a gradient of x, gamma or beta; nothing at any other step."""
    name = OF.get(view.state.step, "")
    if not name:
        return None
    rows = [view.focus[:2]] if name == "x" else view.rows
    count = len(rows) * view.sizes["d"]
    if count > MOST_CELLS:
        text = f"No finite difference here: it would compute {count:,} cells three times. ns.difference does."
        return el("p", text, class_="where")
    found = _difference(view, name, rows)
    text = (
        f"Finite difference, in float64: {name} here ± {general(found.step)} moves the loss sum(dy · y) by "
        f"{general(found.high - found.low)}, a slope of {fixed(found.slope)}. "
        f"d{name} is {fixed(view.value(f'd{name}'))}."
    )
    return el("p", text, class_="where check")


def _difference(view: View, name: str, rows: list[tuple[int, int]]) -> Difference:
    """That of the focus, from the given numbers: a row is all that x here can move."""
    x, dy = (tuple(_floats(view.given[each][i][j]) for i, j in rows) for each in ("x", "dy"))
    parameters = {each: _floats(view.given[each]) for each in view.parameters}
    k = view.window[2].start + view.focus[2]
    return _found(view.norm, x, dy, tuple(parameters.items()), name, (0, 0, k) if name == "x" else (k,))


@lru_cache(maxsize=64)
def _found(
    norm: Norm, x: Rows, dy: Rows, parameters: tuple[tuple[str, tuple[float, ...]], ...], name: str, at: tuple[int, ...]
) -> Difference:
    given = {each: list(cells) for each, cells in parameters}
    made = trace([list(map(list, x))], norm, given.get("gamma"), given.get("beta"), dy=[list(map(list, dy))])
    return difference(made, name, at)


def _floats(cells: object) -> tuple[float, ...]:
    return tuple(map(float, cells))  # type: ignore[call-overload]
