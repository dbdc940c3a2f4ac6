"""The lesson "A named step" after any actions: the page is what `respond` draws for its state, focus is kept."""

import random
from urllib.parse import unquote

from normscope.lessons.site import respond
from tests.browser.watching import address_settles, focus, settle, state


class Person:
    """Someone who tries everything in this lesson, by a seed."""

    def __init__(self, page, seed):
        self.page = page
        self.draw = random.Random(seed)
        self.done = []

    def act(self):
        """Do something; True if the focus must be where it was put."""
        actions = {self.scrub: 6, self.fill: 6, self.tick: 3, self.choose: 2, self.click: 4, self.go_back: 1}
        action = self.draw.choices(list(actions), list(actions.values()))[0]
        self.done.append(action.__name__)
        action()
        return action != self.go_back

    def pick(self, selector):
        found = self.page.locator(selector)
        return found.nth(self.draw.randrange(found.count()))

    def scrub(self):
        self.page.focus("#panel")
        for _ in range(self.draw.randint(1, 5)):
            self.page.keyboard.press(self.draw.choice(["ArrowRight", "ArrowRight", "ArrowLeft", "End"]))

    def fill(self):
        field = self.pick("main input[type=text]")
        number = f"{self.draw.randint(-9, 9)}/{self.draw.randint(0, 9)}"
        field.fill(self.draw.choice([number, f"{number},2", "1,2,3", "eps", "0.25", "", "nonsense"]))
        field.press("Enter")

    def tick(self):
        self.pick("main input[type=checkbox]").click()

    def choose(self):
        self.pick("main select").select_option(index=self.draw.randrange(2))

    def click(self):
        self.pick("main button:not([aria-disabled=true], [data-play])").click()

    def go_back(self):
        address_settles(self.page)
        self.page.evaluate(f"history.{self.draw.choice(['back', 'forward'])}()")
        self.page.wait_for_timeout(60)
        if self.page.url == "about:blank":
            self.page.go_forward()


def test_the_page_is_what_respond_draws_after_anything(new_page, lab):
    page = new_page(f"{lab}/named")
    person, seen = Person(page, 5), set()
    while len(seen) < 40:
        keeps_focus = person.act()
        settle(page)
        query = state(page)
        seen.add(query)
        told = f"{person.done[-3:]} led to {unquote(query)}"
        assert page.evaluate("html => watched.difference(html)", respond("/named", query)[2]) == "", told
        assert not keeps_focus or focus(page) != "nothing", told
