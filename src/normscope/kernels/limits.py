"""What can be measured, and how much memory that takes."""

from collections.abc import Sequence

from ..axes import sized
from ..errors import DtypeError, NormError, ShapeError
from ..norm import Norm, layer_norm
from ..page.numbers import bytes_, count
from ..views.ledger import Ledger, fit_sizes, ledger

STORAGES = ("float32", "float64", "float16", "bfloat16")


def checked(shape: Sequence[int], norm: Norm | None, storage: str) -> Ledger:
    """The ledger of what is asked for; an error where no engine takes it."""
    if storage not in STORAGES:
        raise DtypeError(f"storage is {storage!r}; a kernel takes {', '.join(STORAGES)}.")
    fitted, sizes = fit_sizes(norm or layer_norm(), tuple(shape))
    last = fitted.axes[-1:]
    if fitted.over != last or fitted.param_axes not in ((), last) or fitted.correction or fitted.running:
        raise NormError(f"{fitted.name} '{fitted.pattern}' is not LayerNorm or RMSNorm over the last axis of x.")
    if not fitted.center and fitted.shift:
        raise NormError(f"{fitted.name} '{fitted.pattern}' has a beta, which no kernel of RMSNorm takes.")
    if 0 in sizes.values():
        raise ShapeError(f"x is {sized(fitted.axes, sizes)}, which has no cells; every size must be at least 1.")
    return ledger(fitted, sizes, storage)


def needed(cost: Ledger) -> int:
    """Bytes that a measurement holds at once, at most: x, y, the copy, and an engine on an x of its own."""
    return 4 * cost.fused_bytes + max(cost.peak_bytes, cost.trace_bytes)


def refusal(cost: Ledger, most: int) -> str:
    """Why a measurement that may hold `most` bytes cannot be made; empty where it can."""
    wanted = needed(cost)
    if wanted <= most:
        return ""
    x = sized(cost.norm.axes, cost.sizes)
    return (
        f"measuring x {x} in {cost.storage} holds up to {count(wanted)} bytes ({bytes_(wanted)}), "
        f"and {bytes_(most)} may be used; take a smaller x: what is true of its rows is true of more of them."
    )
