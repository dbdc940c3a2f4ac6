"""A definition of a norm that may be wrong: three small programs, run one after the other by the project's evaluator.

    statistics   x to the numerator c and the spread v      which axes, centering, count, or an array function
    division     c, v and eps to xhat                       where eps stands, which root
    affine       xhat, gamma and beta to y                  how the parameters enter

Every field has the right value as its default; a mistake is another value.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from math import prod
from typing import Any

from ..axes import Axes, order
from ..norm import Norm
from ..program import Builder, Program
from ..run import Rules, run
from ..views import arrays
from .affine import SCALES, SHIFTS
from .block_table import BLOCKS
from .division import DIVISIONS, FACTORS
from .probes import Probe

RIGHT_SCALES = {0: "gamma", 1: "1 + gamma"}  # by the norm's offset


@dataclass(frozen=True)
class Definition:
    """What a function might compute.

    norm       the right norm, its pattern written out; over and center say what is reduced and centered instead
    over       the axes of the spread; mean_over those of the mean, where they differ
    center     which the mean is taken from: "both", "neither", "numerator" or "spread"; "apart": from the spread
               another mean, over the axes of the spread
    spread     "square": mean of the squares, "abs": mean absolute value, "max": largest absolute value,
               "less mean": mean of the squares less the mean, "plus mean": plus the squared mean,
               "reversed": squared mean less the mean of the squares
    count      what the sum of the spread is divided by: "n", "n - 1", "n + 1", "1", "n^2" or "rows", the size of
               the first axis; mean_count likewise for the mean
    block      a key of BLOCKS: statistics that no program has
    groups     how the channels of a GroupNorm are split: "own", "interleaved", "swapped"
    v_times    what the spread is multiplied by
    running    the statistics are given, not taken from x; swapped: each is taken for the other
    division   a key of DIVISIONS; eps_times and eps_plus make the eps that it gets
    factor     what xhat is multiplied by: a key of FACTORS or a number
    twice      normalized again before the affine
    before     the affine is applied to x, before the statistics
    scale, shift   keys of SCALES and SHIFTS
    """

    norm: Norm
    over: Axes
    center: str = "both"
    mean_over: Axes = ()
    spread: str = "square"
    count: str = "n"
    mean_count: str = "n"
    block: str = ""
    groups: str = "own"
    v_times: float = 1.0
    running: bool = False
    swapped: bool = False
    division: str = "sqrt(v + eps)"
    eps_times: str | float = 1.0
    eps_plus: float = 0.0
    factor: str | float = 1.0
    twice: bool = False
    before: bool = False
    scale: str = "gamma"
    shift: str = "beta"

    @property
    def centered(self) -> bool:
        """Whether the numerator is."""
        return self.center in ("both", "numerator", "apart")

    @property
    def takes_gamma(self) -> bool:
        """Whether gamma scales, with an offset or without."""
        return "gamma" in self.scale


def right(norm: Norm, takes: frozenset[str] = frozenset({"gamma", "beta"})) -> Definition:
    """The definition of the norm itself; a parameter that a function does not take is left out."""
    return Definition(
        norm,
        norm.over,
        center="both" if norm.center else "neither",
        count="n - 1" if norm.correction else "n",
        running=norm.running,
        scale=RIGHT_SCALES[norm.offset] if norm.scale and "gamma" in takes else "1",
        shift="beta" if norm.shift and "beta" in takes else "0",
    )


def changes(definition: Definition, base: Definition) -> dict[str, Any]:
    """The fields in which a definition differs from another."""
    pairs = ((each.name, getattr(definition, each.name)) for each in fields(Definition))
    return {name: value for name, value in pairs if value != getattr(base, name)}


@dataclass(frozen=True)
class Values:
    """What a definition makes of a probe.

    c, v, xhat, scale and shift have the program's full rank, `full` is its shape; y has the shape of x.
    size      the largest |x| of a row      cells   how many enter a statistic
    root      about what c is multiplied by      v_share   about v over the squared divisor
    factor    of the definition, as a number
    """

    c: Any
    v: Any
    xhat: Any
    scale: Any
    shift: Any
    y: Any
    full: tuple[int, ...]
    size: Any
    cells: int
    root: Any
    v_share: Any
    factor: float


def evaluate(definition: Definition, probe: Probe) -> Values:
    """Run the definition on a probe in float64.

    Raises ValueError where it cannot be run on this shape.
    """
    import numpy as np

    norm = definition.norm
    shape = _full_shape(definition, probe)
    x = np.reshape(np.asarray(probe.x, np.float64), shape)
    if definition.groups == "interleaved":
        x = _interleaved(x, norm)
    sizes = dict(zip(norm.axes, x.shape, strict=True))
    with np.errstate(all="ignore"):
        scale = _parameter(definition, "scale", probe, sizes)
        shift = _parameter(definition, "shift", probe, sizes)
        read = x * scale + shift if definition.before else x
        c, v = statistics(definition, probe, read, sizes)
        v = v * definition.v_times
        xhat = divided(definition, probe, read, c, v, sizes)
        if definition.twice:
            xhat = divided(definition, probe, xhat, *statistics(definition, probe, xhat, sizes), sizes)
        if definition.groups == "interleaved":
            xhat = np.reshape(_plain(xhat, norm), full_shape(norm, probe))
        y = xhat if definition.before else xhat * scale + shift
        if definition.block:
            y = BLOCKS[definition.block].written(y, read, norm)
        size, root, v_share = _scale_of(definition, read, c, v, xhat, probe)
    cells = prod(sizes[axis] for axis in {*definition.over, *definition.mean_over})
    factor = number(definition.factor, float(cells))
    full = np.shape(xhat) if definition.groups == "interleaved" else x.shape
    y = np.reshape(np.broadcast_to(y, full), probe.x.shape)
    return Values(c, v, xhat, scale, shift, y, full, size, cells, root, v_share, factor)


def _scale_of(definition: Definition, x: Any, c: Any, v: Any, xhat: Any, probe: Probe) -> tuple[Any, Any, Any]:
    """The largest |x| of a row, what c is about multiplied by, and v times its square."""
    import numpy as np

    at = places(definition.norm, definition.over)
    size = np.max(np.abs(x), axis=None if definition.mean_over else at, keepdims=True)
    if definition.running:
        size = size + np.max(np.abs(probe.running_mean))
    largest = np.max(np.abs(c), axis=at, keepdims=True)
    floor = np.sqrt(np.abs(v) + abs(float(probe.eps or 0)))
    root = np.where(largest > 0, np.max(np.abs(xhat), axis=at, keepdims=True) / largest, 1 / floor)
    return size, root, np.abs(v) * root**2


def sizes_of(norm: Norm, probe: Probe) -> dict[str, int]:
    """The sizes of the norm's axes for a probe, whose num_groups is always the norm's own."""
    return norm.sizes_for(probe.x.shape)


def full_shape(norm: Norm, probe: Probe) -> tuple[int, ...]:
    """The shape of x with every axis of the norm apart."""
    sizes = sizes_of(norm, probe)
    return tuple(sizes[axis] for axis in norm.axes)


def places(norm: Norm, over: Axes) -> tuple[int, ...]:
    """Where axes of the norm stand in that shape."""
    return tuple(norm.axes.index(axis) for axis in over)


def _full_shape(definition: Definition, probe: Probe) -> tuple[int, ...]:
    sizes = sizes_of(definition.norm, probe)
    if definition.groups == "swapped":
        sizes["g"], sizes["c"] = sizes["c"], sizes["g"]
    if definition.groups == "interleaved":
        sizes["g"], sizes["c"] = sizes["c"], sizes["g"]
    return tuple(sizes[axis] for axis in definition.norm.axes)


def _interleaved(x: Any, norm: Norm) -> Any:
    """The channels of every g-th place together."""
    import numpy as np

    at = norm.axes.index("g")
    return np.ascontiguousarray(np.swapaxes(x, at, at + 1))


def _plain(y: Any, norm: Norm) -> Any:
    import numpy as np

    at = norm.axes.index("g")
    return np.swapaxes(y, at, at + 1)


@lru_cache(maxsize=4096)
def statistics_program(
    axes: Axes, over: Axes, mean_over: Axes, center: str, spread: str, count: str, mean_count: str
) -> Program:
    """x to the numerator c and the spread v.

    >>> print(statistics_program(("S", "d"), ("d",), ("d",), "both", "square", "n - 1", "n"))
    inputs x[S d] factor[] mean_factor[]
    mu[S] = mean(x) over d
    c[S d] = sub(x, mu)
    q[S d] = mul(c, c)
    v[S] = mean(q) over d, count less 1
    """
    build = Builder(axes, {"x": axes, "factor": (), "mean_factor": ()})
    mean = build.let("mu", "mean", "x", over=mean_over)
    if mean_count != "n":
        mean = build.let("mu_factor", "mul", "mu", "mean_factor")
    centered = build.let("c", "sub", "x", mean)
    of = centered if center in ("both", "spread") else "x"
    if center == "apart":
        of = build.let("c_own", "sub", "x", build.let("mu_own", "mean", "x", over=over))
    less = 1 if count == "n - 1" else 0
    name = "v" if count in ("n", "n - 1") else "v_mean"
    if spread == "square":
        build.let(name, "mean", build.let("q", "mul", of, of), over=over, less=less)
    elif spread == "abs":
        build.let(name, "mean", build.let("q", "abs", of), over=over, less=less)
    elif spread == "max":
        build.let(name, "max", build.let("q", "abs", of), over=over)
    else:
        _slips(build, spread, name, mean, over)
    if name != "v":
        build.let("v", "mul", name, "factor")
    return build.program()


def _slips(build: Builder, spread: str, name: str, mean: str, over: Axes) -> None:
    """The short formula E[x^2] - E[x]^2 with a slip in it."""
    build.let("mean_square", "mean", build.let("q", "mul", "x", "x"), over=over)
    if spread == "less mean":
        build.let(name, "sub", "mean_square", mean)
    elif spread == "plus mean":
        build.let(name, "add", "mean_square", build.let("mu2", "mul", mean, mean))
    else:
        build.let(name, "sub", build.let("mu2", "mul", mean, mean), "mean_square")


def statistics(definition: Definition, probe: Probe, x: Any, sizes: Mapping[str, int]) -> tuple[Any, Any]:
    """The numerator and the spread of x, both of the program's rank."""
    import numpy as np

    norm = definition.norm
    if definition.running:
        kept = tuple(sizes[axis] if axis in norm.kept else 1 for axis in norm.axes)
        given = (probe.running_mean, probe.running_var)
        mean, v = (
            np.reshape(np.asarray(value, np.float64), kept) for value in given[:: -1 if definition.swapped else 1]
        )
        return (x - mean if definition.centered else x), v
    if definition.block:
        mean, v = BLOCKS[definition.block].statistics(x, norm)
        return (x - mean if definition.centered else x), v
    mean_over = definition.mean_over or definition.over
    named = (definition.center, definition.spread, definition.count, definition.mean_count)
    program = statistics_program(norm.axes, definition.over, mean_over, *named)
    n, mean_n = (float(prod(sizes[axis] for axis in over)) for over in (definition.over, mean_over))
    inputs = {
        "x": x,
        "factor": count_factor(definition.count, n, x.shape[0]),
        "mean_factor": count_factor(definition.mean_count, mean_n, x.shape[0]),
    }
    made = run(program, arrays.rules(program, sizes, np), inputs)
    return made["c"] if definition.centered else x, made["v"]


