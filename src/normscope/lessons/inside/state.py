"""The state of "Inside LayerNorm": what an address says."""

from collections.abc import Mapping
from dataclasses import dataclass

from ...program import PARAMETERS
from ...views.ledger import WIDTH
from ..state import FLAG, PAIR, WHOLE, Codec, choice, indices, pairs
from .rounding import ROUNDINGS

KINDS = {"layer_norm": "LayerNorm", "rms_norm": "RMSNorm"}
AFFINES = {"both": "gamma and beta", "scale": "gamma only", "none": "none"}
COPIES = {"": "choose a form", "link": "link", "numpy": "NumPy", "pytorch": "PyTorch", "latex": "LaTeX", "csv": "CSV"}
COTANGENTS = {"seeded": "from the seed", "ones": "all ones: the loss y.sum()"}
EDITABLE = ("x", "dy", *PARAMETERS)
DRAGGED = "~"  # marks an edit that a slider made

Edit = tuple[str, str]


@dataclass(frozen=True)
class State:
    """What is seen. None stands for what the source itself says.

    storage   of the ledger, and of what a rounding rounds to
    rounding  how values are rounded, a key of ROUNDINGS; None: as is usual for the storage
    back      whether the walk goes on to the gradients
    dy        the gradient of y that the way back starts from, a key of COTANGENTS
    at        the corner of the window: b, s and feature
    sel       the pinned cell, `xhat.0.1.2` by its place in the whole tensor
    edits     cells of x, dy, gamma and beta that a person has set, in order, so that the last can be undone
    ladder    whether the pinned cell's ladder is unfolded
    bad       an action that could not be done, with its value: its message stands beside the field
    """

    source: str = "symbolic"
    sizes: tuple[int, ...] | None = None
    seed: int = 0
    norm: str | None = None
    eps: str | None = None
    affine: str | None = None
    storage: str = "float32"
    rounding: str | None = None
    back: bool = False
    dy: str = "seeded"
    at: tuple[int, ...] | None = None
    step: str = "x"
    sel: str = ""
    edits: tuple[Edit, ...] = ()
    ladder: bool = False
    copy: str = ""
    bad: Edit | None = None


CODECS: Mapping[str, Codec] = {
    "source": (str, str),
    "sizes": indices(3),
    "seed": WHOLE,
    "norm": choice(tuple(KINDS)),
    "eps": (str, str),
    "affine": choice(tuple(AFFINES)),
    "storage": choice(tuple(WIDTH)),
    "rounding": choice(tuple(ROUNDINGS)),
    "back": FLAG,
    "dy": choice(tuple(COTANGENTS)),
    "at": indices(3),
    "step": (str, str),
    "sel": (str, str),
    "edits": pairs(","),
    "ladder": FLAG,
    "copy": choice(tuple(COPIES)),
    "bad": PAIR,
}


def set_to(edit: Edit) -> float:
    """The value that an edit gives its cell."""
    return float(edit[1].removeprefix(DRAGGED))


def cell_id(name: str, at: tuple[int, ...]) -> str:
    """The inverse of `layer.place`."""
    return ".".join([name, *map(str, at)])
