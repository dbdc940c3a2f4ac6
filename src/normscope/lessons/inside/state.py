"""The state of "Inside LayerNorm": what an address says, and whether it fits together."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from ...errors import NormError, StateError
from ...norm import Norm, layer_norm, rms_norm
from ...page.numbers import plain
from ...presets import PRESETS
from ...steps import forward
from ...views.ledger import WIDTH
from ..sources import Shape, Source, minilm, preset, preset_norm, symbolic
from ..state import PAIR, Codec, choice, finite, whole_numbers

KINDS = {"layer_norm": "LayerNorm", "rms_norm": "RMSNorm"}
AFFINES = {"both": "gamma and beta", "scale": "gamma only", "none": "none"}
COPIES = {"": "choose a form", "link": "link", "numpy": "NumPy", "pytorch": "PyTorch", "latex": "LaTeX", "csv": "CSV"}
SYMBOLIC = (2, 4, 8)
LARGEST = (4, 8, 16)
MODEL_LARGEST = (4096, 1_048_576, 1_048_576)
WINDOW = (2, 4, 8)

DRAGGED = "~"  # marks an edit that a slider made

Edit = tuple[str, str]


@dataclass(frozen=True)
class State:
    """What is seen. None stands for what the source itself says.

    at     the corner of the window: b, s and feature
    sel    the pinned cell, `xhat.0.1.2` by its place in the whole tensor
    edits  cells of x, gamma and beta that a person has set, in order, so that the last can be undone
    bad    an action that could not be done, with its value: its message stands beside the field
    """

    source: str = "symbolic"
    sizes: tuple[int, ...] | None = None
    seed: int = 0
    norm: str | None = None
    eps: str | None = None
    affine: str | None = None
    storage: str = "float32"
    at: tuple[int, ...] | None = None
    step: str = "x"
    sel: str = ""
    edits: tuple[Edit, ...] = ()
    copy: str = ""
    bad: Edit | None = None


def _pairs(text: str) -> tuple[Edit, ...]:
    return tuple(PAIR[0](word) for word in text.split(","))


def _three(text: str) -> tuple[int, ...]:
    b, s, d = whole_numbers(text)
    return b, s, d


def _numbers(values: tuple[int, ...]) -> str:
    return ",".join(map(str, values))


CODECS: Mapping[str, Codec] = {
    "source": (str, str),
    "sizes": (_three, _numbers),
    "seed": (lambda text: whole_numbers(text)[0], str),
    "norm": choice(tuple(KINDS)),
    "eps": (str, str),
    "affine": choice(tuple(AFFINES)),
    "storage": choice(tuple(WIDTH)),
    "at": (_three, _numbers),
    "step": (str, str),
    "sel": (str, str),
    "edits": (_pairs, lambda edits: ",".join(":".join(edit) for edit in edits)),
    "copy": choice(tuple(COPIES)),
    "bad": PAIR,
}


def source_of(state: State, sources: Mapping[str, Source]) -> Source:
    """The tensor that the state names; StateError if there is none of that name."""
    if state.source == "symbolic":
        return symbolic(_shape(state, SYMBOLIC, LARGEST), state.seed)
    if state.source in PRESETS:
        model = PRESETS[state.source]
        shape = _shape(state, (1, model.positions, model.d), MODEL_LARGEST)
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
    return _norm(kind, eps, state.affine or ("both" if usual.shift else "scale"))


@lru_cache(maxsize=64)
def _norm(kind: str, eps: str, affine: str) -> Norm:
    if kind == "rms_norm":
        norm = rms_norm(eps=eps, elementwise_affine=affine != "none")
    else:
        norm = layer_norm(eps=eps, elementwise_affine=affine != "none", bias=affine == "both")
    return norm.fit(3)


def step_names(norm: Norm) -> list[str]:
    """The steps that the scrubber walks: x first, v folded into r."""
    return ["x", *(step.name for step in forward(norm) if step.name != "v")]


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
    """The state, if everything in it fits together; StateError names what does not."""
    source = source_of(state, sources)
    try:
        norm = norm_of(state, source)
    except NormError as error:
        raise StateError(str(error)) from None
    window_of(state, source)
    if state.step not in step_names(norm):
        raise StateError(f"there is no step '{state.step[:20]}'; the steps are {' '.join(step_names(norm))}.")
    edits = tuple(
        (cell_id(*place(cell, norm, source.shape, ("x", "gamma", "beta"))), _number(value))
        for cell, value in state.edits
    )
    sel = cell_id(*place(state.sel, norm, source.shape, tuple(forward(norm).values))) if state.sel else ""
    return replace(state, edits=edits, sel=sel)


def _number(text: str) -> str:
    bare = text.removeprefix(DRAGGED)
    return text[: len(text) - len(bare)] + plain(finite(bare))


def set_to(edit: Edit) -> float:
    """The value that an edit gives its cell."""
    return float(edit[1].removeprefix(DRAGGED))


def place(cell: str, norm: Norm, shape: Shape, names: tuple[str, ...]) -> tuple[str, tuple[int, ...]]:
    """`xhat.0.1.2` as its name and its place; StateError if there is no such cell.

    A statistic has no feature and a parameter no row: what is said beyond that is dropped.
    """
    name, *words = cell.split(".")
    axes = forward(norm).values.get(name)
    if name not in names or not axes:
        raise StateError(f"there is no cell '{cell[:40]}' here.")
    try:
        numbers = [int(word) for word in words]
    except ValueError:
        raise StateError(f"there is no cell '{cell[:40]}' here.") from None
    at = tuple(numbers[-1:] if axes == norm.over else numbers[: len(axes)])
    sizes = [size for axis, size in zip("BSd", shape, strict=True) if axis in axes]
    if len(at) != len(axes) or not all(0 <= i < size for i, size in zip(at, sizes, strict=True)):
        raise StateError(f"there is no cell '{cell[:40]}' in a tensor of {' × '.join(map(str, shape))}.")
    return name, at


def cell_id(name: str, at: tuple[int, ...]) -> str:
    """The inverse of `place`."""
    return ".".join([name, *map(str, at)])