def count_factor(count: str, n: float, rows: int) -> float:
    """What a mean is multiplied by so that its sum is divided by another count."""
    divisor = {"n": n, "n - 1": n - 1, "n + 1": n + 1, "1": 1.0, "n^2": n * n, "rows": float(rows)}[count]
    return n / divisor if divisor else float("inf")


def divided(
    definition: Definition, probe: Probe, x: Any, c: Any, v: Any, sizes: Mapping[str, int], rules: Rules | None = None
) -> Any:
    """xhat: the numerator over the divisor, times the factor; over arrays, unless `rules` are for something else."""
    import numpy as np

    norm, n = definition.norm, float(prod(sizes[axis] for axis in definition.over))
    program = division_program(norm.axes, definition.over, definition.division)
    eps = number(definition.eps_times, n) * float(probe.eps or 0) + definition.eps_plus
    given = {"x": x, "c": c, "v": v, "eps": eps, "n": n}
    made = run(program, rules or arrays.rules(program, sizes, np), given)["xhat"]
    factor = number(definition.factor, n)
    return made if factor == 1 else made * factor


def number(value: str | float, n: float) -> float:
    """A number, or that which a key of FACTORS gives for n cells."""
    return FACTORS[value](n) if isinstance(value, str) else value


@lru_cache(maxsize=1024)
def division_program(axes: Axes, over: Axes, division: str) -> Program:
    """c, v and eps to xhat, by one of DIVISIONS.

    >>> print(division_program(("d",), ("d",), "sqrt(v) + eps"))
    inputs x[d] c[d] v[d] eps[] n[]
    s[d] = sqrt(v)
    t[d] = add(s, eps)
    r[d] = recip(t)
    xhat[d] = mul(c, r)
    """
    build = Builder(axes, {"x": axes, "c": axes, "v": axes, "eps": (), "n": ()})
    DIVISIONS[division].build(build, order(over, axes))
    return build.program()


def _parameter(definition: Definition, which: str, probe: Probe, sizes: Mapping[str, int]) -> Any:
    """The factor or the summand of the affine, broadcast against x."""
    table = SCALES if which == "scale" else SHIFTS
    form = table[getattr(definition, which)]
    return form.value(definition.norm, probe, sizes)
