"""Operators that are a norm by themselves: those of the ONNX standard and those that ONNX Runtime adds.

https://onnx.ai/onnx/operators and https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from ..norm import Norm, batch_norm, group_norm, instance_norm, layer_norm, rms_norm
from .graph import Dim, Graph
from .inputs import attributes, places
from .meaning import Known, Meant, Reading, Rule, Tensor
from .operators import RULES, reduced
from .recognise import as_written
from .regions import Unreadable
from .shaping import IN_ORDER

MOST_CELLS = 1 << 20  # of a parameter that is looked at to see whether it does anything


@dataclass(frozen=True)
class Fused:
    """What a fused node is.

    given     the node's input for gamma, beta and the running statistics, by role; none that does nothing
    faults    what is wrong, by key of `forms.WORDS`
    evidence  what else the operator does
    alone     y is that of the norm of the sum of all other inputs
    """

    norm: Norm
    given: Mapping[str, str]
    faults: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    alone: bool = True


def fused(graph: Graph, node: Any) -> Fused | None:
    """What a node says of the norm that it is; None for any other operator.

    Raises Unreadable for a node that lacks what its operator needs.
    """
    read = OPERATORS.get(node.op_type)
    if read is None or len(node.input) == 0:
        return None
    return read(graph, node)


def _eps(node: Any, default: float = 1e-5) -> Any:
    return as_written(attributes(node).get("epsilon", default))


def _given(graph: Graph, node: Any, **places: int) -> dict[str, str]:
    """The tensors of the parameters that are there."""
    return {role: node.input[at] for role, at in places.items() if at < len(node.input) and node.input[at]}


def parameter(graph: Graph, name: str) -> tuple[str, int]:
    """The tensor that a parameter is made from, and what is added to it: `1 + w` gives w and 1."""
    offset = 0
    for _ in range(8):
        at = graph.maker.get(name)
        if graph.constant(name) is not None or at is None:
            break
        node = graph.nodes[at]
        if node.op_type in IN_ORDER:
            name = node.input[0]
        elif node.op_type == "Add" and (others := [each for each in node.input if not _is_number(graph, each, 1)]):
            if len(others) != 1:
                break
            name, offset = others[0], offset + 1
        else:
            break
    return name, offset


def _is_number(graph: Graph, name: str, value: float) -> bool:
    """Whether a tensor is this number in every cell."""
    tensor = graph.constant(name)
    if tensor is None or prod(tensor.dims) > MOST_CELLS:
        return False
    cells = graph.array(name)
    return cells is not None and bool((cells.astype("float64") == value).all())


def _is_neutral(graph: Graph, given: Mapping[str, str]) -> bool:
    """Whether gamma is 1 everywhere and beta 0."""
    values = {"gamma": 1.0, "beta": 0.0}
    return all(_is_number(graph, given[role], value) for role, value in values.items() if role in given)


def _is_none(graph: Graph, given: Mapping[str, str], center: bool) -> bool:
    """Whether the parameters stand for none: ones that the graph's code writes, or a LayerNorm's without a beta.

    The operator must have a gamma. A layer that was never trained has ones too, but as weights, and zeros beside.
    """
    if not _is_neutral(graph, given):
        return False
    written = all(graph.maker.get(each) is not None for each in given.values())
    return written or (center and "beta" not in given)


def _without_written_zero(graph: Graph, given: dict[str, str]) -> dict[str, str]:
    """The parameters less a beta that a Constant of zeros stands for, as PyTorch's exporter writes bias=False."""
    beta = given.get("beta", "")
    is_zero = beta and graph.maker.get(beta) is not None and _is_number(graph, beta, 0)
    return {role: name for role, name in given.items() if role != "beta" or not is_zero}


def _sizes(shape: Sequence[Dim] | None) -> list[int] | None:
    """A shape whose every dimension is known."""
    known = [dim for dim in shape or () if isinstance(dim, int) and dim > 0]
    return known if shape is not None and len(known) == len(shape) else None


