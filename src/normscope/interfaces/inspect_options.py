"""What `normscope inspect` does with a run: the options, and an answer to them."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .options import options, serving

if TYPE_CHECKING:
    from ..models.found import Report

running = options(
    click.option("--run", "feeds", metavar="INPUT", help="Run the model on the arrays of this .npz file, by name."),
    click.option("--report", "page", metavar="PAGE", help="With --run: write the figures as a page that stands alone."),
    click.option("--open", "where", metavar="NORM", help="With --run: the lab on what goes through this norm."),
    serving,
)


def check_running(feeds: str | None, page: str | None, where: str | None, port: int | None, no_browser: bool) -> None:
    """Raise UsageError for an option that needs another one."""
    if not feeds and (page or where):
        raise click.UsageError("--report and --open show a run; give the model's input too, as in --run input.npz.")
    if not where and (port is not None or no_browser):
        raise click.UsageError("--port and --no-browser belong to --open.")
    if where and page:
        raise click.UsageError("--open and --report are two answers; ask for one at a time.")


def ran(
    source: Any, name: str, report: "Report", feeds: str, page: str | None, as_json: bool, color: bool = False
) -> str:
    """A run's tables or its JSON; with a `page` the same, written there too. `name` is the source as it was typed."""
    from ..page import json
    from .export_command import write
    from .inspect_report import report as drawn
    from .inspect_run import run, text

    made = run(source, report.norms, feeds)
    report = replace(report, norms=(*report.norms, *made.called))
    command = shlex.join(["normscope", "inspect", name, "--run", feeds])
    if page is not None:
        inputs = [path for path in (Path(name), Path(feeds)) if path.exists()]
        write(Path(page), drawn(Path(name).name, Path(feeds).name, made, command, _warnings(report)), inputs)
    if as_json:
        return json.dumps(report.to_json() | {"run": made.to_json()})
    found = report.text(color)
    return (
        found + "\n\n" + text(made, color, f"One of them in the lab, with its real activations: {command} --open NORM")
    )


def _warnings(report: "Report") -> list[str]:
    """What is wrong with the norms, those alike together, and what must be said of the model."""
    from ..models.alike import alike

    lines = [f"{each.where}: {warning}" for each in alike(report.norms) for warning in each.first.warnings]
    return [*lines, *report.warnings]


def opened(source: Any, name: str, report: "Report", feeds: str, where: str, port: int | None, no_browser: bool) -> int:
    """Serve the lab on what goes through one norm until Ctrl-C; the exit code."""
    from .files import SOURCE
    from .inspect_lab import lab
    from .inspect_run import passage_at
    from .web import serve

    shown, path = lab(passage_at(source, report.norms, feeds, where), Path(name).name)
    return serve(sources={SOURCE: shown}, port=port, browser=not no_browser, path=path)
