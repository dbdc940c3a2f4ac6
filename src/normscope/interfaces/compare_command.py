"""The command normscope compare: the same tensor under several norms."""

import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from .options import array_choice, colored, decimal_comma, printing

if TYPE_CHECKING:
    from ..comparison import Compared, Comparison
    from .files import Tensor

# As in kinds.py and conventions.py, whose import would delay every command's help; a test compares them.
NAMES = ("layer_norm", "rms_norm", "batch_norm", "batch_norm_eval", "instance_norm", "group_norm")
LAYOUTS = ("tokens", "channels")
CONVENTIONS = ("pytorch", "keras")


@click.command(short_help="Your own tensor under several norms.")
@click.argument("file")
@click.option(
    "--norms",
    default="layer_norm,batch_norm",
    show_default=True,
    metavar="LIST",
    help=f"Norms with commas between them: {', '.join(NAMES)}, or patterns such as 'B [S] d'.",
)
@click.option(
    "--layout",
    type=click.Choice(LAYOUTS),
    default="tokens",
    show_default=True,
    help="What names take the axes of x to be. tokens: features last (d; S d; B S d). channels: the second axis (N C; "
    "N C L; N C H W). Patterns name their own.",
)
@click.option("--groups", type=int, help="Number of groups: of group_norm, or of the axis g of a pattern.")
@click.option("--eps", help="Added to the variance of every norm.  [default: each norm's own]")
@click.option("--running-mean", metavar="FILE", help="Where a BatchNorm starts: a file or in FILE.  [default: zeros]")
@click.option("--running-var", metavar="FILE", help="Where a BatchNorm starts: a file or in FILE.  [default: ones]")
@click.option(
    "--batches",
    type=int,
    help="How often x was seen in training, before batch_norm_eval.  [default: 1, or 0 with running statistics]",
)
@click.option("--momentum", help="Of the running statistics, from 0 to 1.  [default: 0.1, or 0.99 with keras]")
@click.option(
    "--convention",
    type=click.Choice(CONVENTIONS),
    default="pytorch",
    show_default=True,
    help="pytorch: the momentum weighs the new value; the running variance is unbiased. keras: the momentum weighs the "
    "old value; the running variance divides by n.",
)
@array_choice
@decimal_comma
@click.option("--all", "whole", is_flag=True, help="Every cell of a large tensor, not a window.")
@printing
def compare(
    file: str,
    norms: str,
    layout: str,
    groups: int | None,
    eps: str | None,
    running_mean: str | None,
    running_var: str | None,
    batches: int | None,
    momentum: str | None,
    convention: str,
    array: str | None,
    decimal_comma: bool,
    whole: bool,
    as_json: bool,
    color: bool | None,
) -> str:
    """Run several norms on the tensor in FILE: which axes each reduces and which it keeps, how many
    statistics that makes, how many outputs one cell moves (of batch_norm_eval with its running statistics held), and
    xhat. gamma and beta are left out.

    Tables show a window of xhat; --json has full precision, and an xhat of more than 10,000 cells as a window unless
    --all is given: "window" then lists the index ranges that are shown of every axis.

    \b
    Examples:
      normscope compare tokens.csv
      normscope compare hidden.npy --norms layer_norm,batch_norm --json
      normscope compare image.npy --layout channels --norms batch_norm,instance_norm,group_norm --groups 32
      normscope compare tokens.csv --norms 'batch_norm,batch_norm_eval,[S d]' --batches 3
    """
    from .. import comparison, kinds
    from ..page import json
    from . import memory, reports
    from .files import parameter, read

    tensor = read(file, decimal_comma=decimal_comma, array=array)
    mean = running_mean and parameter(running_mean, "running_mean", decimal_comma, tensor)
    var = running_var and parameter(running_var, "running_var", decimal_comma, tensor)
    x = tensor.array
    asked = [norm for _, norm in kinds.asked(norms, x.ndim, layout, eps, groups)]
    memory.check(file, asked, x.shape, reports.width(x))
    made = comparison.compare(
        x, norms, layout=layout, eps=eps, num_groups=groups, running_mean=mean, running_var=var,
        momentum=momentum, convention=convention, batches=batches,
    )  # fmt: skip
    if as_json:
        named = {"tokens": list(tensor.tokens)} if tensor.tokens else {}
        return json.dumps(named | {"norms": [to_json(each, whole) for each in made]})
    return written(made, tensor, whole, colored(color))


def to_json(each: "Compared", whole: bool) -> dict[str, Any]:
    """A norm as JSON values; what is large as a window unless `whole`."""
    from ..page.window import cut_out, window

    data = each.to_json()
    if whole:
        return data
    kept = tuple(each.trace.sizes[axis] for axis in each.kept)
    shapes = {"mean": kept, "variance": kept, "xhat": each.trace.shape}
    windows = {name: shown for name, shape in shapes.items() if data[name] is not None and (shown := window(shape))}
    cut = {name: cut_out(data[name], shown) for name, shown in windows.items()}
    return data | cut | ({"window": windows} if windows else {})


def written(made: "Comparison", tensor: "Tensor", whole: bool, color: bool) -> str:
    """The table of all norms; then of each how frameworks name its axes, its running statistics and xhat."""
    width = shutil.get_terminal_size().columns
    parts = [made.text(color)]
    for each in made:
        parts.append("\n".join([f"{each.title} '{each.pattern}'", *_words(each)]))
        parts += _running(each, width, whole, color)
        parts.append(_xhat(each, tensor.tokens, width, whole, color))
    return "\n\n".join(parts)


def _words(each: "Compared") -> list[str]:
    from ..page.text import table

    return [f"  {line}" for line in table(list(each.axis.items()), "<<").splitlines()]


def _running(each: "Compared", width: int, whole: bool, color: bool) -> list[str]:
    from ..conventions import CONVENTIONS
    from ..page.text import tensor

    if each.running is None:
        return []
    told = each.running
    rule = CONVENTIONS[told.convention]
    batches = f"{told.batches} batch{'es' * (told.batches != 1)}"
    shape = tuple(each.trace.sizes[axis] for axis in each.kept)
    after = f"after {batches}; {rule.title}, momentum {told.momentum:g}: {rule.rule}"
    values = {f"running_mean {after}": told.mean, f"running_var {after}": told.var}
    return [tensor(title, each.kept, shape, value, None, None, width, whole, color) for title, value in values.items()]


def _xhat(each: "Compared", tokens: Sequence[str] | None, width: int, whole: bool, color: bool) -> str:
    from ..comparison import drawn
    from ..page.text import tensor

    axes, shape, values = drawn(each)
    named = {axes[0]: tokens} if tokens and shape[0] == len(tokens) else {}
    return tensor("xhat", axes, shape, values, None, named, width, whole, color)
