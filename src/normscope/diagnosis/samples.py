"""A first call: a small x for any norm, with everything that a function may ask for."""

from math import prod
from typing import Any

from ..axes import parse
from ..norm import Norm
from .probes import Probe
from .questions import Sizes

SIZE = 3  # of an axis that nothing decides


def sample(norm: Norm, rank: int, is_backward: bool = False, features: int | None = None) -> Probe:
    """A probe of small numbers, no two rows alike, whose sizes the norm allows.

    features  the number of gammas, where only one is taken
    """
    import numpy as np

    fitted = norm.fit(rank)
    known = dict(fitted.sizes)
    sizes = {axis: known.get(axis, SIZE + place % 2) for place, axis in enumerate(fitted.axes)}
    if features is not None:
        _resize(sizes, fitted, known, features)
    shape = Sizes(fitted, sizes).shape
    count = prod(shape)
    cells = (np.arange(count, dtype=np.float64) * 7 % 11 - 4.5 + np.arange(count) / count).reshape(shape)
    size = fitted.param_shape(sizes) or tuple(sizes[axis] for axis in fitted.kept[-1:])
    ramp = np.linspace(0.5, 1.5, max(prod(size), 1)).reshape(size)
    has_running = fitted.running or fitted.name == "BatchNorm"
    given: dict[str, Any] = {
        "num_groups": sizes.get("g"),
        "running_mean": ramp - 1 if has_running else None,
        "running_var": ramp if has_running else None,
        "momentum": 0.25 if has_running and not fitted.running else None,
        "dy": cells[::-1].copy() if is_backward else None,
        "training": not fitted.running if has_running else None,
    }
    gamma, beta = (ramp if fitted.scale else None), (ramp[::-1].copy() if fitted.shift else None)
    return Probe(x=cells, gamma=gamma, beta=beta, eps=1e-5, **given)


def _resize(sizes: dict[str, int], norm: Norm, known: dict[str, int], features: int) -> None:
    """As many features as are asked for, on the last axis of gamma that the norm leaves open."""
    axes = parse(norm.affine).axes if norm.affine else norm.kept[-1:]
    for axis in reversed(axes):
        if axis not in known:
            sizes[axis] = max(1, features // prod(sizes[other] for other in axes if other != axis))
            return
