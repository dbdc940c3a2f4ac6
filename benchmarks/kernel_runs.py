"""What is run for the kernels' table, and what each ratio must and should be.

Shapes are rows and d. A ratio to a copy is time over time: 1 is the limit. A ratio to another engine says how many
times longer that takes. Where nothing else is said, y is written into an array that is there already, and PyTorch's
memory is kept between calls, so that no engine waits for fresh pages; "as called" leaves PyTorch as it comes.
"""

import ctypes
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from normscope.interfaces.machine import cores
from normscope.kernels import engines, layer_norm, layer_norm_backward, limits, measure, timing
from normscope.norm import layer_norm as the_norm

from .table import Figure, Missing

SECONDS, ROUNDS = 4.0, 41
MIB = 2**20
LARGE = ((8192, 768), (2048, 4096), (8192, 4096), (1024, 8192))
WIDE = (512, 12288)
CACHED = (96, 768)  # x and y fit a core's own cache
AS_CALLED = ((2048, 4096), (8192, 4096))
HALVES = {"float16": (2.0, 2.5), "bfloat16": (1.4, 2.0)}
HALF_SHAPE = (4096, 4096)
BACKWARD = ((8192, 768), (2048, 4096))
KEEP = {-4: 0, -1: -1}  # glibc's mallopt: M_MMAP_MAX, M_TRIM_THRESHOLD
OTHERS = {"pytorch": "PyTorch", "onnxruntime": "ONNX Runtime"}


@dataclass(frozen=True)
class Marks:
    """Floor and goal of the ratio to a copy, and of what the others take over our time."""

    copy: tuple[float, float]
    pytorch: tuple[float, float] = (1.8, 2.5)
    onnxruntime: tuple[float, float] = (2.0, 3.0)


def runs() -> Iterator[Figure | Missing]:
    """Every row of the table; what is as the system has it comes before memory is kept, which cannot be undone."""
    yield from as_called()
    yield from one_row()
    keep_memory()
    for threads in dict.fromkeys((cores(), 1)):
        marks = Marks((1.30, 1.15) if threads == 1 else (1.15, 1.03))
        for shape in LARGE:
            yield from forward(shape, threads, marks)
        yield from forward(WIDE, threads, Marks((1.5, 1.2), onnxruntime=(1.4, 1.4)))
        yield from forward(CACHED, threads, Marks((1.5, 1.3)))
    yield from halves()
    yield from way_back()


def forward(shape: tuple[int, int], threads: int, marks: Marks, storage: str = "float32") -> Iterator[Figure | Missing]:
    """LayerNorm beside a copy of the same bytes and beside the other engines."""
    task = measure.prepared(limits.checked(shape, the_norm(), storage), shape, threads)
    ready, missing = others(task)
    work = {"ours": partial(engines.fused_out(task).run, *task.given)} | copies(task)
    work |= {name: partial(engine.run, *task.given) for name, engine in ready.items()}
    if shape == LARGE[0]:
        work["numpy"] = partial(in_numpy, *task.given[:3])
    times = timing.interleaved(work, SECONDS, ROUNDS)
    about = f"{written(shape)} {storage}, {threads} thread{'' if threads == 1 else 's'}"
    yield Figure(f"layer_norm / copy: {about}", times["ours"] / copy_time(times), "x", *marks.copy)
    if shape == CACHED and "plain copy" in times:
        yield Figure(f"layer_norm / plain copy: {about}", times["ours"] / times["plain copy"], "x")
    for name, label in OTHERS.items():
        if name in missing:
            yield Missing(f"{label} / layer_norm: {about}", missing[name])
        else:
            ratio = times[name] / times["ours"]
            yield Figure(f"{label} / layer_norm: {about}", ratio, "x", *getattr(marks, name), more=True)
    if "numpy" in times:
        yield Figure(f"NumPy / layer_norm: {about}", times["numpy"] / times["ours"], "x")


def written(shape: tuple[int, int]) -> str:
    return f"{shape[0]} x {shape[1]}"


def copies(task: Any) -> Mapping[str, timing.Work]:
    """The copies that could be the yardstick."""
    return {name: work for name, work in measure.copies(task).items() if name != "NumPy copy"} or measure.copies(task)


def copy_time(times: Mapping[str, float]) -> float:
    """A streaming copy's time; without the C code, NumPy's."""
    return next(times[name] for name in reversed(measure.COPIES) if name in times)


