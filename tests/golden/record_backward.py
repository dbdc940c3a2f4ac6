"""Records the gradients that PyTorch's autograd gives for the cases of record.py: run by `make oracle`.

dy is random; dx, dgamma and dbeta are what `y.backward(dy)` leaves. GPT-2's formula has no kernel of its own and
is left out. bfloat16 and float16 are recorded as float32, which holds them exactly.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from tests.golden import record
from tests.golden.record import DTYPES, HALVES, Case
from tests.golden.saving import save

FILE = Path(__file__).with_name("torch_backward.npz")
IN_HALVES = {
    "layer_norm_2d", "layer_norm_3d", "layer_norm_no_affine", "layer_norm_wide", "layer_norm_eps", "rms_norm_2d",
    "rms_norm_eps_none", "rms_norm_small_eps", "batch_norm_3d", "batch_norm_evaluation_4d", "instance_norm_4d",
    "group_norm_3d",
}  # fmt: skip
CASES = [case for case in record.CASES if case.kind != "gpt2"]


def dtypes(case: Case) -> tuple[str, ...]:
    """The dtypes that a case is recorded in."""
    return DTYPES + HALVES * (case.name in IN_HALVES)


def inputs(case: Case, dtype: str, seed: int = 0) -> dict[str, np.ndarray]:
    """The inputs of the forward case, and dy of another seed."""
    rng = np.random.default_rng([seed, crc32(f"{case.name} backward".encode())])
    dy = rng.normal(size=case.shape)
    made = record.inputs(case, dtype, seed)
    half = dy.astype(record.dtype_of(dtype)) if dtype in HALVES else dy
    return made | {"dy": half.astype(made["x"].dtype)}


def outputs(case: Case, given: Mapping[str, np.ndarray], dtype: str) -> dict[str, np.ndarray]:
    """y and the gradients of x, gamma and beta, by tensors of `dtype`."""
    import torch

    tensors: dict[str, Any] = {
        name: torch.from_numpy(value.copy()).to(getattr(torch, dtype)) for name, value in given.items()
    }
    dy = tensors.pop("dy")
    leaves = {name: tensors[name].requires_grad_() for name in ("x", "gamma", "beta") if name in tensors}
    y = record.called(case, torch.nn.functional, tensors)
    y.backward(dy)
    made = {"y": y.detach()} | {f"d{name}": leaf.grad for name, leaf in leaves.items()}
    return {name: (value.float() if dtype in HALVES else value).numpy() for name, value in made.items()}


def recorded() -> Iterator[tuple[str, np.ndarray]]:
    """Every array of every case by its key, such as `layer_norm_2d/float32/dx`, that torch.npz does not hold."""
    for case in CASES:
        for dtype in dtypes(case):
            given = inputs(case, dtype)
            for name, value in (given | outputs(case, given, dtype)).items():
                if dtype not in case.dtypes or name.startswith("d"):
                    yield f"{case.name}/{dtype}/{name}", value


if __name__ == "__main__":
    save(FILE, len(CASES), recorded())
