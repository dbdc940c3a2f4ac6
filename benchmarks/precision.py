"""The page "Precision" in real Chromium: a key step of a slider, a drag of it."""

import random
from collections.abc import Iterator
from statistics import median, quantiles
from typing import Any

from .browser import drag, lab, opened, press
from .table import Figure, truth

PRESSES = 200
SLIDERS = {"the mean": "#slide-mean", "the spread": "#slide-spread"}


def figures() -> Iterator[Figure]:
    with lab() as (browser, address):
        page = opened(browser, f"{address}/precision")
        for name, selector in SLIDERS.items():
            yield from steps(page, name, selector)
            done = drag(page, selector)
            yield Figure(f"drag of {name} at 60 a second: updates", done["rate"], "/s", 40, 55, more=True)
            yield truth(f"drag of {name}: last value right, focus kept", done["right"])


def steps(page: Any, name: str, selector: str) -> Iterator[Figure]:
    """From a key press on a slider to the changed page: every policy and every variance computed anew."""
    draw = random.Random(name)
    page.focus(selector)
    drawn = [press(page, draw.choice(["ArrowRight", "ArrowLeft"]))[0] for _ in range(PRESSES)]
    yield Figure(f"a step of the slider of {name}, key to DOM, median", median(drawn), "ms", 25, 16)
    yield Figure(f"a step of the slider of {name}, key to DOM, 95 of 100", quantiles(drawn, n=20)[-1], "ms", 45, 33)
