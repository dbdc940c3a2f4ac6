"""A person's own tensors: .npy, .npz and .safetensors (mapped, never read whole) and .csv.

A file is never modified or unpickled.
"""

import mmap
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any, NoReturn

from ..errors import FileError, ShapeError
from ..norm import exact_eps
from . import npy
from .archives import ARCHIVES, BESIDE, Archive, MissingArray, archive
from .tables import read_table

SOURCE = "file"  # the name under which pages read the file that is open
ROW_LIMIT = 1_048_576  # features of one row that a page may ask for
TABLES = (".csv", ".tsv")
ENDINGS = (".npy", *ARCHIVES, *TABLES)
KINDS = "a .npy, .npz, .safetensors or .csv file"
PICKLES = (".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".bin", ".joblib")


class MissingFile(FileError):
    """A file that is not there: a wrong request, as the command line counts it."""

    exit_code = 2


@dataclass(frozen=True)
class Tensor:
    """What a file holds: an array and, from a .csv with a first column of text, a name for each row.

    archive  where the file holds more arrays: all of them; `name` is then that of this one
    """

    path: Path
    array: Any
    tokens: tuple[str, ...] | None = None
    archive: Archive | None = None
    name: str = ""

    @property
    def title(self) -> str:
        """The file and, where it holds several, the array."""
        return f"{self.path.name}, {self.name}" if self.name else self.path.name


def read(
    path: str | os.PathLike[str], what: str = "x", decimal_comma: bool = False, array: str | None = None
) -> Tensor:
    """The array in a file; `what` is the argument that it is for, named in messages.

    An array of a .npy, .npz or .safetensors file is memory-mapped and read-only; a .csv gives (rows, columns) in
    float64. `array` names one of those in a .npz or .safetensors file; without it there must be only one, besides
    gamma, beta and eps.
    Raises FileError (DtypeError for what are no real numbers); the message says where and how to mend it.
    """
    place = Path(path)

    def refuse(reason: str) -> NoReturn:
        raise FileError(f"{what} from {path}: {reason}")

    try:
        reason = _why_not(place)
        if reason:
            refuse(reason)
        if place.suffix.lower() in ARCHIVES:
            return _picked(archive(place, f"{what} from {path}"), array)
        if array is not None:
            raise MissingArray(
                f"{what} from {path}: it holds one array, none called '{array[:60]}'; leave --array out."
            )
        if place.suffix.lower() == ".npy":
            return Tensor(place, npy.mapped(place, f"{what} from {path}"))
        import numpy as np

        rows, tokens = read_table(place, refuse, decimal_comma)
        return Tensor(place, np.array(rows, np.float64), tokens)
    except FileNotFoundError:
        raise MissingFile(f"{what} from {path}: there is no such file; give {KINDS}.") from None
    except FileError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        refuse(f"it cannot be read ({getattr(error, 'strerror', None) or error}).")


def _picked(several: Archive, name: str | None) -> Tensor:
    name = several.only() if name is None else name
    cells = several.array(name)
    npy.has_axes(cells.shape, f"{several.source}, array '{name}'")
    return Tensor(several.path, cells, archive=several, name=name)


def beside(tensor: Tensor | None, path: str | os.PathLike[str], what: str, decimal_comma: bool = False) -> Tensor:
    """An array that belongs to x: from a file, or by its name from the file of x."""
    several = tensor and tensor.archive
    if several and (path in several.names or Path(path).suffix.lower() not in ENDINGS):
        return _picked(replace(several, source=f"{what} from {several.path}"), str(path))
    return read(path, what, decimal_comma)


def parameter(path: str | os.PathLike[str], what: str, decimal_comma: bool = False, of: Tensor | None = None) -> Any:
    """gamma or beta, `beside` x if x is given; a .csv with one row or one column is a vector."""
    tensor = beside(of, path, what, decimal_comma)
    is_vector = tensor.path.suffix.lower() in TABLES and 1 in tensor.array.shape
    return tensor.array.reshape(-1) if is_vector else tensor.array


def given(
    path: str,
    eps: str | None = None,
    gamma: str | None = None,
    beta: str | None = None,
    decimal_comma: bool = False,
    array: str | None = None,
) -> tuple[Tensor, str | None, Any, Any]:
    """x, eps, gamma and beta of a command: from files of their own, or by name from the file of x.

    What is not asked for and stands in the file of x under its own name is taken from there.
    """
    tensor = read(path, decimal_comma=decimal_comma, array=array)
    names = tensor.archive.names if tensor.archive else ()
    asked = ((each, what) for each, what in ((gamma, "gamma"), (beta, "beta")))
    scale, shift = (
        parameter(each or what, what, decimal_comma, tensor) if each or what in names else None for each, what in asked
    )
    if eps is None and tensor.archive and "eps" in names:
        eps = _eps(replace(tensor.archive, source=f"eps from {path}"))
    return tensor, eps, scale, shift


def _eps(several: Archive) -> str:
    """eps as its decimal in its own dtype: 1e-5 of a float32 is 1e-5."""
    value = several.array("eps")
    if value.size != 1:
        raise ShapeError(f"{several.source}: it has shape {value.shape}; eps is a single number.")
    return str(value.reshape(())[()])


def opened(path: str, *options: Any, offset: int = 0, **more: Any) -> "FileSource":
    """What the lab shows of a file, whose gamma is kept less `offset`; the other options are those of `given`."""
    tensor, eps, gamma, beta = given(path, *options, **more)
    if eps is not None:
        exact_eps(eps)
    return FileSource.of(tensor, gamma, beta, eps, offset)


def _why_not(path: Path) -> str:
    """Why the file is none that can be read, by its name and kind; empty where it may be."""
    suffix = path.suffix.lower()
    path.stat()
    if path.is_dir():
        return f"it is a directory; give {KINDS} in it."
    if suffix in PICKLES:
        return f"a {suffix} file can run code when it is loaded, so it is never read; use numpy.save."
    if suffix == ".onnx":
        return f"an .onnx model is no tensor; `normscope inspect {path}` finds its norms."
    if suffix not in ENDINGS:
        return f"its name ends in '{suffix}'; give {KINDS}, named so."
    return "" if path.is_file() else f"it is no regular file; save it as {KINDS} first."


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
    offset: int = 0

    @classmethod
    def of(
        cls, tensor: Tensor, gamma: Any = None, beta: Any = None, eps: str | None = None, offset: int = 0
    ) -> "FileSource":
        """The source for a file's tensor, with the parameters of its norm if they are known.

        Raises FileError for a tensor without cells or with rows too long to show; ShapeError for gamma or
        beta of another length than a row.
        """
        x, name = tensor.array, tensor.title
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
        array = x if x.ndim > 1 else x[None]
        return cls(name, shape, _note(tensor), tensor.tokens, lists[0], lists[1], eps, array, offset)

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
    told = f"{tensor.title}: {x.dtype.name}, shape {x.shape}."
    found = [name for name in BESIDE if tensor.archive and name in tensor.archive.names]
    told += f" Beside it: {', '.join(found)}." if found else ""
    if x.ndim <= 3:
        return told
    lead = x.shape[:-2]
    terms = [f"{prod(lead[k + 1 :])}·i{k}" if k + 1 < len(lead) else f"i{k}" for k in range(len(lead))]
    return f"{told} Its first {len(lead)} axes {lead} are counted as one, B: b = {' + '.join(terms)}."