def _trailing(center: bool, beta: int, gamma: int = 1, eps: float = 1e-5, axis: int = -1) -> Callable[..., Fused]:
    """LayerNorm and RMSNorm: over the axes from `axis` on."""

    def read(graph: Graph, node: Any) -> Fused:
        given = _given(graph, node, gamma=gamma, beta=beta) if beta else _given(graph, node, gamma=gamma)
        given = _without_written_zero(graph, given)
        shape = graph.shape(node.input[0])
        start = attributes(node).get("axis", axis)
        scale = graph.shape(given["gamma"]) if "gamma" in given else None
        count = _count(start, shape, scale)
        features = _sizes(shape[-count:] if shape is not None and count else None) or _sizes(scale)
        has_affine = bool(given) and not _is_none(graph, given, center)
        if features is None and count > 1:
            names = " ".join(f"d{at}" for at in range(1, count + 1))
            norm = Norm(f"... [{names}]", names if has_affine else None, center=center, shift=bool(beta))
        else:
            norm = layer_norm(features) if center else rms_norm(features)
        norm = replace(norm, eps=_eps(node, eps), shift="beta" in given and norm.shift)
        return Fused(norm, given) if has_affine else Fused(replace(norm, affine=None), {})

    return read


def _count(start: int, shape: Sequence[Dim] | None, scale: Sequence[Dim] | None) -> int:
    """How many trailing dimensions are normalized."""
    if start < 0:
        return -start
    if shape is not None:
        return len(shape) - start
    return len(scale) if scale else 1


def _skip(center: bool, gamma: int, beta: int, bias: int, eps: float = 1e-12) -> Callable[..., Fused]:
    """The norm of a sum: a residual add, and often a bias, are in the operator."""
    inner = _trailing(center, beta, gamma, eps)

    def read(graph: Graph, node: Any) -> Fused:
        made = inner(graph, node)
        added = "x + skip" + (" + bias" if 0 < bias < len(node.input) and node.input[bias] else "")
        return replace(made, evidence=(f"the operator adds first: its norm is of {added}",))

    return read


ADDED: Mapping[str, tuple[int, ...]] = {  # operators whose norm is of a sum: the inputs that they add
    "SkipLayerNormalization": (0, 1, 4),
    "SkipSimplifiedLayerNormalization": (0, 1, 3),
}


def _embedded(graph: Graph, node: Any) -> Fused:
    made = _trailing(True, 6, 5, 1e-12)(graph, node)
    return replace(made, evidence=("the operator adds the embeddings first",), alone=False)


def _channels(graph: Graph, name: str, axis: int = 1, *parameters: str) -> int | None:
    """The count of channels: that of x, else that of its parameters."""
    shape = graph.shape(name)
    for each in parameters:
        if (sizes := _sizes(graph.shape(each))) and len(sizes) == 1:
            return sizes[0]
    dim = shape[axis] if shape is not None and len(shape) > 1 else None
    return dim if isinstance(dim, int) else None


def _batch(graph: Graph, node: Any) -> Fused:
    is_training = bool(attributes(node).get("training_mode", 0))
    statistics = {} if is_training else {"running_mean": 3, "running_var": 4}
    given = _given(graph, node, gamma=1, beta=2, **statistics)
    norm = batch_norm(_channels(graph, node.input[0], 1, *node.input[1:2]), _eps(node), training=is_training)
    return Fused(norm, given)


def _instance(graph: Graph, node: Any) -> Fused:
    given = _given(graph, node, gamma=1, beta=2)
    has_affine = not _is_neutral(graph, given)
    norm = instance_norm(_channels(graph, node.input[0], 1, *node.input[1:2]), _eps(node), has_affine)
    return Fused(norm, given if has_affine else {})


