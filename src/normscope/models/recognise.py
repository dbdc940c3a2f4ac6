"""Which norm a program is: found by running it beside every norm that it could be, right or wrong.

Both run in float64 on random numbers, at the spread where each eps of the program matters. That they agree is
the evidence; no order of steps and no name is looked at. A one-pass variance agrees too, and is told apart by the
digits that it loses where the mean is large.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import permutations
from math import sqrt
from typing import Any

from ..norm import Norm
from ..program import Program, Step
from ..run import run
from ..steps import forward
from .meaning import Meaning
from .sizing import small

CLOSE = 1e-6  # of the largest cell: constants of the graph are float32, so 1/n is off by 6e-8
LARGE_MEAN = 2.0**27  # float64 loses every digit of a one-pass variance there, and eight of a two-pass one
OFFSETS = (0, 1)  # gamma is w, or 1 + w

Arrays = Mapping[str, Any]


@dataclass(frozen=True)
class Recognised:
    """What a program is.

    norm      over the program's own axes
    program   the norm's, with what is wrong about it; its result is xhat
    roles     by parameter of the program, what it is: gamma, beta, running_mean, running_var
    form      two-pass or one-pass; of RMSNorm, two-pass
    clamped   the variance cannot be negative
    faults    what is wrong, by key of `WORDS`
    """

    norm: Norm
    program: Program
    roles: tuple[tuple[str, str], ...]
    form: str
    clamped: bool
    faults: tuple[str, ...]


WORDS: Mapping[str, str] = {
    "outside": "eps is added to the standard deviation, after the root; the definition adds it to the variance.",
    "floor": "eps is a floor under the variance; the definition adds it.",
    "root-floor": "eps is a floor under the standard deviation; the definition adds it to the variance.",
    "raw-square": "the divisor is the root mean square of x, not the standard deviation: the mean is not subtracted.",
    "raw-x": "the mean is subtracted for the variance only: what is divided is x itself.",
    "correction": "the variance divides by n - 1 (an unbiased estimate); the definition divides by n.",
    "one-pass": "the variance is one-pass, E[x^2] - E[x]^2: where the mean is large its digits cancel.",
    "unclamped": "nothing keeps the one-pass variance from being negative, and the root of that is nan.",
    "keepdims": "a statistic lost its reduced axis (keepdims = 0), so it is broadcast along another axis of x.",
    "no-eps": "there is no eps: a row of equal cells divides by 0.",
}


def _root(name: str, op: str) -> Callable[[Program], Program]:
    """eps added to the root (or a floor under it) in the place of `v` and `r`."""

    def changed(program: Program) -> Program:
        v, r = program.by_name["v"], program.by_name["r"]
        root = Step(name, "sqrt", v.args[:1], v.axes, into=name)
        made = program.instead("v", root, replace(v, op=op, args=(name, "eps"), into="v"))
        return made.instead("r", replace(r, op="recip", into="r"))

    return changed


def _floor(program: Program) -> Program:
    v = program.by_name["v"]
    return program.instead("v", replace(v, op="maximum", into="v"))


def _raw_square(program: Program) -> Program | None:
    q = program.by_name.get("q")
    return program.instead("q", replace(q, args=("x", "x"))) if q and "c" in program.by_name else None


def _raw_x(program: Program) -> Program | None:
    xhat = program.by_name["xhat"]
    return program.instead("xhat", replace(xhat, args=("x", "r"))) if "q" in program.by_name else None


FORMS: Mapping[str, Callable[[Program], Program | None]] = {
    "": lambda program: program,
    "outside": _root("root", "add"),
    "floor": _floor,
    "root-floor": _root("root", "maximum"),
    "raw-square": _raw_square,
    "raw-x": _raw_x,
}


@lru_cache(maxsize=1024)
def recognised(meaning: Meaning) -> Recognised | None:
    """The norm that a program is; None where it is none that is known."""
    program = meaning.program.needed([meaning.y])
    over = _reduced(program)
    params = [name for name, _ in program.inputs if name != "x"]
    if "x" not in dict(program.inputs) or len(params) > (2 if over else 4):
        return None
    sizes = small(program, over, dict(meaning.sizes))
    trials = [_trial(program, meaning.y, sizes, spread, seed) for seed, spread in enumerate(_spreads(program))]
    for candidate in _candidates(program, over, params):
        if found := _agrees(candidate, program, trials, sizes, params):
            return _with_form(found, program, meaning.y, sizes)
    return None


def _reduced(program: Program) -> tuple[str, ...]:
    over = {axis for step in program for axis in step.over}
    return tuple(axis for axis in program.axes if axis in over)


def _constants(program: Program) -> list[Fraction]:
    """What eps can be: the constants below 1, and nothing."""
    found = {arg for step in program for arg in step.args if isinstance(arg, Fraction) and 0 < arg < 1}
    return [*sorted(found), Fraction(0)]


def _spreads(program: Program) -> list[float]:
    """The spreads of x to try: an ordinary one, and those beside which each eps counts."""
    small = [float(eps) for eps in _constants(program) if eps]
    return [1.3, *(made for eps in small for made in (sqrt(eps), eps))]


def _trial(program: Program, y: str, sizes: Mapping[str, int], spread: float, seed: int) -> tuple[Arrays, Any]:
    """Random inputs and what the program makes of them."""
    given = _inputs(program, sizes, spread, seed)
    return given, _run(program, sizes, given)[y]


def _inputs(program: Program, sizes: Mapping[str, int], spread: float, seed: int) -> dict[str, Any]:
    import numpy as np

    rng = np.random.default_rng(seed)
    made = {}
    for name, _ in program.inputs:
        shape = program.shape(name, sizes)
        made[name] = (rng.normal(0.4, 1, shape) if name == "x" else rng.uniform(0.5, 1.5, shape)) * spread
    return made


def _run(program: Program, sizes: Mapping[str, int], given: Arrays) -> Arrays:
    import numpy as np

    from ..views import arrays

    with np.errstate(all="ignore"):
        return run(program, arrays.rules(program, sizes, np), given)


@dataclass(frozen=True)
class _Candidate:
    norm: Norm
    program: Program
    eps: Fraction
    fault: str


def _candidates(program: Program, over: Sequence[str], params: Sequence[str]) -> Iterator[_Candidate]:
    """Every norm that the program could be; the right ones first."""
    if not over:
        yield from _running(program, params)
        return
    words = [f"[{axis}]" if axis in over else axis for axis in program.axes]
    for fault, changed in FORMS.items():
        for center in (True, False):
            for correction in (0, 1):
                norm = Norm(" ".join(words), None, 0, correction, center)
                made = changed(forward(norm))
                if made is not None:
                    yield from (_Candidate(norm, made, eps, fault) for eps in _constants(program))


def _running(program: Program, params: Sequence[str]) -> Iterator[_Candidate]:
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
                yield from (_Candidate(norm, made, eps, fault) for eps in _constants(program))


def _agrees(
    candidate: _Candidate,
    program: Program,
    trials: Sequence[tuple[Arrays, Any]],
    sizes: Mapping[str, int],
    params: Sequence[str],
) -> Recognised | None:
    """The candidate with the roles of the parameters under which it gives what the program gives."""
    for roles in _roles(candidate.norm, params):
        for offset in OFFSETS if "gamma" in roles else (0,):
            if all(_close(_made(candidate, sizes, given, roles, offset), y) for given, y in trials):
                return _recognised(candidate, program, roles, offset)
    return None


def _roles(norm: Norm, params: Sequence[str]) -> Iterator[dict[str, str]]:
    """Every way to share the parameters out: what each role's parameter is."""
    statistics = ("running_mean", "running_var") if norm.running else ()
    for roles in ((), ("gamma",), ("beta",), ("gamma", "beta")):
        wanted = (*statistics, *roles)
        if len(wanted) == len(params):
            yield from (dict(zip(wanted, each, strict=True)) for each in permutations(params))


