"""The panels round the stage of "Inside LayerNorm": settings, scrubber, formula, the pinned cell."""

import math

from ...page.controls import Complaint, Span, bar, button, entry, grouped, select, slider
from ...page.html import Html, el, group, region
from ...page.numbers import fixed, general, plain
from ...page.scrubber import scrubber, transport
from ...presets import PRESETS
from ...program import PARAMETERS
from ...views.formula import ROOT, expression, substituted
from ...views.formula import symbol as letter
from ...views.ledger import WIDTH
from ...views.notation import Literal, equation
from .stage import symbol
from .state import AFFINES, KINDS
from .view import View
from .words import words

SHIFT_SPAN = Span(-2, 2, 0.01)
MOST_TERMS = 17  # of a sum: a row of the largest symbolic tensor, or a window and what is left out


def settings(view: View, sources: dict[str, str], wrong: Complaint) -> Html:
    """Which tensor, which layer, which storage; undo and reset."""
    state, norm = view.state, view.norm
    tensors = [("Here", {"symbolic": "Symbolic", "minilm": "Real activations: MiniLM-L6"} | sources)]
    tensors.append(("Sizes of real models, synthetic numbers", {key: model.name for key, model in PRESETS.items()}))
    affines = AFFINES if norm.center else {key: text for key, text in AFFINES.items() if key != "both"}
    affine = "both" if norm.shift else "scale" if norm.scale else "none"
    controls = [
        grouped("source", "Tensor", tensors, state.source),
        *(_size(view, axis, wrong) for axis in "BSd"),
        select("norm", "Norm", KINDS, "layer_norm" if norm.center else "rms_norm"),
        entry("eps", "eps", state.eps or view.source.eps or "1e-5", wrong, 7),
        select("affine", "Affine", affines, affine),
        select("storage", "Precision", {name: name for name in WIDTH}, state.storage),
        entry("seed", "Seed", str(state.seed), wrong, 3) if _is_made(view) else None,
        button("Undo", "undo:1", disabled=not state.edits),
        button("Reset", "reset:1", disabled=not state.edits),
        wrong.rest(),
    ]
    return bar(controls, state.bad is not None)


def _is_made(view: View) -> bool:
    return view.state.source == "symbolic" or view.state.source in PRESETS


def _size(view: View, axis: str, wrong: Complaint) -> Html | None:
    """The size of an axis, where it can be chosen."""
    if view.state.source == "symbolic" or (view.state.source in PRESETS and axis != "d"):
        return entry(f"size.{axis}", axis, str(view.sizes[axis]), wrong, 2 if view.is_whole else 6)
    return None


def walk(view: View) -> Html:
    """All steps on one line, and the buttons that walk them."""
    at = view.steps.index(view.state.step)
    names = [
        group(symbol(name, view), el("span", view.title(name).partition(":")[0], class_="word")) for name in view.steps
    ]
    spoken = f"step {at + 1} of {len(view.steps)}: {view.title(view.state.step)}"
    return el("div", transport("step"), scrubber("step", "Step", names, at, spoken), class_="walk")


def heading(view: View) -> Html:
    """The step's number and name, and the question to look with."""
    name = view.state.step
    at = view.steps.index(name) + 1
    title = el("h2", f"{at}. ", symbol(name, view), f" {view.title(name)}")
    question = el("p", words(name, view.norm.center, view.norm.shift).question, class_="question")
    return region(el("div", title, question, id="heading", class_="heading"), "heading")


def formula(view: View) -> Html:
    """The step in letters, the same with the numbers of the pinned place, and what to notice."""
    name = view.state.step
    notice = el("p", words(name, view.norm.center, view.norm.shift).notice, class_="notice")
    lines = [] if name == "x" else _equations(view, name)
    return region(el("div", *lines, notice, id="formula", class_="formula"), "formula")


