"""What implementations keep of the forward pass for the backward one: bytes, parameters apart.

The formula needs xhat and r. A fused kernel, such as PyTorch's, keeps its input and two numbers a row, since the
input is often kept anyway. Where the steps are written out and left to autograd, each op keeps what its own gradient
reads, and that is two tensors as large as x.
"""

from collections.abc import Mapping
from typing import NamedTuple

from ..gradients import saved_values
from ..norm import Norm
from ..program import PARAMETERS, Program, Step
from ..steps import NUMBERS, forward
from .ledger import bytes_of

WAYS = {
    "the formula": "xhat",
    "a fused kernel, as PyTorch's": "x",
}
AUTOGRAD = "autograd of the steps written out"
OPERANDS = ("mul", "maximum", "max", "abs")  # their gradients read what they were given
RESULTS = ("rsqrt", "sqrt", "recip")  # those of these, what they gave; the others' neither


class Saving(NamedTuple):
    """An implementation, and bytes of each value that it keeps."""

    implementation: str
    values: Mapping[str, int]

    @property
    def bytes(self) -> int:
        """All of them."""
        return sum(self.values.values())


def savings(norm: Norm, sizes: Mapping[str, int], storage: str = "float32") -> tuple[Saving, ...]:
    """What each implementation keeps of a norm whose axes are written out.

    >>> from ..norm import layer_norm
    >>> for each in savings(layer_norm().fit(3), {"B": 2, "S": 4, "d": 8}):
    ...     print(each.implementation, dict(each.values), each.bytes)
    the formula {'r': 32, 'xhat': 256} 288
    a fused kernel, as PyTorch's {'x': 256, 'mu': 32, 'r': 32} 320
    autograd of the steps written out {'c': 256, 'r': 32, 'xhat': 256} 544
    """
    program = forward(norm)
    kept = {name: saved_values(norm, way) for name, way in WAYS.items()} | {AUTOGRAD: kept_by_autograd(program)}
    return tuple(Saving(name, bytes_of(values, program, norm, sizes, storage)) for name, values in kept.items())


def kept_by_autograd(program: Program) -> tuple[str, ...]:
    """The values that reverse mode keeps of a program run step by step, parameters apart, in their order.

    >>> from ..norm import rms_norm
    >>> kept_by_autograd(forward(rms_norm().fit(2)))
    ('x', 'r', 'xhat')
    """
    kept = {name for step in program for name in _kept(step)} - {*PARAMETERS, *NUMBERS}
    return tuple(name for name in program.values if name in kept)


def _kept(step: Step) -> tuple[str, ...]:
    if step.op in RESULTS:
        return (step.name,)
    return tuple(arg for arg in step.args if isinstance(arg, str)) if step.op in OPERANDS else ()
