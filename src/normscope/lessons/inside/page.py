"""The page "Inside LayerNorm": from an address to a drawing."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from ...page.controls import Complaint
from ...page.html import Html, el, group
from ..sources import Source
from ..state import Query, act, complaint, read, write
from . import panels
from .actions import LOOKING, done
from .copies import copies
from .costs import LIMITS, costs
from .stage import stage, strip
from .state import CODECS, State, check
from .view import View, view_of

TITLE = "Inside LayerNorm"
PATH = "/inside"
LAYER_NORM = (
    "This is PyTorch's LayerNorm, and GPT-2's original one: mean and variance over the last axis, the variance divided "
    "by d, eps inside the root. Tests hold mean, reciprocal root and output against both."
)
RMS_NORM = (
    "This is PyTorch's RMSNorm: the mean square over the last axis, divided by d, eps inside the root; no mean is "
    "subtracted and nothing is added. Tests hold its output against PyTorch's."
)


def state_of(query: Query, sources: Mapping[str, Source]) -> State:
    """The state of an address after its actions; StateError if the address itself is wrong."""
    state = check(read(State, CODECS, query.fields), sources)
    for field, value in query.actions:
        state = act(state, field, value, done(sources), LOOKING)
    return state


def canonical(state: State) -> str:
    """The address of a state, without its path."""
    return write(state, CODECS)


def draw(state: State, sources: Mapping[str, Source]) -> Html:
    """What stands in the page's main element, in regions."""
    view = view_of(state, sources)
    field, value = state.bad or ("", "")
    text = complaint(state, done(sources))
    wrong = Complaint(field, value, text)
    named = {name: source.title for name, source in sources.items()}
    side = el("div", panels.formula(view), panels.cell(view, wrong), class_="side")
    paging = panels.paging(view, wrong)  # before the settings, which show what no other control has taken
    return group(
        el("header", el("h1", TITLE), _lead(view), class_="lead"),
        panels.settings(view, named, wrong),
        el("div", panels.heading(view), stage(view), paging, side, class_="bench"),
        panels.walk(view),
        _steps(view),
        el("div", costs(view), _notes(view.norm.center), class_="below"),
        copies(view, f"{PATH}?{canonical(replace(state, copy=''))}"),
        panels.say(view, text),
    )


def _lead(view: View) -> Html:
    return el("p", el("b", view.source.title), ". ", view.source.note, class_="source")


def _steps(view: View) -> Html:
    scale = "Blue is below zero, orange above; colours are scaled to the cells shown of each tensor."
    return el("section", el("h2", "All steps"), el("p", scale, class_="hint"), strip(view), class_="all")


@lru_cache(maxsize=2)
def _notes(center: bool) -> Html:
    rounding = "Values are computed in float64 and not rounded to the chosen precision, which sets only the ledger's w."
    items = (el("li", text) for text in (LAYER_NORM if center else RMS_NORM, rounding, *LIMITS))
    return el("section", el("h2", "What this page counts, and what it leaves out"), el("ul", *items), class_="notes")


def feeds(state: State, sources: Mapping[str, Source]) -> dict[str, dict[str, list[str]]]:
    """For the script: what each value feeds, along the whole row or cell by cell."""
    program = view_of(state, sources).program
    return {
        name: {
            "row": sorted(program.mixes[name]),
            "cell": sorted(program.feeds[name] - program.mixes[name]),
        }
        for name in program.values
    }
