"""Nodes of a graph as a model of their own, and what ONNX Runtime (or onnx's reference) makes of an input."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .graph import STANDARD, Graph, dtype_name

SHAPE = "shape of node "
NEWEST_IR = 10  # of a model's format, that ONNX Runtimes of some years read
WIDER = {"bfloat16": "float32"}  # ONNX Runtime on a CPU lacks bfloat16 for most operators: it is run as float32


@dataclass(frozen=True)
class Part:
    """Nodes to run by themselves.

    feeds     the shape of every tensor that they are given, x first
    shapes    by node, the sizes of what it gives, in the place of a shape that is computed elsewhere
    expected  from the tensors, in float64, to what y must be
    cells     how many cells share a statistic
    spread    of x, beside which eps counts; 0 where there is no eps
    powers    by tensor, the power of x's spread with which it grows: 2 for a variance; 0 where it is not named
    one_pass  the variance is E[x^2] - E[x]^2
    """

    graph: Graph
    nodes: Sequence[int]
    y: str
    feeds: Mapping[str, tuple[int, ...]]
    shapes: Mapping[int, tuple[int, ...]]
    expected: Callable[[Mapping[str, Any]], Any]
    cells: int
    spread: float
    powers: Mapping[str, int]
    one_pass: bool = False


@dataclass(frozen=True)
class Runs:
    """What a runner makes of nodes as they stand; of ONNX Runtime, also with the fusions that it makes by itself."""

    who: str
    plain: Any
    fused: Any | None = None


class Missing(Exception):
    """Something that the nodes need is not there, or nothing runs them."""


def model(part: Part) -> bytes:
    """The nodes as a model of their own; tensors are counted, so that equal parts are equal bytes.

    Raises Missing where the nodes need what is made elsewhere.
    """
    from onnx import helper, numpy_helper

    nodes = _needed([_copied(part, at) for at in part.nodes], part.y)
    made = {name for node in nodes for name in node.output}
    outside = (name for node in nodes for name in node.input if name and name not in made)
    constants = [name for name in dict.fromkeys(outside) if name not in part.feeds]
    names = {name: f"t{at}" for at, name in enumerate(dict.fromkeys([*part.feeds, *constants, *_outputs(nodes)]))}
    tensors = [numpy_helper.from_array(_constant(part, name), names[name]) for name in constants]
    for node in nodes:
        node.input[:] = [names.get(name, "") for name in node.input]
        node.output[:] = [names.get(name, "") for name in node.output]
    given = [_info(names[name], part.graph.dtype(name), shape) for name, shape in part.feeds.items()]
    graph = helper.make_graph(nodes, "part", given, [helper.make_empty_tensor_value_info(names[part.y])], tensors)
    domains = sorted({node.domain for node in nodes} - set(STANDARD))
    opsets = [helper.make_opsetid("", part.graph.opset), *(helper.make_opsetid(each, 1) for each in domains)]
    made_model = helper.make_model(graph, opset_imports=opsets, ir_version=NEWEST_IR)
    written: bytes = made_model.SerializeToString(deterministic=True)
    return written


def _copied(part: Part, at: int) -> Any:
    """A node without what only names it, and with its shape as a constant where that is computed elsewhere."""
    node = type(part.graph.nodes[at])()
    node.CopyFrom(part.graph.nodes[at])
    if at in part.shapes:
        node.input[1] = f"{SHAPE}{at}"
    for attribute in node.attribute:
        if attribute.name == "to" and dtype_name(attribute.i) in WIDER:
            attribute.i = _code(dtype_name(attribute.i))
    node.name = node.doc_string = ""
    del node.metadata_props[:]
    return node


def _constant(part: Part, name: str) -> Any:
    if name.startswith(SHAPE):
        return _shape_tensor(part.shapes[int(name.removeprefix(SHAPE))])
    array = part.graph.array(name)
    if array is None:
        raise Missing(f"{name} comes from elsewhere")
    return array.astype(WIDER.get(part.graph.dtype(name), array.dtype))


def _outputs(nodes: Sequence[Any]) -> list[str]:
    return [name for node in nodes for name in node.output if name]


def _needed(nodes: Sequence[Any], y: str) -> list[Any]:
    wanted = {y}
    kept = []
    for node in reversed(nodes):
        if wanted & set(node.output):
            wanted |= set(node.input)
            kept.append(node)
    return kept[::-1]


def _shape_tensor(sizes: tuple[int, ...]) -> Any:
    import numpy as np

    return np.array(sizes, np.int64)


def _info(name: str, dtype: str, shape: tuple[int, ...]) -> Any:
    from onnx import helper

    return helper.make_tensor_value_info(name, _code(dtype or "float32"), shape)


def _code(dtype: str) -> int:
    """ONNX's number for an element type that runs."""
    import numpy as np
    from onnx import helper

    code: int = helper.np_dtype_to_tensor_dtype(np.dtype(WIDER.get(dtype, dtype)))
    return code


def ran(model: bytes, cells: Sequence[Any]) -> Runs:
    """The model run on these cells, one for each input. Raises Missing where nothing runs it."""
    feeds = {f"t{at}": each for at, each in enumerate(cells)}
    try:
        import onnxruntime
    except ImportError:
        return _by_reference(model, feeds, "")
    levels = onnxruntime.GraphOptimizationLevel
    try:
        plain = _by_runtime(onnxruntime, model, feeds, levels.ORT_DISABLE_ALL)
    except Exception as error:  # its errors have no class in common
        return _by_reference(model, feeds, f"ONNX Runtime refuses these nodes ({_first_line(error)})")
    try:
        return Runs("ONNX Runtime", plain, _by_runtime(onnxruntime, model, feeds, levels.ORT_ENABLE_ALL))
    except Exception:  # what it gives without is there
        return Runs("ONNX Runtime", plain)


def _by_runtime(onnxruntime: Any, model: bytes, feeds: Mapping[str, Any], level: Any) -> Any:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = level
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"], enable_fallback=0)
    made: Sequence[Any] = session.run(None, dict(feeds))
    return made[0]


def _by_reference(model: bytes, feeds: Mapping[str, Any], why: str) -> Runs:
    try:
        import onnx
        from onnx.reference import ReferenceEvaluator

        made: Any = ReferenceEvaluator(onnx.load_from_string(model)).run(None, dict(feeds))
        return Runs("onnx's reference", made[0])
    except Exception as error:  # a reference in Python raises anything
        raise Missing(why or f"onnx's reference refuses these nodes ({_first_line(error)})") from None


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:120]
