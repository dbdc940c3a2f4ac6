"""Formulas as trees, and how a tree is written: MathML, LaTeX, text."""

from collections.abc import Mapping
from dataclasses import dataclass

from ..axes import Axes
from ..page.html import Html, el, group

# Name: (MathML, LaTeX). RMSNorm's variance is a mean square and has a letter of its own.
LETTERS: Mapping[str, tuple[str, str]] = {
    "mu": ("μ", r"\mu"),
    "var": ("σ²", r"\sigma^2"),
    "mean square": ("m", "m"),
    "xhat": ("x̂", r"\hat{x}"),
    "gamma": ("γ", r"\gamma"),
    "beta": ("β", r"\beta"),
    "eps": ("ε", r"\varepsilon"),
    "scaled": ("s", "s"),
    "xr": ("(x·r)", r"(x\,r)"),
    "mr": ("(μ·r)", r"(\mu\,r)"),
    "gain": ("(1+w)", "(1+w)"),
    "factor": ("g", "g"),
    "running_mean": ("μ̄", r"\bar{\mu}"),
    "running_var": ("σ̄²", r"\bar{\sigma}^2"),
    "new_running_mean": ("μ̄′", r"\bar{\mu}'"),
    "new_running_var": ("σ̄²′", r"\bar{\sigma}^{2\prime}"),
    # Gradients of a loss, each by what it is the gradient of; a mean of cells stands in angle brackets.
    "dgamma": ("dγ", r"d\gamma"),
    "dbeta": ("dβ", r"d\beta"),
    "dxhat": ("dx̂", r"d\hat{x}"),
    "dmu": ("dμ", r"d\mu"),
    "dvar": ("dσ²", r"d\sigma^2"),
    "dy_xhat": ("(dy·x̂)", r"(dy\,\hat{x})"),
    "dxhat_xhat": ("(dx̂·x̂)", r"(d\hat{x}\,\hat{x})"),
    "mean_dxhat": ("⟨dx̂⟩", r"\langle d\hat{x} \rangle"),
    "mean_dxhat_xhat": ("⟨dx̂·x̂⟩", r"\langle d\hat{x}\,\hat{x} \rangle"),
    "centered": ("dx̂°", r"d\hat{x}^\circ"),
    "along": ("dx̂∥", r"d\hat{x}^\parallel"),
    "across": ("dx̂⊥", r"d\hat{x}^\perp"),
}


@dataclass(frozen=True)
class Symbol:
    """A value of the program with the index letters of its axes; a letter other than its name's, if it has one."""

    name: str
    index: Axes = ()
    alias: str = ""


@dataclass(frozen=True)
class Literal:
    """A number, as it is to be shown."""

    text: str


@dataclass(frozen=True)
class Size:
    """The size of an axis."""

    axis: str


@dataclass(frozen=True)
class Infix:
    """left sign right, for + - and ·."""

    sign: str
    left: "Expr"
    right: "Expr"


@dataclass(frozen=True)
class Ratio:
    """top / bottom."""

    top: "Expr"
    bottom: "Expr"


@dataclass(frozen=True)
class Root:
    """The square root."""

    of: "Expr"


@dataclass(frozen=True)
class Square:
    """base * base."""

    base: "Expr"


@dataclass(frozen=True)
class Total:
    """The sum of body over the index letters, or of the listed terms."""

    index: Axes
    body: "Expr"


@dataclass(frozen=True)
class Call:
    """A named function, over the index letters where it reduces."""

    name: str
    args: tuple["Expr", ...]
    index: Axes = ()


Expr = Symbol | Literal | Size | Infix | Ratio | Root | Square | Total | Call
ONE = Literal("1")


def _strength(e: Expr) -> int:
    match e:
        case Infix():
            return 2 if e.sign == "·" else 1
        case Total():
            return 2
        case Ratio():
            return 3
        case Literal(text):
            return 1 if text.startswith(("-", "−")) or " " in text else 3 if "/" in text else 9
    return 9


def _sides(e: Infix) -> tuple[bool, bool]:
    """Which sides of an infix need parentheses."""
    own = _strength(e)
    left = _strength(e.left) < own
    right = _strength(e.right) < own or (_strength(e.right) == own and (e.sign == "-" or isinstance(e.right, Literal)))
    return left, right


