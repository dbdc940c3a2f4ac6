"""The page "A named step": from an address to a drawing."""

from ...errors import StateError
from ...page.controls import Complaint, bar, button, check_box, entry, select
from ...page.diagram import figure
from ...page.html import Html, el, group, region
from ...page.scrubber import scrubber, transport
from ..lesson import Lesson, Sources
from . import panels
from .fold import PREDICTED, diagram, panels_of, title
from .state import ACTIONS, CODECS, KINDS, WIRING, State, check, trace_of
from .words import LEAD, POST, PRE

TITLE = "A named step"
PATH = "/named"


def draw(state: State, sources: Sources, wrong: Complaint) -> Html:
    """What stands in the page's main element, in regions."""
    trace = trace_of(state)
    order = panels_of(trace.program)
    key = order[state.panel]
    hidden = frozenset({key} & set(PREDICTED)) - dict(state.guesses).keys()
    text = wrong.text
    verdict = panels.verdict_of(state, trace, key)
    side = (panels.guess(state, trace, key, verdict, wrong), panels.boundary(state, trace, key, wrong))
    drawing = diagram(trace, key, hidden, state.every, state.opened)
    names = [el("span", title(trace, each), class_="word") for each in order]
    spoken = f"panel {state.panel + 1} of {len(order)}: {title(trace, key)}"
    said = text or panels.said(state, trace, key, spoken, key in hidden, verdict)
    return group(
        el("header", el("h1", TITLE), el("p", LEAD, class_="source"), class_="lead"),
        _settings(state, wrong),
        panels.heading(trace, key, state.panel),
        region(el("div", figure(drawing), id="drawing", class_="drawing"), "drawing"),
        el(
            "div",
            el("div", panels.rule(trace, key), panels.mathematics(trace, key, hidden, state.opened), class_="sums"),
            el("div", *side),
            class_="side",
        ),
        el(
            "div",
            transport("panel", "panel"),
            scrubber("panel", "Panel", {"": names}, state.panel, spoken),
            class_="walk",
        ),
        _notes(state),
        region(el("div", panels.why(trace), id="why"), "why"),
        region(el("p", said, id="say", hidden=True), "say"),
    )


def _settings(state: State, wrong: Complaint) -> Html:
    has_beta = state.norm == "layer_norm"
    controls = [
        entry("x", "x (1 to 8 numbers)", state.x, wrong, 16, "text"),
        entry("update", "update", state.update, wrong, 16, "text"),
        entry("eps", "eps (a fraction, or eps)", state.eps, wrong, 9, "text"),
        entry("gamma", "gamma (or nothing)", state.gamma, wrong, 12, "text"),
        entry("beta", "beta (or nothing)", state.beta, wrong, 12, "text") if has_beta else None,
        select("norm", "Norm", KINDS, state.norm),
        select("wiring", "Wiring", WIRING, state.wiring),
        check_box("every", "All steps", state.every),
        button("Reset", "reset:1", disabled=state == State()),
        wrong.rest(),
    ]
    return bar(controls, state.bad is not None)


def _notes(state: State) -> Html:
    return region(el("p", POST if state.wiring == "post" else PRE, id="wired", class_="hint"), "wired")


def _check(state: State, sources: Sources) -> State:
    return check(state)


def _done(state: State, field: str, value: str, sources: Sources) -> State:
    if field not in ACTIONS:
        raise StateError(f"there is no field '{field[:40]}' here.")
    return check(ACTIONS[field](state, value))


LESSON = Lesson(TITLE, PATH, State, CODECS, _check, _done, draw, looking=("panel", "every", "opened"))
