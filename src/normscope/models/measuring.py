"""One passage through a norm in figures: its rows' mean and variance, its outliers, and what narrow formats lose."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ..errors import NormscopeError, ShapeError
from ..losses import Loss, precision
from ..norm import Norm
from ..tracing import trace
from ..variance import eps_share
from .passing import Passage
from .summary import summary

PIECE = 1 << 20  # cells that are computed at a time
TRIED = 1 << 17  # cells of a norm that are rounded under the policies
POLICIES = (
    "pytorch-bf16",
    "steps-bf16",
    "pytorch-fp16",
    "steps-fp16",
)  # statistics in float32, and in the narrow format
QUANTILES = (0, 0.05, 0.5, 0.95, 1)
APART = {"float64": 1e-6, "float32": 1e-2}  # of a row's largest |y|: beyond it y is no rounding of ours
NARROW = 0.1  # the same, in narrower formats


@dataclass(frozen=True)
class Spread:
    """Numbers by their quantiles: the least, the 5th of a hundred, the middle, the 95th, the most."""

    least: float
    low: float
    median: float
    high: float
    most: float

    def to_json(self) -> dict[str, float]:
        """The quantiles by their names."""
        return asdict(self)


@dataclass(frozen=True)
class Lost:
    """What a policy does to the rows that were tried.

    median, worst  of the rows' worst errors, in ulps of the storage format; median of the finite ones
    not_finite     rows whose y is not finite and should be
    breaks_at      the value that is the first not to be finite, in the worst row; empty where all are
    """

    policy: str
    median: float
    worst: float
    not_finite: int
    breaks_at: str

    def to_json(self) -> dict[str, Any]:
        """The fields."""
        return asdict(self)


@dataclass(frozen=True)
class Measured:
    """A passage in figures.

    where      the norm's place, with the call where it is not the first
    kind       LayerNorm, RMSNorm, ...
    pattern, eps  of the norm as it fits x; eps is "machine" for that of the dtype, None where it is not known
    shape, dtype  of x
    rows       how many statistics there are, of `cells` cells each
    mean, var  of the rows; var is what the norm divides by: of an RMSNorm the mean square
    largest    the largest |x|, at `feature` of row `row`
    outliers   features whose largest |x| stands far from the others', the furthest first: (feature, largest |x|)
    eps_share  eps / (var + eps) of the rows; None where eps is not known
    parameters gamma's and beta's cells
    lost       what narrow formats lose, on `tried` rows; empty where eps is not known
    apart      the largest |y - what the norm makes of x|, as a share of the row's largest |y|; None without a y
    strange    cells of x that are not finite
    warnings   what is wrong, in words
    """

    where: str
    kind: str
    pattern: str
    eps: float | str | None
    shape: tuple[int, ...]
    dtype: str
    rows: int
    cells: int
    mean: Spread
    var: Spread
    largest: float
    feature: int
    row: int
    outliers: tuple[tuple[int, float], ...]
    eps_share: Spread | None
    parameters: Mapping[str, Spread]
    lost: tuple[Lost, ...]
    tried: int
    apart: float | None
    strange: int
    warnings: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Every field as JSON values."""
        data = {name: getattr(self, name) for name in self.__dataclass_fields__}
        data |= {"mean": self.mean.to_json(), "var": self.var.to_json(), "shape": list(self.shape)}
        data |= {"eps_share": None if self.eps_share is None else self.eps_share.to_json()}
        data |= {"parameters": {name: each.to_json() for name, each in self.parameters.items()}}
        data |= {"lost": [each.to_json() for each in self.lost], "warnings": list(self.warnings)}
        return data | {"outliers": [{"feature": at, "largest": value} for at, value in self.outliers]}


def measured(passage: Passage) -> Measured:
    """The figures of a passage. Raises ShapeError where x is none of the norm's x, or holds no cell."""
    norm, x = passage.norm, passage.x
    if not x.size:
        raise ShapeError(f"x has shape {tuple(x.shape)}: it holds no cell; give one with at least one.")
    rows, peak = _of_rows(passage), _peak(passage)
    lost, tried = _lost(passage, rows.variances, peak.row) if passage.has_eps else ((), 0)
    return Measured(
        where=passage.where,
        kind=norm.name,
        pattern=norm.pattern,
        eps=passage.found.eps,
        shape=tuple(x.shape),
        dtype=passage.found.dtype or x.dtype.name,
        rows=passage.row_count,
        cells=passage.cell_count,
        mean=spread(rows.means),
        var=spread(rows.variances),
        largest=peak.largest,
        feature=peak.feature,
        row=peak.row,
        outliers=peak.outliers,
        eps_share=spread(rows.shares) if passage.has_eps else None,
        parameters={role: spread(cells) for role, cells in passage.parameters.items() if role in ("gamma", "beta")},
        lost=lost,
        tried=tried,
        apart=rows.apart,
        strange=peak.strange,
        warnings=tuple(_warnings(passage, rows.apart, peak.strange)),
    )


def spread(cells: Any) -> Spread:
    """The quantiles of an array; nan where a cell is.

    >>> import numpy as np
    >>> spread(np.array([3.0, 1.0, 2.0])).median
    2.0
    """
    import numpy as np

    flat = np.asarray(cells, np.float64).ravel()
    if not flat.size:
        return Spread(*(float("nan"),) * 5)
    with np.errstate(invalid="ignore"):
        return Spread(*(float(each) for each in np.quantile(flat, QUANTILES)))


@dataclass(frozen=True)
class _OfRows:
    """Of every row the mean, what the norm divides by and the share of eps; how far y is from ours."""

    means: Any
    variances: Any
    shares: Any
    apart: float | None


