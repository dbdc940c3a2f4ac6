"""Which norm a program is: found by running it beside every norm that it could be, right or wrong.

Both run in float64 on random numbers, at the spread where each eps of the program matters. That they agree is
the evidence; no order of steps and no name is looked at. A one-pass variance agrees too, and is told apart by the
digits that it loses where the mean is large.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, lru_cache
from itertools import product
from math import isfinite
from typing import Any

from ..axes import Axes
from ..norm import Norm
from ..program import Program
from .candidates import STATISTICS, Affine, Candidate, affines, candidates, whole
from .forms import BETA_FIRST
from .meaning import Meaning
from .sizing import small
from .trials import Arrays, Trial, far_inputs, possible_eps, run_on, spreads, tried

CLOSE = 1e-6  # of the largest cell: constants of the graph are float32, so 1/n is off by 6e-8
SEEDS = 16  # tries to see a variance below 0, which about every second row has
CORNER = 3  # cells along every axis that are compared first


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
    sizes = small(program, over, dict(meaning.sizes))
    possible = possible_eps(program, sizes)
    trials = [tried(program, meaning.y, sizes, spread, seed) for seed, spread in enumerate(spreads(possible))]
    if not all(isfinite(trial.largest) for trial in trials):
        return None
    for candidate, eps in product(_candidates(program, over, params), possible):
        if found := _agrees(candidate, eps, program, trials, sizes, params):
            return _with_form(found, program, meaning.y, sizes)
    return None


def _reduced(program: Program) -> tuple[str, ...]:
    over = {axis for step in program for axis in step.over}
    return tuple(axis for axis in program.axes if axis in over)


def _candidates(program: Program, over: Sequence[str], params: Sequence[str]) -> Iterator[Candidate]:
    """Every norm that the program could be; of BatchNorm in evaluation the axes are those that its statistics lack."""
    kept = [set(program.axes) - set(over)] if over else [set(axes) for axes in _axes_of(program, params)]
    for own in kept:
        if own < set(program.axes) and (over or own):
            pattern = " ".join(axis if axis in own else f"[{axis}]" for axis in program.axes)
            yield from candidates(pattern, running=not over)


def _axes_of(program: Program, params: Sequence[str]) -> list[Axes]:
    return sorted({axes for name, axes in program.inputs if name in params})


def _agrees(
    candidate: Candidate, eps: Fraction, program: Program, trials: Sequence[Trial], sizes: Mapping[str, int],
    params: Sequence[str],
) -> Recognised | None:  # fmt: skip
    """The candidate with the use of the parameters under which it gives what the program gives."""

    @cache
    def xhat(at: int, *statistics: str) -> Any:
        return _xhat(candidate.program, sizes, trials[at].given, eps, statistics)

    for affine in affines(candidate.norm, params):
        if all(_agree(affine, xhat(at, *affine.statistics), trial) for at, trial in enumerate(trials)):
            return _recognised(candidate, eps, affine, program)
    return None


def _agree(affine: Affine, xhat: Any, trial: Trial) -> bool:
    """Whether gamma and beta make y of xhat: in a few cells, which are quick to see, then in all."""
    parts = ((slice(end),) * trial.y.ndim for end in (CORNER, None))
    return all(_agree_in(part, affine, xhat, trial) for part in parts)


def _agree_in(part: tuple[slice, ...], affine: Affine, xhat: Any, trial: Trial) -> bool:
    import numpy as np

    scales = {name: trial.given[name][part] for name in affine.roles.values()}
    with np.errstate(all="ignore"):
        apart = abs(affine.of(xhat[part], scales) - trial.y[part])
    return bool((apart <= CLOSE * trial.largest).all())  # False where one of the two is not finite


def _xhat(program: Program, sizes: Mapping[str, int], given: Arrays, eps: Fraction, statistics: Sequence[str]) -> Any:
    inputs = {"x": given["x"], "eps": float(eps)}
    inputs |= {role: given[name] for role, name in zip(STATISTICS, statistics, strict=False)}
    return run_on(program, sizes, inputs)["xhat"]


def made_by(found: Recognised, sizes: Mapping[str, int], given: Arrays) -> Any:
    """What the norm that was found makes of x and the parameters, each an array of the program's full rank."""
    affine = Affine({role: name for name, role in found.roles}, found.norm.offset, BETA_FIRST in found.faults)
    xhat = _xhat(found.program, sizes, given, found.norm.eps or Fraction(0), affine.statistics)
    return affine.of(xhat, given)


def _recognised(candidate: Candidate, eps: Fraction, affine: Affine, program: Program) -> Recognised:
    norm = whole(candidate.norm, as_written(eps), affine, dict(program.inputs))
    faults = [candidate.fault] if candidate.fault else []
    faults += ["correction"] if norm.correction else []
    faults += [BETA_FIRST] if affine.beta_first else []
    faults += ["no-eps"] if not eps else []
    named = tuple((name, role) for role, name in affine.roles.items())
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
