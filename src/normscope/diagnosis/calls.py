"""One call of a stranger's function, in this process: arguments bound, answer judged for its form alone.

`Called` is an `Implementation` (probes.py) and knows three things more, which a judgement may read:

ranks     the numbers of dimensions of x at which a first call gave an answer; empty where none did
features  the only size of gamma that it takes, of a module object that cannot be resized; None: any
notes     what a reader should know of how it was called
"""

import contextlib
import io
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..norm import Norm
from ..steps import STATISTICS
from . import results
from .frames import Frame, frames
from .objects import has_forward
from .probes import Answer, Failure, Probe
from .samples import sample
from .targets import Wrong, resolve
from .unset import left_out

IN_PLACE = frozenset(STATISTICS)  # which a BatchNorm in training is there to change
RANKS = {"GroupNorm": (4, 3, 2), "InstanceNorm": (4, 3, 5), "BatchNorm": (2, 4, 3)}
LINE = 200  # characters of a message


class Called:
    """A function, class or module object, called in this process and without limits.

    backward   it gives dx, or (dx, dgamma, dbeta)
    framework  "numpy", "torch" or None: the first of them whose arrays it accepts
    forward    the function whose cache a backward takes
    pulse      called before each of the first calls, by which a limit of time can be held
    """

    def __init__(
        self,
        function: Any,
        norm: Norm,
        *,
        backward: bool = False,
        framework: str | None = None,
        forward: Any = None,
        name: str = "",
        pulse: Callable[[], None] = lambda: None,
    ) -> None:
        self.function, self.norm, self.backward = function, norm, backward
        self.name = name or getattr(function, "__qualname__", type(function).__name__)
        self.frame: Frame | None = None
        self.ranks: tuple[int, ...] = ()
        self.features: int | None = None
        self.printed = Sink()
        self.fatal: Failure | None = None  # out of memory: it is not called again
        self.notes: tuple[str, ...] = ()
        self._problem = ""
        try:
            self.target = resolve(function, norm, backward, forward)
        except Wrong as wrong:
            self._problem = str(wrong)
        else:
            self.frame = self._accepted(frames(function, framework), pulse)
            self.notes = tuple(f"bound by position: {each}." for each in self.target.guessed)
            if not backward:
                self.notes += left_out(norm, self.accepts, has_forward(function))

    @property
    def accepts(self) -> frozenset[str]:
        """The roles that it takes, of probes.ARGUMENTS."""
        return frozenset() if self._problem else self.target.accepts

    def run(self, probes: Sequence[Probe]) -> list[Answer | Failure]:
        """The answer to each probe, or why there is none."""
        return [self.call(probe) for probe in probes]

    def call(self, probe: Probe) -> Answer | Failure:
        """One call: with fresh arguments, its output swallowed, its warnings ignored."""
        if self._problem or self.frame is None:
            why = f"{self.name} cannot be called as {self.norm.name}: {self._problem}."
            return Failure("wrong-signature", why, probe)
        return self.fatal or self._called(self.frame, probe)

    @property
    def is_differentiable(self) -> bool:
        """Whether the framework can take y back to x."""
        return self.frame is not None and self.frame.differentiates and not self._problem

    def _accepted(self, among: Sequence[Frame], pulse: Callable[[], None]) -> Frame:
        """The first framework whose arrays it takes at some rank; the first of all where it takes none."""
        probes = [sample(self.norm, rank, self.backward, self.target.size) for rank in ranks(self.norm)]
        for frame in among:
            answers = [self._tried(frame, probe, pulse) for probe in probes]
            pairs = zip(probes, answers, strict=True)
            going = [probe.x.ndim for probe, answer in pairs if not isinstance(answer, Failure)]
            if going:
                self.ranks = tuple(sorted(going))
                self.features = self._only_size(frame)
                return frame
            if not may_be_tensors(answers):
                break
        return among[0]

    def _tried(self, frame: Frame, probe: Probe, pulse: Callable[[], None]) -> Answer | Failure:
        pulse()
        return self.fatal or self._called(frame, probe)

    def _only_size(self, frame: Frame) -> int | None:
        """The size to which a module object is bound: found by trying another."""
        if self.target.size is None:
            return None
        other = sample(self.norm, self.ranks[0], self.backward, self.target.size + 1)
        return self.target.size if isinstance(self._called(frame, other), Failure) else None

    def _called(self, frame: Frame, probe: Probe) -> Answer | Failure:
        values = probe.arguments()
        given = handed(values, frame)
        arrays = {name: value for name, value in values.items() if getattr(value, "shape", ())}
        before = {name: frame.cells_of(given[name], value) for name, value in arrays.items()}
        try:
            with quiet(self.printed):
                result = self.target.call(frame, given)
        except MemoryError as error:
            self.fatal = Failure("memory", f"{self.name} ran out of memory: {first_line(error)}", probe)
            return self.fatal
        except BaseException as error:  # SystemExit and KeyboardInterrupt of the function too
            if isinstance(error, KeyboardInterrupt):
                raise
            return Failure("raises", told(error), probe)
        allowed = IN_PLACE if self.norm.name == "BatchNorm" and not self.norm.running else set()
        for name, cells in before.items():
            if name not in allowed and frame.cells_of(given[name], values[name]) != cells:
                return Failure("modifies-input", f"{self.name} changes its argument {name}.", probe)
        answer = results.read(result, frame, probe, self.norm, self.backward)
        if isinstance(answer, Failure):
            return answer
        return {**answer, **self._running(frame, given, probe, answer)}

    def _running(self, frame: Frame, given: Mapping[str, Any], probe: Probe, answer: Answer) -> Answer:
        """Running statistics that were updated in place, where none were returned."""
        if self.backward or self.norm.name != "BatchNorm" or self.norm.running or STATISTICS[0] in answer:
            return {}
        kept = {name: results.like(frame.take(each), probe, name) for name, each in self.target.kept(given).items()}
        old = {name: getattr(probe, name) for name in STATISTICS}
        return {name: kept[name] for name in STATISTICS if name in kept and not same(kept[name], old[name])}


