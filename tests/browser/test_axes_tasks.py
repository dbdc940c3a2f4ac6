"""The guided tasks of the axes lab from the keyboard alone: choose, predict, do, read, undo."""

import pytest

from normscope.lessons.axes_lab.questions import TASKS
from tests.browser.test_lesson import tab_to
from tests.browser.watching import eventually, focus, settle, state

ANSWERS = {"shift": "rises", "scale": "near", "constant": "0", "outlier": "stay", "gamma": "column"} | {
    "swap": "x",
    "mean": "beta",
}
RIGHT = {"scale", "gamma", "swap"}


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)
    settle(page)


def predict(page, key):
    """Choose the task and commit an answer; the focus stays where it was put."""
    tab_to(page, "set-task")
    press(page, *["ArrowDown"] * (list(TASKS).index(key) + 1 - page.evaluate("document.activeElement.selectedIndex")))
    assert focus(page) == "set-task" and f"task={key}" in state(page)
    if TASKS[key].options:
        tab_to(page, f"guess.{key}:{ANSWERS[key]}")
        press(page, "Space")
        assert focus(page) == f"guess.{key}:{ANSWERS[key]}"
    else:
        tab_to(page, f"set-guess.{key}")
        page.keyboard.type(ANSWERS[key])
        press(page, "Enter")
        assert focus(page) == f"set-guess.{key}"


def test_every_task_by_keyboard_alone(new_page, lab):
    page = new_page(f"{lab}/axes")
    for key in TASKS:
        before = page.inner_text("#row")
        predict(page, key)
        assert page.inner_text("#row") == before and page.locator("#task :is(.right, .wrong)").count() == 0
        tab_to(page, f"try.{key}:1")
        press(page, "Enter")
        assert focus(page) == f"try.{key}:1"
        told = page.locator("#task .right" if key in RIGHT else "#task .wrong")
        assert told.is_visible() and (page.inner_text("#row") != before) == (key != "swap")
        text = " ".join(told.inner_text().split())
        eventually(lambda text=text: page.inner_text("#live").startswith(text), True)
        if key != "swap":
            tab_to(page, "undo:1", "Shift+Tab")
            press(page, "Enter")
            assert page.inner_text("#row") == before


def test_the_button_does_nothing_before_a_prediction(new_page, lab):
    page = new_page(f"{lab}/axes?v=1&task=shift")
    tab_to(page, "try.shift:1")
    press(page, "Enter")
    assert state(page) == "v=1&task=shift"
    assert page.get_attribute("[data-do='try.shift:1']", "aria-disabled") == "true"


@pytest.mark.parametrize("key", ["shift", "constant"])
def test_the_question_names_what_is_chosen(new_page, lab, key):
    page = new_page(f"{lab}/axes?v=1&task={key}")
    named = (
        page.get_by_role("group", name=page.inner_text("#question"))
        if TASKS[key].options
        else page.get_by_label("Your prediction")
    )
    assert named.count() == 1
