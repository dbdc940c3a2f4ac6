"""How "Inside LayerNorm" rounds: the orders that may be chosen for a precision, as policies."""

from ...views.formats import FORMATS
from ...views.policies import POLICIES

ROUNDINGS = {
    "none": "none (float64)",
    "statistics": "float32 statistics",
    "steps": "every step",
    "pytorch": "as PyTorch's CPU kernel",
    "llama": "as Llama's code",
    "gemma": "as Gemma's code",
}
WIDE = {64: ("none",), 32: ("none", "steps", "pytorch")}


def roundings(storage: str) -> dict[str, str]:
    """The choices for a precision.

    >>> list(roundings("float64")), list(roundings("float32"))
    (['none'], ['none', 'steps', 'pytorch'])
    """
    return {kind: ROUNDINGS[kind] for kind in WIDE.get(FORMATS[storage].bits, ROUNDINGS)}


def usual(storage: str) -> str:
    """What is done where nothing was chosen: up to 16 bits values are rounded, with the ledger's statistics."""
    return "none" if FORMATS[storage].bits in WIDE else "statistics"


def policy_name(storage: str, rounding: str | None) -> str:
    """The policy by its name; empty where nothing is rounded.

    >>> policy_name("bfloat16", None), policy_name("float32", "steps"), policy_name("float32", None)
    ('statistics-bf16', 'float32', '')
    """
    kind = rounding or usual(storage)
    if kind == "none":
        return ""
    name = f"{kind}-{FORMATS[storage].short}"
    return name if name in POLICIES else storage
