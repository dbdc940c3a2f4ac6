"""What each ONNX operator means: one rule an operator, for numbers that are known and for values of the program.

https://onnx.ai/onnx/operators. An operator without a rule ends a region.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .inputs import attributes, inputs, known, places, rounded, tensor, whole_numbers
from .meaning import Known, Meant, Reading, Rule, Tensor
from .regions import Dims, Unreadable
from .shaping import SHAPING

BEYOND = 3e38  # a bound as wide as float32 bounds nothing


def _elementwise(op: str) -> Rule:
    def rule(reading: Reading, node: Any) -> Sequence[Meant]:
        args = inputs(reading, node)
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
            return Known(rounded(OF_NUMBERS[op](a.cells, b.cells), whole), whole)
    if op == "div":
        inverse = _inverse(b) if isinstance(b, Known) else reading.let("recip", b)
        return inverse if _is_one(a) else reading.let("mul", a, inverse)
    if op in ("min", "pow"):
        raise Unreadable(op)
    return reading.let(op, a, b)


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
    base, exponent = inputs(reading, node)
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

        (value,) = inputs(reading, node)
        if isinstance(value, Known):
            with np.errstate(all="ignore"):
                return [Known(rounded(of_number(value.cells), value.whole), value.whole)]
        return [reading.let(op, value)]

    return rule


def _negated(reading: Reading, node: Any) -> Sequence[Meant]:
    import numpy as np

    (value,) = inputs(reading, node)
    return [_pair(reading, "mul", value, Known(np.array(-1.0), isinstance(value, Known) and value.whole))]


def _clip(reading: Reading, node: Any) -> Sequence[Meant]:
    given = attributes(node)
    bounds = [known(reading, node, at) for at in (1, 2)]
    least, most = (
        given.get(name) if bound is None else float(bound.cells.flat[0])
        for name, bound in zip(("min", "max"), bounds, strict=True)
    )
    if most is not None and not most > BEYOND:
        raise Unreadable("an upper bound")
    value = reading.meant(node.input[0])
    return [value if least is None or least < -BEYOND else _pair(reading, "maximum", value, _scalar(least))]


def _relu(reading: Reading, node: Any) -> Sequence[Meant]:
    return [_pair(reading, "maximum", reading.meant(node.input[0]), _scalar(0))]


def _where(reading: Reading, node: Any) -> Sequence[Meant]:
    """`Where(a > b, a, b)` is the larger of the two."""
    at = reading.graph.maker[node.input[0]]
    test = reading.graph.nodes[at]
    if test.op_type not in LARGER_FIRST:
        raise Unreadable("a choice that is no comparison")
    larger, smaller = inputs(reading, test)[:: LARGER_FIRST[test.op_type]]
    chosen, other = (reading.meant(name) for name in node.input[1:])
    if not (_is_same(larger, chosen) and _is_same(smaller, other)):
        raise Unreadable("a choice of something else than what is compared")
    reading.note(at, test)
    return [_pair(reading, "maximum", chosen, other)]


LARGER_FIRST = {"Greater": 1, "GreaterOrEqual": 1, "Less": -1, "LessOrEqual": -1}


def _is_same(a: Meant, b: Meant) -> bool:
    if isinstance(a, Known) and isinstance(b, Known):
        return bool((a.cells == b.cells).all())
    return a == b


def _scalar(value: float) -> Known:
    import numpy as np

    return Known(np.array(float(value)), False)


def _reduced_dims(reading: Reading, node: Any, rank: int) -> tuple[int, ...]:
    given = attributes(node)
    axes = given.get("axes")
    if (told := known(reading, node, 1)) is not None:
        axes = whole_numbers(told)
    if not axes:
        return () if given.get("noop_with_empty_axes") else tuple(range(rank))
    return tuple(sorted(places(axes, rank)))


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
    functions: dict[str, Any] = {"sum": np.sum, "mean": np.mean, "prod": np.prod, "max": np.max, "min": np.min}
    function = functions[op]
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
    value = tensor(reading, node.input[0])
    return [reduced(reading, value, "mean", tuple(range(2, len(value.dims))), True)]


ELEMENTWISE: Mapping[str, Rule] = {
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
    "Relu": _relu,
    "Where": _where,
}
MEANS: Mapping[str, Rule] = {"ReduceMean": _reduction("mean"), "GlobalAveragePool": _global_mean}
RULES: Mapping[str, Rule] = {
    **ELEMENTWISE,
    **MEANS,
    "ReduceSum": _reduction("sum"),
    "ReduceProd": _reduction("prod"),
    "ReduceMax": _reduction("max"),
    "ReduceMin": _reduction("min"),
    "ReduceSumSquare": _reduction("sum", before="square"),
    "ReduceL2": _reduction("sum", before="square", after="sqrt"),
    **SHAPING,
}
