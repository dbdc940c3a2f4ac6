"""ns.check(): which mistake an implementation of a norm makes."""

import sys
from typing import TYPE_CHECKING, Any

from ..axes import whole
from ..errors import DtypeError, FileError, ImplementationError, NormError
from ..norm import Norm, layer_norm
from .definition import RIGHT_SCALES
from .isolation import HERE, in_child, in_process, with_notes
from .loading import Place

if TYPE_CHECKING:
    from .verdict import Verdict

DTYPES = ("float64", "float32", "float16", "bfloat16")
LAYER_NORM = layer_norm()


def check(
    fn: Any,
    norm: Norm = LAYER_NORM,
    *,
    backward: Any = None,
    dtype: Any = None,
    seed: int = 0,
    isolate: str | bool = "auto",
) -> "Verdict":
    """Say whether `fn` computes `norm`, and if not, which mistake it makes.

    fn        a function, a class or an object with `forward` or `__call__`, of NumPy arrays or PyTorch tensors; it
              returns y, or of a BatchNorm in training (y, running_mean, running_var). Its arguments are bound by name
              (x, gamma or weight, beta or bias, eps, num_groups, running_mean, running_var, momentum, dy ...), then by
              position; it may take fewer. None: only the backward is checked
    backward  a function that returns dx or (dx, dgamma, dbeta), with dy among its arguments. A `fn` whose first
              parameter is dy is one. Without it PyTorch's autograd or an object's `backward` is checked
    dtype     of the arrays: float64, float32, float16, bfloat16; None: those that fit
    seed      of the random probes
    isolate   "auto": a child process with a time and a memory limit where fn can be imported by name, else this
              process without limits, which the notes say. True: a child or an error; False: this process

    >>> import numpy as np
    >>> def layer_norm(x, gamma, beta, eps):
    ...     c = x - x.mean(-1, keepdims=True)
    ...     return c / np.sqrt((c * c).mean(-1, keepdims=True) + eps) * gamma + beta
    >>> check(layer_norm).verdict
    'correct'

    Raises ImplementationError for what cannot be called, NormError and DtypeError for a wrong norm or dtype.
    """
    _examine(fn, norm, backward, isolate)
    count = whole(seed)
    if count is None or count < 0:
        raise ImplementationError(f"seed is {seed!r}; it must be a whole number from 0.")
    asked = _dtype(dtype)
    places = references(fn, backward) if isolate else None
    why = ""
    if places is not None:
        try:
            return in_child(places, norm, dtype=asked, seed=count)
        except (FileError, ImplementationError) as error:
            if isolate is True:
                raise
            why = f"a child process could not import it ({error}), so it was "
    elif isolate is True:
        raise ImplementationError("isolate is True, and fn cannot be imported by name; use isolate='auto' or a module.")
    verdict = in_process(fn, backward, norm, dtype=asked, seed=count)
    return with_notes(verdict, (why + HERE,))


def _examine(fn: Any, norm: Any, backward: Any, isolate: Any) -> None:
    """Refuse what cannot be meant."""
    if not isinstance(norm, Norm):
        raise NormError(f"norm is {norm!r}; give a Norm, such as layer_norm() or batch_norm().")
    if norm.offset not in RIGHT_SCALES:
        raise NormError(f"norm adds an offset of {norm.offset} to gamma; check knows norms that add 0 or 1.")
    if fn is None and backward is None:
        raise ImplementationError("fn is None and so is backward; give a function to check.")
    for name, value in (("fn", fn), ("backward", backward)):
        if value is not None and not callable(value) and not hasattr(value, "forward"):
            raise ImplementationError(f"{name} is {value!r}; give a function, a class or a module object.")
    if isolate not in ("auto", True, False):
        raise ImplementationError(f"isolate is {isolate!r}; it must be 'auto', True or False.")


def _dtype(dtype: Any) -> str | None:
    """A dtype by its name; NumPy's and PyTorch's own are taken too."""
    if dtype is None:
        return None
    name = str(getattr(dtype, "name", getattr(dtype, "__name__", dtype))).rpartition(".")[2]
    if name not in DTYPES:
        raise DtypeError(f"dtype is {name}; it must be one of {', '.join(DTYPES)}.")
    return name


def references(fn: Any, backward: Any) -> dict[str, tuple[Place, str]] | None:
    """Where both stand, by name; None unless a new process can import each."""
    given = {kind: each for kind, each in (("forward", fn), ("backward", backward)) if each is not None}
    found = {kind: place for kind, each in given.items() if (place := reference(each)) is not None}
    return found if len(found) == len(given) else None


def reference(fn: Any) -> tuple[Place, str] | None:
    """The module and the name under which a function can be imported; None where it is made at run time."""
    module, name = getattr(fn, "__module__", None), getattr(fn, "__qualname__", None)
    home = sys.modules.get(module or "")
    if not module or not name or home is None or module == "__main__" or "<" in name:
        return None
    value: Any = home
    for part in name.split("."):
        value = getattr(value, part, None)
    file = getattr(home, "__file__", None) or ""
    return (Place(module, file if file.endswith(".py") else ""), name) if value is fn else None
