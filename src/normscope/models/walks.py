"""Walks through a graph, back from a root: what it is taken of, what may be x, and in which shape."""

from collections.abc import Iterator, Mapping
from typing import Any

from .graph import Dim, Graph
from .inputs import attributes
from .meaning import FEW, Rule, is_given
from .operators import ELEMENTWISE, MEANS
from .shaping import IN_ORDER, SAME

ROOTS = ("Sqrt", "Rsqrt", "ReduceL2")
CUTS = 16  # tensors back from the root that may be x
STEPS = 60  # nodes that are read on the way back
DIVISORS = {"Div": 1, "Reciprocal": 0}  # which input it divides by
KEEPS_RANK = {*ELEMENTWISE, *SAME, *MEANS, "Softmax"}


def divisor(graph: Graph, node: Any) -> str:
    """What a node takes the root of; of a division by a variance itself, the variance; else nothing."""
    if is_root(graph, node):
        return str(node.input[0])
    place = DIVISORS.get(node.op_type, len(node.input))
    found = node.input[place] if place < len(node.input) else ""
    return found if found and is_of_means(graph, found) else ""


def is_root(graph: Graph, node: Any) -> bool:
    """Whether a node takes a root."""
    if node.op_type in ROOTS:
        return True
    if node.op_type != "Pow" or len(node.input) < 2:
        return False
    tensor = graph.constant(node.input[1])
    power = graph.array(node.input[1]) if tensor is not None and not any(dim > 1 for dim in tensor.dims) else None
    return power is not None and power.size == 1 and float(power.flat[0]) in (0.5, -0.5)


def is_of_means(graph: Graph, name: str) -> bool:
    """Whether a tensor is made of means and given numbers alone, by whatever operators but roots."""
    front, means = [name], False
    for _ in range(STEPS):
        if not front:
            break
        at = graph.maker.get(front.pop())
        if at is None or is_root(graph, graph.nodes[at]):
            return False
        if graph.nodes[at].op_type in MEANS:
            means = True
        else:
            front += [each for each in graph.nodes[at].input if _may_hold_x(graph, each)]
    return means and not front


def only_shaped(graph: Graph, start: str, end: str) -> bool:
    """Whether one tensor is the other, cast or in another shape."""
    while end != start:
        at = graph.maker.get(end)
        if at is None or graph.nodes[at].op_type not in IN_ORDER:
            return False
        end = graph.nodes[at].input[0]
    return True


def cuts(graph: Graph, start: str, rules: Mapping[str, Rule]) -> Iterator[str]:
    """The tensors on which alone the start depends, from the nearest back: x is one of them."""
    front = {start}
    found = 0
    for _ in range(STEPS):
        if len(front) == 1 and found < CUTS:
            found += 1
            yield next(iter(front))
        last = max(front, key=lambda name: graph.maker.get(name, -1), default="")
        at = graph.maker.get(last)
        if at is None or found >= CUTS or graph.nodes[at].op_type not in rules:
            return
        front.remove(last)
        front |= {name for name in graph.nodes[at].input if _may_hold_x(graph, name)}


def _may_hold_x(graph: Graph, name: str) -> bool:
    """Whether a tensor may depend on x: no constant, no count or shape, no single number that the model is given."""
    if not name or is_given(graph, name) or graph.dtype(name).startswith(("int", "uint", "bool")):
        return False
    shape = graph.shape(name)
    return name not in graph.inputs or shape is None or any(dim != 1 for dim in shape)


def shapes(graph: Graph, name: str) -> list[tuple[Dim, ...]]:
    """The shapes to read a tensor in: its own, or where its rank is not known, some of the usual."""
    shape = graph.shape(name)
    if shape is not None:
        return [shape]
    rank = _rank(graph, name)
    return [(None,) * each for each in ((rank,) if rank is not None else (3, 4, 2))]


def _rank(graph: Graph, name: str, depth: int = 0) -> int | None:
    """The rank of a tensor, from the nodes that make it; None where they do not tell."""
    shape = graph.shape(name)
    at = graph.maker.get(name)
    if shape is not None or at is None or depth > 12:
        return None if shape is None else len(shape)
    node = graph.nodes[at]
    if node.op_type == "Transpose" and "perm" in (given := attributes(node)):
        return len(given["perm"])
    if node.op_type == "Reshape" and len(node.input) > 1:
        target = graph.shape(node.input[1])
        return target[0] if target and isinstance(target[0], int) and target[0] <= FEW else None
    if node.op_type not in KEEPS_RANK or not attributes(node).get("keepdims", 1):
        return None
    ranks = [_rank(graph, each, depth + 1) for each in node.input if each]
    return None if None in ranks else max((rank for rank in ranks if rank is not None), default=None)
