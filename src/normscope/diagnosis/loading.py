"""A function by where it stands: FILE.py:FUNCTION or package.module:function. Imported in the child process alone."""

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from ..errors import FileError, ImplementationError

METHODS = ("forward", "__call__")
FORM = "FILE.py:FUNCTION or package.module:function"


@dataclass(frozen=True)
class Place:
    """Where functions stand.

    module  the dotted name to import; empty for a file that is no part of a package
    file    the path of a file, absolute; empty for a module found on the path
    """

    module: str
    file: str

    @property
    def shown(self) -> str:
        """What a person calls it."""
        return Path(self.file).name if self.file else self.module


def parse(text: str) -> tuple[Place, str]:
    """The place and the function of a target; ImplementationError where it is none, or there is no such file.

    >>> parse("torch.nn.functional:layer_norm")
    (Place(module='torch.nn.functional', file=''), 'layer_norm')
    """
    where, _, function = text.rpartition(":")
    if not where or not all(part.isidentifier() for part in function.split(".")):
        shown = f"'{text}' names no function" if text else "no function is named"
        raise ImplementationError(f"{shown}; write {FORM}.")
    if not where.endswith(".py") and all(part.isidentifier() for part in where.split(".")):
        return Place(where, ""), function
    path = Path(where).expanduser()
    if not path.exists():
        raise ImplementationError(f"there is no file {where}; write {FORM}.")
    if not path.is_file():
        raise ImplementationError(f"{where} is no file; write {FORM}.")
    return Place("", str(path.resolve())), function


def imported(place: Place) -> ModuleType:
    """The module, its code run. A file of a package is imported as part of it, so that its relative imports work."""
    if place.module and (not place.file or _stands_there(place)):
        return importlib.import_module(place.module)
    path = Path(place.file)
    folder, names = path.parent, [path.stem]
    while (folder / "__init__.py").exists() and folder.name.isidentifier():
        names.insert(0, folder.name)
        folder = folder.parent
    sys.path.insert(0, str(folder))
    if len(names) > 1:
        return importlib.import_module(".".join(names if path.stem != "__init__" else names[:-1]))
    return _from_file(place.module or f"_normscope_{path.stem}", path)


def _stands_there(place: Place) -> bool:
    """Whether the name leads to the file in a new process too; tests are often imported otherwise."""
    try:
        spec = importlib.util.find_spec(place.module)
    except (ImportError, ValueError):
        return False
    return spec is not None and spec.origin is not None and Path(spec.origin).resolve() == Path(place.file).resolve()


def _from_file(name: str, path: Path) -> ModuleType:
    """The file as a module of a name that hides no library."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def found(module: ModuleType, place: Place, name: str) -> Any:
    """The function of a module, by its dotted name; ImplementationError where it is not there or cannot be called."""
    value: Any = module
    for part in name.split("."):
        if not hasattr(value, part):
            raise ImplementationError(f"{place.shown} has no '{name}'; {_has(functions(module))}.")
        is_method = inspect.isclass(value) and part in METHODS and inspect.isfunction(getattr(value, part))
        value = value if is_method else getattr(value, part)  # Layer.forward needs a Layer
    if not callable(value) and not hasattr(value, "forward"):
        raise ImplementationError(f"'{name}' of {place.shown} is a {type(value).__name__}, not a function.")
    return value


def functions(module: ModuleType) -> list[str]:
    """The public functions and classes that a module defines itself."""
    own = vars(module).items()
    return [name for name, each in own if callable(each) and not name.startswith("_")
            and getattr(each, "__module__", None) == module.__name__]  # fmt: skip


def _has(names: Sequence[str]) -> str:
    if not names:
        return "it defines no function"
    return f"it has {', '.join(names[:8])}{' and more' if len(names) > 8 else ''}"


def unimportable(place: Place, why: str) -> FileError:
    """The error for code that raises, ends or stalls while it is imported."""
    return FileError(f"{place.shown} cannot be imported: {why}")
