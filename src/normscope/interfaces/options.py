"""Options that several commands share, each group in the order of the help."""

import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

PORT = 8417
NORMS = ("layer_norm", "rms_norm", "batch_norm", "group_norm", "instance_norm")

Command = TypeVar("Command", bound=Callable[..., Any])


def options(*decorators: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Several click options as one decorator, shown in this order."""

    def decorate(command: Command) -> Command:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


norm_choice = options(
    click.option("--norm", type=click.Choice(NORMS), help="A kind of norm.  [default: layer_norm]"),
    click.option("--pattern", help="Any norm: its axes in order, the reduced ones in brackets, as in 'B S [d]'."),
    click.option("--affine", help="Axes of gamma and beta for --pattern, as in 'd'.  [default: none]"),
    click.option("--no-affine", is_flag=True, help="The norm has no gamma and beta."),
    click.option("--groups", type=int, help="Number of groups: of group_norm, or of the axis g of --pattern."),
)
decimal_comma = click.option(
    "--decimal-comma", is_flag=True, help="Numbers in .csv files have decimal commas: 1,5;2,5."
)
array_choice = click.option(
    "--array", metavar="NAME", help="Which array of a .npz or .safetensors file is x.  [default: the only one]"
)
offset_choice = click.option(
    "--offset", type=int, default=0, help="Added to gamma before it multiplies: 1 for Gemma's weights.  [default: 0]"
)
parameters = options(
    array_choice,
    click.option("--eps", help="Added to the variance, as a decimal or a fraction.  [default: the norm's own]"),
    click.option("--gamma", metavar="FILE", help="Scale: a file, or an array of FILE by name.  [default: ones]"),
    click.option("--beta", metavar="FILE", help="Shift: a file, or an array of FILE by name.  [default: zeros]"),
    offset_choice,
    decimal_comma,
)
json_alone = click.option("--json", "as_json", is_flag=True, help="Print JSON, and nothing else, on stdout.")
printing = options(
    json_alone,
    click.option("--color/--no-color", default=None, help="Colour the tables or not.  [default: on a terminal]"),
)

serving = options(
    click.option(
        "--port",
        type=click.IntRange(0, 65535),
        metavar="NUMBER",
        help=f"Port on 127.0.0.1; 0 takes any free one. [default: {PORT}, or another if it is taken]",
    ),
    click.option("--no-browser", is_flag=True, help="Do not open a browser."),
)


def colored(choice: bool | None) -> bool:
    """Whether what goes to stdout wears colours: as asked for, else as the terminal and its variables say."""
    from ..page.text import wants_color

    return wants_color(choice, os.environ, sys.stdout.isatty())
