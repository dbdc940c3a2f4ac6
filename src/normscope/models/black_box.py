"""Which norm a function computes that can only be called: found by what moves what, and by its values.

A cell of x is changed: the outputs that move share its statistic. A cell of a parameter is changed: the outputs that
move are where it stands. Then every norm over these axes, right or wrong, is run beside it on random numbers. Its eps
is measured with an x so small that nothing but eps is under the root.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from math import prod, sqrt
from typing import Any

from ..norm import Norm, exact_eps
from ..program import Program
from .candidates import STATISTICS, Affine, Candidate, affines, candidates, whole
from .forms import BETA_FIRST
from .regions import Dims
from .trials import LARGE_MEAN, run_on

Call = Callable[[Any, Mapping[str, Any]], Any]  # x and the parameters by name, in float64, to y
TINY = (1e-10, 1e-18)  # the spread of an x beside which every eps under the root is large; and every one beside it
FAR_BELOW = 1e-3  # of an eps: the spread beside which even a floor is large
CLOSE = 2e-5  # of the largest cell: many classes compute in float32
EXACT = 1e-11  # closer than this, nothing was rounded to float32
SAME = 1e-4  # eps that are as near as this are the same number, measured
CHANGES = (1.7, -2.3, 5.1)  # of a cell: where one happens to leave an output as it was, another does not
MACHINE = 2.0**-52  # finfo(float64).eps, which is what eps None adds in float64


@dataclass(frozen=True)
class Box:
    """Something to call.

    shapes  of x to try, the likeliest first
    params  the shape of every parameter and buffer by name
    hints   numbers that it holds, of which one may be its eps
    """

    call: Call
    shapes: Sequence[tuple[int, ...]]
    params: Mapping[str, tuple[int, ...]]
    hints: Sequence[float] = ()


@dataclass(frozen=True)
class Seen:
    """The norm that it is, over plain axes.

    dims   the axes of each dimension of x, and every axis's size in the x that was tried
    roles  by role, the parameter's name
    fault  a key of `forms.WORDS`; empty for a right form
    """

    norm: Norm
    dims: Dims
    sizes: Mapping[str, int]
    roles: Mapping[str, str]
    fault: str
    form: str


def seen(box: Box) -> Seen | None:
    """The norm that it computes; None for what is none."""
    for shape in box.shapes:
        probe = _Probe(box, shape)
        if probe.runs():
            return probe.seen()
    return None


class _Probe:
    """A box that is called with an x of one shape."""

    def __init__(self, box: Box, shape: tuple[int, ...]) -> None:
        import numpy as np

        self.box, self.shape = box, shape
        self._rng = np.random.default_rng(0)
        self.x = self._rng.normal(0.4, 1.3, shape)
        self.given = {name: self._rng.uniform(0.5, 1.5, size) for name, size in box.params.items()}

    def runs(self) -> bool:
        """Whether it takes this shape, and gives it back."""
        import numpy as np

        try:
            self.y = self.box.call(self.x, self.given)
        except Exception:  # a stranger's code refuses a shape by any error
            return False
        return bool(self.y.shape == self.shape and np.isfinite(self.y).all())

    def seen(self) -> Seen | None:
        """See above."""
        moved = self.moved_by_x
        if not moved.any():
            return None
        dims, sizes, over = _split(moved)
        params: dict[str, tuple[str, ...]] = {}
        for name in self.box.params:
            axes = self._axes_of(name, dims, sizes)
            if axes is None:
                return None
            params |= {name: axes} if axes else {}
        if not over and not params:
            return None
        trials = _Trials(self, dims, sizes, params)
        return next(iter(trials.agreeing(over)), None)

    @cached_property
    def moved_by_x(self) -> Any:
        """Which outputs move with the first cell of x."""
        moved = self.x != self.x
        for change in CHANGES:
            changed = self.x.copy()
            changed[(0,) * changed.ndim] += change
            moved |= self.box.call(changed, self.given) != self.y
        return moved

    def _axes_of(self, name: str, dims: Dims, sizes: Mapping[str, int]) -> tuple[str, ...] | None:
        """The axes of a parameter; empty for one that does nothing, None for one that no norm has."""
        if not self.box.params[name] or not prod(self.box.params[name]):
            return ()
        changed = dict(self.given)
        changed[name] = self.given[name].copy()
        changed[name].flat[0] += 0.7
        moved = self.box.call(self.x, changed) != self.y
        if not moved.any():
            return ()
        axes = tuple(axis for dim in dims for axis in dim)
        cells = moved.reshape([sizes[axis] for axis in axes])
        own = tuple(
            axis for at, axis in enumerate(axes)
            if sizes[axis] > 1 and cells.any(axis=tuple(k for k in range(cells.ndim) if k != at)).sum() == 1
        )  # fmt: skip
        return own if prod(sizes[axis] for axis in own) == prod(self.box.params[name]) else None


def _split(moved: Any) -> tuple[Dims, dict[str, int], tuple[str, ...]]:
    """The axes of x, those that share a statistic, and one more where only a part of a dimension does: a group."""
    dims: list[tuple[str, ...]] = []
    sizes: dict[str, int] = {}
    over: list[str] = []
    for at, size in enumerate(moved.shape):
        line = moved[tuple(slice(None) if k == at else 0 for k in range(moved.ndim))]
        count = max(1, int(line.sum()))
        if 1 < count < size and size % count == 0:
            dims.append((f"a{at}x0", f"a{at}x1"))
            sizes |= {f"a{at}x0": size // count, f"a{at}x1": count}
            over.append(f"a{at}x1")
            continue
        dims.append((f"a{at}",))
        sizes[f"a{at}"] = size
        over += [f"a{at}"] if count == size and size > 1 else []
    return tuple(dims), sizes, tuple(over)


class _Trials:
    """The values of a probe beside those of every norm that it could be."""

    def __init__(
        self, probe: _Probe, dims: Dims, sizes: Mapping[str, int], params: Mapping[str, tuple[str, ...]]
    ) -> None:
        self.probe, self.dims, self.sizes, self.params = probe, dims, sizes, params
        self.axes = tuple(axis for dim in dims for axis in dim)
        self._full = [sizes[axis] for axis in self.axes]

    def agreeing(self, over: tuple[str, ...]) -> Iterator[Seen]:
        """Every norm that agrees, the right ones first."""
        running = not over
        if running:
            kept = {axis for axes in self.params.values() for axis in axes}
            over = tuple(axis for axis in self.axes if axis not in kept)
        if not over or (len(self.params) > (4 if running else 2)):
            return
        pattern = " ".join(f"[{axis}]" if axis in over else axis for axis in self.axes)
        measured = self._measured(running)
        values = self._values(measured)
        for candidate in candidates(pattern, running):
            for eps in measured:
                yield from self._fitting(candidate, eps, values)

    def _fitting(self, candidate: Candidate, eps: float, values: Sequence[tuple[Any, Any]]) -> Iterator[Seen]:
        """The candidate with each use of the parameters that agrees."""

        @cache
        def xhat(at: int, *statistics: str) -> Any:
            return self._xhat(candidate.program, values[at][0], eps, statistics)

        for affine in affines(candidate.norm, tuple(self.params)):
            made = (self._made(affine, xhat(at, *affine.statistics)) for at in range(len(values)))
            apart = [_apart(one, y) for one, (_, y) in zip(made, values, strict=True)]
            if max(apart) <= CLOSE:
                found = whole(candidate.norm, None if eps == MACHINE else exact_eps(eps), affine, self.params)
                form = self._form(candidate.program, affine, eps, apart[0] < EXACT) if found.center else "two-pass"
                fault = candidate.fault or BETA_FIRST * affine.beta_first or self._floor(eps)
                yield Seen(found, self.dims, self.sizes, affine.roles, fault, form)

    def _floor(self, eps: float) -> str:
        """Whether something that was not seen stands in for an eps: a row of zeros gives numbers."""
        import numpy as np

        if eps:
            return ""
        y = self.probe.box.call(np.zeros_like(self.probe.x), self.probe.given)
        return "unseen-floor" if np.isfinite(y).all() else ""

    def _values(self, measured: Sequence[float]) -> list[tuple[Any, Any]]:
        """x at an ordinary spread and at those where each eps matters, with what comes out."""
        made = [(self.probe.x, self.probe.y)]
        spreads = {spread for eps in measured if eps for spread in (sqrt(eps), eps, eps * FAR_BELOW)}
        for spread in sorted(each for each in spreads if each > TINY[-1]):
            x = self.probe.x * spread
            made.append((x, self.probe.box.call(x, self.probe.given)))
        return made

    def _measured(self, running: bool) -> list[float]:
        """What eps can be: from the slope of y in x, where x is so small that nothing else is under the root."""
        found = (eps for spread in TINY for eps in self._measured_at(spread, running))
        return [*dict.fromkeys(found), 0.0]

    def _measured_at(self, spread: float, running: bool) -> list[float]:
        import numpy as np

        level = 1e-14 if running else 1.0
        x = self.probe.x * spread
        y = self.probe.box.call(x, {name: np.full(size, level) for name, size in self.probe.box.params.items()})
        first, second = self._pair()
        apart = abs(y[first] - y[second])
        slope = abs(x[first] - x[second]) / apart if apart else 0.0
        roots = [slope * gamma for gamma in (level, 1.0 + level, 1.0)]
        squares = [root * root - (level if running else 0.0) for root in roots]
        return [_written(eps, self.probe.box.hints) for eps in (*squares, *roots) if 1e-17 < eps < 1]

    def _pair(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Two cells that share a statistic and, as every parameter has one value, all else."""
        first = (0,) * len(self.probe.shape)
        moved = self.probe.moved_by_x.copy()
        moved[first] = False
        if not moved.any():  # in evaluation nothing is shared but what a channel is given
            kept = {axis for axes in self.params.values() for axis in axes}
            place = next(at for at, dim in enumerate(self.dims) if not kept.issuperset(dim))
            return first, tuple(int(at == place) for at in range(len(first)))
        import numpy as np

        return first, tuple(int(at) for at in np.argwhere(moved)[0])

    def _xhat(self, program: Program, x: Any, eps: float, statistics: Sequence[str]) -> Any:
        inputs = {"x": x.reshape(self._full), "eps": eps}
        given = self.probe.given
        inputs |= {role: self._shaped(given, name) for role, name in zip(STATISTICS, statistics, strict=False)}
        return run_on(program, self.sizes, inputs)["xhat"]

    def _made(self, affine: Affine, xhat: Any) -> Any:
        given = {name: self._shaped(self.probe.given, name) for name in affine.roles.values()}
        return affine.of(xhat, given).reshape(self.probe.shape)

    def _shaped(self, given: Mapping[str, Any], name: str) -> Any:
        return given[name].reshape([self.sizes[axis] if axis in self.params[name] else 1 for axis in self.axes])

    def _form(self, program: Program, affine: Affine, eps: float, is_exact: bool) -> str:
        """Whether the variance loses its digits where the mean is large, as E[x^2] - E[x]^2 does."""
        mean, most = (LARGE_MEAN, 1e-3) if is_exact else (1e4, 0.05)
        x = self.probe.x + mean
        try:
            got = self.probe.box.call(x, self.probe.given)
        except Exception:
            return "two-pass"
        right = self._made(affine, self._xhat(program, x, eps, affine.statistics))
        return "one-pass" if _apart(right, got) > most else "two-pass"


def _written(eps: float, hints: Sequence[float]) -> float:
    """A measured eps as the number that was meant: one that the box holds, the machine's, or one of few digits."""
    for meant in (*hints, MACHINE, 2.0**-23):
        if abs(eps - meant) <= SAME * meant:
            return meant
    short = float(f"{eps:.3g}")
    return short if abs(eps - short) <= SAME * short else float(f"{eps:.5g}")


def _apart(made: Any, y: Any) -> float:
    """The largest difference as a share of the largest cell."""
    import numpy as np

    if made.shape != y.shape or not np.isfinite(made).all() or not np.isfinite(y).all():
        return float("inf")
    return float(np.max(np.abs(made - y)) / (np.max(np.abs(y)) or 1.0))
