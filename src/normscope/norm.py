"""What a norm is: one frozen value whose fields say everything, and the five kinds that people name.

A known mistake is a field with a wrong value (the wrong axes, a foreign correction, no centering), so that
whatever reads a norm can read a mistaken one as well.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from fractions import Fraction
from math import prod, ulp
from typing import Any

from .axes import ELLIPSIS, Axes, Pattern, dimensions, order, parse, sized, whole
from .errors import NormError, ShapeError

Number = int | float | str | Fraction
EPS_RANGE = Fraction(ulp(0.0)), Fraction(sys.float_info.max)
EPS_DIGITS = 1000  # of its denominator, so that its text can be read back
SHOWN = 40  # characters of a wrong eps in a message


@dataclass(frozen=True)
class Norm:
    """A normalization layer over named axes.

    pattern     the axes of x in order, the reduced ones in brackets: `"B S [d]"`, `"N (g [c]) [...]"`
    affine      the axes of gamma and beta, such as `"d"` or `"(g c)"`; None: the layer has neither
    eps         added to the variance, kept as `Fraction(str(eps))`; None: finfo(dtype computed in).eps,
                as PyTorch's RMSNorm adds it
    correction  the variance divides by the count of reduced cells less this
    center      subtract the mean first; without it the norm is an RMSNorm
    scale       there is a gamma
    shift       there is a beta
    offset      added to gamma before it multiplies: 1 in Gemma, whose weights are gamma - 1; without a gamma 0
    running     mean and variance are given (running_mean, running_var), not taken from x: BatchNorm in
                evaluation
    sizes       sizes that the shape of x leaves open or must agree with, such as `{"g": 4}`
    name        what people call it; it changes nothing

    >>> norm = Norm("B S [d]", affine="d")
    >>> norm.over, norm.kept, norm.eps
    (('d',), ('B', 'S'), Fraction(1, 100000))

    Raises PatternError for a pattern that cannot be read and NormError for any other field.
    """

    pattern: str
    affine: str | None = None
    eps: Fraction | None = Fraction(1, 100_000)
    correction: int = 0
    center: bool = True
    scale: bool = True
    shift: bool = True
    offset: int = 0
    running: bool = False
    sizes: Any = ()
    name: str = field(default="", compare=False)

    def __init__(
        self,
        pattern: str,
        affine: str | None = None,
        eps: Number | None = 1e-5,
        correction: int = 0,
        center: bool = True,
        scale: bool = True,
        shift: bool = True,
        running: bool = False,
        sizes: Mapping[str, int] | Sequence[tuple[str, int]] = (),
        name: str = "",
        *,
        offset: int = 0,
    ) -> None:
        layout = parse(pattern)
        has_affine = affine is not None and (scale or shift)
        has_gamma = has_affine and _flag("scale", scale)
        known = _sizes(layout, sizes)
        values = {
            "pattern": str(layout),
            "affine": str(_affine(layout, affine)) if has_affine else None,
            "eps": None if eps is None else exact_eps(eps),
            "correction": _correction(correction),
            "center": _flag("center", center),
            "scale": has_gamma,
            "shift": has_affine and _flag("shift", shift),
            "offset": _offset(offset) if has_gamma else 0,
            "running": _flag("running", running),
            "sizes": known,
            "name": name or _kind(layout, affine if has_affine else None, center),
        }
        if not layout.over:
            raise NormError(f"pattern '{pattern}' reduces no axis; put brackets round one, as in 'B S [d]'.")
        for key, value in values.items():
            object.__setattr__(self, key, value)

    @property
    def layout(self) -> Pattern:
        """The pattern, read."""
        return parse(self.pattern)

    @property
    def axes(self) -> Axes:
        """Every axis of x in order."""
        return self.layout.axes

    @property
    def over(self) -> Axes:
        """The reduced axes: the cells along them share one statistic."""
        return self.layout.over

    @property
    def kept(self) -> Axes:
        """The axes of the statistics."""
        return self.layout.kept

    @property
    def param_axes(self) -> Axes:
        """The axes of gamma and beta, in the order of x; empty without an affine."""
        return parse(self.affine).axes if self.affine else ()

    def fit(self, rank: int, names: Axes = ()) -> "Norm":
        """The same norm with `...` written out for an x of `rank` dimensions.

        >>> layer_norm().fit(3).pattern
        'B S [d]'
        """
        layout = self.layout.fit(rank, names)
        if layout is self.layout:
            return self
        if not layout.over:
            raise ShapeError(f"x has {dimensions(rank)}; {self.name} '{self.pattern}' needs more to reduce.")
        behind = tuple(axis for axis in layout.axes if axis not in self.axes)
        affine = " ".join(" ".join(behind) if word == ELLIPSIS else word for word in (self.affine or "").split())
        return replace(self, pattern=str(layout), affine=affine or None)

    def sizes_for(self, shape: Sequence[int]) -> dict[str, int]:
        """The size of every axis for an x of this shape (after `fit`).

        Raises ShapeError if the shape does not fit or a reduced axis is empty.
        """
        sizes = self.layout.sizes(shape, dict(self.sizes))
        for axis in self.over:
            if not sizes[axis]:
                x = sized(self.axes, sizes)
                raise ShapeError(f"x {x} has no cell along {axis}; a mean over {axis} needs at least one.")
        return sizes

    def param_shape(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """The shape in which gamma and beta are given: `(8,)` for `"d"`, `(g * c,)` for `"(g c)"`."""
        dims = parse(self.affine).dims if self.affine else ()
        return tuple(prod(sizes[axis] for axis in dim) for dim in dims)

    def to_json(self) -> dict[str, Any]:
        """Fields as JSON values; eps as the text of a fraction.

        >>> Norm.from_json(layer_norm(8).to_json()) == layer_norm(8)
        True
        """
        data = {each.name: getattr(self, each.name) for each in fields(self)}
        eps = None if self.eps is None else str(self.eps)
        return data | {"eps": eps, "sizes": dict(self.sizes)}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "Norm":
        """The norm that `to_json` wrote; NormError if it is none."""
        if not isinstance(data, Mapping):
            raise NormError(f"this JSON is no norm: it is a {type(data).__name__}, not an object.")
        known = [each.name for each in fields(Norm)]
        for name in data:
            if name not in known:
                raise NormError(f"this JSON is no norm: it has '{name}'; the fields are {' '.join(known)}.")
        if "pattern" not in data:
            raise NormError("this JSON is no norm: it lacks 'pattern'.")
        return Norm(**data)


def a_norm(norm: object) -> Norm:
    """The norm itself; NormError for anything else."""
    if not isinstance(norm, Norm):
        raise NormError(f"norm is {norm!r}; give a Norm, such as layer_norm().")
    return norm


def exact_eps(eps: Number) -> Fraction:
    """eps as the decimal that a person wrote: 1e-5 is 1/100000, not the nearest float64."""
    shown = "too long to write"  # Python's str() refuses thousands of digits
    try:
        text = str(eps).strip()
        shown = text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
        value = _fraction(text)
        if value > 0 and not EPS_RANGE[0] <= value <= EPS_RANGE[1]:
            raise ValueError(text)
    except (ArithmeticError, ValueError):
        bounds = "0 or a number from 5e-324 to 1.8e308, such as 1e-5"
        raise NormError(f"eps is {shown}; it must be {bounds}.") from None
    if value < 0:
        raise NormError(f"eps is {shown}; it must not be negative: it keeps variance + eps above zero.")
    if value.denominator >= 10**EPS_DIGITS:
        raise NormError(f"eps is {shown}; it must have at most {EPS_DIGITS} digits.")
    return value


def _fraction(text: str) -> Fraction:
    """The value of a text, refused before a long exponent is written out and fills memory."""
    if len(text) > 3 * EPS_DIGITS or ("/" not in text and abs(Decimal(text).adjusted()) > EPS_DIGITS):
        raise ValueError(text)
    return Fraction(text)


def _correction(correction: int) -> int:
    count = whole(correction)
    if count is None or count < 0:
        raise NormError(f"correction is {correction!r}; it must be a whole number from 0; 1 divides by n - 1.")
    return count


def _offset(offset: int) -> int:
    count = whole(offset)
    if count is None:
        raise NormError(f"offset is {offset!r}; it must be a whole number, added to gamma: 1 for Gemma.")
    return count


def _flag(name: str, value: object) -> bool:
    if not any(value is flag or value == flag for flag in (True, False)):
        raise NormError(f"{name} is {value!r}; it must be True or False.")
    return bool(value)


def _affine(layout: Pattern, affine: str | None) -> Pattern:
    if not isinstance(affine, str) or not affine.strip():
        raise NormError(f"affine is {affine!r}; it names axes of '{layout}', as in 'd', or is None.")
    params = parse(affine)
    for axis in params.axes:
        if axis not in layout.axes:
            raise NormError(f"affine '{affine}' names axis '{axis}'; the pattern '{layout}' has {_list(layout.axes)}.")
    if params.over:
        raise NormError(f"affine '{affine}' has brackets; it only names axes, as in 'd'.")
    if params.axes != order(params.axes, layout.axes):
        rest = iter(order(params.axes, layout.axes))
        right = Pattern(tuple(tuple(next(rest) for _ in dim) for dim in params.dims), ())
        raise NormError(f"affine '{affine}' is not in the order of the pattern '{layout}'; write '{right}'.")
    return params


def _sizes(layout: Pattern, sizes: Mapping[str, int] | Sequence[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    try:
        given = dict(sizes)
    except (TypeError, ValueError):
        raise NormError(f"sizes is {sizes!r}; it gives sizes by axis name, as in {{'g': 4}}.") from None
    for axis, size in given.items():
        if axis not in layout.axes or axis == ELLIPSIS:
            raise NormError(f"sizes names axis '{axis}'; the pattern '{layout}' has {_list(layout.axes)}.")
        given[axis] = _count(f"sizes gives {axis}=", size)
    return tuple(sorted(given.items()))


def _count(what: str, size: object) -> int:
    """A size as an int; `what` begins the message that refuses any other."""
    count = whole(size)
    if count is None or count < 1:
        raise NormError(f"{what}{size!r}; it must be a whole number from 1.")
    return count


def _kind(layout: Pattern, affine: str | None, center: bool) -> str:
    """What people call a norm of this pattern; "norm" where they have no name for it."""
    dims, kept, over = layout.dims, layout.kept, layout.over
    trailing = layout.axes[-len(over) :] == over
    if center and dims[0][0] in over and len(kept) == 1:
        return "BatchNorm"
    if center and trailing and len(dims) > 1 and len(dims[0]) == 1 and _is_split(dims[1], over) and len(kept) == 2:
        return "GroupNorm"
    is_image = center and trailing and kept == tuple(axis for dim in dims[:2] for axis in dim)
    if is_image and (affine == kept[1] if affine else kept == ("N", "C")):
        return "InstanceNorm"
    if trailing and (kept or len(over) == 1):  # over every axis, the batch too, it has no name
        return "LayerNorm" if center else "RMSNorm"
    return "norm"


def _is_split(dim: Axes, over: Axes) -> bool:
    """Whether a dimension is split into axes of which some are reduced and some not."""
    return len(dim) > 1 and len(set(dim) & set(over)) in range(1, len(dim))


def _list(axes: Axes) -> str:
    return " ".join(axes)


def _trailing(normalized_shape: int | Sequence[int] | None) -> tuple[str, dict[str, int]]:
    """The reduced axes for PyTorch's normalized_shape, and the sizes that they must have."""
    if normalized_shape is None:
        return "d", {}
    if isinstance(normalized_shape, Sequence) and normalized_shape and not isinstance(normalized_shape, str):
        counts = [_count("normalized_shape holds ", size) for size in normalized_shape]
    else:
        counts = [_count("normalized_shape is ", normalized_shape)]
    names = ["d"] if len(counts) == 1 else [f"d{i}" for i in range(1, len(counts) + 1)]
    return " ".join(names), dict(zip(names, counts, strict=True))


