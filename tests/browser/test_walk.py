"""Whatever a person does, in whatever order: the page is what `respond` draws for its state, and focus is kept."""

import random
from urllib.parse import unquote

import pytest

from normscope.lessons.site import respond
from tests.browser.watching import address_settles, focus, settle, state

STATES = 204  # different ones, over all walks
SOURCES = ("symbolic", "minilm", "llama-3-8b")
SEEDS = (1, 2)


class Person:
    """Someone who tries everything, by a seed."""

    def __init__(self, page, seed):
        self.page = page
        self.draw = random.Random(seed)
        self.done = []

    def act(self):
        """Do something; True if focus must be where it was put."""
        actions = {
            self.scrub: 6, self.drag: 4, self.type_exactly: 4, self.click_cell: 6, self.walk_cells: 6,
            self.edit_cell: 5, self.escape_edit: 1, self.press_button: 5, self.choose: 4, self.resize: 1,
            self.refuse: 1, self.go_back: 3, self.reload: 1, self.let_go: 1, self.hover: 2,
        }  # fmt: skip
        action = self.draw.choices(list(actions), list(actions.values()))[0]
        self.done.append(action.__name__)
        return action()

    def pick(self, selector):
        found = self.page.locator(selector)
        count = found.count()
        return found.nth(self.draw.randrange(count)) if count else None

    def keys(self, *keys, most=6):
        for _ in range(self.draw.randint(1, most)):
            self.page.keyboard.press(self.draw.choice(keys))

    def number(self):
        return f"{self.draw.uniform(-6, 6):.3g}"

    def scrub(self):
        self.page.focus("#step")
        self.keys("ArrowRight", "ArrowRight", "ArrowLeft", "Home", "End")
        return True

    def drag(self):
        self.pick("#cell input[type=range]").focus()
        self.keys("ArrowRight", "ArrowUp", "ArrowLeft", "PageDown", most=12)
        return True

    def type_exactly(self):
        field = self.pick("#cell input[type=text]")
        field.fill(self.number())
        field.press("Enter")
        return True

    def click_cell(self):
        self.pick("[role=grid] td").click()
        return True

    def walk_cells(self):
        self.pick("[role=grid] td[tabindex='0']").focus()
        self.keys("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp", "Home", "End", "Control+Home")
        return True

    def edit_cell(self):
        self.pick("[data-edit] td").click()
        self.page.keyboard.press("Enter")
        self.page.keyboard.type(self.number())
        self.page.keyboard.press("Enter")
        return True

    def escape_edit(self):
        self.pick("[data-edit] td").dblclick()
        self.page.keyboard.type("4")
        self.page.keyboard.press("Escape")
        return True

    def press_button(self):
        self.pick("main button:enabled:not([aria-disabled=true], [data-copy], [data-play])").click()
        return True

    def choose(self):
        chooser = self.pick("#main select:not([data-do=source])")
        chooser.focus()
        chooser.select_option(index=self.draw.randrange(chooser.locator("option").count()))
        return True

    def resize(self):
        field = self.pick("#settings input[data-do^=size]")
        if field:
            field.fill(str(self.draw.randint(1, 5)))
            field.press("Enter")
        return bool(field)

    def refuse(self):
        field = self.pick("#settings input, #cell input[type=text]")
        field.fill("nonsense")
        field.press("Enter")
        return True

    def go_back(self):
        address_settles(self.page)
        self.page.evaluate(f"history.{self.draw.choice(['back', 'back', 'forward'])}()")
        self.page.wait_for_timeout(60)

    def reload(self):
        address_settles(self.page)
        self.page.reload()

    def let_go(self):
        self.pick("[role=grid] td[tabindex='0']").focus()
        self.page.keyboard.press("Escape")
        return True

    def hover(self):
        self.pick("[role=grid] td").hover()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("source", SOURCES)
def test_the_page_is_what_respond_draws_after_anything(new_page, lab, source, seed):
    page = new_page(f"{lab}/inside?v=1&source={source}")
    person = Person(page, seed)
    seen = set()
    while len(seen) < STATES / len(SEEDS) / len(SOURCES):
        keeps_focus = person.act()
        settle(page)
        query = state(page)
        seen.add(query)
        told = f"{person.done[-3:]} led to {unquote(query)}"
        assert page.evaluate("html => watched.difference(html)", respond("/inside", query)[2]) == "", told
        assert not keeps_focus or focus(page) != "nothing", told
