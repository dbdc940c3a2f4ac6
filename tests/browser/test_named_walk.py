"""The lesson "A named step" after any actions: the page is what `respond` draws for its state, focus is kept."""

from tests.browser import walking


class Person(walking.Person):
    """Someone who tries everything in this lesson, by a seed."""

    def actions(self):
        return {self.scrub: 6, self.type: 6, self.tick: 3, self.choose: 2, self.click: 4, self.go_back: 1}

    def scrub(self):
        self.page.focus("#panel")
        self.keys("ArrowRight", "ArrowRight", "ArrowLeft", "End", most=5)

    def type(self):
        number = f"{self.draw.randint(-9, 9)}/{self.draw.randint(0, 9)}"
        texts = [number, f"{number},2", "1,2,3", "eps", "0.25", "", "nonsense"]
        self.fill("main input[type=text]", self.draw.choice(texts))

    def tick(self):
        self.pick("main input[type=checkbox]").click()

    def choose(self):
        self.option("main select")

    def click(self):
        self.pick("main button:not([aria-disabled=true], [data-play])").click()


def test_the_page_is_what_respond_draws_after_anything(new_page, lab):
    walking.walk(Person(new_page(f"{lab}/named"), 5), 40)
