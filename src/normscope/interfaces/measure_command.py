"""The command normscope measure: predicted beside measured, on this machine."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import FileError
from .options import colored, printing

if TYPE_CHECKING:
    from ..norm import Norm

# As in kernels/, whose import would delay every command's help; a test compares them.
DTYPES = ("float32", "float64", "float16", "bfloat16")
NORMS = ("layer_norm", "rms_norm")
SHAPE = "8,1024,768"
SECONDS = 6.0


@click.command(short_help="Predicted costs beside measured ones, on this machine.")
@click.option("--shape", metavar="SIZES", help=f"The shape of x, as in 8,1024,768.  [default: {SHAPE}]")
@click.option("--preset", metavar="NAME", help="The norm of a model at its longest sequence, as in gpt2-small.")
@click.option("--dtype", type=click.Choice(DTYPES), default="float32", show_default=True, help="Of x and y.")
@click.option("--norm", type=click.Choice(NORMS), help="Over the last axis.  [default: layer_norm, or the preset's]")
@click.option("--no-affine", is_flag=True, help="The norm has no gamma and beta.")
@click.option("--no-bias", is_flag=True, help="The norm has no beta.")
@click.option("--eps", help="Added to the variance, as a decimal or a fraction.  [default: the norm's own]")
@click.option("--threads", type=click.IntRange(1), metavar="COUNT", help="Of every engine.  [default: all cores]")
@click.option(
    "--time",
    "seconds",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    default=SECONDS,
    show_default=True,
    help="After which no new round of samples begins.",
)
@click.option("--memory", type=click.IntRange(1), metavar="MB", help="Most that may be held.  [default: what is free]")
@click.option("--plot", metavar="FILE", help="Write the plot too (.svg).")
@printing
def measure(
    shape: str | None,
    preset: str | None,
    dtype: str,
    norm: str | None,
    no_affine: bool,
    no_bias: bool,
    eps: str | None,
    threads: int | None,
    seconds: float,
    memory: int | None,
    plot: str | None,
    as_json: bool,
    color: bool | None,
) -> str:
    """Run a norm over the last axis by every engine that is here: what each keeps and how long it takes.

    Engines are the staged run (a buffer for every step, as the ledger counts them), NumPy step by step, Normscope's
    fused kernel with y allocated in the call and with out=, and PyTorch and ONNX Runtime where they are installed.
    Times are a share of the limit: a fused norm reads x and writes y once, as a copy does, which is made by as many
    threads in the same run. Bytes are what NumPy's allocator holds, inputs and result included.

    \b
    Examples:
      normscope measure
      normscope measure --shape 16,2048,4096 --dtype bfloat16
      normscope measure --preset llama-3-8b --plot llama.svg
      normscope measure --shape 1,1,768 --threads 1 --json
    """
    from ..kernels import limits
    from ..kernels import measure as measuring
    from ..page import json
    from . import machine, measured
    from .progress import Progress

    chosen, sizes = _asked(shape, preset, norm, no_affine, no_bias, eps)
    _writable(plot)
    cost = limits.checked(sizes, chosen, dtype)
    _bounded(limits.refusal, cost, memory)
    with Progress() as progress:
        made = measuring.measure(
            sizes, chosen, dtype, threads=threads or machine.cores(), seconds=seconds,
            watch=lambda doing: setattr(progress, "status", lambda: doing),
        )  # fmt: skip
    data = {"machine": machine.describe()} | made.to_json()
    if plot:
        Path(plot).write_text(measured.svg(data), encoding="utf-8")
    return json.dumps(data) if as_json else measured.text(data, colored(color))


def _asked(
    shape: str | None, preset: str | None, norm: str | None, no_affine: bool, no_bias: bool, eps: str | None
) -> "tuple[Norm, tuple[int, ...]]":
    """The norm and the shape of x; UsageError where the options contradict each other."""
    from .. import norm as norms
    from .choice import sizes

    if shape and preset:
        raise click.UsageError("--shape and --preset both say how large x is; leave one out.")
    if no_affine and no_bias:
        raise click.UsageError("--no-affine leaves out beta too; leave --no-bias out.")
    if preset:
        if norm or no_affine or no_bias or eps:
            raise click.UsageError("--preset says what the norm is; leave --norm, --eps and the like out.")
        model = _model(preset)
        return model.norm(), (1, *model.longest)
    given: dict[str, Any] = {"elementwise_affine": not no_affine} | ({"eps": eps} if eps else {})
    if norm == "rms_norm":
        return norms.rms_norm(**given), sizes(shape or SHAPE)
    return norms.layer_norm(**given, bias=not no_bias), sizes(shape or SHAPE)


def _model(name: str) -> Any:
    from ..presets import PRESETS

    if name not in PRESETS:
        raise click.UsageError(f"--preset is '{name}'; the presets are {', '.join(PRESETS)}.")
    return PRESETS[name]


def _writable(plot: str | None) -> None:
    """An error now, and not after the measurement, where the plot could not be written."""
    if plot is None:
        return
    path = Path(plot)
    if path.suffix != ".svg":
        raise click.UsageError(f"--plot is '{plot}'; it is an .svg file.")
    if not path.parent.is_dir():
        raise FileError(f"there is no folder {path.parent} for {path.name}.")


def _bounded(refusal: Any, cost: Any, memory: int | None) -> None:
    """An error where the measurement would not fit in memory."""
    from .memory import available

    limits = [memory and memory * 2**20, available()]
    most = min((limit for limit in limits if limit), default=None)
    why = most is not None and refusal(cost, most)
    if why:
        raise click.UsageError(why[0].upper() + why[1:])
