"""Records what PyTorch's own layers give for the norms of a comparison: run by `make oracle`.

Every layer is without gamma and beta. A BatchNorm sees three batches in training, its running statistics are noted
after each, and is then evaluated on the first. PyTorch is imported only to record.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tests.golden.saving import save

FILE = Path(__file__).with_name("torch_comparison.npz")
DTYPES = ("float32", "float64")
BATCHES = 3
GROUPS = 2
SHAPES = {
    "tokens": ((3, 4), (2, 3, 4)),
    "channels": ((5, 4), (2, 4, 3), (2, 4, 2, 3)),
}
CASES = [(layout, shape, dtype) for layout, shapes in SHAPES.items() for shape in shapes for dtype in DTYPES]

Case = tuple[str, tuple[int, ...], str]


def key(case: Case) -> str:
    """What a case is called in the file: `tokens-2x3x4/float64`."""
    layout, shape, dtype = case
    return f"{layout}-{'x'.join(map(str, shape))}/{dtype}"


def batches(case: Case, seed: int = 0) -> list[np.ndarray]:
    """Three tensors, each with a level and a spread of its own."""
    _, shape, dtype = case
    rng = np.random.default_rng([seed, *map(ord, key(case).partition("/")[0])])
    return [(rng.normal(size=shape) * rng.uniform(0.5, 3) + rng.uniform(-3, 3)).astype(dtype) for _ in range(BATCHES)]


def outputs(case: Case, given: list[np.ndarray]) -> dict[str, np.ndarray]:
    """What each layer gives for the first batch, in x's own layout, and what a BatchNorm keeps."""
    import torch
    from torch import nn

    layout, shape, dtype = case
    tensors = [torch.from_numpy(batch.copy()) for batch in given]
    last, channels = (shape[-1:], shape[-1]) if layout == "tokens" else (shape[1:], shape[1])
    options = {"affine": False, "dtype": getattr(torch, dtype)}
    made = {
        "layer_norm": nn.LayerNorm(last, elementwise_affine=False)(tensors[0]),
        "rms_norm": nn.RMSNorm(last, elementwise_affine=False)(tensors[0]),
        "group_norm": _first(nn.GroupNorm(GROUPS, channels, affine=False), tensors[0], layout),
    }
    if shape != SHAPES["channels"][0]:  # InstanceNorm refuses (N, C)
        kind = nn.InstanceNorm2d if len(shape) == 4 else nn.InstanceNorm1d
        made["instance_norm"] = _first(kind(channels), tensors[0], layout)
    kind = nn.BatchNorm2d if len(shape) == 4 else nn.BatchNorm1d
    made |= _batch_norm(kind(channels, **options), tensors, layout)
    repeated = kind(channels, **options)
    for _ in range(BATCHES):
        _first(repeated, tensors[0], layout)
    return {name: value.detach().numpy() for name, value in (made | _state(repeated, "repeated")).items()}


def _batch_norm(layer: Any, tensors: list[Any], layout: str) -> dict[str, Any]:
    """Training on one batch after the other, then evaluation on the first."""
    made = {}
    for at, batch in enumerate(tensors, 1):
        made[f"batch_norm_{at}"] = _first(layer, batch, layout)
        made |= _state(layer, f"after_{at}")
    layer.eval()
    return made | {"batch_norm_eval": _first(layer, tensors[0], layout)}


def _state(layer: Any, name: str) -> Mapping[str, Any]:
    return {f"{name}_{buffer}": value.clone() for buffer, value in layer.state_dict().items()}


def _first(layer: Any, x: Any, layout: str) -> Any:
    """The layer on x with its channels at dimension 1, as torch.nn wants them; the result as x stood."""
    if layout == "channels":
        return layer(x)
    if x.dim() == 3:
        return layer(x.permute(0, 2, 1)).permute(0, 2, 1)
    return layer(x.T[None])[0].T


def recorded() -> Iterator[tuple[str, np.ndarray]]:
    """Every array of every case by its key in the file."""
    for case in CASES:
        given = batches(case)
        inputs = {f"x_{at}": batch for at, batch in enumerate(given, 1)}
        for name, value in (inputs | outputs(case, given)).items():
            yield f"{key(case)}/{name}", value


if __name__ == "__main__":
    save(FILE, len(CASES), recorded())
