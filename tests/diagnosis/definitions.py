"""Wrong definitions drawn at random, written in plain NumPy: an oracle that shares no line with the hypotheses."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np

Function = Callable[..., Any]

RIGHT = {
    "over": "last",
    "center": "both",
    "count": "n",
    "divisor": "in",
    "factor": 1.0,
    "affine": ("g", "b"),
    "twice": False,
}
WRONG = {
    "over": {"all": "wrong-axes", "rest": "wrong-axes"},
    "center": {
        "neither": "rms-instead-of-layer-norm",
        "numerator": "variance-not-centered",
        "spread": "mean-not-subtracted",
    },
    "count": {"n-1": "correction-1", "1": "sum-not-mean"},
    "divisor": {
        "outside": "eps-outside-root",
        "none": "eps-missing",
        "variance": "root-missing",
        "std": "root-of-std",
        "both": "eps-inside-and-outside",
        "squared": "eps-squared",
        "floor": "eps-as-floor",
        "floor of std": "eps-as-floor-of-std",
        "xhat": "eps-added-to-xhat",
        "rescaled": "eps-after-rescale",
        "fixed": "eps-fixed",
        "doubled": "eps-twice",
        "over n": "eps-divided-by-n",
        "plus": "eps-plus-constant",
        "root": "eps-root-added",
        "bare variance": "root-and-eps-missing",
    },
    "factor": {
        "n": "scaled-by-n",
        "1/n": "scaled-by-1-over-n",
        "sqrt n": "scaled-by-root-n",
        -1.0: "sign-flipped",
        3.0: "scaled-by-constant",
        0.7: "scaled-by-constant",
    },
    "affine": {
        ("1", "0"): "affine-ignored",
        ("b", "g"): "gamma-beta-swapped",
        ("g0", "b0"): "affine-scalar",
        ("1+g", "b"): "gamma-plus-one",
        ("g", "gb"): "shift-inside-scale",
        ("g", "0"): "shift-missing",
        ("1", "b"): "scale-missing",
        ("g*g", "b"): "scale-twice",
        ("g", "-b"): "shift-subtracted",
        ("|g|", "b"): "scale-absolute",
        ("g reversed", "b reversed"): "affine-reversed",
        ("1/g", "b"): "scale-divides",
    },
    "twice": {True: "normalized-twice"},
}


def drawn(rng: random.Random, mistakes: int) -> tuple[dict[str, Any], float]:
    """So many fields with a wrong value each, and a foreign eps."""
    fields = rng.sample(sorted(WRONG), mistakes)
    return RIGHT | {name: rng.choice(list(WRONG[name])) for name in fields}, 10 ** rng.uniform(-4, -1)


def ids(definition: dict[str, Any]) -> set[str]:
    """What a right diagnosis names."""
    return {WRONG[name][value] for name, value in definition.items() if value != RIGHT[name]}


def written(definition: dict[str, Any], foreign: float) -> Function:
    """The definition as a function of NumPy arrays."""

    def core(x, eps):
        at = {"last": (-1,), "all": tuple(range(x.ndim)), "rest": tuple(range(x.ndim - 1))}[definition["over"]]
        n = np.prod([x.shape[axis] for axis in at])
        c = x - x.mean(axis=at, keepdims=True)
        top = c if definition["center"] in ("both", "numerator") else x
        of = c if definition["center"] in ("both", "spread") else x
        v = (of * of).sum(axis=at, keepdims=True) / {"n": n, "n-1": n - 1, "1": 1}[definition["count"]]
        most = np.abs(x).max(axis=at, keepdims=True)
        factor = {"n": n, "1/n": 1 / n, "sqrt n": n**0.5}.get(definition["factor"], definition["factor"])
        return top / divisor(v, most, n, eps) * factor + (eps if definition["divisor"] == "xhat" else 0)

    def divisor(v, most, n, eps):
        s = np.sqrt(v)
        return {
            "in": lambda: np.sqrt(v + eps),
            "outside": lambda: s + eps,
            "none": lambda: s,
            "variance": lambda: v + eps,
            "std": lambda: np.sqrt(s + eps),
            "both": lambda: np.sqrt(v + eps) + eps,
            "squared": lambda: np.sqrt(v + eps**2),
            "floor": lambda: np.sqrt(np.maximum(v, eps)),
            "floor of std": lambda: np.maximum(s, eps),
            "xhat": lambda: s,
            "rescaled": lambda: most * np.sqrt(v / most**2 + eps),
            "fixed": lambda: np.sqrt(v + foreign),
            "doubled": lambda: np.sqrt(v + 2 * eps),
            "over n": lambda: np.sqrt(v + eps / n),
            "plus": lambda: np.sqrt(v + eps + foreign),
            "root": lambda: s + np.sqrt(eps),
            "bare variance": lambda: v,
        }[definition["divisor"]]()

    def layer_norm(x, gamma, beta, eps):
        z = core(x, eps)
        z = core(z, eps) if definition["twice"] else z
        g, b = gamma, beta
        named = {
            "g": g,
            "b": b,
            "1": 1,
            "0": 0,
            "g0": g[0],
            "b0": b[0],
            "1+g": 1 + g,
            "gb": g * b,
            "g*g": g * g,
            "-b": -b,
            "|g|": abs(g),
            "g reversed": g[::-1],
            "b reversed": b[::-1],
            "1/g": 1 / g,
        }
        scale, shift = definition["affine"]
        return z * named[scale] + named[shift]

    return layer_norm
