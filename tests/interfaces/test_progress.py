"""What a command says while it takes long."""

import io
import time

from normscope.interfaces.progress import Progress


def told(seconds: float, on_terminal: bool) -> str:
    stream = io.StringIO()
    stream.isatty = lambda: on_terminal
    with Progress(stream, first=0.05, every=0.05) as progress:
        progress.status = lambda: "judging"
        time.sleep(seconds)
    return stream.getvalue()


def test_nothing_is_said_of_what_is_quick():
    assert told(0.0, False) == ""


def test_a_log_gets_lines_and_a_terminal_one_line_that_is_wiped():
    assert told(0.3, False).startswith("normscope: judging (0 s)\n")
    written = told(0.3, True)
    assert "\n" not in written
    assert written.startswith("\r\x1b[Knormscope: judging")
    assert written.endswith("\r\x1b[K")
