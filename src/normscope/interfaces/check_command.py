"""The command normscope check: which mistake an implementation makes."""

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from .faults import Documented
from .options import colored, json_alone
from .progress import Progress

if TYPE_CHECKING:
    from ..diagnosis.loading import Place
    from ..diagnosis.verdict import Verdict
    from ..norm import Norm

# As in diagnosis/, whose import would delay every command's help; a test compares them.
NORMS = ("layer_norm", "rms_norm", "batch_norm", "batch_norm_eval", "group_norm", "instance_norm")
DTYPES = ("float64", "float32", "float16", "bfloat16")
FRAMEWORKS = ("numpy", "torch")
SECONDS, MEMORY = 10.0, 2048
WRONG = 1  # the exit code of a mistake


@click.command(cls=Documented, short_help="Which mistake an implementation makes.")
@click.argument("target", metavar="FILE.py:FUNCTION")
@click.option("--norm", type=click.Choice(NORMS), help="What it should compute.  [default: by its name, or layer_norm]")
@click.option("--pattern", help="Any norm: its axes in order, the reduced ones in brackets, as in 'B S [d]'.")
@click.option("--affine", help="Axes of gamma and beta for --pattern, as in 'd'.  [default: the usual ones]")
@click.option(
    "--groups", type=click.IntRange(1), help="Groups of group_norm, or of the axis g of --pattern.  [default: 2]"
)
@click.option("--offset", type=click.IntRange(0, 1), default=0, help="Added to gamma: 1 for Gemma's.  [default: 0]")
@click.option("--backward", metavar="FUNCTION", help="Its backward too: of the same file, or FILE.py:FUNCTION.")
@click.option("--framework", type=click.Choice(FRAMEWORKS), help="Whose arrays it takes.  [default: what it accepts]")
@click.option("--dtype", type=click.Choice(DTYPES), help="Of the arrays it is called with.  [default: float64]")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the random arrays.")
@click.option(
    "--time",
    "seconds",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    default=SECONDS,
    show_default=True,
    help="Limit for the import, and for any one call; all calls together have six times as many.",
)
@click.option(
    "--memory",
    type=click.IntRange(64),
    metavar="MB",
    default=MEMORY,
    show_default=True,
    help="Limit for what the process may hold (on Linux).",
)
@click.option("--format", "form", type=click.Choice(("text", "json", "junit")), default="text", show_default=True,
              help="How the verdict is written.")  # fmt: skip
@json_alone
@click.option("--color/--no-color", default=None, help="Colour the text or not.  [default: on a terminal]")
@click.pass_context
def check(
    context: click.Context,
    target: str,
    norm: str | None,
    pattern: str | None,
    affine: str | None,
    groups: int | None,
    offset: int,
    backward: str | None,
    framework: str | None,
    dtype: str | None,
    seed: int,
    seconds: float,
    memory: int,
    form: str,
    as_json: bool,
    color: bool | None,
) -> int:
    """Call a function on small arrays and say whether it computes the norm, and if not, which mistake it makes.

    FILE.py:FUNCTION may be package.module:function too, and a class or an object with forward or __call__. Its
    arguments are bound by name (x, gamma or weight, beta or bias, eps, num_groups, running_mean, running_var,
    momentum, dy), then by position; it may take fewer. It returns y; BatchNorm y or (y, running_mean, running_var);
    a backward, whose first argument is dy, dx or (dx, dgamma, dbeta). PyTorch's autograd is checked too.

    The file is imported and called in a child process of its own, under the limits below; at the end that process
    and all that it started are killed. This is no sandbox: the code may read and write what you may.

    \b
    Exit codes: 0 correct, 1 a mistake or unrecognised, 2 file or function
    not found, 3 file that cannot be imported, 70 a fault of Normscope's.

    With --json or --format junit stdout holds a document whatever happens. JSON has "verdict" ("correct", "mistake",
    "unrecognised" or "error"), "findings" and "notes"; where the function could not be judged the verdict is "error",
    with the message under "error" and "exit_code". JUnit has one test case, FUNCTION of FILE.py, with a failure that
    lists every finding, or an error.

    \b
    Examples:
      normscope check layers.py:layer_norm
      normscope check layers.py:RMSNorm --json
      normscope check mylib.norms:group_norm --norm group_norm --framework torch
      normscope check layers.py:layer_norm --backward layer_norm_backward
      normscope check layers.py:norm --pattern 'N C [H W]' --format junit > report.xml
    """
    from ..diagnosis import isolation, loading
    from ..diagnosis.child import Limits

    started = time.monotonic()
    place, function = loading.parse(target)
    functions = {"forward": (place, function)} | ({"backward": _other(backward, place)} if backward else {})
    chosen, why = _norm(norm, pattern, affine, groups, function)
    chosen = replace(chosen, offset=offset)
    with Progress() as progress:
        verdict = isolation.in_child(
            functions, chosen, framework=framework, dtype=dtype, seed=seed, limits=Limits(seconds, memory),
            watch=lambda child: setattr(progress, "status", lambda: f"{target}: {child.status}"),
        )  # fmt: skip
    verdict = replace(verdict, notes=(f"checked as {chosen.name} '{chosen.pattern}', {why}.", *verdict.notes))
    click.echo(_written(verdict, target, "json" if as_json else form, color, time.monotonic() - started))
    context.exit(0 if verdict.verdict == "correct" else WRONG)


def _other(name: str, place: "Place") -> "tuple[Place, str]":
    """The backward function: of the same file, unless it says another."""
    from ..diagnosis.loading import parse

    return parse(name) if ":" in name else (place, name)


def _norm(
    name: str | None, pattern: str | None, affine: str | None, groups: int | None, function: str
) -> "tuple[Norm, str]":
    """What the function should compute, and who said so."""
    from ..axes import parse
    from ..diagnosis.naming import GROUPS, KINDS, affine_axes, kind_of, reason
    from ..norm import Norm, group_norm

    if name and pattern:
        raise click.UsageError("--norm and --pattern both say what the norm is; leave one out.")
    if affine and not pattern:
        raise click.UsageError("--affine belongs to --pattern; a --norm knows the axes of its gamma and beta.")
    if pattern:
        is_split = any("g" in dim and len(dim) > 1 for dim in parse(pattern).dims)
        sizes = {"g": groups or GROUPS} if is_split or groups else {}
        plain = Norm(pattern, sizes=sizes)
        return Norm(pattern, affine or affine_axes(plain), sizes=sizes), "as --pattern says"
    said = kind_of(function)
    kind = name or said or "layer_norm"
    if groups is not None and kind != "group_norm":
        raise click.UsageError(f"{kind} takes no --groups.")
    why = reason(function) if said else "since its name says no kind (--norm does)"
    why = "as --norm says" if name else why
    return group_norm(groups) if groups is not None else KINDS[kind](), why


def _written(verdict: "Verdict", target: str, form: str, color: bool | None, seconds: float) -> str:
    from ..page import json
    from . import junit, verdicts

    if form == "json":
        return json.dumps(verdict.to_json())
    if form == "junit":
        return junit.of_verdict(verdict, target, seconds)
    return verdicts.text(verdict, f"{target}: {verdict.verdict}", colored(color))
