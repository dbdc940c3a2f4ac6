"""Arrays of the framework that a function takes: NumPy's, or PyTorch's tensors."""

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from ..errors import ImplementationError

NAMES = ("numpy", "torch")


class NumPy:
    """NumPy's own arrays, as they are."""

    name = "numpy"
    differentiates = False

    def give(self, array: Any) -> Any:
        """The array that the function gets."""
        return array

    def take(self, value: Any) -> Any:
        """A result as an array; None where it is none."""
        import numpy as np

        if isinstance(value, np.ndarray | np.generic):
            return np.asarray(value)
        if isinstance(value, list | int | float) and not isinstance(value, bool):
            made = np.asarray(value)
            return made if made.dtype != object else None
        return None

    def cells_of(self, given: Any, own: Any) -> bytes:
        """The memory behind what was given, to see whether it was written to."""
        from .calls import root

        return bytes(root(own).tobytes())

    def ones(self, like: Any) -> Any:
        """As many ones."""
        import numpy as np

        return np.ones_like(like)

    def parameter(self, value: Any, old: Any) -> Any:
        """The value as the kind of parameter that an object holds."""
        return value


class Torch(NumPy):
    """PyTorch's tensors on the CPU, over the same memory where NumPy has the dtype."""

    name = "torch"
    differentiates = True

    def give(self, array: Any) -> Any:
        """A tensor over the memory of the array, as a view of its owner."""
        import torch

        from .calls import root

        if array.dtype.name == "bfloat16":
            return torch.from_numpy(array.astype("float32")).to(torch.bfloat16)
        base = root(array)
        if base is array or not base.flags.c_contiguous or base.dtype != array.dtype:
            return torch.from_numpy(array)
        start = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        steps = [step // array.itemsize for step in array.strides]
        return torch.from_numpy(base.reshape(-1)).as_strided(array.shape, steps, start // array.itemsize)

    def take(self, value: Any) -> Any:
        """A tensor as an array."""
        import torch

        if not isinstance(value, torch.Tensor):
            return None
        value = value.detach().cpu().resolve_neg().resolve_conj()
        if value.dtype == torch.bfloat16:
            import ml_dtypes

            return value.float().numpy().astype(ml_dtypes.bfloat16)
        return value.numpy()

    def ones(self, like: Any) -> Any:
        """As many ones."""
        import torch

        return torch.ones_like(like)

    def parameter(self, value: Any, old: Any) -> Any:
        """A Parameter where the old value is one, which autograd then reaches unless its owner said no."""
        import torch

        if isinstance(old, torch.nn.Parameter):
            return torch.nn.Parameter(value, requires_grad=old.requires_grad)
        return value

    def cells_of(self, given: Any, own: Any) -> bytes:
        """The memory behind a tensor; of a bfloat16, which has its own, its cells."""
        return super().cells_of(given, own if own.dtype.name != "bfloat16" else self.take(given))


Frame = NumPy


def frames(function: Any, framework: str | None = None) -> Sequence[Frame]:
    """The frameworks to try, in order: the one asked for, or NumPy and then PyTorch where it is installed."""
    if framework is not None:
        return (Torch(),) if framework == "torch" else (NumPy(),)
    if _is_torch(function):
        return (Torch(),)
    return (NumPy(), Torch()) if find_spec("torch") is not None else (NumPy(),)


def examine(framework: str | None) -> None:
    """Raise ImplementationError for a framework that is none, or not installed."""
    if framework is not None and framework not in NAMES:
        raise ImplementationError(f"framework is {framework!r}; it must be one of {', '.join(NAMES)}.")
    if framework == "torch" and find_spec("torch") is None:
        raise ImplementationError("framework is 'torch', and PyTorch is not installed here; pip install torch.")


def _is_torch(function: Any) -> bool:
    """Whether it is a torch.nn.Module or a class of such, or is torch's own function."""
    kind = function if isinstance(function, type) else type(function)
    return "torch" in sys.modules and any(each.__module__.split(".")[0] == "torch" for each in kind.__mro__)
