"""The script on the fake page: addresses, Back and Forward, what is spoken, copying, the theme."""

import re

import pytest

from tests.browser.watching import address_settles, assert_drawn, eventually, settle, state


def test_two_fast_presses_are_spoken_once_as_they_end(page):
    page.evaluate("""() => {
        window.spoken = [];
        new MutationObserver(() => spoken.push(live.textContent)).observe(live, {childList: true, subtree: true});
    }""")
    page.click("#next")
    page.click("#next")
    eventually(lambda: page.evaluate("spoken"), ["step 2, n is 5"])
    page.wait_for_timeout(600)
    assert page.evaluate("spoken") == ["step 2, n is 5"]


def test_back_and_forward(page):
    for click in ("#go", "#next"):
        page.click(click)
        address_settles(page)
        page.wait_for_timeout(120)
    for _ in range(3):
        page.focus("#n")
        page.keyboard.press("ArrowRight")
    assert address_settles(page) == "v=1&step=1&n=45"
    for direction, expected in [("back", "v=1&n=42"), ("back", "v=1"), ("forward", "v=1&n=42")]:
        page.evaluate(f"history.{direction}()")
        eventually(lambda: state(page), expected)
        assert_drawn(page)
    page.reload()
    assert_drawn(page)
    assert state(page) == "v=1&n=42"


def test_a_click_that_waits_keeps_its_place_in_history_when_a_drag_follows_it(page):
    before = page.evaluate("history.length")
    page.evaluate("act('kind', 'b', false); act('n', '7', true); act('n', '8', false)")
    assert address_settles(page) == "v=1&n=8&kind=b"
    assert page.evaluate("history.length") == before + 1


def test_back_while_an_answer_is_under_way(page):
    """What waits belongs to the state that is left, what comes later to the one that is reached."""
    page.click("#go")
    address_settles(page)
    page.wait_for_timeout(120)
    page.click("#next")
    address_settles(page)

    def slowly(route):
        page.wait_for_timeout(150)
        route.continue_()

    page.route(re.compile("patch="), slowly)
    page.evaluate("""() => {
        addEventListener('popstate', () => act('eps', '0.5', false), {once: true});
        act('n', '9', true);
        act('kind', 'b', true);
        history.back();
    }""")
    eventually(lambda: state(page), "v=1&n=42&eps=0.5")
    assert_drawn(page)
    assert address_settles(page) == "v=1&n=42&eps=0.5"


def test_a_click_soon_after_a_drag_leaves_the_end_of_the_drag_in_history(page):
    for action in ("'n', '6', false", "'n', '7', false", "'kind', 'b', true"):
        page.evaluate(f"act({action})")
        settle(page)
    assert address_settles(page) == "v=1&n=7&kind=b"
    page.evaluate("history.back()")
    eventually(lambda: state(page), "v=1&n=7")


def test_the_address_of_a_drag_is_written_seldom_and_right_at_the_end(page):
    page.evaluate("""() => {
        window.writes = 0;
        const plain = history.replaceState;
        history.replaceState = (...all) => { writes++; plain.apply(history, all); };
    }""")
    page.focus("#n")
    for _ in range(60):
        page.keyboard.press("ArrowRight")
    assert address_settles(page) == "v=1&n=65"
    assert page.evaluate("writes") < 20


def test_an_address_with_actions_becomes_the_state_that_it_leads_to(new_page, fake_lab):
    page = new_page(f"{fake_lab}/fake?v=1&do=undo:&do=kind:b")
    assert address_settles(page) == "v=1&n=4&kind=b"


def test_copy_and_its_fallback(new_page, fake_lab):
    page = new_page(f"{fake_lab}/fake", permissions=["clipboard-read", "clipboard-write"])
    page.click("#copy")
    eventually(lambda: page.inner_text("#live"), "Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == f"{fake_lab}/fake?v=1"
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(); }")
    page.click("#copy")
    eventually(lambda: page.inner_text("#live"), "Selected; copy it with Ctrl+C.")
    assert page.evaluate("getSelection().toString()") == "link"


@pytest.mark.parametrize(("system", "first"), [("light", "dark"), ("dark", "light")])
def test_the_theme_is_chosen_and_remembered(new_page, fake_lab, system, first):
    page = new_page(f"{fake_lab}/fake", color_scheme=system)
    theme = "document.documentElement.dataset.theme"
    assert page.evaluate(theme) is None
    page.click("[data-theme-toggle]")
    assert page.evaluate(theme) == first
    page.reload()
    assert page.evaluate(theme) == first
    page.click("[data-theme-toggle]")
    assert page.evaluate(theme) == system


def test_a_notebook_leaves_the_keys_to_the_page(page):
    assert page.evaluate("Boolean(document.querySelector('#n').closest('[data-lm-suppress-shortcuts=true]'))")
