"""What can run a norm over the last axis: the staged run, NumPy, the fused kernel, PyTorch, ONNX Runtime.

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
OPSET = {True: ("LayerNormalization", 17), False: ("RMSNormalization", 23)}  # by whether the norm centers


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


def pytorch(task: Task) -> Engine:
    """torch.nn.functional, under no_grad; the CPU kernel of LayerNorm returns mean and rstd in the dtype of x too."""
    try:
        import torch
    except ImportError:
        raise Missing("PyTorch is not installed") from None
    functional, d = torch.nn.functional, task.given.x.shape[-1:]
    x, gamma, beta = (each if each is None else _tensor(each) for each in task.given[:3])
    torch.set_num_threads(task.threads)

    def layer_norm(*_: Any) -> Any:
        with torch.no_grad():
            return functional.layer_norm(x, d, gamma, beta, task.eps)

    def rms_norm(*_: Any) -> Any:
        with torch.no_grad():
            return functional.rms_norm(x, d, gamma, task.eps)

    def held() -> int:
        return sum(each.nbytes for each in torch.native_layer_norm(x, d, gamma, beta, task.eps))

    if not task.norm.center:
        return Engine(rms_norm, None, held=lambda: None)
    statistics = 2 * task.ledger.statistics * WIDTH[task.ledger.storage]
    moved = task.ledger.fused_bytes + statistics
    return Engine(layer_norm, moved, moved, held=held)


def _tensor(values: Array) -> Any:
    """A NumPy array as a tensor on the same memory."""
    import torch

    if values.dtype.name == "bfloat16":
        return torch.from_numpy(values.view("int16")).view(torch.bfloat16)
    return torch.from_numpy(values)


def onnxruntime(task: Task) -> Engine:
    """ONNX Runtime's own operator, its inputs and its output bound to memory that is there already."""
    try:
        import onnxruntime as ort
    except ImportError:
        raise Missing("ONNX Runtime is not installed") from None
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = task.threads, 4
    model = _model(task)
    try:
        session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its own errors have no common class
        raise Missing(f"ONNX Runtime does not take it: {str(error).strip().splitlines()[0][:120]}") from None
    binding = session.io_binding()
    for name, values in _named(task).items():
        binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(values))
    binding.bind_ortvalue_output("y", ort.OrtValue.ortvalue_from_numpy(task.given.out))

    def run(*_: Any) -> None:
        session.run_with_iobinding(binding)

    return Engine(run, task.ledger.fused_bytes, task.ledger.fused_bytes, held=lambda: None)


def _named(task: Task) -> dict[str, Array]:
    """What the operator is given; it needs a scale, so a norm without one has one of ones."""
    import numpy as np

    x, gamma, beta, _ = task.given
    scale = np.ones(x.shape[-1], x.dtype) if gamma is None else gamma
    return {"x": x, "gamma": scale} | ({} if beta is None else {"beta": beta})


def _model(task: Task) -> bytes:
    """A model of one node."""
    try:
        from onnx import TensorProto, helper
    except ImportError:
        raise Missing("ONNX Runtime needs the package onnx here, which is not installed") from None
    names = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "float64": TensorProto.DOUBLE}
    kind = names.get(task.ledger.storage)
    if kind is None:
        raise Missing(f"ONNX Runtime's CPU kernels take no {task.ledger.storage}")
    op, opset = OPSET[task.norm.center]
    given = _named(task)
    inputs = [helper.make_tensor_value_info(name, kind, values.shape) for name, values in given.items()]
    output = helper.make_tensor_value_info("y", kind, task.given.x.shape)
    node = helper.make_node(op, list(given), ["y"], axis=-1, epsilon=task.eps)
    graph = helper.make_graph([node], "norm", inputs, [output])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    return bytes(made.SerializeToString())
