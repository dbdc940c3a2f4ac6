"""The axes lab in real Chromium: a key step of a slider, a drag of it."""

import random
from collections.abc import Iterator
from statistics import median, quantiles
from typing import Any

from .browser import drag, lab, opened, press
from .table import Figure, truth

PRESSES = 200
SLIDERS = {"x": "[id='slide-x.1.0']", "gamma": "[id='slide-gamma.0']"}


def figures() -> Iterator[Figure]:
    with lab() as (browser, address):
        page = opened(browser, f"{address}/axes")
        for name, selector in SLIDERS.items():
            yield from steps(page, name, selector)
            yield from drags(page, name, selector)


def steps(page: Any, name: str, selector: str) -> Iterator[Figure]:
    """From a key press on a slider to the changed page."""
    draw = random.Random(name)
    page.focus(selector)
    drawn = [press(page, draw.choice(["ArrowRight", "ArrowLeft"]))[0] for _ in range(PRESSES)]
    yield Figure(f"a step of the slider of {name}, key to DOM, median", median(drawn), "ms", 16.7, 10)
    yield Figure(f"a step of the slider of {name}, key to DOM, 95 of 100", quantiles(drawn, n=20)[-1], "ms", 33, 16.7)


def drags(page: Any, name: str, selector: str) -> Iterator[Figure]:
    done = drag(page, selector)
    yield Figure(f"drag of {name} at 60 a second: updates", done["rate"], "/s", 50, 58, more=True)
    yield truth(f"drag of {name}: last value right, focus kept", done["right"])
