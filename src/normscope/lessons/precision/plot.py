"""The error of the variance against mean / spread: one curve a way, the safe region, and where the row is."""

from functools import lru_cache

from ...page.controls import select
from ...page.curves import Curve, Decade, Plot, drawing, key
from ...page.fitting import shorten
from ...page.frame import frame, head
from ...page.html import Html, el, group, region
from ...page.numbers import general, ulps, written
from .actions import storage
from .curves import HIGH, LOW, RATIOS, STORAGE, WAYS, Curves, Ways, curves_of, ratio_of
from .state import SAFE, SHAPES, State
from .words import WAYS as FORMULAS

MARKS = {"two-pass": "disc", "one-pass": "square", "chunked": "diamond", "Welford": "ring", STORAGE: "bare"}
ACROSS, UP = Decade(LOW, HIGH), Decade(-3, 7)


def hides(state: State) -> bool:
    """Whether the one-pass variance is still to be guessed."""
    return not state.guess


def plot(state: State, ways: Ways) -> Html:
    """The plot, what its curves are, and the table of its numbers."""
    curves, names = curves_of(state), [name for name in MARKS if not (hides(state) and name == "one-pass")]
    points = tuple((MARKS[name], ways.errors[name]) for name in names)
    drawn = drawing(_plot(state, curves, tuple(names)), ratio_of(state), points)
    top = el("div", el("h2", "Error of the variance"), _choice(state), class_="lanes-head")
    return el("section", top, _told(state, curves), drawn, _numbers(state, curves, names), class_="plots error-plot")


def _choice(state: State) -> Html:
    options = {most: f"at most {most} ulp" for most in SAFE}
    return region(el("div", select("safe", "Safe is", options, state.safe), id="safe-choice"), "safe-choice")


def _plot(state: State, curves: Curves, names: tuple[str, ...]) -> Plot:
    most = float(state.safe)
    drawn = tuple(Curve(name, MARKS[name], curves.errors[name]) for name in names)
    label = (
        f"Error of the variance in ulps of {storage(state)} against mean over spread; the numbers stand in the table"
    )
    return Plot(
        "error",
        label,
        ACROSS,
        UP,
        ("|mean| / spread", f"error, ulp of {storage(state)}"),
        RATIOS,
        drawn,
        (most, curves.safe(STORAGE, most)),
        f"safe: at most {state.safe} ulp",
    )


def _told(state: State, curves: Curves) -> Html:
    """Where the row lies, and how far its storage reaches."""
    reach = curves.safe(STORAGE, float(state.safe))
    far = "nowhere" if reach is None else f"up to a ratio of {_ratio(reach)}"
    here = ratio_of(state)
    place = "Your row is constant" if here != here or here == float("inf") else f"Your row lies at {_ratio(here)}"
    text = f"{place}. {storage(state)} itself keeps such a row’s variance within {state.safe} ulp {far}."
    return region(el("p", text, id="plot-told", class_="notice"), "plot-told")


def _ratio(value: float) -> str:
    return general(float(f"{value:.3g}"))


def _numbers(state: State, curves: Curves, names: list[str]) -> Html:
    """The table behind the plot."""
    caption = f"Error in ulps of {storage(state)} for {SHAPES[state.shape]}, d = {state.d}, spread 1"
    return _listed(caption, tuple(names), tuple(curves.errors[name] for name in names))


@lru_cache(maxsize=64)
def _listed(title: str, names: tuple[str, ...], errors: tuple[tuple[float, ...], ...]) -> Html:
    rows = (
        el("tr", el("th", _ratio(ratio), scope="row"), *(el("td", ulps(each[at])) for each in errors))
        for at, ratio in enumerate(RATIOS)
    )
    table = el("table", el("caption", title), head("ratio", *names), el("tbody", *rows), class_="figures")
    body = frame("The numbers of the plot", table)
    folded = el("details", el("summary", "The numbers of the plot"), body, id="plot-numbers", class_="folded")
    return region(folded, "plot-numbers")


def ways_table(state: State, ways: Ways) -> Html:
    """The variance of the row by each way, beside the exact fraction; and how far each is safe."""
    curves, most = curves_of(state), float(state.safe)
    rows = (_way(state, name, ways, curves.safe(name, most)) for name in WAYS)
    heads = head("way", "variance", "off by, ulp", "safe to ratio")
    body = region(el("tbody", *rows, _stored(ways, curves.safe(STORAGE, most)), id="ways"), "ways")
    table = frame("The variance by each way", el("table", heads, body, class_="figures ways-table"))
    return el("section", el("h2", "The variance of this row"), _exact(ways), table)


@lru_cache(maxsize=8)
def _named(name: str, formula: str) -> Html:
    return el("th", key(MARKS[name]), group(el("span", name), el("small", formula)), scope="row")


def _way(state: State, name: str, ways: Ways, safe: float | None) -> Html:
    if hides(state) and name == "one-pass":
        figures = ("?", "?", "?")
    else:
        figures = (written(ways.found[name], 7), ulps(ways.errors[name]), _safe(safe))
    return el("tr", _named(name, FORMULAS[name]), *(el("td", figure) for figure in figures))


def _safe(ratio: float | None) -> str:
    if ratio is None:
        return "nowhere"
    return f"{_ratio(ratio)}{' and on' if ratio == RATIOS[-1] else ''}"


def _exact(ways: Ways) -> Html:
    """The variance of the stored row as a fraction, and in decimals."""
    if ways.exact != ways.exact:
        text = "The stored row is not finite, and its variance undefined."
    else:
        fraction = shorten(str(ways.exact))
        decimals = f" = {written(float(ways.exact))}" if not fraction.isdecimal() else ""
        text = f"Exactly {fraction}{decimals}, of the stored row"
    return region(el("p", text, id="exact-variance", class_="exact"), "exact-variance")


def _stored(ways: Ways, safe: float | None) -> Html:
    exact = "undefined" if ways.exact != ways.exact else written(float(ways.exact), 7)
    figures = (exact, ulps(ways.errors[STORAGE]), _safe(safe))
    return el("tr", _named(STORAGE, FORMULAS[STORAGE]), *(el("td", figure) for figure in figures))
