"""Round the stage of "Inside LayerNorm": settings and window, scrubber, heading, the sentence for screen readers."""

from ...page.controls import Complaint, bar, button, entry, grouped, select
from ...page.html import Html, el, group, region
from ...page.numbers import fixed
from ...page.scrubber import scrubber, transport
from ...views.ledger import WIDTH
from ..sources import MODELS
from .grids import symbol
from .names import word
from .rounding import roundings, usual
from .state import AFFINES, KINDS
from .view import View
from .words import words


def settings(view: View, sources: dict[str, str], wrong: Complaint) -> Html:
    """Which tensor, which layer, which storage; undo and reset."""
    state, norm = view.state, view.norm
    tensors = [("Here", {"symbolic": "Symbolic", "minilm": "Real activations: MiniLM-L6"} | sources)]
    tensors.append(("Sizes of real models, synthetic numbers", {key: model.name for key, model in MODELS.items()}))
    affines = AFFINES if norm.center else {key: text for key, text in AFFINES.items() if key != "both"}
    affine = "both" if norm.shift else "scale" if norm.scale else "none"
    controls = [
        grouped("source", "Tensor", tensors, state.source),
        *(_size(view, axis, wrong) for axis in "BSd"),
        select("norm", "Norm", KINDS, "layer_norm" if norm.center else "rms_norm"),
        entry("eps", "eps", state.eps or view.source.eps or "1e-5", wrong, 7),
        select("affine", "Affine", affines, affine),
        select("storage", "Precision", {name: name for name in WIDTH}, state.storage),
        select("rounding", "Rounding", roundings(state.storage), state.rounding or usual(state.storage)),
        entry("seed", "Seed", str(state.seed), wrong, 3) if _is_made(view) else None,
        button("Undo", "undo:1", disabled=not state.edits),
        button("Reset", "reset:1", disabled=not state.edits),
        wrong.rest(),
    ]
    return bar(controls, state.bad is not None)


def _is_made(view: View) -> bool:
    return view.state.source == "symbolic" or view.state.source in MODELS


def _size(view: View, axis: str, wrong: Complaint) -> Html | None:
    """The size of an axis, where it can be chosen."""
    if view.state.source == "symbolic" or (view.state.source in MODELS and axis != "d"):
        return entry(f"size.{axis}", axis, str(view.sizes[axis]), wrong, 2 if view.is_whole else 6)
    return None


def paging(view: View, wrong: Complaint) -> Html | None:
    """Which part of the tensor is shown, and the way to the rest; nothing where all is shown."""
    if view.is_whole:
        return None
    turns = (
        _turn(view, axis, part, name, wrong)
        for axis, part, name in zip("BSd", view.window, ("batch", "token", "feature"), strict=True)
        if len(part) < view.sizes[axis]
    )
    note = el("p", "A window of the tensor; every statistic is that of its whole row.", class_="hint")
    drawn = el("div", *turns, note, id="paging", class_="paging", role="group", aria_label="Window")
    return region(drawn, "paging")


def _turn(view: View, axis: str, part: range, name: str, wrong: Complaint) -> Html:
    last = view.sizes[axis] - len(part)
    return el(
        "div",
        entry(f"at.{axis}", f"{name} from", str(part.start), wrong, len(str(last)) + 1),
        button("◂", f"at.{axis}:{max(0, part.start - len(part))}", part.start == 0),
        button("▸", f"at.{axis}:{min(last, part.start + len(part))}", part.start == last),
        el("span", f"{part.start:,} to {part.stop - 1:,} of {view.sizes[axis]:,}", class_="range"),
        class_="turn",
    )


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
    sentence = f"{step};{subject} {view.spoken_place(shown)}: {fixed(value)}."
    return region(el("p", complaint or sentence, id="say", hidden=True), "say")
