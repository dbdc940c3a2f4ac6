"""What is seen of a backward before any search: answers that differ from call to call, and stubs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .examination import LEVELS
from .first_look import CHANGES, DIFFERS, NAN, shown_twice
from .probes import Failure
from .verdict import Finding

if TYPE_CHECKING:
    from .backward import Asked, Backward

CHAIN = "carry dy through every use of x: its own cell, the mean and the variance"


def unsteady_back(examined: "Backward", asked: Sequence["Asked"]) -> Finding | None:
    """A finding where the same input has two answers, beyond the bound of the coarsest format."""
    again = [asked[1], asked[0]] if len(asked) > 1 else list(asked)
    answers = examined.implementation.run([each.probe for each in again])
    level = LEVELS[examined.dtype][-1]
    for each, answer in zip(again, answers, strict=True):
        if isinstance(answer, Failure) or each.share(answer, "dx", level, examined.dtype) <= 1:
            continue
        says, small = shown_twice("dx", each.probe, each.got["dx"], answer["dx"])
        return Finding("not-deterministic", DIFFERS, says, fix=CHANGES, input=small)
    return None


def stub_back(examined: "Backward", asked: Sequence["Asked"]) -> Finding | None:
    """A finding for a dx that is nan alone, dy itself, or one number whatever it is asked."""
    import numpy as np

    answers = [np.asarray(each.got["dx"], np.float64) for each in asked]
    on_all = f"on all {len(asked)} probes"
    if all(np.isnan(dx).all() for dx in answers):
        return _stub(examined, asked, "nan-output", "every cell of dx is nan", on_all, NAN)
    pairs = zip(answers, asked, strict=True)
    if all(np.array_equal(dx, np.asarray(each.probe.dy, np.float64)) for dx, each in pairs):
        return _stub(examined, asked, "returns-dy", "it returns dy as it came", f"dx equals dy {on_all}", CHAIN)
    values = np.unique(np.concatenate([dx.ravel() for dx in answers]))
    if len(values) == 1:
        says = f"dx is {values[0]:g} in every cell {on_all}"
        return _stub(examined, asked, "constant-output", "dx depends on nothing", says, CHAIN)
    return None


def _stub(
    examined: "Backward", asked: Sequence["Asked"], id: str, name: str, evidence: str, fix: str
) -> Finding:  # fmt: skip
    return Finding(id, name, evidence, "", fix, examined.smallest(asked, "dx"), "dx")
