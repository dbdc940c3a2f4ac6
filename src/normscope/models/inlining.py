"""A model with its own functions written out where they are called: counted first, for functions that call functions
grow without a bound.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import FileError

NODE = 256  # bytes that a node takes in memory, beside those of its file
MOST_WRITTEN = 1 << 28  # bytes of what is written out: about a million nodes
DEEPEST = 100  # functions within functions
Key = tuple[str, str, str]  # a function's domain, name and overload


def written_out(model: Any) -> Any:
    """The model without functions; as it is where they cannot be written out, as where one calls itself.

    Raises FileError where that would take more than 256 MB.
    """
    if not model.functions:
        return model
    functions = {(each.domain, each.name, each.overload): each for each in model.functions}
    if _size(model.graph.node, functions, {}, 0) > MOST_WRITTEN:
        raise FileError(
            f"the model's functions call each other so often that it would be larger than {MOST_WRITTEN >> 20} MB "
            "with all of them written out."
        )
    from onnx import inliner

    try:
        return inliner.inline_local_functions(model)
    except Exception:  # whatever a library in C++ raises for a model that it cannot inline
        return model


def _size(nodes: Any, functions: Mapping[Key, Any], sizes: dict[Key, int], depth: int) -> int:
    """The bytes of nodes with every call written out; each function is counted once."""
    if depth > DEEPEST:
        raise FileError(f"the model has more than {DEEPEST} functions within functions.")
    total = 0
    for node in _with_inner(nodes):
        key = (node.domain, node.op_type, node.overload)
        if key in functions and key not in sizes:
            sizes[key] = 0  # while it is counted: a function that calls itself is not written out
            sizes[key] = _size(functions[key].node, functions, sizes, depth + 1)
        total += NODE + node.ByteSize() + sizes.get(key, 0)
    return total


def _with_inner(nodes: Any) -> Iterator[Any]:
    """The nodes, and those of their branches and loops."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            for graph in [attribute.g, *attribute.graphs]:
                yield from _with_inner(graph.node)
