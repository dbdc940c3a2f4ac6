"""A person's own tensors: .npy (mapped, never read whole) and .csv. A file is never modified or unpickled."""

import mmap
import os
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, NoReturn

from ..errors import DtypeError, FileError, ShapeError
from ..norm import exact_eps
from .tables import read_table

SOURCE = "file"  # the name under which pages read the file that is open
ROW_LIMIT = 1_048_576  # features of one row that a page may ask for
REAL = ("float16", "float32", "float64")
TABLES = (".csv", ".tsv")
PICKLES = (".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".bin", ".joblib")
NOT_YET = {
    ".npz": "an .npz archive is not supported yet; save one array: numpy.save('x.npy', archive['name']).",
    ".safetensors": "a .safetensors file is not supported yet; save one tensor: numpy.save('x.npy', tensor).",
    ".onnx": "an .onnx model is not supported yet; save one tensor: numpy.save('x.npy', tensor).",
}


class MissingFile(FileError):
    """A file that is not there: a wrong request, as the command line counts it."""

    exit_code = 2


@dataclass(frozen=True)
class Tensor:
    """What a file holds: an array and, from a .csv with a first column of text, a name for each row."""

    path: Path
    array: Any
    tokens: tuple[str, ...] | None = None


def read(path: str | os.PathLike[str], what: str = "x", decimal_comma: bool = False) -> Tensor:
    """The array in a .npy or .csv file; `what` is the argument that it is for, named in messages.

    A .npy array is memory-mapped and read-only; a .csv gives (rows, columns) in float64.
    Raises FileError (DtypeError for what are no real numbers); the message says where and how to mend it.
    """
    place = Path(path)

    def refuse(reason: str) -> NoReturn:
        raise FileError(f"{what} from {path}: {reason}")

    try:
        reason = _why_not(place)
        if reason:
            refuse(reason)
        if place.suffix.lower() == ".npy":
            return Tensor(place, _mapped(place, what))
        import numpy as np

        rows, tokens = read_table(place, refuse, decimal_comma)
        return Tensor(place, np.array(rows, np.float64), tokens)
    except FileNotFoundError:
        raise MissingFile(f"{what} from {path}: there is no such file; give a .npy or .csv file.") from None
    except FileError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        refuse(f"it cannot be read ({getattr(error, 'strerror', None) or error}).")


def parameter(path: str | os.PathLike[str], what: str, decimal_comma: bool = False) -> Any:
    """gamma or beta from a file; a .csv with one row or one column is a vector."""
    tensor = read(path, what, decimal_comma)
    is_vector = tensor.path.suffix.lower() in TABLES and 1 in tensor.array.shape
    return tensor.array.reshape(-1) if is_vector else tensor.array


def opened(
    path: str, eps: str | None = None, gamma: str | None = None, beta: str | None = None, decimal_comma: bool = False
) -> "FileSource":
    """What the lab shows of a file, with gamma and beta from files of their own."""
    scale, shift = (f and parameter(f, what, decimal_comma) for f, what in ((gamma, "gamma"), (beta, "beta")))
    tensor = read(path, decimal_comma=decimal_comma)
    if eps is not None:
        exact_eps(eps)
    return FileSource.of(tensor, scale, shift, eps)


def _why_not(path: Path) -> str:
    """Why the file is none that can be read, by its name and kind; empty where it may be."""
    suffix = path.suffix.lower()
    path.stat()
    if path.is_dir():
        return "it is a directory; give a .npy or .csv file in it."
    if suffix in PICKLES:
        return f"a {suffix} file can run code when it is loaded, so it is never read; use numpy.save."
    if suffix in NOT_YET:
        return NOT_YET[suffix]
    if suffix not in (".npy", *TABLES):
        return f"its name ends in '{suffix}'; give a .npy or .csv file, named so."
    return "" if path.is_file() else "it is no regular file; save it as a .npy or .csv file first."


def _mapped(path: Path, what: str) -> Any:
    """The array of a .npy file, mapped; whatever is wrong with it is found before NumPy maps it."""
    import numpy as np

    with path.open("rb") as file:
        shape, dtype = _header(file, f"{what} from {path}")
        promised, there = prod(shape) * dtype.itemsize, path.stat().st_size - file.tell()
    if there < promised:
        raise FileError(
            f"{what} from {path}: it is cut short: {shape} of {dtype} takes {promised:,} bytes, and "
            f"{there:,} are there; save or copy it again."
        )
    if not shape:
        raise FileError(f"{what} from {path}: it holds a single number (shape ()); give it an axis: x.reshape(1).")
    # asarray: a plain view of the map, which does not turn what is computed from it into maps
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))


