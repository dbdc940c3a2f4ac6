"""The reading in other precisions: the same program, each step's result rounded as a policy says.

Plain cells are Python floats, arrays NumPy's float32, or float64 where a value is kept so: both hold the
numbers of every narrower format exactly. An op on them is rounded once by float64 (or by float32 itself) and
again by the format; for +, -, *, / and the root of float32 that is the same as rounding once (Figueroa 1995,
https://doi.org/10.1145/221332.221334). A sum that reads a product kept in float64, a fused multiply-add, is
rounded to odd before float32, which is the same too.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import neg
from typing import Any

from ..axes import Axes
from ..errors import DtypeError
from ..program import OPS, Program, Step
from ..run import Rules, run
from . import arrays, cells
from .cells import Cells, Numbers
from .formats import FLOAT64, FORMATS, Format, odd_sum, odd_sum_array, round_array
from .policies import ONCE, Policy


def evaluate(
    program: Program, sizes: Mapping[str, int], given: Mapping[str, Any], policy: Policy, over: Axes
) -> dict[str, Any]:
    """Every input and every step of a program that reduces `over`, rounded: Cells, or arrays where x is one.

    >>> from ..norm import Norm
    >>> from .policies import find
    >>> norm, policy = Norm("S [d]", eps=0), find("steps-fp16")
    >>> values = evaluate(policy.program(norm), {"S": 1, "d": 2}, {"x": [[0.1, 0.2]], "eps": 0}, policy, norm.over)
    >>> values["mu"].nested(), values["xhat"].nested()
    ([[0.14990234375]], [[-0.99853515625, 1.0009765625]])

    Raises DtypeError for an array that is not NumPy's.
    """
    kept = policy.formats(program, over)
    if not arrays.is_array(given["x"]):
        return run(program, rules(program, sizes, policy, kept), inputs(program, sizes, given, policy, kept))
    import numpy as np

    if not isinstance(given["x"], np.ndarray):
        raise DtypeError(
            f"x is of type {type(given['x']).__name__}; a policy rounds NumPy arrays: give numpy.asarray(x)."
        )
    with np.errstate(all="ignore"):
        ready = array_inputs(program, sizes, given, policy, kept)
        return run(program, array_rules(program, sizes, policy, kept), ready)


def computed(policy: Policy, kept: Format) -> Format:
    """The format in which a step is computed that is kept in `kept`."""
    return FLOAT64 if kept is FLOAT64 else FORMATS[policy.compute]


def saturates(policy: Policy, kept: Format) -> bool:
    """Whether what lies beyond the format's largest number becomes that number."""
    return policy.saturate and not kept.infinite


def rules(program: Program, sizes: Mapping[str, int], policy: Policy, kept: Mapping[str, Format]) -> Rules:
    """One rule for every op over Cells: that of plain cells, its numbers rounded."""
    tables = {name: cells.rules(program, sizes, numbers(FORMATS[name], policy)) for name in ("float32", "float64")}

    def fused(step: Step, *args: Any) -> Cells:
        wide = program.shape(step.axes, sizes)
        a, b = (cells.spread(arg, wide, cells.FLOATS) for arg in args)
        return Cells(wide, list(map(odd_sum, a, b if step.op == "add" else map(neg, b))))

    def rule(step: Step, *args: Any) -> Cells:
        to = kept[step.name]
        first = computed(policy, to)
        made = (fused if _is_fused(step, first, kept) else tables[first.name][step.op])(step, *args)
        flat = first.round_all(made.flat)
        return Cells(made.shape, flat if to is first else _round_all(flat, to, policy))

    return dict.fromkeys(OPS, rule)


def _is_fused(step: Step, first: Format, kept: Mapping[str, Format]) -> bool:
    """Whether a step adds what is kept in float64, and is itself computed in less."""
    reads_wide = any(isinstance(arg, str) and kept[arg] is FLOAT64 for arg in step.args)
    return first is not FLOAT64 and step.op in ("add", "sub") and reads_wide


def numbers(first: Format, policy: Policy) -> Numbers:
    """Floats whose roots and sums are rounded to `first` on the way to a reciprocal and a mean."""
    if first is FLOAT64 and policy.sums == ONCE:
        return cells.FLOATS

    def total(values: Sequence[float]) -> float:
        if policy.sums == ONCE:
            return first.round(cells.float_sum(values))
        running = 0.0
        for value in values:
            running = _round(first.round(running + value), FORMATS[policy.sums], policy)
        return running

    def mean(values: Sequence[float], count: int) -> float:
        return cells.float_divide(total(values), count)

    def sqrt(value: float) -> float:
        return first.round(cells.float_sqrt(value))

    return Numbers(float, total, mean, sqrt, cells.float_recip)


