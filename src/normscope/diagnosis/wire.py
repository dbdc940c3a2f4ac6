"""Messages between two processes: JSON and the bytes of arrays.

Nothing is unpickled, since a stranger may have written it.
"""

import json
import struct
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, BinaryIO

from .probes import Answer, Failure, Probe

HEAD = struct.Struct(">QQ")  # lengths of the JSON and of the arrays
MOST = 1 << 28  # bytes of a message
DTYPES = ("float16", "bfloat16", "float32", "float64", "longdouble", "float128", "bool", "int64")

Message = dict[str, Any]


class Garbled(Exception):
    """Bytes that are no message."""


def write(stream: BinaryIO, message: Mapping[str, Any]) -> None:
    """Send a message; its arrays may stand at any depth of its mappings and lists."""
    arrays: list[bytes] = []
    text = json.dumps(_packed(message, arrays)).encode()
    stream.write(HEAD.pack(len(text), sum(map(len, arrays))) + text + b"".join(arrays))
    stream.flush()


def read(stream: BinaryIO) -> Message | None:
    """The next message; None where the stream has ended. Raises Garbled."""
    head = stream.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    lengths = HEAD.unpack(head)
    if sum(lengths) > MOST:
        raise Garbled("a message of more than 256 MB")
    text, body = stream.read(lengths[0]), stream.read(lengths[1])
    if len(text) + len(body) < sum(lengths):
        return None
    try:
        made: Message = _unpacked(json.loads(text), memoryview(body))
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise Garbled(str(error)) from None
    return made


def _packed(value: Any, arrays: list[bytes]) -> Any:
    if isinstance(value, Mapping):
        return {key: _packed(each, arrays) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_packed(each, arrays) for each in value]
    if not hasattr(value, "tobytes"):
        return value
    start = sum(map(len, arrays))
    arrays.append(value.tobytes())
    return {"array": value.dtype.name, "shape": list(value.shape), "start": start, "bytes": len(arrays[-1])}


def _unpacked(value: Any, body: memoryview) -> Any:
    if isinstance(value, list):
        return [_unpacked(each, body) for each in value]
    if not isinstance(value, dict):
        return value
    if "array" not in value:
        return {key: _unpacked(each, body) for key, each in value.items()}
    import numpy as np

    piece = body[value["start"] : value["start"] + value["bytes"]]
    return np.frombuffer(piece, dtype(value["array"])).reshape(value["shape"]).copy()


def dtype(name: str) -> Any:
    """A dtype that arrays here may have, by its name."""
    import numpy as np

    if name not in DTYPES:
        raise ValueError(f"dtype {name}")
    if name != "bfloat16":
        return np.dtype(name)
    import ml_dtypes

    return np.dtype(ml_dtypes.bfloat16)


def from_probe(probe: Probe) -> Message:
    """A probe as a message."""
    return {each.name: getattr(probe, each.name) for each in fields(Probe)}


def to_probe(message: Mapping[str, Any]) -> Probe:
    """The probe that was sent."""
    return Probe(**message)


def from_answer(answer: Answer | Failure) -> Message:
    """An answer as a message."""
    if isinstance(answer, Failure):
        return {"failure": answer.kind, "text": answer.text}
    return {"arrays": dict(answer)}


def to_answer(message: Mapping[str, Any], probe: Probe) -> Answer | Failure:
    """The answer that was sent; Garbled where it is none."""
    if "failure" in message:
        return Failure(str(message["failure"]), str(message.get("text", "")), probe)
    arrays = message.get("arrays")
    if not isinstance(arrays, dict) or not all(hasattr(each, "dtype") for each in arrays.values()):
        raise Garbled("no arrays")
    return arrays
