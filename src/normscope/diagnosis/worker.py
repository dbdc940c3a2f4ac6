"""The child process: it imports a stranger's file, and calls its functions as it is asked to.

Started as a new interpreter, never as a fork of Normscope: no state, lock or thread of the caller is there to be
spoiled. Requests come on the first standard stream and answers leave by the second; both are moved away first, so
that a stranger's `print` and `input` meet neither.
"""

import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, BinaryIO

from ..errors import ImplementationError
from ..norm import Norm
from . import loading, wire
from .calls import told
from .supervisor import supervise


def main(text: str) -> None:
    """Serve one parent until it is done; `text` is JSON of the life line and the limit."""
    settings = json.loads(text)
    if settings["life"] is not None:
        supervise(settings["life"])
    limit(settings["memory"])
    requests, answers = streams()
    from . import pair  # noqa: F401  NumPy with it, before a person's folder stands on the path

    sys.dont_write_bytecode = True  # that folder stays as it is
    sys.argv = ["normscope"]
    wire.write(answers, {"pid": os.getpid()})
    Worker(answers).serve(requests)
    os._exit(0)  # not through a stranger's atexit


def limit(memory: int) -> None:
    """At most so many bytes of memory that can be written to, and no core files. Where the system has such limits."""
    try:
        import resource
    except ImportError:  # Windows
        return
    for what, most in ((resource.RLIMIT_DATA, memory), (resource.RLIMIT_CORE, 0)):
        with suppress(OSError, ValueError):
            resource.setrlimit(what, (most, most))


def streams() -> tuple[BinaryIO, BinaryIO]:
    """The two ends of the talk, out of a stranger's way: stdin is empty now, and stdout goes where stderr does."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    return requests, answers


class Worker:
    """What has been loaded, and how it answers."""

    def __init__(self, answers: BinaryIO) -> None:
        self.answers = answers
        self.functions: dict[str, Any] = {}
        self.called: dict[str, Any] = {}

    def serve(self, requests: BinaryIO) -> None:
        """Answer until nobody asks any more."""
        tasks = {"load": self.load, "prepare": self.prepare, "run": self.run}
        while (request := wire.read(requests)) is not None:
            try:
                tasks[request["do"]](request)
            except Exception as error:  # of our own code, or of an object that raises when it is looked at
                self.answer(fault=_told(error))

    def answer(self, **message: Any) -> None:
        """One message to the parent."""
        sys.stdout.flush()
        wire.write(self.answers, message)

    def load(self, request: Mapping[str, Any]) -> None:
        """Import the files; the answer says what went wrong, if anything did."""
        for kind, (module, file, name) in request["functions"].items():
            place = loading.Place(module, file)
            try:
                self.functions[kind] = loading.found(loading.imported(place), place, name)
            except ImplementationError as error:
                return self.answer(missing=str(error))
            except ModuleNotFoundError as error:
                if error.name and not file and f"{module}.".startswith(f"{error.name}."):
                    return self.answer(missing=f"there is no module '{module}' here.")
                return self.answer(broken=_told(error))
            except BaseException as error:
                return self.answer(broken=_told(error))
        return self.answer(loaded=True)

    def prepare(self, request: Mapping[str, Any]) -> None:
        """Bind the arguments and try a first call; the answer says what each function takes."""
        from .pair import Pair

        norm = Norm.from_json(request["norm"])
        forward, backward = (self.functions.get(kind) for kind in ("forward", "backward"))
        names = request["names"]
        shown = names.get("forward"), names.get("backward")
        pair = Pair.of(forward, backward, norm, request["framework"], *shown, lambda: self.answer(pulse=True))
        self.called = {kind: each for kind, each in pair.parts.items() if each is not None}
        described = {kind: describe(each) for kind, each in self.called.items()}
        self.answer(parts=described, notes=list(pair.notes))

    def run(self, request: Mapping[str, Any]) -> None:
        """Answer probe by probe, so that the parent knows which one takes too long."""
        called = self.called[request["of"]]
        for probe in request["probes"]:
            (answer,) = called.run([wire.to_probe(probe)])
            printed = called.printed
            self.answer(**wire.from_answer(answer), printed=[printed.count, printed.start])


def describe(called: Any) -> dict[str, Any]:
    """What the parent's stand-in says of itself."""
    return {
        "name": called.name,
        "accepts": sorted(called.accepts),
        "ranks": list(called.ranks),
        "features": called.features,
        "notes": list(called.notes),
        "missing": list(getattr(called, "missing", ())),
    }


def _told(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"it ends the process ({told(error)})."
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg} (line {error.lineno} of {os.path.basename(error.filename or '')})."
    return f"{told(error)}."
