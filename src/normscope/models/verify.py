"""A find, run: its nodes by ONNX Runtime (or by onnx's reference) beside what our program gives, on random numbers.

How far the two may be apart follows from the arithmetic: a sum of n cells is off by about the root of n roundings,
and the division by the spread carries that to y. ONNX Runtime runs the nodes as they stand, and once more with the
fusions that it makes by itself.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod, sqrt
from typing import Any

from ..errors import NormscopeError
from .graph import STANDARD, Graph

MOST_CELLS = 1 << 22  # of x that is run
ROUNDING = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11}
OPERATIONS = 16  # roundings of a cell beside those of the sums
Kinds = tuple[tuple[tuple[int, ...], str], ...]  # the shape and the dtype of each tensor
SHAPE = "shape of node "
NEWEST_IR = 10  # of a model's format, that ONNX Runtimes of some years read


@dataclass(frozen=True)
class Part:
    """Nodes to run by themselves.

    feeds     the shape of every tensor that they are given, x first
    shapes    by node, the sizes of what it gives, in the place of a shape that is computed elsewhere
    expected  from the tensors, in float64, to what y must be
    cells     how many cells share a statistic
    """

    graph: Graph
    nodes: Sequence[int]
    y: str
    feeds: Mapping[str, tuple[int, ...]]
    shapes: Mapping[int, tuple[int, ...]]
    expected: Callable[[Mapping[str, Any]], Any]
    cells: int


@dataclass(frozen=True)
class Outcome:
    """What came of it: words for the evidence and, if the two disagree, for a warning."""

    evidence: str
    warning: str = ""


def verified(part: Part) -> Outcome:
    """Run the nodes and compare. A part that cannot be run is said to be so."""
    x = next(iter(part.feeds))
    if prod(part.feeds[x]) > MOST_CELLS:
        return Outcome("not run: x is too large to try")
    kinds = tuple((shape, part.graph.dtype(name) or "float32") for name, shape in part.feeds.items())
    if strange := [dtype for _, dtype in kinds if dtype not in ROUNDING]:
        return Outcome(f"not run: {strange[0]} is no dtype that is tried")
    try:
        runs = _runs(_model(part), kinds)
    except _Missing as missing:
        return Outcome(f"not run: {missing}")
    if isinstance(runs, str):
        return Outcome(f"not run: {runs}")
    feeds = random_cells(kinds)
    try:
        want = part.expected({name: cells.astype("float64") for name, cells in zip(part.feeds, feeds, strict=True)})
    except (NormscopeError, ValueError) as error:
        return Outcome(f"not run: {error}")
    shares = {who: _share(got, want, feeds, kinds[0][1], part.cells) for who, got in runs.items()}
    return _judged(shares)


def _judged(shares: Mapping[str, float]) -> Outcome:
    who, share = next(iter(shares.items()))
    if share > 1:
        return Outcome("", f"{who} gives another result for these nodes than this norm: {_times(share)}.")
    for other, apart in shares.items():
        if apart > 1:
            warning = f"{other} changes the result: {_times(apart)}; without its fusions it gives what the norm gives."
            return Outcome(f"{who} gives what the norm gives, on random numbers", warning)
    return Outcome(f"{who} gives what the norm gives, on random numbers")


def _times(share: float) -> str:
    return "no finite number" if share == float("inf") else f"off by {share:.3g} times what rounding explains"


class _Missing(Exception):
    """Something that the nodes need is not there."""


def _model(part: Part) -> bytes:
    """The nodes as a model of their own; tensors are counted, so that equal parts are equal bytes."""
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
    model = helper.make_model(graph, opset_imports=opsets, ir_version=NEWEST_IR)
    written: bytes = model.SerializeToString(deterministic=True)
    return written


def _copied(part: Part, at: int) -> Any:
    """A node without what only names it, and with its shape as a constant where that is computed elsewhere."""
    node = type(part.graph.nodes[at])()
    node.CopyFrom(part.graph.nodes[at])
    if at in part.shapes:
        node.input[1] = f"{SHAPE}{at}"
    node.name = node.doc_string = ""
    del node.metadata_props[:]
    return node


def _constant(part: Part, name: str) -> Any:
    if name.startswith(SHAPE):
        return _shape_tensor(part.shapes[int(name.removeprefix(SHAPE))])
    array = part.graph.array(name)
    if array is None:
        raise _Missing(f"{name} comes from elsewhere")
    return array


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
    from onnx import TensorProto, helper

    code = TensorProto.DataType.Value({"float32": "FLOAT", "float64": "DOUBLE"}.get(dtype, dtype.upper() or "FLOAT"))
    return helper.make_tensor_value_info(name, code, shape)


@lru_cache(maxsize=8)
def random_cells(kinds: Kinds) -> tuple[Any, ...]:
    """x, and every parameter from 0.5 to 1.5: the same ones for the same shapes and dtypes."""
    import numpy as np

    rng = np.random.default_rng(0)
    (shape, dtype), *others = kinds
    x = rng.normal(0.4, 1.0, shape).astype(dtype)
    return x, *(rng.uniform(0.5, 1.5, shape).astype(dtype) for shape, dtype in others)


@lru_cache(maxsize=128)
def _runs(model: bytes, kinds: Kinds) -> Mapping[str, Any] | str:
    """What each runner gives; why, where none can run it."""
    feeds = {f"t{at}": cells for at, cells in enumerate(random_cells(kinds))}
    try:
        import onnxruntime
    except ImportError:
        return _by_reference(model, feeds)
    levels = onnxruntime.GraphOptimizationLevel
    try:
        made: dict[str, Any] = {"ONNX Runtime": _by_runtime(onnxruntime, model, feeds, levels.ORT_DISABLE_ALL)}
    except Exception as error:  # its errors have no class in common
        return _by_reference(model, feeds, f"ONNX Runtime refuses these nodes ({_first_line(error)})")
    try:
        made["ONNX Runtime's own fusion"] = _by_runtime(onnxruntime, model, feeds, levels.ORT_ENABLE_ALL)
    except Exception:  # what it gives without is there
        pass
    return made


def _by_runtime(onnxruntime: Any, model: bytes, feeds: Mapping[str, Any], level: Any) -> Any:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = level
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"], enable_fallback=0)
    made: Sequence[Any] = session.run(None, dict(feeds))
    return made[0]


def _by_reference(model: bytes, feeds: Mapping[str, Any], why: str = "") -> Mapping[str, Any] | str:
    try:
        import onnx
        from onnx.reference import ReferenceEvaluator

        made: Any = ReferenceEvaluator(onnx.load_from_string(model)).run(None, dict(feeds))
        return {"onnx's reference": made[0]}
    except Exception as error:  # a reference in Python raises anything
        return why or f"onnx's reference refuses these nodes ({_first_line(error)})"


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:120]


def _share(got: Any, want: Any, feeds: Sequence[Any], dtype: str, cells: int) -> float:
    """The largest difference, as a share of what rounding explains."""
    import numpy as np

    if got.shape != want.shape:
        return float("inf")
    x, *others = (np.abs(each.astype("float64")) for each in feeds)
    largest = prod(float(each.max(initial=1.0)) for each in others)
    room = ROUNDING[dtype] * (OPERATIONS + 4 * sqrt(cells)) * (float(x.max(initial=1.0)) + np.abs(want)) * largest * 4
    apart = np.abs(got.astype("float64") - want) / room
    return float(np.nan_to_num(apart, nan=np.inf).max(initial=0.0))
