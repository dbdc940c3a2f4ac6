"""The button beside the ledger, in a browser: what it draws, while it waits, after other steps, without a script."""

import pytest

from normscope.interfaces import measuring
from tests.browser.test_axe import faults
from tests.browser.watching import eventually, settle

RESULT = "#measured .result"
WAIT = 60_000  # ms: a process starts, and other tests run beside it


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(measuring, "SECONDS", 0.05)


def measure(page):
    page.click("#measured button")
    page.wait_for_selector(RESULT, timeout=WAIT)
    settle(page)


def test_the_result_is_drawn_into_its_place_and_stays_while_the_same_is_counted(new_page, lab):
    page = new_page(f"{lab}/inside")
    measure(page)
    assert "to the byte" in page.inner_text("#measured .summary") and page.locator(f"{RESULT} svg").count() == 2
    eventually(lambda: "to the byte" in page.inner_text("#live"), True)
    page.fill("#set-seed", "5")
    page.keyboard.press("Enter")
    settle(page)
    assert "seed=5" in page.url and page.locator(RESULT).is_visible()
    page.select_option("#set-storage", "bfloat16")
    settle(page)
    assert not page.locator(RESULT).count() and page.inner_text("#measured button") == "Measure"


def test_by_keyboard_alone_and_the_lesson_goes_on_meanwhile(new_page, lab):
    page = new_page(f"{lab}/inside")
    page.locator("#measured button").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#measured form[aria-busy=true] .waiting", state="visible")
    assert page.locator("#measured button").evaluate("button => button === document.activeElement")
    page.keyboard.press("Enter")  # one measurement is enough
    page.fill("#set-seed", "7")
    page.keyboard.press("Enter")
    settle(page)
    assert "seed=7" in page.url
    page.wait_for_selector(RESULT, timeout=WAIT)
    assert not page.locator("#measured form[aria-busy]").count() and not page.locator("#measured .bad").count()


def test_an_answer_that_the_page_does_not_ask_for_any_more_is_dropped(new_page, lab):
    page = new_page(f"{lab}/inside")
    with page.expect_response("**/measured*", timeout=WAIT):
        page.click("#measured button")
        page.select_option("#set-storage", "bfloat16")
        settle(page)
    page.wait_for_timeout(200)
    assert not page.locator(RESULT).count() and page.locator("#measured button").is_enabled()


def test_a_refusal_is_told_in_its_place(new_page, lab):
    page = new_page(f"{lab}/inside?v=1&source=llama-3.1-405b", allowed="413")
    measure(page)
    assert "The lab does not measure this" in page.inner_text("#measured .bad")


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (320, "dark")])
def test_axe_and_no_sideways_scrolling(new_page, lab, width, scheme):
    page = new_page(f"{lab}/inside", viewport={"width": width, "height": 800}, color_scheme=scheme)
    measure(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert faults(page) == []


def test_without_a_script_the_button_leads_to_a_page(browser, lab):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{lab}/inside")
    page.click("#measured button", timeout=WAIT)
    page.wait_for_url("**/measured?*", timeout=WAIT)
    assert "to the byte" in page.inner_text("#measured .summary")
    context.close()
