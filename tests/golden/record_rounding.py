"""Records what PyTorch and ONNX Runtime give in narrow formats: casts, and norms written as models write them.

Each library is imported only to record, and what the other recorded before stays. Narrow numbers are kept as
their 16 or 8 bits. Run by `make oracle`; ONNX Runtime is recorded where it is installed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zlib import crc32

import ml_dtypes
import numpy as np

from tests.golden.record import dtype_of

FILE = Path(__file__).with_name("rounding.npz")
HALVES = ("bfloat16", "float16")
NARROW = (*HALVES, "float8_e4m3fn", "float8_e5m2")
EPS = 1e-5
SHAPES = {"few": (8, 8), "odd": (4, 100), "wide": (2, 768)}
LEVELS = {"level": 3.0, "far": 100.0}

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Case:
    """One input of every order: how wide, how far from 0, and in which format it is stored."""

    width: str
    level: str
    dtype: str

    @property
    def name(self) -> str:
        """Its prefix in the file."""
        return f"{self.width}-{self.level}-{self.dtype}"

    def inputs(self) -> Arrays:
        """x, gamma, beta and Gemma's w, rounded to the format and held in float32."""
        rng = np.random.default_rng(crc32(self.name.encode()))
        shape = SHAPES[self.width]
        made = {"x": rng.normal(size=shape) * 1.5 + LEVELS[self.level]}
        made |= {"gamma": rng.uniform(-2, 2, shape[-1]), "beta": rng.uniform(-2, 2, shape[-1])}
        made["w"] = rng.normal(size=shape[-1]) * 0.1
        return {name: narrow(value, self.dtype).astype(np.float32) for name, value in made.items()}


CASES = [Case(width, level, dtype) for width in SHAPES for level in LEVELS for dtype in HALVES]


def narrow(values: np.ndarray, dtype: str) -> np.ndarray:
    """The array in a narrow format, by way of float32."""
    return values.astype(np.float32).astype(dtype_of(dtype))


def patterns(values: np.ndarray, dtype: str) -> np.ndarray:
    """The bits of numbers that the format has."""
    made = narrow(values, dtype)
    return made.view(f"u{made.itemsize}")


def to_cast() -> np.ndarray:
    """float32 numbers that are hard to cast: ties, their neighbours, subnormals, the edges, both zeros, nan."""
    rng = np.random.default_rng(5)
    made = [0.0, np.inf, np.nan, 448, 464, 465, 480, 57344, 61439, 61440, 65504, 65519.9, 65520, 3.3895e38, 3.4e38]
    for dtype, digits in (("bfloat16", 7), ("float16", 10), ("float8_e4m3fn", 3), ("float8_e5m2", 2)):
        least = float(ml_dtypes.finfo(getattr(ml_dtypes, dtype, dtype)).smallest_subnormal)
        ties = (rng.integers(2**digits, 2 ** (digits + 1), 40) + 0.5) * 2.0 ** (rng.integers(-8, 6, 40) - digits)
        tiny = least * np.array([0.25, 0.5, 0.75, 1.0, 1.5, 2.5, 3.5])
        made += [near for tie in (*ties, *tiny) for near in _around(np.float32(tie))]
    cells = np.array(made, np.float32)
    return np.concatenate([cells, -cells])


def _around(value: np.float32) -> list[np.float32]:
    return [np.nextafter(value, np.float32(-np.inf)), value, np.nextafter(value, np.float32(np.inf))]


def of_torch() -> Iterator[tuple[str, np.ndarray]]:
    """The casts of PyTorch, and every order of every case."""
    import torch

    torch.set_num_threads(1)
    yield "torch/version", np.array(torch.__version__.partition("+")[0])
    cells = to_cast()
    yield "cast/from", cells
    for dtype in NARROW:
        cast = torch.from_numpy(cells).to(getattr(torch, dtype))
        yield f"cast/{dtype}", cast.view(torch.uint8).numpy().view(f"u{cast.element_size()}")
    for case in CASES:
        given = case.inputs()
        for name, value in given.items():
            yield f"{case.name}/{name}", patterns(value, case.dtype)
        tensors = {name: torch.from_numpy(value).to(getattr(torch, case.dtype)) for name, value in given.items()}
        for order, function in ORDERS.items():
            yield f"{case.name}/{order}", patterns(function(torch, tensors).float().numpy(), case.dtype)
        # with float32 parameters the kernel hands out its float32 statistics, of the same x
        ones = torch.ones(given["gamma"].shape)
        _, mean, rstd = torch.native_layer_norm(tensors["x"], ones.shape, ones, ones, EPS)
        yield f"{case.name}/mean", mean.numpy()
        yield f"{case.name}/rstd", rstd.numpy()


def kernel(torch: Any, t: Any) -> Any:
    """F.layer_norm."""
    return torch.nn.functional.layer_norm(t["x"], t["gamma"].shape, t["gamma"], t["beta"], EPS)


