"""The kind of norm that a function's name says it is."""

import re
from collections.abc import Callable, Mapping, Sequence

from ..norm import Norm, batch_norm, group_norm, instance_norm, layer_norm, rms_norm

GROUPS = 2  # of a GroupNorm, where nobody says how many
KINDS: Mapping[str, Callable[[], Norm]] = {
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "batch_norm": batch_norm,
    "batch_norm_eval": lambda: batch_norm(training=False),
    "group_norm": lambda: group_norm(GROUPS),
    "instance_norm": lambda: instance_norm(affine=True),
}
SHORT = {"bn": "batch_norm", "gn": "group_norm", "ln": "layer_norm"}
STEMS = ("batch", "group", "grouped", "instance", "layer")  # the last word: much is called a layer
EVALUATION = ("eval", "inference", "infer", "test")
FULL = re.compile("(layer|batch|group|instance)_?norm")
T5 = "T5LayerNorm"  # RMSNorm by its paper: no mean is subtracted, https://arxiv.org/abs/1910.10683, 2.1


def kind_of(name: str) -> str:
    """The kind in a function's name, read word by word; empty where it says none.

    The longest name of a norm says it, "layer_norm" in "group_layer_norm"; the word RMS before any.

    >>> kind_of("RMSNorm.forward"), kind_of("my_bn_eval"), kind_of("LayerNormSimple"), kind_of("normalize")
    ('rms_norm', 'batch_norm_eval', 'layer_norm', '')
    """
    words = _words(name)
    kind = "rms_norm" if T5 in name else _kind(words)
    is_evaluation = kind == "batch_norm" and any(word in words for word in EVALUATION)
    return f"{kind}_eval" if is_evaluation else kind


def reason(name: str) -> str:
    """How a function's name says its kind, as a note ends."""
    if T5 in name:
        return "since T5's LayerNorm subtracts no mean and has no beta: it is RMSNorm (--norm says otherwise)"
    return "by the function's name"


def _words(name: str) -> list[str]:
    """The words of a name in lower case: camel case, underscores and digits divide."""
    return [word.lower() for word in re.findall("[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def _kind(words: Sequence[str]) -> str:
    if any(word.startswith("rms") for word in words):
        return "rms_norm"
    if full := max(FULL.finditer("_".join(words)), key=lambda found: len(found[0]), default=None):
        return f"{full[1]}_norm"
    if short := next((SHORT[word] for word in words if word in SHORT), ""):
        return short
    stem = next((stem for stem in STEMS if stem in words), "")
    return f"{stem.removesuffix('ed')}_norm" if stem else ""


def affine_axes(norm: Norm) -> str | None:
    """The axes that gamma and beta of a pattern usually have, by what kind of norm it is; None where it has no name."""
    dims, kept = norm.layout.dims, norm.kept
    if norm.name in ("LayerNorm", "RMSNorm"):
        return " ".join(norm.over)
    if norm.name == "GroupNorm":
        return f"({' '.join(dims[1])})"
    if norm.name == "InstanceNorm":
        return kept[1]
    return " ".join(kept) if norm.name == "BatchNorm" else None