def inputs(
    program: Program, sizes: Mapping[str, int], given: Mapping[str, Any], policy: Policy, kept: Mapping[str, Format]
) -> dict[str, Cells]:
    """Each input as Cells in the format that it is kept in."""
    made = cells.inputs(program, sizes, given)
    return {name: Cells(value.shape, _round_all(value.flat, kept[name], policy)) for name, value in made.items()}


def _round(value: float, to: Format, policy: Policy) -> float:
    return to.round(value, saturate=saturates(policy, to))


def _round_all(values: list[float], to: Format, policy: Policy) -> list[float]:
    return to.round_all(values, saturate=saturates(policy, to))


def array_rules(program: Program, sizes: Mapping[str, int], policy: Policy, kept: Mapping[str, Format]) -> Rules:
    """One rule for every op over NumPy arrays: that of arrays, in the format computed in, and rounded.

    A sum "once" is NumPy's in float64, pairwise; that of cells is correctly rounded.
    """
    import numpy as np

    plain = arrays.rules(program, sizes, np)
    tables = {name: {**plain, **_rounding(program, sizes, FORMATS[name], policy)} for name in ("float32", "float64")}
    if policy.sums == ONCE:
        tables["float64"] = dict(plain)

    def rule(step: Step, *args: Any) -> Any:
        to = kept[step.name]
        first = computed(policy, to)
        if _is_fused(step, first, kept):
            a, b = (np.asarray(arg, np.float64) for arg in args)
            made = odd_sum_array(a, b if step.op == "add" else -b)
        else:
            made = tables[first.name][step.op](step, *(_ready(arg, first) for arg in args))
        return _round_array(made.astype(first.name, copy=False), to, policy)

    return dict.fromkeys(OPS, rule)


def _rounding(
    program: Program, sizes: Mapping[str, int], first: Format, policy: Policy
) -> dict[str, Callable[..., Any]]:
    """The rules of the ops that round to `first` on the way to their result."""
    import numpy as np

    def total(step: Step, a: Any) -> Any:
        at = tuple(map(program.axes.index, step.over))
        a = arrays.widened(program, sizes, step, a, np)
        if policy.sums == ONCE:
            return np.sum(a, axis=at, keepdims=True, dtype=np.float64).astype(first.name)
        return _running(a, at, lambda sums: _round_array(sums.astype(first.name), FORMATS[policy.sums], policy))

    def mean(step: Step, a: Any) -> Any:
        return arrays.divided(step, sizes, total(step, a))

    def rsqrt(step: Step, a: Any) -> Any:
        return 1.0 / np.sqrt(a).astype(first.name, copy=False)

    return {"sum": total, "mean": mean, "rsqrt": rsqrt}


def _ready(arg: Any, first: Format) -> Any:
    """An argument of a step: in float64 where the step is computed so, else as it is held."""
    if first is FLOAT64 and arrays.is_array(arg):
        return arg.astype(first.name, copy=False)
    return arg


def _running(a: Any, at: tuple[int, ...], keep: Callable[[Any], Any]) -> Any:
    """The sums over the axes `at`, one cell after the other, each sum kept."""
    import numpy as np

    rest = tuple(axis for axis in range(a.ndim) if axis not in at)
    columns = a.transpose(*at, *rest).reshape(-1, *(a.shape[axis] for axis in rest))
    running = np.zeros(columns.shape[1:], a.dtype)
    for column in columns:
        running = keep(running + column)
    return running.reshape([1 if axis in at else size for axis, size in enumerate(a.shape)])


def array_inputs(
    program: Program, sizes: Mapping[str, int], given: Mapping[str, Any], policy: Policy, kept: Mapping[str, Format]
) -> dict[str, Any]:
    """Each input as an array in the format that it is kept in; a single number as a float."""
    import numpy as np

    made: dict[str, Any] = {}
    for name, axes in program.inputs:
        value, to = given[name], kept[name]
        if not axes and not arrays.is_array(value):
            made[name] = to.round(float(value))
            continue
        if arrays.is_array(value):
            value = arrays.working(value, name)[0]
        else:
            value = np.array([cells.number(cell, name) for cell in cells.flatten(value)])
        made[name] = _round_array(value, to, policy).reshape(program.shape(axes, sizes))
    return made


def _round_array(values: Any, to: Format, policy: Policy) -> Any:
    return round_array(values, to, saturate=saturates(policy, to))