def text(e: Expr) -> str:
    """One line of plain text."""

    def wrap(part: Expr, needed: bool) -> str:
        return f"({text(part)})" if needed else text(part)

    match e:
        case Symbol():
            return e.name + (f"[{','.join(e.index)}]" if e.index else "")
        case Literal():
            return e.text
        case Size():
            return e.axis
        case Infix():
            left, right = _sides(e)
            return f"{wrap(e.left, left)} {'*' if e.sign == '·' else e.sign} {wrap(e.right, right)}"
        case Ratio():
            return f"{wrap(e.top, _strength(e.top) < 2)} / {wrap(e.bottom, _strength(e.bottom) < 9)}"
        case Root():
            return f"sqrt({text(e.of)})"
        case Square():
            return f"{wrap(e.base, _strength(e.base) < 9)}^2"
        case Total():
            return f"sum_{','.join(e.index)} {wrap(e.body, _strength(e.body) < 2)}"
    over = f"_{','.join(e.index)}" if e.index else ""
    return f"{e.name}{over}({', '.join(map(text, e.args))})"


def latex(e: Expr) -> str:
    """LaTeX, without delimiters.

    >>> latex(Ratio(ONE, Root(Infix("+", Symbol("var", ("b",)), Symbol("eps")))))
    '\\\\frac{1}{\\\\sqrt{\\\\sigma^2_{b} + \\\\varepsilon}}'
    """

    def wrap(part: Expr, needed: bool) -> str:
        return rf"\left({latex(part)}\right)" if needed else latex(part)

    match e:
        case Symbol():
            letter = LETTERS.get(e.alias or e.name, ("", e.name))[1]
            return letter + (f"_{{{','.join(e.index)}}}" if e.index else "")
        case Literal():
            return e.text.replace("−", "-").replace("…", r"\dots")
        case Size():
            return e.axis
        case Infix():
            left, right = _sides(e)
            sign = r"\cdot" if e.sign == "·" else e.sign
            return f"{wrap(e.left, left)} {sign} {wrap(e.right, right)}"
        case Ratio():
            return rf"\frac{{{latex(e.top)}}}{{{latex(e.bottom)}}}"
        case Root():
            return rf"\sqrt{{{latex(e.of)}}}"
        case Square():
            return f"{wrap(e.base, True)}^2" if isinstance(e.base, (Infix, Literal)) else f"{{{latex(e.base)}}}^2"
        case Total():
            return rf"\sum_{{{','.join(e.index)}}} {latex(e.body)}"
    over = f"_{{{','.join(e.index)}}}" if e.index else ""
    return rf"\operatorname{{{e.name}}}{over}\left({', '.join(map(latex, e.args))}\right)"


def mathml(e: Expr) -> Html:
    """MathML elements, to stand inside `math`."""

    def wrap(part: Expr, needed: bool) -> Html:
        return el("mrow", el("mo", "("), mathml(part), el("mo", ")")) if needed else mathml(part)

    match e:
        case Symbol():
            letter = el("mi", LETTERS.get(e.alias or e.name, (e.name, ""))[0])
            return el("msub", letter, el("mi", ",".join(e.index))) if e.index else letter
        case Literal():
            return _literal(e.text)
        case Size():
            return el("mi", e.axis)
        case Infix():
            left, right = _sides(e)
            return el("mrow", wrap(e.left, left), el("mo", "−" if e.sign == "-" else e.sign), wrap(e.right, right))
        case Ratio():
            return el("mfrac", mathml(e.top), mathml(e.bottom))
        case Root():
            return el("msqrt", mathml(e.of))
        case Square():
            return el("msup", wrap(e.base, _strength(e.base) < 9), el("mn", "2"))
        case Total():
            return el("mrow", el("munder", el("mo", "∑"), el("mi", ",".join(e.index))), mathml(e.body))
    name = el("mi", e.name)
    name = el("munder", name, el("mi", ",".join(e.index))) if e.index else name
    return el("mrow", name, el("mo", "("), *map(mathml, e.args), el("mo", ")"))


def _literal(text: str) -> Html:
    if "/" not in text:
        return el("mn", text) if text[-1].isdigit() else el("mi", text)
    top, _, bottom = text.lstrip("-−").partition("/")
    fraction = el("mfrac", el("mn", top), el("mn", bottom))
    return el("mrow", el("mo", "−"), fraction) if text[0] in "-−" else fraction


def equation(left: Expr, *rights: Expr, block: bool = True) -> Html:
    """`left = right = ...` as a `math` element."""
    sides = group(*(group(el("mo", "="), mathml(right)) for right in rights))
    return el("math", el("mrow", mathml(left), sides), display="block" if block else None)
