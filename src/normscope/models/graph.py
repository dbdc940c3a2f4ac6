"""An ONNX model to read: its graphs one by one, who makes and who reads each tensor, and data only when asked for."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any

from ..errors import FileError
from .inferring import inferred
from .inlining import written_out
from .skeleton import skeleton

ONNX_NEEDED = "reading a graph needs the library onnx; install it: pip install 'normscope[inspect]'."
MOST_BYTES = 1 << 30  # of one tensor that is read at all
STANDARD = ("", "ai.onnx")
VALUES = {"value_float": 1, "value_int": 7, "value_floats": 1, "value_ints": 7}  # of a Constant; with ONNX's dtype

Dim = int | str | None  # a size, the name of one that is open, or nothing known


class OnnxMissing(FileError):
    """The library onnx is not installed."""

    exit_code = 4


@dataclass(frozen=True)
class Graph:
    """One graph: the model's, or that of a branch or loop in it.

    nodes    in the order in which they run
    where    what goes before the names of its nodes: `if_3/then_branch/`
    shapes   by tensor: its dimensions; a tensor of unknown rank is not there
    dtypes   by tensor: its dtype, as NumPy spells it
    outer    the graph round it, whose tensors it sees too
    """

    nodes: tuple[Any, ...]
    inputs: frozenset[str]
    outputs: frozenset[str]
    tensors: Mapping[str, Any]
    shapes: Mapping[str, tuple[Dim, ...]]
    dtypes: Mapping[str, str]
    folder: Path
    opset: int
    where: str = ""
    outer: "Graph | None" = field(default=None, repr=False)

    @cached_property
    def maker(self) -> Mapping[str, int]:
        """By tensor, the place of the node that makes it."""
        return {name: at for at, node in enumerate(self.nodes) for name in node.output if name}

    @cached_property
    def readers(self) -> Mapping[str, tuple[int, ...]]:
        """By tensor, the places of the nodes that read it."""
        made: dict[str, list[int]] = {}
        for at, node in enumerate(self.nodes):
            for name in dict.fromkeys(node.input):
                made.setdefault(name, []).append(at)
        return {name: tuple(places) for name, places in made.items()}

    def constant(self, name: str) -> Any | None:
        """The TensorProto of an initializer or a Constant, this graph's or one round it."""
        if name in self.tensors:
            return self.tensors[name]
        is_own = name in self.maker or name in self.inputs
        return None if is_own or self.outer is None else self.outer.constant(name)

    def shape(self, name: str) -> tuple[Dim, ...] | None:
        """The dimensions of a tensor; None where not even its rank is known."""
        tensor = self.constant(name)
        if tensor is not None:
            return tuple(tensor.dims)
        if name in self.shapes or self.outer is None:
            return self.shapes.get(name)
        return self.outer.shape(name)

    def dtype(self, name: str) -> str:
        """The dtype of a tensor; empty where it is not known."""
        tensor = self.constant(name)
        if tensor is not None:
            return dtype_name(tensor.data_type)
        if name in self.dtypes or self.outer is None:
            return self.dtypes.get(name, "")
        return self.outer.dtype(name)

    def array(self, name: str) -> Any | None:
        """The cells of a constant; None where it is none, or its data is not there."""
        tensor = self.constant(name)
        return None if tensor is None else array_of(tensor, self.folder)


def dtype_name(code: int) -> str:
    """An ONNX element type as NumPy and ml_dtypes spell it: `float32`, `bfloat16`."""
    import onnx

    try:
        name: str = onnx.TensorProto.DataType.Name(code).lower()
    except ValueError:
        return ""
    return {"float": "float32", "double": "float64"}.get(name, name)


def array_of(tensor: Any, folder: Path) -> Any | None:
    """The cells of a TensorProto, read from the file where they stand; None where they cannot be had.

    Data outside the model's own folder is not read.
    """
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    try:
        dtype = helper.tensor_dtype_to_np_dtype(tensor.data_type)
        if tensor.data_location != TensorProto.EXTERNAL:
            return numpy_helper.to_array(tensor)
        path, offset = _stands(tensor, folder)
        count = prod(tensor.dims)
        packed = tensor.data_type not in WHOLE_BYTES
        if packed or not _is_inside(path, folder) or not 0 <= count * dtype.itemsize <= MOST_BYTES:
            return None
        little = dtype.newbyteorder("<") if dtype.itemsize > 1 and dtype.kind in "fiu" else dtype
        made = np.fromfile(path, little, count, offset=offset)
        return made.reshape(tuple(tensor.dims)) if made.size == count else None
    except (KeyError, OSError, TypeError, ValueError, OverflowError, AttributeError):
        return None


