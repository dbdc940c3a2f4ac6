"""What a part of a model could be: every norm over its axes, right or wrong, and every use of its parameters."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import permutations, product
from typing import Any

from ..axes import Axes
from ..norm import Norm
from ..program import Program
from ..steps import forward
from .forms import FORMS

STATISTICS = ("running_mean", "running_var")  # in the order of their roles
OFFSETS = (0, 1)  # gamma is w, or 1 + w


@dataclass(frozen=True)
class Candidate:
    """A norm without eps, gamma and beta.

    program  the norm's, with what is wrong about it; its result is xhat
    fault    what that is, a key of `forms.FORMS`; empty for nothing
    """

    norm: Norm
    program: Program
    fault: str


def candidates(pattern: str, running: bool = False) -> Iterator[Candidate]:
    """Every norm of a pattern, the right ones first; `running`: of given statistics."""
    kinds = [(True, 0)] if running else list(product((True, False), (0, 1)))
    for fault, changed in FORMS.items():
        for center, correction in kinds:
            norm = Norm(pattern, None, 0, correction, center, running=running)
            program = changed(forward(norm))
            if program is not None:
                yield Candidate(norm, program, fault)


@dataclass(frozen=True)
class Affine:
    """What the parameters are, and how gamma and beta are used.

    roles       by role, the parameter's name
    offset      added to gamma
    beta_first  beta is added before gamma multiplies
    """

    roles: Mapping[str, str]
    offset: int = 0
    beta_first: bool = False

    @property
    def statistics(self) -> tuple[str, ...]:
        """The names of the running statistics, in the order of their roles."""
        return tuple(self.roles[role] for role in STATISTICS if role in self.roles)

    def of(self, xhat: Any, given: Mapping[str, Any]) -> Any:
        """y, from xhat and the parameters by name."""
        gamma = given[self.roles["gamma"]] + self.offset if "gamma" in self.roles else 1.0
        beta = given[self.roles["beta"]] if "beta" in self.roles else 0.0
        return (xhat + beta) * gamma if self.beta_first else xhat * gamma + beta


def affines(norm: Norm, params: Sequence[str]) -> Iterator[Affine]:
    """Every way to use the parameters: the order in which they are kept first, then the right orders of the steps."""
    for roles in ((), ("gamma",), ("beta",), ("gamma", "beta")):
        wanted = (*roles, *STATISTICS) if norm.running else roles
        if len(wanted) == len(params):
            for names in permutations(params):
                yield from _uses(dict(zip(wanted, names, strict=True)))


def _uses(roles: Mapping[str, str]) -> Iterator[Affine]:
    orders = (False, True) if {"gamma", "beta"} <= roles.keys() else (False,)
    for beta_first in orders:
        for offset in OFFSETS if "gamma" in roles else (0,):
            yield Affine(roles, offset, beta_first)


def whole(norm: Norm, eps: Fraction | None, affine: Affine, params: Mapping[str, Axes]) -> Norm:
    """The norm with its eps and affine; `params` has the axes of every parameter."""
    used = {axis for role in ("gamma", "beta") if role in affine.roles for axis in params[affine.roles[role]]}
    return replace(
        norm,
        affine=" ".join(axis for axis in norm.axes if axis in used) or None,
        eps=eps,
        scale="gamma" in affine.roles,
        shift="beta" in affine.roles,
        offset=affine.offset,
        name="",
    )
