"""The panels of "A named step": the mathematics of a box in exact numbers, the guess, the boundary."""

from fractions import Fraction
from typing import NamedTuple

from ...block import SYMBOL, ExactTrace
from ...mistakes import check as judged
from ...page.controls import Complaint, button, check_box, entry
from ...page.html import Html, el, group, region
from ...page.math import equal
from ...page.math import vector as drawn
from ...views import exact as reading
from ...views.formula import ROOT, expression, substituted, symbol
from ...views.notation import Expr, mathml
from ...views.opaque import Exact
from .fold import CLOSING, NAMED, PREDICTED, boxes_of, last_of, title
from .fold import vector as line
from .state import State, vector
from .words import sentences

SQUARES = frozenset({"q"})  # they stand inside the variance
ASKED = {"mu": "the mean", "c": "the centered vector", "var": "the variance"}


class Verdict(NamedTuple):
    """Of an answer: `right` or `wrong`, a sentence, and the mistakes that end it."""

    word: str
    told: str
    mistakes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.told} {', or '.join(self.mistakes)}{'.' * bool(self.mistakes)}"


def heading(trace: ExactTrace, key: str, at: int) -> Html:
    """The panel's title and its sentences."""
    name = "What was exact, and what was named" if key == CLOSING else title(trace, key).capitalize()
    body = group(el("h2", f"{at + 1}. {name}"), el("p", sentences(trace, key), class_="notice"))
    return region(el("div", body, id="heading", class_="heading panel"), "heading")


def rule(trace: ExactTrace, key: str) -> Html:
    """How the panel's box is computed, in letters; the named box and the closing panel say it beside the numbers."""
    exact = key in boxes_of(trace.program) and key != NAMED
    line = equal(_letter(trace, key), mathml(expression(trace.program, key, SQUARES))) if exact else None
    return region(el("div", line, id="rule", class_="formula"), "rule")


def mathematics(trace: ExactTrace, key: str, hidden: frozenset[str], opened: bool) -> Html:
    """The panel's box as formulas; on the closing panel those of all boxes."""
    keys = boxes_of(trace.program) if key == CLOSING else (key,)
    lines = [line for each in keys for line in _lines(trace, each, hidden, opened)]
    frame = {
        "tabindex": 0,
        "role": "group",
        "aria_label": "In numbers",
    }  # long ones scroll in it, from the keyboard too
    return region(el("div", *lines, id="mathematics", class_="formula", **frame), "mathematics")


def _lines(trace: ExactTrace, key: str, hidden: frozenset[str], opened: bool) -> list[Html]:
    if key == NAMED:
        return _named(trace, opened)
    if key in hidden:
        return [equal(_letter(trace, key), el("mi", "?"))]
    return [equal(_letter(trace, key), _numbers(trace, key), _value(trace, key))]


def _named(trace: ExactTrace, opened: bool) -> list[Html]:
    """The steps behind the boundary: by their names, and opened by their closed forms."""
    lines = []
    for name in ("xhat", *(step.name for step in trace.program if step.name == "y")):
        sides = [mathml(expression(trace.program, name, ROOT)), drawn(trace.written(name, named=True, form=_drawn))]
        if opened and trace.eps != SYMBOL:
            sides.append(drawn(trace.written(name, form=_drawn)))
        lines.append(equal(_letter(trace, name), *sides))
    return lines


def _drawn(value: Exact) -> Html:
    return reading.mathml(value)


def _letter(trace: ExactTrace, name: str) -> Html:
    return mathml(symbol(trace.program, name))


def _numbers(trace: ExactTrace, key: str) -> Html:
    """The right-hand side of a step with its numbers: one for a statistic, else one a cell."""
    side = expression(trace.program, key, SQUARES)
    cells = {name: _texts(trace, name) for name in trace.program.values if name not in trace.behind}
    if not trace.axes(key):
        return mathml(substituted(side, cells.__getitem__, trace.sizes))
    return drawn([mathml(_cell(side, cells, k, trace)) for k in range(trace.sizes["d"])])


def _cell(side: Expr, cells: dict[str, list[str]], k: int, trace: ExactTrace) -> Expr:
    return substituted(side, lambda name: [cells[name][min(k, len(cells[name]) - 1)]], trace.sizes)


def _texts(trace: ExactTrace, name: str) -> list[str]:
    if name in trace.inputs:
        given = trace.inputs[name]
        return [reading.text(cell) for cell in (given if isinstance(given, list) else [given])]
    return list(trace.written(name))


def _value(trace: ExactTrace, name: str) -> Html:
    return drawn(trace.written(name, form=_drawn))


