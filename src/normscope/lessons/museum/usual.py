"""Tests that people write, run on both sides of an exhibit: which of them let the mistake through."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from math import isfinite, sqrt
from random import Random
from typing import NamedTuple

from .catalogue import EXHIBITS
from .outcome import Outcome, sides
from .side import Given, Rows
from .slips import Exhibit

EPS = 1e-5
CLOSE, LOOSE, MOMENTS = 1e-4, 1e-2, 0.05


class Usual(NamedTuple):
    """A test: what it does, its input for an exhibit, and whether an outcome passes it."""

    about: str
    given: Callable[[Exhibit], Given]
    passes: Callable[[Outcome], bool]


class Finding(NamedTuple):
    """A test, and whether it lets the mistake through; None: the input cannot be run at all, which is loud."""

    about: str
    passes: bool | None


def _table(rows: int, columns: int, seed: int = 1) -> Rows:
    draw = Random(seed)
    return [[draw.gauss(0, 1) for _ in range(columns)] for _ in range(rows)]


def _given(exhibit: Exhibit, rows: int, columns: int, is_fresh: bool) -> Given:
    draw = Random(2)
    scale = [1.0] * columns if is_fresh else [draw.uniform(0.5, 1.5) for _ in range(columns)]
    shift = [0.0] * columns if is_fresh else [draw.uniform(-1, 1) for _ in range(columns)]
    dy = [[1.0] * columns] * rows if is_fresh else _table(rows, columns, 3)
    values = {"x": _table(rows, columns), "gamma": scale, "beta": shift, "eps": EPS, "dy": dy, "momentum": 0.1}
    return {name: values[name] for name in exhibit.given}


def _width(exhibit: Exhibit) -> int:
    return next(width for width in (8, 6) if not exhibit.fits(8, width))


def _fresh(exhibit: Exhibit) -> Given:
    return _given(exhibit, 8, _width(exhibit), True)


def _wide(exhibit: Exhibit) -> Given:
    return _given(exhibit, *((256, 4) if "momentum" in exhibit.given else (4, 256)), False)


def _wide_fresh(exhibit: Exhibit) -> Given:
    return _given(exhibit, 4, 256, True)


def _close(made: Outcome, near: float = CLOSE) -> bool:
    pairs = (pair for a, b in zip(made.right, made.wrong, strict=True) for pair in zip(a, b, strict=True))
    return all(abs(a - b) <= near * (0.1 + abs(a)) for a, b in pairs)


def _finite(made: Outcome) -> bool:
    return all(isfinite(cell) for row in made.wrong for cell in row)


def _moments(made: Outcome) -> bool:
    cells = [cell for row in made.wrong for cell in row]
    mean = sum(cells) / len(cells)
    std = sqrt(sum((cell - mean) ** 2 for cell in cells) / len(cells))
    return abs(mean) < MOMENTS and abs(std - 1) < MOMENTS


FINITE = Usual("y has its shape and holds no NaN", _fresh, _finite)
FORWARD = (
    FINITE,
    Usual("allclose to 1e-4 on a fresh layer: gamma = 1, beta = 0, ordinary rows of 8, eps 1e-5", _fresh, _close),
    Usual("mean and std of all of y within 0.05 of 0 and 1, on a fresh layer, 4 rows of 256", _wide_fresh, _moments),
    Usual("allclose to 1 %, gamma and beta as trained, 4 rows of 256", _wide, lambda made: _close(made, LOOSE)),
)
BACKWARD = (
    FINITE._replace(about="dx has its shape and holds no NaN"),
    Usual("y.sum() as the loss on a fresh layer, so dy = 1: dx agrees to 1e-4", _fresh, _close),
    Usual("random dy, gamma as trained, 4 rows of 256: dx agrees to 1 %", _wide, lambda made: _close(made, LOOSE)),
)
RUNNING = (
    FINITE._replace(about="the running statistics have their shape and hold no NaN"),
    Usual("one batch of 256 rows, momentum 0.1: agreement to 1 %", _wide, lambda made: _close(made, LOOSE)),
)


BECAUSE: Mapping[str, str] = {
    "axes": "Ordinary rows have a mean near 0 and a standard deviation near 1 whichever way they are cut.",
    "variance": "A variance near 1 is near its root, its square and, over many features, its sum over n − 1.",
    "eps": "With eps 1e-5 and a variance near 1, whatever is done to eps moves y by a few millionths.",
    "affine": "A fresh layer has gamma = 1 and beta = 0, and with these nearly every affine is the same.",
    "block": "A width that is even, or a power of two, has no padded lane, no rest and no chunk of another length.",
    "numerics": "Ordinary rows need few digits; constant rows, large means and large values need all of them.",
    "backward": "With y.sum() as the loss dy is 1 everywhere, and most terms vanish.",
    "running": "Few tests read the running statistics; a shape tells no weights, and over many rows n − 1 is near n.",
}


def because(exhibit: Exhibit) -> str:
    """Why they are passed: by what the exhibit computes."""
    return BECAUSE["running" if exhibit.instrument == "running" else exhibit.kind]


def usual_of(exhibit: Exhibit) -> tuple[Usual, ...]:
    """The tests that people write for this kind of function."""
    return {"dx": BACKWARD, "y": FORWARD}.get(exhibit.right.output, RUNNING)


@lru_cache(maxsize=128)
def findings(id: str) -> tuple[Finding, ...]:
    """Every usual test of an exhibit, run now."""
    exhibit = EXHIBITS[id]
    return tuple(_found(exhibit, test) for test in usual_of(exhibit))


def _found(exhibit: Exhibit, test: Usual) -> Finding:
    given = test.given(exhibit)
    if exhibit.fits(len(given["x"]), len(given["x"][0])):
        return Finding(test.about, None)
    return Finding(test.about, test.passes(Outcome(*sides(exhibit, given), None, None)))
