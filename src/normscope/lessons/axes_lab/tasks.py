"""Guided tasks: a prediction is committed first; then the table is edited, and its numbers answer.

A guess is kept as `ANSWER@TOKEN.FEATURE`, with `!` behind it once its task was done. The edit is an ordinary one:
the feedback compares the table with what undo would bring back, and goes when the table is changed again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial

from ...errors import StateError
from ...page.controls import Complaint, button, choices, entry, select
from ...page.html import Html, el, group, region
from ...page.numbers import general, plain
from ..state import finite
from .actions import before, edited, written
from .predictions import Change, Outcome, Place, Task
from .questions import TASKS
from .state import State
from .view import SHOWN

DONE = "!"
NEAR = 0.005  # how far a number with few decimals may be from the one that it means
TITLES = {"": "choose one", **{key: task.title for key, task in TASKS.items()}}
HINT = "Commit a prediction first; the button does the rest, and Undo takes it back."


@dataclass(frozen=True)
class Guess:
    """An answer that was committed for a place, and whether the task was done then."""

    answer: str
    place: Place
    done: bool = False

    def __str__(self) -> str:
        return f"{self.answer}@{self.place.token}.{self.place.feature}{DONE * self.done}"


def _read(text: str) -> Guess:
    answer, _, where = text.removesuffix(DONE).rpartition("@")
    token, feature = map(int, where.split("."))
    return Guess(answer, Place(token, feature), text.endswith(DONE))


def check(state: State) -> State:
    """The state, if its task and its guesses are some that there are; StateError names what is not."""
    if state.task not in TITLES:
        raise StateError(f"there is no task '{state.task[:40]}'; there are {', '.join(TASKS)}.")
    for key, text in state.guesses:
        try:
            _known(TASKS[key], _read(text).answer)
        except (KeyError, ValueError):
            raise StateError(f"guesses has '{key[:20]}:{text[:40]}', which answers no task.") from None
    return state


def _known(task: Task, answer: str) -> str:
    """The answer as it is kept; StateError or ValueError if the task does not take it."""
    if not task.options:
        return plain(finite(answer))
    if answer not in task.options:
        raise ValueError(answer)
    return answer


def guess_of(state: State, key: str) -> Guess | None:
    """What was committed for a task, unless its place is in the table no more."""
    text = dict(state.guesses).get(key)
    guess = _read(text) if text else None
    tokens, features = state.size
    return guess if guess and guess.place.token < tokens and guess.place.feature < features else None


def change_of(state: State, task: Task, guess: Guess | None) -> Change | None:
    """The table before and after the task's edit; None where it was not done, or other edits came after it."""
    if not guess or not guess.done:
        return None
    was = before(state)
    cells = task.edit(was, guess.place)
    if not cells:
        return Change(state, state, guess.place)
    made = written(was, cells)
    is_last = dict(state.last).keys() == cells.keys() and (made.x, made.gamma, made.beta) == (
        state.x,
        state.gamma,
        state.beta,
    )
    return Change(was, state, guess.place) if is_last else None


# ---- The drawing


def draw(state: State, wrong: Complaint) -> Html:
    """The tasks: a choice of them, and the one that is open."""
    body: list[Html | None] = [
        el("h2", "Predict, then look"),
        select("task", "Task", TITLES, state.task),
        el("p", HINT, class_="hint hands"),
    ]
    if state.task:
        body += _opened(state, state.task, wrong)
    return region(el("section", *body, id="task", class_="task"), "task")


def _opened(state: State, key: str, wrong: Complaint) -> list[Html | None]:
    task, guess = TASKS[key], guess_of(state, key)
    change = change_of(state, task, guess)
    place = guess.place if guess else Place(*state.sel)
    question = task.ask(change.was if change else state, place)
    reason = "" if change else task.refuse(state, place)
    is_idle = guess is None or change is not None or bool(reason)
    deeds = (
        button(task.deed(state, place), f"try.{key}:1", disabled=is_idle),
        button("Predict again", f"again.{key}:1", disabled=guess is None),
    )
    return [
        el("p", question, id="question"),
        el("p", reason, class_="notice") if reason else el("div", _answer(key, task, guess, wrong), class_="guess"),
        el("div", *deeds, class_="guess"),
        _feedback(task, guess, change),
    ]


