"""The fewest cells of a probe that still show a mistake: rows and cells are left out while the answer stays wrong."""

from collections.abc import Iterator, Mapping
from typing import Any

from ..norm import Norm
from .definition import sizes_of
from .examination import Examination, Row
from .probes import Probe
from .questions import Sizes
from .shrink import shown

ROUNDS = 40


def fewest(asked: Examination, row: Row, level: str) -> Mapping[str, Any]:
    """The input by argument name, with what is right and what came back."""
    before = len(asked.failures)
    for _ in range(ROUNDS):
        smaller = _smaller(asked, row, level)
        if smaller is None:
            break
        row = smaller
    asked.failures[before:] = []
    probe, values, y = row
    return shown(probe, values.y, y)


def _smaller(asked: Examination, row: Row, level: str) -> Row | None:
    """The first part of a probe on which the answer is wrong; None where every part is right."""
    norm = asked.norm.fit(row[0].x.ndim)
    fixed = {*dict(norm.sizes), *(norm.param_axes if asked.maker.features else ())}
    sizes = sizes_of(norm, row[0])
    for axis in (*norm.kept, *norm.over):
        least = 2 if axis == norm.over[-1] else 1  # one cell alone is its own mean
        if axis in fixed or sizes[axis] <= least:
            continue
        parts = [_part(row[0], norm, axis, part) for part in _parts(sizes[axis], axis in norm.kept)]
        for smaller in asked.wrong(asked.ask(parts), level):
            return smaller
    return None


def _parts(size: int, is_row: bool) -> Iterator[slice]:
    """Which places along an axis are kept: one alone, else all but a half, a quarter ... at the end or the start."""
    if is_row:
        yield from (slice(at, at + 1) for at in range(min(size, 6)))
    less = size // 2
    while less:
        yield slice(0, size - less)
        yield slice(less, size)
        less //= 2


def _part(probe: Probe, norm: Norm, axis: str, part: slice) -> Probe:
    """A probe with some places of one axis alone."""
    import numpy as np

    def kept(value: Any, axes: tuple[str, ...], shape: tuple[int, ...]) -> Any:
        if value is None or axis not in axes:
            return value
        take = tuple(part if each == axis else slice(None) for each in axes)
        return np.ascontiguousarray(value.reshape([sizes[each] for each in axes])[take]).reshape(shape)

    sizes = sizes_of(norm, probe)
    less = {**sizes, axis: len(range(sizes[axis])[part])}
    stat = tuple(less[each] for each in norm.kept)
    given = {name: kept(getattr(probe, name), norm.param_axes, norm.param_shape(less)) for name in ("gamma", "beta")}
    given |= {name: kept(getattr(probe, name), norm.kept, stat) for name in ("running_mean", "running_var")}
    return probe.but(x=kept(probe.x, norm.axes, Sizes(norm, less).shape), **given)
