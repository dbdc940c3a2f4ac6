"""How gamma and beta enter: the factor and the summand of xhat, as the right layer has them and otherwise."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..norm import Norm
from .probes import Probe


@dataclass(frozen=True)
class Form:
    """A factor or a summand made of gamma and beta.

    text  as it stands in a formula
    make  from gamma and beta, each as it is lined up with x
    lay   how they are lined up: "own" axes, "first" entry for all, their "mean", "reversed", one a "group",
          or along the axis "before" the own one, or along the first axis
    """

    text: str
    make: Callable[[Any, Any], Any]
    lay: str = "own"

    def value(self, norm: Norm, probe: Probe, sizes: Mapping[str, int]) -> Any:
        """The factor or summand for a probe; ValueError where it cannot be lined up."""
        gamma, beta = (_lined_up(value, self.lay, norm, sizes) for value in (probe.gamma, probe.beta))
        return self.make(gamma, beta)


def _lined_up(value: Any, lay: str, norm: Norm, sizes: Mapping[str, int]) -> Any:
    import numpy as np

    if value is None:
        return np.float64("nan")
    cells = np.asarray(value, np.float64)
    if lay in ("first", "last", "mean"):
        return {"first": cells.flat[0], "last": cells.flat[-1], "mean": cells.mean()}[lay]
    if lay == "group":
        return cells.ravel()[: sizes["g"]].reshape([sizes["g"] if axis == "g" else 1 for axis in norm.axes])
    if lay == "reversed":
        cells = cells.ravel()[::-1].reshape(cells.shape)
    axes = norm.param_axes
    if lay in ("before", "leading"):
        rest = [axis for axis in norm.axes if axis not in axes]
        axis = (rest[-1] if lay == "before" else rest[0]) if rest else ""
        if not axis or sizes[axis] != cells.size:
            raise ValueError("gamma does not fit there")
        axes = (axis,)
    return cells.reshape([sizes[axis] if axis in axes else 1 for axis in norm.axes])


SCALES: Mapping[str, Form] = {
    "gamma": Form("gamma", lambda g, b: g),
    "1": Form("", lambda g, b: 1.0),
    "1 + gamma": Form("(1 + gamma)", lambda g, b: 1 + g),
    "gamma - 1": Form("(gamma - 1)", lambda g, b: g - 1),
    "beta": Form("beta", lambda g, b: b),
    "1 + beta": Form("(1 + beta)", lambda g, b: 1 + b),
    "gamma[0]": Form("gamma[0]", lambda g, b: g, "first"),
    "gamma[-1]": Form("gamma[-1]", lambda g, b: g, "last"),
    "mean gamma": Form("mean(gamma)", lambda g, b: g, "mean"),
    "gamma reversed": Form("gamma[::-1]", lambda g, b: g, "reversed"),
    "gamma per group": Form("gamma[group]", lambda g, b: g, "group"),
    "gamma along positions": Form("gamma[position]", lambda g, b: g, "before"),
    "gamma along the first axis": Form("gamma[first axis]", lambda g, b: g, "leading"),
    "gamma^2": Form("gamma^2", lambda g, b: g * g),
    "1/gamma": Form("/ gamma", lambda g, b: 1 / g),
    "|gamma|": Form("|gamma|", lambda g, b: abs(g)),
    "sqrt(gamma)": Form("sqrt(gamma)", lambda g, b: abs(g) ** 0.5 + 0 * (g**0.5)),
    "exp(gamma)": Form("exp(gamma)", lambda g, b: _exp(g)),
    "gamma + beta": Form("(gamma + beta)", lambda g, b: g + b),
    "gamma beta": Form("gamma * beta", lambda g, b: g * b),
}
SHIFTS: Mapping[str, Form] = {
    "beta": Form("+ beta", lambda g, b: b),
    "0": Form("", lambda g, b: 0.0),
    "-beta": Form("- beta", lambda g, b: -b),
    "gamma": Form("+ gamma", lambda g, b: g),
    "-gamma": Form("- gamma", lambda g, b: -g),
    "gamma beta": Form("+ gamma * beta", lambda g, b: g * b),
    "1 + beta": Form("+ 1 + beta", lambda g, b: 1 + b),
    "beta - 1": Form("+ beta - 1", lambda g, b: b - 1),
    "2 beta": Form("+ 2 * beta", lambda g, b: 2 * b),
    "beta/2": Form("+ beta / 2", lambda g, b: b / 2),
    "beta^2": Form("+ beta^2", lambda g, b: b * b),
    "gamma beta + beta": Form("+ gamma * beta + beta", lambda g, b: g * b + b),
    "(1 + gamma) beta": Form("+ (1 + gamma) * beta", lambda g, b: (1 + g) * b),
    "gamma + beta": Form("+ gamma + beta", lambda g, b: g + b),
    "beta[0]": Form("+ beta[0]", lambda g, b: b, "first"),
    "beta[-1]": Form("+ beta[-1]", lambda g, b: b, "last"),
    "mean beta": Form("+ mean(beta)", lambda g, b: b, "mean"),
    "beta reversed": Form("+ beta[::-1]", lambda g, b: b, "reversed"),
    "beta per group": Form("+ beta[group]", lambda g, b: b, "group"),
    "beta along positions": Form("+ beta[position]", lambda g, b: b, "before"),
    "beta along the first axis": Form("+ beta[first axis]", lambda g, b: b, "leading"),
    "gamma[0] along": Form("+ gamma[0]", lambda g, b: g, "first"),
}


def _exp(value: Any) -> Any:
    import numpy as np

    return np.exp(value)
