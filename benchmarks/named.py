"""The lesson "A named step" in real Chromium: a key step through its panels, 1000 decimals beyond the root."""

import random
from collections.abc import Iterator
from statistics import median, quantiles
from typing import Any

from .browser import lab, opened, press
from .table import Figure

WALKS = 10
OPENINGS = 12
DIGITS = 1000


def figures() -> Iterator[Figure]:
    with lab() as (browser, address):
        page = opened(browser, f"{address}/named")
        yield from walks(page, address)
        times = [opening(page, address, seed) for seed in range(OPENINGS)]
        yield Figure(f"{DIGITS} decimals of 8 cells, key to DOM, median", median(times), "ms", 100, 100)
        yield Figure(f"{DIGITS} decimals of 8 cells, key to DOM, slowest", max(times), "ms")


def vector(seed: int, length: int) -> str:
    draw = random.Random(seed)
    return ",".join(f"{draw.randint(-99, 99)}/{draw.randint(1, 99)}" for _ in range(length))


def walks(page: Any, address: str) -> Iterator[Figure]:
    """From panel to panel, forward and back: each walk with a vector that no cache has seen."""
    drawn = []
    for seed in range(WALKS):
        page.goto(f"{address}/named?v=1&x={vector(seed, 4)}&update=0,0,0,1/2")
        page.focus("#panel")
        drawn += [press(page, key)[0] for key in ["ArrowRight"] * 5 + ["ArrowLeft"] * 5]
    yield Figure("a step of the panels, key to DOM, median", median(drawn), "ms", 16.7, 16.7)
    yield Figure("a step of the panels, key to DOM, 95 of 100", quantiles(drawn, n=20)[-1], "ms", 45, 33)


def opening(page: Any, address: str, seed: int) -> float:
    """Milliseconds from Enter to the decimals, of a vector that no cache has seen."""
    page.goto(f"{address}/named?v=1&x={vector(seed, 8)}&update=0,0,0,0,0,0,0,1&panel=4&opened=1")
    page.fill("#set-digits", str(DIGITS))
    milliseconds = press(page, "Enter")[0]
    found = page.locator("#boundary code").first.text_content()
    assert len(found.partition(".")[2]) == DIGITS, found
    return milliseconds