def layer_norm(
    normalized_shape: int | Sequence[int] | None = None,
    eps: Number | None = 1e-5,
    elementwise_affine: bool = True,
    bias: bool = True,
    *,
    offset: int = 0,
) -> Norm:
    """LayerNorm over the trailing axes of `normalized_shape` (None: the last axis, of any size).

    With offset 1 its weights are gamma - 1, as Apex and NeMo keep them in "layernorm_1p".

    https://docs.pytorch.org/docs/stable/generated/torch.nn.LayerNorm.html; Ba, Kiros and Hinton 2016,
    arXiv:1607.06450.

    >>> layer_norm([4, 6]).pattern
    '... [d1 d2]'
    """
    over, sizes = _trailing(normalized_shape)
    affine = over if elementwise_affine else None
    return Norm(f"... [{over}]", affine, eps, shift=bias, sizes=sizes, name="LayerNorm", offset=offset)


def rms_norm(
    normalized_shape: int | Sequence[int] | None = None,
    eps: Number | None = None,
    elementwise_affine: bool = True,
    *,
    offset: int = 0,
) -> Norm:
    """RMSNorm: no mean, no beta; its variance is the mean square. With offset 1 it is Gemma's, which multiplies
    by 1 + weight.

    eps None is finfo(dtype computed in).eps. For float16 and bfloat16 that is float32's 1.19e-7: PyTorch's
    documentation says the eps of x's dtype, but PyTorch 2.13 adds float32's (the eps that F.rms_norm's output
    for cells of 1e-3 implies; recorded in tests/golden).

    https://docs.pytorch.org/docs/stable/generated/torch.nn.RMSNorm.html; Zhang and Sennrich 2019,
    arXiv:1910.07467.
    """
    over, sizes = _trailing(normalized_shape)
    affine = over if elementwise_affine else None
    return Norm(f"... [{over}]", affine, eps, center=False, shift=False, sizes=sizes, name="RMSNorm", offset=offset)


