"""The smallest input that shows a mistake: few rows, few features, small whole numbers."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from .definition import Definition, right
from .examination import own_eps
from .probes import Failure, Implementation, Probe
from .questions import Maker, Sizes
from .search import attempt

CANDIDATES = 90
SEEN = 1e-3  # of the largest |y|: what a reader sees without counting digits


def candidates(maker: Maker, rank: int) -> Iterator[Probe]:
    """Probes from the smallest on: ramps and steps of whole numbers, an eps of 1 and a usual one."""
    import numpy as np

    norm = next((each for each in maker.fitted if len(each.layout.dims) == rank), maker.fitted[0])
    for width in (2, 3, 4, 5, 6, 8):
        for kept in ((1, 1, 1, 1), (2, 1, 1, 1), (2, 2, 2, 2)):
            at = _sized(maker, norm, width, kept)
            count = int(np.prod(at.shape))
            ramp = np.arange(count)
            for cells in (ramp * ramp % 7, ramp % 3 * 4 + ramp // 3, ramp * 5 % 4 + 10, ramp * 0 + 2):
                for eps in (1.0, 1e-5):
                    yield _whole(maker.probe(at, cells.reshape(at.shape), eps))


def _sized(maker: Maker, norm: Any, width: int, kept: Sequence[int]) -> Sizes:
    if maker.features or norm.sizes:
        return maker.sizes(norm, width)
    rest = iter(kept)
    over = iter((width, *([1, 2, 2, 2] if width > 2 else [1, 1, 1, 1])))
    made = {}
    for axis in norm.axes:
        made[axis] = next(over, 1) if axis in norm.over else 2 if axis == "g" else next(rest, 1)
    return Sizes(norm, made)


def _whole(probe: Probe) -> Probe:
    """gamma and beta of whole numbers."""
    import numpy as np

    def ramp(value: Any, start: int) -> Any:
        if value is None:
            return None
        return (np.arange(value.size).reshape(value.shape) + start).astype(value.dtype)

    return probe.but(gamma=ramp(probe.gamma, 2), beta=ramp(probe.beta, 1))


def smallest(
    implementation: Implementation, maker: Maker, rank: int, takes: frozenset[str], without: Definition | None = None,
    wrong: Definition | None = None, layout: str = "contiguous",
) -> Mapping[str, Any]:  # fmt: skip
    """The first small input on which the function differs from the norm, or two definitions from each other."""
    tried = [probe.but(layout=layout) for probe in islice(candidates(maker, rank), CANDIDATES)]
    if "eps" not in takes:  # which then is the norm's own
        tried = [probe.but(eps=own_eps(maker.norm, maker.dtype)) for probe in tried]
    tried = [probe for probe in tried if _tells(probe, without, wrong)] if wrong else tried
    tried = tried[:12] if wrong else tried
    for probe, answer in zip(tried, implementation.run(tried), strict=True):
        base = right(maker.norm.fit(probe.x.ndim), takes)
        values = attempt(base, probe)
        if values is None or isinstance(answer, Failure):
            continue
        if _apart(values.y, answer["y"]):
            return shown(probe, values.y, answer["y"])
    return {}


def _tells(probe: Probe, without: Definition | None, wrong: Definition) -> bool:
    """Whether one mistake more or less is seen on this input."""
    if without is None:
        return True
    one, other = attempt(without, probe), attempt(wrong, probe)
    return one is not None and other is not None and _apart(one.y, other.y)


def _apart(y: Any, other: Any) -> bool:
    import numpy as np

    y, other = np.asarray(y, np.float64), np.asarray(other, np.float64)
    if y.shape != other.shape:
        return True
    with np.errstate(all="ignore"):
        finite = np.isfinite(y) & np.isfinite(other)
        if np.any(np.isfinite(y) != np.isfinite(other)):
            return True
        return bool(np.any(np.abs(y - other)[finite] > SEEN * np.max(np.abs(y[finite]), initial=1e-9)))


def shown(probe: Probe, expected: Any, got: Any) -> dict[str, Any]:
    """The input by argument name, what is right and what came back, to six digits."""
    import numpy as np

    made: dict[str, Any] = {}
    for name in ("x", "gamma", "beta", "eps", "num_groups", "running_mean", "running_var", "momentum", "dy"):
        value = getattr(probe, name)
        if value is not None:
            made[name] = np.asarray(value, np.float64).tolist() if hasattr(value, "shape") else value
    if probe.layout != "contiguous":
        made["layout"] = probe.layout
    return made | {"expected": digits(expected), "got": digits(got)}


def digits(values: Any) -> Any:
    """Nested lists of numbers of six digits."""
    import numpy as np

    cells = np.asarray(values, np.float64)
    return np.array([float(f"{cell:.6g}") for cell in cells.ravel()]).reshape(cells.shape).tolist()
