"""The C extension, where it was built and is wanted."""

import os
from importlib.util import find_spec
from types import ModuleType
from typing import Any

VARIABLE = "NORMSCOPE_KERNELS"  # "numpy": leave the extension alone


def _load() -> tuple[ModuleType | None, str]:
    """The extension or None, and why."""
    if os.environ.get(VARIABLE) == "numpy":
        return None, f"{VARIABLE}=numpy asks for it"
    try:
        from . import _native
    except ImportError as error:
        is_there = find_spec(f"{__package__}._native") is not None
        return None, f"the C extension cannot be loaded: {error}" if is_there else "the C extension was not built"
    return _native, "the C extension is there"


NATIVE, WHY = _load()


def _absent(*arguments: Any) -> Any:
    return NotImplemented


norm = NATIVE.norm if NATIVE else _absent
plan = NATIVE.plan if NATIVE else _absent
