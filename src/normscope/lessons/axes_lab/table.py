"""The table on the left: x with gamma and beta under it, the selected numbers' controls, a person's own table."""

from functools import lru_cache

from ...page.controls import Complaint, Span, button, entry, slider
from ...page.grid import Grid, Row, stacked
from ...page.html import Html, el, group, region
from ...page.numbers import fixed, plain
from ...page.text import printable
from ..state import LONGEST_VALUE
from .state import MOST, State
from .view import View

REACH = {"x": Span(-5, 5, 0.05), "gamma": Span(0.4, 1.8, 0.01), "beta": Span(-2, 2, 0.01)}
LETTERS = {"x": "x", "gamma": "γ", "beta": "β"}
NAMES = {"x": "input", "gamma": "scale", "beta": "shift"}
SHARED = (
    "Scale and shift belong to the feature: every token shares them. This slider gives scales 0.4 to 1.8; real ones "
    "may be zero or negative, and the field takes any finite number."
)
COLOURS = "Blue is below zero, orange above; x, γ and β are scaled apart, each to its own largest number."
EXAMPLE = "token,f1,f2,f3\nThe,0.2,-0.8,0.4\ncat,-1,1,0.5"


def table(view: View) -> Html:
    """x, gamma and beta as one table; every row is a region."""
    state = view.state
    columns = tuple(str(feature + 1) for feature in range(state.size[1]))
    parts = (_inputs(state), _parameter(state, "gamma"), _parameter(state, "beta"))
    drawn = stacked("x, tokens by features, with scale and shift", "feature", columns, parts)
    many = " many" if max(state.size) > 8 else ""
    return group(
        el("div", el("div", drawn, class_="frame"), class_=f"tensor signals{many}"),
        el("p", COLOURS, class_="hint"),
        el("p", "Click a cell or walk with the arrow keys; Enter edits it.", class_="hint hands"),
    )


def _inputs(state: State) -> Grid:
    token, feature = state.sel
    plain_marks = ("",) * state.size[1]
    rows = tuple(
        Row(
            str(t),
            printable(state.tokens[t]),
            row,
            plain_marks,
            band=t == token,
            tab=feature if t == token else None,
            pinned=feature if t == token else None,
        )
        for t, row in enumerate(state.x)
    )
    return Grid("x", "x", group("x"), "", (), rows, "input", editable=True, prefix="x-")


def _parameter(state: State, name: str) -> Grid:
    head = f"{LETTERS[name]} {NAMES[name]}"
    row = Row("*", head, getattr(state, name), ("",) * state.size[1], gap=name == "gamma")
    return Grid(name, name, group(name), "", (), (row,), "param", editable=True, prefix=f"{name}-")


def controls(view: View, wrong: Complaint) -> Html:
    """The selected place: a slider and a field for its x, scale and shift, and what is done to its row."""
    state, (token, feature) = view.state, view.state.sel
    title = el("h2", f"{printable(view.name)}, feature {feature + 1}", id="selected")
    buttons = (
        button("Make row constant", f"constant:{token}", not any(state.x[token])),
        button("Undo", "undo:1", not state.last),
        button("Reset", "reset:1", _is_lesson(state)),
    )
    eps = entry("eps", "eps, added to the variance", state.eps, wrong, 7, "text")
    return el(
        "div",
        region(title, "selected"),
        *(_slider(view, name, wrong) for name in LETTERS),
        region(el("div", eps, id="eps"), "eps"),
        el("p", SHARED, class_="hint hands"),
        region(el("div", *buttons, id="deeds", class_="row"), "deeds"),
        id="cell",
        class_="cell",
        role="group",
        aria_labelledby="selected",
    )


def _is_lesson(state: State) -> bool:
    lesson = State()
    return all(getattr(state, name) == getattr(lesson, name) for name in ("x", "tokens", "gamma", "beta", "eps", "sel"))


def _slider(view: View, name: str, wrong: Complaint) -> Html:
    state, (token, feature) = view.state, view.state.sel
    value = state.x[token][feature] if name == "x" else getattr(state, name)[feature]
    field = f"x.{token}.{feature}" if name == "x" else f"{name}.{feature}"
    of = f"{view.name}, " if name == "x" else ""
    spoken = f"{NAMES[name]}, {of}feature {feature + 1}"
    drawn = slider(field, _label(name), spoken, plain(value), fixed(value, 2), REACH[name], wrong)
    return region(el("div", drawn, id=f"set-{name}"), f"set-{name}")


@lru_cache(maxsize=8)
def _label(name: str) -> Html:
    return group(el("var", LETTERS[name]), el("small", NAMES[name]))


def own_table(wrong: Complaint) -> Html:
    """Where a person's own table is pasted or opened."""
    text, message, joined = wrong.take("table", "")
    about = (
        f"CSV: a token a line, a feature a column, up to {MOST} of each. A header and a first column of names "
        "may be there. The table stays on this machine: it becomes part of this page's address. Undo begins anew with "
        "it; your browser's Back brings the old one."
    )
    drawn = el(
        "details",
        el("summary", "Your own table"),
        el("label", "Paste CSV here", for_="paste"),
        el("textarea", text, id="paste", rows=5, spellcheck="false", placeholder=EXAMPLE, **joined),
        message,
        el("div", _use(), _file(), class_="row"),
        el("p", about, class_="hint"),
        id="own",
        class_="own hands",
        open=bool(message),
    )
    return region(drawn, "own")


def _use() -> Html:
    return el("button", "Use this table", type="button", data_do="table", data_from="paste", data_most=LONGEST_VALUE)


def _file() -> Html:
    box = el(
        "input", type="file", id="open", accept=".csv,.tsv,.txt,text/csv", data_file="table", data_most=LONGEST_VALUE
    )
    return el("div", el("label", "or open a file", for_="open"), box, class_="field")