def _header(file: Any, source: str) -> tuple[tuple[int, ...], Any]:
    """Shape and dtype that a .npy file says it has; the file stands at its first cell."""
    from numpy.lib import format as npy

    start = file.read(6)
    if start != npy.MAGIC_PREFIX:
        raise FileError(f"{source}: {_foreign(start)}")
    file.seek(0)
    try:
        version = npy.read_magic(file)
        read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, _, dtype = read_header(file)
        if min(shape, default=0) < 0:
            raise ValueError("a size is negative")
    except Exception:  # NumPy evaluates the header as a literal: any error of Python's can come out
        raise FileError(f"{source}: its .npy header is broken; save the array again with numpy.save.") from None
    _check_dtype(dtype, source)
    return shape, dtype


def _foreign(start: bytes) -> str:
    if not start:
        return "it is empty (0 bytes); save the array again with numpy.save."
    if start[:1] == b"\x80":
        return "it is a pickle, which can run code when it is loaded, so it is never read; use numpy.save."
    if start[:2] == b"PK":
        return NOT_YET[".npz"]
    return f"it is no .npy file, it starts with {start!r}; save the array with numpy.save."


def _check_dtype(dtype: Any, source: str) -> None:
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


@dataclass(frozen=True, eq=False)  # by identity: pages are cached by their source
class FileSource:
    """A file as the lab sees it: a tensor (B, S, d) whose rows are read when they are looked at.

    Rank 1 and 2 get leading axes of size 1; the leading axes of rank 4 and more are counted as one, B,
    without reshaping the map (that would read a Fortran-ordered file whole).
    """

    title: str
    shape: tuple[int, int, int]
    note: str
    tokens: Sequence[str] | None
    gamma: Sequence[float] | None
    beta: Sequence[float] | None
    eps: str | None
    array: Any

    @classmethod
    def of(cls, tensor: Tensor, gamma: Any = None, beta: Any = None, eps: str | None = None) -> "FileSource":
        """The source for a file's tensor, with the parameters of its norm if they are known.

        Raises FileError for a tensor without cells or with rows too long to show; ShapeError for gamma or
        beta of another length than a row.
        """
        x, name = tensor.array, tensor.path.name
        if not x.size:
            raise FileError(f"x from {tensor.path}: its shape {x.shape} has no cell; there is nothing to show.")
        features = x.shape[-1]
        if features > ROW_LIMIT:
            raise FileError(
                f"x from {tensor.path}: a row has {features:,} features (shape {x.shape}); a page shows "
                f"up to {ROW_LIMIT:,}. Save it with its rows along the last axis."
            )
        for what, values in (("gamma", gamma), ("beta", beta)):
            if values is not None and values.shape != (features,):
                raise ShapeError(f"{what} has shape {values.shape}; rows of x from {name} need ({features},).")
        _read_page_by_page(x)
        shape = (prod(x.shape[:-2]), x.shape[-2] if x.ndim > 1 else 1, features)
        lists = [None if values is None else [float(value) for value in values] for values in (gamma, beta)]
        return cls(name, shape, _note(tensor), tensor.tokens, lists[0], lists[1], eps, x if x.ndim > 1 else x[None])

    def rows(self, b: range, s: range) -> Any:
        """The rows at indices b of B and s of S as a new float64 array (len(b), len(s), d): a window is small."""
        import numpy as np

        x = self.array
        lead = x.shape[:-2]
        picked = [x[np.unravel_index(i, lead) if lead else ()] for i in b]
        rows = [each[list(s)] for each in picked]
        return np.array(rows, np.float64).reshape(len(b), len(s), self.shape[2])


def _read_page_by_page(array: Any) -> None:
    """Tell the system not to read ahead: a Fortran-ordered row has each of its cells on a page of its own."""
    base = array
    while base is not None and not isinstance(base, mmap.mmap):
        base = getattr(base, "base", None)
    if base is not None and hasattr(mmap, "MADV_RANDOM"):
        base.madvise(mmap.MADV_RANDOM)


def _note(tensor: Tensor) -> str:
    """The file's own dtype and shape, and how its axes are counted where they are not (B, S, d)."""
    x = tensor.array
    told = f"{tensor.path.name}: {x.dtype.name}, shape {x.shape}."
    if x.ndim <= 3:
        return told
    lead = x.shape[:-2]
    terms = [f"{prod(lead[k + 1 :])}·i{k}" if k + 1 < len(lead) else f"i{k}" for k in range(len(lead))]
    return f"{told} Its first {len(lead)} axes {lead} are counted as one, B: b = {' + '.join(terms)}."
