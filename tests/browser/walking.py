"""A person who does anything in any order, and what must hold after each thing done."""

import random
from collections.abc import Callable, Mapping
from urllib.parse import unquote, urlsplit

from playwright.sync_api import Locator, Page

from normscope.lessons.site import respond
from tests.browser.watching import address_settles, focus, settle, state


class Person:
    """Someone who tries everything in a lesson, by a seed; each lesson has its own `actions`.

    An action gives False where the focus may be anywhere after it.
    """

    def __init__(self, page: Page, seed: int) -> None:
        self.page = page
        self.draw = random.Random(seed)
        self.done: list[str] = []

    def actions(self) -> Mapping[Callable[[], object], int]:
        """What is done, and how often beside the rest."""
        raise NotImplementedError

    def act(self) -> bool:
        """Do something; True if the focus must be where it was put."""
        actions = self.actions()
        action = self.draw.choices(list(actions), list(actions.values()))[0]
        self.done.append(action.__name__)
        return action() is not False

    def pick(self, selector: str) -> Locator:
        found = self.page.locator(selector)
        return found.nth(self.draw.randrange(found.count()))

    def keys(self, *keys: str, most: int = 6) -> None:
        for _ in range(self.draw.randint(1, most)):
            self.page.keyboard.press(self.draw.choice(keys))

    def number(self) -> str:
        return f"{self.draw.uniform(-6, 6):.3g}"

    def fill(self, selector: str, text: str) -> None:
        field = self.pick(selector)
        field.fill(text)
        field.press("Enter")

    def edit(self, selector: str) -> None:
        """Type a number into a cell of a grid."""
        self.pick(selector).click()
        for keys in ("Enter", *self.number(), "Enter"):
            self.page.keyboard.press(keys)

    def option(self, selector: str) -> None:
        chooser = self.pick(selector)
        chooser.focus()
        chooser.select_option(index=self.draw.randrange(chooser.locator("option").count()))

    def go_back(self) -> bool:
        address_settles(self.page)
        self.page.evaluate(f"history.{self.draw.choice(['back', 'back', 'forward'])}()")
        self.page.wait_for_timeout(60)
        if self.page.url == "about:blank":
            self.page.go_forward()
        return False


def walk(person: Person, states: int, holds: Callable[[Page], None] = lambda page: None) -> None:
    """Act until so many states were seen; each time the page is what `respond` draws, and the focus is kept.

    holds  what else must be so
    """
    page, seen = person.page, set[str]()
    while len(seen) < states:
        keeps_focus = person.act()
        settle(page)
        query = state(page)
        seen.add(query)
        told = f"{person.done[-3:]} led to {unquote(query)}"
        drawn = respond(urlsplit(page.url).path, query)[2]
        assert page.evaluate("html => watched.difference(html)", drawn) == "", told
        assert not keeps_focus or focus(page) != "nothing", told
        holds(page)