def rms(torch: Any, t: Any) -> Any:
    """F.rms_norm."""
    return torch.nn.functional.rms_norm(t["x"], t["gamma"].shape, t["gamma"], EPS)


def steps(torch: Any, t: Any) -> Any:
    """LayerNorm line by line in the storage format: each operator rounds its result.

    rsqrt takes whole vectors of a tensor in float32; what is left over rounds the root before its reciprocal.
    """
    c = t["x"] - t["x"].mean(-1, keepdim=True)
    v = (c * c).mean(-1, keepdim=True) + EPS
    return c * torch.rsqrt(v.repeat(64, 1))[: len(v)] * t["gamma"] + t["beta"]


def left_over(torch: Any, t: Any) -> Any:
    """The same with a root for one row at a time, which fills no vector."""
    c = t["x"] - t["x"].mean(-1, keepdim=True)
    v = (c * c).mean(-1, keepdim=True) + EPS
    return c * torch.stack([torch.rsqrt(row) for row in v]) * t["gamma"] + t["beta"]


def statistics(torch: Any, t: Any) -> Any:
    """LayerNorm line by line, its statistics in float32 and its cells in the storage format."""
    x, storage = t["x"], t["x"].dtype
    c = (x - x.float().mean(-1, keepdim=True)).to(storage)
    var = (c * c).float().mean(-1, keepdim=True)
    return (c * torch.rsqrt(var + EPS)).to(storage) * t["gamma"] + t["beta"]


def llama(torch: Any, t: Any) -> Any:
    """LlamaRMSNorm of Hugging Face transformers: normalize, cast, scale."""
    hidden = t["x"].to(torch.float32)
    variance = hidden.pow(2).mean(-1, keepdim=True)
    hidden = hidden * torch.rsqrt(variance + EPS)
    return t["gamma"] * hidden.to(t["x"].dtype)


def gemma(torch: Any, t: Any) -> Any:
    """GemmaRMSNorm of Hugging Face transformers: scale by 1 + w, then cast."""
    x = t["x"].float()
    normed = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPS)
    return (normed * (1.0 + t["w"].float())).type_as(t["x"])


ORDERS: dict[str, Callable[[Any, Any], Any]] = {
    "kernel": kernel, "rms": rms, "steps": steps, "left_over": left_over, "statistics": statistics, "llama": llama,
    "gemma": gemma,
}  # fmt: skip


def of_onnxruntime() -> Iterator[tuple[str, np.ndarray]]:
    """LayerNormalization with its mean and 1/std, and RMSNormalization, in float16 on the CPU.

    Its CPU has neither in bfloat16 ("NOT_IMPLEMENTED", 1.32).
    """
    import onnxruntime

    yield "onnxruntime/version", np.array(onnxruntime.__version__)
    for case in (case for case in CASES if case.dtype == "float16"):
        given = {name: value.astype(np.float16) for name, value in case.inputs().items()}
        y, mean, rstd = _node("LayerNormalization", 17, given, ("x", "gamma", "beta"), ("y", "mean", "rstd"))
        yield f"{case.name}/onnx", patterns(y, case.dtype)
        yield f"{case.name}/onnx_mean", mean
        yield f"{case.name}/onnx_rstd", rstd
        (y,) = _node("RMSNormalization", 23, given, ("x", "gamma"), ("y",))
        yield f"{case.name}/onnx_rms", patterns(y, case.dtype)


def _node(operator: str, opset: int, given: Arrays, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> Any:
    import onnxruntime
    from onnx import TensorProto, helper

    rows = (*given["x"].shape[:-1], 1)
    shapes = {name: given[name].shape for name in inputs} | {"y": given["x"].shape, "mean": rows, "rstd": rows}
    kinds = dict.fromkeys(("mean", "rstd"), TensorProto.FLOAT)
    value = {n: helper.make_tensor_value_info(n, kinds.get(n, TensorProto.FLOAT16), s) for n, s in shapes.items()}
    node = helper.make_node(operator, inputs, outputs, axis=-1, epsilon=EPS)
    graph = helper.make_graph([node], operator, [value[n] for n in inputs], [value[n] for n in outputs])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {name: given[name] for name in inputs})


RECORDERS = {"torch": of_torch, "onnxruntime": of_onnxruntime}


def main() -> None:
    """Record with the libraries that are there; the same machine writes the same bytes again."""
    arrays: Arrays = {}
    if FILE.exists():
        with np.load(FILE) as file:
            arrays = dict(file)
    recorded = [library for library in RECORDERS if find_spec(library)]
    for library in recorded:
        arrays |= dict(RECORDERS[library]())
    np.savez_compressed(FILE, **{name: arrays[name] for name in sorted(arrays)})
    print(f"{FILE.name}: {len(arrays)} arrays, {FILE.stat().st_size:,} bytes, recorded with {' and '.join(recorded)}")


if __name__ == "__main__":
    main()
