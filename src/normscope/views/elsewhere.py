"""What other tools count for PyTorch's nn.LayerNorm, and the convention behind each.

A count is only as good as what it leaves out is known. The formulas are read off the tools' sources and held against
what the tools answer (tests/golden/other_counts.json).
"""

from collections.abc import Callable, Mapping
from math import prod
from typing import NamedTuple

from ..norm import Norm


class Layer(NamedTuple):
    """An nn.LayerNorm as the tools see it: cells of x, size of its first axis, numbers in gamma and beta."""

    cells: int
    batch: int
    parameters: int


class Count(NamedTuple):
    """What one tool says: so many of what it calls `unit`, and how it comes to it."""

    tool: str
    says: int
    unit: str
    convention: str


def _by_cell(plain: int, affine: int) -> Callable[[Layer], int]:
    """So many a cell without gamma and beta, and with them."""
    return lambda layer: layer.cells * (affine if layer.parameters else plain)


TOOLS: tuple[tuple[str, str, Callable[[Layer], int], str], ...] = (
    ("torch FlopCounterMode", "FLOPs", lambda layer: 0, "counts matrix products, convolutions and attention alone"),
    (
        "torchinfo",
        "multiply-adds",
        lambda layer: layer.batch * layer.parameters,
        "every parameter once for each entry of the first axis, whatever it does there",
    ),
    ("thop", "operations", _by_cell(2, 4), "2 a cell, doubled where there are gamma and beta"),
    ("fvcore", "FLOPs", _by_cell(4, 5), "4 a cell, and 1 more for gamma and beta together"),
    ("calflops", "FLOPs", _by_cell(4, 5), "as fvcore"),
)


def elsewhere(norm: Norm, sizes: Mapping[str, int]) -> tuple[Count, ...]:
    """What other tools say for this norm on an x of these sizes; nothing where it is no nn.LayerNorm.

    >>> from ..norm import layer_norm
    >>> [(each.tool, each.says) for each in elsewhere(layer_norm().fit(3), {"B": 2, "S": 4, "d": 8})][1:4]
    [('torchinfo', 32), ('thop', 256), ('fvcore', 320)]
    """
    layer = _layer(norm, sizes)
    return () if layer is None else tuple(Count(tool, of(layer), unit, why) for tool, unit, of, why in TOOLS)


def _layer(norm: Norm, sizes: Mapping[str, int]) -> Layer | None:
    """The norm as an nn.LayerNorm, which is over the last axes of x, and has its gamma and beta over just these."""
    over = norm.axes[-len(norm.over) :]
    is_usual = norm.center and not norm.running and not norm.correction and norm.kept == norm.axes[: -len(over)]
    if not is_usual or norm.param_axes not in ((), over) or not norm.kept or norm.shift > norm.scale:
        return None
    if any(len(dim) > 1 for dim in norm.layout.dims):  # groups: PyTorch's x has no such axes
        return None
    numbers = (norm.scale + norm.shift) * prod(sizes[axis] for axis in over)
    return Layer(prod(sizes[axis] for axis in norm.axes), sizes[norm.axes[0]], numbers)
