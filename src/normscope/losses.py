"""What a tensor loses under a policy: for every row its worst error, the share of eps, and what overflows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from .errors import DtypeError, NormError
from .norm import Norm, layer_norm
from .steps import NUMBERS, output
from .tracing import trace
from .variance import eps_share
from .views import arrays
from .views.formats import Format
from .views.policies import Policy, find, strict

KINDS = ("pytorch", "statistics", "steps", "llama", "gemma")
POLICIES = ("float32", *(f"{kind}-{short}" for short in ("bf16", "fp16") for kind in KINDS))
PIECE = 1 << 20  # cells that are computed at a time, where the rows are independent


@dataclass(frozen=True, eq=False)
class Loss:
    """What one policy does to every row of x; the arrays have the shape of the statistics without the reduced axes.

    worst_ulp  the largest error of a cell of y, in ulps of the storage format at the row's largest |y|; infinite
               where y is not finite and should be. The reference is float64, of x as it was given
    eps_share  eps / (var + eps), of the policy's own var: 0 where the policy's own sum rounds to var, and nan where
               that sum is 0 or no number
    overflow   the index in `names` of the first value that is not finite; -1 where all are. Where what lies beyond
               the largest number becomes that number, it counts too; the largest number itself does not
    names      x, the parameters and the steps, in order
    """

    policy: Policy
    worst_ulp: Any
    eps_share: Any
    overflow: Any
    names: tuple[str, ...]

    def first_overflow(self, index: tuple[int, ...]) -> str | None:
        """The name of the first value of a row that overflows."""
        at = int(self.overflow[index])
        return None if at < 0 else self.names[at]

    def worst_rows(self, most: int | None) -> list[tuple[int, ...]]:
        """The `most` rows by their worst error, the largest first; nan counts as infinite."""
        import numpy as np

        worst = np.where(np.isnan(self.worst_ulp), np.inf, self.worst_ulp).ravel()
        picked = np.argsort(-worst, kind="stable")[:most]
        return [tuple(map(int, np.unravel_index(each, self.worst_ulp.shape))) for each in picked]

    def to_json(self, most: int | None = None) -> dict[str, Any]:
        """The policy and its rows as JSON values, in order: all, or the `most` that lose most, `of` how many."""
        import numpy as np

        count = self.worst_ulp.size
        is_whole = most is None or most >= count
        rows = np.ndindex(self.worst_ulp.shape) if is_whole else sorted(self.worst_rows(most))
        named = {"name": self.policy.name, "storage": self.policy.storage, "statistics": self.policy.statistics}
        return named | ({} if is_whole else {"of": count}) | {"rows": [self._row(index) for index in rows]}

    def _row(self, index: tuple[int, ...]) -> dict[str, Any]:
        ulp, share = float(self.worst_ulp[index]), float(self.eps_share[index])
        return {"index": list(index), "worst_ulp": ulp, "eps_share": share, "overflow": self.first_overflow(index)}


def precision(
    x: Any,
    norm: Norm | None = None,
    gamma: Any = None,
    beta: Any = None,
    *,
    running_mean: Any = None,
    running_var: Any = None,
    policies: Sequence[Policy | str] | Policy | str = POLICIES,
) -> list[Loss]:
    """What x loses under each policy, or under one; x is a NumPy array, the other arguments are those of `trace`.

    >>> import numpy as np
    >>> (loss,) = precision(np.array([[1.0, 3.0], [1.0, 70000.0]]), layer_norm(), policies="pytorch-fp16")
    >>> loss.worst_ulp.round(4).tolist(), loss.first_overflow((1,))
    ([0.0102, inf], 'x')

    Raises what `trace` raises, NormError for no policy, and DtypeError for an x that is no array of numbers.
    """
    x = _array(x)
    norm = _with_eps((layer_norm() if norm is None else norm).fit(x.ndim))
    given = {"gamma": gamma, "beta": beta, "running_mean": running_mean, "running_var": running_var}
    several = [policies] if isinstance(policies, (Policy, str)) else policies
    chosen = [find(policy) for policy in several]
    if not chosen:
        raise NormError("policies is empty; name at least one, as in ['pytorch-bf16'].")
    axis = _free(norm, x.shape)
    parts = [_of_piece(piece, norm, given, chosen) for piece in _pieces(x, norm, axis)]
    at = norm.kept.index(axis) if axis else 0
    return [parts[0][i] if len(parts) == 1 else _joined([part[i] for part in parts], at) for i in range(len(chosen))]


def _array(x: Any) -> Any:
    """x as a NumPy array of real numbers."""
    import numpy as np

    try:
        x = np.asarray(x)
    except ValueError:
        raise DtypeError("x is no array: its rows differ in length; pad them, or give one at a time.") from None
    arrays.working(np.empty(0, x.dtype))
    return x


def _with_eps(norm: Norm) -> Norm:
    """An eps that is left to the dtype is float32's for every policy, as PyTorch adds it (see `rms_norm`)."""
    return norm if norm.eps is not None else replace(norm, eps=Fraction(1, 2**23))


