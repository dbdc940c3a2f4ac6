"""The page "Inside LayerNorm": from an address to a drawing."""

from dataclasses import replace
from functools import lru_cache

from ...page.controls import Complaint
from ...page.html import Html, el, group
from ..lesson import Lesson, Sources
from ..state import write
from . import panels
from .actions import LOOKING, done
from .cell import cell
from .copies import copies
from .costs import LIMITS, beside, costs
from .formula import formula
from .ladder import ladder
from .layer import check
from .stage import stage, strip
from .state import CODECS, State
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


def draw(state: State, sources: Sources, wrong: Complaint) -> Html:
    """What stands in the page's main element, in regions."""
    view = view_of(state, sources)
    text = wrong.text
    named = {name: source.title for name, source in sources.items()}
    side = el("div", formula(view), cell(view, wrong), ladder(view), class_="side")
    paging = panels.paging(view, wrong)  # before the settings, which show what no other control has taken
    return group(
        el("header", el("h1", TITLE), _lead(view), class_="lead"),
        panels.settings(view, named, wrong),
        el("div", panels.heading(view), stage(view), paging, side, class_="bench"),
        panels.walk(view),
        _steps(view),
        el("div", costs(view), _beside(view), class_="below"),
        copies(view, f"{PATH}?{write(replace(state, copy=''), CODECS)}"),
        panels.say(view, text),
    )


def _beside(view: View) -> Html:
    return el("div", beside(view), _notes(view.norm.center, _rounding(view)), class_="costs")


def _lead(view: View) -> Html:
    return el("p", el("b", view.source.title), ". ", view.source.note, class_="source")


def _steps(view: View) -> Html:
    scale = "Blue is below zero, orange above; colours are scaled to the cells shown of each tensor."
    return el("section", el("h2", "All steps"), el("p", scale, class_="hint"), strip(view), class_="all")


def _rounding(view: View) -> str:
    """What has become of the values on their way."""
    policy = view.trace.policy
    if policy is None:
        return (
            "Values are computed in float64 and not rounded to the chosen precision, which sets only the ledger's w: "
            "Rounding is none."
        )
    return (
        f"Every value is really rounded, by the {policy.note(view.program)} Each passes through {policy.compute}, in "
        "which kernels compute; a sum is rounded once, and no kernel's order of additions is imitated. The ledger "
        "counts statistics in float32, whatever the rounding."
    )


@lru_cache(maxsize=64)
def _notes(center: bool, rounding: str) -> Html:
    items = (el("li", text) for text in (LAYER_NORM if center else RMS_NORM, rounding, *LIMITS))
    return el("section", el("h2", "What this page counts, and what it leaves out"), el("ul", *items), class_="notes")


def _feeds(state: State, sources: Sources) -> dict[str, dict[str, list[str]]]:
    """For the script: what each value feeds, along the whole row or cell by cell."""
    program = view_of(state, sources).program
    mixes = program.mixes["d"]
    return {
        name: {"row": sorted(mixes[name]), "cell": sorted(program.feeds[name] - mixes[name])} for name in program.values
    }


LESSON = Lesson(TITLE, PATH, State, CODECS, check, done, draw, LOOKING, _feeds)
