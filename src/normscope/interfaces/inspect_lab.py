"""One norm of a model in the lab: its real activations as the tensor that is shown, its own parameters and eps."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any
from urllib.parse import quote

from ..errors import FileError
from ..models.passing import Passage
from ..norm import exact_eps
from .files import ROW_LIMIT, SOURCE, FileSource

CELLS = 1 << 24  # of x that the lab keeps
USUAL = "1e-5"  # the eps of a norm whose own is not known
AHEAD = 3  # features of the window before the largest one


def lab(passage: Passage, model: str) -> tuple[FileSource, str]:
    """What the lab shows of a passage, and the address of the state in which it opens: at the largest |x|.

    The lab's norm is over the last axis. What another norm reduces is shown as a row, with the cells in the order of
    its axes; a gamma that differs from row to row is left out, and the note says so. Raises FileError for rows that
    are too long to show, and for an x without a cell.
    """
    if not passage.x.size:
        raise FileError(f"{passage.where}: its x has shape {passage.x.shape}: it holds no cell to show.")
    if passage.cell_count > ROW_LIMIT:
        raise FileError(f"{passage.where}: a row has {passage.cell_count:,} cells; a page shows up to {ROW_LIMIT:,}.")
    whole, told = _shaped(passage)
    x = _cut(whole)
    affine = {role: _parameter(passage, role) for role in ("gamma", "beta")}
    source = FileSource(
        title=f"{passage.where} of {model}",
        shape=x.shape,
        note=" ".join([*_introduced(passage), *told, *_cut_away(x, whole), *_left_out(passage, affine)]),
        tokens=None,
        gamma=affine["gamma"],
        beta=affine["beta"],
        eps=_eps(passage),
        offset=passage.norm.offset,
        array=x,
    )
    return source, _address(passage, x, affine)


def _introduced(passage: Passage) -> Iterator[str]:
    norm, x = passage.norm, passage.x
    yield f"What enters this {norm.name} '{norm.pattern}': {x.dtype.name}, shape {x.shape}."


def _cut_away(x: Any, whole: Any) -> Iterator[str]:
    shown, count = (each.shape[0] * each.shape[1] for each in (x, whole))
    if shown < count:
        yield f"The first {shown:,} of its {count:,} rows are kept here."


def _left_out(passage: Passage, affine: Mapping[str, Any]) -> Iterator[str]:
    """In what the norm is another one than the lab's."""
    for role, cells in affine.items():
        if cells is None and role in passage.parameters:
            yield f"Its {role} differs from row to row and is left out."
    if passage.norm.running:
        yield "The norm takes its running statistics; the lab takes those of the row."
    if passage.norm.correction:
        yield f"The norm divides by n − {passage.norm.correction}; the lab divides by n."
    if not passage.has_eps:
        yield f"Its eps is not known: {USUAL} is taken."


def _eps(passage: Passage) -> str:
    eps = passage.norm.eps
    return _written(eps) if passage.has_eps and eps is not None else USUAL


def _address(passage: Passage, x: Any, affine: Mapping[str, Any]) -> str:
    """The state that shows the largest |x|."""
    import numpy as np

    kind = "layer_norm" if passage.norm.center else "rms_norm"
    used = "both" if affine["beta"] is not None else "scale" if affine["gamma"] is not None else "none"
    b, s, feature = (int(each) for each in np.unravel_index(int(np.argmax(np.abs(x))), x.shape))
    corner = (_first(b, 2, x.shape[0]), _first(s, 4, x.shape[1]), _first(feature - AHEAD, 8, x.shape[2]))
    at = ",".join(map(str, corner))
    return f"/inside?v=1&source={quote(SOURCE)}&norm={kind}&affine={used}&at={at}"


def _shaped(passage: Passage) -> tuple[Any, list[str]]:
    """x as (B, S, d), where a row is what shares a statistic; and how, where the model's x has other axes."""
    import numpy as np

    norm, x = passage.norm, passage.x
    if norm.over == norm.axes[-1:] and len(norm.layout.dims[-1]) == 1:
        lead = x.shape[:-1]
        shape = (int(np.prod(lead[:-1])), lead[-1] if lead else 1, x.shape[-1])
        return np.ascontiguousarray(x).reshape(shape), []
    kept, over = (" ".join(axes) or "one" for axes in (norm.kept, norm.over))
    rows = np.ascontiguousarray(passage.in_rows(x))
    return rows[None], [f"A row here is one statistic's cells, {over}; the rows are {kept}."]


def _cut(x: Any) -> Any:
    """x with as many rows as the lab keeps, those of the first batches: a copy, so that the rest can go."""
    batches = max(1, CELLS // max(x.shape[1] * x.shape[2], 1))
    rows = max(1, min(x.shape[1], CELLS // x.shape[2]))
    return x[:batches, :rows].copy()


def _first(wanted: int, size: int, whole: int) -> int:
    """Where a window begins that is to show a place, within the tensor."""
    return max(0, min(wanted, whole - min(size, whole)))


def _parameter(passage: Passage, role: str) -> list[float] | None:
    """gamma or beta along a row; None where the norm has none, or one that differs from row to row."""
    import numpy as np

    norm = passage.norm
    if role not in passage.parameters or not set(norm.param_axes) <= set(norm.over):
        return None
    return [float(cell) for cell in np.asarray(passage.of_rows(np.arange(1)).parameters[role], np.float64)[0]]


def _written(eps: Fraction) -> str:
    """An eps as a person writes it: 1e-12 and not 1/1000000000000.

    >>> _written(Fraction(1, 10**12)), _written(Fraction(1, 3))
    ('1e-12', '1/3')
    """
    short = repr(float(eps)).replace("e-0", "e-")
    return short if exact_eps(short) == eps else str(eps)
