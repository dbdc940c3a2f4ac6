"""What a judged function is asked and what it answers: probes, failures, and who runs them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

ARGUMENTS = (
    "x",
    "gamma",
    "beta",
    "eps",
    "num_groups",
    "running_mean",
    "running_var",
    "momentum",
    "dy",
    "training",
)
LAYOUTS = {
    "contiguous": "in one piece",
    "offset": "a slice that starts inside a larger buffer",
    "step": "every second cell of a buffer",
    "transposed": "the transposed view of a buffer in the other order",
    "permuted": "a view with its first two axes exchanged",
}


@dataclass(frozen=True, eq=False)
class Probe:
    """One call: the arguments by name (None: the norm has no such argument), and how x lies in memory.

    Arrays are NumPy's; x is held in one piece and laid out by `arguments`, in the process that calls the
    function, since no layout survives a pipe.
    """

    x: Any
    gamma: Any = None
    beta: Any = None
    eps: float | None = None
    num_groups: int | None = None
    running_mean: Any = None
    running_var: Any = None
    momentum: float | None = None
    dy: Any = None
    training: bool | None = None
    layout: str = "contiguous"

    def arguments(self) -> dict[str, Any]:
        """Fresh arguments of the call by name, so that a function that writes into one spoils no other call."""
        given = {name: getattr(self, name) for name in ARGUMENTS}
        made = {name: value.copy() if hasattr(value, "copy") else value for name, value in given.items()}
        for name in ("x", "dy"):
            if made[name] is not None:
                made[name] = laid_out(made[name], self.layout)
        return {name: value for name, value in made.items() if value is not None}

    def but(self, **changes: Any) -> "Probe":
        """The same probe with other arguments."""
        return replace(self, **changes)


def laid_out(x: Any, layout: str) -> Any:
    """The same cells lying in memory in another way; what lies between them are other numbers."""
    import numpy as np

    if layout == "offset":
        flat = np.concatenate([x.ravel()[::-1] + 1, x.ravel()])
        return flat[x.size :].reshape(x.shape)
    if layout == "step":
        wide = np.repeat(x, 2, axis=-1)
        wide[..., 1::2] += 1
        return wide[..., ::2]
    if layout == "transposed":
        return np.ascontiguousarray(x.T).T
    if layout == "permuted":
        return np.ascontiguousarray(x.swapaxes(0, 1)).swapaxes(0, 1)
    return np.ascontiguousarray(x)


@dataclass(frozen=True)
class Failure:
    """A call that gave no answer.

    kind   raises, timeout, memory, crash, wrong-shape, wrong-dtype, returns-none, modifies-input
    text   its first line
    """

    kind: str
    text: str
    probe: Probe | None = None


Answer = Mapping[str, Any]


class Implementation(Protocol):
    """A function under judgement: it answers probes, and never sees which of them matter."""

    @property
    def name(self) -> str:
        """What a person calls it."""

    @property
    def accepts(self) -> frozenset[str]:
        """The arguments that it takes, of ARGUMENTS."""

    def run(self, probes: Sequence[Probe]) -> "list[Answer | Failure]":
        """The answer to each probe: "y", or "dx", "dgamma", "dbeta", "running_mean", "running_var"."""
