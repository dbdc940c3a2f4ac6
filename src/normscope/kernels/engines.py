"""What of ours can run a norm over the last axis: the staged run, NumPy, the fused kernel.

An engine is asked for with a task and is made ready for it: whatever is done once, such as building a session,
is done before its time is taken. One that is not there, or does not take the task, raises Missing with the reason.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..norm import Norm
from ..steps import forward
from ..views.ledger import WIDTH, Ledger, bytes_of

Array = Any


class Missing(Exception):
    """Why an engine cannot run a task."""


class Given(NamedTuple):
    """x, gamma and beta where the norm has them, and an array for y where there is one already."""

    x: Array
    gamma: Array = None
    beta: Array = None
    out: Array = None


@dataclass(frozen=True, eq=False)
class Task:
    """One norm on one x: its ledger, its numbers, and how many threads may run."""

    ledger: Ledger
    given: Given
    eps: float
    threads: int

    @property
    def norm(self) -> Norm:
        """The norm, its axes written out."""
        return self.ledger.norm


class Engine(NamedTuple):
    """An engine that is ready.

    run        computes y of what is given (the fields of Given); an engine with tensors of its own has made them of
               the task's numbers and looks at no other
    predicted  bytes that it should keep, inputs and result included; None where nothing says
    moved      bytes that should pass between memory and processor; None where nothing says
    fills      y is written into what is given as out
    held       for an engine whose tensors are not NumPy's: bytes of what a call holds; None where it does not show
    """

    run: Callable[..., Any]
    predicted: int | None
    moved: int | None = None
    fills: bool = False
    held: Callable[[], int | None] | None = None


def staged(task: Task) -> Engine:
    """Every step into a buffer of its own, as the ledger counts it; each step reads its arguments from memory."""
    from ..views.staged import staged as staged_run

    cost = task.ledger

    def run(x: Array, gamma: Array, beta: Array, out: Array) -> Any:
        return staged_run(x, task.norm, gamma, beta, cost.storage)

    return Engine(run, cost.peak_bytes, staged_moves(cost))


def staged_moves(cost: Ledger) -> int:
    """Bytes that a staged run reads and writes: every tensor that a step names, once.

    >>> from ..norm import layer_norm
    >>> from ..views.ledger import ledger
    >>> staged_moves(ledger(layer_norm(), (2, 4, 8)))
    3392
    """
    program = forward(cost.norm)

    def size(*names: str) -> int:
        return sum(bytes_of(set(names), program, cost.norm, cost.sizes, cost.storage).values())

    read = ([name for name in step.args if isinstance(name, str)] for step in program)
    return sum(size(*names) + size(step.name) for names, step in zip(read, program, strict=True))


def numpy_steps(task: Task) -> Engine:
    """The steps as one writes them in NumPy, all of them kept; narrow formats are widened to float32 first."""
    cost = task.ledger
    run = layer_norm_in_numpy if task.norm.center else rms_norm_in_numpy
    widened = 0 if WIDTH[cost.storage] >= 4 else cost.fused_bytes  # what is given, and y, are there once more

    def called(x: Array, gamma: Array, beta: Array, out: Array) -> list[Array]:
        return run(x, gamma, beta, task.eps)

    return Engine(called, cost.trace_bytes + widened)


def layer_norm_in_numpy(x: Array, gamma: Array, beta: Array, eps: float) -> list[Array]:
    """Every step of LayerNorm; y is the last."""
    wide = [_wide(each) for each in (x, gamma, beta)]
    mu = wide[0].mean(-1, keepdims=True)
    c = wide[0] - mu
    return [*wide, mu, c, *_scaled_in_numpy(c, wide[1], wide[2], eps, x.dtype)]


def rms_norm_in_numpy(x: Array, gamma: Array, beta: Array, eps: float) -> list[Array]:
    """Every step of RMSNorm; y is the last."""
    wide = [_wide(each) for each in (x, gamma, beta)]
    return [*wide, *_scaled_in_numpy(wide[0], wide[1], wide[2], eps, x.dtype)]


def _scaled_in_numpy(c: Array, gamma: Array, beta: Array, eps: float, dtype: Any) -> list[Array]:
    """The steps that both have, from the values whose mean square is taken."""
    import numpy as np

    q = c * c
    var = q.mean(-1, keepdims=True)
    v = var + c.dtype.type(eps)
    r = 1 / np.sqrt(v)
    steps = [q, var, v, r, c * r]
    if gamma is not None:
        steps.append(steps[-1] * gamma)
    if beta is not None:
        steps.append(steps[-1] + beta)
    return steps if c.dtype == dtype else [*steps, steps[-1].astype(dtype)]


def _wide(values: Array) -> Array:
    """A narrow format in float32; others as they are."""
    import numpy as np

    return values if values is None or values.itemsize >= 4 else values.astype(np.float32)


def fused(task: Task) -> Engine:
    """Normscope's kernel as it is called: y is allocated in the call."""
    call = _kernel(task)

    def run(x: Array, gamma: Array, beta: Array, out: Array) -> Array:
        return call(x, gamma, beta, None)

    return Engine(run, task.ledger.fused_bytes, task.ledger.fused_bytes)


def fused_out(task: Task) -> Engine:
    """Normscope's kernel with `out=`: y is written into an array that is there already."""
    return Engine(_kernel(task), task.ledger.fused_bytes, task.ledger.fused_bytes, fills=True)


def _kernel(task: Task) -> Callable[..., Any]:
    from .. import kernels

    eps, threads = task.eps, task.threads

    def layer_norm(x: Array, gamma: Array, beta: Array, out: Array) -> Array:
        return kernels.layer_norm(x, gamma, beta, eps, out=out, threads=threads)

    def rms_norm(x: Array, gamma: Array, beta: Array, out: Array) -> Array:
        return kernels.rms_norm(x, gamma, eps, out=out, threads=threads)

    return layer_norm if task.norm.center else rms_norm
