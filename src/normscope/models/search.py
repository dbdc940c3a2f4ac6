"""Where the norms of a graph are: from each root back to the x that it is taken of, and on to the last affine step."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .attempts import Attempts
from .graph import Dim, Graph
from .inputs import attributes
from .meaning import FEW, Meaning, Rule
from .operators import RULES
from .recognise import Recognised, recognised

ROOTS = ("Sqrt", "Rsqrt", "ReduceL2")
SHAPING = ("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Cast", "Identity")
SHAPE_INPUT = ("Reshape", "Expand", "Slice", "Squeeze", "Unsqueeze")  # only the first input is a tensor of cells
CUTS = 16  # tensors back from the root that may be x
STEPS = 60  # nodes that are read on the way back
FURTHER = 5  # tensors further back that are tried once a norm is found: from x - mean to x, say
AHEAD = 40  # nodes that are looked at behind the root
MISSES = 4  # tensors of x's shape that are none, behind one that is a norm


@dataclass(frozen=True)
class Region:
    """A part of a graph that is a norm: its tensors x and y, and what it means."""

    root: int
    x: str
    y: str
    meaning: Meaning
    what: Recognised

    @property
    def says(self) -> tuple[int, int, int, int]:
        """How much of a norm it is: one that is centered, scaled and shifted holds the others; then, how right."""
        norm = self.what.norm
        return int(norm.center), int(norm.scale), int(norm.shift), -len(self.what.faults)

    @property
    def is_whole(self) -> bool:
        """Whether there is nothing more to find."""
        return self.says == (1, 1, 1, 0)


def is_root(graph: Graph, node: Any) -> bool:
    """Whether a node takes a root."""
    if node.op_type in ROOTS:
        return True
    if node.op_type != "Pow" or len(node.input) < 2:
        return False
    tensor = graph.constant(node.input[1])
    power = graph.array(node.input[1]) if tensor is not None and not any(dim > 1 for dim in tensor.dims) else None
    return power is not None and power.size == 1 and float(power.flat[0]) in (0.5, -0.5)


def region(graph: Graph, root: int, start: str, rules: Mapping[str, Rule] = RULES) -> Region | None:
    """The norm that has its root (or its fused node) at a place; None where it has no meaning of one.

    start  the tensor from which to go back: what the root is taken of
    """
    best: Region | None = None
    further = 0
    for x in _candidates(graph, root, start):
        if best is not None and (best.is_whole or further >= FURTHER) and not _only_shaped(graph, x, best.x):
            break
        further += best is not None
        for shape in _shapes(graph, x):
            found = _furthest(graph, root, x, Attempts(graph, x, shape, rules))
            if found is not None and (best is None or _is_better(graph, found, best)):
                best = found
            if found is not None:
                break
    return best


def is_near(graph: Graph, root: int, start: str, rules: Mapping[str, Rule] = RULES) -> bool:
    """Whether a tensor is divided by the root of a mean over itself, in a way that is no norm that is known."""
    for x in _candidates(graph, root, start):
        for shape in _shapes(graph, x):
            attempts = Attempts(graph, x, shape, rules)
            for y in _ahead(graph, root):
                meaning = attempts.meaning(y)
                if meaning is not None and root in meaning.nodes and any(step.op == "mean" for step in meaning.program):
                    return True
    return False


def _candidates(graph: Graph, root: int, start: str) -> Iterator[str]:
    """The tensors that may be x: behind the root, or, where that is of given numbers, behind what it first meets."""
    if not _is_given(graph, start):
        yield from cuts(graph, start)
        return
    shape = graph.shape(start)
    if shape is not None and all(dim == 1 for dim in shape):  # a single number, such as the root of a head's width
        return
    for tensor in _ahead(graph, root):
        met = [name for name in graph.nodes[graph.maker[tensor]].input if name and not _is_given(graph, name)]
        if met:
            yield from cuts(graph, met[0])
            return


def _is_better(graph: Graph, found: Region, best: Region) -> bool:
    """Whether a region with its x further back says more, or is the same in the shape that x had before."""
    return found.says > best.says or (found.says == best.says and _only_shaped(graph, found.x, best.x))


def _only_shaped(graph: Graph, start: str, end: str) -> bool:
    """Whether one tensor is the other, cast or in another shape."""
    while end != start:
        at = graph.maker.get(end)
        if at is None or graph.nodes[at].op_type not in SHAPING:
            return False
        end = graph.nodes[at].input[0]
    return True


def cuts(graph: Graph, start: str) -> Iterator[str]:
    """The tensors on which alone the start depends, from the nearest back: x is one of them."""
    front = {start}
    found = 0
    for _ in range(STEPS):
        if len(front) == 1 and found < CUTS:
            found += 1
            yield next(iter(front))
        last = max(front, key=lambda name: graph.maker.get(name, -1), default="")
        at = graph.maker.get(last)
        if at is None or found >= CUTS or graph.nodes[at].op_type not in RULES:
            return
        front.remove(last)
        front |= {name for name in _cells_read(graph.nodes[at]) if not _is_given(graph, name)}


def _cells_read(node: Any) -> list[str]:
    names = list(node.input[:1]) if node.op_type in SHAPE_INPUT or node.op_type in FUSED_X else list(node.input)
    if node.op_type.startswith("Reduce"):
        names = names[:1]
    return [name for name in names if name]


FUSED_X = ("InstanceNormalization", "LayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization")


def _is_given(graph: Graph, name: str, depth: int = 0) -> bool:
    """Whether a tensor is a constant or made of constants and shapes alone."""
    if graph.constant(name) is not None:
        return True
    at = graph.maker.get(name)
    if at is None or depth > 12:
        return False
    node = graph.nodes[at]
    return node.op_type in ("Shape", "Size") or (
        bool(node.input) and all(_is_given(graph, each, depth + 1) for each in node.input if each)
    )


def _shapes(graph: Graph, name: str) -> list[tuple[Dim, ...]]:
    """The shapes to read a tensor in: its own, or where its rank is not known, some of the usual."""
    shape = graph.shape(name)
    if shape is not None:
        return [shape]
    rank = _rank(graph, name)
    return [(None,) * each for each in ((rank,) if rank else (3, 4, 2))]


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
    if node.op_type not in ALIKE:
        return None
    ranks = [_rank(graph, each, depth + 1) for each in node.input[: ALIKE[node.op_type]] if each]
    return None if None in ranks else max((rank for rank in ranks if rank is not None), default=None)


ALIKE = {"Add": 2, "Sub": 2, "Mul": 2, "Div": 2, "Sqrt": 1, "Pow": 1, "Cast": 1, "Identity": 1, "Relu": 1, "Softmax": 1}


def _furthest(graph: Graph, root: int, x: str, attempts: Attempts) -> Region | None:
    """The norm from this x whose y says most; of several that say the same, the first."""
    best: Region | None = None
    missed = 0
    for y in _ahead(graph, root):
        meaning = attempts.meaning(y)
        if meaning is None or root not in meaning.nodes:
            continue
        what = recognised(meaning)
        if what is None or not _is_layer(meaning, what):
            missed += best is not None
            if missed > MISSES:
                break
            continue
        found = Region(root, x, y, meaning, what)
        if best is None or found.says > best.says or _casts_back(graph, best.y, y, x):
            best = found
        if best.says[1:3] == (1, 1):
            break
    return best


def _casts_back(graph: Graph, before: str, y: str, x: str) -> bool:
    """Whether y is the tensor before it, cast to x's dtype."""
    node = graph.nodes[graph.maker[y]]
    return node.op_type == "Cast" and node.input[0] == before and graph.dtype(y) == graph.dtype(x)


def _is_layer(meaning: Meaning, what: Recognised) -> bool:
    """Whether the parameters are those of a layer: of the reduced axes, or of one kept dimension, never the first."""
    norm = what.norm
    first = set(meaning.dims[0]) if meaning.dims else set()
    kept = set(norm.param_axes) - set(norm.over)
    if kept & first and len(meaning.dims) > 1:
        return False
    return sum(bool(kept & set(dim)) for dim in meaning.dims) <= 1


def _ahead(graph: Graph, root: int) -> Iterator[str]:
    """The tensors that depend on the root, in the order in which they are made."""
    seen = {root}
    front = [root]
    for _ in range(AHEAD):
        if not front:
            return
        at = min(front)
        front.remove(at)
        node = graph.nodes[at]
        for name in node.output:
            if name:
                yield name
                later = [each for each in graph.readers.get(name, ()) if each not in seen]
                front += [each for each in later if graph.nodes[each].op_type in RULES]
                seen.update(later)
