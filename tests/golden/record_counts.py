"""Records what other tools count for nn.LayerNorm, and what PyTorch saves for backward: run by `make oracle`."""

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("other_counts.json")
SHAPES = ((2, 4, 8), (1, 16), (3, 5, 7, 12))
AFFINES = {"both": {}, "scale": {"bias": False}, "none": {"elementwise_affine": False}}


def torch_counter(layer: Any, x: Any) -> int:
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        layer(x)
    return counter.get_total_flops()


def torchinfo(layer: Any, x: Any) -> int:
    from torchinfo import summary

    return summary(layer, input_data=x, verbose=0).total_mult_adds


def thop(layer: Any, x: Any) -> int:
    from thop import profile

    return int(profile(layer, inputs=(x,), verbose=False)[0])


def fvcore(layer: Any, x: Any) -> int:
    from fvcore.nn import FlopCountAnalysis

    return int(FlopCountAnalysis(layer, x).total())


def calflops(layer: Any, x: Any) -> int | None:
    from calflops import calculate_flops

    if not list(layer.parameters()):
        return None  # it takes the device of x from a parameter
    quiet = {"print_results": False, "print_detailed": False, "output_as_string": False}
    return calculate_flops(layer, args=[x], **quiet)[0]


TOOLS: dict[str, Callable[[Any, Any], int | None]] = {
    "torch FlopCounterMode": torch_counter,
    "torchinfo": torchinfo,
    "thop": thop,
    "fvcore": fvcore,
    "calflops": calflops,
}


def counts() -> dict[str, dict[str, int | None]]:
    """What every tool says, by shape and affine."""
    import torch

    made = {}
    for shape, (affine, options) in product(SHAPES, AFFINES.items()):
        case = f"{','.join(map(str, shape))} {affine}"
        # A layer for each: thop leaves hooks in its own.
        made[case] = {
            name: tool(torch.nn.LayerNorm(shape[-1], **options), torch.ones(shape)) for name, tool in TOOLS.items()
        }
    return made


def saved() -> dict[str, int]:
    """Bytes that PyTorch keeps for backward, parameters apart, of x (2, 4, 8): as a kernel, and written out."""
    import torch

    x, gamma, beta = (torch.ones(size, requires_grad=True) for size in ((2, 4, 8), 8, 8))

    def written_out(center: bool) -> Any:
        c = x - x.mean(-1, keepdim=True) if center else x
        r = torch.rsqrt((c * c).mean(-1, keepdim=True) + 1e-5)
        return c * r * gamma + beta if center else c * r * gamma

    works = {
        "layer_norm, a kernel": lambda: torch.nn.functional.layer_norm(x, (8,), gamma, beta),
        "layer_norm, written out": lambda: written_out(True),
        "rms_norm, written out": lambda: written_out(False),
    }
    return {name: bytes_kept(work, {gamma.data_ptr(), beta.data_ptr()}) for name, work in works.items()}


def bytes_kept(work: Callable[[], Any], parameters: set[int]) -> int:
    """Bytes of the tensors that autograd keeps, each memory once."""
    import torch

    kept: dict[int, Any] = {}

    def keep(tensor: Any) -> Any:
        kept[tensor.data_ptr()] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        work()
    return sum(tensor.nbytes for place, tensor in kept.items() if place not in parameters)


def main() -> None:
    FILE.write_text(json.dumps({"counts": counts(), "saved": saved()}, indent=1) + "\n", encoding="utf-8")
    print(f"{FILE.name}: {len(SHAPES) * len(AFFINES)} cases")


if __name__ == "__main__":
    main()
