"""Whether a backward pass is that of a wrong forward pass which is known: then there is one mistake, not two.

The gradients of a definition that may be wrong are taken by central differences of its own values, so that every
definition has them, whatever it is made of. Where cells of x are equal, or a row is constant, it may have a kink:
the probes are random, and no row is.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from .backward import Backward
from .bounds import UNIT, np_max
from .definition import Definition, evaluate
from .probes import Probe
from .questions import ABOVE, NEAR, WIDTHS

STEP = 2.0**-17
NEARLY = 1e-6  # of the largest gradient: what differences are good to
LEAVES = {"dx": "x", "dgamma": "gamma", "dbeta": "beta"}


def followed(backward: Backward, definitions: Sequence[Definition], level: str) -> Definition | None:
    """The first definition whose gradients the backward pass gives in a format; None where it gives those of none."""
    probes = [backward.with_eps(probe) for probe in _generic(backward, definitions[0])]
    answers = backward.implementation.run(probes)
    pairs = [(probe, answer) for probe, answer in zip(probes, answers, strict=True) if isinstance(answer, Mapping)]
    if len(pairs) < len(probes):
        return None
    return next((each for each in definitions if all(_gives(backward, each, level, *pair) for pair in pairs)), None)


def _generic(backward: Backward, definition: Definition) -> list[Probe]:
    """Rows of random numbers, no two alike, at the rank of the definition."""
    maker, rank = backward.maker, len(definition.norm.layout.dims)
    norm = next((each for each in maker.fitted if len(each.layout.dims) == rank), maker.fitted[0])
    at = maker.sizes(norm, WIDTHS[0])
    made = []
    for eps in (NEAR, ABOVE):
        x, dy = (maker.cast(maker.rng.normal(size=at.shape) * 2 + 0.5) for _ in range(2))
        made.append(maker.probe(at, x, eps).but(dy=dy))
    return made


def _gives(backward: Backward, definition: Definition, level: str, probe: Probe, answer: Mapping[str, Any]) -> bool:
    import numpy as np

    right, room = backward.right_of(probe)
    try:
        made = {name: differences(definition, probe, LEAVES[name]) for name in LEAVES if name in answer}
    except (ValueError, KeyError):
        return False
    for name, there in made.items():
        got = np.asarray(answer[name], np.float64)
        if got.shape != there.shape or not np.isfinite(there).all():
            return False
        largest = float(np_max(np.abs(there)))
        more = max(1.0, largest / max(float(np_max(np.abs(right[name]))), 1e-30))
        units = UNIT[level] * room[name] * more + UNIT[backward.dtype] * np.abs(there) + NEARLY * largest
        if np.any(~(np.abs(got - there) <= units)):
            return False
    return True


def differences(definition: Definition, probe: Probe, name: str) -> Any:
    """The gradient of sum(dy * y) by x, gamma or beta, by central differences.

    >>> import numpy as np, normscope as ns
    >>> from .definition import right
    >>> norm = ns.Norm("S [d]", affine="d")
    >>> probe = Probe(np.array([[1.0, 3.0]]), np.ones(2), np.zeros(2), 0.0, dy=np.array([[1.0, 2.0]]))
    >>> differences(right(norm), probe, "beta").round(6).tolist()
    [1.0, 2.0]
    """
    import numpy as np

    value = getattr(probe, name)
    if value is None:
        raise ValueError(f"the probe has no {name}")
    dy, start = np.asarray(probe.dy, np.float64), np.asarray(value, np.float64)
    made = np.empty(start.size)
    for at in range(start.size):
        there = []
        for step in (STEP, -STEP):
            moved = start.copy()
            moved.flat[at] += step
            there.append(float(np.sum(dy * evaluate(definition, probe.but(**{name: moved})).y)))
        made[at] = (there[0] - there[1]) / (2 * STEP)
    return made.reshape(start.shape)
