"""The reading over arrays: NumPy and whatever else follows the Array API standard.

Every value is an array of the program's full rank; an axis that it lacks has size 1. The rules use nothing
but the standard (https://data-apis.org/array-api), so no library is imported here.

The limit: a sum is added in the working dtype (float32 in float64 where that loses digits), so a mean whose
sum overflows is infinite; plain cells give the mean.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import prod
from typing import Any

from ..errors import DtypeError
from ..program import Program, Step
from ..run import Rules
from .cells import flatten, number
from .formats import NARROW

WORKING = ("float32", "float64", "float96", "float128", "longdouble")
FOREIGN = {"matrix": "numpy.asarray({})", "MaskedArray": "{}.filled(0)"}  # arrays whose ops are not an array's


def rules(program: Program, sizes: Mapping[str, int], xp: Any) -> Rules:
    """One rule per op over arrays of the namespace `xp`."""

    def each(function: Callable[..., Any]) -> Callable[..., Any]:
        def rule(step: Step, *args: Any) -> Any:
            return function(*(float(arg) if isinstance(arg, Fraction) else arg for arg in args))

        return rule

    def at(step: Step) -> tuple[int, ...]:
        return tuple(map(program.axes.index, step.over))

    def pairwise(step: Step, a: Any) -> bool:
        return program.axes[-len(step.over) :] == step.over and _in_order(a)

    def total(step: Step, a: Any) -> Any:
        if not step.over:  # where a sum over () is one over everything
            return a
        a = widened(program, sizes, step, a, xp)
        # NumPy adds pairwise along the last axes in memory alone: else a million float32 are off by 1e-4.
        wide = xp.float64 if a.dtype == xp.float32 and not pairwise(step, a) else a.dtype
        return xp.astype(xp.sum(a, axis=at(step), keepdims=True, dtype=wide), a.dtype, copy=False)

    def mean(step: Step, a: Any) -> Any:
        if not (step.less or step.per) and pairwise(step, a):
            return xp.mean(widened(program, sizes, step, a, xp), axis=at(step), keepdims=True)
        return divided(step, sizes, total(step, a))

    return {
        "add": each(lambda a, b: a + b),
        "sub": each(lambda a, b: a - b),
        "mul": each(lambda a, b: a * b),
        "maximum": each(xp.maximum),
        "abs": each(xp.abs),
        "sqrt": each(xp.sqrt),
        "recip": each(lambda a: 1.0 / a),
        "rsqrt": each(lambda a: 1.0 / xp.sqrt(a)),
        "sum": total,
        "mean": mean,
        "max": lambda step, a: xp.max(widened(program, sizes, step, a, xp), axis=at(step), keepdims=True),
    }


def widened(program: Program, sizes: Mapping[str, int], step: Step, a: Any, xp: Any) -> Any:
    """The argument of a reduction, broadcast along what it lacks of the axes reduced."""
    wide = program.shape(step.axes + step.over, sizes)
    return a if a.shape == wide else xp.broadcast_to(a, wide)


def divided(step: Step, sizes: Mapping[str, int], total: Any) -> Any:
    """A mean from its sum."""
    count = prod(sizes[axis] for axis in step.counted) - step.less
    return total / float(count) if count else total * float("inf")


def _in_order(a: Any) -> bool:
    """Whether the last axis is the last in memory too; the standard does not tell, NumPy and CuPy do."""
    return bool(getattr(getattr(a, "flags", None), "c_contiguous", True))


def is_array(x: Any) -> bool:
    """Whether x follows the Array API standard (NumPy from 2.0, JAX, CuPy, array-api-strict ...)."""
    return hasattr(x, "__array_namespace__")


def working(x: Any, name: str = "x") -> tuple[Any, str]:
    """x in the dtype that is computed in, and what must be said about it.

    float32 and float64 stay. Integers become float64; narrower floats float32, as in PyTorch's kernels.
    Raises DtypeError for anything else.
    """
    dtype, note = _working_dtype(x, name)
    return x.__array_namespace__().astype(x, dtype, copy=False), note  # a copy too for another byte order


def machine_eps(x: Any) -> float:
    """finfo(dtype computed in).eps: what PyTorch's RMSNorm adds when eps is None.

    PyTorch's documentation says the eps of x's own dtype, but PyTorch 2.13 adds float32's to float16 and
    bfloat16, in which it does not compute; see `rms_norm`.
    """
    return float(x.__array_namespace__().finfo(_working_dtype(x, "x")[0]).eps)


def _working_dtype(x: Any, name: str) -> tuple[Any, str]:
    xp = x.__array_namespace__()
    for kind in type(x).__mro__:
        if kind.__name__ in FOREIGN:
            raise DtypeError(f"{name} is a {kind.__name__}; give an array: {FOREIGN[kind.__name__].format(name)}.")
    dtype = str(getattr(x.dtype, "name", x.dtype)).rpartition(".")[2]  # array_api_strict.float32, big-endian >f4
    if dtype in NARROW:
        return xp.float32, f"{name} is {dtype}; computed in float32."
    if dtype.startswith(("int", "uint")):
        return xp.float64, f"{name} is {dtype}; computed in float64."
    if dtype in WORKING:
        return getattr(xp, dtype, x.dtype), ""
    raise DtypeError(f"{name} has dtype {dtype}; give it as real numbers, for example {name}.astype('float64').")


def inputs(program: Program, sizes: Mapping[str, int], given: Mapping[str, Any], x: Any) -> dict[str, Any]:
    """Each input of the program as an array like x, in full rank; numbers stay numbers."""
    xp = x.__array_namespace__()
    made = {}
    for name, axes in program.inputs:
        if not axes and not is_array(given[name]):
            made[name] = float(given[name])
            continue
        made[name] = xp.reshape(_like(given[name], x, name), program.shape(axes, sizes))
    return made


def _like(value: Any, x: Any, name: str) -> Any:
    xp = x.__array_namespace__()
    if not is_array(value):
        return xp.asarray([number(cell, name) for cell in flatten(value, name)], dtype=x.dtype)
    return xp.astype(working(value, name)[0], x.dtype)
