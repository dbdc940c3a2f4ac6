"""inspect(): the norms of a model, whatever it is kept in."""

import os
from pathlib import Path
from typing import Any

from ..errors import FileError
from .checkpoints import CONFIG, PICKLES, inspect_folder, inspect_weights
from .found import Progress, Report
from .modules import inspect_module, is_module
from .onnx_file import inspect_onnx
from .tensors import check_fetched

TAKEN = "an .onnx or .safetensors file, or a folder with a config.json"


class MissingModel(FileError):
    """A model that is not there: a wrong request, as the command line counts it."""

    exit_code = 2


def inspect(source: Any, *, run: bool = True, progress: Progress | None = None) -> Report:
    """Every norm in a model: what it is, where it stands, what speaks for it, and what cannot be told.

    source    the path of an .onnx or .safetensors file or of a folder with a config.json (and .safetensors files), or
              a PyTorch module
    run       run the nodes of an ONNX graph that were found, to see that they give what the norm gives; modules are
              always recognised by running a copy of each
    progress  is called with how much is done and how much there is

    A pickle (.pt, .bin) is never read. Weights do not say their eps: config.json does, or it is in `unknown`. Of a
    module, norms that are modules are seen, not those that its code calls as functions: only a run shows these.

    Raises FileError for what is no model, or none that can be read safely.
    """
    if is_module(source):
        return inspect_module(source, progress=progress)
    path = _there(source)
    if path.is_dir():
        return inspect_folder(path, progress=progress)
    suffix = path.suffix.lower()
    if suffix == ".safetensors":
        return inspect_weights(path, progress=progress)
    if suffix == ".onnx":
        check_fetched(path)
        return inspect_onnx(path, run=run, progress=progress)
    raise FileError(_why_not(path))


def _there(source: Any) -> Path:
    """The path of a file or folder that is there."""
    if not isinstance(source, (str, os.PathLike)):
        raise FileError(f"source is a {type(source).__name__}; give {TAKEN}, or a PyTorch module.")
    if not os.fspath(source):
        raise MissingModel(f"source is empty; give {TAKEN}.")
    path = Path(source)
    if not path.exists():
        raise MissingModel(f"there is no file or folder {source}; give {TAKEN}.")
    return path


def _why_not(path: Path) -> str:
    """Why a file is not read, by its name."""
    suffix = path.suffix.lower()
    if suffix in PICKLES:
        return (
            f"{path.name}: a {suffix} file can run code when it is loaded (it is a pickle), so it is never read; "
            "save the weights with safetensors, or name the function that makes the model: package.module:function."
        )
    if path.name == CONFIG:
        return f"{path.name} is read with what stands beside it; give its folder, {path.parent}."
    return f"{path.name} is no model that is known by its name; give {TAKEN}."
