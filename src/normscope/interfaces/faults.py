"""Errors that still must reach a reader: in one line on stderr, and as a document where one was asked for."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from traceback import extract_tb
from typing import Any

import click

from ..errors import FileError, NormscopeError

INTERNAL = 70  # exit code of a fault of Normscope's own: EX_SOFTWARE of <sysexits.h>, never that of a verdict
FORMS = ("json", "junit")  # that are documents
ENDS = (click.exceptions.Exit, click.Abort, BrokenPipeError)  # no errors


def internal(error: BaseException) -> str:
    """What is said of an error that nobody foresaw."""
    frames = extract_tb(error.__traceback__)
    where = f", at line {frames[-1].lineno} of {frames[-1].filename.rpartition('/')[2]}" if frames else ""
    what = f"{type(error).__name__}: {error}{where}"
    return f"Normscope failed by a fault of its own ({what}); it says nothing of your code."


def explained(error: BaseException) -> tuple[str, int]:
    """The message of an error and its exit code."""
    if isinstance(error, click.ClickException):
        return error.format_message(), error.exit_code
    if isinstance(error, NormscopeError):
        return str(error), error.exit_code
    if isinstance(error, MemoryError):
        return "there is not enough memory; `normscope open FILE` shows a window.", FileError.exit_code
    return (str(error), FileError.exit_code) if isinstance(error, OSError) else (internal(error), INTERNAL)


@contextmanager
def documented(form: str, target: str) -> Iterator[None]:
    """Where a document was asked for, stdout holds one for an error too; the error goes on."""
    started = time.monotonic()
    try:
        yield
    except ENDS:
        raise
    except Exception as error:
        if form in FORMS:
            message, code = explained(error)
            click.echo(_document(form, target, " ".join(message.split()), code, time.monotonic() - started))
        raise


def _document(form: str, target: str, message: str, code: int, seconds: float) -> str:
    from ..page import json
    from . import junit

    if form == "junit":
        return junit.of_error(message, target, seconds)
    return json.dumps({"verdict": "error", "findings": [], "notes": [], "error": message, "exit_code": code})


class Documented(click.Command):
    """A command whose errors are documents where one was asked for by --json or --format, usage errors too."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> click.Context:
        """Read the arguments."""
        with documented(*_asked(list(args))):
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run it."""
        form = "json" if ctx.params["as_json"] else ctx.params["form"]
        with documented(form, ctx.params["target"]):
            return super().invoke(ctx)


def _asked(args: Sequence[str]) -> tuple[str, str]:
    """The form and the target in arguments that nobody has read yet."""
    words = " ".join(args).replace("--format=", "--format ").split()
    after = [word for before, word in pairwise(words) if before == "--format"]
    form = "json" if "--json" in args else next(iter(after), "text")
    return form, next((word for word in args if ":" in word and not word.startswith("-")), "")
