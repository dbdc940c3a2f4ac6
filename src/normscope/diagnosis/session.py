"""Functions loaded into a child process, as implementations; asked again in a new one where they end it."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..errors import ImplementationError
from ..norm import Norm
from . import wire
from .child import Child, Died
from .probes import Answer, Failure, Probe
from .samples import sample

CALLS = 6  # all calls together may take so many times what one may
RESTARTS = 3


class Remote:
    """A function in the child process, as an implementation."""

    def __init__(self, session: "Session", kind: str, told: Mapping[str, Any]) -> None:
        self.session, self.kind = session, kind
        self.name = str(told["name"])
        self.accepts = frozenset(map(str, told["accepts"]))
        self.ranks = tuple(map(int, told["ranks"]))
        self.features: int | None = told["features"]
        self.notes = tuple(map(str, told["notes"]))
        self.missing = tuple(map(str, told["missing"]))

    def run(self, probes: Sequence[Probe]) -> list[Answer | Failure]:
        """The answers in order; where the process died, that is the answer of the probe that did it."""
        return self.session.run(self, probes)


class Session:
    """Functions loaded into a child, asked again in a new one where they end it."""

    def __init__(self, child: Child, load: Mapping[str, Any], prepare: Mapping[str, Any]) -> None:
        self.child, self._load, self._prepare = child, load, prepare
        self.left = CALLS * child.limits.time
        self.failure: Failure | None = None
        self.restarts = 0
        self.notes: tuple[str, ...] = ()
        self.printed = (0, "")
        self.calls = 0

    def load(self) -> wire.Message:
        """Import the files in the child; what it said."""
        limit = self.child.limits.time
        self.child.status = "importing"
        self.child.ask(self._load)
        return self.child.answer(limit, "the import")

    def prepare(self, names: Mapping[str, str]) -> dict[str, Remote]:
        """The functions, once each has been bound and called for the first time."""
        self.child.status = "calling for the first time"
        try:
            self.child.ask(self._prepare)
            told = self._prepared(" or ".join(names.values()))
        except Died as died:
            norm = Norm.from_json(self._prepare["norm"])
            probe = sample(norm, max(2, len(norm.layout.dims)), "forward" not in names)
            self.failure = Failure(died.kind, f"{died}.", probe)
            silent = {"accepts": ["x", "gamma", "beta", "eps"], "ranks": [], "features": None, "notes": []}
            return {kind: Remote(self, kind, silent | {"name": name, "missing": []}) for kind, name in names.items()}
        self.notes = tuple(map(str, told["notes"]))
        return {kind: Remote(self, kind, each) for kind, each in told["parts"].items()}

    def _prepared(self, name: str) -> wire.Message:
        """What the functions take; every first call has the time of a call."""
        while "pulse" in (told := self._answer(f"a call of {name}")):
            pass
        return told

    def run(self, remote: Remote, probes: Sequence[Probe]) -> list[Answer | Failure]:
        """Ask for as many as the child answers; restart it for the rest where one of them ended it."""
        answers: list[Answer | Failure] = []
        while len(answers) < len(probes):
            if self.failure is not None:
                return [*answers, *([self.failure] * (len(probes) - len(answers)))]
            answers += self._some(remote, probes[len(answers) :])
        return answers

    def _some(self, remote: Remote, probes: Sequence[Probe]) -> list[Answer | Failure]:
        """The answers of one request, the last of them a failure where the child died."""
        answers: list[Answer | Failure] = []
        try:
            self.child.ask({"do": "run", "of": remote.kind, "probes": [wire.from_probe(each) for each in probes]})
            for probe in probes:
                self.calls += 1
                self.child.status = f"call {self.calls} of {remote.name}"
                answers.append(self._one(remote, probe))
        except (Died, wire.Garbled) as died:
            kind = died.kind if isinstance(died, Died) else "crash"
            failure = Failure(kind, f"{died}.", probes[len(answers)])
            answers.append(failure)
            self._again(failure)
        return answers

    def _one(self, remote: Remote, probe: Probe) -> Answer | Failure:
        message = self._answer(f"a call of {remote.name}")
        printed = message.pop("printed", None)
        if isinstance(printed, list):
            self.printed = (int(printed[0]), str(printed[1]))
        answer = wire.to_answer(message, probe)
        if isinstance(answer, Failure) and answer.kind == "memory":
            return replace(answer, text=f"{answer.text} The limit is {self.child.limits.memory:,} MB.")
        return answer

    def _answer(self, doing: str) -> wire.Message:
        """The next answer, in the time for one call and within that for all."""
        started, limit = time.monotonic(), self.child.limits.time
        try:
            message = self.child.answer(min(limit, self.left), doing)
        except Died as died:
            if died.kind == "timeout" and self.left < limit:
                raise Died("timeout", f"{self.calls} calls took longer than {CALLS * limit:g} s", died.more) from None
            raise
        self.left -= time.monotonic() - started
        if "fault" in message:
            raise ImplementationError(f"{doing} could not be made: {message['fault']}")
        return message

    def _again(self, failure: Failure) -> None:
        """A new child with the same functions after a crash; after a timeout or too many crashes, no more."""
        self.restarts += 1
        if failure.kind == "timeout" or self.restarts > RESTARTS:
            self.failure = failure
            return
        try:
            self.child.start()
            self.load()
            self.child.ask(self._prepare)
            self._prepared("it")
        except Died:
            self.failure = failure
