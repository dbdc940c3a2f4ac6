"""The page "Precision" in real Chromium: sliders after which every policy and every variance is computed anew."""

from collections.abc import Iterator

from . import sliders
from .table import Figure

SLIDERS = {"the mean": "#slide-mean", "the spread": "#slide-spread"}
LIMITS = sliders.Limits(median=(25, 16), late=(45, 33), updates=(40, 55))


def figures() -> Iterator[Figure]:
    yield from sliders.figures("/precision", SLIDERS, LIMITS)
