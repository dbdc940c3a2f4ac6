"""The arrays that a model is given: whether they are its inputs, in their names, dtypes and shapes."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import FileError

ALIKE = {("i", "i"), ("u", "i"), ("i", "u"), ("u", "u"), ("f", "f"), ("b", "i"), ("i", "f"), ("u", "f")}


def check_names(
    model: str, wanted: Mapping[str, str], feeds: Mapping[str, Any], notes: list[str], optional: Mapping[str, str] = {}
) -> None:
    """Raise FileError where an input of the model is not given; say which arrays are none of its inputs."""
    lacking = [name for name in wanted if name not in feeds]
    if lacking:
        inputs = "; ".join(f"{name}: {kind}" for name, kind in wanted.items())
        there = ", ".join(feeds) or "nothing"
        raise FileError(f"the input holds {there} and lacks {', '.join(lacking)}; {model} takes {inputs}.")
    notes += [
        f"{name} is no input of {model}, and is left out." for name in feeds if name not in {**wanted, **optional}
    ]


def cast(name: str, cells: Any, dtype: str, notes: list[str]) -> Any:
    """An array in the dtype that the model takes; from floats to floats and from integers to integers alone."""
    import numpy as np

    if cells.dtype.name == dtype:
        return np.ascontiguousarray(cells)
    try:
        wanted = np.dtype(dtype)
    except TypeError:
        return cells
    made = cells.astype(wanted)
    if (cells.dtype.kind, wanted.kind) not in ALIKE or (wanted.kind in "iu" and not np.array_equal(made, cells)):
        raise FileError(f"{name} is {cells.dtype}; the model takes {dtype}.")
    notes.append(f"{name} is cast from {cells.dtype} to {dtype}.")
    return made


def check_shape(name: str, shape: Sequence[int], taken: Sequence[Any]) -> None:
    """Raise FileError for a shape that the model does not take.

    taken  what it takes: a size that is no number is open; without any, the model may leave the rank open too
    """
    whole = f"{name} has shape {tuple(shape)}; the model takes {shape_text(taken)}"
    if taken and len(shape) != len(taken):
        raise FileError(f"{whole}, of {len(taken)} axes.")
    for axis, (size, wanted) in enumerate(zip(shape, taken, strict=False)):
        if isinstance(wanted, int) and size != wanted:
            raise FileError(f"{whole}: axis {axis} has {size:,} and needs {wanted:,}.")


def shape_text(shape: Sequence[Any]) -> str:
    """The shape that an input is declared with.

    >>> shape_text(("batch", None, 64))
    '(batch, ?, 64)'
    """
    return f"({', '.join('?' if size is None else str(size) for size in shape)})"


def first_line(error: BaseException) -> str:
    """What an error says, cut short; its class where it says nothing."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
