"""The axes lab in real Chromium: sliders that move lanes, cards, table and the comparison of norms at once."""

from collections.abc import Iterator

from . import sliders
from .table import Figure

SLIDERS = {"x": "[id='slide-x.1.0']", "gamma": "[id='slide-gamma.0']"}
LIMITS = sliders.Limits(median=(16.7, 10), late=(33, 16.7), updates=(50, 58))


def figures() -> Iterator[Figure]:
    yield from sliders.figures("/axes", SLIDERS, LIMITS)