def _made(candidate: _Candidate, sizes: Mapping[str, int], given: Arrays, roles: Mapping[str, str], offset: int) -> Any:
    inputs = {"x": given["x"], "eps": float(candidate.eps)}
    inputs |= {role: given[name] for role, name in roles.items() if role.startswith("running")}
    y = _run(candidate.program, sizes, inputs)["xhat"]
    if "gamma" in roles:
        y = y * (given[roles["gamma"]] + offset)
    return y + given[roles["beta"]] if "beta" in roles else y


def made_by(found: Recognised, sizes: Mapping[str, int], given: Arrays) -> Any:
    """What the norm that was found makes of x and the parameters, each an array of the program's full rank."""
    candidate = _Candidate(found.norm, found.program, found.norm.eps or Fraction(0), "")
    return _made(candidate, sizes, given, {role: name for name, role in found.roles}, found.norm.offset)


def _close(made: Any, y: Any) -> bool:
    import numpy as np

    if made.shape != y.shape or not np.isfinite(y).all() or not np.isfinite(made).all():
        return False
    return bool(np.max(np.abs(made - y)) <= CLOSE * np.max(np.abs(y)))


def _recognised(candidate: _Candidate, program: Program, roles: Mapping[str, str], offset: int) -> Recognised:
    axes = {role: program.values[name] for role, name in roles.items()}
    wanted = {axis for role in ("gamma", "beta") for axis in axes.get(role, ())}
    affine = " ".join(axis for axis in program.axes if axis in wanted)
    norm = replace(
        candidate.norm,
        affine=affine or None,
        eps=as_written(candidate.eps),
        scale=bool(affine) and "gamma" in roles,
        shift=bool(affine) and "beta" in roles,
        offset=offset,
        name="",
    )
    faults = [candidate.fault] if candidate.fault else []
    faults += ["correction"] if norm.correction else []
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
    clamped = any(step.op == "maximum" for step in program)
    if not found.norm.center or found.norm.running or not _loses_digits(found, program, y, sizes):
        return found
    faults = ("one-pass",) if clamped else ("one-pass", "unclamped")
    return replace(found, form="one-pass", clamped=clamped, faults=(*found.faults, *faults))


def _loses_digits(found: Recognised, program: Program, y: str, sizes: Mapping[str, int]) -> bool:
    import numpy as np

    given = _inputs(program, sizes, 1.0, 7)
    given["x"] = given["x"] + LARGE_MEAN
    right = made_by(found, sizes, given)
    got = _run(program, sizes, given)[y]
    return not bool(np.max(np.abs(got - right)) <= 1e-3 * np.max(np.abs(right)))
