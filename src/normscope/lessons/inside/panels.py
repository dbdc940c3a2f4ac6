"""Round the stage of "Inside LayerNorm": the scrubber, the step's heading, the sentence for screen readers."""

from ...page.html import Html, el, group, region
from ...page.numbers import fixed
from ...page.scrubber import scrubber, transport
from .grids import symbol
from .names import word
from .places import spoken_place
from .view import View
from .words import words


def walk(view: View) -> Html:
    """All steps on a line, those of the way back on a second one, and the buttons that walk them."""
    at, there = view.steps.index(view.state.step), view.forward_steps
    lines = {"": _names(view, view.steps)}
    if view.state.back:
        lines = {"forward": _names(view, there), "back": _names(view, view.steps[len(there) :])}
    spoken = f"step {at + 1} of {len(view.steps)}: {view.title(view.state.step)}"
    reins = el("div", transport("step"), _way_back(view.state.back), class_="reins")
    return el("div", reins, scrubber("step", "Step", lines, at, spoken), class_="walk")


def _names(view: View, steps: list[str]) -> list[Html]:
    return [group(symbol(name, view), el("span", word(name, view.norm), class_="word")) for name in steps]


def _way_back(is_on: bool) -> Html:
    """The switch that lets the walk go on to the gradients."""
    pressed, other = ("true", 0) if is_on else ("false", 1)
    switch = el("button", "And back", type="button", data_do=f"back:{other}", aria_pressed=pressed, id="back")
    return region(switch, "back")


def heading(view: View) -> Html:
    """The step's number and name, and the question to look with."""
    name = view.state.step
    at = view.steps.index(name) + 1
    title = el("h2", f"{at}. ", symbol(name, view), f" {view.title(name)}")
    question = el("p", words(name, view.norm).question, class_="question")
    return region(el("div", title, question, id="heading", class_="heading"), "heading")


def say(view: View, complaint: str) -> Html:
    """The sentence for screen readers: what has just come to be."""
    name = view.state.step
    at = view.steps.index(name) + 1
    shown = view.pinned[0] if view.pinned else name
    i, j, k = view.focus
    value = view.row(shown, i, j)[k if "d" in view.axes(shown) else 0]
    subject = "" if shown == name else f" {view.title(shown)},"
    step = f"Step {at} of {len(view.steps)}, {view.title(name)}"
    sentence = f"{step};{subject} {spoken_place(view, shown)}: {fixed(value)}."
    return region(el("p", complaint or sentence, id="say", hidden=True), "say")
