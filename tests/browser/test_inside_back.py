"""The way back, the ladder and the rounding of "Inside LayerNorm" in Chromium: keys alone, a phone, axe."""

import pytest

from tests.browser.test_axe import faults
from tests.browser.test_lesson import STEPS, tab_to
from tests.browser.watching import address_settles, focus, settle, state

BACK = ["dy", "dbeta", "dgamma", "dxhat", "mean_dxhat", "mean_dxhat_xhat", "centered", "along", "across", "dx"]
PAGES = (
    "/inside?v=1&back=1&step=dgamma&sel=dgamma.3&ladder=1",
    "/inside?v=1&storage=bfloat16&rounding=pytorch&back=1&dy=ones&step=dx&sel=dx.0.1.2",
)


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)
        settle(page)


def test_there_and_back_by_keyboard_alone(new_page, lab):
    page = new_page(f"{lab}/inside")
    tab_to(page, "step")
    press(page, "End")
    assert state(page) == "v=1&step=y"
    tab_to(page, "back:1", "Shift+Tab")  # the switch, or the button under the formula: both lead there
    press(page, "Enter")
    assert "back=1" in address_settles(page) and "step=dy" in state(page)
    assert page.get_attribute("#back", "aria-pressed") == "true"
    tab_to(page, "step")
    for at, name in enumerate(BACK):
        assert page.get_attribute("#step", "aria-valuetext").startswith(f"step {len(STEPS) + at + 1} of 19: ")
        assert f"step={name}" in state(page)
        press(page, "ArrowRight")
    tab_to(page, "ladder-switch", "Shift+Tab")
    press(page, "Enter")
    assert focus(page) == "ladder-switch" and page.locator(".rungs tbody tr").count() >= 8
    tab_to(page, "step")
    press(page, *["ArrowLeft"] * 10)
    assert "step=y" in state(page) and page.locator("#scrub ol").count() == 2


def test_dy_is_edited_in_place_and_dx_follows(new_page, lab):
    page = new_page(f"{lab}/inside?v=1&back=1&step=dy")
    before = page.inner_text("#dx-0-0"), page.inner_text("#dx-1-0")
    page.locator(".stage td").first.dblclick()
    page.keyboard.type("9")
    press(page, "Enter")
    assert "edits=dy.0.0.0:9" in state(page)
    assert page.inner_text("#dx-0-0") != before[0] and page.inner_text("#dx-1-0") == before[1]


def test_a_hovered_parameter_gradient_lights_with_what_feeds_it(new_page, lab):
    page = new_page(f"{lab}/inside?v=1&back=1&step=dgamma")
    page.locator(".stage [data-t=dy] td").nth(8 + 3).hover()
    lit = page.locator(".stage [data-t=dgamma] td")
    assert [lit.nth(k).get_attribute("data-lit") for k in (2, 3)] == [None, "feeds"]


@pytest.mark.parametrize("address", PAGES)
def test_nothing_scrolls_the_page_at_320_px(new_page, lab, address):
    page = new_page(lab + address, viewport={"width": 320, "height": 640}, has_touch=True)
    assert page.evaluate("document.documentElement.scrollWidth") == 320
    page.locator("#scrub ol").last.locator("button").first.tap()
    settle(page)
    assert "step=dy" in state(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(new_page, lab, scheme):
    page = new_page(bypass_csp=True, color_scheme=scheme, reduced_motion="reduce")
    for address in PAGES:
        page.goto(lab + address)
        assert faults(page) == []
