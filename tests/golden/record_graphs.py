"""Records the graphs that PyTorch's exporters write for norms: run by `make oracle`.

Every layer is exported by both exporters at several opsets; a graph that differs from another only in its opset is
kept too, for an opset decides where an operator's axes stand. The graphs stand in one .zip, a file each, beside the
count of them. PyTorch is imported only to record.
"""

import io
import json
import logging
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).parent.parent / "models" / "files" / "torch_graphs.zip"
SCRIPT = (11, 12, 13, 14, 15, 16, 17, 18, 19, 20)
DYNAMO = (18, 19, 20, 21, 23)
SHAPES = {
    "layer_norm": (2, 3, 8),
    "layer_norm_plain": (2, 3, 8),
    "layer_norm_no_bias": (2, 3, 8),
    "layer_norm_axes": (2, 4, 6),
    "layer_norm_half": (2, 3, 8),
    "layer_norm_1e-12": (2, 3, 8),
    "layer_norm_channels_first": (2, 8, 3, 3),
    "rms_norm": (2, 3, 8),
    "hf_rms_norm": (2, 3, 8),
    "hf_rms_norm_half": (2, 3, 8),
    "gemma_rms_norm": (2, 3, 8),
    "group_norm": (2, 6, 4, 4),
    "batch_norm": (2, 4, 3, 3),
    "instance_norm": (2, 4, 3, 3),
    "tutorial": (2, 3, 8),
    "dropped_keepdims": (4, 4),
    "one_pass": (2, 3, 8),
}


def layers() -> dict[str, Any]:
    """Every layer by its name, with random parameters."""
    import torch
    from torch import nn

    class HF(nn.Module):
        """RMSNorm as Llama's and T5's classes write it; Gemma's multiplies by 1 + w."""

        def __init__(self, offset: int = 0) -> None:
            super().__init__()
            self.weight, self.offset = nn.Parameter(torch.rand(8) + 0.5), offset

        def forward(self, x: Any) -> Any:
            wide = x.to(torch.float32)
            wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
            if self.offset:
                return (wide * (self.offset + self.weight.float())).to(x.dtype)
            return self.weight * wide.to(x.dtype)

    class Tutorial(nn.Module):
        """A well-known tutorial's LayerNorm: the deviation of n - 1, and eps beside it."""

        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Parameter(torch.rand(8) + 0.5), nn.Parameter(torch.rand(8))

        def forward(self, x: Any) -> Any:
            return self.a * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-6) + self.b

    class ChannelsFirst(nn.Module):
        """LayerNorm of an image's channels, between two transposes."""

        def __init__(self) -> None:
            super().__init__()
            self.norm = _random(nn.LayerNorm(8))

        def forward(self, x: Any) -> Any:
            return self.norm(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)

    class Dropped(nn.Module):
        """LayerNorm whose statistics lost their axis."""

        def forward(self, x: Any) -> Any:
            return (x - x.mean(-1)) / torch.sqrt(x.var(-1, unbiased=False) + 1e-5)

    class OnePass(nn.Module):
        """LayerNorm by the mean square less the squared mean, kept from 0."""

        def forward(self, x: Any) -> Any:
            mean = x.mean(-1, keepdim=True)
            variance = torch.clamp((x * x).mean(-1, keepdim=True) - mean * mean, min=0)
            return (x - mean) * torch.rsqrt(variance + 1e-5)

    torch.manual_seed(0)
    made = {
        "layer_norm": _random(nn.LayerNorm(8)),
        "layer_norm_plain": nn.LayerNorm(8, elementwise_affine=False),
        "layer_norm_no_bias": _random(nn.LayerNorm(8, bias=False)),
        "layer_norm_axes": _random(nn.LayerNorm([4, 6])),
        "layer_norm_half": _random(nn.LayerNorm(8)).half(),
        "layer_norm_1e-12": _random(nn.LayerNorm(8, eps=1e-12)),
        "layer_norm_channels_first": ChannelsFirst(),
        "rms_norm": _random(nn.RMSNorm(8, eps=1e-6)),
        "hf_rms_norm": HF(),
        "hf_rms_norm_half": HF().half(),
        "gemma_rms_norm": HF(1),
        "group_norm": _random(nn.GroupNorm(2, 6)),
        "batch_norm": _random(nn.BatchNorm2d(4)),
        "instance_norm": nn.InstanceNorm2d(4),
        "tutorial": Tutorial(),
        "dropped_keepdims": Dropped(),
        "one_pass": OnePass(),
    }
    return {name: layer.eval() for name, layer in made.items()}


def _random(layer: Any) -> Any:
    """The layer with parameters and statistics that differ from cell to cell."""
    import torch

    with torch.no_grad():
        for tensor in [*layer.parameters(), *layer.buffers()]:
            if tensor.is_floating_point():
                tensor.copy_(torch.rand(tensor.shape) + 0.5)
    return layer


def exported(layer: Any, x: Any, opset: int, dynamo: bool, fold: bool) -> bytes | None:
    """One graph, without what says how it came to be; None where the exporter refuses."""
    import onnx
    import torch

    try:
        if dynamo:
            model = torch.onnx.export(layer, (x,), dynamo=True, opset_version=opset, verbose=False).model_proto
        else:
            file = io.BytesIO()
            torch.onnx.export(layer, (x,), file, opset_version=opset, dynamo=False, do_constant_folding=fold)
            model = onnx.load_from_string(file.getvalue())
    except Exception as error:
        print(f"refused: opset {opset}, dynamo {dynamo}: {type(error).__name__}")
        return None
    for node in model.graph.node:
        del node.metadata_props[:]
        node.doc_string = ""
    for info in [*model.graph.value_info, *model.graph.input, *model.graph.output]:
        del info.metadata_props[:]
    del model.graph.metadata_props[:]
    written: bytes = model.SerializeToString()
    return written


def recorded() -> Iterator[tuple[str, bytes]]:
    """Every graph by its name in the file, and what each layer gives."""
    import torch

    for name, layer in layers().items():
        x = torch.from_numpy(np.random.default_rng(0).normal(0.5, 1.0, SHAPES[name]).astype(np.float32))
        x = x.half() if name.endswith("half") else x
        for dynamo, opsets in ((False, SCRIPT), (True, DYNAMO)):
            for opset in opsets:
                graph = exported(layer, x, opset, dynamo, fold=name != "gemma_rms_norm")  # folded, 1 + w is lost
                if graph is not None:
                    yield f"{name}/{'dynamo' if dynamo else 'script'}-{opset}.onnx", graph


def record() -> None:
    """Write the file."""
    import torch

    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    FILE.parent.mkdir(parents=True, exist_ok=True)
    graphs = dict(recorded())
    about = {"torch": torch.__version__.partition("+")[0], "graphs": len(graphs)}
    with zipfile.ZipFile(FILE, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in (graphs | {"about.json": json.dumps(about).encode()}).items():
            entry = zipfile.ZipInfo(name)  # of no date: the same graphs are the same bytes
            entry.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(entry, data)
    print(f"{FILE.name}: {len(graphs)} graphs, {FILE.stat().st_size:,} bytes, PyTorch {torch.__version__}")


if __name__ == "__main__":
    record()
