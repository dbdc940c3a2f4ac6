"""What a function gave back: its arrays by name, or what is wrong with their form."""

from typing import TYPE_CHECKING, Any

from ..gradients import GRADIENTS
from ..norm import Norm
from ..steps import STATISTICS
from .probes import Answer, Failure, Probe

if TYPE_CHECKING:
    from .frames import Frame

FLOATS = ("float16", "bfloat16", "float32", "float64", "float96", "float128", "longdouble")


def read(result: Any, frame: "Frame", probe: Probe, norm: Norm, is_backward: bool) -> Answer | Failure:
    """The arrays by name: y, or dx, dgamma and dbeta; running statistics where a BatchNorm returns them.

    A tuple that says more (a cache, saved statistics) is read as far as it is known. A floating dtype other than
    that of x is left for the judgement; any other dtype is a failure, as is another shape.
    """
    main = "dx" if is_backward else "y"
    parts = parted(result, frame)
    names = named(len(parts), norm, is_backward)
    made: dict[str, Any] = {}
    for name, part in zip(names, parts, strict=False):
        if part is None and name != main:
            continue
        array = frame.take(part)
        if array is None:
            kind, what = ("returns-none", "None") if part is None else ("wrong-type", f"a {type(part).__name__}")
            return Failure(kind, f"it returns {what}, not an array{_as(name, len(parts))}.", probe)
        made[name] = like(array, probe, name)
    return fault(made, main, probe) or made


def parted(result: Any, frame: "Frame") -> tuple[Any, ...]:
    """A tuple as it is, a list of arrays too; anything else is one part."""
    is_several = isinstance(result, tuple) or (
        isinstance(result, list) and any(frame.take(each) is not None for each in result[:1]) and not _numbers(result)
    )
    return tuple(result) if is_several and result else (result,)


def _numbers(result: list[Any]) -> bool:
    """Whether a list is an array written as nested lists."""
    return isinstance(result[0], (list, int, float))


def named(count: int, norm: Norm, is_backward: bool) -> tuple[str, ...]:
    """What the parts of a tuple of this length are."""
    if is_backward:
        return GRADIENTS
    is_training = norm.name == "BatchNorm" and not norm.running
    return ("y", *STATISTICS) if is_training and count == 3 else ("y",)


def like(array: Any, probe: Probe, name: str) -> Any:
    """Running statistics in the shape in which they were given; (1, C, 1, 1) holds what (C,) does."""
    own = getattr(probe, name, None)
    return array.reshape(own.shape) if own is not None and array.size == own.size else array


def fault(made: dict[str, Any], main: str, probe: Probe) -> Failure | None:
    """A wrong shape or a dtype that holds no real numbers."""
    for name, array in made.items():
        dtype = array.dtype.name
        if dtype not in FLOATS:
            return Failure("wrong-dtype", f"{name} has dtype {dtype}; x is {probe.x.dtype.name}.", probe)
    shape = made[main].shape
    if shape != probe.x.shape:
        return Failure("wrong-shape", f"{main} has shape {shape}; x has {probe.x.shape}.", probe)
    return None


def _as(name: str, count: int) -> str:
    return f" as {name}" if count > 1 else ""
