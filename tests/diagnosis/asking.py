"""A function under judgement in this process: arguments by name, in the simplest way."""

import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from normscope.diagnosis.probes import ARGUMENTS, Failure, Probe

ALIASES = {"weight": "gamma", "bias": "beta"}


class Local:
    """Calls a function of named arguments."""

    ranks: tuple[int, ...] = ()
    features = None
    notes: tuple[str, ...] = ()

    def __init__(self, function: Callable[..., Any], results: Sequence[str] = ("y",)) -> None:
        self.function, self.results = function, results
        self.name = getattr(function, "__name__", "f")
        self.named = {name: ALIASES.get(name, name) for name in inspect.signature(function).parameters}
        self.accepts = frozenset(self.named.values()) & frozenset(ARGUMENTS)
        self.calls = 0

    def run(self, probes: Sequence[Probe]) -> list[Any]:
        return [self._call(probe) for probe in probes]

    def _call(self, probe: Probe) -> Any:
        self.calls += 1
        given = probe.arguments()
        named = {name: given[role] for name, role in self.named.items() if role in given}
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                made = self.function(**named)
        except Exception as error:
            return Failure("raises", f"{type(error).__name__}: {error}", probe)
        made = made if isinstance(made, tuple) else (made,)
        return {name: np.asarray(value) for name, value in zip(self.results, made, strict=False)}
