"""Whether a function answers in the dtype that it was asked in: seen beside the judgement, which reads the values."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .probes import Answer, Failure, Implementation, Probe
from .verdict import Finding, Verdict

MAIN = ("y", "dx")
ARRAYS = ("gamma", "beta", "running_mean", "running_var", "dy")


class Watched:
    """An implementation whose answers pass through.

    foreign  the first answer in another dtype than its probe's
    shapes   of every x that was answered
    """

    def __init__(self, implementation: Implementation) -> None:
        self.implementation = implementation
        self.name, self.accepts = implementation.name, implementation.accepts
        self.ranks: tuple[int, ...] = getattr(implementation, "ranks", ())
        self.features: int | None = getattr(implementation, "features", None)
        self.missing: tuple[str, ...] = getattr(implementation, "missing", ())
        self.shapes: set[tuple[int, ...]] = set()
        self.foreign: tuple[Probe, str, str] | None = None

    def run(self, probes: Sequence[Probe]) -> list[Answer | Failure]:
        """What the implementation answers."""
        answers = self.implementation.run(probes)
        for probe, answer in zip(probes, answers, strict=True):
            if not isinstance(answer, Failure):
                self.shapes.add(probe.x.shape)
            if self.foreign is None and not isinstance(answer, Failure) and _is_plain(probe):
                wrong = [name for name in MAIN if name in answer and answer[name].dtype != probe.x.dtype]
                self.foreign = (probe, wrong[0], answer[wrong[0]].dtype.name) if wrong else None
        return answers


def _is_plain(probe: Probe) -> bool:
    """Whether every array of the call has the same dtype, so that there is no question which is meant."""
    arrays = [array for name in ARRAYS if (array := getattr(probe, name)) is not None]
    return all(array.dtype == probe.x.dtype for array in arrays)


def with_dtypes(verdict: Verdict, watched: Sequence[Watched]) -> Verdict:
    """The verdict with a finding for a foreign dtype; beside a mistake that is known it is a note.

    What is unrecognised in a narrower dtype than asked for is explained by it.
    """
    for each in watched:
        if each.foreign is None:
            continue
        finding = _finding(*each.foreign, each.accepts)
        if verdict.verdict == "mistake":
            verdict = replace(verdict, notes=(*verdict.notes, f"{finding.name}; {finding.fix}."))
            continue
        others = () if _is_narrower(*each.foreign) else verdict.findings
        verdict = replace(verdict, verdict="mistake", findings=(finding, *others))
    return verdict


def _finding(probe: Probe, name: str, dtype: str, accepts: frozenset[str]) -> Finding:
    own = probe.x.dtype.name
    given: dict[str, Any] = {key: value for key in ("x", "gamma", "beta", "eps", "dy")
                             if key in accepts and (value := getattr(probe, key)) is not None}  # fmt: skip
    return Finding(
        "wrong-dtype",
        f"{name} has dtype {dtype} where x has {own}",
        f"called with {own} arrays alone, x of shape {probe.x.shape}",
        fix=f"return {name} in the dtype of x, as {name}.astype(x.dtype)",
        input=given,
    )


def _is_narrower(probe: Probe, name: str, dtype: str) -> bool:
    widths = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}
    return widths.get(dtype, 8) < widths.get(probe.x.dtype.name, 8)
