"""One norm of a model in the lab: its real activations as the tensor that is shown, its own parameters and eps."""

from fractions import Fraction
from typing import Any
from urllib.parse import quote

from ..errors import FileError
from ..models.passing import Passage
from ..norm import exact_eps
from .files import ROW_LIMIT, SOURCE, FileSource

CELLS = 1 << 24  # of x that the lab keeps
AHEAD = 3  # features of the window before the largest one


def lab(passage: Passage, model: str) -> tuple[FileSource, str]:
    """What the lab shows of a passage, and the address of the state in which it opens: at the largest |x|.

    The lab's norm is over the last axis. What another norm reduces is shown as a row, with the cells in the order of
    its axes; a gamma that differs from row to row is left out, and the note says so. Raises FileError for rows that
    are too long to show.
    """
    import numpy as np

    norm = passage.norm
    if passage.cell_count > ROW_LIMIT:
        raise FileError(f"{passage.where}: a row has {passage.cell_count:,} cells; a page shows up to {ROW_LIMIT:,}.")
    x, told = _shaped(passage)
    whole = x.shape[0] * x.shape[1]
    x = _cut(x)
    shown = x.shape[0] * x.shape[1]
    notes = [
        f"What enters this {norm.name} '{norm.pattern}': {x.dtype.name}, shape {passage.x.shape}.",
        *told,
    ]
    notes += [f"The first {shown:,} of its {whole:,} rows are kept here."] if shown < whole else []
    gamma, beta = (_parameter(passage, role, notes) for role in ("gamma", "beta"))
    if norm.running:
        notes.append("The norm takes its running statistics; the lab takes those of the row.")
    if norm.correction:
        notes.append(f"The norm divides by n − {norm.correction}; the lab divides by n.")
    notes += [] if passage.has_eps else ["Its eps is not known: 1e-5 is taken."]
    eps = _written(norm.eps) if passage.has_eps and norm.eps is not None else "1e-5"
    title = f"{passage.where} of {model}"
    source = FileSource(
        title=title,
        shape=x.shape,
        note=" ".join(notes),
        tokens=None,
        gamma=_listed(gamma),
        beta=_listed(beta),
        eps=eps,
        offset=norm.offset,
        array=x,
    )
    affine = "none" if gamma is None and beta is None else "scale" if beta is None else "both"
    kind = "layer_norm" if norm.center else "rms_norm"
    b, s, feature = (int(each) for each in np.unravel_index(int(np.argmax(np.abs(x))), x.shape))
    corner = (_first(b, 2, x.shape[0]), _first(s, 4, x.shape[1]), _first(feature - AHEAD, 8, x.shape[2]))
    at = ",".join(map(str, corner))
    return source, f"/inside?v=1&source={quote(SOURCE)}&norm={kind}&affine={affine}&at={at}"


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


def _parameter(passage: Passage, role: str, notes: list[str]) -> Any:
    """gamma or beta along a row; None where the norm has none, or one that differs from row to row."""
    import numpy as np

    norm = passage.norm
    if role not in passage.parameters:
        return None
    if not set(norm.param_axes) <= set(norm.over):
        notes.append(f"Its {role} differs from row to row and is left out.")
        return None
    return np.asarray(passage.of_rows(np.arange(1)).parameters[role], np.float64)[0]


def _listed(cells: Any) -> list[float] | None:
    return None if cells is None else [float(cell) for cell in cells]


def _written(eps: Fraction) -> str:
    """An eps as a person writes it: 1e-12 and not 1/1000000000000.

    >>> _written(Fraction(1, 10**12)), _written(Fraction(1, 3))
    ('1e-12', '1/3')
    """
    short = repr(float(eps)).replace("e-0", "e-")
    return short if exact_eps(short) == eps else str(eps)
