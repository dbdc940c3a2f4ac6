"""Records what PyTorch (and GPT-2's original formula) give for small inputs: run by `make oracle`.

The cases are data, read by tests/test_torch_golden.py as well; PyTorch is imported only to record.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from tests.golden.saving import save

FILE = Path(__file__).with_name("torch.npz")
DTYPES = ("float32", "float64")
HALVES = ("float16", "bfloat16")  # recorded as float32, which holds them exactly
MOMENTUM = 0.1


@dataclass(frozen=True)
class Case:
    """One call of a PyTorch norm.

    kind       layer_norm, rms_norm, batch_norm, instance_norm, group_norm or gpt2
    arguments  of our constructor of that name: normalized_shape, eps, num_groups, training ...
    affine     which of gamma and beta are given
    data       normal: spread 1; level: each row at a level and spread of its own; far: mean 10,000;
               constant: the first row has one value; small: spread 0.001, where eps weighs
    halves     recorded in float16 and bfloat16 too
    """

    name: str
    kind: str
    shape: tuple[int, ...]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    affine: tuple[str, ...] = ("gamma", "beta")
    data: str = "level"
    halves: bool = False

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The dtypes that it is recorded in."""
        return DTYPES + HALVES * self.halves

    @property
    def param_shape(self) -> tuple[int, ...]:
        """The shape of gamma and beta: normalized_shape, or the channels."""
        trailing = self.arguments.get("normalized_shape", [self.shape[-1]])
        return tuple(trailing) if self.kind in ("layer_norm", "rms_norm", "gpt2") else (self.shape[1],)


NONE: tuple[str, ...] = ()
CASES = [
    Case("layer_norm_row", "layer_norm", (8,)),
    Case("layer_norm_2d", "layer_norm", (4, 8)),
    Case("layer_norm_3d", "layer_norm", (2, 4, 8)),
    Case("layer_norm_wide", "layer_norm", (2, 100), data="normal"),
    Case("layer_norm_two_axes", "layer_norm", (2, 3, 4, 5), {"normalized_shape": [4, 5]}),
    Case("layer_norm_three_axes", "layer_norm", (2, 3, 4, 5), {"normalized_shape": [3, 4, 5]}),
    Case("layer_norm_every_axis", "layer_norm", (3, 4), {"normalized_shape": [3, 4]}),
    Case("layer_norm_no_affine", "layer_norm", (2, 4, 8), {"elementwise_affine": False}, NONE),
    Case("layer_norm_no_bias", "layer_norm", (2, 4, 8), {"bias": False}, ("gamma",)),
    Case("layer_norm_eps", "layer_norm", (2, 4, 8), {"eps": 0.25}),
    Case("layer_norm_far", "layer_norm", (2, 4, 8), data="far"),
    Case("layer_norm_constant_row", "layer_norm", (3, 8), data="constant"),
    Case("layer_norm_d1", "layer_norm", (5, 1)),
    Case("rms_norm_2d", "rms_norm", (4, 8), {}, ("gamma",), halves=True),
    Case("rms_norm_eps", "rms_norm", (2, 4, 8), {"eps": 1e-6}, ("gamma",)),
    Case("rms_norm_eps_none", "rms_norm", (2, 4, 8), {"eps": None}, ("gamma",), halves=True),
    Case("rms_norm_small", "rms_norm", (2, 16), {"eps": None}, ("gamma",), "small", halves=True),
    Case("rms_norm_small_eps", "rms_norm", (2, 16), {"eps": 1e-5}, ("gamma",), "small", halves=True),
    Case("rms_norm_small_no_affine", "rms_norm", (2, 16), {"elementwise_affine": False}, NONE, "small", halves=True),
    Case("rms_norm_no_affine", "rms_norm", (2, 4, 8), {"elementwise_affine": False}, NONE),
    Case("rms_norm_two_axes", "rms_norm", (2, 3, 4, 5), {"normalized_shape": [4, 5]}, ("gamma",)),
    Case("rms_norm_far", "rms_norm", (2, 4, 8), {}, ("gamma",), "far"),
    Case("rms_norm_d1", "rms_norm", (5, 1), {}, ("gamma",)),
    Case("rms_norm_one_plus", "rms_norm", (2, 4, 8), {"eps": 1e-6, "offset": 1}, ("gamma",)),
    Case("layer_norm_one_plus", "layer_norm", (2, 4, 8), {"offset": 1}),
    Case("batch_norm_2d", "batch_norm", (6, 3)),
    Case("batch_norm_3d", "batch_norm", (3, 4, 5)),
    Case("batch_norm_4d", "batch_norm", (2, 3, 4, 5)),
    Case("batch_norm_5d", "batch_norm", (2, 3, 2, 2, 3)),
    Case("batch_norm_no_affine", "batch_norm", (3, 4, 5), {"affine": False}, NONE),
    Case("batch_norm_far", "batch_norm", (3, 4, 5), data="far"),
    Case("batch_norm_evaluation_2d", "batch_norm", (6, 3), {"training": False}),
    Case("batch_norm_evaluation_4d", "batch_norm", (2, 3, 4, 5), {"training": False}),
    Case("batch_norm_evaluation_no_affine", "batch_norm", (3, 4), {"training": False, "affine": False}, NONE),
    Case("instance_norm_3d", "instance_norm", (2, 3, 7), {}, NONE),
    Case("instance_norm_4d", "instance_norm", (2, 3, 4, 5), {"affine": True}),
    Case("instance_norm_5d", "instance_norm", (2, 2, 2, 3, 2), {}, NONE),
    Case("instance_norm_far", "instance_norm", (2, 3, 7), {}, NONE, "far"),
    Case("group_norm_2d", "group_norm", (3, 6), {"num_groups": 2}),
    Case("group_norm_3d", "group_norm", (2, 6, 5), {"num_groups": 3}),
    Case("group_norm_4d", "group_norm", (2, 6, 2, 3), {"num_groups": 2}),
    Case("group_norm_one_group", "group_norm", (2, 4, 2, 3), {"num_groups": 1}),
    Case("group_norm_no_affine", "group_norm", (2, 4, 2, 3), {"num_groups": 4, "affine": False}, NONE),
    Case("group_norm_far", "group_norm", (2, 6, 5), {"num_groups": 3}, data="far"),
    Case("gpt2", "gpt2", (2, 4, 8)),
    Case("gpt2_far", "gpt2", (2, 4, 8), data="far"),
]


