"""A model's inputs from an .npz file: named arrays, each looked at before it is read, none unpickled."""

import os
import zipfile
import zlib
from math import prod
from pathlib import Path
from typing import Any, NoReturn

from ..errors import DtypeError, FileError
from .files import MissingFile

MOST = 4 << 30  # bytes of all arrays
HOW = "numpy.savez('input.npz', input_ids=ids, ...)"


def read_feeds(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Every array of an .npz file by its name.

    Raises FileError for a file that is none, is damaged, unpacks to more than 4 GiB, or holds pickled objects;
    DtypeError for an array of what are no numbers.
    """
    place = Path(path)

    def refuse(reason: str) -> NoReturn:
        raise FileError(f"the input from {path}: {reason}")

    try:
        with zipfile.ZipFile(place) as archive:
            members = archive.infolist()
            total = sum(each.file_size for each in members)
            if total > MOST:
                refuse(f"it unpacks to {total:,} bytes; at most {MOST:,} are read.")
            arrays = {each.filename.removesuffix(".npy"): _array(archive, each, place, refuse) for each in members}
    except FileNotFoundError:
        raise MissingFile(f"the input from {path}: there is no such file; write one: {HOW}.") from None
    except IsADirectoryError:
        refuse(f"it is a directory; give an .npz file: {HOW}.")
    except (zipfile.BadZipFile, NotImplementedError):
        refuse(f"it is no .npz file; write one: {HOW}.")
    except FileError:
        raise
    except (OSError, EOFError, RuntimeError, zlib.error) as error:  # RuntimeError: a password
        refuse(f"it cannot be read ({getattr(error, 'strerror', None) or error}).")
    if not arrays:
        refuse(f"it holds no array; write some: {HOW}.")
    return arrays


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo, place: Path, refuse: Any) -> Any:
    """One array; its header must promise no more bytes than are there."""
    import numpy as np
    from numpy.lib import format as npy

    name = member.filename.removesuffix(".npy")
    with archive.open(member) as file:
        try:
            version = npy.read_magic(file)
            read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, is_fortran, dtype = read_header(file)
        except (OSError, zlib.error, zipfile.BadZipFile):
            raise
        except Exception:  # NumPy evaluates the header as a literal: any error of Python's can come out
            refuse(f"'{name}' in it is no array; write it again: {HOW}.")
        if dtype.hasobject:
            refuse(f"'{name}' holds pickled objects, which can run code when they are loaded, so it is never read.")
        if dtype.kind not in "biuf":
            raise DtypeError(f"the input from {place}: '{name}' is {dtype}; a model's input is numbers.")
        count = prod(shape)
        if min(shape, default=0) < 0 or count * dtype.itemsize > member.file_size:
            refuse(f"'{name}' is cut short: {shape} of {dtype} takes more bytes than are there.")
        cells = np.frombuffer(file.read(count * dtype.itemsize), dtype, count)
    return cells.reshape(shape, order="F" if is_fortran else "C").astype(dtype.newbyteorder("="), copy=False)
