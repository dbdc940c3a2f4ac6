"""The page "Exercises": a printable sheet for a class, with its answers on a page of their own."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..errors import StateError
from ..exercises import Exercise, exercises
from ..page.controls import Complaint, bar, check_box, entry
from ..page.html import Html, el, group, region
from ..page.math import equal, vector
from ..views.exact import mathml
from .lesson import Lesson, Sources
from .state import FLAG, PAIR, WHOLE, Codec

TITLE = "Exercises"
PATH = "/exercises"
TASK = (
    "For each: add the update u to x. Of the sum, find the mean, the centered vector and the variance (divide by the "
    "count of cells). Then write LayerNorm's output with eps = 0, the root by its name."
)


@dataclass(frozen=True)
class State:
    """A sheet: its seed, how many exercises, whether the roots are rational, whether the answers are printed."""

    seed: int = 1
    count: int = 10
    rational: bool = False
    answers: bool = True
    bad: tuple[str, str] | None = None


CODECS: Mapping[str, Codec] = {
    "seed": WHOLE,
    "count": WHOLE,
    "rational": FLAG,
    "answers": FLAG,
    "bad": PAIR,
}


def _check(state: State, sources: Sources) -> State:
    sheet(state)
    return state


def _done(state: State, field: str, value: str, sources: Sources) -> State:
    if field not in CODECS or field == "bad":
        raise StateError(f"there is no field '{field[:40]}' here.")
    changed: dict[str, Any] = {field: CODECS[field][0](value)}
    return _check(replace(state, **changed), sources)


def sheet(state: State) -> tuple[Exercise, ...]:
    """The exercises of a state."""
    return exercises(state.seed, state.count, rational_root=state.rational)


def draw(state: State, sources: Sources, wrong: Complaint) -> Html:
    """What stands in the page's main element, in regions."""
    text = wrong.text
    made = sheet(state)
    asked = el("ol", *map(_question, made))
    answers = [el("h2", "Answers"), el("ol", *map(_answer, made))] if state.answers else []
    number = f"Sheet {state.seed}"
    return group(
        el("header", el("h1", TITLE), el("p", TASK, class_="source"), class_="lead"),
        _settings(state, wrong),
        region(el("section", el("h2", number), asked, id="questions", class_="sheet"), "questions"),
        region(el("section", *answers, id="answers", class_="sheet answers"), "answers"),
        region(el("p", text or f"{number}, {len(made)} exercises.", id="say", hidden=True), "say"),
    )


def _settings(state: State, wrong: Complaint) -> Html:
    controls = [
        entry("seed", "Sheet (seed)", str(state.seed), wrong, 6),
        entry("count", "Exercises", str(state.count), wrong, 4),
        check_box("rational", "Roots that are fractions", state.rational),
        check_box("answers", "Answers, on a page of their own", state.answers),
        wrong.rest(),
    ]
    return bar(controls, state.bad is not None)


def _question(exercise: Exercise) -> Html:
    given = (("x", exercise.x), ("u", exercise.update))
    parts = (group(equal(el("mi", name), vector(map(mathml, cells)), block=False), " ") for name, cells in given)
    return el("li", *parts)


def _answer(exercise: Exercise) -> Html:
    made = exercise.solved
    lines = (
        equal(el("mi", letter), vector(made.written(name, form=mathml)), block=False)
        for letter, name in (("x + u", "residual"), ("μ", "mu"), ("c", "c"), ("σ²", "var"))
    )
    named, opened = (vector(made.written("xhat", named=by_name, form=mathml)) for by_name in (True, False))
    outputs = (equal(el("mi", "x̂"), named, block=False), " ", equal(group(), opened, block=False))
    return el("li", *(group(line, " ") for line in lines), *outputs)


LESSON = Lesson(TITLE, PATH, State, CODECS, _check, _done, draw)
