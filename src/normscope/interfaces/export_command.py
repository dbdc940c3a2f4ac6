"""The command normscope export: a state of a lesson as one file."""

import os
import shutil
from codecs import BOM_UTF8
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from ..errors import FileError, StateError
from ..lessons.shell import ENTRIES
from .options import json_alone, parameters

if TYPE_CHECKING:
    from ..lessons.sources import Source

LESSONS = tuple(entry.path for entry in ENTRIES)
HEAD = 1024  # bytes that tell a page from other files
NAMES = ", ".join(path.strip("/") for path in LESSONS)


@click.command(short_help="A state of a lesson as one file, without a script.")
@click.argument("state")
@click.option("-o", "--output", metavar="PAGE", help="The file to write: a new one, or a page.  [default: stdout]")
@click.option("--lesson", metavar="NAME", help=f"Which lesson a bare query belongs to: {NAMES}.")
@click.option("--file", "file", metavar="FILE", help="The file that the state shows; the options below are of it.")
@parameters
@json_alone
def export(
    state: str,
    output: str | None,
    lesson: str | None,
    file: str | None,
    as_json: bool,
    **asked: Any,
) -> str | bytes | None:
    """Write a state of a lesson as one self-contained page: no script, no request, ready to print.

    STATE is the link of a lesson, with any host or none ('/inside?v=1&step=mu'), or its query alone. The link
    says which lesson it is. For a query, --lesson does, unless only one lesson can read it. Quote STATE: a
    shell takes & for its own. A page that is there already is overwritten; any other file is not.

    \b
    Examples:
      normscope export 'http://127.0.0.1:8417/inside?v=1&step=var' -o var.html
      normscope export 'v=1&x=1,2,4&update=0,0,0&panel=3' -o variance.html
      normscope export /exercises > sheet.html
      normscope export '/inside?v=1&source=file&step=r' --file hidden.npy -o r.html
    """
    from ..page import json
    from .export import page

    if not file and any(asked.values()):
        names = ", ".join(f"--{name.replace('_', '-')}" for name, value in asked.items() if value)
        raise click.UsageError(f"{names} belong{'s' * (',' not in names)} to --file; give the file too.")
    path, query = address(state)
    sources = _sources(query, file, asked)
    path = _lesson(path, lesson, query, sources)
    made = page(path, query, sources)
    if output is not None:
        write(Path(output), made.html, [Path(name) for name in (file, asked["gamma"], asked["beta"]) if name])
    if as_json:
        return json.dumps(made._asdict() if output is None else made._asdict() | {"html": None, "file": output})
    return made.html.encode() if output is None else None


def address(text: str) -> tuple[str, str]:
    """The lesson's path and the query that a state is given as; an empty path for a query alone.

    >>> address("https://host/hub/user/inside?v=1&step=mu")
    ('/inside', 'v=1&step=mu')
    >>> address("/named"), address("?v=1&seed=3"), address("v=1&x=2/3,1")
    (('/named', ''), ('', 'v=1&seed=3'), ('', 'v=1&x=2/3,1'))
    """
    text = text.strip().partition("#")[0]
    head, _, query = text.partition("?")
    if "=" in head:
        return "", text
    place = urlsplit(head).path if "://" in head else head
    return (f"/{place.rstrip('/').rpartition('/')[2]}" if head else ""), query


def _lesson(path: str, name: str | None, query: str, sources: "dict[str, Source]") -> str:
    """The path of the lesson that is meant; UsageError where that is not clear."""
    chosen = f"/{name.strip('/')}" if name else path
    if path and chosen != path:
        raise click.UsageError(f"the link is of '{path[1:]}' and --lesson is '{name}'; leave --lesson out.")
    if chosen == "/":
        raise click.UsageError(f"'/' is the first page, which is no lesson; the lessons are {NAMES}.")
    if chosen and chosen not in LESSONS:
        raise click.UsageError(f"'{chosen[1:41]}' is no lesson; the lessons are {NAMES}.")
    return chosen or _only(query, sources)


def _only(query: str, sources: "dict[str, Source]") -> str:
    """The one lesson that can read a query."""
    fitting = [path for path in LESSONS if _reads(path, query, sources)]
    if len(fitting) == 1:
        return fitting[0]
    which = " and ".join(path[1:] for path in fitting)
    why = f"it can be read by {which}" if fitting else "no lesson can read it as it is"
    raise click.UsageError(f"a query does not say its lesson, and {why}; say --lesson, one of {NAMES}.")


def _reads(path: str, query: str, sources: "dict[str, Source]") -> bool:
    from ..lessons.site import LESSONS
    from ..lessons.state import split

    try:
        LESSONS[path].state_of(split(query), sources)
    except StateError:
        return False
    return True


def _sources(query: str, file: str | None, asked: dict[str, Any]) -> "dict[str, Source]":
    from ..lessons.state import split
    from .files import SOURCE, opened

    wanted = split(query)
    is_shown = wanted.fields.get("source") == SOURCE or ("source", SOURCE) in wanted.actions
    if file and not is_shown:
        raise click.UsageError("the state does not show the file; a state that does has source=file.")
    if is_shown and not file:
        raise click.UsageError("the state shows a file, which a link does not carry; give it with --file FILE.")
    return {SOURCE: opened(file, **asked)} if file else {}


def write(path: Path, text: str, inputs: list[Path]) -> None:
    """Write a file whole or not at all; FileError where it cannot be, or where it is one that was read."""
    try:
        path = path.resolve()  # what a link points to is written, not the link
        if any(path.exists() and each.exists() and path.samefile(each) for each in inputs):
            raise FileError(f"the page would overwrite {path.name}, which is the input; name another file.")
        if path.exists() and not path.is_file():  # a pipe or a device; a folder says that it is none
            path.write_text(text, encoding="utf-8")
            return
        if path.exists() and not _is_page(path):
            raise FileError(f"{path.name} is there and is no HTML page; name another file, or delete it first.")
        _replace(path, text)
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"the page cannot be written to {path}: {error.strerror or error}.") from None


def _is_page(path: Path) -> bool:
    """Whether a file is an HTML page, or empty: nothing is lost where such a one is written anew."""
    with path.open("rb") as file:
        head = file.read(HEAD).removeprefix(BOM_UTF8).lstrip().lower()
    return not head or head.startswith((b"<!doctype html", b"<html"))


def _replace(path: Path, text: str) -> None:
    partial = path.with_name(f".normscope-{os.getpid()}.partial")
    try:
        with partial.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
        if path.exists():
            shutil.copymode(path, partial)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