class Sink(io.TextIOBase):
    """Where printed text goes: its start is kept, the rest only counted."""

    def __init__(self) -> None:
        self.count, self.start = 0, ""

    def write(self, text: str) -> int:
        """Count the text."""
        self.count += len(text)
        if len(self.start) < LINE:
            self.start += text[:LINE]
        return len(text)

    def writable(self) -> bool:
        """It takes text."""
        return True


@contextlib.contextmanager
def quiet(sink: Sink) -> Iterator[None]:
    """Printed text goes to `sink`; warnings, NumPy's too, go nowhere."""
    import numpy as np

    with contextlib.redirect_stdout(sink), contextlib.redirect_stderr(sink), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with np.errstate(all="ignore"):
            yield


def ranks(norm: Norm) -> tuple[int, ...]:
    """The numbers of dimensions of x that are tried, the usual first."""
    if "..." not in norm.pattern:
        return (len(norm.layout.dims),)
    least = len(norm.layout.dims) - 1
    return tuple(rank for rank in RANKS.get(norm.name, (2, 3, 4)) if rank >= least)


def handed(values: Mapping[str, Any], frame: Frame) -> dict[str, Any]:
    """The arguments in the framework's arrays; numbers as Python's own, since NumPy's would widen a float32."""
    arrays = {name: frame.give(value) for name, value in values.items() if getattr(value, "shape", ())}
    return {name: arrays[name] if name in arrays else getattr(value, "item", lambda value=value: value)()
            for name, value in values.items()}  # fmt: skip


def may_be_tensors(answers: Sequence[Answer | Failure]) -> bool:
    """Whether what went wrong with NumPy's arrays may be that they are no tensors."""
    kinds = ("TypeError", "AttributeError", "it returns a ")
    texts = [answer.text for answer in answers if isinstance(answer, Failure)]
    return "torch" in sys.modules or any(text.startswith(kinds) for text in texts)


def same(one: Any, other: Any) -> bool:
    """Whether two arrays hold the same cells, which arrays of unlike sizes never do."""
    if one is None or other is None or one.size != other.size:
        return False
    return bool((one.reshape(-1) == other.reshape(-1)).all())


def root(array: Any) -> Any:
    """The array that owns the memory of a view."""
    while hasattr(array.base, "tobytes"):
        array = array.base
    return array


def first_line(error: BaseException) -> str:
    """The first line of a message, not too long."""
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return text if len(text) <= LINE else text[: LINE - 1] + "…"


def told(error: BaseException) -> str:
    """An exception in one line, with the line of the person's code that raised it."""
    frame = next((each for each in reversed(traceback.extract_tb(error.__traceback__)) if _theirs(each.filename)), None)
    where = f" (line {frame.lineno} of {frame.filename.rpartition('/')[2]})" if frame else ""
    said = first_line(error)
    return f"{type(error).__name__}{': ' + said if said else ''}{where}"


def _theirs(path: str) -> bool:
    """Whether a file is neither ours nor a library's."""
    return not any(part in path for part in ("/normscope/diagnosis/", "site-packages", "/lib/python", "<frozen"))
