"""The panels of "Precision": the policies side by side, what eps takes, the question, the ladder, the faults."""

from functools import lru_cache

from ...errors import NormscopeError
from ...norm import Norm, exact_eps
from ...page.controls import button, check_box, choices
from ...page.frame import frame, head
from ...page.html import Html, el, group, raw, region
from ...page.numbers import fixed, general, ulps, written
from ...rungs import Rung, ladder
from ...views.formats import FORMATS
from ...views.policies import KINDS, Policy
from ..rungs_table import rungs_table
from .curves import outcome
from .faults import FAULTS
from .reading import Reading, Row64
from .rows import Row, parameters, row_of
from .state import State, kind_of, norm_of
from .words import GUESSES, OUTCOMES, QUESTION
from .words import KINDS as ORDERS

BAR = 8  # px
STEPS = {"x": "x", "stored": "x", "exact": "y", "y": "y", "error": "y"}


def policies(state: State, row: Row64) -> Html:
    """Every named policy of the format: what it keeps, its variance, its worst error, what breaks first."""
    spread = "variance" if state.norm == "layer_norm" else "mean square"
    heads = ("policy", "statistics", "cells", spread, "worst, ulp", "breaks at")
    columns = region(head(*heads, id="policies-head"), "policies-head")
    lines = (_policy(each, each.policy.name == state.policy) for each in row.readings)
    body = region(el("tbody", *lines, id="policies"), "policies")
    caption = el("caption", "The same row under the named policies")
    return frame("The named policies", el("table", caption, columns, body, class_="figures policies"))


def _policy(reading: Reading, is_here: bool) -> Html:
    policy = reading.policy
    name = group(policy.name, " ◂" if is_here else "", " ", el("small", order(policy)))
    figures = (
        policy.statistics,
        policy.cells,
        written(reading.var, 6),
        ulps(reading.worst),
        reading.overflow or "nothing",
    )
    cells = (el("td", figure, class_="bad-cell" if figure == reading.overflow else None) for figure in figures)
    return el("tr", el("th", name, scope="row"), *cells, aria_current="true" if is_here else None)


def order(policy: Policy) -> str:
    """A policy in a few words."""
    return ORDERS.get(policy.name) or ORDERS[kind_of(policy.name)]


def dominance(state: State, reading: Reading) -> Html:
    """How much of the policy's own var + eps is eps, and what that makes of the normalized row."""
    share = reading.share
    if not reading.v and exact_eps(state.eps):
        told = f"eps is lost: var + eps rounds to 0 in {reading.policy.statistics}."
        body = [el("p", el("b", told)), el("p", _left(state, reading), class_="hint")]
    elif share != share:
        told = "var + eps is 0 or no number: there is no share of eps, and no root to divide by."
        body = [el("p", told), el("p", _left(state, reading), class_="hint")]
    elif not 0 <= share <= 1:
        body = [el("p", f"The variance is {written(reading.var, 6)}: less than 0, so there is no share of eps.")]
    else:
        body = [
            _bar(share),
            el("p", el("b", f"eps is {percent(share)} of var + eps"), f": {_who(state, share)}"),
            el("p", _left(state, reading), class_="hint"),
        ]
    return region(el("div", *body, id="dominance", class_="dominance"), "dominance")


def _left(state: State, reading: Reading) -> str:
    """What eps leaves of the normalized row's spread, if it can be told."""
    if reading.lost:
        return f"{reading.lost} is no finite number, and with it y is lost."
    if reading.overflow:
        largest = written(FORMATS[reading.policy.storage].largest)
        return f"{reading.overflow} ended at the largest number, {largest}: y is finite, but not this row’s."
    what = "spread" if state.norm == "layer_norm" else "root mean square"
    return f"The normalized row’s {what} is {fixed((1 - reading.share) ** 0.5, 4)}; without eps it would be 1."


def percent(share: float) -> str:
    """A share as a percentage, three digits.

    >>> percent(0.5), percent(9.9999e-06), percent(0.999999)
    ('50%', '0.001%', '100%')
    """
    return f"{general(float(f'{100 * share:.3g}'))}%"


def _who(state: State, share: float) -> str:
    if not share and exact_eps(state.eps):
        return "adding it changes nothing, it is rounded away."
    if share < 0.01:
        return "it does not matter here."
    if share < 0.5:
        return "it takes its part, and y is smaller for it."
    return "it dominates, and y shrinks with x, as if the row were only divided by √eps."