def _answer(key: str, task: Task, guess: Guess | None, wrong: Complaint) -> Html:
    """Where the prediction is committed; it stands fast once the task was done."""
    chosen, is_done = (guess.answer, guess.done) if guess else ("", False)
    if task.options:
        return choices(f"guess.{key}", "question", task.options, chosen, is_done)
    if is_done:
        return el("p", f"You predicted {general(float(chosen))}.")
    return entry(f"guess.{key}", "Your prediction, a number", chosen, wrong, 9)


def _feedback(task: Task, guess: Guess | None, change: Change | None) -> Html | None:
    if not guess or not guess.done:
        return None
    if not change:
        return el("p", "The table has changed since, so there is nothing to compare. Do it again, or predict again.")
    word, *sentences = _verdict(task, guess, task.outcome(change))
    told = (group(el("p", text), " ") for text in sentences)  # they stand in one line
    return el("div", el("div", *told, class_=word), class_="guess")


def _verdict(task: Task, guess: Guess, outcome: Outcome) -> tuple[str, ...]:
    """`right` or `wrong`, and the sentences: whether it is so, what else would give it; what the figures are."""
    if _same(task, guess.answer, outcome.truth):
        return "right", "Right.", outcome.facts
    given = f"“{task.options[guess.answer]}”" if task.options else general(float(guess.answer))
    found = (text for answer, text in outcome.would if _same(task, guess.answer, answer))
    why = next(found, "Nothing known here gives that number.")
    right = f"The answer is “{task.options[outcome.truth]}”. " if outcome.truth in task.options else ""
    return "wrong", f"{given} is not it. {why}", f"{right}{outcome.facts}"


def _same(task: Task, answer: str, other: str) -> bool:
    """Whether two answers are one; a number may be rounded to the decimals that it was typed with."""
    if task.options:
        return answer == other
    decimals = -int(Decimal(answer).as_tuple().exponent)
    reach = max(SHOWN, min(NEAR, 0.5 * 10.0**-decimals))
    return abs(float(answer) - float(other)) <= reach


def said(state: State) -> str:
    """What was answered or done just now, to be said aloud: that a prediction is committed, or what came of it."""
    guess = guess_of(state, state.task) if state.task and state.fresh else None
    if not guess:
        return ""
    task = TASKS[state.task]
    change = change_of(state, task, guess)
    if change:
        return " ".join(_verdict(task, guess, task.outcome(change))[1:])
    committed = task.options.get(guess.answer, guess.answer)
    return "" if guess.done else f"Your prediction is committed: {committed}."


# ---- The actions


def _kept(state: State, key: str, guess: Guess | None) -> State:
    others = tuple(pair for pair in state.guesses if pair[0] != key)
    return replace(state, guesses=(*others, (key, str(guess))) if guess else others, fresh=bool(guess))


def _commit(key: str, state: State, value: str) -> State:
    guess = guess_of(state, key)
    if guess and guess.done:
        raise StateError("this prediction was committed and its task done; press Predict again first.")
    if not value.strip():
        return _kept(state, key, None)
    place = guess.place if guess else Place(*state.sel)
    _possible(key, state, place)
    return _kept(state, key, Guess(_known(TASKS[key], value.strip()), place))


def _possible(key: str, state: State, place: Place) -> None:
    if reason := TASKS[key].refuse(state, place):
        raise StateError(reason)


def _try(key: str, state: State, value: str) -> State:
    guess = guess_of(state, key)
    if not guess:
        raise StateError("commit a prediction first; then the table is changed.")
    _possible(key, state, guess.place)
    cells = TASKS[key].edit(state, guess.place)
    done = edited(state, cells) if cells else state
    return _kept(done, key, replace(guess, done=True))


def _again(key: str, state: State, value: str) -> State:
    return _kept(state, key, None)


def _task(state: State, value: str) -> State:
    return check(replace(state, task=value))


ACTIONS: Mapping[str, Callable[[State, str], State]] = {
    "task": _task,
    **{
        f"{name}.{key}": partial(act, key)
        for key in TASKS
        for name, act in (("guess", _commit), ("try", _try), ("again", _again))
    },
}
