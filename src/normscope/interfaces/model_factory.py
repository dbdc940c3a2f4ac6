"""A PyTorch module by the name of what makes it. Its code runs: who typed the name asked for it."""

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from ..diagnosis.loading import found, imported, parse
from ..errors import FileError, ImplementationError
from ..models.inspecting import TAKEN

FORM = "package.module:factory or FILE.py:factory"


class LibraryMissing(FileError):
    """A library that the model's code needs is not installed."""

    exit_code = 4


def is_factory(source: str) -> bool:
    """Whether a text names something in a module, and no file."""
    return ":" in source and not Path(source).exists()


def made(source: str) -> Any:
    """The module that is there under this name, or that is made by calling it without arguments.

    What the code prints goes to stderr: stdout is the report's. Raises ImplementationError for a name that is not there
    or makes no module, FileError for code that raises.
    """
    from ..models.modules import is_module

    place, name = parse(source)
    sys.path.insert(0, str(Path.cwd()))
    with redirect_stdout(sys.stderr):
        try:
            thing = found(imported(place), place, name)
            module = thing if is_module(thing) and not isinstance(thing, type) else thing()
        except (ImplementationError, KeyboardInterrupt):
            raise
        except ModuleNotFoundError as error:
            if error.name in (place.module, place.module.partition(".")[0]):
                raise ImplementationError(f"there is no module {place.module}; write {FORM}.") from None
            needed = f"{source} needs the library {error.name}, which is not installed"
            raise LibraryMissing(f"{needed}; install it: pip install {error.name}") from None
        except BaseException as error:  # a stranger's code, which may even exit
            raise FileError(f"{source} made no model: {type(error).__name__}: {_first_line(error)}") from None
    if not is_module(module):
        raise ImplementationError(f"{source} gives a {type(module).__name__}; give {TAKEN}, or {FORM} for a module.")
    return module


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or ["without a message"])[0][:200]
