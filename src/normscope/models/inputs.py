"""What a node is given: its attributes, and its inputs as numbers or as values of the program."""

from collections.abc import Iterable
from typing import Any

from .meaning import Known, Meant, Reading, Tensor
from .regions import Unreadable


def attributes(node: Any) -> dict[str, Any]:
    """The attributes of a node by name."""
    from onnx import helper

    return {each.name: helper.get_attribute_value(each) for each in node.attribute if each.type not in (5, 10)}


def inputs(reading: Reading, node: Any) -> list[Meant]:
    """Every input that is there."""
    return [reading.meant(name) for name in node.input if name]


def known(reading: Reading, node: Any, at: int) -> Known | None:
    """An input that must be known where it is given at all."""
    if at >= len(node.input) or not node.input[at]:
        return None
    value = reading.meant(node.input[at])
    if not isinstance(value, Known):
        raise Unreadable(f"{node.input[at]} is not known")
    return value


def whole_numbers(given: Known) -> list[int]:
    """Known numbers as ints. Raises Unreadable where one is not known."""
    cells = given.cells.ravel()
    if (cells != cells).any():
        raise Unreadable("a number that is not known")
    return [int(cell) for cell in cells]


def tensor(reading: Reading, name: str) -> Tensor:
    """A value of the program. Raises Unreadable for a known number."""
    value = reading.meant(name)
    if not isinstance(value, Tensor):
        raise Unreadable(f"{name} is a number")
    return value


def places(axes: Iterable[int], rank: int) -> list[int]:
    """Axes counted from 0. Raises Unreadable for one that a tensor of this rank lacks."""
    made = list(axes)
    if not all(-rank <= axis < rank for axis in made):
        raise Unreadable(f"an axis of {made} is beyond the rank {rank}")
    return [axis % rank for axis in made]


def rounded(cells: Any, whole: bool) -> Any:
    """Cells as integers, where they are: ONNX's integer division truncates."""
    import numpy as np

    return np.trunc(cells) if whole else cells
