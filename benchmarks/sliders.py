"""The sliders of a page in real Chromium: a key step, a drag."""

import random
from collections.abc import Iterator, Mapping
from statistics import median, quantiles
from typing import Any, NamedTuple

from .browser import dragged, lab, opened, press
from .table import Figure

PRESSES = 200


class Limits(NamedTuple):
    """Floor and goal: of the median and of 95 of 100 key steps in milliseconds, of updates a second under a drag."""

    median: tuple[float, float]
    late: tuple[float, float]
    updates: tuple[float, float]


def figures(path: str, sliders: Mapping[str, str], limits: Limits) -> Iterator[Figure]:
    """Every slider of a page, a selector by what it is called."""
    with lab() as (browser, address):
        page = opened(browser, address + path)
        for name, selector in sliders.items():
            yield from steps(page, name, selector, limits)
            yield from dragged(page, selector, f"drag of {name}", limits.updates, " at 60 a second")


def steps(page: Any, name: str, selector: str, limits: Limits) -> Iterator[Figure]:
    """From a key press on a slider to the changed page."""
    draw = random.Random(name)
    page.focus(selector)
    drawn = [press(page, draw.choice(["ArrowRight", "ArrowLeft"]))[0] for _ in range(PRESSES)]
    what = f"a step of the slider of {name}, key to DOM"
    yield Figure(f"{what}, median", median(drawn), "ms", *limits.median)
    yield Figure(f"{what}, 95 of 100", quantiles(drawn, n=20)[-1], "ms", *limits.late)
