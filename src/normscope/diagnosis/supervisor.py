"""The process between Normscope and the worker that runs a stranger's code: it ends, and then nothing is left running.

On POSIX the worker is a fork of the supervisor, made while it has one thread and has loaded nothing. The
supervisor ends the worker, and whatever that started, when the worker ends, when it is told to, and when Normscope
itself is gone (the life line, a pipe that Normscope holds open, closes). On Linux processes that left the worker's
group come to the supervisor as their nearest "subreaper" when their parents die, so they are found too.
"""

import os
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

SET_PDEATHSIG, SET_CHILD_SUBREAPER = 1, 36  # of prctl, <linux/prctl.h>
END_SECONDS = 4  # where the system does not tell whose child a process is
BY_SIGNAL = 128  # an exit code beyond this says the signal, as in a shell

ENDING = threading.RLock()  # never released; a signal may find its own thread here already


def supervise(life: int) -> None:
    """Fork: the worker returns from here, the supervisor never does."""
    _prctl(SET_CHILD_SUBREAPER, 1)
    worker = os.fork()
    if worker == 0:
        os.close(life)
        os.setpgid(0, 0)
        _prctl(SET_PDEATHSIG, signal.SIGKILL)
        return
    with suppress(OSError):
        os.setpgid(worker, worker)  # whichever of the two comes first
    signal.signal(signal.SIGTERM, lambda *_: _end(worker, BY_SIGNAL + signal.SIGTERM))
    threading.Thread(target=_watch, args=(life, worker), daemon=True).start()
    os.close(0)  # the requests are the worker's
    code = -signal.SIGKILL
    with suppress(ChildProcessError):  # the other thread was first
        code = os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])
    _end(worker, BY_SIGNAL - code if code < 0 else code)


def _watch(life: int, worker: int) -> None:
    """Wait until the life line closes."""
    with suppress(OSError):
        while os.read(life, 1):
            pass
    _end(worker, BY_SIGNAL + signal.SIGKILL)


def _end(worker: int, code: int) -> None:
    """Kill the worker's group, then every child until there is none; and be gone. Whoever comes second waits."""
    ENDING.acquire()
    with suppress(OSError):
        os.killpg(worker, signal.SIGKILL)
    latest = time.monotonic() + END_SECONDS
    with suppress(ChildProcessError):  # none is left
        while time.monotonic() < latest:
            for child in children():
                with suppress(OSError):
                    os.kill(child, signal.SIGKILL)
            if os.waitpid(-1, os.WNOHANG)[0] == 0:  # those of a dying process come a moment later
                time.sleep(0.002)
    os._exit(code)


def children() -> list[int]:
    """The processes whose parent this one is, where Linux tells."""
    found: list[int] = []
    for each in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError, ValueError):
            found += map(int, each.read_text().split())
    return found


def _prctl(option: int, value: int) -> None:
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    with suppress(OSError, AttributeError):
        libc: Any = ctypes.CDLL(None)
        libc.prctl(option, value, 0, 0, 0)
