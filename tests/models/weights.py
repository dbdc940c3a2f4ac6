"""Folders as models are saved: a config.json and a .safetensors file, written here by hand."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

NAMES = {"float32": "F32", "float16": "F16", "float64": "F64", "bfloat16": "BF16", "int64": "I64"}


def saved(path: Path, arrays: Mapping[str, Any]) -> Path:
    """A .safetensors file of these arrays."""
    header, data = {}, b""
    for name, cells in arrays.items():
        cells = np.asarray(cells)
        offsets = [len(data), len(data) + cells.nbytes]
        header[name] = {"dtype": NAMES[cells.dtype.name], "shape": list(cells.shape), "data_offsets": offsets}
        data += cells.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def folder(path: Path, config: Mapping[str, Any], arrays: Mapping[str, Any] | None = None) -> Path:
    """A folder with a config.json, and weights where they are given."""
    (path / "config.json").write_text(json.dumps(config))
    if arrays is not None:
        saved(path / "model.safetensors", arrays)
    return path


def vector(size: int = 8, at: float = 1.0) -> Any:
    """A parameter of one dimension around a value."""
    return (at + np.linspace(-0.1, 0.1, size)).astype(np.float32)