def guess(state: State, trace: ExactTrace, key: str, verdict: Verdict | None, wrong: Complaint) -> Html:
    """Predict, then reveal: a field for the person's answer, and what is to be said of it."""
    committed = dict(state.guesses)
    body: list[Html | None] = []
    if key in PREDICTED:
        asked = ASKED[key] if trace.norm.center else "the mean square"
        count = trace.sizes["d"] if trace.axes(key) else 1
        label = f"Your answer for {asked}, {'one number' if count == 1 else f'{count} numbers'}"
        answer = committed.get(key, "")
        body = [
            entry(f"guess.{key}", label, answer, wrong, 16, "text"),
            button("Show it", f"guess.{key}:", disabled=key in committed),
            _judgement(verdict) if verdict else None,
        ]
    return region(el("div", *body, id="guess", class_="guess", role="group", aria_label="Your answer"), "guess")


def _judgement(verdict: Verdict) -> Html:
    """Whether the answer is right, and else every mistake that gives exactly that number."""
    listed = el("ul", *(el("li", mistake) for mistake in verdict.mistakes)) if verdict.mistakes else None
    return el("div", el("p", verdict.told), listed, class_=verdict.word)


def verdict_of(state: State, trace: ExactTrace, key: str) -> Verdict | None:
    """What is to be said of the answer to this box, if one was committed."""
    answer = dict(state.guesses).get(key) if key in PREDICTED else None
    if not answer:
        return None
    found = judged(trace, key, vector(answer, "your answer"))
    if found.is_right:
        return Verdict("right", f"{answer} is right.")
    if not found.mistakes:
        return Verdict("wrong", f"{answer} is not it, and no mistake known here gives it.")
    return Verdict("wrong", f"{answer} is not it. It comes out when you", tuple(found.mistakes))


def boundary(state: State, trace: ExactTrace, key: str, wrong: Complaint) -> Html:
    """The switch that opens the root, and behind it as many decimals as asked for."""
    body: list[Html | None] = []
    if key in (NAMED, CLOSING):
        body.append(check_box("opened", "Open the boundary", state.opened))
        if state.opened and trace.eps == SYMBOL:
            asked = "eps is a symbol: give it a value, and there are closed forms and digits."
            body.append(el("p", asked, class_="hint"))
        elif state.opened:
            body += [entry("digits", "Decimals", str(state.digits), wrong, 5), _digits(state, trace)]
    return region(el("div", *body, id="boundary", class_="boundary"), "boundary")


def said(state: State, trace: ExactTrace, key: str, place: str, is_asked: bool, verdict: Verdict | None) -> str:
    """What a change of the page is, in a sentence or two; the drawing has its own description."""
    if key == CLOSING:
        return f"{place}. {sentences(trace, key)}"
    if is_asked:
        return f"{place}. Your answer is awaited."
    value = line(trace, last_of(trace, key), state.opened)
    return f"{place}, computed in this step: {value}. {verdict or ''}".rstrip()


def _digits(state: State, trace: ExactTrace) -> Html:
    name = last_of(trace, NAMED)
    items = (el("li", el("code", text)) for text in trace.digits(name, state.digits))
    about = el("p", f"{name}, every decimal certified, the last one rounded:", class_="hint")
    return el("div", about, el("ol", *items, tabindex=0, aria_label="decimals"), class_="digits")


def why(trace: ExactTrace) -> Html:
    """Why the step is named: some roots are fractions, most are not; and what eps does to that."""
    half, third = reading.root(Fraction(1, 4)), reading.root(Fraction(2, 3))
    lines = [
        equal(_root("1/4"), _drawn(half)),
        el("p", "is a fraction, but"),
        equal(_root("2/3"), _drawn(third)),
        el("p", "is none: no fraction squared gives 2/3. Whether the root opens to a fraction depends on the vector."),
        el("p", _eps_matters(trace)),
    ]
    return el("details", el("summary", "Why is this step named?"), el("div", *lines), class_="why")


def _root(of: str) -> Html:
    return el("msqrt", _drawn(Fraction(of)))


def _eps_matters(trace: ExactTrace) -> str:
    """What an eps of 1/100000 does to the root of this very variance."""
    (variance,) = trace["var"]
    with_eps = variance + Fraction(1, 100_000)
    plain, moved = (reading.text(reading.root(value)) for value in (variance, with_eps))
    return (
        f"And on eps. For this vector sqrt({reading.text(variance)}) is {plain}; with eps = 1/100000 the root is that "
        f"of {reading.text(with_eps)}, which is {moved}."
    )
