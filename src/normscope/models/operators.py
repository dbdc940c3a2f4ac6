"""What each ONNX operator means: one rule an operator, for numbers that are known and for values of the program.

https://onnx.ai/onnx/operators. An operator without a rule ends a region.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from ..axes import Axes
from .meaning import Known, Meant, Reading, Rule, Tensor
from .regions import Dims, Unreadable

BEYOND = 3e38  # a bound as wide as float32 bounds nothing


def attributes(node: Any) -> dict[str, Any]:
    """The attributes of a node by name."""
    from onnx import helper

    return {each.name: helper.get_attribute_value(each) for each in node.attribute if each.type not in (5, 10)}


def _inputs(reading: Reading, node: Any) -> list[Meant]:
    return [reading.meant(name) for name in node.input if name]


def _known(reading: Reading, node: Any, at: int) -> Known | None:
    """An input that must be known where it is given at all."""
    if at >= len(node.input) or not node.input[at]:
        return None
    value = reading.meant(node.input[at])
    if not isinstance(value, Known):
        raise Unreadable(f"{node.input[at]} is not known")
    return value


def _whole_numbers(known: Known) -> list[int]:
    cells = known.cells.ravel()
    if (cells != cells).any():
        raise Unreadable("a number that is not known")
    return [int(cell) for cell in cells]


def _elementwise(op: str) -> Rule:
    def rule(reading: Reading, node: Any) -> Sequence[Meant]:
        args = _inputs(reading, node)
        made = args[0]
        for arg in args[1:]:
            made = _pair(reading, op, made, arg)
        return [made]

    return rule


def _pair(reading: Reading, op: str, a: Meant, b: Meant) -> Meant:
    import numpy as np

    if isinstance(a, Known) and isinstance(b, Known):
        whole = a.whole and b.whole
        with np.errstate(all="ignore"):
            return Known(_round(OF_NUMBERS[op](a.cells, b.cells), whole), whole)
    if op == "div":
        inverse = _inverse(b) if isinstance(b, Known) else reading.let("recip", b)
        return inverse if _is_one(a) else reading.let("mul", a, inverse)
    if op in ("min", "pow"):
        raise Unreadable(op)
    return reading.let(op, a, b)


def _round(cells: Any, whole: bool) -> Any:
    import numpy as np

    return np.trunc(cells) if whole else cells


def _inverse(known: Known) -> Known:
    import numpy as np

    with np.errstate(all="ignore"):
        return Known(1.0 / known.cells, False)


def _is_one(value: Meant) -> bool:
    return isinstance(value, Known) and value.cells.size == 1 and value.cells.flat[0] == 1


def _power(base: Any, exponent: Any) -> Any:
    return base**exponent


def _larger(a: Any, b: Any) -> Any:
    import numpy as np

    return np.maximum(a, b)


def _smaller(a: Any, b: Any) -> Any:
    import numpy as np

    return np.minimum(a, b)


OF_NUMBERS: Mapping[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "maximum": _larger,
    "min": _smaller,
    "pow": _power,
}


def _pow(reading: Reading, node: Any) -> Sequence[Meant]:
    base, exponent = _inputs(reading, node)
    if isinstance(base, Known):
        return [_pair(reading, "pow", base, exponent)]
    if not isinstance(exponent, Known) or exponent.cells.size != 1:
        raise Unreadable("a power that is not known")
    power = float(exponent.cells.flat[0])
    if power in ROOTS:
        return [reading.let(ROOTS[power], base)]
    if power not in (1, 2, 3, 4):
        raise Unreadable(f"the power {power}")
    made: Tensor = base
    for _ in range(int(power) - 1):
        made = reading.let("mul", made, base)
    return [made]


ROOTS = {0.5: "sqrt", -0.5: "rsqrt", -1.0: "recip"}


def _single(op: str, of_number: Callable[[Any], Any]) -> Rule:
    def rule(reading: Reading, node: Any) -> Sequence[Meant]:
        import numpy as np

        (value,) = _inputs(reading, node)
        if isinstance(value, Known):
            with np.errstate(all="ignore"):
                return [Known(_round(of_number(value.cells), value.whole), value.whole)]
        return [reading.let(op, value)]

    return rule


def _negated(reading: Reading, node: Any) -> Sequence[Meant]:
    import numpy as np

    (value,) = _inputs(reading, node)
    return [_pair(reading, "mul", value, Known(np.array(-1.0), isinstance(value, Known) and value.whole))]


def _clip(reading: Reading, node: Any) -> Sequence[Meant]:
    given = attributes(node)
    bounds = [_known(reading, node, at) for at in (1, 2)]
    least, most = (
        given.get(name) if bound is None else float(bound.cells.flat[0])
        for name, bound in zip(("min", "max"), bounds, strict=True)
    )
    if most is not None and not most > BEYOND:
        raise Unreadable("an upper bound")
    value = reading.meant(node.input[0])
    return [value if least is None or least < -BEYOND else _pair(reading, "maximum", value, _scalar(least))]


def _scalar(value: float) -> Known:
    import numpy as np

    return Known(np.array(float(value)), False)


def _reduced_dims(reading: Reading, node: Any, rank: int) -> tuple[int, ...]:
    given = attributes(node)
    axes = given.get("axes")
    if (known := _known(reading, node, 1)) is not None:
        axes = _whole_numbers(known)
    if not axes:
        return () if given.get("noop_with_empty_axes") else tuple(range(rank))
    return tuple(sorted(axis % rank for axis in axes))


def _reduction(op: str, before: str = "", after: str = "") -> Rule:
    """A mean or a sum, of squares or absolutes where asked, and its root."""

    def rule(reading: Reading, node: Any) -> Sequence[Meant]:
        value = reading.meant(node.input[0])
        if isinstance(value, Known):
            return [_reduced_number(reading, node, value, op)]
        at = _reduced_dims(reading, node, len(value.dims))
        made: Tensor = reading.let("mul", value, value) if before == "square" else value
        made = reduced(reading, made, op, at, bool(attributes(node).get("keepdims", 1)))
        return [reading.let(after, made, dims=made.dims) if after else made]

    return rule


def _reduced_number(reading: Reading, node: Any, value: Known, op: str) -> Known:
    import numpy as np

    at = _reduced_dims(reading, node, value.cells.ndim)
    keep = bool(attributes(node).get("keepdims", 1))
    function = {"sum": np.sum, "mean": np.mean, "prod": np.prod, "max": np.max, "min": np.min}[op]
    return Known(function(value.cells, axis=at, keepdims=keep), value.whole and op != "mean")


def reduced(reading: Reading, value: Tensor, op: str, at: tuple[int, ...], keep: bool) -> Tensor:
    """A reduction of dimensions; those of size 1 need no step."""
    if op not in ("mean", "sum"):
        raise Unreadable(op)
    dims = tuple(map(reading.layout.axes, value.dims))
    over = tuple(axis for place in at for axis in dims[place])
    full: Dims = tuple(() if place in at else dim for place, dim in enumerate(dims))
    short: Dims = tuple(dim for place, dim in enumerate(dims) if place not in at)
    term = reading.let(op, value, over=over, dims=full).term if over else value.term
    return Tensor(term, full) if keep else Tensor(term, short, full)


def _global_mean(reading: Reading, node: Any) -> Sequence[Meant]:
    value = _tensor(reading, node.input[0])
    return [reduced(reading, value, "mean", tuple(range(2, len(value.dims))), True)]


def _tensor(reading: Reading, name: str) -> Tensor:
    value = reading.meant(name)
    if not isinstance(value, Tensor):
        raise Unreadable(f"{name} is a number")
    return value


def _same(reading: Reading, node: Any) -> Sequence[Meant]:
    return [reading.meant(node.input[0])]


def _cast(reading: Reading, node: Any) -> Sequence[Meant]:
    value = reading.meant(node.input[0])
    if not isinstance(value, Known):
        return [value]
    whole = attributes(node).get("to") in INTEGERS
    return [Known(_round(value.cells, whole), whole)]


INTEGERS = (2, 3, 4, 5, 6, 7, 12, 13)


def _reshape(reading: Reading, node: Any) -> Sequence[Meant]:
    value, shape = reading.meant(node.input[0]), _known(reading, node, 1)
    if shape is None:
        raise Unreadable("a reshape without a shape")
    if isinstance(value, Known):
        return [Known(value.cells.reshape(_whole_numbers(shape)), value.whole)]
    target: list[int | None] = []
    for at, size in enumerate(shape.cells.ravel()):
        if size == 0 and not attributes(node).get("allowzero"):
            target.append(reading.layout.size(value.dims[at]))
        else:
            target.append(int(size) if size > 0 else None)
    return [Tensor(value.term, reading.layout.reshaped(value.dims, target))]


def _flatten(reading: Reading, node: Any) -> Sequence[Meant]:
    value = _tensor(reading, node.input[0])
    at = attributes(node).get("axis", 1) % (len(value.dims) or 1) if attributes(node).get("axis", 1) < 0 else None
    at = attributes(node).get("axis", 1) if at is None else at
    halves = value.dims[:at], value.dims[at:]
    return [Tensor(value.term, tuple(tuple(axis for dim in half for axis in dim) for half in halves))]


def _axes_given(reading: Reading, node: Any) -> list[int] | None:
    known = _known(reading, node, 1)
    return attributes(node).get("axes") if known is None else _whole_numbers(known)


def _squeeze(reading: Reading, node: Any) -> Sequence[Meant]:
    value, axes = reading.meant(node.input[0]), _axes_given(reading, node)
    if isinstance(value, Known):
        import numpy as np

        return [Known(np.squeeze(value.cells, None if axes is None else tuple(axes)), value.whole)]
    sizes = [reading.layout.size(dim) for dim in value.dims]
    at = [place for place, size in enumerate(sizes) if size == 1] if axes is None else [a % len(sizes) for a in axes]
    if any(sizes[place] != 1 for place in at):
        raise Unreadable("a squeeze of more than one cell")
    return [Tensor(value.term, tuple(dim for place, dim in enumerate(value.dims) if place not in at))]


def _unsqueeze(reading: Reading, node: Any) -> Sequence[Meant]:
    value, axes = reading.meant(node.input[0]), _axes_given(reading, node)
    if axes is None:
        raise Unreadable("an unsqueeze without axes")
    if isinstance(value, Known):
        import numpy as np

        return [Known(np.expand_dims(value.cells, tuple(axes)), value.whole)]
    dims: list[Axes] = list(value.dims)
    rank = len(dims) + len(axes)
    for place in sorted(axis % rank for axis in axes):
        dims.insert(place, ())
    return [Tensor(value.term, tuple(dims))]


def _transpose(reading: Reading, node: Any) -> Sequence[Meant]:
    value = _tensor(reading, node.input[0])
    order = attributes(node).get("perm") or range(len(value.dims))[::-1]
    return [Tensor(value.term, tuple(value.dims[at] for at in order))]


def _expand(reading: Reading, node: Any) -> Sequence[Meant]:
    value, shape = _tensor(reading, node.input[0]), _known(reading, node, 1)
    if shape is None:
        raise Unreadable("an expand without a shape")
    sizes = list(shape.cells.ravel())
    dims = ((),) * (len(sizes) - len(value.dims)) + value.dims
    sizes = [1.0] * (len(dims) - len(sizes)) + sizes
    is_stretched = (reading.layout.size(dim) == 1 and size > 1 for dim, size in zip(dims, sizes, strict=True))
    made = (
        reading.layout.free(int(size)) if stretched else dim
        for dim, size, stretched in zip(dims, sizes, is_stretched, strict=True)
    )
    return [Tensor(value.term, tuple(made))]


def _slice(reading: Reading, node: Any) -> Sequence[Meant]:
    value = reading.meant(node.input[0])
    given = attributes(node)
    parts = [_known(reading, node, at) for at in range(1, 5)]
    starts, ends, axes, steps = (
        given.get(name) if part is None else _whole_numbers(part)
        for name, part in zip(("starts", "ends", "axes", "steps"), parts, strict=True)
    )
    if starts is None or ends is None:
        raise Unreadable("a slice without bounds")
    steps = steps or [1] * len(starts)
    if isinstance(value, Known):
        if value.cells.ndim != 1 or len(starts) != 1:
            raise Unreadable("a slice of no list")
        return [Known(value.cells[slice(starts[0], ends[0], steps[0])], value.whole)]
    sizes = [reading.layout.size(value.dims[at]) for at in axes or range(len(starts))]
    whole = (slice(*part).indices(size) == (0, size, 1) for *part, size in zip(starts, ends, steps, sizes, strict=True))
    if not all(whole):
        raise Unreadable("a part of a tensor")
    return [value]


def _gather(reading: Reading, node: Any) -> Sequence[Meant]:
    value, at = _known(reading, node, 0), _known(reading, node, 1)
    if value is None or at is None or value.cells.ndim != 1:
        raise Unreadable("a gather from no list")
    return [Known(value.cells[at.cells.astype(int)], value.whole)]


def _concat(reading: Reading, node: Any) -> Sequence[Meant]:
    import numpy as np

    parts = [_known(reading, node, at) for at in range(len(node.input))]
    cells = [part.cells for part in parts if part is not None]
    if any(each.ndim != 1 for each in cells):
        raise Unreadable("a concat of no lists")
    return [Known(np.concatenate(cells), all(part.whole for part in parts if part is not None))]


def _dims_of(reading: Reading, name: str) -> list[float]:
    """The sizes of a tensor's dimensions; nan for one that is open and no region's."""
    try:
        value = reading.meant(name)
    except Unreadable:
        shape = reading.graph.shape(name)
        if shape is None:
            raise
        return [float(dim) if isinstance(dim, int) else float("nan") for dim in shape]
    if isinstance(value, Known):
        return [float(size) for size in value.cells.shape]
    return [float(reading.layout.size(dim)) for dim in value.dims]


def _shape(reading: Reading, node: Any) -> Sequence[Meant]:
    import numpy as np

    given = attributes(node)
    sizes = _dims_of(reading, node.input[0])
    return [Known(np.array(sizes[given.get("start", 0) : given.get("end", len(sizes))]), True)]


def _count(reading: Reading, node: Any) -> Sequence[Meant]:
    import numpy as np

    return [Known(np.array(np.prod(_dims_of(reading, node.input[0]))), True)]


def _range(reading: Reading, node: Any) -> Sequence[Meant]:
    import numpy as np

    parts = [_known(reading, node, at) for at in range(3)]
    return [Known(np.arange(*(float(part.cells.flat[0]) for part in parts if part is not None)), True)]


def _filled(reading: Reading, node: Any) -> Sequence[Meant]:
    import numpy as np
    from onnx import numpy_helper

    shape = _known(reading, node, 0)
    value = attributes(node).get("value")
    cell = 0.0 if value is None else float(numpy_helper.to_array(value).flat[0])
    return [Known(np.full(_whole_numbers(shape) if shape else [], cell), value is not None and value.data_type == 7)]


RULES: Mapping[str, Rule] = {
    "Add": _elementwise("add"),
    "Sum": _elementwise("add"),
    "Sub": _elementwise("sub"),
    "Mul": _elementwise("mul"),
    "Div": _elementwise("div"),
    "Max": _elementwise("maximum"),
    "Min": _elementwise("min"),
    "Pow": _pow,
    "Neg": _negated,
    "Sqrt": _single("sqrt", lambda cells: cells**0.5),
    "Rsqrt": _single("rsqrt", lambda cells: cells**-0.5),
    "Reciprocal": _single("recip", lambda cells: 1.0 / cells),
    "Abs": _single("abs", abs),
    "Clip": _clip,
    "ReduceMean": _reduction("mean"),
    "ReduceSum": _reduction("sum"),
    "ReduceProd": _reduction("prod"),
    "ReduceMax": _reduction("max"),
    "ReduceMin": _reduction("min"),
    "ReduceSumSquare": _reduction("sum", before="square"),
    "ReduceL2": _reduction("sum", before="square", after="sqrt"),
    "GlobalAveragePool": _global_mean,
    "Cast": _cast,
    **dict.fromkeys(("CastLike", "Identity", "Dropout"), _same),
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Transpose": _transpose,
    "Expand": _expand,
    "Slice": _slice,
    "Gather": _gather,
    "Concat": _concat,
    "Shape": _shape,
    "Size": _count,
    "Range": _range,
    "ConstantOfShape": _filled,
}
__all__ = ["RULES", "attributes", "partial", "reduced"]
