"""Both definitions as formulas, and which lines of the wrong one differ."""

from functools import lru_cache
from typing import NamedTuple

from ...page.html import Html, el, group, region
from ...views.formats import FORMATS
from ...views.formula import expression, symbol
from ...views.notation import Call, Expr, Symbol, equation, text
from .side import Side
from .slips import Exhibit


class Formula(NamedTuple):
    """`left = right`; whether the other side has no such line."""

    left: Symbol
    right: Expr
    differs: bool = False

    def __str__(self) -> str:
        return f"{text(self.left)} = {text(self.right)}"


def formulas(exhibit: Exhibit, side: Side) -> tuple[Formula, ...]:
    """The lines of one side: its shown steps, and the output.

    >>> from .catalogue import EXHIBITS
    >>> exhibit = EXHIBITS["eps-outside-root"]
    >>> print(*formulas(exhibit, exhibit.wrong)[1:], sep="\\n")
    var[s] = sum_i (x[s,i] - mu[s])^2 / d
    y[s,i] = (x[s,i] - mu[s]) / (sqrt(var[s]) + eps) * gamma[i] + beta[i]
    """
    kept = dict(side.keep)
    opened = frozenset(side.program.by_name) - {*side.shown, *exhibit.named}

    def line(name: str) -> Formula:
        left, right = (
            symbol(side.program, name),
            expression(side.program, name, opened),
        )
        if name in kept:
            right = Call(FORMATS[kept[name]].short, (right,))
        return Formula(Symbol("y", left.index) if name == "xhat" == side.output else left, right)

    return tuple(map(line, (*side.shown, side.output)))


@lru_cache(maxsize=128)
def compared(exhibit: Exhibit) -> tuple[tuple[Formula, ...], tuple[Formula, ...]]:
    """The lines of both sides; those of each that the other lacks are marked."""
    right, wrong = formulas(exhibit, exhibit.right), formulas(exhibit, exhibit.wrong)

    def marked(lines: tuple[Formula, ...], others: tuple[Formula, ...]) -> tuple[Formula, ...]:
        known = set(map(str, others))
        return tuple(line._replace(differs=str(line) not in known) for line in lines)

    return marked(right, wrong), marked(wrong, right)


def drawn(exhibit: Exhibit) -> Html:
    """Both definitions side by side."""
    right, wrong = compared(exhibit)
    body = (_column("right", "The right one", "✓", right), _column("wrong", "This one", "✗", wrong))
    return region(el("div", *body, id="definitions", class_="sides"), "definitions")


def _column(word: str, title: str, icon: str, lines: tuple[Formula, ...]) -> Html:
    named = {"tabindex": 0, "role": "group", "aria_label": f"{title}, as formulas"}
    drawings = (_line(line) for line in lines)
    return el(
        "section",
        el("h3", el("span", icon, aria_hidden="true"), f" {title}"),
        el("div", *drawings, class_="formula", **named),
        class_=f"definition {word}",
    )


def _line(line: Formula) -> Html:
    mark = el("span", "≠ differs", class_="mark") if line.differs else None
    return el("div", group(equation(line.left, line.right)), mark, class_="differs" if line.differs else None)
