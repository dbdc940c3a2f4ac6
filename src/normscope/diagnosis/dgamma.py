"""A quick test of what a wrong forward pass would do to the gradients."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .definition import Definition, evaluate
from .gradients_of import gathered
from .probes import Probe
from .search import Screen, near


@dataclass
class DgammaScreen:
    """Two mistakes of a forward pass at once are derived only if they give dgamma, which takes no derivative."""

    right: Definition
    probe: Probe
    got: Any
    room: float

    def may_give(self, definition: Definition | None) -> bool:
        """Whether dgamma is about the definition's, where there is one to tell by."""
        import numpy as np

        if definition is None:
            return False
        if not definition.norm.scale or self.got is None:
            return True
        known = self.shared.known_of(definition)
        if known is None:
            return False
        dy = np.reshape(np.asarray(self.probe.dy, np.float64), known.values.full)
        made = gathered(dy * self.shared.xhat(definition, known), definition.norm, "sum")
        return near(np.reshape(made, np.shape(self.got)), np.asarray(self.got, np.float64), self.room)

    @cached_property
    def shared(self) -> Screen:
        """What forward definitions have in common on the probe."""
        return Screen(self.probe, evaluate(self.right, self.probe).y)