def _stands(tensor: Any, folder: Path) -> tuple[Path, int]:
    """The file that holds a tensor's data, and from which byte on."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    return folder / entries["location"], int(entries.get("offset", 0))


def _is_inside(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


def lost(tensor: Any, folder: Path) -> str:
    """Which file holds a tensor's data and why it cannot be read there; empty where it can."""
    from onnx import TensorProto, helper

    if tensor.data_location != TensorProto.EXTERNAL:
        return ""
    try:
        path, offset = _stands(tensor, folder)
        if not _is_inside(path, folder):
            return f"{path.name}, which is outside the model's folder and is not read"
        if not path.is_file():
            return f"{path.name}, which is not there"
        size = helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize if tensor.data_type in WHOLE_BYTES else 0
        is_short = offset + prod(tensor.dims) * size > path.stat().st_size
        return f"{path.name}, which is too short" if is_short else ""
    except (KeyError, OSError, TypeError, ValueError, OverflowError):
        return "a file that the model names in no way that can be read"


WHOLE_BYTES = frozenset({1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 16})  # element types of one byte or more a cell


def graphs(path: str | Path) -> Iterator[Graph]:
    """Every graph of a model: the main one, then those of its branches and loops.

    Raises FileError for a file that is no ONNX model, OnnxMissing where onnx is not installed.
    """
    path = Path(path)
    model = _parsed(path)
    model = inferred(written_out(model))
    opset = max((each.version for each in model.opset_import if each.domain in STANDARD), default=0)
    yield from _scopes(model.graph, path.parent, opset, "", None)


def _parsed(path: Path) -> Any:
    try:
        import onnx
    except ImportError:
        raise OnnxMissing(ONNX_NEEDED) from None
    model = onnx.ModelProto()
    try:
        model.ParseFromString(skeleton(path))
    except FileError:
        raise
    except Exception:  # protobuf's errors are another library's
        raise FileError(f"{path.name} is no ONNX model: its bytes are no protobuf message of one.") from None
    if not model.HasField("graph"):
        raise FileError(f"{path.name} is no ONNX model: it has no graph.")
    return model


def _scopes(graph: Any, folder: Path, opset: int, where: str, outer: Graph | None) -> Iterator[Graph]:
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    nodes = []
    for node in graph.node:
        if not all(isinstance(text, str) for text in (node.name, node.op_type, *node.input, *node.output)):
            raise FileError("this is no ONNX model: a name in it is no text.")
        if node.op_type == "Constant" and node.domain in STANDARD:
            tensors |= {name: tensor for name in node.output for tensor in [_constant(node)] if tensor is not None}
        nodes.append(node)
    shapes, dtypes = _types([*graph.input, *graph.output, *graph.value_info])
    inputs = frozenset(each.name for each in graph.input if each.name not in tensors)
    outputs = frozenset(each.name for each in graph.output)
    made = Graph(tuple(nodes), inputs, outputs, tensors, shapes, dtypes, folder, opset, where, outer)
    yield made
    for at, node in enumerate(nodes):
        for attribute in node.attribute:
            inner = [attribute.g] if attribute.HasField("g") else list(attribute.graphs)
            for each in inner:
                name = f"{where}{node.name or f'{node.op_type}_{at}'}/{attribute.name}/"
                yield from _scopes(each, folder, opset, name, made)


def _constant(node: Any) -> Any | None:
    """The tensor of a Constant node."""
    from onnx import helper

    for attribute in node.attribute:
        if attribute.name == "value":
            return attribute.t
        if attribute.name in VALUES:
            value = helper.get_attribute_value(attribute)
            cells = list(value) if attribute.name.endswith("s") else [value]
            dims = [len(cells)] if attribute.name.endswith("s") else []
            return helper.make_tensor("", VALUES[attribute.name], dims, cells)
    return None


def _types(infos: list[Any]) -> tuple[dict[str, tuple[Dim, ...]], dict[str, str]]:
    shapes: dict[str, tuple[Dim, ...]] = {}
    dtypes: dict[str, str] = {}
    for info in infos:
        kind = info.type.tensor_type
        dtypes[info.name] = dtype_name(kind.elem_type)
        if kind.HasField("shape"):
            shapes[info.name] = tuple(
                dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None for dim in kind.shape.dim
            )
    return shapes, dtypes
