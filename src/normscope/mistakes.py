"""Which mistake gives exactly this number: found by making every mistake that we know, and never guessed.

A mistake is a wrong program: that of a norm with a wrong field, or with one wrong step. All of them are run
in exact numbers on the person's own input; those whose value equals the answer explain it. One made at an
early step explains the later ones too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import Any

from .block import ExactTrace
from .errors import ExactError
from .norm import Norm
from .program import Arg, Program, Step
from .steps import forward, residual
from .views import cells
from .views import exact as reading

ASKED = ("residual", "mu", "c", "var")
LABELS = {
    "x": "x itself",
    "update": "the update",
    "residual": "x + update",
    "mu": "the mean",
    "c": "the centered values",
    "q": "the squares",
    "var": "the variance",
    "v": "the variance plus eps",
    "r": "the reciprocal root",
    "xhat": "the normalized values",
}
ZERO, MINUS_ONE = Fraction(0), Fraction(-1)


@dataclass(frozen=True)
class Mistake:
    """What is done wrong at a step, and the program that does it (None where the right one lacks the step).

    text  goes on after "comes out when you"; {n} stands for the count of cells, {less} for one less
    """

    at: str
    text: str
    wrong: Callable[[ExactTrace], Program | None]


@dataclass(frozen=True)
class Verdict:
    """Whether an answer is right, and else everything that gives it, as text after "comes out when you"."""

    is_right: bool
    mistakes: tuple[str, ...] = ()


def check(made: ExactTrace, step: str, answer: Any) -> Verdict:
    """An answer to "what is the value of this step?", from `exact` numbers of one vector.

    answer  a number for a statistic, a list of them for a vector; taken as they are written

    >>> from .block import exact
    >>> made = exact([2, 3], update=[1, -1])
    >>> check(made, "mu", "5/2")
    Verdict(is_right=True, mistakes=())
    >>> print(*check(made, "var", "1/2").mistakes, sep="\\n")
    drop the signs instead of squaring
    divide by n - 1 = 1 instead of n = 2 in the variance
    leave out the division by n = 2 in the variance
    take the root of the variance already

    Raises ExactError for another step, and for an answer that is no number or of another length.
    """
    if step not in ASKED or step not in made:
        raise ExactError(f"step is '{step}'; answers are checked of {', '.join(n for n in ASKED if n in made)}.")
    right = cells.flatten(made[step])
    given = [reading.rational(cell, "answer") for cell in _listed(answer)]
    if len(given) != len(right):
        raise ExactError(f"answer has length {len(given)}; {step}, {LABELS[step]}, has length {len(right)}.")
    if given == right:
        return Verdict(True)
    fitting = [mistake for mistake in MISTAKES if _gives(mistake, made, step, given)]
    count = prod(made.sizes[axis] for axis in made.norm.over)
    texts = [mistake.text.format(n=count, less=count - 1) for mistake in fitting]
    texts += [f"give {LABELS[name]} instead" for name in LABELS if name != step and _stands(name, made, given)]
    if not made.norm.center:
        texts = [text.replace("variance", "mean square") for text in texts]
    return Verdict(False, tuple(dict.fromkeys(texts)))


def explain(made: ExactTrace, step: str, answer: Any) -> str | None:
    """A wrong answer explained in a sentence by all that gives it; None if it is right, or nothing known does.

    >>> from .block import exact
    >>> explain(exact([1, 2, 4]), "var", "7/3")
    'That comes out when you divide by n - 1 = 2 instead of n = 3 in the variance, or when you give the mean instead.'
    """
    found = check(made, step, answer).mistakes
    return f"That comes out when you {', or when you '.join(found)}." if found else None


def _listed(answer: Any) -> Sequence[Any]:
    return answer if isinstance(answer, (list, tuple)) else [answer]


def _stands(name: str, made: ExactTrace, given: list[Fraction]) -> bool:
    """Whether the answer is the value of another step, or an input."""
    if name in made.inputs:
        return cells.flatten(made.inputs[name]) == given
    if name == "v" and made["v"] == made["var"]:  # eps is 0
        return False
    return name in made and cells.flatten(made[name]) == given


def _gives(mistake: Mistake, made: ExactTrace, step: str, given: list[Fraction]) -> bool:
    if mistake.at not in made.program.by_name:
        return False
    program = mistake.wrong(made)
    if program is None or step not in program.by_name:
        return False
    program = _up_to(program, step)
    value = cells.evaluate(program, made.sizes, made.inputs, reading.EXACT)[step]
    return bool(value.flat == given)


def _up_to(program: Program, name: str) -> Program:
    """The program as far as a step; buffers do not matter here."""
    end = list(program.by_name).index(name) + 1
    return replace(program, steps=tuple(replace(step, into=step.name) for step in program.steps[:end]))


def _wired(made: ExactTrace, norm: Norm) -> Program:
    """Another norm in the place of the trace's own."""
    program = forward(norm)
    return residual(program, made.wiring) if made.wiring else program


