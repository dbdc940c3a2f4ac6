"""What tests ask a page under test; watch.js, which runs in it, has the answers."""

import time
from collections.abc import Callable

from playwright.sync_api import Page

from tests.browser import fake

PATIENCE = 20_000  # ms; on a good day an answer takes 10, beside other tests on every core much more


def settle(page: Page) -> None:
    """Wait until the script has no action left to send and no answer left to draw."""
    page.wait_for_function("() => watched.isQuiet()")


def state(page: Page) -> str:
    """The query of the state that is drawn."""
    return page.get_attribute("main", "data-query") or ""


def focus(page: Page) -> str:
    """What has the focus, in words."""
    return page.evaluate("() => watched.focus()")


def address_settles(page: Page) -> str:
    """The query in the address bar, once the script is quiet and has written it there."""
    settle(page)
    page.wait_for_function("() => location.search.slice(1) === document.querySelector('main').dataset.query")
    return state(page)


def eventually(question: Callable[[], object], expected: object) -> None:
    """Ask until the answer is the expected one."""
    end = time.monotonic() + PATIENCE / 1000
    while question() != expected and time.monotonic() < end:
        time.sleep(0.02)
    assert question() == expected


def assert_drawn(page: Page) -> None:
    """The fake page is what the fake draws for the state that the page says it is in."""
    settle(page)
    assert page.evaluate("html => watched.difference(html)", fake.respond("/fake", state(page))[2]) == ""


def values(page: Page, *ids: str) -> list[str]:
    """What some fields hold."""
    return [page.input_value(f"#{id}") for id in ids]