def _bar(share: float) -> Html:
    """var and eps as two parts of one line."""
    at = round(100 * (1 - share), 3)
    parts = (
        f'<rect x="0" y="0" width="{at}%" height="{BAR}" class="var"></rect>'
        f'<rect x="{at}%" y="0" width="{round(100 - at, 3)}%" height="{BAR}" class="eps"></rect>'
    )
    bar = el("svg", raw(parts), width="100%", height=BAR, class_="share", aria_hidden="true")
    return group(bar, el("p", el("span", "var"), el("span", "eps"), class_="ends"))


def question(state: State) -> Html:
    """What the one-pass way will give: asked before it is shown."""
    return _question(state.guess, outcome(state) if state.guess in GUESSES else "")


@lru_cache(maxsize=32)
def _question(guess: str, truth: str) -> Html:
    body: list[Html | None] = [el("h2", QUESTION, id="asked")]
    is_open = not guess
    body.append(choices("guess", "asked", GUESSES, guess, disabled=not is_open))
    if is_open:
        body.append(el("div", button("Show it", "guess:shown"), class_="row"))
    elif guess in GUESSES:
        body.append(_judged(guess, truth))
    else:
        body.append(el("div", button("Ask me again", "guess:"), class_="row"))
    return region(el("div", *body, id="question", class_="task"), "question")


def _judged(guess: str, truth: str) -> Html:
    answer = "off" if truth == "beyond" else truth
    is_right = answer == guess
    first = "Right: " if is_right else f"No. {GUESSES[answer]}: "
    return el("div", el("p", first + OUTCOMES[truth]), class_=f"judged {'right' if is_right else 'wrong'}")


def rungs(state: State) -> Html:
    """The ladder of the selected cell, once it is asked for."""
    name = f"{STEPS[state.sel.line]}, feature {state.sel.feature + 1}"
    body = [
        el("div", el("h2", f"The ladder of {name}"), check_box("ladder", "Show it", state.ladder), class_="lanes-head"),
        _ladder(state) if state.ladder else el("p", LADDER, class_="hint"),
    ]
    return region(el("section", *body, id="rungs", class_="rungs"), "rungs")


ULP = "An ulp here is that of each format at the exact value; in the row’s table it is that at the row’s largest |y|."
LADDER = "The selected cell exactly, by its root, in decimals, and then in every format, with its error and its bits."


def _ladder(state: State) -> Html:
    try:
        found = rungs_of(state)
    except NormscopeError as error:
        return el("p", str(error), class_="hint")
    return group(el("p", ULP, class_="hint"), rungs_table(found, "The ladder"))


def rungs_of(state: State) -> tuple[Rung, ...]:
    """The ladder of the state's selected cell."""
    kind = kind_of(state.policy)
    return _rungs(
        row_of(state),
        norm_of(state),
        parameters(state.affine, state.norm, state.seed, state.d),
        kind if kind in KINDS else "steps",
        STEPS[state.sel.line],
        state.sel.feature,
    )


@lru_cache(maxsize=32)
def _rungs(x: Row, norm: Norm, given: tuple[Row | None, Row | None], kind: str, step: str, at: int) -> tuple[Rung, ...]:
    """Kept, since exact numbers take their time."""
    return tuple(ladder(x, norm, step, (at,), *given, kind=kind))


def faults(state: State) -> Html:
    """Rows that broke real code, by name; of the chosen one what was seen, with the report."""
    return _faults(state.fault)


@lru_cache(maxsize=32)
def _faults(chosen: str) -> Html:
    title = "Seen in real code"
    items = (el("li", _preset(key, key == chosen)) for key in FAULTS)
    body = (el("h2", title), el("ul", *items), _seen(chosen))
    return region(el("section", *body, id="faults", class_="faults", aria_label=title), "faults")


def _preset(key: str, is_here: bool) -> Html:
    pressed = "true" if is_here else "false"
    return el("button", FAULTS[key].title, type="button", data_do=f"fault:{key}", aria_pressed=pressed)


def _seen(chosen: str) -> Html:
    if not chosen:
        return el("p", "Each sets the row and the policy of a report.", class_="hint")
    fault = FAULTS[chosen]
    return el("p", fault.told, " ", el("a", fault.source, href=fault.url, rel="external noreferrer"), id="fault-told")
