"""The judgement: the instruments in their order, then the search, then numerics; the verdict that follows."""

from collections.abc import Sequence
from dataclasses import replace

from ..norm import Norm
from .autograd import THROUGH
from .backward import Backward
from .first_look import ALONE
from .forward import Forward
from .links import addressed
from .probes import ARGUMENTS, Implementation
from .verdict import Verdict

UNJUDGED = "its gradients were not judged: they are PyTorch's own, of a forward pass that is not known."


def judge(
    implementation: Implementation | None,
    norm: Norm,
    *,
    backward: Implementation | None = None,
    dtype: str | None = None,
    seed: int = 0,
) -> Verdict:
    """Whether an implementation computes the norm, and which mistake it makes if not.

    backward  gives dx, or dx, dgamma and dbeta, for a dy; may stand alone
    dtype     of the arrays that it is asked with, "float64" if not given
    seed      of the probes
    """
    import numpy as np

    dtype = str(np.dtype(dtype)) if dtype not in (None, "bfloat16") else (dtype or "float64")
    parts: list[Verdict] = []
    with np.errstate(all="ignore"):
        back = None if backward is None else Backward(backward, norm, dtype, seed)
        if implementation is not None:
            made = back if back is not None and back.implementation.name.endswith(THROUGH) else None
            ahead = Forward(implementation, norm, dtype, seed, backward=made)
            parts.append(as_called(ahead.verdict(), implementation.accepts))
            if any(id in ALONE for id in parts[0].ids):
                back = None
            elif made is not None and ahead.is_unknown:
                parts.append(Verdict("correct", (), (UNJUDGED,)))
                back = None
            elif made is not None:
                made.computes, made.narrow = ahead.computes, ahead.narrow
        if back is not None:
            parts.append(as_called(back.verdict(), back.implementation.accepts))
    name = next((each.name for each in (implementation, backward) if each is not None), "")
    return _joined(parts, norm, f"{name} as {norm.name} '{norm.pattern}'")


def as_called(verdict: Verdict, accepts: frozenset[str]) -> Verdict:
    """The verdict whose inputs hold no argument that the function was never given."""
    unknown = set(ARGUMENTS) - accepts
    findings = tuple(
        replace(finding, input={name: value for name, value in finding.input.items() if name not in unknown})
        for finding in verdict.findings
    )
    return replace(verdict, findings=findings)


def _joined(parts: Sequence[Verdict], norm: Norm, title: str) -> Verdict:
    """One verdict of both passes: the worst."""
    kinds = [part.verdict for part in parts]
    worst = next((kind for kind in ("mistake", "unrecognised") if kind in kinds), "correct")
    findings = addressed([finding for part in parts for finding in part.findings], norm)
    notes = tuple(dict.fromkeys(note for part in parts for note in part.notes))
    return Verdict(worst, findings, notes, title)
