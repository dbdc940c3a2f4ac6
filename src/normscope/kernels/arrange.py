"""Any layout and dtype, brought into the form that the kernels take; what no norm can take is refused by name.

The C code takes floats of this machine's byte order, cells of a row side by side, rows at one stride.
"""

from functools import lru_cache
from typing import Any, NamedTuple

from ..errors import DtypeError, NormError, ShapeError
from . import fallback
from .extension import NATIVE
from .extension import norm as native_norm

Array = Any
FLOATS = ("float32", "float64", "float16", "bfloat16")


class Arguments(NamedTuple):
    """A call of any of the norms, checked; every array is one of NumPy's."""

    x: Array
    residual: Array | None
    gamma: Array | None
    beta: Array | None
    eps: float
    out: Array | None
    sum_out: Array | None
    threads: int | None
    center: bool


def norm(*given: Any) -> Array:
    """y, by the C code or by NumPy, for the fields of Arguments."""
    return _computed(checked(*given))[0]


def added_norm(*given: Any) -> tuple[Array, Array]:
    """y and the sum."""
    _, residual, *_ = given
    if residual is None:
        raise NormError("residual is None; add_layer_norm and add_rms_norm add one: layer_norm and rms_norm do not")
    return _computed(checked(*given))


def checked(
    x: Any, residual: Any, gamma: Any, beta: Any, eps: Any, out: Any, sum_out: Any, threads: Any, center: bool
) -> Arguments:
    """The arguments as arrays, or an error that names what does not fit and how to mend it."""
    x = floats("x", x)
    if residual is not None:
        residual = like(x, "residual", floats("residual", residual))
    gamma, beta = (_parameter(x, name, value) for name, value in (("gamma", gamma), ("beta", beta)))
    for name, value in (("out", out), ("sum_out", sum_out)):
        _check_output(x, name, value)
    if out is not None and sum_out is not None and _overlap(out, sum_out):
        raise NormError("out and sum_out overlap; y and the sum need an array each")
    return Arguments(x, residual, gamma, beta, _eps(eps), out, sum_out, _threads(threads), center)


def format_of(values: Array) -> str:
    """The name of an array's dtype."""
    return _name_of(values.dtype)


@lru_cache
def _name_of(dtype: Any) -> str:
    """NumPy composes a name anew each time, which takes longer than a small norm."""
    return str(dtype.name)


def floats(name: str, values: Any) -> Array:
    """Values as an array of one of the float formats, with an axis at least."""
    import numpy as np

    if isinstance(values, np.ma.MaskedArray):
        raise DtypeError(f"{name} is a masked array; a norm has no masked cells: give {name}.filled(0)")
    array = np.asarray(values)
    if format_of(array) not in FLOATS:
        raise DtypeError(f"{name} has dtype {array.dtype}; the kernels take {', '.join(FLOATS)}: cast it first")
    if array.ndim == 0:
        raise ShapeError(f"{name} is a single number; a norm needs an axis to run over")
    return array


def like(x: Array, name: str, values: Array) -> Array:
    """Values, which have the shape and dtype of x."""
    if values.shape != x.shape:
        raise ShapeError(f"{name} has shape {values.shape}; x has {x.shape}, and they must be alike")
    if format_of(values) != format_of(x):
        raise DtypeError(f"{name} has dtype {values.dtype}; x has {x.dtype}, and they must be alike: cast one")
    return values


def _parameter(x: Array, name: str, values: Any) -> Array | None:
    """Gamma or beta (d,), contiguous, in x's dtype or, for 16-bit x, in float32."""
    import numpy as np

    if values is None:
        return None
    array, width = np.asarray(values), x.shape[-1]
    if array.shape != (width,):
        raise ShapeError(f"{name} has shape {array.shape}; the last axis of x {x.shape} needs ({width},)")
    if array.dtype.kind not in "fiu" and format_of(array) != "bfloat16":
        raise DtypeError(f"{name} has dtype {array.dtype}; real numbers are needed")
    narrow = x.dtype.itemsize == 2 and format_of(array) != format_of(x)
    kept = np.dtype(np.float32) if narrow else x.dtype.newbyteorder("=")
    with np.errstate(over="ignore"):
        return np.require(array, kept, ["C_CONTIGUOUS", "ALIGNED"])


