"""How the divisor is made of the spread v and eps, rightly and otherwise, as steps over the closed set of ops."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from operator import add, mul, sub

from ..axes import Axes
from ..program import Builder, Step
from ..run import Rule, Rules
from ..views.cells import float_recip, float_sqrt, larger

Build = Callable[[Builder, Axes], object]
FACTORS: Mapping[str, Callable[[float], float]] = {
    "1/n": lambda n: 1 / n,
    "1/sqrt(n)": lambda n: 1 / sqrt(n),
    "sqrt(n)": sqrt,
    "n": lambda n: n,
    "-1": lambda n: -1.0,
}


@dataclass(frozen=True)
class Division:
    """The steps from c, v, eps (and x, n) to xhat, and how they are written."""

    text: str
    build: Build


def _by(make: Callable[[Builder], object], then: str = "recip") -> Build:
    """c times a function of the last value made."""

    def build(to: Builder, over: Axes) -> None:
        last = str(make(to))
        to.let("xhat", "mul", "c", to.let("r", then, last))

    return build


def _root_plus(more: Callable[[Builder], str]) -> Build:
    return _by(lambda to: to.let("t", "add", to.let("s", "sqrt", "v"), more(to)))


def _inside(more: Callable[[Builder], str], op: str = "add") -> Build:
    return _by(lambda to: to.let("t", op, "v", more(to)), "rsqrt")


def _squared_eps(to: Builder) -> str:
    return to.let("e", "mul", "eps", "eps")


def _root_eps(to: Builder) -> str:
    return to.let("e", "sqrt", "eps")


def _eps(to: Builder) -> str:
    return "eps"


def _two_roots(to: Builder) -> object:
    return to.let("t", "add", to.let("s", "sqrt", "v"), "eps")


def _nested(to: Builder) -> object:
    return to.let("s", "sqrt", to.let("t", "add", "v", "eps"))


def _both(to: Builder) -> object:
    return to.let("u", "add", to.let("s", "sqrt", to.let("t", "add", "v", "eps")), "eps")


def _floor_of_root(to: Builder) -> object:
    return to.let("t", "maximum", to.let("s", "sqrt", "v"), "eps")


def _after(inside: bool) -> Build:
    """eps added to the normalized value."""

    def build(to: Builder, over: Axes) -> None:
        v = to.let("t", "add", "v", "eps") if inside else "v"
        divided = to.let("divided", "mul", "c", to.let("r", "rsqrt", v))
        to.let("xhat", "add", divided, "eps")

    return build


def _rescaled(of: str) -> Build:
    """x over its largest magnitude first, eps as it is afterwards."""

    def build(to: Builder, over: Axes) -> None:
        most = to.let("most", "max", to.let("size", "abs", of), over=over)
        small = to.let("small", "recip", most)
        spread = to.let("spread", "mul", to.let("once", "mul", "v", small), small)
        cells = to.let("cells", "mul", "c", small)
        to.let("xhat", "mul", cells, to.let("r", "rsqrt", to.let("t", "add", spread, "eps")))

    return build


def _multiplied(to: Builder, over: Axes) -> None:
    to.let("xhat", "mul", "c", to.let("s", "sqrt", to.let("t", "add", "v", "eps")))


def _none(to: Builder, over: Axes) -> None:
    to.let("xhat", "add", "c", Fraction(0))


DIVISIONS: Mapping[str, Division] = {
    "sqrt(v + eps)": Division("{c} / sqrt({v} + {eps})", _inside(_eps)),
    "sqrt(v) + eps": Division("{c} / (sqrt({v}) + {eps})", _root_plus(_eps)),
    "sqrt(v)": Division("{c} / sqrt({v})", _by(lambda to: "v", "rsqrt")),
    "v + eps": Division("{c} / ({v} + {eps})", _by(lambda to: to.let("t", "add", "v", "eps"))),
    "v": Division("{c} / {v}", _by(lambda to: "v")),
    "sqrt(sqrt(v) + eps)": Division("{c} / sqrt(sqrt({v}) + {eps})", _by(_two_roots, "rsqrt")),
    "sqrt(sqrt(v + eps))": Division("{c} / sqrt(sqrt({v} + {eps}))", _by(_nested, "rsqrt")),
    "sqrt(v + eps) + eps": Division("{c} / (sqrt({v} + {eps}) + {eps})", _by(_both)),
    "sqrt(v) + sqrt(eps)": Division("{c} / (sqrt({v}) + sqrt({eps}))", _root_plus(_root_eps)),
    "sqrt(v + eps^2)": Division("{c} / sqrt({v} + {eps}^2)", _inside(_squared_eps)),
    "sqrt(v + sqrt(eps))": Division("{c} / sqrt({v} + sqrt({eps}))", _inside(_root_eps)),
    "sqrt(max(v, eps))": Division("{c} / sqrt(max({v}, {eps}))", _inside(_eps, "maximum")),
    "max(sqrt(v), eps)": Division("{c} / max(sqrt({v}), {eps})", _by(_floor_of_root)),
    "sqrt(v) max sqrt(v + eps)": Division(
        "{c} / max(sqrt({v} + {eps}), {eps})",
        _by(lambda to: to.let("u", "maximum", to.let("s", "sqrt", to.let("t", "add", "v", "eps")), "eps")),
    ),
    "xhat + eps": Division("{c} / sqrt({v}) + {eps}", _after(False)),
    "xhat + eps, inside too": Division("{c} / sqrt({v} + {eps}) + {eps}", _after(True)),
    "x / max|x| first": Division("({c} of t) / sqrt({v} of t + {eps}) with t = x / max|x|", _rescaled("x")),
    "c / max|c| first": Division("t / sqrt({v} of t + {eps}) with t = c / max|c|", _rescaled("c")),
    "times sqrt(v + eps)": Division("{c} * sqrt({v} + {eps})", _multiplied),
    "none": Division("{c}", _none),
}


def _each(function: Callable[..., float]) -> Rule:
    def rule(step: Step, *args: float) -> float:
        return function(*args)

    return rule


# One cell in plain floats: no rule for a reduction, which needs the other cells.
ONE_CELL: Rules = {
    "add": _each(add),
    "sub": _each(sub),
    "mul": _each(mul),
    "maximum": _each(larger),
    "abs": _each(abs),
    "sqrt": _each(float_sqrt),
    "recip": _each(float_recip),
    "rsqrt": _each(lambda v: float_recip(float_sqrt(v))),
}
