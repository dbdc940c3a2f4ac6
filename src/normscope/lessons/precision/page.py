"""The page "Precision": from an address to a drawing."""

from functools import lru_cache

from ...page.controls import Complaint, bar, button, entry, select
from ...page.html import Html, el, group, region
from ...page.numbers import ulps, written
from ..lesson import Lesson, Sources
from . import panels, plot, table, tensor
from .actions import LOOKING, done, storage
from .curves import ways_of
from .reading import Row64, rows_of
from .state import AFFINES, CODECS, NORMS, SHAPES, State, check, formats, policies_of
from .words import LEAD, NOTES

TITLE = "Precision"
PATH = "/precision"


def draw(state: State, sources: Sources, wrong: Complaint) -> Html:
    """What stands in the page's main element, in regions."""
    row, ways = rows_of(state), ways_of(state)
    reading = row.under(state.policy)
    text = wrong.text
    left = el("div", table.sliders(state, wrong, ways.given), panels.dominance(state, reading), class_="signal")
    right = el("div", table.table(state, row, reading), panels.policies(state, row), class_="rounding")
    asked = el("div", plot.ways_table(state, ways), panels.question(state), class_="beside")
    variance = el("div", plot.plot(state, ways), asked, class_="variance")
    settings = _settings(state, wrong)
    return group(
        el("header", el("h1", TITLE), el("p", LEAD, class_="source"), class_="lead"),
        settings,
        el("div", left, right, panels.faults(state), variance, panels.rungs(state), class_="precision"),
        el("div", tensor.panel(state, sources), _notes(), class_="below precise"),
        region(el("p", text or said(state, row), id="say", hidden=True), "say"),
    )


def _settings(state: State, wrong: Complaint) -> Html:
    named = {policy.name: policy.name for policy in policies_of(storage(state))}
    controls = [
        select("format", "Stored in", formats(), storage(state)),
        select("policy", "Policy", named, state.policy),
        select("norm", "Norm", NORMS, state.norm),
        select("affine", "gamma and beta" if state.norm == "layer_norm" else "gamma", AFFINES, state.affine),
        select("shape", "Row", SHAPES, state.shape),
        entry("seed", "Seed", str(state.seed), wrong, 6, "numeric"),
        button("Reset", "reset:1", disabled=state == State()),
        wrong.rest(),
    ]
    return bar(controls, state.bad is not None)


def said(state: State, row: Row64) -> str:
    """The row and its cell in one breath, for screen readers."""
    reading = row.under(state.policy)
    at = state.sel.feature
    broken = f" It breaks at {reading.overflow}." if reading.overflow else ""
    return (
        f"Mean {written(state.mean)}, spread {written(state.spread)}, under {state.policy}: worst error "
        f"{ulps(reading.worst)} ulp.{broken} Feature {at + 1}: x {written(row.x[at])}, y "
        f"{written(reading.y[at], 6)}, error {ulps(reading.errors[at])} ulp. "
        f"eps is {panels.percent(reading.share) if reading.share == reading.share else 'no part'} of var + eps."
    )


@lru_cache(maxsize=1)
def _notes() -> Html:
    items = (el("li", text) for text in NOTES)
    return el("section", el("h2", "What holds here"), el("ul", *items), class_="notes wide")


def _check(state: State, sources: Sources) -> State:
    state = check(state)
    tensor.source_of(state, sources)
    return state


def _done(state: State, field: str, value: str, sources: Sources) -> State:
    state = done(state, field, value)
    tensor.source_of(state, sources)
    return state


LESSON = Lesson(TITLE, PATH, State, CODECS, _check, _done, draw, LOOKING)
