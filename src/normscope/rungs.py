"""The ladder of exactness: one cell of one step, from its exact value down to eight bits."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isfinite
from typing import Any

from .axes import Axes, sized, whole
from .block import ExactTrace, exact
from .errors import ExactError, NormError, ShapeError
from .norm import Norm
from .steps import output
from .tracing import Trace, trace
from .views import exact as reading
from .views.cells import Cells, flatten
from .views.formats import FORMATS, NARROW, Format
from .views.opaque import Exact, Opaque, Undefined
from .views.policies import KINDS, find
from .views.roots import Surd

BITS = 1200  # behind the point, of the bounds that a root is known by: a float64 ends at 1,074
DECIMALS = 20


@dataclass(frozen=True)
class Rung:
    """One way to have the value.

    name    of the exact forms: "fraction", "named root", "closed form", "decimals"; else the policy's
    text    the value as it is written
    value   what came out in a format, and what follows is None or empty for an exact form
    ulps    its error, in ulps of its format at the exact value; None where the exact value is undefined
    format  the format that the policy keeps it in
    bits    its bits, as text
    """

    name: str
    text: str
    value: float | None = None
    ulps: float | None = None
    format: str = ""
    bits: str = ""


def ladder(
    x: Any,
    norm: Norm,
    step: str = "y",
    at: Sequence[int] | None = None,
    gamma: Any = None,
    beta: Any = None,
    *,
    dy: Any = None,
    kind: str = "steps",
) -> list[Rung]:
    """A cell of an input or a step exactly, then as float64, float32 and every narrow format give it.

    x, gamma, beta  nested lists of numbers as `exact` takes them; that a format rounds them is part of its error
    dy              the same, of the shape of x: then the steps of the way back have ladders too
    at              the cell's index along every axis of the program; along one that the step lacks it does not
                    count. If not given, the first cell
    kind            the order of the narrow formats, `steps` of `steps-bf16`: every step kept in the format

    >>> for rung in ladder(["1", "2", "4"], Norm("[d]", eps=0), "xhat", (2,))[:6]:
    ...     print(f"{rung.name:12}", rung.text, rung.ulps and f"({rung.ulps:.2f} ulp)")
    named root   (5/3)/sqrt(14/9) None
    closed form  5/14*sqrt(14) None
    decimals     1.33630620956212192342 None
    float64      1.3363062095621219 (0.23 ulp)
    float32      1.3363062143325806 (0.04 ulp)
    steps-bf16   1.3359375 (0.05 ulp)

    Raises what `exact` raises, KeyError for a step that the norm lacks, NormError for a kind that is none,
    ShapeError for a cell that x lacks and ExactError for a norm whose eps is left to the dtype.
    """
    if norm.eps is None:
        raise ExactError(f"eps of {norm.name} is left to the dtype; give it a number, as in eps=1e-6.")
    if kind not in KINDS:
        raise NormError(f"kind is {kind!r}; it must be one of {', '.join(KINDS)}.")
    made = exact(x, norm, gamma, beta, eps=norm.eps, dy=dy)
    at = [0] * len(made.sizes) if at is None else at
    if not _fits(at, tuple(made.sizes.values())):
        x_is = sized(made.program.axes, made.sizes)
        raise ShapeError(f"at is {at!r}; give the index of a cell along every axis of x {x_is}, from 0.")
    wanted: Exact = _cell(made, step, at)
    return [*_exact_rungs(made, step, at, wanted), *_float_rungs(made, step, at, wanted, kind)]


def _fits(at: Any, shape: tuple[int, ...]) -> bool:
    """Whether `at` is the index of a cell: whole numbers from 0, one for every size."""
    return (
        isinstance(at, Sequence)
        and len(at) == len(shape)
        and all(whole(i) is not None and 0 <= i < size for i, size in zip(at, shape, strict=True))
    )


def _cell(made: Trace, name: str, at: Sequence[int]) -> Any:
    value = made.inputs[name] if name in made.inputs else made[name]
    return _picked(value, made.program.axes, made.axes(name), at)


def _picked(nested: Any, axes: Axes, own: Axes, at: Sequence[int]) -> Any:
    for axis, index in zip(axes, at, strict=True):
        nested = nested[index if axis in own else 0]
    return nested


def _exact_rungs(made: ExactTrace, step: str, at: Sequence[int], wanted: Exact) -> Iterator[Rung]:
    if isinstance(wanted, Undefined):
        yield Rung("undefined", reading.text(wanted))
        return
    if isinstance(wanted, (int, Fraction)):
        yield Rung("fraction", reading.text(wanted))
    else:
        named = _picked(made.named(step), made.program.axes, made.axes(step), at)
        yield Rung("named root", reading.text(named))
        yield Rung("closed form", reading.text(wanted))
    yield Rung("decimals", reading.digits(wanted, DECIMALS))


def _float_rungs(made: ExactTrace, step: str, at: Sequence[int], wanted: Exact, kind: str) -> Iterator[Rung]:
    shapes = dict.fromkeys(("x", "dy"), made.shape) | dict.fromkeys(
        ("gamma", "beta"), made.norm.param_shape(made.sizes)
    )
    given = {
        name: Cells(shapes[name], flatten(value)).nested() for name, value in made.inputs.items() if name in shapes
    }
    names = (f"{kind}-{each.short}" if name in NARROW else name for name, each in FORMATS.items())
    for policy in map(find, names):
        parameters = given.get("gamma"), given.get("beta")
        rounded = trace(given["x"], made.norm, *parameters, dy=given.get("dy"), policy=policy)
        kept = policy.formats(rounded.program, made.norm.over)
        of = kept[step if step in kept else output(rounded.program)]
        value = _cell(rounded, step, at)
        bits = f"{of.pattern(value):0{of.bits}b}"
        yield Rung(policy.name, repr(value), value, _ulps(value, wanted, of), of.name, bits)


def _ulps(value: float, wanted: Exact, of: Format) -> float | None:
    if isinstance(wanted, Undefined):
        return None
    if not isfinite(value):
        return inf
    near = _nearly(wanted)
    try:
        return float(abs(Fraction(value) - near) / of.ulp(near))
    except OverflowError:  # beside 0, of which float64 has an ulp of 5e-324
        return inf


def _nearly(value: int | Fraction | Surd | Opaque) -> Fraction:
    """The value, of a root a lower bound that no format can tell from it."""
    if isinstance(value, (int, Fraction)):
        return Fraction(value)
    return Fraction(value.between(BITS)[0], 1 << BITS)
