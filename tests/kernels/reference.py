"""What a norm of rows is, in exact fractions and in long double, and how far from it a kernel may be.

The formulas are written here as they stand in the papers, over whole arrays; NumPy applies them to fractions
(arrays of objects) as it does to numbers.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any

import ml_dtypes
import numpy as np

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOAT16, FLOAT32, FLOAT64 = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)
DTYPES = {"float32": FLOAT32, "float64": FLOAT64, "float16": FLOAT16, "bfloat16": BFLOAT16}
EPS = 1e-5
OF_SPREAD = {FLOAT32: 2e-6, FLOAT64: 1e-14}  # the error that a row's spread may bring, as a share of it


@dataclass(frozen=True)
class Right:
    """The right values of rows (n, d) in numbers that are wider than the kernel's.

    y = gamma * xhat + beta; r (n, 1) is 1 / sqrt(variance + eps); spread (n, 1) is that of xhat, at most 1
    """

    y: Any
    xhat: Any
    r: Any
    spread: Any
    scaled: Any
    beta: Any


def exact(x: Any, gamma: Any = None, beta: Any = None, eps: float = EPS, *, center: bool = True) -> Right:
    """The norm of finite rows in fractions; only the root is rounded, to 40 digits and more."""
    return _right(fractions(x), _or(fractions(gamma), 1), _or(fractions(beta), 0), Fraction(eps), _root, center)


def wide(x: Any, gamma: Any = None, beta: Any = None, eps: float = EPS, *, center: bool = True) -> Right:
    """The norm of rows in long double."""
    eps = np.longdouble(eps)
    return _right(_long(x), _or(_long(gamma), np.longdouble(1)), _or(_long(beta), np.longdouble(0)), eps, _r, center)


def _right(x: Any, gamma: Any, beta: Any, eps: Any, reciprocal_root: Any, center: bool) -> Right:
    count = x.shape[-1]
    c = x
    if center:
        c = c - c.sum(axis=-1, keepdims=True) / count
        c = c - c.sum(axis=-1, keepdims=True) / count  # what rounding has left of it; nothing in fractions
    variance = (c * c).sum(axis=-1, keepdims=True) / count
    r = reciprocal_root(variance + eps)
    spread = np.sqrt(variance.astype(np.longdouble)) * r.astype(np.longdouble)
    xhat = c * r
    return Right(xhat * gamma + beta, xhat, r, spread, xhat * gamma, beta)


@np.vectorize(otypes=[object])
def _root(value: Fraction) -> Fraction:
    """1 / sqrt(value), to 128 bits and more."""
    digits = 256 + abs(value.numerator.bit_length() - value.denominator.bit_length())
    return Fraction(isqrt((value.denominator << 2 * digits) // value.numerator), 1 << digits)


def _r(value: Any) -> Any:
    return 1 / np.sqrt(value)


def fractions(values: Any) -> Any:
    """An array of the same numbers as fractions."""
    if values is None:
        return None
    values = np.asarray(values)
    made = np.empty(values.shape, object)
    made.flat = [Fraction(float(value)) for value in values.ravel()]
    return made


def _long(values: Any) -> Any:
    return None if values is None else np.asarray(values).astype(np.float64).astype(np.longdouble)


def _or(values: Any, otherwise: Any) -> Any:
    return otherwise if values is None else values


def ulp(values: Any, dtype: Any) -> Any:
    """The distance of the numbers of a dtype at values, in float64."""
    near = np.abs(np.minimum(np.abs(np.asarray(values).astype(np.float64)), float(ml_dtypes.finfo(dtype).max)))
    info = ml_dtypes.finfo(dtype)
    exponent = np.where(near == 0, info.minexp, np.maximum(np.frexp(near)[1] - 1, info.minexp))
    return np.ldexp(1.0, exponent - info.nmant)


def bound(right: Right, gamma: Any, dtype: Any) -> Any:
    """What the error of y may be in float32 or float64: a share of the row's spread, and two ulps."""
    largest = np.maximum(np.maximum(_plain(right.scaled), _plain(right.beta)), _plain(right.y))
    size = 1 if gamma is None else _plain(gamma)
    return OF_SPREAD[dtype] * _plain(right.spread) * size + 2 * ulp(largest, dtype)


def _plain(values: Any) -> Any:
    return np.abs(np.asarray(values).astype(np.float64))


def worst(y: Any, right: Right, gamma: Any = None) -> float:
    """The largest error of y in float32 or float64, as a share of what it may be: at most 1."""
    assert np.isfinite(y).all()
    wide_y = fractions(y) if right.y.dtype == object else _long(y)
    return float(np.max(_plain(wide_y - right.y) / bound(right, gamma, y.dtype), initial=0))


def rounded(right: Right, dtype: Any) -> Any:
    """The right y, each cell rounded once: found among the numbers of a narrow dtype that lie about it."""
    near = np.asarray(right.y).astype(np.float64)
    place = ulp(near, dtype)
    return (np.rint(near / place) * place).astype(np.float64)


def worst_narrow(y: Any, right: Right, gamma: Any = None) -> float:
    """The same in 16 bits: an ulp of the rightly rounded value, and float32's error where beta cancels."""
    assert np.isfinite(y.astype(np.float32)).all()
    best = rounded(right, y.dtype)
    cancels = _plain(right.y) < _plain(right.scaled) / 2
    allowed = ulp(best, y.dtype) + np.where(cancels, bound(right, gamma, FLOAT32), 0)
    return float(np.max(np.abs(y.astype(np.float64) - best) / allowed, initial=0))


def assert_near(y: Any, right: Right, gamma: Any = None, *, note: Any = "") -> None:
    """y is within the bound of its dtype."""
    share = worst(y, right, gamma) if y.dtype in OF_SPREAD else worst_narrow(y, right, gamma)
    assert share <= 1, f"{note}: the error is {share:.3g} of what it may be"