def inputs(case: Case, dtype: str, seed: int = 0) -> dict[str, np.ndarray]:
    """x, the parameters and the statistics of a case, made from its name and the seed."""
    rng = np.random.default_rng([seed, crc32(case.name.encode())])
    made = {"x": _x(case, rng)}
    made |= {name: rng.uniform(-2, 2, case.param_shape) for name in case.affine}
    if case.kind == "batch_norm":
        made["running_mean"] = rng.normal(size=case.shape[1])
        made["running_var"] = rng.uniform(0.5, 2, case.shape[1])
    if dtype in HALVES:
        return {name: value.astype(dtype_of(dtype)).astype("float32") for name, value in made.items()}
    return {name: value.astype(dtype) for name, value in made.items()}


def dtype_of(half: str) -> np.dtype:
    """NumPy's dtype of float16 or bfloat16."""
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, half, half))


def _x(case: Case, rng: np.random.Generator) -> np.ndarray:
    x = rng.normal(size=case.shape)
    if case.data == "level":
        rows = (*case.shape[:-1], 1)
        return x * rng.uniform(0.1, 4, rows) + rng.uniform(-9, 9, rows)
    if case.data == "constant":
        x[0] = 3.3
    return x * 0.001 if case.data == "small" else x + 10_000 * (case.data == "far")


def outputs(case: Case, given: Mapping[str, np.ndarray], dtype: str = "") -> dict[str, np.ndarray]:
    """What PyTorch gives: y; of a LayerNorm its kernel's mean and rstd; of a BatchNorm that trains the running
    statistics after it. `dtype` is that of the tensors, if not that of the arrays.

    Of a gpt2 case y is GPT-2's, with its mean u, variance s and normalized x, and `torch_y` is PyTorch's
    LayerNorm of the same input.
    """
    import torch

    tensors = {name: torch.from_numpy(value.copy()) for name, value in given.items()}
    if dtype in HALVES:
        halves = {name: value.to(getattr(torch, dtype)) for name, value in tensors.items()}
        return {"y": called(case, torch.nn.functional, halves).float().numpy()}
    made = {"y": called(case, torch.nn.functional, tensors).numpy()}
    if case.kind == "gpt2":
        return gpt2(given["x"], given["gamma"], given["beta"]) | {"torch_y": made["y"]}
    if case.kind == "layer_norm":
        parameters = tensors.get("gamma"), tensors.get("beta"), case.arguments.get("eps", 1e-5)
        kernel = torch.native_layer_norm(tensors["x"], case.param_shape, *parameters)
        made |= {"mean": kernel[1].numpy(), "rstd": kernel[2].numpy()}
    if case.kind == "batch_norm" and case.arguments.get("training", True):
        made |= {f"new_{name}": tensors[name].numpy() for name in ("running_mean", "running_var")}
    return made


def called(case: Case, functional: Any, tensors: Mapping[str, Any]) -> Any:
    x, weight, bias = tensors["x"], tensors.get("gamma"), tensors.get("beta")
    arguments = case.arguments
    if "offset" in arguments:  # as Gemma's modelling code and Apex's layernorm_1p do
        weight = weight + arguments["offset"]
    eps = {"eps": arguments["eps"]} if "eps" in arguments else {}
    if case.kind in ("layer_norm", "gpt2"):
        return functional.layer_norm(x, case.param_shape, weight, bias, **eps)
    if case.kind == "rms_norm":
        return functional.rms_norm(x, case.param_shape, weight, **eps)
    if case.kind == "group_norm":
        return functional.group_norm(x, arguments["num_groups"], weight, bias, **eps)
    if case.kind == "instance_norm":
        return functional.instance_norm(x, weight=weight, bias=bias, **eps)
    training, mean, var = arguments.get("training", True), tensors["running_mean"], tensors["running_var"]
    return functional.batch_norm(x, mean, var, weight, bias, training, MOMENTUM, **eps)


def gpt2(x: np.ndarray, g: np.ndarray, b: np.ndarray, epsilon: float = 1e-5) -> dict[str, np.ndarray]:
    """`norm` of GPT-2's src/model.py, TensorFlow's functions written as NumPy's: y and what it is made of.

    https://github.com/openai/gpt-2/blob/master/src/model.py
    """
    u = np.mean(x, axis=-1, keepdims=True)
    s = np.mean(np.square(x - u), axis=-1, keepdims=True)
    x = (x - u) * (1 / np.sqrt(s + np.asarray(epsilon, x.dtype)))
    return {"u": u, "s": s, "normalized": x, "y": x * g + b}


def recorded() -> Iterator[tuple[str, np.ndarray]]:
    """Every array of every case by its key in the file, such as `gpt2/float32/y`."""
    for case in CASES:
        for dtype in case.dtypes:
            given = inputs(case, dtype)
            for name, value in (given | outputs(case, given, dtype)).items():
                yield f"{case.name}/{dtype}/{name}", value


if __name__ == "__main__":
    save(FILE, len(CASES), recorded())