def _free(norm: Norm, shape: tuple[int, ...]) -> str:
    """The longest axis along which x can be cut: not reduced, no parameter's, and a dimension of its own."""
    sizes = norm.sizes_for(shape)
    single = [dim[0] for dim in norm.layout.dims if len(dim) == 1]
    free = [axis for axis in single if axis in norm.kept and axis not in norm.param_axes]
    return max(free, key=lambda axis: sizes[axis], default="") if not norm.running else ""


def _pieces(x: Any, norm: Norm, axis: str) -> Iterator[Any]:
    """x in pieces along a free axis; whole where there is none."""
    at = next((i for i, dim in enumerate(norm.layout.dims) if dim == (axis,)), None)
    if at is None or not x.size:
        yield x
        return
    length = x.shape[at]
    step = max(1, PIECE * length // x.size)
    for first in range(0, length, step):
        yield x[(slice(None),) * at + (slice(first, first + step),)]


def _joined(losses: list[Loss], at: int) -> Loss:
    import numpy as np

    def along(name: str) -> Any:
        return np.concatenate([getattr(loss, name) for loss in losses], axis=at)

    return replace(losses[0], worst_ulp=along("worst_ulp"), eps_share=along("eps_share"), overflow=along("overflow"))


def _of_piece(x: Any, norm: Norm, given: Mapping[str, Any], policies: Sequence[Policy]) -> list[Loss]:
    import numpy as np

    reference = trace(x.astype(np.float64), norm, **given)["y"]
    return [_loss(x, norm, given, policy, reference) for policy in policies]


def _loss(x: Any, norm: Norm, given: Mapping[str, Any], policy: Policy, reference: Any) -> Loss:
    import numpy as np

    made = trace(x, norm, **given, policy=policy)
    over = tuple(map(made.program.axes.index, made.norm.over))
    var = made.inputs["running_var"] if made.norm.running else made["var"]
    kept = policy.formats(made.program, made.norm.over)
    with np.errstate(all="ignore"):
        worst = _worst(made["y"], reference, over, kept[output(made.program)])
        share = _share(np.asarray(var, np.float64), np.asarray(made["v"]), made.inputs["eps"])
    names = tuple(name for name in made.program.values if name not in NUMBERS)
    told = trace(x, norm, **given, policy=strict(policy)) if policy.saturate else made
    values = (told.inputs[name] if name in told.inputs else told[name] for name in names)
    broken = [np.any(~np.isfinite(value), axis=over) for value in values]
    return Loss(policy, worst, np.squeeze(share, over), _first(broken, worst.shape), names)


def _share(var: Any, v: Any, eps: float) -> Any:
    """The share of eps in the policy's own var + eps, v."""
    import numpy as np

    kept = np.where(v == var, 0.0, eps_share(var, eps))
    return np.where(v == 0, np.nan, kept)


def _worst(y: Any, reference: Any, over: tuple[int, ...], storage: Format) -> Any:
    """The largest error of each row, in ulps at the row's largest number."""
    import numpy as np

    error = np.abs(y - reference)
    error[np.isfinite(reference) & ~np.isfinite(y)] = np.inf
    largest = np.max(np.abs(reference), axis=over)
    places = np.maximum(np.frexp(largest)[1] - 1 - storage.fraction, storage.last)
    return np.max(error, axis=over) / np.ldexp(1.0, places)


def _first(broken: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """For every row the index of the first value that is broken, or -1."""
    import numpy as np

    first = np.full(shape, -1)
    for i, bad in enumerate(broken):
        first = np.where((first < 0) & bad, i, first)
    return first
