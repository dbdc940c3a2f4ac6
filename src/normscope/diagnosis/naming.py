"""The kind of norm that a function's name says it is."""

import re
from collections.abc import Callable, Mapping

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
SIGNS = (  # the first that a name holds says its kind; short ones as whole words
    ("rms", "rms_norm"), ("batch", "batch_norm"), ("group", "group_norm"), ("instance", "instance_norm"),
    ("layer", "layer_norm"), ("bn", "batch_norm"), ("gn", "group_norm"), ("ln", "layer_norm"),
)  # fmt: skip
EVALUATION = ("eval", "inference", "infer", "test")
SHORT = 2  # letters


def kind_of(name: str) -> str:
    """The kind in a function's name; empty where it says none.

    >>> kind_of("RMSNorm.forward"), kind_of("my_bn_eval"), kind_of("normalize")
    ('rms_norm', 'batch_norm_eval', '')
    """
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    lower, listed = name.lower(), [word.lower() for word in words]
    for sign, kind in SIGNS:
        if sign in (listed if len(sign) <= SHORT else lower):
            is_evaluation = kind == "batch_norm" and any(word in listed for word in EVALUATION)
            return f"{kind}_eval" if is_evaluation else kind
    return ""


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
