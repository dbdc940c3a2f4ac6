"""What is right to forty digits: the norm's own program in decimals, for what is said of a kernel's last digits.

The float64 values that a function is judged by are themselves rounded: on a row whose mean is large beside its
deviation they are off by millions of units in the last place, and so would be the error of a better kernel.
"""

from dataclasses import replace
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Any

from ..steps import forward, output
from ..views import cells
from .definition import Definition, Values, full_shape, sizes_of
from .probes import Probe

DIGITS = 50  # some are lost where a mean is subtracted
MOST = 512  # cells, which take about 5 ms
CONTEXT = Context(prec=DIGITS, traps=[])  # 1/0 is infinity, as it is for floats
STOPS = "measured against a float64 reference, which is rounded itself"


def _decimal(value: Any) -> Decimal:
    """A float or a fraction, exactly or to 50 digits."""
    if isinstance(value, Fraction):
        return Decimal(value.numerator) / value.denominator
    return Decimal(float(value))


DECIMALS = cells.Numbers(
    _decimal,
    lambda values: sum(values, Decimal(0)),
    lambda values, count: sum(values, Decimal(0)) / count,
    Decimal.sqrt,
    lambda value: 1 / value,
)


def is_small(probe: Probe) -> bool:
    """Whether a probe has few enough cells for decimals."""
    return bool(probe.x.size <= MOST)


def errors(base: Definition, probe: Probe, y: Any) -> Any:
    """How far every cell of y is from the right one, in the shape of x.

    >>> import numpy as np, normscope as ns
    >>> from .definition import right
    >>> base = right(ns.Norm("[d]", eps=0))
    >>> probe = Probe(np.array([2.0**27, 2.0**27 + 1]), eps=0.0)
    >>> errors(base, probe, np.array([-1.0, 1 + 2.0**-52])).tolist()
    [0.0, 2.220446049250313e-16]
    """
    import numpy as np

    norm, program = base.norm, forward(base.norm)
    sizes = sizes_of(norm, probe)
    neutral = {"gamma": 1.0, "beta": 0.0}
    given: dict[str, Any] = {"x": np.reshape(probe.x, full_shape(norm, probe)), "eps": probe.eps or 0.0}
    for name in ("gamma", "beta", "running_mean", "running_var"):
        value = getattr(probe, name)
        is_used = value is not None and getattr(base, {"gamma": "scale", "beta": "shift"}.get(name, ""), name) == name
        given[name] = value if is_used else np.full(norm.param_shape(sizes), neutral.get(name, 0.0))
    named = {name: np.asarray(given[name], np.float64).tolist() for name, _ in program.inputs}
    with localcontext(CONTEXT):
        right = cells.evaluate(program, sizes, named, DECIMALS)[output(program)]
        wide = program.shape(program.axes, sizes)
        there = cells.spread(right, wide, DECIMALS)
        apart = [float(Decimal(float(cell)) - value) for cell, value in zip(np.ravel(y), there, strict=True)]
    return np.reshape(np.array(apart), probe.x.shape)


def exact(base: Definition, probe: Probe, values: Values) -> Values:
    """The values with y as near the right one as float64 comes."""
    return replace(values, y=values.y - errors(base, probe, values.y))
