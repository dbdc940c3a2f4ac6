"""Predicted beside measured, on this machine: what every engine keeps and how long it takes beside a copy.

A fused norm reads x once and writes y once, which is what copying x does; so the copy, made by the same number of
threads in the same run, is the limit. Bytes are counted by NumPy's own allocator (tracemalloc), times are medians of
samples taken in turn (`timing`).
"""

import gc
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..norm import Norm
from ..views.ledger import Ledger
from . import engines, other_engines, timing
from .engines import Array, Engine, Given, Missing, Task
from .limits import checked

SECONDS = 6.0
ENGINES: Mapping[str, Callable[[Task], Engine]] = {
    "staged": engines.staged,
    "numpy": engines.numpy_steps,
    "fused": engines.fused,
    "fused out": engines.fused_out,
    "pytorch": other_engines.pytorch,
    "onnxruntime": other_engines.onnxruntime,
}
COPIES = ("NumPy copy", "plain copy", "streaming copy")


class Row(NamedTuple):
    """One engine.

    predicted_bytes  what it should keep, inputs and result included; None where nothing says
    measured_bytes   what it was seen to keep; None where it cannot be seen
    moved_bytes      what should pass between memory and processor; None where nothing says
    seconds          the median of a call
    of_copy_limit    the time in which a copy moves x, the parameters and y, over the time it took: 1 is the limit
    """

    engine: str
    predicted_bytes: int | None
    measured_bytes: int | None
    moved_bytes: int | None
    seconds: float
    of_copy_limit: float


@dataclass(frozen=True)
class Measurement:
    """What was measured.

    copy_gbps  of the copy, bytes read and bytes written together, in 10^9 a second
    yardstick  which copy was the fastest
    kernel     how the fused kernel ran, in its own words
    missing    the engines that were not measured, with the reason
    """

    ledger: Ledger
    shape: tuple[int, ...]
    threads: int
    copy_gbps: float
    yardstick: str
    kernel: str
    rows: tuple[Row, ...]
    missing: Mapping[str, str]

    def to_json(self) -> dict[str, Any]:
        """The measurement as JSON values."""
        cost = self.ledger
        asked: dict[str, Any] = {"norm": cost.norm.to_json(), "shape": list(self.shape), "storage": cost.storage}
        asked["x_bytes"] = cost.inputs["x"]
        how = {"threads": self.threads, "copy_gbps": self.copy_gbps, "yardstick": self.yardstick, "kernel": self.kernel}
        return asked | how | {"rows": [row._asdict() for row in self.rows], "missing": dict(self.missing)}


def measure(
    shape: Sequence[int],
    norm: Norm | None = None,
    storage: str = "float32",
    *,
    threads: int = 1,
    seconds: float = SECONDS,
    watch: Callable[[str], None] = lambda doing: None,
) -> Measurement:
    """Run every engine that is there on random numbers.

    shape    of x; the norm is over its last axis
    storage  float32, float64, float16 or bfloat16
    threads  of the kernel, the copy, PyTorch and ONNX Runtime
    seconds  after which no new round of samples begins
    watch    is told what is being done

    >>> made = measure((2, 4, 8), seconds=0.05)
    >>> row = made.rows[0]
    >>> row.engine, row.predicted_bytes, row.measured_bytes
    ('staged', 1408, 1408)

    Raises ShapeError, NormError or DtypeError for what no engine takes.
    """
    cost = checked(shape, norm, storage)
    watch("making the engines ready")
    task = prepared(cost, tuple(shape), threads)
    ready, missing = _ready(task)
    measured = {}
    for name, engine in ready.items():
        watch(f"{name}, its bytes")
        measured[name] = _measured(cost, engine, task)
    given, work = task.given, copies(task)
    work |= {name: lambda run=engine.run: run(*given) for name, engine in ready.items()}  # type: ignore[misc]
    times = timing.interleaved(work, seconds, watch=lambda done, of: watch(f"timing, {_bar(done, of)}"))
    return _made(task, tuple(shape), ready, measured, times, missing)


def prepared(cost: Ledger, shape: tuple[int, ...], threads: int) -> Task:
    """Random numbers for a norm, and how it is to run."""
    from ..views.arrays import machine_eps

    given = _inputs(cost, shape, True)
    eps = machine_eps(given.x) if cost.norm.eps is None else float(cost.norm.eps)
    return Task(cost, given, eps, threads)


