"""The page "Precision" in a browser: from the keyboard alone, after any edits, small screens by touch, axe."""

import pytest

from tests.browser import walking
from tests.browser.test_axe import faults, violations
from tests.browser.test_lesson import tab_to
from tests.browser.watching import address_settles, eventually, focus, settle, state


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)
    settle(page)


def test_the_lesson_by_keyboard_alone(new_page, lab):
    page = new_page(f"{lab}/precision")
    tab_to(page, "set-format")
    press(page, "ArrowUp")
    assert "policy=pytorch-fp32" in state(page) and focus(page) == "set-format"
    tab_to(page, "slide-mean")
    press(page, *["ArrowRight"] * 3, "PageUp", "End")
    assert "mean=1000000" in state(page) and page.input_value("#set-mean") == "1000000"
    tab_to(page, "set-mean")
    page.keyboard.press("Control+a")
    page.keyboard.type("2000")
    press(page, "Enter")
    assert "mean=2000" in state(page) and focus(page) == "set-mean"
    tab_to(page, "fault:ort-40000")
    press(page, "Enter")
    assert state(page).startswith("v=1&mean=40001.5") and page.inner_text("#ways tr:nth-child(2) td") == "?"
    page.focus("#row-y [tabindex='0']")
    press(page, "ArrowRight", "ArrowUp")
    assert "sel=exact.1" in state(page)
    tab_to(page, "guess:near")
    press(page, "Space")
    told = page.locator("#question .wrong")
    assert told.is_visible() and page.inner_text("#ways tr:nth-child(2) td") == "0" and focus(page) == "guess:near"
    tab_to(page, "set-ladder")
    press(page, "Space")
    assert page.locator("#rungs tbody tr").count() == 9 and focus(page) == "set-ladder"
    tab_to(page, "set-source")
    press(page, "ArrowDown")
    assert page.locator("#tensor tbody tr").count() == 2
    address_settles(page)
    page.evaluate("history.back()")
    eventually(lambda: "source" in state(page), False)


def test_the_row_is_spoken_once_after_fast_steps(new_page, lab):
    page = new_page(f"{lab}/precision")
    page.evaluate("""() => {
        const live = document.getElementById('live');
        window.spoken = [];
        new MutationObserver(() => window.spoken.push(live.textContent)).observe(live, {childList: true});
    }""")
    page.focus("#slide-mean")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    settle(page)
    said = page.text_content("#say")
    eventually(lambda: page.inner_text("#live"), said)
    page.wait_for_timeout(600)
    assert page.evaluate("window.spoken") == [said] and said.startswith("Mean 12.6, spread 1, under pytorch-bf16")


def test_a_field_that_was_typed_as_it_stood_follows_the_page_again(new_page, lab):
    page = new_page(f"{lab}/precision?v=1&d=12")
    page.fill("#set-d", "1")
    page.fill("#set-d", "12")
    press(page, "Enter")
    page.click("[data-do='fault:cast-order']")
    settle(page)
    assert page.input_value("#set-d") == "8"


class Person(walking.Person):
    """Someone who tries everything in this lesson, by a seed."""

    def actions(self):
        return {self.drag: 6, self.type: 4, self.choose: 4, self.walk: 3, self.click: 5, self.go_back: 1}

    def drag(self):
        self.pick("main input[type=range]").focus()
        self.keys("ArrowRight", "ArrowLeft", "PageUp", "Home", "End", most=5)

    def type(self):
        texts = ["0", "7", "12", "1e-3", "-40000", "1e20", "", "nonsense"]
        self.fill("main input[type=text]", self.draw.choice(texts))

    def choose(self):
        self.option("main select:not(#set-source)")

    def walk(self):
        self.pick("#row-y td").click()
        self.keys("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp", "End", most=4)

    def click(self):
        self.pick("main button:not([aria-disabled=true])").click()


def test_the_page_is_what_respond_draws_after_anything(new_page, lab):
    walking.walk(Person(new_page(f"{lab}/precision"), 2), 30)


def test_the_lesson_by_touch_at_320_pixels(new_page, lab):
    phone = new_page(f"{lab}/precision", viewport={"width": 320, "height": 640}, has_touch=True, is_mobile=True)
    box = phone.locator("#slide-spread").bounding_box()
    phone.touchscreen.tap(box["x"] + box["width"] * 0.8, box["y"] + box["height"] / 2)
    settle(phone)
    assert "spread=" in state(phone)
    phone.locator("#row-y td").nth(1).tap()
    settle(phone)
    assert "sel=y.1" in state(phone)
    phone.locator("[data-do='guess:off']").tap()
    settle(phone)
    assert phone.locator("#question .judged").is_visible()
    phone.locator("[data-do='fault:bert-eps']").tap()
    settle(phone)
    assert "fault=bert-eps" in state(phone)
    assert phone.evaluate("watched.overflow()") == []
    assert phone.evaluate("watched.smallTargets()") == []


def places(page, *selectors):
    return [page.locator(selector).first.bounding_box() for selector in selectors]


def test_everything_stands_in_its_place_at_1440_pixels(new_page, lab):
    page = new_page(f"{lab}/precision?v=1&ladder=1&mean=2", viewport={"width": 1440, "height": 900})
    head, cell = places(page, ".ladder thead th:nth-child(4)", ".ladder tbody tr:nth-child(4) td:nth-child(4)")
    assert (head["x"], head["width"]) == (cell["x"], cell["width"])
    label, plot, presets, policies = places(page, ".curves .safe-label", ".curves .here", "#faults", "#policies")
    assert label["y"] >= plot["y"] + plot["height"]  # the line of now never crosses the words
    assert presets["x"] < policies["x"] and presets["y"] + presets["height"] < plot["y"]


def test_presets_come_before_the_plot_on_a_phone(new_page, lab):
    phone = new_page(f"{lab}/precision", viewport={"width": 390, "height": 844})
    presets, plot = places(phone, "#faults", ".curves")
    assert presets["y"] + presets["height"] < plot["y"] and presets["height"] < 400


@pytest.mark.parametrize(
    "query", ["ladder=1&source=minilm&guess=shown", "do=mean:much", "mean=-1e20&spread=1e-9&ladder=1&affine=seeded"]
)
def test_nothing_overflows_at_320_pixels(new_page, lab, query):
    page = new_page(f"{lab}/precision?v=1&{query}", viewport={"width": 320, "height": 640})
    page.locator("#plot-numbers summary").click()
    assert page.evaluate("watched.overflow()") == []


STATES = {
    "refused": "do=mean:much",
    "judged": "do=fault:ort-40000&do=guess:near",
    "broken": "do=fault:bert-eps",
    "ladder": "ladder=1&source=minilm",
}
CHANGED = [".sliders", ".rounding", "#faults", "#rungs", "#tensor"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(new_page, lab, scheme):
    page = new_page(bypass_csp=True, color_scheme=scheme, reduced_motion="reduce")
    found = {"first view": violations(page, f"{lab}/precision", None)}
    for name, query in STATES.items():
        page.goto(f"{lab}/precision?v=1&{query}")
        found[name] = faults(page, CHANGED)
    assert {name: each for name, each in found.items() if each} == {}
