"""A function that is right on x in one piece and wrong on a view of it: is the buffer read in another order?

Nothing is claimed that was not tried: the norm of the cells in the order of the buffer must give the answers.
"""

from collections.abc import Callable, Sequence
from typing import Any

from .bounds import off, share, shares
from .examination import Examination, Row
from .probes import LAYOUTS, laid_out
from .search import attempt
from .shrink import shown, smallest
from .verdict import Finding

Order = Callable[[Any, str], Any]  # x in one piece and a layout, to x as it is read, or y to y as it was written
COPY = (
    "read x and write y by their strides; or start from np.ascontiguousarray(x) and write into np.empty(x.shape), "
    "since np.empty_like(x) keeps the order of x, and a reshape of that is a copy"
)


def in_memory(x: Any, layout: str, at_view: bool) -> Any:
    """As many cells as x has, in the order of the buffer that holds a view of it.

    at_view  from the view's first cell on, else from the buffer's
    """
    import numpy as np

    view = base = laid_out(x, layout)
    while isinstance(base.base, np.ndarray):
        base = base.base
    first = (view.__array_interface__["data"][0] - base.__array_interface__["data"][0]) // base.itemsize
    start = first if at_view else 0
    return base.ravel(order="K")[start : start + x.size].reshape(x.shape)


NAMES = {
    "buffer[:x.size]": "the buffer is read without the view's offset and strides",
    "buffer[offset:][:x.size]": "the buffer is read from the view's first cell on, without its strides",
}
READINGS: Sequence[tuple[str, Order]] = (
    ("buffer[:x.size]", lambda x, layout: in_memory(x, layout, False)),
    ("buffer[offset:][:x.size]", lambda x, layout: in_memory(x, layout, True)),
    ("x", lambda x, layout: x),
)
WRITINGS: Sequence[tuple[str, Order]] = (
    ("", lambda y, layout: y),
    (", written in the order of x's buffer", lambda y, layout: y.T.reshape(y.shape) if layout == "transposed" else y),
)


def layout_finding(asked: Examination, rows: Sequence[Row], level: str) -> Finding | None:
    """What is wrong with the rows of views; None where none is."""
    wrong = asked.wrong(rows, level)
    if not wrong:
        return None
    probe, values, y = wrong[0]
    takes, rank = asked.implementation.accepts, probe.x.ndim
    small = smallest(asked.implementation, asked.maker, rank, takes, layout=probe.layout, settled=asked.with_eps)
    small = small or shown(probe, values.y, y)
    seen = _seen(asked, rows, wrong, level)
    for reading, read in READINGS:
        for writing, written in WRITINGS:
            if all(_gives(asked, row, read, written, level) for row in rows):
                return _explained(reading, writing, seen, small)
    name = "it is right on x in one piece, and wrong on a view with other strides"
    return Finding("wrong-for-strided", name, seen, "", COPY, small)


def _explained(reading: str, writing: str, seen: str, small: Any) -> Finding:
    """The finding where a buffer is read or written in its own order."""
    is_read = reading == "x"
    id = "ignores-strides-of-output" if is_read else "ignores-offset-and-strides"
    name = "y is written without its strides" if is_read else NAMES[reading]
    text = f"norm({reading}{'' if is_read else '.reshape(x.shape)'}){writing}"
    fix = COPY if writing else "read x through its offset and strides, or copy it first"
    evidence = f"{seen}; {text} gives every answer"
    return Finding(id, name, evidence, text, fix, small)


def _gives(asked: Examination, row: Row, read: Order, written: Order, level: str) -> bool:
    """Whether the norm of the cells as they are read gives the answer, as it is written."""
    probe, _, y = row
    values = attempt(asked.base(probe), probe.but(x=read(probe.x, probe.layout), layout="contiguous"))
    return values is not None and share(values, written(y, probe.layout), level, asked.dtype) <= 1


def _seen(asked: Examination, rows: Sequence[Row], wrong: Sequence[Row], level: str) -> str:
    """Which views are wrong, by how much, and what stands in the wrong cells."""
    import numpy as np

    views = {probe.layout: LAYOUTS[probe.layout] for probe, _, _ in rows}
    named = [views.pop(probe.layout) for probe, _, _ in wrong]
    parts = [f"on the same x as {' and as '.join(named)} y {off([asked.worst(row, level) for row in wrong], level)}"]
    parts += [f"as {' and as '.join(views.values())} it is right"] if views else []
    _, values, y = wrong[0]
    apart = shares(values, y, level, asked.dtype) > 1
    empty = int(np.sum(np.asarray(y, np.float64)[apart] == 0))
    cells = f"{int(apart.sum())} of {y.size} cells are wrong"
    parts.append(f"{cells}, {empty} of them 0, as where nothing was written" if 2 * empty > apart.sum() else cells)
    return "; ".join(parts)
