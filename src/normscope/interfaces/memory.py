"""How much memory a trace needs, how much there is, and the refusal where it does not fit."""

import os
from collections.abc import Sequence
from pathlib import Path

from ..errors import FileError
from ..gradients import training
from ..norm import Norm
from ..page.numbers import bytes_, count
from ..steps import forward, trace_bytes

MEMINFO = Path("/proc/meminfo")
GROUP = Path("/sys/fs/cgroup")  # a container's own limit, cgroup version 2


def needed(norm: Norm, shape: Sequence[int], width: int, backward: bool = False) -> int:
    """Bytes of a trace of an x of this shape, at `width` bytes a cell; with the steps back if they are wanted.

    >>> needed(Norm("... [d]"), (2, 4), 4)
    160
    """
    norm = norm.fit(len(shape))
    program = training(norm) if backward else forward(norm)
    return trace_bytes(program, norm.sizes_for(shape), width)


def available() -> int | None:
    """Bytes that can be had without swapping, within a container's limit; None where nobody says."""
    known = [bytes_free for bytes_free in (_of_machine(), _of_container()) if bytes_free is not None]
    return min(known, default=None)


def _of_machine() -> int | None:
    try:
        line = next(line for line in MEMINFO.read_text().splitlines() if line.startswith("MemAvailable:"))
        return int(line.split()[1]) * 1024
    except (OSError, StopIteration):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _of_container() -> int | None:
    try:
        limit = (GROUP / "memory.max").read_text().strip()
        used = int((GROUP / "memory.current").read_text())
    except (OSError, ValueError):
        return None
    return max(0, int(limit) - used) if limit.isdigit() else None


def check(path: str, norms: Sequence[Norm], shape: Sequence[int], width: int, backward: bool = False) -> None:
    """Raise FileError where a trace of x from `path` by each of the norms would not fit in memory."""
    wanted, free = sum(needed(norm, shape, width, backward) for norm in norms), available()
    if free is not None and wanted > free:
        raise FileError(
            f"x from {path}: a trace keeps every step, {count(wanted)} bytes ({bytes_(wanted)}), and "
            f"{count(free)} bytes ({bytes_(free)}) are available; "
            f"`normscope open {path}` shows any window of it without reading the rest."
        )
