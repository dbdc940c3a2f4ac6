"""A call that gave no answer as a finding: what mends its kind, and the smallest input on which it happens too."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from .probes import Failure, Probe
from .shrink import candidates, shown
from .verdict import Finding

if TYPE_CHECKING:
    from .examination import Examination

FIXES: Mapping[str, str] = {
    "raises": "make this one call work first: the message says which line of your code raised it",
    "modifies-input": "compute into a new array, as y = x - mean and not x -= mean, or copy the argument first",
    "returns-none": "end the function with return y; without a return Python gives None",
    "wrong-shape": "return an array of the shape of x; keepdims=True (keepdim in PyTorch) keeps the axes of a mean",
    "wrong-type": "return the array itself, or a tuple that begins with it",
    "wrong-dtype": "return real numbers in the dtype of x, as in y.astype(x.dtype)",
    "wrong-signature": "name the parameters x, gamma, beta, eps (or weight, bias), and give every other one a default",
    "timeout": "look for a loop without an end, a wait or a lock: x has few cells here; --time allows more seconds",
    "memory": "hold a few arrays of the size of x at most: x has few cells here; --memory allows more MB",
    "crash": "look for what ends the process: exit() or os._exit(), a signal, or native code that leaves an array",
}
SEEN_IN_ONE_CALL = ("raises", "modifies-input", "returns-none", "wrong-shape", "wrong-type", "wrong-dtype")
SHAPES, EACH = 12, 8  # how many shapes are tried; candidates() makes so many probes of each
LARGEST_SHOWN = 64  # cells


def failed(failure: Failure, asked: "Examination") -> Finding:
    """A finding of the failure, on the fewest rows and features that still show it."""
    fix = FIXES.get(failure.kind, "let it answer this call")
    if failure.probe is None or failure.kind == "wrong-signature":  # it was never called
        return Finding(failure.kind, failure.text, "it was not called", fix=fix)
    first = _smallest(failure, failure.probe, asked) or failure
    probe = first.probe or failure.probe
    given = {name: value for name, value in probe.arguments().items() if name in asked.implementation.accepts}
    shapes = ", ".join(f"{name} {getattr(value, 'shape', value)}" for name, value in given.items())
    small: dict[str, Any] = dict(shown(probe, 0, 0)) if probe.x.size <= LARGEST_SHOWN else {}
    small = {name: value for name, value in small.items() if name not in ("expected", "got")}
    return Finding(failure.kind, first.text, f"called with {shapes}", "", fix, small)


def _smallest(failure: Failure, probe: Probe, asked: "Examination") -> Failure | None:
    """The same failure on a smaller input; None where there is none, or each call of it costs too much."""
    if failure.kind not in SEEN_IN_ONE_CALL:
        return None
    for small in _smaller(probe, asked):
        (answer,) = asked.implementation.run([small])
        if isinstance(answer, Failure) and _sort(answer) == _sort(failure):
            return Failure(answer.kind, answer.text, small)
    return None


def _sort(failure: Failure) -> tuple[str, str]:
    """The kind, and of an exception its name."""
    return failure.kind, failure.text.partition(":")[0] if failure.kind == "raises" else ""


def _smaller(probe: Probe, asked: "Examination") -> Iterator[Probe]:
    """A small probe of every shape that has fewer cells, from the smallest on; with a dy where there was one."""
    import numpy as np

    for small in islice(candidates(asked.maker, probe.x.ndim), 0, SHAPES * EACH, EACH):
        if small.x.ndim == probe.x.ndim and small.x.size < probe.x.size:
            dy = np.arange(small.x.size).reshape(small.x.shape) ** 2 % 5 - 1
            more = {} if probe.dy is None else {"dy": asked.maker.cast(dy)}
            yield small.but(layout=probe.layout, **more)
