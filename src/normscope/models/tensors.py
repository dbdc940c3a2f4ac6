"""Tensors of a .safetensors file: eight bytes, a bounded JSON header, numbers. No code is ever run.

https://github.com/huggingface/safetensors#format
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, NoReturn

from ..errors import DtypeError, FileError

LONGEST_HEADER = 32 * 2**20  # bytes; a model of 400 billion parameters has a header of 0.2 MB
POINTER = b"version https://git-lfs.github.com/spec/"  # how a file begins that stands for one kept elsewhere
DTYPES: Mapping[str, tuple[str, int]] = {  # as NumPy or ml_dtypes call it; bytes of a cell
    "F64": ("float64", 8), "F32": ("float32", 4), "F16": ("float16", 2), "BF16": ("bfloat16", 2),
    "F8_E4M3": ("float8_e4m3fn", 1), "F8_E5M2": ("float8_e5m2", 1),
    "I64": ("int64", 8), "I32": ("int32", 4), "I16": ("int16", 2), "I8": ("int8", 1),
    "U64": ("uint64", 8), "U32": ("uint32", 4), "U16": ("uint16", 2), "U8": ("uint8", 1), "BOOL": ("bool", 1),
}  # fmt: skip


@dataclass(frozen=True)
class Tensor:
    """Where a tensor stands in its file; dtype is the header's own word where it is none of `DTYPES`."""

    file: Path
    name: str
    dtype: str
    shape: tuple[int, ...]
    start: int
    stop: int

    def array(self) -> Any:
        """Its cells, read now. Raises DtypeError for a dtype that NumPy and ml_dtypes lack."""
        import ml_dtypes
        import numpy as np

        known = {name for name, _ in DTYPES.values()}
        if self.dtype not in known:
            raise DtypeError(f"{self.name} of {self.file.name} is {self.dtype}; give {', '.join(sorted(known))}.")
        dtype = np.dtype(getattr(ml_dtypes, self.dtype, None) or self.dtype).newbyteorder("<")
        with self.file.open("rb") as file:
            file.seek(self.start)
            return np.frombuffer(file.read(self.stop - self.start), dtype).reshape(self.shape)


def check_fetched(path: Path) -> None:
    """Raise FileError for a file that only says where the model is: a pointer of git-lfs."""
    with path.open("rb") as file:
        if file.read(len(POINTER)) == POINTER:
            raise FileError(f"{path.name} is a pointer of git-lfs, not the model itself; fetch it: git lfs pull.")


def tensors(path: str | Path) -> dict[str, Tensor]:
    """Every tensor of a .safetensors file by name, in the order of the file; no cell is read.

    Raises FileError for a file that is none, is cut short, or has a header that is too long or contradicts itself.
    """
    place = Path(path)

    def refuse(reason: str) -> NoReturn:
        raise FileError(f"{place.name} is no .safetensors file that can be read: {reason}.")

    try:
        check_fetched(place)
        header, begin = _header(place, refuse)
    except FileNotFoundError:
        raise FileError(f"{path} does not exist.") from None
    except FileError:
        raise
    except OSError as error:
        refuse(error.strerror or "it cannot be read")
    except (ValueError, RecursionError):
        refuse("its header is no JSON")
    if not isinstance(header, dict):
        refuse("its header is no JSON object")
    size = place.stat().st_size
    entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
    made = [_tensor(place, name, entry, begin, size, refuse) for name, entry in entries.items()]
    return {each.name: each for each in sorted(made, key=lambda each: each.start)}


def _header(path: Path, refuse: Any) -> tuple[Any, int]:
    """What the header says, and the byte behind it."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        size = path.stat().st_size
        if length > min(size - 8, LONGEST_HEADER):
            refuse(f"its first 8 bytes promise a header of {length:,} bytes (it has {size:,}; at most 33,554,432)")
        return json.loads(file.read(length), object_pairs_hook=_once), 8 + length


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; a name that stands twice could mean two things."""
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a name stands twice")
    return made


def _tensor(path: Path, name: str, entry: Any, begin: int, size: int, refuse: Any) -> Tensor:
    shown = name[:60]
    try:
        dtype, shape, (start, stop) = entry["dtype"], entry["shape"], entry["data_offsets"]
        is_plain = isinstance(dtype, str) and all(type(each) is int and each >= 0 for each in (*shape, start, stop))
    except (KeyError, TypeError, ValueError):
        is_plain = False
    if not is_plain:
        refuse(f"'{shown}' has no dtype, shape and data_offsets")
    if stop < start or begin + stop > size:
        refuse(f"'{shown}' stands at bytes {start:,} to {stop:,} of {size - begin:,}: it is cut short")
    named, width = DTYPES.get(dtype, (dtype, 0))
    if width and prod(shape) * width != stop - start:
        refuse(f"'{shown}', {dtype} of shape {tuple(shape)}, has {stop - start:,} bytes")
    return Tensor(path, name, named, tuple(shape), begin + start, begin + stop)
