"""What is measured without a reference: which cells react to one, and whether a shift of x moves y."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..axes import Axes
from ..norm import Norm
from .definition import full_shape, places
from .probes import Probe
from .verdict import Reaction

REACTS = 1e-5  # of the largest |y|


@dataclass(frozen=True)
class Influence:
    """Which cells of y react to one cell of x.

    norm      the norm of the rank that was looked at
    axes      the axes along which they lie, where they fill them; None where they do not: a block or layout mistake
    text      in words
    reaction  of the changed cell that tells; None where the right cells react
    """

    norm: Norm
    axes: Axes | None
    text: str
    reaction: Reaction | None = None


def influence(
    norm: Norm, probes: Sequence[Probe], changed: Sequence[tuple[int, ...]], answers: Sequence[Any]
) -> Influence:
    """The influence of the cells at `changed`, each in one probe after the first."""
    import numpy as np

    full = full_shape(norm, probes[0])
    first = np.asarray(answers[0], np.float64)
    found, maps = [], []
    for place, answer in zip(changed, answers[1:], strict=True):
        y = np.asarray(answer, np.float64)
        if y.shape != first.shape:
            return Influence(norm, None, "the shape of y changes with x")
        apart = np.abs(y - first)
        reacts = ~(apart <= REACTS * np.nanmax(np.abs(first), initial=0.0))
        maps.append(reacts)
        cell = np.zeros(first.shape, bool)
        cell[place] = True
        found.append(_axes(norm, reacts.reshape(full), cell.reshape(full)))
    if None in found:
        some = found.index(None)
        text = f"x[{', '.join(map(str, changed[some]))}] moves {int(maps[some].sum())} cells of y, which fill no axes"
        return Influence(norm, None, text, _reaction(norm, full, changed[some], maps[some]))
    axes = tuple(axis for axis in norm.axes if any(axis in (each or ()) for each in found))
    words = " ".join(axes) or "no axis"
    right = " ".join(norm.over)
    text = f"a cell of x moves y along {words}" + ("" if axes == norm.over else f"; it should along {right}")
    return Influence(norm, axes, text, _reaction(norm, full, changed[0], maps[0]))


def _reaction(norm: Norm, full: tuple[int, ...], place: tuple[int, ...], does: Any) -> Reaction | None:
    """The reaction to a cell, unless it is that of the norm, whose cells share every kept axis with it."""
    import numpy as np

    there = np.zeros(does.shape, bool)
    there[place] = True
    should = there.reshape(full).any(axis=places(norm, norm.over), keepdims=True)
    should = np.broadcast_to(should, full).reshape(does.shape)
    return None if np.array_equal(should, does) else Reaction(place, should, does)


def _axes(norm: Norm, reacts: Any, cell: Any) -> Axes | None:
    """The axes along which the reacting cells fill the array from the changed one on."""
    import numpy as np

    if not reacts.any():
        return None
    grown = cell
    axes = []
    for at, axis in enumerate(norm.axes):
        if reacts.any(axis=at, keepdims=True).sum() < reacts.sum():
            axes.append(axis)
            grown = np.broadcast_to(grown.any(axis=at, keepdims=True), grown.shape)
    share = (reacts & grown).sum() / max(grown.sum(), 1)
    return tuple(axes) if not (reacts & ~grown).any() and share > 0.8 else None


def moves_with_shift(y: Any, shifted: Any) -> bool:
    """Whether adding a constant to x changes y."""
    import numpy as np

    y, shifted = np.asarray(y, np.float64), np.asarray(shifted, np.float64)
    return bool(np.nanmax(np.abs(y - shifted), initial=0.0) > 2e-2 * np.nanmax(np.abs(y), initial=0.0))
