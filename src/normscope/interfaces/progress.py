"""A line on stderr that says what a command is doing, once that takes a while."""

import sys
import threading
import time
from collections.abc import Callable
from typing import TextIO

FIRST, EVERY = 1.0, 5.0  # seconds until the first line, and between lines in a log


class Progress:
    """A context manager: after a second it says `status()`; on a terminal it keeps one line current."""

    def __init__(self, stream: TextIO | None = None, first: float = FIRST, every: float = EVERY) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.status: Callable[[], str] = lambda: ""
        self._first, self._every = first, every
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._tell, daemon=True)

    def _tell(self) -> None:
        started, wait = time.monotonic(), self._first
        on_terminal = self.stream.isatty()
        while not self._is_over.wait(wait):
            line = f"normscope: {self.status()} ({time.monotonic() - started:.0f} s)"
            self.stream.write(f"\r\x1b[K{line}" if on_terminal else f"{line}\n")
            self.stream.flush()
            wait = 0.5 if on_terminal else self._every
        if on_terminal and wait != self._first:
            self.stream.write("\r\x1b[K")
            self.stream.flush()

    def __enter__(self) -> "Progress":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
