"""The lesson "Inside LayerNorm" in real Chromium: a key step, a drag, a slow machine, the first view."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from tools import chromium

from .serving import served
from .table import Figure, truth

WATCH = (Path(__file__).parent / "watch.js").read_text()
WALKS = 8
PRESSES = 120
DRAG_SECONDS = 4
VIEWS = 5
SLIDER = "#cell input[type=range]"


def figures() -> Iterator[Figure]:
    with lab() as (browser, address):
        yield from first_view(browser, address)
        page = opened(browser, f"{address}/inside")
        yield from steps(page)
        yield from drags(page)
        yield from throttled(page)


@contextmanager
def lab() -> Iterator[tuple[Any, str]]:
    """A browser, and the address of a lab."""
    from playwright.sync_api import sync_playwright

    path = chromium.find()
    if path is None:
        raise SystemExit(f"no Chromium: {chromium.advice()}")
    with served() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=chromium.switches())
        yield browser, address
        browser.close()


def opened(browser: Any, address: str) -> Any:
    """A page that is measured."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.add_init_script(WATCH)
    page = context.new_page()
    page.goto(address)
    return page


def steps(page: Any) -> Iterator[Figure]:
    """From a key press to the drawn answer: the scrubber's whole walk and a cell's slider."""
    walk, slide = [], []
    page.focus("#step")
    for _ in range(WALKS):
        walk += [press(page, "ArrowRight") for _ in range(8)]
        walk += [press(page, "ArrowLeft") for _ in range(8)]
    page.locator(".stage td").first.click()
    page.focus(SLIDER)
    slide = [press(page, random.Random(i).choice(["ArrowRight", "ArrowLeft"])) for i in range(PRESSES)]
    for what, times in {"a step of the scrubber": walk, "a step of a cell's slider": slide}.items():
        drawn = [time for time, _ in times]
        yield Figure(f"{what}, key to DOM, median", median(drawn), "ms", 25, 16)
        yield Figure(f"{what}, key to DOM, 95 of 100", quantiles(drawn, n=20)[-1], "ms", 45, 33)
        yield Figure(f"{what}, key to next frame, median", median(framed for _, framed in times), "ms")


def press(page: Any, key: str) -> tuple[float, float]:
    """Milliseconds from a key press to the changed DOM, and to the frame after it."""
    page.wait_for_timeout(random.Random(key).uniform(5, 40))
    page.evaluate("watched.next()")
    page.keyboard.press(key)
    drawn, framed = page.evaluate("watched.answer")
    return drawn, framed


def drags(page: Any) -> Iterator[Figure]:
    for selector, what in {"#step": "the scrubber", SLIDER: "a cell's slider"}.items():
        yield from dragged(page, selector, f"drag of {what}", (40, 55), " at 60 a second")


def throttled(page: Any) -> Iterator[Figure]:
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": 4})
    yield from dragged(page, SLIDER, "the same with a quarter of the CPU", (12, 12))


def dragged(page: Any, selector: str, what: str, limits: tuple[float, float], pace: str = "") -> Iterator[Figure]:
    """How often the page followed a drag, floor and goal beside it, and whether it ended where it should."""
    done = drag(page, selector)
    yield Figure(f"{what}{pace}: updates", done["rate"], "/s", *limits, more=True)
    yield truth(f"{what}: last value right, focus kept", done["right"])


def drag(page: Any, selector: str) -> dict[str, Any]:
    """Move a range 60 times a second; how often the page followed, and whether it ended where it should."""
    page.focus(selector)
    done: dict[str, Any] = page.evaluate("arguments => watched.drag(...arguments)", [selector, DRAG_SECONDS])
    return done


def first_view(browser: Any, address: str) -> Iterator[Figure]:
    views = [view(browser, f"{address}/inside") for _ in range(VIEWS)]
    yield Figure("first view: all bytes over the wire", median(size for size, _ in views) / 1000, "kB", 150, 150)
    yield Figure("first view: painted and answering", median(usable for _, usable in views), "s", 0.5, 0.5)


def view(browser: Any, address: str) -> tuple[int, float]:
    """Bytes of all responses, headers included, and seconds until the page is painted and its script runs."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    sizes: list[int] = []
    network = context.new_cdp_session(page)
    network.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    network.send("Network.enable")
    page.goto(address, wait_until="networkidle")
    page.wait_for_function("() => performance.getEntriesByName('first-contentful-paint').length")
    usable = page.evaluate("""() => Math.max(
        performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd,
        performance.getEntriesByName('first-contentful-paint')[0].startTime)""")
    context.close()
    return sum(sizes), usable / 1000
