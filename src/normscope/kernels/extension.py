"""The C extension, where it was built and is wanted."""

import os
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
        return None, f"the C extension was not built, or cannot be loaded: {error}"
    return _native, "the C extension is there"


NATIVE, WHY = _load()


def _absent(*arguments: Any) -> Any:
    return NotImplemented


norm = NATIVE.norm if NATIVE else _absent
plan = NATIVE.plan if NATIVE else _absent