def _equations(view: View, name: str) -> list[Html]:
    left = letter(view.program, name)
    rights = [expression(view.program, name)]
    if name == "xhat":
        rights.append(expression(view.program, name, ROOT))
    numbers = substituted(rights[-1], lambda symbol: _leaves(view, name, symbol), view.sizes, limit=MOST_TERMS)
    i, j, k = view.focus
    value = view.row(name, i, j)[k if "d" in view.axes(name) else 0]
    where = f"{_address(view, name)}:"
    return [
        equation(left, *rights),
        el("p", where, class_="where"),
        el("div", equation(letter(view.program, name), numbers, Literal(fixed(value))), class_="numbers"),
    ]


def _leaves(view: View, step: str, name: str) -> list[str]:
    """The numbers that a symbol stands for: a row of them under a mean, else the one at the focus."""
    if name == "eps":
        return [general(view.eps)]
    i, j, k = view.focus
    cells = view.row(name, i, j)
    if not view.program.by_name[step].over:
        return [fixed(cells[k if "d" in view.axes(name) else 0])]
    hidden = view.sizes["d"] - len(cells)
    return [fixed(cell, 4) for cell in cells] + ([f"… {hidden:,} more"] if hidden else [])


def _place(view: View, name: str) -> dict[str, int]:
    """Where the focus is in the whole tensor, along the axes of a value."""
    at = zip("BSd", (part.start + i for part, i in zip(view.window, view.focus, strict=True)), strict=True)
    return {axis: i for axis, i in at if axis in view.axes(name)}


def _address(view: View, name: str) -> str:
    """`xhat[0, 1, 2]`, as code would have it."""
    return f"{name}[{', '.join(map(str, _place(view, name).values()))}]"


def spoken_place(view: View, name: str) -> str:
    """`batch 0, token 1 (cat), feature 2`."""
    names = {"B": "batch", "S": "token", "d": "feature"}
    words = [f"{names[axis]} {i}" for axis, i in _place(view, name).items()]
    if view.source.tokens and "S" in view.axes(name):
        words[1] += f" ({view.source.tokens[_place(view, name)['S']]})"
    return ", ".join(words)


def cell(view: View, wrong: Complaint) -> Html:
    """The pinned place: its x, gamma and beta, each with a slider and a field."""
    sliders = [_slider(view, field, wrong) for field in _fields(view)]
    hint = "Click a cell to pin it, or walk with the arrow keys. Enter edits a cell of x, gamma or beta."
    place = spoken_place(view, "x")
    title = el("h3", place[0].upper() + place[1:])
    return region(el("div", title, *sliders, el("p", hint, class_="hint hands"), id="cell", class_="cell"), "cell")


def _fields(view: View) -> list[str]:
    i, j, k = view.focus
    return [f"x.{i}.{j}.{k}", *(f"{name}.{k}" for name in view.parameters)]


def _slider(view: View, field: str, wrong: Complaint) -> Html:
    name = field.partition(".")[0]
    i, j, k = view.focus
    value = view.row(name, i, j)[k]
    label = group(symbol(name, view), el("small", _address(view, name)))
    spoken = f"{view.title(name)}, {spoken_place(view, name)}"
    span = _span(view, name)
    return slider(field, label, spoken, plain(value), fixed(value, 2), span, wrong)


def _span(view: View, name: str) -> Span:
    """The slider's reach: -5 to 5 for x, or as far as the unedited numbers go."""
    if name in PARAMETERS:
        return SHIFT_SPAN
    i, j, _ = view.focus
    row = view.source.rows(_one(view.window[0], i), _one(view.window[1], j))[0][0]
    most = max((abs(float(v)) for v in row[view.window[2].start : view.window[2].stop] if math.isfinite(v)), default=0)
    reach = 5.0 if most <= 5 else float(math.ceil(most))
    return Span(-reach, reach, 0.05 if reach == 5 else reach / 100)


def _one(part: range, i: int) -> range:
    return range(part[i], part[i] + 1)


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
