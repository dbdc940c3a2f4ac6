"""An ONNX file without its weights: the protobuf is walked where it lies, and large tensors are left there.

A tensor whose data is left out says where it stands: as external data (ONNX's own mechanism) of the model's own
file. So what is parsed is small, whatever the file's size, and there is one way to read a tensor later.

https://protobuf.dev/programming-guides/encoding/; field numbers are those of onnx.proto.
"""

import mmap
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..errors import FileError

SMALL = 1024  # bytes of a message or of data that stays as it is
DEEPEST = 64  # messages within messages: graphs of loops within loops
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
DATA = {4, 9, 10}  # float_data, raw_data and double_data of a tensor: packed floats are the bytes of raw data
EXTERNAL_DATA, DATA_LOCATION = 13, 14

# For each kind of message, the fields that can hold a large tensor, and of which kind these are.
HOLDS: Mapping[str, Mapping[int, str]] = {
    "model": {7: "graph", 25: "function"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "function": {7: "node", 11: "attribute"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {},
}

Field = tuple[int, int, int, int]  # its number, where it starts, where its content starts, where it ends


def skeleton(path: Path) -> bytes:
    """The model in the file as protobuf bytes, its large tensors left out.

    Raises FileError for what is no readable protobuf.
    """
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _copied(data, 0, len(data), "model", path.name, 0)
    except FileNotFoundError:
        raise FileError(f"{path} does not exist.") from None
    except (IndexError, ValueError):  # an empty file has nothing to map
        raise FileError(f"{path.name} is no ONNX model: its bytes are no protobuf message.") from None
    except OSError as error:
        raise FileError(f"{path.name} cannot be read: {error.strerror}.") from None


def _copied(data: mmap.mmap, start: int, end: int, kind: str, file: str, depth: int) -> bytes:
    """A message, with every large tensor in it reduced to its header."""
    if depth > DEEPEST:
        raise ValueError("too deep")
    made: list[bytes] = []
    plain = start  # from here on, nothing was changed
    for number, begin, content, stop in _fields(data, start, end):
        if stop - begin <= SMALL:
            continue
        inner = HOLDS[kind].get(number)
        if inner:
            body = _copied(data, content, stop, inner, file, depth + 1)
            changed = _message(number, body)
        elif kind == "tensor" and number in DATA:
            changed = _elsewhere(file, content, stop - content)
        else:
            continue
        made += [data[plain:begin], changed]
        plain = stop
    return b"".join([*made, data[plain:end]])


def _fields(data: mmap.mmap, start: int, end: int) -> Iterator[Field]:
    """The fields of a message in order."""
    at = start
    while at < end:
        begin = at
        tag, at = _varint(data, at, end)
        kind = tag & 7
        if kind == BYTES:
            length, at = _varint(data, at, end)
            content, at = at, at + length
        elif kind == VARINT:
            content = at
            _, at = _varint(data, at, end)
        elif kind in (FIXED32, FIXED64):
            content, at = at, at + (4 if kind == FIXED32 else 8)
        else:
            raise ValueError("a field of an unknown kind")
        if at > end:
            raise ValueError("a field that ends behind its message")
        yield tag >> 3, begin, content, at


def _varint(data: mmap.mmap, at: int, end: int) -> tuple[int, int]:
    """A number of seven bits a byte, and where it ends."""
    value = shift = 0
    while at < end and shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    raise ValueError("a number without an end")


def _number(value: int) -> bytes:
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    made.append(value)
    return bytes(made)


def _message(number: int, body: bytes) -> bytes:
    return _number(number << 3 | BYTES) + _number(len(body)) + body


def _elsewhere(file: str, offset: int, length: int) -> bytes:
    """What a tensor says of data that stands in a file."""
    entries = {"location": file, "offset": str(offset), "length": str(length)}
    pairs = (_message(1, key.encode()) + _message(2, value.encode()) for key, value in entries.items())
    made = b"".join(_message(EXTERNAL_DATA, pair) for pair in pairs)
    return made + _number(DATA_LOCATION << 3 | VARINT) + _number(1)
