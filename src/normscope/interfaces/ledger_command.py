"""The command `normscope ledger`: what one norm costs, or all norms of a model."""

from typing import Any

import click

from .options import colored, norm_choice, offset_choice, printing


@click.command(short_help="Bytes, FLOPs and roots of every step.")
@click.option("--shape", metavar="SIZES", help="The shape of x, as in 2,4,8.")
@click.option("--axes", metavar="NAMES", help="Names for the axes of x, as in B,S,d.")
@norm_choice
@offset_choice
@click.option("--backward", is_flag=True, help="The backward pass too, what is saved for it, and both together.")
@click.option("--preset", metavar="NAME", help="All norms of a model, as in llama-3-8b, in place of one of a shape.")
@click.option("--batch", type=int, metavar="COUNT", help="With --preset: sequences or images.  [default: 1]")
@click.option("--seq", type=int, metavar="COUNT", help="With --preset: tokens of each.  [default: the model's most]")
@click.option("--storage", default="float32", show_default=True, help="Dtype of the cells, as in bfloat16.")
@printing
def ledger(
    shape: str | None,
    axes: str | None,
    backward: bool,
    preset: str | None,
    batch: int | None,
    seq: int | None,
    storage: str,
    as_json: bool,
    color: bool | None,
    **chosen: Any,
) -> str:
    """What one forward pass, or with --backward a training step, costs: bytes, FLOPs and roots of every step.

    With --preset: all norms of a model, those alike on one line, in one forward pass and in one training step. Moved
    is what goes through memory: staged, with a kernel for every step; fused, with one for every pass.

    Storage is float64, float32, bfloat16, float16, float8_e4m3fn or float8_e5m2; statistics are FP32.

    \b
    Examples:
      normscope ledger --shape 2,4,8
      normscope ledger --shape 8,1024,768 --axes B,S,d --storage bfloat16
      normscope ledger --shape 32,64,56,56 --norm group_norm --groups 32 --json
      normscope ledger --shape 8,1024,768 --backward
      normscope ledger --preset llama-3-8b --batch 1 --seq 8192 --storage bfloat16
    """
    from ..page import json

    asked = {"shape": shape, "axes": axes, "backward": backward} | chosen
    if preset is None:
        _refuse({"--batch": batch, "--seq": seq}, "belongs to --preset; give the model too")
        cost = _of_norm(shape, axes, backward, storage, **chosen)
    else:
        given = {f"--{name.replace('_', '-')}": value or None for name, value in asked.items()}
        _refuse(given, "is of one norm, --preset of a whole model; leave one out")
        cost = _of_model(preset, batch, seq, storage)
    return json.dumps(cost.to_json()) if as_json else str(cost.text(colored(color)))


def _refuse(given: dict[str, Any], why: str) -> None:
    for name, value in given.items():
        if value is not None:
            raise click.UsageError(f"{name} {why}.")


def _of_model(preset: str, batch: int | None, seq: int | None, storage: str) -> Any:
    from ..views.model_ledger import model_ledger

    return model_ledger(preset, 1 if batch is None else batch, seq, storage)


def _of_norm(shape: str | None, axes: str | None, backward: bool, storage: str, **chosen: Any) -> Any:
    from ..views.ledger import ledger as forward_cost
    from ..views.training import training_ledger
    from . import choice

    if shape is None:
        raise click.UsageError("Missing option '--shape', or '--preset' for a whole model.")
    if axes and chosen["pattern"]:
        raise click.UsageError("--axes names the axes of --norm; a --pattern names its own.")
    sizes = choice.sizes(shape)
    norm = choice.make_norm(chosen.pop("norm"), **chosen)
    if axes:
        norm = choice.named(norm, len(sizes), axes.split(","))
    return (training_ledger if backward else forward_cost)(norm, sizes, storage)