def _norm(at: str, text: str, change: Callable[[Norm], Norm]) -> Mistake:
    """A mistake that is a wrong field of the norm."""

    def wrong(made: ExactTrace) -> Program | None:
        changed = change(made.norm)
        if changed == made.norm:
            return None
        return _wired(made, changed)

    return Mistake(at, text, wrong)


def _step(at: str, text: str, change: Callable[[Step, str], Step]) -> Mistake:
    """A mistake that is one wrong step, from the right one and the name of what the norm reads."""

    def wrong(made: ExactTrace) -> Program | None:
        reads = "residual" if made.wiring == "post" else "x"
        changed = change(made.program.by_name[at], reads)
        if set(changed.args) - set(made.program.values) - {ZERO}:
            return None
        return made.program.instead(at, changed)

    return Mistake(at, text, wrong)


def _then(at: str, text: str, op: str, *more: Arg, less: int = 0) -> Mistake:
    """A mistake that does one op more with a step's result, which may have a wrong count."""

    def wrong(made: ExactTrace) -> Program | None:
        right = made.program.by_name[at]
        first = replace(right, name=f"right_{at}", into=f"right_{at}", less=right.less + less)
        then = Step(at, op, (first.name, *more), right.axes, into=at)
        if not set(more) <= set(made.program.values) | {MINUS_ONE}:
            return None
        return made.program.instead(at, first, then)

    return Mistake(at, text, wrong)


def _op(op: str, *args: str) -> Callable[[Step, str], Step]:
    """Another op; and other arguments, of which `in` is what the norm reads."""

    def change(step: Step, reads: str) -> Step:
        named = tuple(reads if arg == "in" else arg for arg in args)
        return replace(step, op=op, args=named or step.args)

    return change


def _only(name: str) -> Callable[[Step, str], Step]:
    """A value as it is, without the op: plus 0."""

    def change(step: Step, reads: str) -> Step:
        return replace(step, op="add", args=(reads if name == "in" else name, ZERO))

    return change


def _from_x(op: str, *more: str) -> Callable[[Step, str], Step]:
    """x where the norm reads the residual; no mistake where it reads x."""
    return lambda step, reads: replace(step, op=op, args=("x", *more))


def _squared_x(made: ExactTrace) -> Program | None:
    """mean(x^2) - mean(x): the short formula of the variance with its second square forgotten."""
    if "mu" not in made:
        return None
    program = _wired(made, replace(made.norm, center=False))
    square = program.by_name["var"]
    mean = made.program.by_name["mu"]
    then = Step("var", "sub", ("mean_square", "mu"), square.axes, into="var")
    before = [step for step in program.steps if step.name in ("residual", "q") and made.wiring != "pre"]
    before = before or [program.by_name["q"]]
    first = replace(square, name="mean_square", into="mean_square")
    return replace(program, steps=(*before, mean, first, then))


OF_N = "divide by n - 1 = {less} instead of n = {n}"
MISTAKES = (
    _step("residual", "subtract the update instead of adding it", _op("sub")),
    _step("residual", "leave the update out and go on with x", _only("x")),
    _step("residual", "go on with the update alone", _only("update")),
    _step("residual", "multiply by the update instead of adding it", _op("mul")),
    _step("mu", "leave out the division by n = {n} in the mean", _op("sum")),
    _step("mu", f"{OF_N} in the mean", lambda step, reads: replace(step, less=step.less + 1)),
    _step("mu", "take the mean of x, not of x + update", _from_x("mean")),
    _then("mu", "swap the sign of the mean", "mul", MINUS_ONE),
    _step("c", "forget to subtract the mean", _only("in")),
    _step("c", "subtract the values from the mean, with the sign swapped", _op("sub", "mu", "in")),
    _step("c", "add the mean instead of subtracting it", _op("add")),
    _step("c", "subtract the mean from x, not from x + update", _from_x("sub", "mu")),
    _then("c", "drop the signs of the centered values", "abs"),
    _step("q", "forget to square", _only("c")),
    _step("q", "drop the signs instead of squaring", lambda step, reads: replace(step, op="abs", args=step.args[:1])),
    _step("q", "double instead of squaring", _op("add")),
    _norm("mu", "forget to center before squaring", lambda norm: replace(norm, center=False)),
    _norm("var", "center, which RMSNorm does not", lambda norm: replace(norm, center=True)),
    _norm("var", f"{OF_N} in the variance", lambda norm: replace(norm, correction=norm.correction + 1)),
    _step("var", "leave out the division by n = {n} in the variance", _op("sum")),
    _then("var", "take the root of the variance already", "sqrt"),
    _then("var", f"{OF_N} in the variance and take its root already", "sqrt", less=1),
    _then("var", "swap the sign of the variance", "mul", MINUS_ONE),
    Mistake("var", "subtract the mean from the mean of the squares, without squaring it", _squared_x),
)
