"""The commands in exact numbers: normscope exact, normscope exercises."""

from typing import TYPE_CHECKING, Any

import click

from ..errors import ExactError
from .options import colored, json_alone, printing

if TYPE_CHECKING:
    from ..block import ExactTrace
    from ..program import Step

MOST_CELLS = 64
MOST_CHARACTERS = 5_000  # of all vectors: what is computed has twice the digits of all of them, and a root
DIGITS = 30


@click.command(
    short_help="Every step of a norm in exact numbers.",
    context_settings={"ignore_unknown_options": True},  # a vector may begin with a minus
)
@click.argument("x")
@click.option("--residual", metavar="VECTOR", help="Added to x first: the update of a residual block.")
@click.option(
    "--wiring",
    type=click.Choice(("post", "pre")),
    help="post: the norm of x + update; pre: the norm of x, then the add.  [default: post]",
)
@click.option("--norm", type=click.Choice(("layer_norm", "rms_norm")), default="layer_norm", show_default=True)
@click.option("--gamma", metavar="VECTOR", help="Scale.  [default: none]")
@click.option("--beta", metavar="VECTOR", help="Shift.  [default: none]")
@click.option("--eps", default="0", show_default=True, help="Any rational from 0, or 'eps' to keep it a symbol.")
@click.option("--open", "opened", is_flag=True, help="Open the root: closed forms, and their decimals.")
@click.option("--digits", type=click.IntRange(0, 1000), help=f"Decimals of each.  [default: {DIGITS}]")
@printing
def exact(
    x: str,
    residual: str | None,
    wiring: str | None,
    norm: str,
    gamma: str | None,
    beta: str | None,
    eps: str,
    opened: bool,
    digits: int | None,
    as_json: bool,
    color: bool | None,
) -> str:
    """Run a norm on the vector X in exact numbers and show every step.

    A vector is up to 64 numbers with commas between them, each a whole number, a fraction (2/3) or a decimal
    (0.1 is exactly 1/10), with up to 1,000 digits; all vectors together, up to 5,000 characters. The square
    root stays a named step until --open.

    \b
    Examples:
      normscope exact 2,3 --residual 1,-1
      normscope exact 1,2,4 --open --digits 50
      normscope exact 2/3,0.1 --eps 1/100000 --gamma 2,2 --beta 0,1
      normscope exact 2,3 --eps eps --norm rms_norm
    """
    from ..page import json

    if x.startswith("--"):
        raise click.UsageError(f"No such option: {x.split('=')[0]}.")
    if (size := sum(len(text or "") for text in (x, residual, gamma, beta))) > MOST_CHARACTERS:
        raise ExactError(f"the vectors have {size:,} characters; together they may have {MOST_CHARACTERS:,}.")
    given = {"update": residual, "gamma": gamma, "beta": beta}
    vectors = {name: vector(text, name) for name, text in given.items() if text is not None}
    made = run(vector(x, "x"), norm, eps.strip(), wiring, vectors)
    if digits is not None and opened and made.eps == "eps":
        raise click.UsageError("--digits needs a value for eps, as in --eps 1/100000.")
    count = DIGITS if digits is None else digits
    if as_json:
        return json.dumps(made.to_json(opened, count))
    return written(made, opened, count, color)


def run(x: list[str], kind: str, eps: str, wiring: str | None, vectors: dict[str, list[str]]) -> "ExactTrace":
    """The exact trace that the options ask for."""
    from .. import block
    from ..norm import layer_norm, rms_norm

    if wiring and "update" not in vectors:
        raise click.UsageError("--wiring says where the norm stands to the residual add; give --residual.")
    has_gamma, has_beta = "gamma" in vectors, "beta" in vectors
    chosen = (
        layer_norm(elementwise_affine=has_gamma or has_beta, bias=has_beta)
        if kind == "layer_norm"
        else rms_norm(elementwise_affine=has_gamma)
    )
    return block.exact(x, chosen, **vectors, wiring=wiring or "post", eps=eps)


