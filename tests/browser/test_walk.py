"""Whatever a person does, in whatever order: the page is what `respond` draws for its state, and focus is kept."""

import pytest

from tests.browser import walking
from tests.browser.watching import address_settles

STATES = 204  # different ones, over all walks
SOURCES = ("symbolic", "minilm", "llama-3-8b")
SEEDS = (1, 2)


class Person(walking.Person):
    """Someone who tries everything in "Inside LayerNorm", by a seed."""

    def actions(self):
        return {
            self.scrub: 6, self.drag: 4, self.type_exactly: 4, self.click_cell: 6, self.walk_cells: 6,
            self.edit_cell: 5, self.escape_edit: 1, self.press_button: 5, self.choose: 4, self.resize: 1,
            self.refuse: 1, self.go_back: 3, self.reload: 1, self.let_go: 1, self.hover: 2,
        }  # fmt: skip

    def scrub(self):
        self.page.focus("#step")
        self.keys("ArrowRight", "ArrowRight", "ArrowLeft", "Home", "End")

    def drag(self):
        self.pick("#cell input[type=range]").focus()
        self.keys("ArrowRight", "ArrowUp", "ArrowLeft", "PageDown", most=12)

    def type_exactly(self):
        self.fill("#cell input[type=text]", self.number())

    def click_cell(self):
        self.pick("[role=grid] td").click()

    def walk_cells(self):
        self.pick("[role=grid] td[tabindex='0']").focus()
        self.keys("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp", "Home", "End", "Control+Home")

    def edit_cell(self):
        self.edit("[data-edit] td")

    def escape_edit(self):
        self.pick("[data-edit] td").dblclick()
        self.page.keyboard.type("4")
        self.page.keyboard.press("Escape")

    def press_button(self):
        # a measurement is no state of the page
        self.pick("main button:enabled:not([aria-disabled=true], [data-copy], [data-play], form button)").click()

    def choose(self):
        self.option("#main select:not([data-do=source])")

    def resize(self):
        if not self.page.locator("#settings input[data-do^=size]").count():
            return False
        return self.fill("#settings input[data-do^=size]", str(self.draw.randint(1, 5)))

    def refuse(self):
        self.fill("#settings input, #cell input[type=text]", "nonsense")

    def reload(self):
        address_settles(self.page)
        self.page.reload()
        return False

    def let_go(self):
        self.pick("[role=grid] td[tabindex='0']").focus()
        self.page.keyboard.press("Escape")

    def hover(self):
        self.pick("[role=grid] td").hover()
        return False


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("source", SOURCES)
def test_the_page_is_what_respond_draws_after_anything(new_page, lab, source, seed):
    page = new_page(f"{lab}/inside?v=1&source={source}")
    walking.walk(Person(page, seed), STATES // len(SEEDS) // len(SOURCES))
