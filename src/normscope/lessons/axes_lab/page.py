"""The page "Axes lab": from an address to a drawing."""

from functools import lru_cache

from ...page.controls import Complaint
from ...page.html import Html, el, group, region
from ..lesson import Lesson, Sources
from . import actions, cards, lanes, scope, table, tasks
from .state import CODECS, State, check, tokens_by_features
from .view import view_of
from .words import LEAD, NOTES

TITLE = "Axes lab"
PATH = "/axes"
ACT = actions.done({**scope.ACTIONS, **tasks.ACTIONS})


def draw(state: State, sources: Sources, wrong: Complaint) -> Html:
    """What stands in the page's main element, in regions."""
    view = view_of(state)
    text = wrong.text
    left = el("div", table.table(view), table.controls(view, wrong), table.own_table(wrong), class_="signal")
    middle = el("div", lanes.lanes(view), lanes.moved(view))
    right = el("div", lanes.row_table(view), tasks.draw(state, wrong), class_="beside")
    panel = scope.draw(state, wrong)
    rest = region(el("div", wrong.rest(), id="complaint"), "complaint")
    return group(
        el("header", el("h1", TITLE), _lead(state), class_="lead"),
        rest,
        el("div", left, middle, right, class_="axes-lab"),
        cards.lines(view),
        cards.cards(view),
        panel,
        _notes(),
        region(el("p", text or f"{tasks.said(state)} {cards.said(view)}".strip(), id="say", hidden=True), "say"),
    )


def _lead(state: State) -> Html:
    table = tokens_by_features(state.size)
    return el("p", el("b", table[0].upper(), table[1:], "."), " ", LEAD, class_="source")


@lru_cache(maxsize=1)
def _notes() -> Html:
    items = (el("li", text) for text in NOTES)
    section = el("section", el("h2", "What holds here, and what does not"), el("ul", *items), class_="notes wide")
    return el("div", section, class_="below")


def _check(state: State, sources: Sources) -> State:
    return tasks.check(scope.check(check(state)))


def _done(state: State, field: str, value: str, sources: Sources) -> State:
    return ACT(state, field, value)


LESSON = Lesson(TITLE, PATH, State, CODECS, _check, _done, draw, actions.LOOKING)
