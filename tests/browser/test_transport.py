"""The script on the fake page: one request at a time, the last value wins, failures are told and mended."""

import re

import pytest

from tests.browser.watching import assert_drawn, eventually, focus, settle, state, values


def test_one_request_at_a_time_and_the_last_value_wins(page):
    underway, most, asked = 0, 0, []

    def slowly(route):
        nonlocal underway, most
        underway += 1
        most = max(most, underway)
        asked.append(route.request.url)
        page.wait_for_timeout(60)
        underway -= 1
        route.continue_()

    page.route(re.compile("patch="), slowly)
    page.focus("#n")
    for _ in range(20):
        page.keyboard.press("ArrowRight")
    assert_drawn(page)
    assert (state(page), most) == ("v=1&n=25", 1)
    assert len(asked) < 10
    assert values(page, "n", "n2") == ["25", "25"]


def test_the_next_request_is_under_way_while_an_answer_is_drawn(page):
    page.evaluate("""() => {
        const old = refresh;
        window.drawn = [];
        refresh = () => { old(); drawn.push([flying.map(action => action.value), byId('n').value]); };
        bump(byId('n'), 1, false);
        bump(byId('n'), 1, false);
    }""")
    assert_drawn(page)
    assert page.evaluate("drawn") == [[["7"], "7"], [[], "7"]]  # the range never goes back to what is drawn


def test_actions_of_different_fields_travel_together_in_order(page):
    asked = []
    page.on("request", lambda request: asked.append(request.url.partition("?")[2]))
    page.evaluate("act('n', 1); act('n', 2); act('undo', ''); act('undo', ''); act('kind', 'b'); act('kind', 'a')")
    assert_drawn(page)
    assert asked == ["v=1&do=n%3A1&patch=", "v=1&n=1&do=n%3A2&do=undo%3A&do=undo%3A&do=kind%3Aa&patch="]
    assert state(page) == "v=1&n=0"


def test_a_server_that_is_gone_is_reported_and_asked_again(new_page, fake_lab):
    page = new_page(f"{fake_lab}/fake", allowed="ERR_CONNECTION_REFUSED")
    page.route(re.compile("patch="), lambda route: route.abort("connectionrefused"))
    page.focus("#n")
    page.keyboard.press("ArrowRight")
    settle(page)
    assert "does not answer" in page.inner_text("#offline")
    assert (page.input_value("#n"), state(page)) == ("6", "v=1")
    page.unroute_all()
    page.select_option("#kind", "b")
    assert_drawn(page)
    assert (page.inner_text("#offline"), state(page)) == ("", "v=1&n=6&kind=b")


@pytest.mark.parametrize("status", [414, 500])
def test_a_change_that_the_server_refuses_is_dropped(new_page, fake_lab, status):
    page = new_page(f"{fake_lab}/fake", allowed=str(status))
    page.route(re.compile("patch="), lambda route: route.fulfill(status=status, body="no"))
    page.focus("#n")
    page.keyboard.press("ArrowRight")
    assert_drawn(page)
    assert str(status) in page.inner_text("#offline")
    assert (page.input_value("#n"), focus(page)) == ("5", "n")


def test_a_slow_answer_makes_the_page_busy(page):
    def slowly(route):
        eventually(lambda: page.get_attribute("main", "aria-busy"), "true")
        route.continue_()

    page.route(re.compile("patch="), slowly)
    page.click("#next")
    assert_drawn(page)
    assert page.get_attribute("main", "aria-busy") is None


def test_what_was_done_before_the_script_ran_is_sent(new_page, fake_lab):
    page = new_page()

    def late(route):
        page.wait_for_selector("#more", state="attached")
        page.evaluate("document.querySelector('#n').value = 77")
        route.continue_()

    page.route(re.compile("lab.js"), late)
    page.goto(f"{fake_lab}/fake?v=1&kind=b")
    assert_drawn(page)
    assert state(page) == "v=1&n=77&kind=b"
