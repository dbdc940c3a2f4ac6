"""The commands: normscope (serve the lab), open, trace, ledger."""

import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from .. import __version__
from .check_command import check
from .compare_command import compare
from .exact_commands import COMMANDS
from .export_command import export
from .faults import explained
from .inspect_command import diff, inspect
from .ledger_command import ledger
from .measure_command import measure
from .options import colored, norm_choice, parameters, printing, serving
from .precision_command import precision

INTERRUPTED, PIPE_CLOSED = 130, 141  # as a shell counts a process that a signal ended


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@serving
@click.version_option(__version__, prog_name="normscope", message="%(prog)s %(version)s")
@click.pass_context
def normscope(context: click.Context, port: int | None, no_browser: bool) -> None:
    """A microscope for normalization layers, above all LayerNorm.

    Without a command: serve the lab on this machine and open it in the browser (Ctrl-C stops it).

    \b
    Examples:
      normscope                             the lab
      normscope open hidden.npy             the lab on your own tensor
      normscope trace hidden.npy            every step of LayerNorm on it
      normscope ledger --shape 8,1024,768   bytes and FLOPs of every step
      normscope ledger --preset llama-3-8b  those of all norms of a model

    Exit codes: 0 fine, 1 a finding, 2 a wrong request, 3 input that cannot be read, 4 a library is missing.
    """
    if context.invoked_subcommand is None:
        _serve({}, port, no_browser, "/")
    elif port is not None or no_browser:
        raise click.UsageError(f"--port and --no-browser stand after '{context.invoked_subcommand}'.")


@normscope.command("open", short_help="The lab on your own tensor.")
@click.argument("file")
@parameters
@serving
def open_file(file: str, port: int | None, no_browser: bool, **asked: Any) -> None:
    """Open the lab on a window of FILE (.npy, .npz, .safetensors or .csv).

    An array is mapped, not loaded (unless it is compressed): its size does not matter. The file is never modified.
    Arrays of a .npz or .safetensors file that are called gamma, beta and eps are those of the norm.

    \b
    Examples:
      normscope open hidden.npy
      normscope open tokens.csv --gamma weight.npy --beta bias.npy --eps 1e-12
      normscope open captured.npz --array layer3
      normscope open gemma.npz --gamma layer3.weight --offset 1 --array layer3.x
    """
    from .files import SOURCE, opened

    source = opened(file, **asked)
    _serve({SOURCE: source}, port, no_browser, f"/inside?v=1&source={SOURCE}")


def _serve(sources: dict[str, Any], port: int | None, no_browser: bool, path: str) -> None:
    from .web import serve

    click.get_current_context().exit(serve(sources=sources, port=port, browser=not no_browser, path=path))


@normscope.command(short_help="Every step of a norm on your own tensor.")
@click.argument("file")
@norm_choice
@parameters
@click.option("--backward", "dy", metavar="DY", help="Steps back too, from the gradient of y in this file.")
@click.option("--policy", metavar="NAME", help="Round every step as code in narrow formats does, as in pytorch-bf16.")
@click.option("--all", "whole", is_flag=True, help="Every cell of a large tensor, not a window of each step.")
@printing
def trace(
    file: str,
    dy: str | None,
    policy: str | None,
    whole: bool,
    as_json: bool,
    color: bool | None,
    **asked: Any,
) -> str:
    """Run a norm on the tensor in FILE (.npy, .npz, .safetensors or .csv) and show every step.

    Arrays of a .npz or .safetensors file that are called gamma, beta and eps are those of the norm.

    Tables show a window of each step; --json has full precision, and a step of more than 10,000 cells as a
    window unless --all is given: "window" then lists the index ranges that are shown of every axis.
    --backward runs the norm backward as well, from the gradient of a loss with respect to y (a file, or an array of
    FILE, of the shape of x) to dx, dgamma and dbeta.

    \b
    Examples:
      normscope trace hidden.npy
      normscope trace hidden.npy --norm rms_norm --eps 1e-6 --gamma weight.npy --json
      normscope trace image.npy --norm group_norm --groups 32
      normscope trace image.npy --pattern 'N C [H W]' --affine C
      normscope trace hidden.npy --gamma weight.npy --backward dy.npy
      normscope trace hidden.npy --policy pytorch-bf16
      normscope trace captured.npz --array layer3 --gamma layer3.weight --norm rms_norm --offset 1
    """
    from . import reports
    from .choice import make_layer
    from .files import beside

    layer = make_layer(file, **asked)
    gradient = dy and beside(layer.tensor, dy, "dy", asked["decimal_comma"]).array
    made = reports.traced(layer, gradient, policy)
    if as_json:
        return reports.trace_json(made, layer.tensor.tokens, whole)
    return reports.trace_text(made, layer.tensor.tokens, whole, colored(color))


for command in (ledger, *COMMANDS, check, compare, inspect, diff, measure, precision, export):
    normscope.add_command(command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; an error is one line on stderr, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # where μ or … cannot be written, the rest still is
    try:
        result = normscope.main(arguments, prog_name="normscope", standalone_mode=False)
        _print(result)
        return result if isinstance(result, int) else 0
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except click.Abort:
        return INTERRUPTED
    except click.ClickException as error:
        return _fail(_usage(error), error.exit_code)
    except Exception as error:  # one that nobody foresaw too
        return _fail(*explained(error))


def _print(result: Any) -> None:
    """Print what a command returns. Here, and not in it: click would turn a closed pipe into exit code 1."""
    if isinstance(result, bytes):  # a page, whose encoding is not the terminal's
        sys.stdout.buffer.write(result)
    elif isinstance(result, str):
        print(result)
    sys.stdout.flush()


def _usage(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    message = error.format_message()
    stop = "" if message.endswith((".", "?", ")")) else "."
    return message + stop + (f" See '{context.command_path} --help'." if context else "")


def _fail(message: str, code: int) -> int:
    click.echo(f"Error: {' '.join(message.split())}", err=True)
    return code
