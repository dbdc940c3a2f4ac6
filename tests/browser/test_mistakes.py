"""The page "Mistakes" in a browser: from the keyboard alone, at 320 pixels, and what axe says."""

import pytest

from normscope.lessons.museum.catalogue import EXHIBITS
from normscope.lessons.museum.quiz import question
from tests.browser.test_axe import faults
from tests.browser.test_lesson import tab_to
from tests.browser.watching import eventually, focus, settle, state

VIEWS = ("", "v=1&show=chunks-merged-with-equal-weights&do=x:1;2,3", "v=1&show=momentum-inverted", "v=1&quiz=1")
ANSWERED = f"v=1&quiz=1&pick={question(1).options[0]}"


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)
    settle(page)


def test_the_museum_by_keyboard_alone(new_page, lab):
    page = new_page(f"{lab}/mistakes")
    tab_to(page, "set-show")
    press(page, "ArrowDown")
    after = list(EXHIBITS)[list(EXHIBITS).index("correction-1") + 1]
    assert focus(page) == "set-show" and state(page) == f"v=1&show={after}"
    assert EXHIBITS[after].name in page.inner_text("#heading")
    eventually(lambda: page.inner_text("#live").startswith(EXHIBITS[after].name), True)
    tab_to(page, "set-x")
    press(page, "Control+a")
    page.keyboard.type("1,2,q")
    press(page, "Enter")
    assert focus(page) == "set-x" and page.get_attribute("#set-x", "aria-invalid") == "true"
    eventually(lambda: "x holds 'q'" in page.inner_text("#live"), True)
    press(page, "Control+a")
    page.keyboard.type("1,2,6")
    press(page, "Enter")
    assert page.locator("#outputs td").count() == 2 * (3 + 1)
    tab_to(page, "reset:1")
    press(page, "Enter")
    assert state(page) == f"v=1&show={after}"


def test_the_question_by_keyboard_alone(new_page, lab):
    page = new_page(f"{lab}/mistakes")
    tab_to(page, "quiz:1")
    press(page, "Enter")
    asked = question(1)
    tab_to(page, f"pick:{asked.id}")
    press(page, "Space")
    assert focus(page) == f"pick:{asked.id}" and page.locator("#answer .guess .right").is_visible()
    eventually(lambda: page.inner_text("#live").startswith("Right: "), True)
    tab_to(page, "next:1")
    press(page, "Enter")
    assert "seed=2" in state(page) and page.locator("#answer .guess .right").count() == 0


@pytest.mark.parametrize("query", [*VIEWS, ANSWERED])
def test_nothing_overflows_at_320_pixels(new_page, lab, query):
    page = new_page(f"{lab}/mistakes?{query}", viewport={"width": 320, "height": 640})
    assert page.evaluate("watched.overflow()") == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(new_page, lab, scheme):
    page = new_page(bypass_csp=True, color_scheme=scheme, reduced_motion="reduce")
    found = {}
    for query in (*VIEWS, ANSWERED):
        page.goto(f"{lab}/mistakes?{query}")
        found[query] = faults(page)
    assert {query: list(each) for query, each in found.items() if each} == {}
