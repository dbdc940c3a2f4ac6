"""The ways to compute that the tests of the kernels compare: NumPy's, and the C code's, forced one by one."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from normscope import kernels
from normscope.kernels import fallback
from normscope.kernels.extension import NATIVE

NUMPY = "numpy"
WAYS = {
    "portable": ("portable", "plain"),
    "avx2": ("avx2", "plain"),
    "avx2-streaming": ("avx2", "streaming"),
    "avx512": ("avx512", "plain"),
    "avx512-streaming": ("avx512", "streaming"),
}


@contextmanager
def forced(name: str) -> Iterator[Any]:
    """The functions of the kernels, computing this way as long as the context lasts."""
    if name == NUMPY:
        yield fallback
        return
    NATIVE.force(*WAYS[name])
    try:
        yield kernels
    finally:
        NATIVE.force(None, None)


def _works(name: str) -> bool:
    """Whether the extension was built, and this processor has the instructions."""
    try:
        with forced(name):
            return True
    except (AttributeError, ValueError):
        return False


ENGINES = [NUMPY, *filter(_works, WAYS)]
