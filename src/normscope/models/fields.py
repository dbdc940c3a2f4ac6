"""The fields by which two norms are compared, and when two values of one are the same."""

from collections.abc import Callable, Mapping
from typing import Any

from ..axes import ELLIPSIS
from .forms import WORDS, words
from .found import MACHINE, Found

FLOAT32_EPS = 2.0**-23
FOLDED = "folded into gamma"
NEAR = 1e-2  # gammas that are rounded to bfloat16
CLOSE = 1e-6  # eps that are read back from a float32


class Unsure:
    """A value that a model does not tell."""

    def __repr__(self) -> str:
        return "unknown"


UNKNOWN = Unsure()


def values(field: str, read: Callable[[Found], Any], a: Found, b: Found) -> tuple[Any, Any]:
    """A field of two norms. Exporters compute 1 + w once and for all: what a graph calls gamma may be that.

    The same weights with another offset are another gamma, even where a graph alone cannot tell its offset.
    """
    if field == "offset" and not all("offset" in each.unknown for each in (a, b)):
        if a.offset != b.offset and _gammas_agree(a, b, a.offset, b.offset):
            return FOLDED, FOLDED
        if _gammas_agree(a, b, 0, 0):
            return a.offset, b.offset
        if a.offset != b.offset and not all("gamma" in each.parameters for each in (a, b)):
            return _graphs_offset(a), _graphs_offset(b)
    return read(a), read(b)


def _graphs_offset(found: Found) -> Any:
    """The offset where only one model's gamma is there: a graph without one, which names its y, may have it folded."""
    return UNKNOWN if "y" in found.tensors and not found.offset else _offset(found)


def _gammas_agree(a: Found, b: Found, *offsets: int) -> bool:
    """Whether the weights with these offsets come out the same, as far as their summary tells."""
    gammas = [(offset, each.parameters.get("gamma")) for offset, each in zip(offsets, (a, b), strict=True)]
    figures = [
        [made.least + offset, made.most + offset, made.mean + offset] for offset, made in gammas if made is not None
    ]
    return len(figures) == 2 and all(abs(one - two) <= NEAR * abs(one) for one, two in zip(*figures, strict=True))


def equal(a: Any, b: Any) -> bool:
    """Whether two values are the same; numbers as float32, in which graphs keep them."""
    numbers = [FLOAT32_EPS if each == MACHINE else each for each in (a, b)]
    if all(isinstance(each, float) for each in numbers):
        return bool(abs(numbers[0] - numbers[1]) <= CLOSE * max(map(abs, numbers)))
    return bool(a == b)


def _kind(found: Found) -> Any:
    return UNKNOWN if "kind" in found.unknown else found.norm.name


def _eps(found: Found) -> Any:
    return UNKNOWN if found.eps is None else found.eps


def _offset(found: Found) -> Any:
    return UNKNOWN if "offset" in found.unknown else found.offset


def _variance(found: Found) -> Any:
    """How the variance is computed: what a fused operator or a configuration leaves open is taken to be right."""
    return "one-pass" if found.form == "one-pass" else "two-pass"


def _axes(found: Found) -> str:
    """The reduced axes without the names and the number of those before them.

    >>> from normscope.norm import Norm
    >>> _axes(Found("", Norm("B S h [d]"))), _axes(Found("", Norm("[N] C [L]", "C")))
    ('... [d]', '[N] C [...]')
    """
    norm, dims = found.norm, found.norm.layout.dims
    if norm.axes[-len(norm.over) :] == norm.over and all(len(dim) == 1 for dim in dims) and norm.name != "InstanceNorm":
        names = ["d"] if len(norm.over) == 1 else [f"d{at}" for at in range(1, len(norm.over) + 1)]
        return f"... [{' '.join(names)}]"
    return KNOWN.get(norm.name, norm.pattern) if ELLIPSIS in norm.axes or norm.name in KNOWN else norm.pattern


KNOWN = {"BatchNorm": "[N] C [...]", "InstanceNorm": "N C [...]", "GroupNorm": "N (g [c]) [...]"}


def _sizes(found: Found) -> Any:
    """The sizes that are known, in the order of the axes."""
    return [found.sizes[axis] for axis in found.norm.axes if axis in found.sizes] or UNKNOWN


def _faults(found: Found) -> list[str]:
    """What is wrong about it, but for how its variance is computed, which has a field of its own."""
    faults = [words(key, found.norm) for key in WORDS if key not in ("one-pass", "unclamped")]
    return [each for each in found.warnings if each in faults]


FIELDS: Mapping[str, Callable[[Found], Any]] = {
    "kind": _kind,
    "axes": _axes,
    "sizes": _sizes,
    "eps": _eps,
    "gamma": lambda found: found.norm.scale,
    "offset": _offset,
    "bias": lambda found: found.norm.shift,
    "cast": lambda found: found.cast or UNKNOWN,
    "variance": _variance,
    "faults": _faults,
}
