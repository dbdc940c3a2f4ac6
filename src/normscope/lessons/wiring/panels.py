"""The panels of "A named step": the mathematics of a box in exact numbers, the guess, the boundary."""

from fractions import Fraction

from ...block import SYMBOL, ExactTrace
from ...errors import NormscopeError
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
from .state import State, vector
from .words import sentences


def heading(trace: ExactTrace, key: str, at: int) -> Html:
    """The panel's title and its sentences."""
    name = "What was exact, and what was named" if key == CLOSING else title(trace, key).capitalize()
    body = group(el("h2", f"{at + 1}. {name}"), el("p", sentences(trace, key), class_="notice"))
    return region(el("div", body, id="heading", class_="heading panel"), "heading")


def mathematics(trace: ExactTrace, key: str, hidden: frozenset[str], opened: bool) -> Html:
    """The panel's box as formulas; on the closing panel those of all boxes."""
    keys = boxes_of(trace.program) if key == CLOSING else (key,)
    lines = [line for each in keys for line in _lines(trace, each, hidden, opened)]
    return region(el("div", *lines, id="mathematics", class_="formula"), "mathematics")


def _lines(trace: ExactTrace, key: str, hidden: frozenset[str], opened: bool) -> list[Html]:
    if key == NAMED:
        return _named(trace, opened)
    if key in hidden:
        return [equal(_letter(trace, key), _formula(trace, key), el("mi", "?"))]
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


def _formula(trace: ExactTrace, key: str) -> Html:
    return mathml(expression(trace.program, key))


def _numbers(trace: ExactTrace, key: str) -> Html:
    """The right-hand side of a step with its numbers: one for a statistic, else one a cell."""
    side = expression(trace.program, key, frozenset({"q"}))
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


def guess(state: State, trace: ExactTrace, key: str, wrong: Complaint) -> Html:
    """Predict, then reveal: a field for the person's answer, and what is to be said of it."""
    committed = dict(state.guesses)
    body: list[Html | None] = []
    if key in PREDICTED and key not in committed:
        cells = "" if not trace.axes(key) else f" ({trace.sizes['d']} numbers)"
        body = [
            entry(f"guess.{key}", f"Your answer for the {title(trace, key)}{cells}", "", wrong, 16),
            button("Show it", f"guess.{key}:"),
        ]
    elif committed.get(key):
        body = [_judgement(trace, key, committed[key])]
    return region(el("div", *body, id="guess", class_="guess", role="group", aria_label="Your answer"), "guess")


def _judgement(trace: ExactTrace, key: str, answer: str) -> Html:
    """Whether the answer is right, and else every mistake that gives exactly that number."""
    cells = vector(answer, "your answer")
    try:
        verdict = judged(trace, key, cells if trace.axes(key) else _single(cells))
    except NormscopeError as error:
        return el("p", f"{answer}: {error}", class_="wrong")
    if verdict.is_right:
        return el("p", f"{answer} is right.", class_="right")
    if not verdict.mistakes:
        return el("p", f"{answer} is not it, and no mistake known here gives it.", class_="wrong")
    mistakes = (el("li", mistake) for mistake in verdict.mistakes)
    return el("div", el("p", f"{answer} comes out when you"), el("ul", *mistakes), class_="wrong")


def _single(cells: list[Fraction]) -> object:
    return cells[0] if len(cells) == 1 else cells


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


def _digits(state: State, trace: ExactTrace) -> Html:
    name = last_of(trace, NAMED)
    items = (el("li", el("code", text)) for text in trace.digits(name, state.digits))
    about = el("p", f"{name}, every decimal certified, the last one rounded:", class_="hint")
    return el("div", about, el("ol", *items, start=0, tabindex=0, aria_label="decimals"), class_="digits")


def why(trace: ExactTrace) -> Html:
    """Why the step is named: some roots are fractions, most are not; and what eps does to that."""
    half, third = reading.root(Fraction(1, 4)), reading.root(Fraction(2, 3))
    lines = [
        equal(_root("1/4"), _drawn(half)),
        el("p", "is a fraction, but"),
        equal(_root("2/3"), _drawn(third)),
        el("p", "is none: no fraction squared gives 2/3. Whether the root opens to a fraction hangs on the vector."),
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
        f"Here eps decides it too: sqrt({reading.text(variance)}) is {plain}; with eps = 1/100000 the root is that of "
        f"{reading.text(with_eps)}, which is {moved}."
    )
