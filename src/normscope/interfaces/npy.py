"""One .npy array: its header is read and judged before NumPy sees a cell."""

from math import prod
from pathlib import Path
from typing import IO, Any, Literal

from ..errors import DtypeError, FileError

REAL = ("float16", "float32", "float64")


def mapped(path: Path, source: str) -> Any:
    """The array of a .npy file, mapped; whatever is wrong with it is found before NumPy maps it.

    `source` says in messages what it is for and where from: `x from hidden.npy`.
    """
    import numpy as np

    with path.open("rb") as file:
        shape, dtype, _ = header(file, source)
        whole(shape, dtype, path.stat().st_size - file.tell(), source)
    has_axes(shape, source)
    # asarray: a plain view of the map, which does not turn what is computed from it into maps
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))


def at(path: Path, dtype: Any, start: int, shape: tuple[int, ...], order: Literal["C", "F"] = "C") -> Any:
    """Cells that lie in a file from a byte on, mapped."""
    import numpy as np

    if not prod(shape):
        return np.empty(shape, dtype)
    return np.asarray(np.memmap(path, dtype, "r", start, shape, order))


def whole(shape: tuple[int, ...], dtype: Any, there: int, source: str) -> None:
    """Raise FileError where there are fewer bytes than the shape promises."""
    promised = prod(shape) * dtype.itemsize
    if there < promised:
        raise FileError(
            f"{source}: it is cut short: {shape} of {dtype} takes {promised:,} bytes, and "
            f"{there:,} are there; save or copy it again."
        )


def has_axes(shape: tuple[int, ...], source: str) -> None:
    """Raise FileError for a single number."""
    if not shape:
        raise FileError(f"{source}: it holds a single number (shape ()); give it an axis: x.reshape(1).")


def header(file: IO[bytes], source: str) -> tuple[tuple[int, ...], Any, Literal["C", "F"]]:
    """Shape, dtype and order that a .npy file says it has; the file stands at its first cell."""
    from numpy.lib import format as npy

    start = file.read(6)
    if start != npy.MAGIC_PREFIX:
        raise FileError(f"{source}: {_foreign(start)}")
    try:
        file.seek(0)
        version = npy.read_magic(file)
        read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, is_fortran, dtype = read_header(file)
        if min(shape, default=0) < 0:
            raise ValueError("a size is negative")
    except Exception:  # NumPy evaluates the header as a literal: any error of Python's can come out
        raise FileError(f"{source}: its .npy header is broken; save the array again with numpy.save.") from None
    check_dtype(dtype, source)
    return shape, dtype, "F" if is_fortran else "C"


def _foreign(start: bytes) -> str:
    if not start:
        return "it is empty (0 bytes); save the array again with numpy.save."
    if start[:1] == b"\x80":
        return "it is a pickle, which can run code when it is loaded, so it is never read; use numpy.save."
    if start[:2] == b"PK":
        return "it is a .npz archive by its contents; give it a name that ends so."
    return f"it is no .npy file, it starts with {start!r}; save the array with numpy.save."


def check_dtype(dtype: Any, source: str) -> None:
    """Raise FileError or DtypeError for cells that are no real numbers; the message says how to save them."""
    if dtype.hasobject:
        raise FileError(
            f"{source}: it holds pickled Python objects, which can run code when they are loaded, so it is "
            "never read; numpy.save it with a numeric dtype."
        )
    if dtype.names:
        raise DtypeError(f"{source}: its cells are records ({', '.join(dtype.names)}); save one field: x['name'].")
    if dtype.kind == "c":
        raise DtypeError(f"{source}: its dtype is {dtype}; give real numbers, for example x.real.")
    if dtype.kind == "V":
        raise DtypeError(f"{source}: its dtype is {dtype}, perhaps bfloat16 or float8; save x.astype('float32').")
    if dtype.kind not in "iu" and dtype.name not in REAL:
        raise DtypeError(f"{source}: its dtype is {dtype.name}; save it as real numbers: x.astype('float64').")
