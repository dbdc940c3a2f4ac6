"""Which norm a program is: found by running it beside every norm that it could be, right or wrong.

Both run in float64 on random numbers, at the spread where each eps of the program matters. That they agree is
the evidence; no order of steps and no name is looked at. A one-pass variance agrees too, and is told apart by the
digits that it loses where the mean is large.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, lru_cache
from itertools import permutations
from math import isfinite
from typing import Any

from ..norm import Norm
from ..program import Program
from ..steps import forward
from .forms import BETA_FIRST, FORMS
from .meaning import Meaning
from .trials import Arrays, Trial, far_inputs, possible_eps, run_on, spreads, tried

CLOSE = 1e-6  # of the largest cell: constants of the graph are float32, so 1/n is off by 6e-8
ROWS = 3  # positions along a kept axis that are tried
SEEDS = 16  # tries to see a variance below 0, which about every second row has
CORNER = 3  # cells along every axis that are compared first
STATISTICS = ("running_mean", "running_var")  # in the order of their roles
OFFSETS = (0, 1)  # gamma is w, or 1 + w


@dataclass(frozen=True)
class Recognised:
    """What a program is.

    norm      over the program's own axes
    program   the norm's, with what is wrong about it; its result is xhat
    roles     by parameter of the program, what it is: gamma, beta, running_mean, running_var
    form      two-pass or one-pass; of RMSNorm, two-pass
    clamped   the variance cannot be negative
    faults    what is wrong, by key of `forms.WORDS`
    """

    norm: Norm
    program: Program
    roles: tuple[tuple[str, str], ...]
    form: str
    clamped: bool
    faults: tuple[str, ...]


@lru_cache(maxsize=1024)
def recognised(meaning: Meaning) -> Recognised | None:
    """The norm that a program is; None where it is none that is known."""
    program = meaning.program.needed([meaning.y])
    over = _reduced(program)
    params = [name for name, _ in program.inputs if name != "x"]
    if "x" not in dict(program.inputs) or len(params) > (2 if over else 4):
        return None
    sizes = _small(program, over, dict(meaning.sizes))
    possible = possible_eps(program, sizes)
    trials = [tried(program, meaning.y, sizes, spread, seed) for seed, spread in enumerate(spreads(possible))]
    if not all(isfinite(trial.largest) for trial in trials):
        return None
    for candidate in _candidates(program, over, params, possible):
        if found := _agrees(candidate, program, trials, sizes, params):
            return _with_form(found, program, meaning.y, sizes)
    return None


def _reduced(program: Program) -> tuple[str, ...]:
    over = {axis for step in program for axis in step.over}
    return tuple(axis for axis in program.axes if axis in over)


def _small(program: Program, over: Sequence[str], sizes: Mapping[str, int]) -> dict[str, int]:
    """Sizes to try: whole rows, since the graph may hold their count as a number, but only a few of them."""
    return {axis: size if axis in over else min(size, ROWS) for axis, size in sizes.items()}


@dataclass(frozen=True)
class _Candidate:
    norm: Norm
    program: Program
    eps: Fraction
    fault: str
    offset: int = 0
    beta_first: bool = False


def _candidates(
    program: Program, over: Sequence[str], params: Sequence[str], possible: Sequence[Fraction]
) -> Iterator[_Candidate]:
    """Every norm that the program could be; the right ones first."""
    if not over:
        yield from _running(program, params, possible)
        return
    words = [f"[{axis}]" if axis in over else axis for axis in program.axes]
    for fault, changed in FORMS.items():
        for center in (True, False):
            for correction in (0, 1):
                norm = Norm(" ".join(words), None, 0, correction, center)
                made = changed(forward(norm))
                if made is not None:
                    yield from (_Candidate(norm, made, eps, fault) for eps in possible)


def _running(program: Program, params: Sequence[str], possible: Sequence[Fraction]) -> Iterator[_Candidate]:
    """BatchNorm in evaluation: its axes are those of its statistics."""
    kept = {axes for name, axes in program.inputs if name in params}
    for axes in sorted(kept):
        words = [axis if axis in axes else f"[{axis}]" for axis in program.axes]
        if not any("[" in word for word in words) or not axes:
            continue
        for fault in ("", "outside"):
            norm = Norm(" ".join(words), None, 0, running=True)
            made = FORMS[fault](forward(norm))
            if made is not None:
                yield from (_Candidate(norm, made, eps, fault) for eps in possible)


def _agrees(
    candidate: _Candidate,
    program: Program,
    trials: Sequence[Trial],
    sizes: Mapping[str, int],
    params: Sequence[str],
) -> Recognised | None:
    """The candidate with the roles of the parameters under which it gives what the program gives."""

    @cache
    def xhat(at: int, *statistics: str) -> Any:
        return _xhat(candidate, sizes, trials[at].given, statistics)

    for roles in _roles(candidate.norm, params):
        statistics = [name for role, name in roles.items() if role in STATISTICS]
        for affine in _affines(candidate, roles):
            if all(_agree(affine, xhat(at, *statistics), trials[at], roles) for at in range(len(trials))):
                return _recognised(affine, program, roles)
    return None


def _agree(candidate: _Candidate, xhat: Any, trial: Trial, roles: Mapping[str, str]) -> bool:
    """Whether gamma and beta make y of xhat: in a few cells, which are quick to see, then in all."""
    parts = ((slice(end),) * trial.y.ndim for end in (CORNER, None))
    return all(_agree_in(part, candidate, xhat, trial, roles) for part in parts)


def _agree_in(
    part: tuple[slice, ...], candidate: _Candidate, xhat: Any, trial: Trial, roles: Mapping[str, str]
) -> bool:
    import numpy as np

    scales = {name: trial.given[name][part] for name in roles.values()}
    with np.errstate(all="ignore"):
        apart = abs(_scaled(candidate, xhat[part], scales, roles) - trial.y[part])
    return bool((apart <= CLOSE * trial.largest).all())  # False where one of the two is not finite


def _affines(candidate: _Candidate, roles: Mapping[str, str]) -> Iterator[_Candidate]:
    """Every way to multiply by gamma and add beta, the right ones first."""
    orders = (False, True) if {"gamma", "beta"} <= roles.keys() else (False,)
    for beta_first in orders:
        for offset in OFFSETS if "gamma" in roles else (0,):
            yield replace(candidate, offset=offset, beta_first=beta_first)


def _roles(norm: Norm, params: Sequence[str]) -> Iterator[dict[str, str]]:
    """Every way to share the parameters out: what each role's parameter is."""
    for roles in ((), ("gamma",), ("beta",), ("gamma", "beta")):
        wanted = (*STATISTICS, *roles) if norm.running else roles
        if len(wanted) == len(params):
            yield from (dict(zip(wanted, each, strict=True)) for each in permutations(params))