def others(task: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """The other engines that are there, and why the rest are not."""
    ready, missing = {}, {}
    for name in OTHERS:
        try:
            ready[name] = measure.ENGINES[name](task)
        except engines.Missing as reason:
            missing[name] = str(reason)
    return ready, missing


def in_numpy(x: Any, gamma: Any, beta: Any) -> Any:
    """LayerNorm as one writes it."""
    import numpy as np

    centered = x - x.mean(-1, keepdims=True)
    return centered / np.sqrt(x.var(-1, keepdims=True) + np.float32(1e-5)) * gamma + beta


def halves() -> Iterator[Figure | Missing]:
    """16-bit storage beside PyTorch's."""
    for storage, marks in HALVES.items():
        rows = forward(HALF_SHAPE, cores(), Marks((float("inf"), float("inf")), marks), storage)
        yield from (row for row in rows if row.what.startswith("PyTorch"))


def way_back() -> Iterator[Figure | Missing]:
    """The backward pass; PyTorch's is given the mean and rstd that its forward pass saved."""
    import numpy as np

    for shape in BACKWARD:
        what = f"PyTorch / layer_norm_backward: {written(shape)} float32, {cores()} threads"
        try:
            import torch
        except ImportError:
            yield Missing(what, "PyTorch is not installed")
            continue
        draw = np.random.default_rng(0)
        x, dy = draw.standard_normal((2, *shape), dtype=np.float32)
        gamma, beta = draw.standard_normal((2, shape[1]), dtype=np.float32)
        tensors = [torch.from_numpy(each) for each in (dy, x, gamma, beta)]
        theirs = partial(
            torch_backward, *tensors, *torch.native_layer_norm(tensors[1], shape[1:], None, None, 1e-5)[1:]
        )
        torch.set_num_threads(cores())
        ours = partial(layer_norm_backward, dy, x, gamma, 1e-5, threads=cores())
        times = timing.interleaved({"ours": ours, "theirs": theirs}, SECONDS, ROUNDS)
        yield Figure(what, times["theirs"] / times["ours"], "x", 1.3, 2.0, more=True)


def torch_backward(dy: Any, x: Any, gamma: Any, beta: Any, mean: Any, rstd: Any) -> Any:
    import torch

    return torch.ops.aten.native_layer_norm_backward(dy, x, x.shape[-1:], mean, rstd, gamma, beta, [True] * 3)


def as_called() -> Iterator[Figure | Missing]:
    """PyTorch allocates y in the call; ours writes where it may."""
    for shape in AS_CALLED:
        task = measure.prepared(limits.checked(shape, the_norm(), "float32"), shape, cores())
        ready, missing = others(task)
        what = f"PyTorch as called / with out=: {written(shape)} float32, {cores()} threads"
        if "pytorch" in missing:
            yield Missing(what, missing["pytorch"])
            continue
        ours = partial(engines.fused_out(task).run, *task.given)
        times = timing.interleaved({"ours": ours, "theirs": ready["pytorch"].run}, SECONDS, ROUNDS)
        yield Figure(what, times["theirs"] / times["ours"], "x", 8, 8, more=True)


def one_row() -> Iterator[Figure | Missing]:
    """A call's overhead: one row of 768."""
    import numpy as np

    x, gamma, beta, out = np.random.default_rng(0).standard_normal((4, 768), dtype=np.float32)
    what = "PyTorch as called / with out=: one row of 768 float32"
    try:
        import torch
    except ImportError:
        yield Missing(what, "PyTorch is not installed")
        return
    tensors = [torch.from_numpy(each) for each in (x, gamma, beta)]
    functional = torch.nn.functional.layer_norm
    with torch.no_grad():
        work = {
            "ours": lambda: layer_norm(x, gamma, beta, out=out),
            "theirs": lambda: functional(tensors[0], (768,), tensors[1], tensors[2]),
        }
        times = timing.interleaved(work, SECONDS, ROUNDS)
    yield Figure(what, times["theirs"] / times["ours"], "x", 8, 8, more=True)
    yield Figure("layer_norm with out=: one row of 768 float32", times["ours"] * 1e9, "ns")


def keep_memory() -> None:
    """Freed memory stays with the process, so that the next call's result needs no fresh pages (glibc alone)."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return
    for option, value in KEEP.items():
        mallopt(option, value)
