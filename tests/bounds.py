"""How far two right answers may lie apart, in ulps of a row's scale."""

from typing import Any

import numpy as np

from normscope import Trace


def row_scale(trace: Trace) -> Any:
    """The size of what every cell of y is made of, of the program's full rank.

    A sum rounds at the size of the row's largest |x|, which r and gamma (plus its offset)
    carry to y: so an ulp of that is the unit of error of any summation order, however small y itself is.
    """
    at = tuple(trace.program.axes.index(axis) for axis in trace.norm.over)
    inputs = {name: np.abs(np.asarray(value)) for name, value in trace.inputs.items()}
    largest = np.max(inputs["x"], axis=at, keepdims=True) + inputs.get("running_mean", 0)
    factor = np.abs(np.asarray(trace["gain"])) if trace.norm.offset else inputs.get("gamma", 1)
    return (1 + largest * np.abs(np.asarray(trace["r"]))) * factor + inputs.get("beta", 0)


def ulps_apart(trace: Trace, other: Any) -> float:
    """The largest distance of y to another y of the same cells, in ulps of the row's scale."""
    y = np.asarray(trace["y"])
    error = np.abs(y - np.reshape(np.asarray(other), y.shape))
    return float(np.max(error / (np.finfo(y.dtype).eps * row_scale(trace)), initial=0))
