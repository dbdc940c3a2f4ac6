"""A row of numbers with a mean and a spread that a person sets: the same one whenever it is asked for."""

import math
from functools import lru_cache
from random import Random

from .state import State

DIGITS = 3  # of a number, behind the leading one of the spread: fractions stay small
FAR = 20.0  # how far an outlier lies from the rest, in their spreads

Row = tuple[float, ...]


def row_of(state: State) -> Row:
    """x of a state.

    >>> row_of(State(mean=40001.5, spread=math.sqrt(5) / 2, d=4, shape="even"))
    (40000.0, 40001.0, 40002.0, 40003.0)
    """
    return placed(shape(state.shape, state.seed, state.d), state.mean, state.spread)


def placed(unit: Row, mean: float, spread: float) -> Row:
    """A row of mean 0 and spread 1, put at a mean and stretched; its numbers have few digits."""
    if not spread:
        return (mean,) * len(unit)
    digits = DIGITS - math.floor(math.log10(spread))
    return tuple(round(mean + spread * value, digits) + 0.0 for value in unit)


@lru_cache(maxsize=64)
def shape(kind: str, seed: int, d: int) -> Row:
    """d numbers of mean 0 and population spread 1: evenly spaced, or seeded, with one far off or without."""
    if kind == "even":
        raw = [float(at) for at in range(d)]
    else:
        draw = Random(f"precision:{seed}")
        raw = [draw.gauss(0, 1) for _ in range(d)]
    if kind == "outlier":
        raw[d // 2] = FAR
    mean = math.fsum(raw) / d
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in raw) / d)
    return tuple((value - mean) / spread for value in raw)


@lru_cache(maxsize=64)
def parameters(affine: str, norm: str, seed: int, d: int) -> tuple[Row | None, Row | None]:
    """gamma around 1 and beta around 0 by the seed, as far as the norm has them."""
    if affine == "none":
        return None, None
    draw = Random(f"precision:{seed}:parameters")
    gamma, beta = (tuple(round(draw.gauss(middle, 0.3), 2) + 0.0 for _ in range(d)) for middle in (1, 0))
    return gamma, beta if norm == "layer_norm" else None
