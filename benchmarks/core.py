"""Imports, the command line, trace() beside plain NumPy, the staged run beside the ledger."""

import gc
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from .table import Figure, truth

ROUNDS = 15
SHAPE = (8, 1024, 768)
STAGED = (8, 128, 768)


def figures() -> Iterator[Figure]:
    yield importing()
    yield helping()
    yield tracing()
    yield from staged_bytes()


def seconds(function: Callable[[], object]) -> float:
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


def interleaved(*functions: Callable[[], object]) -> list[float]:
    """The median seconds of each, measured in turn so that what slows the machine slows all of them."""
    for function in functions:
        function()
    rounds = [[seconds(function) for function in functions] for _ in range(ROUNDS)]
    return [median(times) for times in zip(*rounds, strict=True)]


def command(*words: str | Path) -> Callable[[], object]:
    return lambda: subprocess.run(words, check=True, capture_output=True)


def importing() -> Figure:
    bare, full = interleaved(*(command(sys.executable, "-c", code) for code in ("pass", "import normscope")))
    return Figure("import normscope, over bare Python", (full - bare) * 1000, "ms", 60, 60)


def helping() -> Figure:
    (time_taken,) = interleaved(command(Path(sys.executable).with_name("normscope"), "--help"))
    return Figure("normscope --help", time_taken, "s", 0.25, 0.25)


def tracing() -> Figure:
    import numpy as np

    import normscope as ns

    draw = np.random.default_rng(0)
    x = draw.standard_normal(SHAPE, dtype=np.float32)
    gamma, beta = draw.standard_normal((2, SHAPE[-1]), dtype=np.float32)
    norm = ns.layer_norm()
    ours, plain = interleaved(lambda: ns.trace(x, norm, gamma, beta), lambda: plain_steps(x, gamma, beta))
    return Figure(f"trace of {SHAPE} float32 / the same steps in plain NumPy", ours / plain, "x", 1.3, 1.3)


def plain_steps(x: Any, gamma: Any, beta: Any) -> dict[str, Any]:
    """LayerNorm as one writes it in NumPy, every step kept."""
    import numpy as np

    kept = {"mu": x.mean(-1, keepdims=True)}
    kept["c"] = x - kept["mu"]
    kept["q"] = kept["c"] * kept["c"]
    kept["var"] = kept["q"].mean(-1, keepdims=True)
    kept["r"] = 1 / np.sqrt(kept["var"] + np.float32(1e-5))
    kept["xhat"] = kept["c"] * kept["r"]
    kept["scaled"] = kept["xhat"] * gamma
    kept["y"] = kept["scaled"] + beta
    return kept


def staged_bytes() -> Iterator[Figure]:
    import normscope as ns

    norm = ns.layer_norm()
    for storage in ("float32", "float16", "bfloat16"):
        predicted = ns.ledger(norm, STAGED, storage).peak_bytes
        live = live_bytes(norm, storage)
        yield truth(f"staged run, {storage}: {live:,} live bytes, ledger {predicted:,}", live == predicted)


def live_bytes(norm: Any, storage: str) -> int:
    """What NumPy's allocator holds after a staged run, the inputs included."""
    import numpy as np

    from normscope.views.staged import dtype_of, staged

    dtype = dtype_of(storage)
    gc.collect()
    tracemalloc.start()
    x = np.ones(STAGED, dtype)
    gamma, beta = np.ones(STAGED[-1], dtype), np.zeros(STAGED[-1], dtype)
    kept = staged(x, norm, gamma, beta, storage)
    snapshot = tracemalloc.take_snapshot()
    tracemalloc.stop()
    arrays = snapshot.filter_traces([tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)])
    del kept
    return sum(trace.size for trace in arrays.traces)
