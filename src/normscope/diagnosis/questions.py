"""The probes of a judgement: small, exact in every format, no two rows alike, eps near the variance and above.

Every set answers for one instrument; which input makes which mistakes look right is why each is there: gamma 1 and
beta 0 hide the affine, an eps of 1e-5 hides where it stands, a mean of 0 hides RMSNorm and padding, a width that is
a power of two hides blocks, two axes hide a reduction over all but the first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from ..axes import ELLIPSIS
from ..norm import Norm
from .blocks import back, rows_of
from .probes import Probe

RANKS = {"BatchNorm": (2, 4), "InstanceNorm": (3, 4), "GroupNorm": (4, 3, 2)}
WIDTHS = (6, 7, 5)  # the first is the base
WIDE = (37, 130, 1030)
NEAR, ABOVE = 0.5, 32.0  # eps: near the variances, above every std
SMALL = 2.0**-9  # factor of rows whose variance is near 1e-5
TINY = 2.0**-20  # near 1e-12
NARROW = ("float16", "bfloat16")
LONG, MANY = 401, 131  # cells of a row in which xhat may reach 20; rows
OUTLIERS = (60.0, -60.0, 55.0, -55.0, 50.0, -50.0)


@dataclass(frozen=True)
class Sizes:
    """The sizes of a norm's axes for one probe."""

    norm: Norm
    sizes: Mapping[str, int]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of x."""
        return tuple(prod(self.sizes[axis] for axis in dim) for dim in self.norm.layout.dims)

    @property
    def full(self) -> tuple[int, ...]:
        """The shape with every axis apart."""
        return tuple(self.sizes[axis] for axis in self.norm.axes)


@dataclass
class Maker:
    """Makes probes of a norm in a dtype.

    accepts   the arguments that are given
    features  the only count of gammas that the function takes
    """

    norm: Norm
    dtype: str
    accepts: frozenset[str]
    seed: int = 0
    ranks: Sequence[int] = ()
    features: int | None = None
    rng: Any = field(init=False)
    _hard: dict[str, dict[str, list[Probe]]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        import numpy as np

        self.rng = np.random.default_rng(self.seed)

    @property
    def fitted(self) -> tuple[Norm, ...]:
        """The norm for every rank that is asked about, the base first."""
        if ELLIPSIS not in self.norm.axes:
            return (self.norm,)
        usual = RANKS.get(self.norm.name, (2, 3))
        chosen = [rank for rank in usual if rank in self.ranks] if self.ranks else list(usual)
        return tuple(self.norm.fit(rank) for rank in chosen or self.ranks or usual)

    def sizes(self, norm: Norm, width: int, kept: Sequence[int] = (4, 3, 2)) -> Sizes:
        """Sizes whose reduced cells are about `width`; what the norm fixes stays."""
        known = dict(norm.sizes)
        made = {}
        rest = iter((*kept, 2, 2, 2))
        over = iter((width,) if len(norm.over) == 1 else (max(2, width // 2), 2, 5, 2, 2))
        if len(norm.kept) > 1:
            rest = iter((2, 3, 4, 2, 2))
        for axis in norm.axes:
            made[axis] = known.get(axis) or (next(over) if axis in norm.over else 2 if axis == "g" else next(rest))
        if self.features and norm.param_axes:
            self._resize(made, norm, known)
        return Sizes(norm, made)

    def _resize(self, made: dict[str, int], norm: Norm, known: Mapping[str, int]) -> None:
        free = [axis for axis in norm.param_axes if axis not in known]
        if free and self.features:
            others = prod(made[axis] for axis in norm.param_axes if axis != free[-1])
            made[free[-1]] = max(1, self.features // others)

    def square(self, norm: Norm) -> Sizes | None:
        """As many rows as cells of a row: what is lined up with the wrong axis runs without an error."""
        if len(norm.axes) != 2 or norm.sizes or self.features:
            return None
        return Sizes(norm, dict.fromkeys(norm.axes, 5))

    def cells(self, shape: Sequence[int], spread: int = 8) -> Any:
        """Multiples of 1/4."""
        return self.rng.integers(-spread, spread + 1, size=shape) / 4

    def x(self, at: Sizes, factor: float = 1.0, scale: float = 1.0) -> Any:
        """Rows of different mean and spread, times a factor."""
        import numpy as np

        norm = at.norm
        rows = [at.sizes[axis] if axis in norm.kept else 1 for axis in norm.axes]
        count = prod(rows)
        means = np.resize([1.5, -2.0, 3.0, 0.5, -1.0], count).reshape(rows)
        scales = np.resize([1.0, 0.5, 2.0, 1.0], count).reshape(rows) * scale
        cells = self.cells(at.full) * scales + means
        return (cells * factor).reshape(at.shape)

    def probe(self, at: Sizes, x: Any, eps: float, gamma: Any = None, beta: Any = None) -> Probe:
        """A probe of the dtype with what the norm has and the function takes; gamma and beta are never 1 and 0."""
        norm = at.norm
        shape = norm.param_shape(at.sizes)
        made_gamma = self._parameter(shape, 1.0) if gamma is None else gamma
        made_beta = self._parameter(shape, 0.5) if beta is None else beta
        has_running = norm.running or norm.name == "BatchNorm"
        stat = tuple(at.sizes[axis] for axis in norm.kept)
        given: dict[str, Any] = {
            "gamma": made_gamma if norm.scale else None,
            "beta": made_beta if norm.shift else None,
            "num_groups": at.sizes.get("g"),
            "running_mean": self.cells(stat) if has_running else None,
            "running_var": self.rng.integers(1, 16, size=stat) / 4 if has_running else None,
            "momentum": 0.25 if has_running else None,
            "training": not norm.running if has_running else None,
        }
        arrays = ("gamma", "beta", "running_mean", "running_var")
        given = {
            name: self.cast(value) if name in arrays and value is not None else value for name, value in given.items()
        }
        return Probe(x=self.cast(x), eps=eps, **given)

    def _parameter(self, shape: Sequence[int], size: float) -> Any:
        """Multiples of 1/8 of both signs, no two neighbours alike, none 0."""
        import numpy as np

        count = prod(shape)
        cells = (np.arange(count) * 5 % 13 + 4) / 8 * size
        signs = np.where(np.arange(count) % 4 == 2, -1, 1)
        return (cells * signs).reshape(shape)

    def cast(self, value: Any) -> Any:
        import numpy as np

        if self.dtype == "bfloat16":
            import ml_dtypes

            return np.asarray(value, ml_dtypes.bfloat16)
        return np.asarray(value, self.dtype)

    def core(self) -> list[Probe]:
        """What a right definition must agree with: every shape, two eps, rows of tiny variance, constant rows."""
        made = []
        for place, norm in enumerate(self.fitted):
            shapes = [self.sizes(norm, width) for width in (WIDTHS if place == 0 else WIDTHS[:1])]
            shapes += [square] if place == 0 and (square := self.square(norm)) else []
            for at in shapes:
                made += [self.probe(at, self.x(at), eps) for eps in (NEAR, ABOVE)]
            at = shapes[0]
            made.append(self.probe(at, self.with_constant_row(at), NEAR / 2))
            made.append(self.probe(at, self.x(at) * 32, NEAR))
            if self.dtype not in NARROW:
                made.append(self.probe(at, self.x(at, SMALL), 2.0**-17))
                made.append(self.probe(at, self.x(at, TINY), 2.0**-42))
        return made

    def wide(self) -> list[Probe]:
        """Rows of many cells, which a fixed block does not hold."""
        norm = self.fitted[0]
        if self.features or norm.sizes:
            return []
        return [self.probe(at, self.x(at), NEAR) for at in (self.sizes(norm, width, (3, 2)) for width in WIDE)]

    def with_constant_row(self, at: Sizes) -> Any:
        import numpy as np

        norm = at.norm
        x = self.x(at).reshape(at.full)
        kept = [axis for axis in norm.kept if at.sizes[axis] > 1]
        if not kept:
            return np.full(at.shape, 3.0)
        where = norm.axes.index(kept[0])
        take: list[Any] = [slice(None)] * len(norm.axes)
        take[where] = 0
        x[tuple(take)] = 3.0
        if at.sizes[kept[0]] > 2:
            take[where] = 1
            x[tuple(take)] = 0.0
        return x.reshape(at.shape)

    def affine(self, norm: Norm) -> list[list[Probe]]:
        """For one x each: gamma = 1 and beta = 0, gamma = 0, beta = 0, and two settings that are not constant."""
        import numpy as np

        if not norm.param_axes:
            return []
        sets = []
        for at in filter(None, (self.sizes(norm, WIDTHS[0]), self.square(norm))):
            shape, x = norm.param_shape(at.sizes), self.x(at)
            first = self.probe(at, x, NEAR)
            gamma, beta = (self._parameter(shape, size) for size in (1.0, 0.5))
            other = np.roll(gamma[..., ::-1] + 0.25, 1, -1), np.roll(beta, 2, -1) - 0.125
            settings = [(gamma, beta), other, (gamma * 0 + 1, beta * 0), (gamma * 0, beta), (gamma, beta * 0)]
            sets.append([self._with(first, *setting) for setting in settings])
        return sets

    def _with(self, probe: Probe, gamma: Any, beta: Any) -> Probe:
        return probe.but(
            gamma=None if probe.gamma is None else self.cast(gamma),
            beta=None if probe.beta is None else self.cast(beta),
        )

    def numerics(self, computed: str) -> dict[str, list[Probe]]:
        """Rows that are hard in floating point, by what is hard about them, for a function that computes so."""
        if computed not in self._hard:
            self._hard[computed] = self._numerics(computed)
        return self._hard[computed]

    def _numerics(self, computed: str) -> dict[str, list[Probe]]:
        import numpy as np

        norm = self.fitted[0]
        at = self.sizes(norm, WIDTHS[1])
        is_narrow = self.dtype in NARROW
        offsets = {"float64": (1e3, 2.0**20, 2.0**27), "float32": (1e3, 2.0**13)}.get(computed, (24.0,))
        small = 1e-5 if is_narrow else 1e-12
        constants = [
            self.probe(at, np.full(at.shape, value), eps) for value in (3.0, 0.1, 1000.3) for eps in (1e-6, small)
        ]
        scaled = [
            self.probe(at, self.x(at, factor), 1e-5)
            for factor in ((1.0, 32.0) if is_narrow else (0.1, 1.0, 30.0, 300.0, 1000.0))
        ]
        made = {
            "offset": [self.probe(at, self.cells(at.shape) + offset, 1e-5) for offset in offsets],
            "scale": scaled if self.dtype != "float16" else [*scaled, self.probe(at, self.x(at, 128.0), 1e-5)],
            "constant": constants,
            "small variance": [] if is_narrow else [self.probe(at, self.x(at, TINY), eps) for eps in (1e-12, 1e-6)],
        }
        made |= {"parameters": self._full_mantissa(at), "outlier": self._outliers(), "many rows": self._many_rows()}
        large = {"float64": (1e30, 1e200), "float32": (1e30,), "bfloat16": (1e30,)}.get(self.dtype, ())
        return made | {"range": [self.probe(at, self.x(at, factor), 1e-5) for factor in large]}

    def _full_mantissa(self, at: Sizes) -> list[Probe]:
        """gamma and beta that no shorter format holds."""
        shape = at.norm.param_shape(at.sizes)
        gamma, beta = (self._parameter(shape, size) for size in (1.1 / 3, 0.7 / 3))
        return [self.probe(at, self.x(at), NEAR, gamma, beta)] if at.norm.param_axes else []

    def _outliers(self) -> list[Probe]:
        """One cell of a long row far from the others, and a large gamma: large xhat and y of both signs."""
        norm = self.fitted[0]
        if self.features or norm.sizes:
            return []
        at = self.sizes(norm, LONG, (len(OUTLIERS),))
        x = self.cells(at.full)
        rows = rows_of(x, norm)
        for place in range(len(rows)):
            rows[place, 3 * place] = OUTLIERS[place % len(OUTLIERS)]
        x = back(rows, x, norm).reshape(at.shape)
        return [self.probe(at, x, NEAR, self._parameter(norm.param_shape(at.sizes), 8.0))]

    def _many_rows(self) -> list[Probe]:
        """More rows than a block holds, of few cells."""
        norm = self.fitted[0]
        at = self.sizes(norm, WIDTHS[2], (MANY, 1))
        free = [axis for axis in norm.kept if axis not in dict(norm.sizes)]
        if not free or (self.features and free[0] in norm.param_axes):
            return []
        at = Sizes(norm, {**at.sizes, free[0]: MANY})
        return [self.probe(at, self.x(at), NEAR)]

    def influence(self) -> tuple[list[Probe], list[tuple[int, ...]]]:
        """A probe of the highest rank and the same with one cell changed each; and which cells those are."""
        import numpy as np

        norm = max(self.fitted, key=lambda each: len(each.layout.dims))
        at = self.sizes(norm, WIDTHS[0])
        first = self.probe(at, self.x(at), NEAR)
        count = prod(at.shape)
        picked = sorted({int(cell) for cell in np.linspace(0, count - 1, 7)})
        places = [tuple(int(i) for i in np.unravel_index(cell, at.shape)) for cell in picked]
        made = [first]
        for place in places:
            x = first.x.copy()
            x[place] = np.float64(x[place]) + 2.75
            made.append(first.but(x=x))
        return made, places

    def layouts(self) -> list[Probe]:
        """One x lying in memory in every way."""
        at = self.sizes(self.fitted[0], WIDTHS[1])
        first = self.probe(at, self.x(at), NEAR)
        return [first, *(first.but(layout=layout) for layout in ("offset", "step", "transposed"))]

    def permuted(self) -> list[Probe]:
        """One x of every rank from 3 on, in one piece and as a view with its first axes exchanged."""
        made = []
        for norm in self.fitted:
            at = self.sizes(norm, WIDTHS[0])
            if len(at.shape) > 2:
                first = self.probe(at, self.x(at), NEAR)
                made += [first, first.but(layout="permuted")]
        return made

    def more(self, norm: Norm) -> list[Probe]:
        """Other widths, scales and eps, on which two explanations of the same answers may differ."""
        made = []
        for width in (12, 9, 20):
            at = self.sizes(norm, width)
            made += [self.probe(at, self.x(at, factor), eps) for factor in (0.25, 4.0) for eps in (2.0, 2.0**-6, 8.0)]
        return made

    def shifts(self) -> list[Probe]:
        """One x, and the same with a constant added to every cell."""
        at = self.sizes(self.fitted[0], WIDTHS[0])
        first = self.probe(at, self.x(at), NEAR)
        return [first, first.but(x=self.cast(first.x + self.cast(2.5)))]
