"""The figures of the selected row: numbers put into the formulas, cards, and the text that is read aloud."""

import math
from decimal import Decimal
from functools import lru_cache

from ...page.html import Html, el, group, region
from ...page.numbers import fixed, general, plain
from ...views.formula import FOLDED, ROOT, expression, substituted, symbol
from ...views.notation import Expr, Infix, Literal, Ratio, Size, Symbol, equation
from .state import eps_of
from .view import ROW, View

CENTERED = ROOT | {"c"}  # z with its mean and its root in sight
PLAINEST = 1e-12  # an eps below it is written with an exponent


def lines(view: View) -> Html:
    """z and y of the selection: each formula, and the same with the selected numbers in it."""
    numbers = zip(_letters(), z_y(*substitution(view)), strict=True)
    drawn = (_line(letters, name, right, view.cell(value)) for letters, (name, value, right) in numbers)
    body = el("div", *drawn, class_="lines")
    return el("section", body, _note(view), class_="formulas", aria_label="The formulas with the selected numbers")


def _note(view: View) -> Html:
    """How the numbers were computed; where float64 has no number for them, why."""
    trouble = _trouble(view)
    text = trouble or "Rounded for display, computed in full precision."
    return region(el("p", text, id="precision", class_="notice" if trouble else "hint"), "precision")


def _trouble(view: View) -> str:
    variance, v, z = view.now.one("var", view.token), view.now.one("v", view.token), view.cell("xhat")
    if not math.isfinite(v):
        what = "comes out 0" if z == 0 else "is no number"
        return f"Beyond float64: a square overflows, the variance is {fixed(variance)}, and so z {what}."
    if not v and z != z:
        return "The denominator is 0, since eps is: here z = 0/0, which is no number (NaN)."
    return "" if v else "Below float64: every square is 0, and so is the denominator, since eps is."


def _line(letters: Html, name: str, right: Expr, value: float) -> Html:
    id = f"numbers-{name}"
    numbers = el("div", equation(Literal(name), right, Literal(fixed(value))), id=id, class_="numbers")
    return el("div", letters, region(numbers, id), class_="line")


def z_y(z: Expr, y: Expr) -> tuple[tuple[str, str, Expr], ...]:
    """The two lines: the letter of the page, the name of the step, the right-hand side."""
    return ("z", "xhat", z), ("y", "y", y)


@lru_cache(maxsize=1)
def formulas() -> tuple[Expr, Expr]:
    """z and y in letters, read from the program of one row."""
    return expression(ROW, "xhat", CENTERED), _scale_first(expression(ROW, "y", FOLDED | {"scaled"}))


def _scale_first(y: Expr) -> Expr:
    """The program multiplies z by gamma; people write gamma first, and this page z for xhat."""
    match y:
        case Infix(sign, Infix(times, Symbol("xhat", index), gamma), beta):
            return Infix(sign, Infix(times, gamma, Symbol("z", index)), beta)
    raise ValueError(y)


@lru_cache(maxsize=1)
def _letters() -> tuple[Html, ...]:
    index = ROW.axes and symbol(ROW, "x").index
    return tuple(equation(Symbol(letter, index), right) for letter, _, right in z_y(*formulas()))


def substitution(view: View) -> tuple[Expr, Expr]:
    """The right-hand sides of z and y with the selected numbers in them."""
    z, y = (substituted(each, lambda name: [_leaf(view, name)], {}) for each in formulas())
    return z, y


def _leaf(view: View, name: str) -> str:
    """A number as these lines write it: what is subtracted and what is multiplied in parentheses."""
    if name == "eps":
        return written_eps(view.state.eps)
    if name in ("gamma", "beta"):
        return _at_least_two(getattr(view.state, name)[view.feature])
    if name == "mu":
        return f"({fixed(view.mean)})"
    return f"({fixed(view.cell('xhat'))})" if name == "z" else fixed(view.cell(name))


def written_eps(text: str) -> str:
    """eps in a formula: as a decimal, unless it is very small."""
    value = eps_of(text)
    return general(value) if 0 < value < PLAINEST else f"{Decimal(plain(value)):f}"


def _at_least_two(value: float) -> str:
    """Up to six decimals, but for zeros after the second.

    >>> _at_least_two(1.2), _at_least_two(-0.125)
    ('1.20', '−0.125')
    """
    text = fixed(value)
    whole, point, decimals = text.partition(".")
    return text if "e" in text or not point else f"{whole}.{decimals.rstrip('0'):0<2}"


def cards(view: View) -> Html:
    """Three cards: the row's mean, its variance, the spread of its outputs. Every number is a region."""
    return el("div", _mean(view), _variance(view), _spread(view), class_="cards")


def _mean(view: View) -> Html:
    figures = (("normalized mean", view.spread["xhat"][0]), ("output mean", view.spread["y"][0]))
    return _card("mean", "Row mean", view.mean, _definition("mu", view.state.size[1]), figures)


def _variance(view: View) -> Html:
    variance, v = view.now.one("var", view.token), view.now.one("v", view.token)
    figures = (("raw std", variance**0.5), ("denominator √(variance + eps)", v**0.5))
    return _card("variance", "Variance", variance, _definition("var", view.state.size[1]), figures)


def _spread(view: View) -> Html:
    figures = (("var(z) = variance / (variance + eps)", view.spread["xhat"][1]),)
    return _card("spread", "Output std, around y’s own mean", view.spread["y"][1] ** 0.5, _output(), figures)


@lru_cache(maxsize=1)
def _output() -> Html:
    return equation(Symbol("y", symbol(ROW, "x").index), formulas()[1], block=False)


@lru_cache(maxsize=64)
def _definition(name: str, features: int) -> Html:
    """The formula of a statistic with the count of features in it."""
    match expression(ROW, name, FOLDED | {"c", "q"}):
        case Ratio(total, Size()):
            return equation(symbol(ROW, name), Ratio(total, Literal(str(features))), block=False)
    raise ValueError(name)


def _card(id: str, title: str, value: float, definition: Html, figures: tuple[tuple[str, float], ...]) -> Html:
    told = (
        group(el("dt", name), _figure("dd", f"{id}-{at}", fixed(number))) for at, (name, number) in enumerate(figures)
    )
    figure = _figure("p", id, fixed(value, 4), class_="figure")
    return el("div", el("h3", title), figure, definition, el("dl", *told), class_="card")


def _figure(tag: str, id: str, number: str, **more: str) -> Html:
    return region(el(tag, number, id=f"card-{id}", **more), f"card-{id}")


def said(view: View) -> str:
    """The selection in one breath, for screen readers."""
    feature = f"feature {view.feature + 1}"
    v = view.now.one("v", view.token)
    return (
        f"{view.name}, {feature}. Row mean {fixed(view.mean, 4)}, variance {fixed(view.now.one('var', view.token))}, "
        f"denominator {fixed(v**0.5)}. x {fixed(view.cell('x'), 2)}, z {fixed(view.cell('xhat'))}, "
        f"y {fixed(view.cell('y'))}. Scale {_at_least_two(view.state.gamma[view.feature])} and shift "
        f"{_at_least_two(view.state.beta[view.feature])}, shared with {feature} of the other tokens."
    )
