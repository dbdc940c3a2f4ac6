"""The parent's side of the child process: started, asked under limits, and ended with all that it started."""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import wire
from .supervisor import BY_SIGNAL

BOOT = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from normscope.diagnosis.worker import main
main(sys.argv[2])
"""
START_SECONDS = 60  # for our own code in the child, whatever else the machine does
STOP_SECONDS = 5
KEPT = 8000  # bytes of its output, of either end
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")  # one each, unless the person says more


@dataclass(frozen=True)
class Limits:
    """What a stranger's code may use.

    time    seconds for the import, and for any one call; all calls together have six times as many
    memory  MB of memory that can be written to, PyTorch's own share of some 250 MB included
    """

    time: float = 10.0
    memory: int = 2048


class Died(Exception):
    """The child is gone: `kind` is timeout, crash or memory; `more` what else a message of it should say."""

    def __init__(self, kind: str, text: str, more: str = "") -> None:
        super().__init__(text + more)
        self.kind, self.more = kind, more


class Child:
    """One child process. A context manager: at its end nothing is left running."""

    def __init__(self, limits: Limits = Limits(), path: Sequence[str] | None = None) -> None:
        self.limits = limits
        self.status = "starting a child process"
        self.worker: int | None = None  # the id of the process that runs a stranger's code
        self.output = Output()
        self._path = [os.path.abspath(each) for each in (sys.path if path is None else path)]
        self._process: subprocess.Popen[bytes] | None = None
        self._messages: queue.Queue[wire.Message | None] = queue.Queue()
        self._life: int | None = None
        self.start()

    def start(self) -> None:
        """A new interpreter, which loads NumPy while the caller goes on."""
        keys: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        life = None
        if os.name == "posix":
            life, self._life = os.pipe()
            keys |= {"pass_fds": (life,), "start_new_session": True}
        settings = json.dumps({"life": life, "memory": self.limits.memory << 20})
        command = [sys.executable, "-X", "faulthandler", "-c", BOOT, json.dumps(self._path), settings]
        env = dict.fromkeys(THREADS, "1") | dict(os.environ)
        self._process = subprocess.Popen(command, env=env, **keys)
        if life is not None:
            os.close(life)
        self._messages = queue.Queue()
        pairs = ((self._listen, self._process.stdout), (self.output.drain, self._process.stderr))
        self._readers = [threading.Thread(target=f, args=(stream, self._messages), daemon=True) for f, stream in pairs]
        for reader in self._readers:
            reader.start()
        self._is_greeted = False

    @staticmethod
    def _listen(stream: Any, messages: "queue.Queue[wire.Message | None]") -> None:
        """Every answer into the queue; None at the end."""
        with suppress(wire.Garbled, OSError, ValueError):
            while (message := wire.read(stream)) is not None:
                messages.put(message)
        messages.put(None)

    def ask(self, request: Mapping[str, Any]) -> None:
        """Send a request; Died where nobody is there."""
        if self._process is None or self._process.stdin is None:
            raise Died("crash", "the process is gone")
        if not self._is_greeted:
            self.worker = self.answer(START_SECONDS, "starting").get("pid")
            self._is_greeted = True
        try:
            wire.write(self._process.stdin, request)  # type: ignore[arg-type]
        except OSError:
            raise self._gone() from None

    def answer(self, seconds: float, doing: str) -> wire.Message:
        """The next answer; Died where it does not come in time, or where the process ended."""
        try:
            message = self._messages.get(timeout=max(seconds, 0))
        except queue.Empty:
            held = self._held()
            self.close()
            raise Died("timeout", f"{doing} took longer than {seconds:g} s", held) from None
        if message is None:
            raise self._gone()
        return message

    def _held(self) -> str:
        """What the worker holds, where that is more than half of its limit: both may be one fault."""
        held = memory_of(self.worker)
        if 2 * held <= self.limits.memory:
            return ""
        return f", and it held {held:,} MB of the {self.limits.memory:,} MB that it may by then"

    def _gone(self) -> Died:
        """How the process ended."""
        code = self.close(patience=1)
        said = f" ({self.output.last})" if self.output.last else ""
        if code is not None and code > BY_SIGNAL:
            with suppress(ValueError):
                return Died("crash", f"the process was ended by {signal.Signals(code - BY_SIGNAL).name}{said}")
        return Died("crash", f"the process ended with exit code {code}{said}")

    def close(self, patience: float = 0.0) -> int | None:
        """End the child and all that it started, after so many seconds in which it may end itself; its exit code."""
        process, self._process = self._process, None
        if process is None:
            return None
        with suppress(subprocess.TimeoutExpired):
            process.wait(patience)
        self._cut_life(process)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:  # the supervisor itself was stopped
            os.killpg(process.pid, signal.SIGKILL) if os.name == "posix" else process.kill()
        for reader in self._readers:
            reader.join(STOP_SECONDS)
        for stream in (process.stdin, process.stdout, process.stderr):
            with suppress(OSError):
                if stream is not None and not any(reader.is_alive() for reader in self._readers):
                    stream.close()  # which would wait for a reader
        return process.wait()

    def _cut_life(self, process: "subprocess.Popen[bytes]") -> None:
        """Close the life line: the supervisor ends everything. Where there is none, end the child."""
        if self._life is None:
            process.kill()
            return
        os.close(self._life)
        self._life = None

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def memory_of(pid: int | None) -> int:
    """The MB that a process holds, as the limit counts them; 0 where the system does not tell."""
    with suppress(OSError, ValueError, StopIteration):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmData:")).split()[1]) >> 10
    return 0


class Output:
    """What the child writes to its standard streams: its start and its last line are kept, the rest only counted."""

    def __init__(self) -> None:
        self.count, self.start, self.end = 0, b"", b""

    def drain(self, stream: Any, _: object) -> None:
        """Read until nobody writes any more."""
        with suppress(OSError, ValueError):
            while piece := stream.read1(1 << 16):
                self.count += len(piece)
                self.start += piece[: KEPT - len(self.start)] if len(self.start) < KEPT else b""
                self.end = (self.end + piece)[-KEPT:]

    @property
    def last(self) -> str:
        """What a dying interpreter says and where it was, or the last line of all."""
        lines = [line.strip() for line in self.end.decode(errors="replace").splitlines() if line.strip()]
        fatal = [line for line in lines if line.startswith("Fatal")]
        theirs = [line for line in lines if line.startswith("File ") and "/normscope/" not in line]
        return ", ".join([*fatal[-1:], *theirs[:1]] or lines[-1:])[:200]
