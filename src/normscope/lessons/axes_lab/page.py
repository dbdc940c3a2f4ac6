"""The page "Axes lab": from an address to a drawing."""

from collections.abc import Mapping
from functools import lru_cache

from ...page.controls import Complaint
from ...page.html import Html, el, group, region
from ..sources import Source
from ..state import Query, act, complaint, read, write
from . import actions, cards, lanes, scope, table, tasks
from .state import CODECS, State, check, tokens_by_features
from .view import view_of
from .words import LEAD, NOTES

TITLE = "Axes lab"
PATH = "/axes"
done = actions.done({**scope.ACTIONS, **tasks.ACTIONS})


def state_of(query: Query, sources: Mapping[str, Source]) -> State:
    """The state of an address after its actions; StateError if the address itself is wrong."""
    state = tasks.check(scope.check(check(read(State, CODECS, query.fields))))
    for field, value in query.actions:
        state = act(state, field, value, done, actions.LOOKING)
    return state


def canonical(state: State) -> str:
    """The address of a state, without its path."""
    return write(state, CODECS)


def feeds(state: State, sources: Mapping[str, Source]) -> dict[str, dict[str, list[str]]]:
    """Nothing lights up here: the table holds inputs alone."""
    return {}


def draw(state: State, sources: Mapping[str, Source]) -> Html:
    """What stands in the page's main element, in regions."""
    view = view_of(state)
    field, value = state.bad or ("", "")
    text = complaint(state, done)
    wrong = Complaint(field, value, text)
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
