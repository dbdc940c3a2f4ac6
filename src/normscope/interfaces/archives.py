"""Files that hold arrays by name: .npz and .safetensors. Cells are mapped where they lie; nothing is unpickled."""

import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Literal

from ..errors import DtypeError, FileError
from ..models.tensors import DTYPES, Tensor, tensors
from ..page.numbers import bytes_, count
from ..program import PARAMETERS
from ..views.formats import NARROW
from . import memory, npy

ARCHIVES = (".npz", ".safetensors")
BESIDE = (*PARAMETERS, "eps")  # what a file may hold beside x
NUMBERS = {name for name, _ in DTYPES.values()} - {"bool"}
LISTED = 12  # names in a message
LOCAL_HEADER = struct.Struct("<4s22xHH")  # of a member of a zip file: its mark, the lengths of name and extra field


class MissingArray(FileError):
    """An array that is not in the file: a wrong request, as the command line counts it."""

    exit_code = 2


@dataclass(frozen=True)
class Archive:
    """The arrays of a file by name, each read when it is asked for; `source` begins messages."""

    path: Path
    source: str
    readers: Mapping[str, Callable[[str], Any]]

    @property
    def names(self) -> tuple[str, ...]:
        """The names in the order of the file."""
        return tuple(self.readers)

    def array(self, name: str) -> Any:
        """One of them, mapped where it lies in the file as it is. FileError or DtypeError for what cannot be."""
        if name not in self.readers:
            raise MissingArray(f"{self.source}: it has no array '{name[:60]}'; it has {_listed(self.names)}.")
        return self.readers[name](f"{self.source}, array '{name}'")

    def only(self) -> str:
        """The name of x where none is given: that of the one array besides gamma, beta and eps."""
        candidates = [name for name in self.names if name not in BESIDE]
        if len(candidates) == 1:
            return candidates[0]
        if not self.names:
            raise FileError(f"{self.source}: it holds no array; save one with numpy.savez.")
        choice = (candidates or self.names)[0]
        raise FileError(f"{self.source}: it holds {_listed(self.names)}; choose one, as in --array {choice}.")


def archive(path: Path, source: str) -> Archive:
    """The arrays of a .npz or .safetensors file; FileError where it is none."""
    if path.suffix.lower() == ".npz":
        return Archive(path, source, _members(path, source))
    made = {name: _reader(tensor) for name, tensor in tensors(path).items()}
    return Archive(path, source, made)


def _listed(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - LISTED:,} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more if names else "none"


def _members(path: Path, source: str) -> dict[str, Callable[[str], Any]]:
    try:
        with zipfile.ZipFile(path) as file:
            members = {info.filename: info for info in file.infolist() if info.filename.endswith(".npy")}
    except (zipfile.BadZipFile, NotImplementedError, struct.error):
        raise FileError(f"{source}: it is no .npz archive, or cut short; save it again with numpy.savez.") from None
    return {name.removesuffix(".npy"): _member(path, info) for name, info in members.items()}


def _member(path: Path, info: zipfile.ZipInfo) -> Callable[[str], Any]:
    def read(source: str) -> Any:
        try:
            with zipfile.ZipFile(path) as file, file.open(info) as member:
                shape, dtype, order = npy.header(member, source)
                npy.whole(shape, dtype, info.file_size - member.tell(), source)
                if info.compress_type == zipfile.ZIP_STORED:
                    return npy.at(path, dtype, _first_byte(path, info) + member.tell(), shape, order)
                return _unpacked(member, shape, dtype, order, source)
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, zlib.error, struct.error):
            raise FileError(f"{source}: it cannot be unpacked; save it again with numpy.savez.") from None

    return read


def _first_byte(path: Path, info: zipfile.ZipInfo) -> int:
    """Where a member that is not compressed begins."""
    with path.open("rb") as file:
        file.seek(info.header_offset)
        _, name, extra = LOCAL_HEADER.unpack(file.read(LOCAL_HEADER.size))
    return info.header_offset + LOCAL_HEADER.size + int(name) + int(extra)


def _unpacked(member: Any, shape: tuple[int, ...], dtype: Any, order: Literal["C", "F"], source: str) -> Any:
    """The cells of a compressed member, which must fit in memory."""
    import numpy as np

    size, free = prod(shape) * dtype.itemsize, memory.available()
    if free is not None and size > free:
        raise FileError(
            f"{source}: unpacked it takes {count(size)} bytes ({bytes_(size)}), and {count(free)} bytes "
            f"({bytes_(free)}) are available; numpy.savez does not compress, and such an array is read in place."
        )
    cells = member.read(size)
    npy.whole(shape, dtype, len(cells), source)
    return np.frombuffer(cells, dtype).reshape(shape, order=order)


def _reader(tensor: Tensor) -> Callable[[str], Any]:
    def read(source: str) -> Any:
        import numpy as np

        if tensor.dtype not in NUMBERS:
            raise DtypeError(f"{source}: its dtype is {tensor.dtype}; give real numbers.")
        if tensor.dtype in NARROW:
            import ml_dtypes

            dtype = np.dtype(getattr(ml_dtypes, tensor.dtype, tensor.dtype))
        else:
            dtype = np.dtype(tensor.dtype).newbyteorder("<")
        npy.whole(tensor.shape, dtype, tensor.stop - tensor.start, source)
        return npy.at(tensor.file, dtype, tensor.start, tensor.shape)

    return read
