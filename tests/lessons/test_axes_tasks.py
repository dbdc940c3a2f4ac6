"""The guided tasks of the axes lab: a prediction first, then an ordinary edit; what is kept and what is refused."""

from dataclasses import replace

import pytest

from normscope.errors import StateError
from normscope.lessons.axes_lab import tasks
from normscope.lessons.axes_lab.questions import TASKS
from normscope.lessons.axes_lab.state import CODECS, State
from normscope.lessons.state import act, complaint, read, split, write
from normscope.page.controls import Complaint
from tests.lessons.dom import parse
from tests.lessons.guided import DONE, LESSON, RIGHT, after, answered, drawn, feedback


@pytest.mark.parametrize("key", TASKS)
def test_nothing_is_done_before_a_prediction(key):
    state = after(LESSON, f"task:{key}")
    tree = drawn(state)
    (deed,) = tree.all("button", data_do=f"try.{key}:1")
    assert deed.attributes["aria-disabled"] == "true" and not tree.all(class_="right") + tree.all(class_="wrong")
    refused = act(state, f"try.{key}", "1", DONE)
    assert replace(refused, bad=None) == state and complaint(refused, DONE).startswith("commit a prediction first")
    committed = after(state, f"guess.{key}:{RIGHT[key]}")
    assert committed.x == LESSON.x and committed.gamma == LESSON.gamma
    tree = drawn(committed)
    assert "aria-disabled" not in tree.one("button", data_do=f"try.{key}:1").attributes
    assert [node.text for node in tree.all("button", aria_pressed="true")] == (
        [TASKS[key].options[RIGHT[key]]] if TASKS[key].options else []
    )
    assert "prediction is committed" in tasks.said(committed) and not tree.all(class_="right")


@pytest.mark.parametrize("key", TASKS)
def test_the_right_answer_of_the_lesson(key):
    state = answered(key, RIGHT[key])
    assert feedback(state).startswith("Right.") and tasks.said(state) == feedback(state)
    assert tasks.said(state) not in tasks.said(LESSON) + tasks.said(replace(state, task=""))


@pytest.mark.parametrize("key", [key for key, task in TASKS.items() if task.options])
def test_every_wrong_choice_is_answered_with_what_would_give_it(key):
    told = set()
    for option, words in TASKS[key].options.items():
        state = answered(key, option)
        if option == RIGHT[key]:
            continue
        first = drawn(state).one(class_="wrong").all("p")[0].text
        assert first.startswith(f"“{words}” is not it. That ") and "Nothing known" not in first
        assert f"The answer is “{TASKS[key].options[RIGHT[key]]}”." in feedback(state)
        told.add(first.partition("is not it.")[2])
    assert len(told) == len(TASKS[key].options) - 1 or key == "swap"


@pytest.mark.parametrize("key", TASKS)
def test_the_edit_is_an_ordinary_one(key):
    state = answered(key, RIGHT[key])
    assert bool(state.last) == (key != "swap")
    undone = after(state, "undo:1")
    assert (undone.x, undone.gamma, undone.beta) == (LESSON.x, LESSON.gamma, LESSON.beta)
    if key != "swap":
        assert "has changed since" in drawn(undone).text and tasks.said(undone) == ""
        again = after(undone, f"try.{key}:1")
        assert (again.x, again.gamma, feedback(again)) == (state.x, state.gamma, feedback(state))
        later = after(state, "x.2.3:4.5")
        assert "has changed since" in drawn(later).text and not drawn(later).all(class_="right")


@pytest.mark.parametrize("key", TASKS)
def test_it_is_about_the_place_where_it_was_committed(key):
    state = after(LESSON, f"task:{key}", "sel:x.2.1", f"guess.{key}:{RIGHT[key]}", "sel:x.0.3", f"try.{key}:1")
    other = answered(key, RIGHT[key], replace(LESSON, sel=(2, 1)))
    assert (state.x, state.gamma, state.beta) == (other.x, other.gamma, other.beta)
    assert (tasks.said(state), drawn(state).one(id="question").text) == (
        tasks.said(other), drawn(other).one(id="question").text
    )  # fmt: skip
    fresh = after(state, f"again.{key}:1")
    assert tasks.guess_of(fresh, key) is None and fresh.x == state.x


@pytest.mark.parametrize("key", TASKS)
def test_a_verdict_is_said_once_and_not_at_every_step_after_it(key):
    committed = after(LESSON, f"task:{key}", f"guess.{key}:{RIGHT[key]}")
    done = after(committed, f"try.{key}:1")
    for state in (committed, done):
        assert tasks.said(state)
        for action in ("sel:x.0.0", "zoom:fit", "x.0.0:1", f"again.{key}:1"):
            assert tasks.said(after(state, action)) == ""
    assert feedback(after(done, "sel:x.0.0")) == feedback(done)


def test_a_prediction_stands_fast_once_its_task_was_done():
    state = answered("shift", "rises")
    chosen = [node for node in drawn(state).all("button") if "aria-pressed" in node.attributes]
    assert len(chosen) == 3 and all(node.attributes["aria-disabled"] == "true" for node in chosen)
    assert complaint(act(state, "guess.shift", "stays", DONE), DONE).endswith("press Predict again first.")
    assert "You predicted 0.1." in drawn(answered("constant", "0.1")).text
    assert drawn(after(LESSON, "task:constant")).all("input", data_do="guess.constant")


@pytest.mark.parametrize("key", TASKS)
def test_every_stage_stands_in_the_address(key):
    for state in (after(LESSON, f"task:{key}", f"guess.{key}:{RIGHT[key]}"), answered(key, RIGHT[key])):
        query = write(state, CODECS)
        assert read(State, CODECS, split(query).fields) == state == tasks.check(state)


STRANGE = (
    "task=juggle",
    "guesses=juggle:1@0.0",
    "guesses=shift:sideways@0.0",
    "guesses=shift:stays",
    "guesses=shift:stays@a.b",
    "guesses=constant:much@0.0",
    "guesses=constant:nan@0.0",
)


@pytest.mark.parametrize("query", STRANGE)
def test_an_address_with_a_task_that_is_none_is_refused(query):
    with pytest.raises(StateError):
        tasks.check(read(State, CODECS, split(query).fields))


def test_a_number_that_is_none_is_complained_of_at_its_field():
    state = act(after(LESSON, "task:constant"), "guess.constant", "much", DONE)
    text = complaint(state, DONE)
    tree = parse(str(tasks.draw(state, Complaint("guess.constant", "much", text)))).one(id="task")
    assert tree.one("input").attributes["aria-invalid"] == "true" and "no finite number" in tree.one(class_="bad").text


def test_a_place_that_a_new_table_lacks_is_no_prediction():
    state = after(LESSON, "task:shift", "sel:x.2.3", "guess.shift:stays")
    small = replace(state, x=((1.0, 2.0),), tokens=("a",), gamma=(1.0, 1.0), beta=(0.0, 0.0), sel=(0, 0))
    assert tasks.guess_of(small, "shift") is None and "Add 2 to every feature of a." in drawn(small).text