def batch_norm(
    num_features: int | None = None, eps: Number | None = 1e-5, affine: bool = True, *, training: bool = True
) -> Norm:
    """BatchNorm over the batch and every trailing axis; in evaluation with the running statistics.

    https://docs.pytorch.org/docs/stable/generated/torch.nn.BatchNorm1d.html; Ioffe and Szegedy 2015,
    arXiv:1502.03167.

    >>> batch_norm().fit(4).pattern
    '[N] C [H W]'
    """
    sizes = {} if num_features is None else {"C": _count("num_features is ", num_features)}
    return Norm("[N] C [...]", "C" if affine else None, eps, running=not training, sizes=sizes, name="BatchNorm")


def instance_norm(num_features: int | None = None, eps: Number | None = 1e-5, affine: bool = False) -> Norm:
    """InstanceNorm: every channel of every item by its own statistics.

    https://docs.pytorch.org/docs/stable/generated/torch.nn.InstanceNorm2d.html; Ulyanov, Vedaldi and
    Lempitsky 2016, arXiv:1607.08022.
    """
    sizes = {} if num_features is None else {"C": _count("num_features is ", num_features)}
    return Norm("N C [...]", "C" if affine else None, eps, sizes=sizes, name="InstanceNorm")


def group_norm(
    num_groups: int, num_channels: int | None = None, eps: Number | None = 1e-5, affine: bool = True
) -> Norm:
    """GroupNorm: the channels in `num_groups` groups, each with every trailing axis by its own statistics.

    https://docs.pytorch.org/docs/stable/generated/torch.nn.GroupNorm.html; Wu and He 2018, arXiv:1803.08494.

    >>> group_norm(2).fit(4).sizes_for((1, 6, 4, 4))
    {'N': 1, 'g': 2, 'c': 3, 'H': 4, 'W': 4}

    Raises NormError if num_groups does not divide num_channels.
    """
    sizes = {"g": _count("num_groups is ", num_groups)}
    if num_channels is not None:
        if _count("num_channels is ", num_channels) % num_groups:
            raise NormError(f"num_channels is {num_channels}; num_groups={num_groups} does not divide it.")
        sizes["c"] = num_channels // num_groups
    return Norm("N (g [c]) [...]", "(g c)" if affine else None, eps, sizes=sizes, name="GroupNorm")