def _check_output(x: Array, name: str, array: Any) -> None:
    import numpy as np

    if array is None:
        return
    if not isinstance(array, np.ndarray):
        raise NormError(f"{name} is a {type(array).__name__}; it must be a NumPy array to write into")
    like(x, name, array)
    if not array.flags.writeable:
        raise NormError(f"{name} is read-only; it must be an array to write into")


def _overlap(a: Array, b: Array) -> bool:
    import numpy as np

    return bool(np.shares_memory(a, b))


def _eps(eps: Any) -> float:
    try:
        number = float(None if isinstance(eps, bool | str) else eps)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise NormError(f"eps is {eps!r}; it must be a number, 0 or more") from None
    if not 0 <= number < float("inf"):
        raise NormError(f"eps is {eps!r}; it must be 0 or more, and finite")
    return number


def _threads(threads: Any) -> int | None:
    if threads is None:
        return None
    if isinstance(threads, bool) or not hasattr(threads, "__index__") or int(threads) < 1:
        raise NormError(f"threads is {threads!r}; it must be 1 or more, or None to let the size of x decide")
    return min(int(threads), 1024)


def _computed(call: Arguments) -> tuple[Array, Array]:
    if NATIVE is None:
        return _by_numpy(call)
    return _by_native(call)


def _by_numpy(call: Arguments) -> tuple[Array, Array]:
    options: dict[str, Any] = {"out": call.out, "threads": call.threads}
    given = [call.x] if call.residual is None else [call.x, call.residual]
    if call.residual is not None:
        options["sum_out"] = call.sum_out
    affine = [call.gamma, call.beta] if call.center else [call.gamma]
    name = ("" if call.residual is None else "add_") + ("layer_norm" if call.center else "rms_norm")
    result = getattr(fallback, name)(*given, *affine, call.eps, **options)
    return (result, None) if call.residual is None else result


def _by_native(call: Arguments) -> tuple[Array, Array]:
    """Straight into the outputs where their layout allows it, else by way of new arrays."""
    rows = native_form(call)
    made = native_norm(*rows)
    if made is NotImplemented:
        made = native_norm(*detached(rows))
    if made is NotImplemented:
        raise AssertionError("the C code refuses what was brought into its form")
    y, total = made if call.residual is not None else (made, None)
    return _delivered(call, y, call.out), _delivered(call, total, call.sum_out)


def native_form(call: Arguments) -> tuple[Any, ...]:
    """The arguments of the C code: rows (n, d), copied where they cannot be seen as such."""
    brain = format_of(call.x) == "bfloat16"
    inputs = (_rows(call.x), _rows(call.residual))
    outputs = (_rows_to_write(call.out), _rows_to_write(call.sum_out))
    parameters = (_bits(call.gamma), _bits(call.beta))
    return (*inputs, *parameters, call.eps, *outputs, call.threads, call.center, brain)


def detached(rows: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same with copied inputs and new outputs, for outputs that are shifted against an input."""
    x, residual, gamma, beta, eps, _, _, *others = rows
    inputs = (None if values is None else values.copy() for values in (x, residual, gamma, beta))
    return (*inputs, eps, None, None, *others)


def _rows(values: Array | None) -> Array | None:

    if values is None:
        return None
    native = values.astype(values.dtype.newbyteorder("="), copy=False)
    width = values.shape[-1]
    rows = native.reshape(-1 if width else 0, width)
    direct = rows.flags.aligned and (width < 2 or rows.strides[-1] == rows.itemsize)
    return _bits(rows if direct else rows.copy())  # ascontiguousarray leaves what is off by a byte


def _rows_to_write(values: Array | None) -> Array | None:
    """The rows of an output, or None where only another array can hold them."""
    import numpy as np

    rows = _rows(values)
    return rows if values is not None and rows is not None and np.may_share_memory(rows, values) else None


def _bits(values: Array | None) -> Array | None:
    """A bfloat16 has no buffer of its own: as integers."""
    import numpy as np

    return values.view(np.uint16) if values is not None and format_of(values) == "bfloat16" else values


def _delivered(call: Arguments, made: Array | None, out: Array | None) -> Array | None:
    import numpy as np

    if made is None:
        return None
    values = made.view(call.x.dtype.newbyteorder("=")).reshape(call.x.shape)
    if out is None:
        return values.astype(call.x.dtype, copy=False)
    if not np.may_share_memory(values, out):
        out[...] = values
    return out
