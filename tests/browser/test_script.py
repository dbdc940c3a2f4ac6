"""The script on the fake page: controls send, answers are drawn, nodes are kept."""

import random

import pytest

from tests.browser import fake
from tests.browser.watching import assert_drawn, focus, settle, state, values

# ---- controls


def test_a_range_sends_while_it_moves_and_its_number_field_follows(page):
    page.focus("#n")
    for expected in ("6", "7"):
        page.keyboard.press("ArrowRight")
        assert page.input_value("#n2") == expected
    assert_drawn(page)
    assert (state(page), focus(page)) == ("v=1&n=7", "n")


def test_a_number_field_sends_when_it_is_left_and_its_range_follows(page):
    page.fill("#n2", "31")
    assert state(page) == "v=1"
    page.keyboard.press("Enter")
    assert values(page, "n", "n2") == ["31", "31"]
    assert_drawn(page)
    assert state(page) == "v=1&n=31"


def test_select_checkbox_and_link_send_at_once(page):
    page.select_option("#kind", "b")
    page.uncheck("#on")
    page.click("#go")
    assert_drawn(page)
    assert state(page) == "v=1&n=42&kind=b&on=0"


def test_a_refused_value_goes_back_and_is_reported(page):
    page.fill("#eps", "much")
    page.keyboard.press("Enter")
    assert_drawn(page)
    assert page.locator("#fields p").inner_text() == "much is no number"
    assert (page.input_value("#eps"), focus(page)) == ("0.1", "eps")
    page.fill("#eps", "0.2")
    page.keyboard.press("Enter")
    assert_drawn(page)
    assert page.locator("#fields p").count() == 0


def test_escape_takes_back_what_is_typed(page):
    page.fill("#eps", "0.75")
    page.keyboard.press("Escape")
    page.focus("#n")
    assert_drawn(page)
    assert (page.input_value("#eps"), state(page)) == ("0.1", "v=1")


def test_typing_survives_a_patch_with_its_caret(page):
    page.fill("#eps", "0.123")
    page.keyboard.press("ArrowLeft")
    page.evaluate("act('n', '8', false)")
    settle(page)
    assert state(page) == "v=1&n=8"
    caret = page.evaluate("document.activeElement.selectionStart")
    assert (page.input_value("#eps"), focus(page), caret) == ("0.123", "eps", 4)


def test_bump_buttons_move_a_range_to_its_ends(page):
    page.click("#next")
    page.click("#next")
    page.click("#next")
    assert_drawn(page)
    assert (state(page), focus(page)) == ("v=1&step=2", "next")
    page.click("#back")
    assert_drawn(page)
    assert state(page) == "v=1&step=1"


def test_a_disabled_button_keeps_its_focus_and_does_nothing(page):
    page.fill("#n2", "1")
    page.focus("#undo")
    for _ in range(3):
        page.keyboard.press("Enter")
        assert_drawn(page)
        assert (state(page), focus(page)) == ("v=1&n=0", "undo")


def test_a_link_still_opens_in_a_tab_of_its_own(page):
    with page.context.expect_page() as opened:
        page.click("#go", modifiers=["Control"])
    assert_drawn(opened.value)
    assert (state(page), state(opened.value)) == ("v=1", "v=1&n=42")


def test_play_goes_to_the_end_and_stops(page):
    page.clock.install()
    page.click("#play")
    assert page.get_attribute("#play", "aria-pressed") == "true"
    settle(page)
    assert state(page) == "v=1&step=1"
    assert page.get_attribute("#play", "aria-pressed") == "true"
    page.clock.run_for(1200)
    assert_drawn(page)
    assert (state(page), page.get_attribute("#play", "aria-pressed")) == ("v=1&step=2", "false")
    page.click("#play")
    settle(page)
    assert state(page) == "v=1"
    page.click("#play")
    page.clock.run_for(5000)
    assert_drawn(page)
    assert state(page) == "v=1"


# ---- patching


@pytest.mark.parametrize(("control", "key", "left"), [("step", "Home", 0), ("back", "Enter", 0), ("play", "Enter", 1)])
def test_play_gives_way_to_the_person(page, control, key, left):
    page.clock.install()
    page.click("#play")
    settle(page)
    page.press(f"#{control}", key)
    page.clock.run_for(5000)
    assert_drawn(page)
    assert page.get_attribute("#play", "aria-pressed") == "false"
    assert page.input_value("#step") == str(left)


def test_nodes_are_kept(page):
    page.evaluate("window.before = [...document.querySelectorAll('td, input, button')]")
    page.click("#go")
    page.fill("#eps", "bad")
    page.keyboard.press("Enter")
    assert_drawn(page)
    assert page.evaluate("before.every(node => node.isConnected)")


def test_an_open_details_stays_open(page):
    page.click("summary")
    page.click("#go")
    assert_drawn(page)
    assert page.evaluate("document.querySelector('#more').open")
    assert "n is 42" in page.inner_text("#more")


def test_patching_makes_any_tree_the_drawn_one(page):
    """Random trees of a few kinds of nodes, some with ids: what patch() leaves is the tree that was drawn."""
    draw = random.Random(1)

    def tree(depth):
        if depth == 0 or draw.random() < 0.3:
            return draw.choice(["one", "two", "", "<!--c-->"])
        name = draw.choice(["p", "span", "input", "svg", "b"])
        key = draw.choice(["", "", f' id="k{draw.randrange(4)}"', f' class="c{draw.randrange(3)}"'])
        return f"<{name}{key}>" + "".join(tree(depth - 1) for _ in range(draw.randrange(4))) + f"</{name}>"

    pairs = [[f"<div id='r'>{tree(4)}{tree(4)}</div>" for _ in range(2)] for _ in range(2000)]
    failed = page.evaluate(
        """pairs => pairs.filter(([from, to]) => {
            const [old, drawn, wanted] = [from, to, to].map(html => {
                const template = document.createElement('template');
                template.innerHTML = html;
                return template.content.firstChild;
            });
            patch(old, drawn);
            return !old.isEqualNode(wanted);
        })""",
        pairs,
    )
    assert failed == []


def test_the_watcher_sees_differences(page):
    """The comparison that every test here rests on can fail."""
    html = fake.respond("/fake", "v=1")[2]
    for change in ["append('x')", "removeAttribute('data-feeds')", "firstChild.textContent = 'Real'"]:
        page.reload()
        page.evaluate(f"document.querySelector('main').{change}")
        assert page.evaluate("html => watched.difference(html)", html)
    page.reload()
    page.evaluate("document.querySelector('#n2').value = 3")
    assert "shows" in page.evaluate("html => watched.difference(html)", html)
