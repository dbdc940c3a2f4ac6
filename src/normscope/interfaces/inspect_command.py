"""The commands normscope inspect and normscope diff: the norms of a model, and those of two side by side."""

from typing import Any

import click

from .inspect_options import check_running, opened, ran, running
from .options import colored, printing
from .progress import Progress

DIFFERENT = 1  # the exit code where two models differ


@click.command(short_help="The norms of a model.")
@click.argument("source")
@running
@printing
@click.pass_context
def inspect(
    context: click.Context,
    source: str,
    feeds: str | None,
    page: str | None,
    where: str | None,
    port: int | None,
    no_browser: bool,
    as_json: bool,
    color: bool | None,
) -> str:
    """Find every norm of a model: where it stands, what it is, its eps, and what is wrong about it.

    SOURCE is an .onnx file, a .safetensors file, a folder with a config.json, or package.module:factory, a function
    that makes a PyTorch module: it is imported and called, for you have named it. Nothing else is run: pickles (.pt,
    .bin) are refused.

    What is found in a graph is verified by running its nodes, in a module by running a copy of each of its parts.
    Weights say where norms are, never their eps: config.json does, or it is unknown. Of a PyTorch module the norms that
    are modules are found, whatever their class is called. One that its code calls as a function, such as
    torch.nn.functional.layer_norm, is seen only with --run; one that a forward writes out amid other steps is not seen.

    With --run the model runs on your input, and what enters and leaves each norm is shown: mean and variance of the
    rows, outlier features, the share of eps, gamma and beta, what bf16 and fp16 lose. Weights do not run: for them the
    arrays are what entered a norm, each named like its norm.

    \b
    Exit codes: 0 fine, also where there is no norm; 2 not found, 3 unreadable or unsafe, 4 a library is missing.

    \b
    Examples:
      normscope inspect model.onnx
      normscope inspect folder/ --json
      normscope inspect mymodels.bert:make
      normscope inspect model.onnx --run input.npz --report norms.html
      normscope inspect model.onnx --run input.npz --open encoder/layer.0/norm
    """
    from ..page import json

    check_running(feeds, page, where, port, no_browser)
    model = _opened(source)
    report = _inspected(model)
    if feeds and where:
        context.exit(opened(model, source, report, feeds, where, port, no_browser))
    if feeds:
        return ran(model, source, report, feeds, page, as_json, colored(color))
    return json.dumps(report.to_json()) if as_json else report.text(colored(color))


@click.command(short_help="The norms of two models, side by side.")
@click.argument("a")
@click.argument("b")
@printing
@click.pass_context
def diff(context: click.Context, a: str, b: str, as_json: bool, color: bool | None) -> None:
    """Compare the norms of two models: kind, axes, sizes, eps, offset of gamma, bias, cast order, how the variance is
    computed, placement, QK-norm. Differences come first.

    A and B are what `normscope inspect` takes, or names of presets such as llama-3-8b. What one of them does not tell,
    as weights do not tell eps, is no difference.

    \b
    Exit codes: 0 they agree, 1 they differ, 2 not found, 3 unreadable or unsafe, 4 a library is missing.

    \b
    Examples:
      normscope diff llama-3-8b gemma-2-2b
      normscope diff folder/ model.onnx --json
    """
    from ..models.differing import diff as differing
    from ..page import json
    from ..presets import PRESETS

    sides = [side if side in PRESETS else _inspected(_opened(side)) for side in (a, b)]
    made = differing(*sides)
    click.echo(json.dumps(made.to_json()) if as_json else made.text(colored(color)))
    context.exit(DIFFERENT if made.different else 0)


def _opened(source: str) -> Any:
    """What a person named: a path, or the module that a factory makes."""
    from .model_factory import is_factory, made

    return made(source) if is_factory(source) else source


def _inspected(source: Any) -> Any:
    """The report of a source; on stderr how far it is, where that takes a while."""
    from ..models.inspecting import inspect as inspecting

    with Progress() as progress:

        def tell(done: int, total: int) -> None:
            progress.status = lambda: f"inspecting, {done:,} of {total:,} ({done / max(total, 1):.0%})"

        progress.status = lambda: "reading the model"
        return inspecting(source, progress=tell)
