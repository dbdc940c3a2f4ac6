"""Beside the ledger: a button that asks the server to measure what the ledger predicts.

The page itself only asks; the server draws its answer into the same place (`interfaces/measuring.py`), where it stays
until the page asks for something else.
"""

from collections.abc import Mapping
from functools import lru_cache

from ...norm import Norm
from ...page.html import Html, el, group, region

ID = "measured"
PATH = "/measured"
STORAGES = ("float32", "float64", "float16", "bfloat16")  # that kernels take
ABOUT = (
    "Runs this norm on random numbers of the same shape: the staged run, NumPy and the fused kernel, PyTorch and "
    "ONNX Runtime where they are installed. What each keeps is held against the ledger, its time against a copy of x."
)
NARROW = "There is no kernel that keeps eight bits a cell; choose another precision to measure it."


def measured(norm: Norm, sizes: Mapping[str, int], storage: str) -> Html:
    """The button, with what it will measure."""
    return _asking(norm, tuple(sizes.values()), storage)


@lru_cache(maxsize=32)
def _asking(norm: Norm, shape: tuple[int, ...], storage: str) -> Html:
    """Kept, since no number of the tensor is in it."""
    if storage not in STORAGES:
        return section(el("p", NARROW, class_="hint"))
    return section(form(asked(norm, shape, storage)))


def section(*body: Html) -> Html:
    """The place for a measurement, a region of the page; `hands`: a page without a server has no use for it."""
    drawn = el("section", el("h3", "Measured on this machine"), *body, id=ID, class_="ledger measured hands")
    return region(drawn, ID)


def asked(norm: Norm, shape: tuple[int, ...], storage: str) -> dict[str, str]:
    """What a measurement is asked for by, as the fields of a form."""
    fields = {
        "shape": ",".join(map(str, shape)),
        "norm": "layer_norm" if norm.center else "rms_norm",
        "affine": "both" if norm.shift else "scale" if norm.scale else "none",
        "storage": storage,
    }
    return fields | ({} if norm.eps is None else {"eps": str(norm.eps)})


def form(fields: Mapping[str, str], text: str = "Measure") -> Html:
    """The button; without the script it leads to a page of its own."""
    hidden = (el("input", type="hidden", name=name, value=value) for name, value in fields.items())
    waiting = el("span", "Measuring, for about ten seconds …", class_="waiting")
    return group(
        el("p", ABOUT, class_="hint"),
        el("form", *hidden, el("button", text), waiting, action=PATH, data_into=ID),
    )
