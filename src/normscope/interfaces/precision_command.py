"""The command normscope precision: what a tensor loses in narrow formats, row by row."""

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from .options import colored, norm_choice, parameters, printing

if TYPE_CHECKING:
    from ..losses import Loss
    from .files import Tensor

SHOWN = 100  # rows of JSON
WORST = 5  # rows of the table
HEADS = (
    "policy", "storage", "statistics", "median ulp", "not finite", "worst ulp", "at row", "most eps", "breaks at",
)  # fmt: skip


@click.command(short_help="What your tensor loses in bf16, fp16 and fp8.")
@click.argument("file")
@norm_choice
@parameters
@click.option(
    "--policy",
    "policies",
    multiple=True,
    metavar="NAME",
    help="A policy, as in pytorch-bf16; may be given several times.  [default: float32, and the orders of real code in "
    "bf16 and fp16]",
)
@click.option("--all", "whole", is_flag=True, help=f"Every row in the JSON, not the {SHOWN} that lose most.")
@printing
def precision(
    file: str,
    policies: tuple[str, ...],
    whole: bool,
    as_json: bool,
    color: bool | None,
    **asked: Any,
) -> str:
    """Run a norm on FILE (.npy, .npz, .safetensors or .csv) with every step rounded, and show which rows break.

    A row is what shares one statistic. Its worst ulp is the largest error of a cell of y, in units in the last
    place of the storage format at the row's largest |y|; the reference is float64, of x as it is in the file.
    The share of eps is eps / (var + eps), of the policy's own var: 0 where the sum rounds to var, undefined where
    it rounds to 0. A row breaks at the first value that is not finite, or that lay beyond the largest number of
    float8_e4m3fn, which has no infinity; in the JSON that is "overflow".

    \b
    Policies are float32, float64, pytorch-fp32, onnxruntime-fp16, and with -bf16, -fp16, -e4m3fn or -e5m2:
      pytorch     PyTorch's CPU kernel: x, gamma, beta and y are stored so, the rest is float32
      statistics  float32 statistics, every other step rounded
      steps       every step rounded; sums are added in float32
      llama       normalize in float32, cast, then scale
      gemma       scale by 1 + w in float32, then cast
      naive       every step and every partial sum rounded

    \b
    Examples:
      normscope precision hidden.npy
      normscope precision hidden.npy --norm rms_norm --eps 1e-6 --policy llama-bf16 --policy gemma-bf16
      normscope precision hidden.npy --policy pytorch-e4m3fn --json
    """
    from .. import losses
    from ..page import json
    from .choice import make_layer

    layer = make_layer(file, **asked)
    found = losses.precision(
        layer.tensor.array, layer.norm, layer.gamma, layer.beta, policies=policies or losses.POLICIES
    )
    if as_json:
        return json.dumps({"policies": [loss.to_json(None if whole else SHOWN) for loss in found]})
    return written(found, layer.tensor, color)


def written(found: "list[Loss]", tensor: "Tensor", color: bool | None) -> str:
    """A line for each policy: all rows, the median of finite errors; then what it makes of the rows that lose most."""
    from ..page.text import table

    wanted = colored(color)
    count = found[0].worst_ulp.size
    head = f"{tensor.title}: {count:,} row{'' if count == 1 else 's'}; errors in ulps of the storage format"
    if not count:
        return head
    summary = [list(HEADS), *map(_summary, found)]
    rows = _worst_rows(found)
    worst = [["policy", *(f"row {_index(index)}" for index in rows)]]
    worst += [[loss.policy.name, *(_cell(loss, index) for index in rows)] for loss in found]
    title = "The rows that lose most: worst ulp, and the value that each breaks at"
    parts = [head, table(summary, "<<<>>><><", wanted), title, table(worst, "<" + ">" * len(rows), wanted)]
    return "\n\n".join(parts)


def _summary(loss: "Loss") -> list[str]:
    import numpy as np

    from ..page.text import number

    (worst,) = loss.worst_rows(1)
    finite = loss.worst_ulp[np.isfinite(loss.worst_ulp)]
    median = number(np.median(finite)) if finite.size else "none"
    others = f"{loss.worst_ulp.size - finite.size:,}"
    share = np.max(loss.eps_share[np.isfinite(loss.eps_share)], initial=0)
    figures = [median, others, number(loss.worst_ulp[worst]), _index(worst), number(share)]
    return [loss.policy.name, loss.policy.storage, loss.policy.statistics, *figures, _broken(loss)]


def _broken(loss: "Loss") -> str:
    """The values that rows break at, each with its rows."""
    rows = Counter(loss.overflow[loss.overflow >= 0].tolist())
    named = (f"{loss.names[at]} in {count:,} row{'' if count == 1 else 's'}" for at, count in sorted(rows.items()))
    return ", ".join(named) or "nothing"


def _worst_rows(found: "list[Loss]") -> list[tuple[int, ...]]:
    """The rows by the worst that any policy makes of them."""
    import numpy as np

    worst = np.max([loss.worst_ulp for loss in found], axis=0)
    return replace(found[0], worst_ulp=worst).worst_rows(WORST)


def _cell(loss: "Loss", index: tuple[int, ...]) -> str:
    from ..page.text import number

    overflow = loss.first_overflow(index)
    return number(loss.worst_ulp[index]) + (f" {overflow}" if overflow else "")


def _index(index: tuple[int, ...]) -> str:
    return ",".join(map(str, index)) if index else "all"
