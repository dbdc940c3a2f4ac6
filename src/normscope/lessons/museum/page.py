"""The page "Mistakes": from an address to a drawing."""

from ...errors import StateError
from ...page.controls import Complaint, button, choices
from ...page.html import Html, el, group, region
from ...page.numbers import fixed
from ..lesson import Lesson, Sources
from . import formulas, panels
from .catalogue import EXHIBITS
from .outcome import outcome
from .quiz import Question, question
from .state import ACTIONS, CODECS, State, check

TITLE = "Mistakes"
PATH = "/mistakes"
LEAD = (
    "Wrong norms that compute something plausible. Each is a program like the right one, so both run here on the same "
    "input: what differs, which measurement tells it, and which tests let it through."
)
MODES = {"0": "The museum", "1": "Which is it?"}
ASKED = (
    "The right output and the output of a hidden mistake, for the same input. "
    "Which mistake gives exactly these numbers?"
)


def draw(state: State, sources: Sources, wrong: Complaint) -> Html:
    """What stands in the page's main element, in regions."""
    text = wrong.text
    body, said = _asked(state, wrong) if state.quiz else _museum(state, wrong)
    return group(
        el("header", el("h1", TITLE), el("p", LEAD, class_="source"), class_="lead"),
        _modes(state),
        body,
        region(el("p", text or said, id="say", hidden=True), "say"),
    )


def _modes(state: State) -> Html:
    body = (el("span", "What to do", id="mode", class_="unseen"), choices("quiz", "mode", MODES, str(int(state.quiz))))
    return region(el("div", *body, id="modes", class_="modes"), "modes")


def _museum(state: State, wrong: Complaint) -> tuple[Html, str]:
    """The list, and one exhibit."""
    exhibit, made = state.exhibit, outcome(state.show, state.texts)
    parts = (
        panels.heading(exhibit),
        formulas.drawn(exhibit),
        panels.where(exhibit),
        panels.inputs(state, wrong),
        panels.outputs(exhibit, made),
        panels.fingerprint(exhibit),
        panels.usual(exhibit),
        panels.wild(exhibit),
    )
    body = el("div", panels.chooser(state), el("div", *parts, class_="exhibit"), class_="museum")
    return body, f"{exhibit.name}. {panels.summary(made)}"


def _asked(state: State, wrong: Complaint) -> tuple[Html, str]:
    """A question, and once it is answered the evidence."""
    asked = question(state.seed)
    hidden = EXHIBITS[asked.id]
    made = outcome(asked.id, asked.texts)
    given = ", ".join(f"{name} = {text}" for name, text in asked.texts)
    heading = group(el("h2", f"Question {state.seed}"), el("p", ASKED, id="question"), el("p", el("code", given)))
    options = choices("pick", "question", panels.names(asked.options), state.pick, bool(state.pick))
    answer, said = _answer(state, asked)
    parts = (
        region(el("div", heading, id="asked", class_="heading asked-for"), "asked"),
        panels.outputs(hidden, made),
        region(el("div", options, wrong.rest(), id="options"), "options"),
        el("div", button("Next question", "next:1"), class_="row"),
        region(el("div", answer, id="answer", class_="exhibit"), "answer"),
    )
    return el("div", *parts, class_="exhibit"), said or f"Question {state.seed}. {ASKED}"


def _answer(state: State, asked: Question) -> tuple[Html | None, str]:
    if not state.pick:
        return None, ""
    hidden = EXHIBITS[asked.id]
    is_right = state.pick == asked.id
    said = f"Right: {hidden.name}." if is_right else f"“{EXHIBITS[state.pick].name}” is not it. It is: {hidden.name}."
    verdict = el("div", el("div", el("p", said), class_="right" if is_right else "wrong"), class_="guess")
    picked = None if is_right else _instead(state.pick, asked)
    link = el("p", el("a", "Look at it in the museum", href=f"{PATH}?v=1&show={asked.id}"))
    return group(verdict, picked, formulas.drawn(hidden), panels.fingerprint(hidden), link), said


def _instead(pick: str, asked: Question) -> Html:
    """What the answer that was given would have shown."""
    made = outcome(pick, asked.texts)
    rows = "; ".join(", ".join(fixed(cell, 4) for cell in row) for row in made.wrong)
    return el("p", f"That one gives {rows} here.", class_="notice")


def _check(state: State, sources: Sources) -> State:
    return check(state)


def _done(state: State, field: str, value: str, sources: Sources) -> State:
    if field not in ACTIONS:
        raise StateError(f"there is no field '{field[:40]}' here.")
    return check(ACTIONS[field](state, value))


LESSON = Lesson(TITLE, PATH, State, CODECS, _check, _done, draw)
