"""One examination of a function: it is asked in batches, and what it answers stands beside what is right."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from ..norm import Norm
from .bounds import UNIT, share
from .definition import Definition, Values, right
from .probes import Failure, Implementation, Probe
from .questions import Maker
from .search import attempt

LEVELS = {  # the formats that a function may compute in, by the dtype it is asked in
    "float64": ("float64", "float32"),
    "float32": ("float32",),
    "float16": ("float32", "float16"),
    "bfloat16": ("float32", "bfloat16"),
}
Row = tuple[Probe, Values, Any]  # a probe, what is right, what came back


def own_eps(norm: Norm, dtype: str) -> float:
    """The norm's eps; where it leaves it to the dtype, that of the dtype computed in."""
    return float(norm.eps) if norm.eps is not None else 2 * UNIT["float64" if dtype == "float64" else "float32"]


@dataclass
class Examination:
    """A function, the norm that it should be, and what was learned of both on the way.

    notes     what is no mistake
    failures  the calls that gave no answer
    narrow    a format in which something is kept, though it should not be; nothing is known to be
    """

    implementation: Implementation
    norm: Norm
    dtype: str
    seed: int = 0
    notes: list[str] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    narrow: str = ""

    @cached_property
    def maker(self) -> Maker:
        """Makes the probes."""
        ranks = tuple(getattr(self.implementation, "ranks", ()))
        features = getattr(self.implementation, "features", None)
        return Maker(self.norm, self.dtype, self.implementation.accepts, self.seed, ranks, features)

    def base(self, probe: Probe) -> Definition:
        """The right definition for a probe's rank; parameters that the function does not take are left out."""
        return right(self.norm.fit(probe.x.ndim), self.implementation.accepts)

    def ask(self, probes: Sequence[Probe]) -> list[Row]:
        """The rows of probes, right values and answers; failures are kept apart."""
        rows = []
        for probe, answer in zip(probes, self.implementation.run(probes), strict=True):
            if isinstance(answer, Failure):
                self.failures.append(replace(answer, probe=answer.probe or probe))
                continue
            values = attempt(self.base(probe), self.with_eps(probe))
            if values is not None:
                rows.append((self.with_eps(probe), values, answer["y"]))
        return rows

    def answers(self, probes: Sequence[Probe]) -> list[Any] | None:
        """The y of every probe; None where a call failed."""
        made = self.implementation.run(probes)
        if any(isinstance(answer, Failure) for answer in made):
            return None
        return [answer["y"] for answer in made if not isinstance(answer, Failure)]

    def with_eps(self, probe: Probe) -> Probe:
        """The eps that counts: the norm's own where the function takes none."""
        return probe if "eps" in self.implementation.accepts else probe.but(eps=own_eps(self.norm, self.dtype))

    def worst(self, row: Row, level: str) -> float:
        """The largest error of an answer as a share of its bound."""
        return share(row[1], row[2], level, self.dtype)

    def wrong(self, rows: Sequence[Row], level: str) -> list[Row]:
        """The rows that no arithmetic of this format explains."""
        return [row for row in rows if self.worst(row, level) > 1]

    def is_right(self, rows: Sequence[Row]) -> bool:
        """Whether every answer is right in one of the formats."""
        return any(not self.wrong(rows, level) for level in LEVELS[self.dtype])
