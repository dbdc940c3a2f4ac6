"""The controls of the whole page of "Inside LayerNorm": tensor, layer, precision, and the window."""

from ...page.controls import Complaint, bar, button, entry, grouped, select
from ...page.html import Html, el, region
from ...presets import PRESETS
from ...views.ledger import WIDTH
from .rounding import roundings, usual
from .state import AFFINES, KINDS
from .view import View


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
        select("rounding", "Rounding", roundings(state.storage), state.rounding or usual(state.storage)),
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
