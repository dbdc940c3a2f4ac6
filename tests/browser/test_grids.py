"""The script on the fake page: tensors are walked, selected, edited and lit."""

import pytest

from tests.browser.watching import assert_drawn, focus, settle, state


def cell(page, tensor, row, k):
    return page.locator(f"[data-t={tensor}] [data-row='{row}'] td").nth(k)


def test_arrows_move_in_a_grid_and_select(page):
    cell(page, "x", "0.0", 0).focus()
    expected = {"ArrowRight": "x 0.0 1", "ArrowDown": "x 0.1 1", "End": "x 0.1 2", "ArrowRight ": "x 0.1 2"}
    expected |= {"Home": "x 0.1 0", "Control+Home": "x 0.0 0", "Control+End": "x 0.1 2", "ArrowUp": "x 0.0 2"}
    for key, place in expected.items():
        page.keyboard.press(key.strip())
        assert focus(page) == place, key
        assert_drawn(page)
        assert focus(page) == place, key
    assert state(page) == "v=1&sel=x.0.0.2"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowDown")
    assert_drawn(page)
    assert (focus(page), state(page)) == ("x 0.1 0", "v=1&sel=x.0.1.0")


def test_keys_that_lead_nowhere_in_a_grid_do_not_scroll_the_page(page):
    page.set_viewport_size({"width": 600, "height": 120})
    cell(page, "mu", "0.1", 0).click()
    settle(page)
    before = page.evaluate("scrollY")
    for key in ("ArrowDown", "ArrowDown", "End"):
        page.keyboard.press(key)
        settle(page)
    page.wait_for_timeout(300)
    assert (page.evaluate("scrollY"), focus(page)) == (before, "mu 0.1 0")


def test_cells_have_names(page):
    for place, name in {("mu", "0.1", 0): "mu.0.1.0", ("gamma", "*", 2): "gamma.2", ("y", "0.0", 1): "y.0.0.1"}.items():
        cell(page, *place).click()
        assert_drawn(page)
        assert state(page) == f"v=1&sel={name}"


def test_escape_lets_go_and_keeps_the_focus(page):
    cell(page, "x", "0.1", 1).click()
    assert_drawn(page)
    page.keyboard.press("Escape")
    settle(page)
    assert (state(page), focus(page)) == ("v=1", "x 0.1 1")
    page.keyboard.press("ArrowLeft")
    assert_drawn(page)
    assert focus(page) == "x 0.1 0"
    page.keyboard.press("Escape")
    page.focus("#n")
    assert_drawn(page)


@pytest.mark.parametrize("key", ["Enter", "F2"])
def test_a_cell_is_edited_in_place(page, key):
    cell(page, "x", "0.0", 1).click()
    page.keyboard.press(key)
    settle(page)
    page.keyboard.type("2.5")
    page.evaluate("act('x.0.0.0', '9', false)")  # a patch of the grid while one of its cells is an input
    settle(page)
    assert page.evaluate("document.activeElement.value") == "2.5"
    page.keyboard.press("Enter")
    assert_drawn(page)
    assert focus(page) == "x 0.0 1"
    assert state(page) == "v=1&sel=x.0.0.1&x.0.0.0=9&x.0.0.1=2.5"


def test_a_double_click_edits_and_leaving_commits(page):
    cell(page, "x", "0.1", 2).dblclick()
    page.keyboard.type("-3")
    page.focus("#n")
    assert_drawn(page)
    assert (state(page), focus(page)) == ("v=1&sel=x.0.1.2&x.0.1.2=-3", "n")


def test_escape_leaves_a_cell_as_it_was(page):
    cell(page, "x", "0.0", 1).click()
    page.keyboard.press("Enter")
    page.keyboard.type("7")
    page.keyboard.press("Escape")
    assert_drawn(page)
    assert (state(page), focus(page)) == ("v=1&sel=x.0.0.1", "x 0.0 1")


def test_a_grid_without_edit_is_not_edited(page):
    cell(page, "y", "0.0", 1).dblclick()
    assert page.locator("td input").count() == 0
    page.keyboard.press("Enter")
    assert page.locator("td input").count() == 0
    assert_drawn(page)


def lit(page):
    return page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll('[data-lit]')].map(cell => {
            const row = cell.closest('[data-row]'), at = [...row.querySelectorAll('td')].indexOf(cell);
            return [`${row.closest('table').dataset.t} ${row.dataset.row} ${at}`, cell.dataset.lit];
        }))"""
    )


def test_a_cell_lights_its_row_its_parameters_and_what_it_feeds(page):
    cell(page, "x", "0.1", 1).hover()
    of_x = {"x 0.1 0": "row", "x 0.1 1": "row", "x 0.1 2": "row", "mu 0.1 0": "feeds", "gamma * 1": "param"}
    assert lit(page) == of_x | {"y 0.1 0": "row", "y 0.1 1": "feeds", "y 0.1 2": "row"}
    cell(page, "mu", "0.0", 0).hover()
    of_mu = {f"x 0.0 {k}": "row" for k in range(3)} | {f"y 0.0 {k}": "feeds" for k in range(3)}
    assert lit(page) == of_mu | {"mu 0.0 0": "row"}
    cell(page, "gamma", "*", 2).hover()
    assert lit(page) == {"y 0.0 2": "feeds", "y 0.1 2": "feeds"}


def test_light_goes_with_the_pointer_and_stays_at_the_focus(page):
    page.mouse.move(0, 0)
    assert lit(page) == {}
    cell(page, "gamma", "*", 0).click()
    settle(page)
    of_gamma = lit(page)
    assert of_gamma == {"y 0.0 0": "feeds", "y 0.1 0": "feeds"}
    cell(page, "mu", "0.0", 0).hover()
    assert lit(page) != of_gamma
    page.locator("h1").hover()
    assert lit(page) == of_gamma
    page.focus("#n")
    assert lit(page) == {}
