"""Values as JSON that every reader accepts: strict, ASCII, floats in full precision."""

import json
import math
from typing import Any


def dumps(value: Any) -> str:
    """`value` on one line of JSON; arrays are nested by shape, NaN and infinities are strings.

    A float is the shortest text that reads back as the same float64; one that came from a float32 array
    reads back as the same float32 as well. Whatever has `tolist` (a NumPy array or number) is taken.

    >>> dumps({"x": [1.5, float("nan")], "eps": 1e-05})
    '{"x": [1.5, "NaN"], "eps": 1e-05}'

    Raises TypeError for a value that JSON has no form for.
    """
    try:
        return json.dumps(value, allow_nan=False, default=_nested)
    except ValueError:  # a number that JSON lacks: spell it, which is slower
        return json.dumps(spelled(value), allow_nan=False)


def spelled(value: Any) -> Any:
    """`value` with NaN and infinities as the strings "NaN", "Infinity" and "-Infinity".

    >>> spelled([0.5, (float("-inf"),)])
    [0.5, ['-Infinity']]
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else _name(value)
    if isinstance(value, dict):
        return {key: spelled(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [spelled(item) for item in value]
    return spelled(value.tolist()) if hasattr(value, "tolist") else value


def _name(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _nested(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} has no form in JSON; give numbers, text, lists, arrays or mappings.")
