"""The shapes that follow from those of a model's inputs, as onnx infers them."""

from collections.abc import Iterator
from typing import Any

MOST_NUMBERS = 1 << 21  # in all lists of sizes that onnx computes with: about 100 MB


def inferred(model: Any) -> Any:
    """The model with the shapes that follow; as it is where it has a fault.

    onnx can also follow the lists of sizes that a graph computes, but writes out and joins them without a bound. So it
    is asked to only where they are few.
    """
    plain = _inferred(model, False)
    return plain if _numbers(plain.graph) > MOST_NUMBERS else _inferred(plain, True)


def _inferred(model: Any, with_lists: bool) -> Any:
    from onnx import shape_inference

    try:
        return shape_inference.infer_shapes(model, data_prop=with_lists)
    except Exception:  # a model with a fault is read without
        return model


def _numbers(graph: Any) -> int:
    """How many numbers there are in the lists that onnx would follow through the graph: their lengths are inferred."""
    from onnx import defs

    lengths: dict[str, int] = {}
    total = 0
    for node in _nodes(graph, lengths):
        if defs.has(node.op_type) and defs.get_schema(node.op_type).has_data_propagation_function:
            total += sum(lengths.get(name, 0) for name in (*node.input, *node.output))
    return total


def _nodes(graph: Any, lengths: dict[str, int]) -> Iterator[Any]:
    """The nodes, also those of branches and loops; before them, how long each list is."""
    infos = [*graph.input, *graph.output, *graph.value_info]
    shapes = [(info.name, info.type.tensor_type.shape.dim) for info in infos]
    lengths |= {name: dims[0].dim_value for name, dims in shapes if len(dims) == 1}
    for node in graph.node:
        for attribute in node.attribute:
            for inner in [attribute.g, *attribute.graphs]:
                yield from _nodes(inner, lengths)
        yield node
