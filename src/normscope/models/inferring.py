"""The shapes that follow from those of a model's inputs, as onnx infers them."""

from collections.abc import Iterator
from typing import Any

MOST_NUMBERS = 1 << 21  # in all lists of sizes that onnx computes with: about 100 MB
RANK = 16  # of a tensor whose shape is not known
SHAPED_BY = {"Reshape": 1, "Expand": 1, "ConstantOfShape": 0}  # the input that is a list as long as the result's rank


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
    """How many numbers there can be in the lists that onnx would follow through the graph."""
    from onnx import defs

    counts: dict[str, int] = {}
    total, rank = 0, RANK
    for node in _nodes(graph, counts):
        given = [counts.get(name, 1) for name in node.input if name]
        if node.op_type in SHAPED_BY and len(given) > SHAPED_BY[node.op_type]:
            rank = max(rank, given[SHAPED_BY[node.op_type]])
        if not defs.has(node.op_type) or not defs.get_schema(node.op_type).has_data_propagation_function:
            continue
        made = rank if node.op_type == "Shape" else sum(given) if node.op_type == "Concat" else max(given, default=1)
        for name in node.output:
            made = counts.setdefault(name, made)
        total += made + sum(given)
    return total


def _nodes(graph: Any, counts: dict[str, int]) -> Iterator[Any]:
    """The nodes, also those of branches and loops; before them, the lengths of the lists that are known."""
    infos = [*graph.input, *graph.output, *graph.value_info]
    shapes = [(info.name, [dim.dim_value for dim in info.type.tensor_type.shape.dim]) for info in infos]
    shapes += [(tensor.name, list(tensor.dims)) for tensor in graph.initializer]
    counts |= {name: dims[0] for name, dims in shapes if len(dims) == 1 and dims[0] > 0}
    for node in graph.node:
        for attribute in node.attribute:
            for inner in [attribute.g, *attribute.graphs]:
                yield from _nodes(inner, counts)
        yield node
