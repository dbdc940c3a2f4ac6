"""inspect(): the norms of a model, whatever it is kept in."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import FileError
from .checkpoints import CONFIG, PICKLES, inspect_folder, inspect_weights
from .found import Report
from .modules import inspect_module, is_module
from .onnx_file import inspect_onnx

TAKEN = "an .onnx or .safetensors file, or a folder with a config.json"
Progress = Callable[[int, int], None]  # how much is done, of how much


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

    A pickle (.pt, .bin) is never read. Weights do not say their eps: config.json does, or it is in `unknown`.

    Raises FileError for what is no model, or none that can be read safely.
    """
    if is_module(source):
        return inspect_module(source, progress=progress)
    if not isinstance(source, (str, os.PathLike)):
        raise FileError(f"source is a {type(source).__name__}; give {TAKEN}, or a PyTorch module.")
    path = Path(source)
    if not path.exists():
        raise MissingModel(f"there is no file or folder {source}; give {TAKEN}.")
    if path.is_dir():
        return inspect_folder(path, progress=progress)
    suffix = path.suffix.lower()
    if suffix in PICKLES:
        raise FileError(
            f"{path.name}: a {suffix} file can run code when it is loaded (it is a pickle), so it is never read; "
            "save the weights with safetensors, or name the function that makes the model: package.module:function."
        )
    if suffix == ".safetensors":
        return inspect_weights(path, progress=progress)
    if suffix == ".onnx":
        return inspect_onnx(path, run=run, progress=progress)
    if path.name == CONFIG:
        raise FileError(f"{path.name} is read with what stands beside it; give its folder, {path.parent}.")
    raise FileError(f"{path.name} is no model that is known by its name; give {TAKEN}.")
