"""PyTorch and ONNX Runtime, where they are installed, as engines that can be measured."""

from typing import Any

from ..views.ledger import WIDTH
from .engines import Array, Engine, Missing, Task

OPSET = {True: ("LayerNormalization", 17), False: ("RMSNormalization", 23)}  # by whether the norm centers


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
    # Its threads may spin within a run; between runs they would take the processors from whatever is measured next.
    options.add_session_config_entry("session.force_spinning_stop", "1")
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