def _xhat(candidate: _Candidate, sizes: Mapping[str, int], given: Arrays, statistics: Sequence[str]) -> Any:
    inputs = {"x": given["x"], "eps": float(candidate.eps)}
    inputs |= {role: given[name] for role, name in zip(STATISTICS, statistics, strict=False)}
    return run_on(candidate.program, sizes, inputs)["xhat"]


def _scaled(candidate: _Candidate, y: Any, given: Arrays, roles: Mapping[str, str]) -> Any:
    gamma = given[roles["gamma"]] + candidate.offset if "gamma" in roles else 1.0
    beta = given[roles["beta"]] if "beta" in roles else 0.0
    return (y + beta) * gamma if candidate.beta_first else y * gamma + beta


def made_by(found: Recognised, sizes: Mapping[str, int], given: Arrays) -> Any:
    """What the norm that was found makes of x and the parameters, each an array of the program's full rank."""
    norm, beta_first = found.norm, BETA_FIRST in found.faults
    candidate = _Candidate(norm, found.program, norm.eps or Fraction(0), "", norm.offset, beta_first)
    roles = {role: name for name, role in found.roles}
    xhat = _xhat(candidate, sizes, given, [roles[role] for role in STATISTICS if role in roles])
    return _scaled(candidate, xhat, given, roles)


def _recognised(candidate: _Candidate, program: Program, roles: Mapping[str, str]) -> Recognised:
    axes = {role: program.values[name] for role, name in roles.items()}
    wanted = {axis for role in ("gamma", "beta") for axis in axes.get(role, ())}
    affine = " ".join(axis for axis in program.axes if axis in wanted)
    norm = replace(
        candidate.norm,
        affine=affine or None,
        eps=as_written(candidate.eps),
        scale=bool(affine) and "gamma" in roles,
        shift=bool(affine) and "beta" in roles,
        offset=candidate.offset,
        name="",
    )
    faults = [candidate.fault] if candidate.fault else []
    faults += ["correction"] if norm.correction else []
    faults += [BETA_FIRST] if candidate.beta_first else []
    faults += ["no-eps"] if not candidate.eps else []
    named = tuple((name, role) for role, name in roles.items())
    return Recognised(norm, candidate.program, named, "two-pass", False, tuple(faults))


def as_written(eps: Fraction | float) -> Fraction:
    """An eps that a graph holds in float32 (or float16) as the shortest decimal that is read back as it.

    >>> as_written(9.999999747378752e-06)
    Fraction(1, 100000)
    """
    import numpy as np

    value = float(eps)
    kinds = [kind for kind in (np.float32, np.float16) if float(kind(value)) == value] or [np.float32]
    texts = (np.format_float_scientific(kind(value), trim="-") for kind in kinds)
    return Fraction(min(texts, key=len))


def _with_form(found: Recognised, program: Program, y: str, sizes: Mapping[str, int]) -> Recognised:
    """The find, with the way its variance is computed: seen where the mean is large beside the spread."""
    if not found.norm.center or found.norm.running or not _loses_digits(found, program, y, sizes):
        return found
    clamped = not _is_ever_negative(program, sizes)
    faults = ("one-pass",) if clamped else ("one-pass", "unclamped")
    return replace(found, form="one-pass", clamped=clamped, faults=(*found.faults, *faults))


def _is_ever_negative(program: Program, sizes: Mapping[str, int]) -> bool:
    """Whether a root is ever taken of a negative number, where the variance is nothing but rounding."""
    roots = [step.args[0] for step in program if step.op in ("sqrt", "rsqrt") and isinstance(step.args[0], str)]
    runs = (run_on(program, sizes, far_inputs(program, sizes, seed)) for seed in range(SEEDS))
    return any((made[name] < 0).any() for made in runs for name in roots)


def _loses_digits(found: Recognised, program: Program, y: str, sizes: Mapping[str, int]) -> bool:
    import numpy as np

    given = far_inputs(program, sizes, 7)
    right = made_by(found, sizes, given)
    got = run_on(program, sizes, given)[y]
    return not bool(np.max(np.abs(got - right)) <= 1e-3 * np.max(np.abs(right)))
