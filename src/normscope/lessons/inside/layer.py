"""What a state of "Inside LayerNorm" names: its tensor, norm, program and window; whether it fits together."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from ...errors import StateError
from ...gradients import training
from ...norm import Norm, layer_norm, rms_norm
from ...page.numbers import plain
from ...program import Program
from ...steps import forward
from ...views.policies import find
from ..sources import MODELS, Shape, Source, minilm, preset, preset_norm, symbolic
from ..state import finite
from .rounding import policy_name, roundings
from .state import DRAGGED, EDITABLE, State, cell_id

SYMBOLIC = (2, 4, 8)
LARGEST = (4, 8, 16)
MODEL_LARGEST = (4096, 1_048_576, 1_048_576)
WINDOW = (2, 4, 8)
FOLDED = frozenset({"v", "dy_xhat", "dxhat_xhat"})  # each is shown in the step that reads it


def source_of(state: State, sources: Mapping[str, Source]) -> Source:
    """The tensor that the state names; StateError if there is none of that name."""
    if state.source == "symbolic":
        return symbolic(_shape(state, SYMBOLIC, LARGEST), state.seed)
    if state.source in MODELS:
        model = MODELS[state.source]
        shape = _shape(state, (1, *model.longest), MODEL_LARGEST)
        if shape[2] != model.d:
            raise StateError(f"d is {shape[2]:,}; {model.name} has d = {model.d:,}.")
        return preset(state.source, shape, state.seed)
    source = _fixed_source(state.source, sources)
    if state.sizes:
        own = " × ".join(map(str, source.shape))
        raise StateError(f"source '{state.source}' has sizes of its own, {own}; leave sizes out.")
    return source


def _fixed_source(name: str, sources: Mapping[str, Source]) -> Source:
    if name == "minilm":
        return minilm()
    if name not in sources:
        names = ", ".join(["symbolic", "minilm", *sources])
        raise StateError(f"there is no source '{name[:40]}' here; there are {names} and the model presets.")
    return sources[name]


def _shape(state: State, usual: Shape, largest: Shape) -> Shape:
    sizes = state.sizes or usual
    for axis, size, most in zip("BSd", sizes, largest, strict=True):
        if not 1 <= size <= most:
            raise StateError(f"{axis} is {size:,}; here it goes from 1 to {most:,}.")
    return sizes[0], sizes[1], sizes[2]


def norm_of(state: State, source: Source) -> Norm:
    """The norm of the state, on the axes B S [d]; what the state leaves open comes from its source."""
    usual = preset_norm(state.source)
    kind = state.norm or ("layer_norm" if usual.center else "rms_norm")
    eps = state.eps or source.eps or "1e-5"
    return _norm(kind, eps, state.affine or ("both" if usual.shift else "scale"), source.offset)


@lru_cache(maxsize=64)
def _norm(kind: str, eps: str, affine: str, offset: int) -> Norm:
    if kind == "rms_norm":
        norm = rms_norm(eps=eps, elementwise_affine=affine != "none", offset=offset)
    else:
        norm = layer_norm(eps=eps, elementwise_affine=affine != "none", bias=affine == "both", offset=offset)
    return norm.fit(3)


def program_of(state: State, norm: Norm, *, back: bool | None = None) -> Program:
    """The program that the state walks, in the order of its rounding; `back` decides about the way back."""
    policy = policy_name(state.storage, state.rounding)
    return _program(norm, policy, state.back if back is None else back)


@lru_cache(maxsize=64)
def _program(norm: Norm, policy: str, back: bool) -> Program:
    there = find(policy).program(norm) if policy else forward(norm)
    return training(norm, there) if back else there


def step_names(program: Program) -> list[str]:
    """The steps that the scrubber walks: x first, and dy before the first step that reads it."""
    names = ["x"]
    for step in program:
        if "dy" in step.args and "dy" not in names:
            names.append("dy")
        if step.name not in FOLDED:
            names.append(step.name)
    return names


def window_of(state: State, source: Source) -> tuple[range, range, range]:
    """The rows and features that are shown; the symbolic tensor is shown whole."""
    sizes = source.shape if state.source == "symbolic" else tuple(map(min, WINDOW, source.shape))
    corner = state.at or ((0, 0, 96) if state.source == "minilm" else (0, 0, 0))
    for axis, first, size, whole in zip("BSd", corner, sizes, source.shape, strict=True):
        if first > whole - size:
            raise StateError(f"at gives {axis} = {first:,}; the window of {size} ends at {whole - size:,}.")
    b, s, k = (range(first, first + size) for first, size in zip(corner, sizes, strict=True))
    return b, s, k


def check(state: State, sources: Mapping[str, Source]) -> State:
    """The state, if everything in it fits together; a NormscopeError names what does not."""
    source = source_of(state, sources)
    norm = norm_of(state, source)
    window_of(state, source)
    if state.rounding not in (None, *roundings(state.storage)):
        known = " ".join(roundings(state.storage))
        raise StateError(f"{state.storage} has no rounding '{state.rounding}'; it has {known}.")
    shown, whole = program_of(state, norm), program_of(state, norm, back=True)
    if state.step not in step_names(shown):
        raise StateError(f"there is no step '{state.step[:20]}'; the steps are {' '.join(step_names(shown))}.")
    edits = tuple((cell_id(*place(cell, whole, source.shape, EDITABLE)), _number(value)) for cell, value in state.edits)
    sel = cell_id(*place(state.sel, shown, source.shape)) if state.sel else ""
    return replace(state, edits=edits, sel=sel)


def _number(text: str) -> str:
    bare = text.removeprefix(DRAGGED)
    return text[: len(text) - len(bare)] + plain(finite(bare))


def place(cell: str, program: Program, shape: Shape, names: tuple[str, ...] = ()) -> tuple[str, tuple[int, ...]]:
    """`xhat.0.1.2` as its name and its place; StateError if there is no such cell, or of none of these names.

    A statistic has no feature and a parameter no row: what is said beyond that is dropped.
    """
    name, *words = cell.split(".")
    axes = program.values.get(name)
    if not axes or (names and name not in names):
        raise StateError(f"there is no cell '{cell[:40]}' here.")
    try:
        numbers = [int(word) for word in words]
    except ValueError:
        raise StateError(f"there is no cell '{cell[:40]}' here.") from None
    at = tuple(numbers[-1:] if axes == ("d",) else numbers[: len(axes)])
    sizes = [size for axis, size in zip("BSd", shape, strict=True) if axis in axes]
    if len(at) != len(axes) or not all(0 <= i < size for i, size in zip(at, sizes, strict=True)):
        raise StateError(f"there is no cell '{cell[:40]}' in a tensor of {' × '.join(map(str, shape))}.")
    return name, at