def _group(graph: Graph, node: Any) -> Fused:
    settings = attributes(node)
    given = _given(graph, node, gamma=1, beta=2)
    groups = settings.get("num_groups", settings.get("groups"))
    if not groups:
        raise Unreadable("a GroupNormalization without groups")
    last = node.domain == "com.microsoft" and settings.get("channels_last", 1)
    scale = _sizes(graph.shape(node.input[1])) if len(node.input) > 1 else None
    channels = _channels(graph, node.input[0], -1 if last else 1)
    by_group = node.domain != "com.microsoft" and graph.opset < 21 and scale == [groups] and channels != groups
    if channels is None and not by_group and scale:
        channels = scale[0]
    norm = group_norm(groups, channels, _eps(node))
    if by_group:
        norm = replace(norm, affine="g")
    if last:
        norm = replace(norm, pattern="N [H W] (g [c])")
    is_followed = bool(settings.get("activation"))
    evidence = ["SiLU follows inside the operator"] if is_followed else []
    evidence += ["gamma and beta are one a group, as in opset 18; PyTorch has one a channel"] if by_group else []
    return Fused(norm, given, evidence=tuple(evidence), alone=not is_followed)


def _mean_variance(graph: Graph, node: Any) -> Fused:
    """MeanVarianceNormalization: one-pass by its definition, 1e-9 beside the deviation."""
    shape = graph.shape(node.input[0])
    rank = len(shape) if shape is not None else 4
    over = places(attributes(node).get("axes", [0, 2, 3]), rank)
    letters = ("N", "C", "H", "W") if rank == 4 else tuple(f"a{at}" for at in range(rank))
    words = (f"[{letter}]" if at in over else letter for at, letter in enumerate(letters))
    return Fused(Norm(" ".join(words), None, "1e-9"), {}, faults=("outside", "one-pass"), alone=False)


OPERATORS: Mapping[str, Callable[[Graph, Any], Fused]] = {
    "LayerNormalization": _trailing(True, 2),
    "RMSNormalization": _trailing(False, 0),
    "SimplifiedLayerNormalization": _trailing(False, 0),
    "SkipLayerNormalization": _skip(True, 2, 3, 4),
    "SkipSimplifiedLayerNormalization": _skip(False, 2, 0, 3),
    "EmbedLayerNormalization": _embedded,
    "BatchNormalization": _batch,
    "InstanceNormalization": _instance,
    "GroupNormalization": _group,
    "GroupNorm": _group,
    "MeanVarianceNormalization": _mean_variance,
}


def _inside(center: bool, first: Callable[[Any, int], int]) -> Rule:
    """The steps of a fused norm, for a region that goes on behind it."""

    def rule(reading: Reading, node: Any) -> Sequence[Meant]:
        x = reading.meant(node.input[0])
        if not isinstance(x, Tensor):
            raise Unreadable("a norm of numbers")
        rank = len(x.dims)
        at = tuple(range(first(node, rank), rank))
        centered = reading.let("sub", x, reduced(reading, x, "mean", at, True)) if center else x
        var = reduced(reading, reading.let("mul", centered, centered), "mean", at, True)
        v = reading.let("add", var, _number(float(attributes(node).get("epsilon", 1e-5))))
        made = reading.let("mul", centered, reading.let("rsqrt", v))
        given = _given(reading.graph, node, gamma=1, beta=2)
        if _is_neutral(reading.graph, given):
            return [made]
        for role, op in (("gamma", "mul"), ("beta", "add")):
            if role in given:
                made = reading.let(op, made, _along(reading, node, given[role], rank))
        return [made]

    return rule


def _along(reading: Reading, node: Any, name: str, rank: int) -> Tensor:
    """A parameter with its dimensions where the operator puts them: behind, or at the channels."""
    value = reading.meant(name)
    if not isinstance(value, Tensor):
        raise Unreadable("a parameter of one cell")
    if node.op_type == "InstanceNormalization":
        return replace(value, dims=(*value.dims, *(((),) * (rank - 2))))
    return value


def _number(value: float) -> Known:
    import numpy as np

    return Known(np.array(value), False)


def _from_axis(node: Any, rank: int) -> int:
    return places([attributes(node).get("axis", -1)], rank)[0]


INSIDE: Mapping[str, Rule] = {
    "InstanceNormalization": _inside(True, lambda node, rank: 2),
    "LayerNormalization": _inside(True, _from_axis),
    "RMSNormalization": _inside(False, _from_axis),
    "SimplifiedLayerNormalization": _inside(False, _from_axis),
}
RULES_WITH_FUSED: Mapping[str, Rule] = {**RULES, **INSIDE}