def vector(text: str, name: str) -> list[str]:
    """The numbers of `2,2/3,-0.1`, as text.

    Raises ExactError where there are none or too many.
    """
    numbers = text.split(",") if text.strip() else []
    if not numbers:
        raise ExactError(f"{name} is empty; give numbers with commas between them, as in 2,3.")
    if len(numbers) > MOST_CELLS:
        raise ExactError(f"{name} has {len(numbers):,} numbers; the exact view takes up to {MOST_CELLS}.")
    return numbers


def written(made: "ExactTrace", opened: bool, count: int, color: bool | None) -> str:
    """The steps as tables for a terminal."""
    from ..page.text import table

    wanted = colored(color)
    head = f"{made.norm.name} of {_of(made)} in exact numbers, eps = {made.eps}"
    lines = [["step", "formula", "values"]]
    lines += [[name, "", _row(made.inputs[name])] for name in ("x", "update", "gamma", "beta") if name in made.inputs]
    lines += [[_title(made, step), _formula(made, step), _values(made, step)] for step in made.program]
    parts = [head, table(lines, "<<<", wanted)]
    if not opened:
        return "\n\n".join([*parts, _closing(made)])
    return "\n\n".join([*parts, table(_opened(made, count), "<><<", wanted), *_notes(made)])


def _of(made: "ExactTrace") -> str:
    if made.wiring == "pre":
        return "x, before the residual add (pre-norm),"
    return "x + update (post-norm)" if made.wiring else "x"


def _title(made: "ExactTrace", step: "Step") -> str:
    is_square = step.name == "var" and not made.norm.center
    return "var (mean square)" if is_square else step.name


def _formula(made: "ExactTrace", step: "Step") -> str:
    from ..views.formula import expression
    from ..views.notation import text

    return text(expression(made.program, step.name, frozenset()))


def _values(made: "ExactTrace", step: "Step") -> str:
    return ", ".join(made.written(step.name, named=True))


def _row(values: list[Any]) -> str:
    from ..views.exact import text

    return ", ".join(map(text, values))


def _opened(made: "ExactTrace", count: int) -> list[list[str]]:
    """A line for each cell behind the root: its closed form and its decimals."""
    lines = [["step", "cell", "closed form", "" if made.eps == "eps" else f"{count} decimals"]]
    for step in made.program:
        if step.name in made.behind:
            closed = made.written(step.name)
            decimals = [""] * len(closed) if made.eps == "eps" else made.digits(step.name, count)
            lines += [[step.name, str(i + 1), *pair] for i, pair in enumerate(zip(closed, decimals, strict=True))]
    return lines


def _closing(made: "ExactTrace") -> str:
    if made["v"][0] == 0:
        return "The variance and eps are 0, so that the division by the root is undefined; --eps 1/100000 defines it."
    return f"{made.roots[0]} is named, not computed; --open opens it."


def _notes(made: "ExactTrace") -> list[str]:
    if made.eps == "eps":
        return ["Decimals need a value for eps, as in --eps 1/100000."]
    if made.is_reduced:
        return []
    return ["A root here may not be reduced: factoring ends at primes of 100,000. Its value is exact."]


@click.command(short_help="Exercises with nice numbers, for a class.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Which exercises.")
@click.option("--count", type=click.IntRange(1, 200), default=10, show_default=True, help="How many.")
@click.option("--cells", type=click.IntRange(2, 8), help="How long the vectors are.  [default: 2 to 4]")
@click.option("--rational-root", is_flag=True, help="The root of the variance is rational too.")
@click.option("--answers", is_flag=True, help="Answers too, after all exercises.")
@json_alone
def exercises(seed: int, count: int, cells: int | None, rational_root: bool, answers: bool, as_json: bool) -> str:
    """Exercises for the steps of LayerNorm, with small fractions for mean and variance.

    The same seed gives the same exercises everywhere; a larger count only adds to them.

    \b
    Examples:
      normscope exercises --seed 1 --count 10
      normscope exercises --seed 1 --count 10 --answers
      normscope exercises --cells 4 --rational-root --json
    """
    from .. import exercises as nice
    from ..page import json

    made = nice.exercises(seed, count, cells=cells, rational_root=rational_root)
    if as_json:
        data = {"seed": seed, "count": count, "exercises": [each.to_json(answers) for each in made]}
        return json.dumps(data)
    return nice.sheet(made, answers)


COMMANDS = (exact, exercises)
