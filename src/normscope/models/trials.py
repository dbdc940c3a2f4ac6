"""A program run on random numbers: at spreads of x that bring out every eps, and far from 0."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod, sqrt
from typing import Any

from ..program import Program
from ..run import run

LARGE_MEAN = 2.0**27  # float64 loses every digit of a one-pass variance there, and eight of a two-pass one
TINY = 1e-3  # of the least eps

Arrays = Mapping[str, Any]


def possible_eps(program: Program, sizes: Mapping[str, int]) -> list[Fraction]:
    """What eps can be: the constants that are added or are a floor, and nothing."""
    steps = [step for step in program if step.op in ("add", "maximum")]
    found = {arg for step in steps for arg in step.args if isinstance(arg, Fraction) and arg > 0}
    for over in {step.over for step in program if step.op == "sum"}:  # beside a sum stands n times a mean's eps
        count = prod(sizes[axis] for axis in over)
        found |= {made for eps in tuple(found) for made in (eps / count, Fraction(float(eps) / sqrt(count)))}
    return [*sorted(found), Fraction(0)]


def spreads(possible: Sequence[Fraction]) -> list[float]:
    """The spreads of x to try: an ordinary one, those beside which each eps counts, and one beside which all do."""
    small = [float(eps) for eps in possible if eps]
    return [1.3, *(made for eps in small for made in (sqrt(eps), eps)), *(min(small) * TINY for _ in small[:1])]


@dataclass(frozen=True)
class Trial:
    """Random inputs, the y that the program makes of them, and its largest cell."""

    given: Arrays
    y: Any
    largest: float


def tried(program: Program, y: str, sizes: Mapping[str, int], spread: float, seed: int) -> Trial:
    """The program on random inputs."""
    given = random_inputs(program, sizes, spread, seed)
    made = run_on(program, sizes, given)[y]
    return Trial(given, made, float(abs(made).max()))


def random_inputs(program: Program, sizes: Mapping[str, int], spread: float, seed: int) -> dict[str, Any]:
    """x, whose mean is not 0, and parameters above 0, all of about this size."""
    import numpy as np

    rng = np.random.default_rng(seed)
    made = {}
    for name, _ in program.inputs:
        shape = program.shape(name, sizes)
        made[name] = (rng.normal(0.4, 1, shape) if name == "x" else rng.uniform(0.5, 1.5, shape)) * spread
    return made


def run_on(program: Program, sizes: Mapping[str, int], given: Arrays) -> Arrays:
    """Every step's value, in float64."""
    import numpy as np

    from ..views import arrays

    with np.errstate(all="ignore"):
        return run(program, arrays.rules(program, sizes, np), given)


def far_inputs(program: Program, sizes: Mapping[str, int], seed: int) -> dict[str, Any]:
    """Random inputs whose mean is large beside their spread."""
    given = random_inputs(program, sizes, 1.0, seed)
    return given | {"x": given["x"] + LARGE_MEAN}
