"""The reading over arrays: NumPy and whatever else follows the Array API standard.

Every value is an array of the program's full rank; an axis that it lacks has size 1. The rules use nothing
but the standard (https://data-apis.org/array-api), so no library is imported here.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import prod
from typing import Any

from ..errors import DtypeError
from ..program import Program, Step
from ..run import Rules
from .cells import flatten, number

NARROW = ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
WORKING = ("float32", "float64", "float96", "float128", "longdouble")


def rules(program: Program, sizes: Mapping[str, int], xp: Any) -> Rules:
    """One rule per op over arrays of the namespace `xp`."""

    def each(function: Callable[..., Any]) -> Callable[..., Any]:
        def rule(step: Step, *args: Any) -> Any:
            return function(*(float(arg) if isinstance(arg, Fraction) else arg for arg in args))

        return rule

    def at(step: Step) -> tuple[int, ...]:
        return tuple(map(program.axes.index, step.over))

    def trailing(step: Step) -> bool:
        return program.axes[-len(step.over) :] == step.over

    def total(step: Step, a: Any) -> Any:
        # NumPy adds pairwise along the last axes alone: along others a million float32 are off by 1e-4.
        wide = xp.float64 if a.dtype == xp.float32 and not trailing(step) else a.dtype
        return xp.astype(xp.sum(a, axis=at(step), keepdims=True, dtype=wide), a.dtype, copy=False)

    def mean(step: Step, a: Any) -> Any:
        if not step.less and trailing(step):
            return xp.mean(a, axis=at(step), keepdims=True)
        count = prod(sizes[axis] for axis in step.over) - step.less
        return total(step, a) / float(count) if count else total(step, a) * float("inf")

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
        "max": lambda step, a: xp.max(a, axis=at(step), keepdims=True),
    }


def is_array(x: Any) -> bool:
    """Whether x follows the Array API standard (NumPy from 2.0, JAX, CuPy, array-api-strict ...)."""
    return hasattr(x, "__array_namespace__")


def working(x: Any, name: str = "x") -> tuple[Any, str]:
    """x in the dtype that is computed in, and what must be said about it.

    float32 and float64 stay. Integers become float64; narrower floats float32, as PyTorch's kernels do.
    Raises DtypeError for anything else.
    """
    xp = x.__array_namespace__()
    dtype = _dtype_name(x)
    if dtype in NARROW:
        return xp.astype(x, xp.float32), f"{name} is {dtype}; computed in float32."
    if dtype.startswith(("int", "uint")):
        return xp.astype(x, xp.float64), f"{name} is {dtype}; computed in float64."
    if dtype in WORKING:
        return xp.astype(x, getattr(xp, dtype, x.dtype), copy=False), ""  # a copy only for another byte order
    raise DtypeError(f"{name} has dtype {dtype}; give it as real numbers, for example {name}.astype('float64').")


def _dtype_name(x: Any) -> str:
    """float32 for numpy.float32, array_api_strict.float32 and big-endian >f4 alike."""
    return str(getattr(x.dtype, "name", x.dtype)).rpartition(".")[2]


def machine_eps(x: Any) -> float:
    """finfo(dtype of x).eps: what PyTorch's RMSNorm adds when eps is None; float64's for integers.

    https://docs.pytorch.org/docs/stable/generated/torch.nn.RMSNorm.html
    """
    xp = x.__array_namespace__()
    dtype = _dtype_name(x)
    if dtype in NARROW and dtype != "float16":
        return {"bfloat16": 2.0**-7, "float8_e4m3fn": 2.0**-3, "float8_e5m2": 2.0**-2}[dtype]
    return float(xp.finfo(x.dtype if "float" in dtype or "double" in dtype else xp.float64).eps)


def inputs(program: Program, sizes: Mapping[str, int], given: Mapping[str, Any], x: Any) -> dict[str, Any]:
    """Each input of the program as an array like x, in full rank; numbers stay numbers."""
    xp = x.__array_namespace__()
    made = {}
    for name, axes in program.inputs:
        if not axes and not is_array(given[name]):
            made[name] = float(given[name])
            continue
        shape = tuple(sizes[axis] if axis in axes else 1 for axis in program.axes)
        made[name] = xp.reshape(_like(given[name], x, name), shape)
    return made


def _like(value: Any, x: Any, name: str) -> Any:
    xp = x.__array_namespace__()
    if not is_array(value):
        return xp.asarray([number(cell, name) for cell in flatten(value, name)], dtype=x.dtype)
    return xp.astype(working(value, name)[0], x.dtype)
