"""A forward and a backward function under one norm, each as an implementation; autograd's where there is no other."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..errors import ImplementationError
from ..norm import Norm
from . import binding
from .autograd import Autograd
from .calls import Called, ranks
from .objects import has_forward
from .samples import sample


@dataclass(frozen=True, eq=False)
class Pair:
    """What is judged: `forward`, `backward` or both; notes say where a backward comes from, or why there is none."""

    forward: Any
    backward: Any
    notes: tuple[str, ...] = ()

    @property
    def parts(self) -> dict[str, Any]:
        """Both by their names."""
        return {"forward": self.forward, "backward": self.backward}

    @staticmethod
    def of(
        forward: Any,
        backward: Any,
        norm: Norm,
        framework: str | None = None,
        name: str | None = None,
        backward_name: str | None = None,
        pulse: Callable[[], None] = lambda: None,
    ) -> "Pair":
        """The implementations of two functions, either of which may be None."""
        forward, backward = sorted_out(forward, backward)
        ahead = None
        if forward is not None:
            ahead = Called(forward, norm, framework=framework, name=name or "", pulse=pulse)
        if ahead is None or backward is not None:
            known = ahead.frame.name if ahead is not None and ahead.frame else framework
            back = Called(backward, norm, backward=True, framework=known, forward=forward,
                          name=backward_name or name or "", pulse=pulse)  # fmt: skip
            return Pair(ahead, back, _framework(back))
        notes = _framework(ahead)
        if "eps" not in ahead.accepts:  # whose eps the gradients have is not known
            return Pair(ahead, None, (*notes, *_without_eps(ahead, forward)))
        if _has_backward(forward) and not ahead.is_differentiable:
            back = Called(forward, norm, backward=True, name=f"{ahead.name}.backward", pulse=pulse)
            return Pair(ahead, back, notes)
        return _with_autograd(ahead, notes)


def sorted_out(forward: Any, backward: Any) -> tuple[Any, Any]:
    """A function whose first parameter is dy is a backward, wherever it was given."""
    if forward is None and backward is None:
        raise ImplementationError("fn is None and so is backward; give a function to check.")
    if backward is None and not has_forward(forward) and binding.is_backward(forward):
        return None, forward
    return forward, backward


def _without_eps(ahead: Called, forward: Any) -> tuple[str, ...]:
    has_gradients = ahead.is_differentiable or _has_backward(forward)
    return ("it takes no eps, so its backward pass was not checked.",) if has_gradients else ()


def _has_backward(thing: Any) -> bool:
    return has_forward(thing) and callable(getattr(thing, "backward", None))


def _with_autograd(ahead: Called, notes: tuple[str, ...]) -> Pair:
    """The framework's own backward of a forward function, where it has one."""
    if not ahead.is_differentiable or not ahead.ranks:
        return Pair(ahead, None, notes)
    back = Autograd(ahead)
    rank = next(rank for rank in ranks(ahead.norm) if rank in ahead.ranks)
    probe = sample(ahead.norm, rank, True, ahead.features)
    if back.is_connected(probe):
        back.look_for_missing(probe)
        return Pair(ahead, back, (*notes, "the backward pass was checked too, through PyTorch's autograd."))
    return Pair(ahead, None, (*notes, "y carries no gradient, so no backward pass was checked."))


def _framework(called: Called) -> tuple[str, ...]:
    """Which arrays it was given, where they are not NumPy's."""
    return ("called with PyTorch tensors.",) if called.frame is not None and called.frame.name == "torch" else ()
