"""The panels of "Precision": the policies side by side, what eps takes, the question, the ladder, the faults."""

from functools import lru_cache

from ...errors import NormscopeError
from ...norm import Norm
from ...page.controls import button, check_box, choices
from ...page.html import Html, el, group, raw, region
from ...page.numbers import MINUS, fixed, general
from ...rungs import Rung, ladder
from ...views.policies import KINDS, Policy
from .curves import outcome
from .faults import FAULTS
from .reading import Reading, Row64
from .rows import Row, parameters, row_of
from .state import State, kind_of, norm_of
from .table import ulps, written
from .words import GUESSES, OUTCOMES, QUESTION
from .words import KINDS as ORDERS

BAR = 8  # px
STEPS = {"x": "x", "stored": "x", "exact": "y", "y": "y", "error": "y"}


def policies(state: State, row: Row64) -> Html:
    """Every named policy of the format: what it keeps, its variance, its worst error, what breaks first."""
    spread = "variance" if state.norm == "layer_norm" else "mean square"
    heads = ("policy", "statistics", "cells", spread, "worst, ulp", "breaks at")
    columns = el("tr", *(el("th", name, scope="col") for name in heads))
    head = region(el("thead", columns, id="policies-head"), "policies-head")
    lines = (_policy(each, each.policy.name == state.policy) for each in row.readings)
    body = region(el("tbody", *lines, id="policies"), "policies")
    caption = el("caption", "The same row under the named policies")
    return el("div", el("table", caption, head, body, class_="figures policies"), **framed("The named policies"))


def framed(label: str) -> dict[str, str | int]:
    """A frame that a wide table scrolls in, from the keyboard too."""
    return {"class_": "frame", "tabindex": 0, "role": "group", "aria_label": label}


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


def dominance(reading: Reading, what: str) -> Html:
    """How much of var + eps is eps, and what that makes of the normalized row's spread, or whatever `what` is 1."""
    share = reading.share
    body: list[Html | str | None] = []
    if share != share:
        body = [el("p", "var + eps is 0 or no number: there is no share of eps, and no root to divide by.")]
    elif not 0 <= share <= 1:
        body = [el("p", f"The variance is {written(reading.var, 6)}: less than 0, so there is no share of eps.")]
    else:
        body = [
            _bar(share),
            el("p", el("b", f"eps is {percent(share)} of var + eps"), f": {_who(share)}"),
            el("p", _left(reading, what), class_="hint"),
        ]
    return region(el("div", *body, id="dominance", class_="dominance"), "dominance")


def _left(reading: Reading, what: str) -> str:
    """What eps leaves of the normalized row's spread."""
    if reading.overflow:
        return f"{reading.overflow} is no finite number, and with it y is lost."
    return f"The normalized row’s {what} is {fixed((1 - reading.share) ** 0.5, 4)}; without eps it would be 1."


def percent(share: float) -> str:
    """A share as a percentage, three digits.

    >>> percent(0.5), percent(9.9999e-06), percent(0.999999)
    ('50%', '0.001%', '100%')
    """
    return f"{general(float(f'{100 * share:.3g}'))}%"


def _who(share: float) -> str:
    if share < 0.01:
        return "it does not matter here."
    if share < 0.5:
        return "it takes its part, and y is smaller for it."
    return "it dominates: y shrinks with x, as if the row were only divided by √eps."


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


LADDER = "The selected cell exactly, by its root, in decimals, and then in every format, with its error and its bits."


def _ladder(state: State) -> Html:
    try:
        found = rungs_of(state)
    except NormscopeError as error:
        return el("p", str(error), class_="hint")
    heads = ("rung", "value", "error, ulp", "bits")
    head = el("thead", el("tr", *(el("th", each, scope="col") for each in heads)))
    body = el("tbody", *map(_rung, found))
    return el("div", el("table", head, body, class_="figures ladder"), **framed("The ladder"))


def _rung(rung: Rung) -> Html:
    value = _cut(rung.text.replace("-", MINUS)) if rung.value is None else written(rung.value, 17)
    error = "" if rung.ulps is None else ulps(rung.ulps)
    return el("tr", el("th", rung.name, scope="row"), el("td", value), el("td", error), el("td", el("code", rung.bits)))


def _cut(text: str) -> str:
    """An exact form, its middle left out where it is long: the digits of a large fraction tell nobody anything."""
    return text if len(text) <= 64 else f"{text[:36]} … {text[-20:]} ({len(text):,} signs)"


def rungs_of(state: State) -> tuple[Rung, ...]:
    """The ladder of the state's selected cell."""
    kind = kind_of(state.policy)
    gamma, beta = parameters(state.affine, state.norm, state.seed, state.d)
    given = (gamma and tuple(gamma), beta and tuple(beta))
    return _rungs(
        row_of(state),
        norm_of(state),
        given,
        kind if kind in KINDS else "steps",
        STEPS[state.sel.line],
        state.sel.feature,
    )


@lru_cache(maxsize=32)
def _rungs(x: Row, norm: Norm, given: tuple[Row | None, Row | None], kind: str, step: str, at: int) -> tuple[Rung, ...]:
    """Kept, since exact numbers take their time."""
    gamma, beta = (part and list(part) for part in given)
    return tuple(ladder(list(x), norm, step, (at,), gamma, beta, kind=kind))


def faults(state: State) -> Html:
    """Rows that broke real code, each with the report."""
    items = (_fault(key, key == state.fault) for key in FAULTS)
    return el(
        "section", el("h2", "Seen in real code"), el("ul", *items, class_="faults"), aria_label="Seen in real code"
    )


@lru_cache(maxsize=64)
def _fault(key: str, is_here: bool) -> Html:
    fault = FAULTS[key]
    choose = el(
        "button", fault.title, type="button", data_do=f"fault:{key}", aria_pressed="true" if is_here else "false"
    )
    link = el("a", fault.source, href=fault.url)
    return region(el("li", choose, el("p", fault.told, " ", link), id=f"fault-{key}"), f"fault-{key}")
