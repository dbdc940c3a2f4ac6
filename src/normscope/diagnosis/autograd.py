"""The backward pass that a framework makes of a forward function."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..gradients import GRADIENTS
from ..program import PARAMETERS
from . import results
from .calls import Called, handed, quiet, told
from .probes import Answer, Failure, Probe

THROUGH = " through autograd"  # what the name of its backward ends in
LEAVES = ("x", *PARAMETERS)


class Autograd:
    """dx, dgamma and dbeta by the framework's autograd, from the cotangent dy of a probe.

    missing  the gradients that stay empty though their leaf asks for one; of a leaf whose owner set requires_grad
             to False none is missed
    """

    def __init__(self, called: Called) -> None:
        assert called.frame is not None  # is_differentiable was asked
        self.called, self.frame = called, called.frame
        self.name = called.name + THROUGH
        self.ranks, self.features, self.notes = called.ranks, called.features, ()
        self.printed = called.printed
        self.missing: tuple[str, ...] = ()

    @property
    def accepts(self) -> frozenset[str]:
        """What the forward function takes, and dy."""
        return self.called.accepts | {"dy"}

    def run(self, probes: Sequence[Probe]) -> list[Answer | Failure]:
        """The gradients of each probe, or why there are none."""
        return [self.call(probe) for probe in probes]

    def call(self, probe: Probe) -> Answer | Failure:
        """One call forward and back."""
        given = self._given(probe)
        try:
            with quiet(self.called.printed):
                grads = self._back(given)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return Failure("raises", told(error), probe)
        return results.read(grads, self.frame, probe, self.called.norm, True)

    def _given(self, probe: Probe) -> dict[str, Any]:
        """The arguments as tensors; x, gamma and beta gather gradients."""
        given = handed(probe.arguments(), self.frame)
        for name in LEAVES:
            if name in given:
                given[name].requires_grad_()
        return given

    def _forward(self, given: Mapping[str, Any]) -> Any:
        forward = {name: each for name, each in given.items() if name != "dy"}
        y = self.called.target.call(self.frame, forward)
        return y[0] if isinstance(y, tuple | list) else y

    def _back(self, given: Mapping[str, Any]) -> tuple[Any, ...]:
        self._forward(given).backward(given["dy"])
        leaves = self.called.target.leaves(given)
        return tuple(getattr(leaves.get(name), "grad", None) for name in LEAVES)

    def is_connected(self, probe: Probe) -> bool:
        """Whether y carries a gradient at all."""
        given = self._given(probe)
        try:
            with quiet(self.called.printed):
                return bool(self._forward(given).requires_grad)
        except Exception:  # what is wrong with the call is said where it is judged
            return False

    def look_for_missing(self, probe: Probe) -> None:
        """Find the gradients that stay empty, of what y depends on."""
        given = self._given(probe)
        try:
            with quiet(self.called.printed):
                grads = self._back(given)
        except Exception:
            return
        leaves = self.called.target.leaves(given)
        empty = [(gradient, leaf) for gradient, leaf, grad in zip(GRADIENTS, LEAVES, grads, strict=True)
                 if grad is None and asks(leaves.get(leaf))]  # fmt: skip
        self.missing = tuple(gradient for gradient, leaf in empty if self._moves(probe, leaf))

    def _moves(self, probe: Probe, leaf: str) -> bool:
        """Whether y changes with an argument."""
        import numpy as np

        value = getattr(probe, leaf)
        if value is None or leaf not in self.called.accepts:
            return False
        both = self.called.run([probe, probe.but(**{leaf: value * 2 + np.arange(value.size).reshape(value.shape)})])
        made = [answer["y"] for answer in both if not isinstance(answer, Failure)]
        return len(made) == 2 and not np.array_equal(*made)


def asks(leaf: Any) -> bool:
    """Whether a tensor gathers a gradient of its own; one whose owner set requires_grad to False does not."""
    return bool(getattr(leaf, "requires_grad", False) and getattr(leaf, "is_leaf", False))