def _of_rows(passage: Passage) -> _OfRows:
    import numpy as np

    norm = passage.norm
    own = Norm("row [cell]", None, norm.eps, norm.correction, norm.center)
    parts = []
    with np.errstate(all="ignore"):
        for picked in _pieces(passage):
            rows = passage.of_rows(picked)
            x = np.asarray(rows.x, np.float64)
            var = trace(x, own)["var"][:, 0]
            used = np.asarray(rows.parameters["running_var"], np.float64) if norm.running else var
            share = eps_share(used, float(norm.eps or 0))
            parts.append((x.mean(axis=1), var, share, _apart(x, rows) if passage.has_eps else None))
    means, variances, shares, apart = zip(*parts, strict=True)
    known = [each for each in apart if each is not None]
    joined = [np.concatenate(each) for each in (means, variances, shares)]
    return _OfRows(joined[0], joined[1], joined[2], max(known, default=None))


def _pieces(passage: Passage) -> Iterator[Any]:
    """The places of the rows, some at a time."""
    import numpy as np

    step = max(1, PIECE // max(passage.cell_count, 1))
    for first in range(0, passage.row_count, step):
        yield np.arange(first, min(first + step, passage.row_count))


def _apart(x: Any, rows: Any) -> float | None:
    """The largest difference between the model's y and ours, as a share of the row's largest |y|.

    Infinite where only theirs is not finite; None where there is no y, or no row in which ours is finite.
    """
    import numpy as np

    if rows.y is None:
        return None
    ours = trace(x, rows.norm, **rows.parameters)["y"]
    error, largest = np.abs(np.asarray(rows.y, np.float64) - ours).max(axis=1), np.abs(ours).max(axis=1)
    finite = np.isfinite(ours).all(axis=1)
    if not finite.any():
        return None
    shares = np.where(np.isfinite(error), error, np.inf)[finite & (largest > 0)] / largest[finite & (largest > 0)]
    return float(np.max(shares, initial=0.0))


@dataclass(frozen=True)
class _Peak:
    """The largest |x|, its feature and row, the features that stand out, and how many cells are not finite."""

    largest: float
    feature: int
    row: int
    outliers: tuple[tuple[int, float], ...]
    strange: int


def _peak(passage: Passage) -> _Peak:
    import numpy as np

    peaks = _peaks(passage)
    strange = int(np.count_nonzero(~np.isfinite(passage.x)))
    at = int(np.argmax(np.where(np.isfinite(peaks), peaks, np.inf)))
    row = _row_of(passage, float(peaks[at])) if not strange else _first_strange(passage)
    return _Peak(float(peaks[at]), at, row, () if strange else summary(peaks).outliers, strange)


def _peaks(passage: Passage) -> Any:
    """The largest |x| of every feature, in float64."""
    import numpy as np

    axes = passage.norm.axes
    others = tuple(at for at, axis in enumerate(axes) if axis not in passage.feature_axes)
    named = passage.named(passage.x)
    return np.maximum(named.max(axis=others), -named.min(axis=others)).astype(np.float64).reshape(-1)


def _row_of(passage: Passage, peak: float) -> int:
    """The first row that holds a cell of this size."""
    import numpy as np

    rows = passage.in_rows(passage.x)
    largest = np.maximum(rows.max(axis=1), -rows.min(axis=1))
    return int(np.argmax(largest == peak))


def _first_strange(passage: Passage) -> int:
    """The first row with a cell that is not finite."""
    import numpy as np

    return int(np.argmax(~np.isfinite(passage.in_rows(passage.x)).all(axis=1)))


def _lost(passage: Passage, variances: Any, row: int) -> tuple[tuple[Lost, ...], int]:
    """What the policies lose, on rows from all over x, with the one of the largest cell and those of extreme spread."""
    import numpy as np

    most = max(1, TRIED // max(passage.cell_count, 1))
    picked = np.arange(passage.row_count)
    if passage.row_count > most:
        spaced = np.linspace(0, passage.row_count - 1, most).astype(int)
        finite = np.where(np.isfinite(variances), variances, -1.0)
        picked = np.unique([*spaced, row, int(finite.argmax()), int(finite.argmin())])
    rows = passage.of_rows(picked)
    try:
        losses = precision(rows.x, rows.norm, **rows.parameters, policies=POLICIES)
    except NormscopeError:
        return (), 0
    return tuple(map(_summed, losses)), len(picked)


def _summed(loss: Loss) -> Lost:
    import numpy as np

    worst = np.where(np.isnan(loss.worst_ulp), np.inf, loss.worst_ulp)
    finite = worst[np.isfinite(worst)]
    median = float(np.median(finite)) if finite.size else float("inf")
    (at,) = loss.worst_rows(1)
    broken = int(worst.size - finite.size)
    return Lost(loss.policy.name, median, float(worst.max()), broken, loss.first_overflow(at) or "")


def _warnings(passage: Passage, apart: float | None, strange: int) -> Iterator[str]:
    import numpy as np

    broken = {role: int(np.count_nonzero(~np.isfinite(cells))) for role, cells in passage.parameters.items()}
    for name, count in {"x": strange, **broken}.items():
        if count:
            yield f"{count:,} cell{' of ' + name + ' is' if count == 1 else 's of ' + name + ' are'} not finite."
    if apart == float("inf"):
        yield "its y is not finite where what this norm makes of x is."
    elif apart is not None and apart > APART.get(passage.found.dtype or passage.x.dtype.name, NARROW):
        yield f"its y is not what this norm makes of x: off by {apart:.2g} of the row's largest |y|."