def _inputs(cost: Ledger, shape: tuple[int, ...], with_out: bool) -> Given:
    """Random numbers, of which nothing but the arrays themselves is left in memory."""
    import numpy as np

    from ..views.formats import dtype_of

    draw, dtype = np.random.default_rng(0), dtype_of(cost.storage)

    def numbers(*sizes: int) -> Array:
        return draw.standard_normal(sizes, dtype=np.float32).astype(dtype, copy=False)

    names = {"gamma": cost.norm.scale, "beta": cost.norm.shift}
    made = {name: numbers(shape[-1]) for name, is_there in names.items() if is_there}
    return Given(numbers(*shape), **made, out=np.zeros(shape, dtype) if with_out else None)


def _ready(task: Task) -> tuple[dict[str, Engine], dict[str, str]]:
    """The engines that are there, and why the others are not."""
    ready, missing = {}, {}
    for name, make in ENGINES.items():
        try:
            ready[name] = make(task)
        except Missing as reason:
            missing[name] = str(reason)
    return ready, missing


def _measured(cost: Ledger, engine: Engine, task: Task) -> int | None:
    """Bytes of what an engine was given and of what it keeps."""
    if engine.held is None:
        return live_bytes(lambda: _inputs(cost, task.given.x.shape, engine.fills), engine.run)
    held = engine.held()
    return None if held is None else held + sum(each.nbytes for each in task.given[:3] if each is not None)


def live_bytes(inputs: Callable[[], Sequence[Any]], run: Callable[..., Any]) -> int:
    """What NumPy's allocator holds after a run, its inputs included, to the byte."""
    import numpy as np

    run(*inputs())  # what a library allocates once
    gc.collect()
    tracemalloc.start()
    try:
        given = inputs()
        kept = run(*given)
        gc.collect()
        only_numpy = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)
        traces = tracemalloc.take_snapshot().filter_traces([only_numpy]).traces
    finally:
        tracemalloc.stop()
    del kept
    return sum(trace.size for trace in traces)


def copies(task: Task) -> dict[str, timing.Work]:
    """Ways to copy x, of which the fastest is the limit."""
    import numpy as np

    from .extension import NATIVE

    source, target = (each.reshape(-1).view(np.uint8) for each in (task.given.x, task.given.out))
    work: dict[str, timing.Work] = {COPIES[0]: lambda: np.copyto(target, source)}
    if NATIVE is None:
        return work
    work[COPIES[1]] = lambda: NATIVE.copy(target, source, task.threads, False)
    work[COPIES[2]] = lambda: NATIVE.copy(target, source, task.threads, True)
    return work


def _made(
    task: Task,
    shape: tuple[int, ...],
    ready: Mapping[str, Engine],
    measured: Mapping[str, int | None],
    times: Mapping[str, float],
    missing: Mapping[str, str],
) -> Measurement:
    cost = task.ledger
    yardstick = min((name for name in times if name in COPIES), key=times.__getitem__)
    rate = 2 * task.given.x.nbytes / times[yardstick]

    def row(name: str, engine: Engine) -> Row:
        share = cost.fused_bytes / rate / times[name]
        return Row(name, engine.predicted, measured[name], engine.moved, times[name], share)

    rows = tuple(row(name, engine) for name, engine in ready.items())
    return Measurement(cost, shape, task.threads, rate / 1e9, yardstick, _how(task), rows, missing)


def _how(task: Task) -> str:
    """How the fused kernel runs with out=, in a few words."""
    from .explanation import explain

    made = explain(task.given.x, out=task.given.out, threads=task.threads)
    threads = f"{made.threads} thread{'' if made.threads == 1 else 's'}"
    if made.path == "numpy":
        return "the fallback in NumPy, since there is no C extension"
    return f"the C extension, {made.instructions}, {threads}, {made.stores} stores"


def _bar(done: int, of: int) -> str:
    """A bar of twenty places.

    >>> _bar(5, 20)
    '[#####...............] round 6 of 20'
    """
    full = 20 * done // of
    return f"[{'#' * full}{'.' * (20 - full)}] round {done + 1} of {of}"
