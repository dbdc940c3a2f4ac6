"""How exact numbers are written: one style each for text, LaTeX and MathML, which knows no kind of number.

A value writes itself in any style from a handful of parts; `whole` writes the digits of any whole number.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Generic, TypeVar

from ..page.html import Html, el

Written = TypeVar("Written", str, Html)


@dataclass(frozen=True)
class Part(Generic[Written]):
    """A piece that is written, and what may stand beside it: `1/2`, `1 + sqrt(2)`.

    kind  "atom" stands anywhere, "ratio" and "product" not under a division, "sum" not in a product
    """

    written: Written
    kind: str = "atom"


def whole(n: int) -> str:
    """A whole number in decimal, however long.

    >>> whole(-12), len(whole(10**9999))
    ('-12', 10000)
    """
    return str(Decimal(n))  # str(n) refuses more than 4,300 digits, and takes time by their square


def ratio(q: Fraction) -> str:
    """A rational in text, however long.

    >>> ratio(Fraction(-1, 2)), ratio(Fraction(3))
    ('-1/2', '3')
    """
    return whole(q.numerator) + ("" if q.denominator == 1 else f"/{whole(q.denominator)}")


class Style(Generic[Written]):
    """The parts that exact numbers are written with; sizes are never negative, signs belong to sums."""

    def rational(self, size: Fraction) -> Part[Written]:
        """A rational."""
        raise NotImplementedError

    def name(self, name: str) -> Part[Written]:
        """A symbol, or words."""
        raise NotImplementedError

    def root(self, of: Part[Written]) -> Part[Written]:
        """The square root."""
        raise NotImplementedError

    def product(self, parts: Sequence[Part[Written]]) -> Part[Written]:
        """One or more factors."""
        raise NotImplementedError

    def over(self, top: Part[Written], bottom: Part[Written]) -> Part[Written]:
        """A quotient."""
        raise NotImplementedError

    def total(self, terms: Sequence[tuple[bool, Part[Written]]]) -> Part[Written]:
        """One or more terms, each with whether it is subtracted."""
        raise NotImplementedError


def _wrapped(part: Part[str], kinds: str) -> str:
    return f"({part.written})" if part.kind in kinds.split() else part.written


class _Line(Style[str]):
    """Products and sums on one line, as text and as LaTeX write them."""

    times: str

    def fenced(self, part: Part[str]) -> str:
        """A part of a product or of a sum, in parentheses where it needs them."""
        raise NotImplementedError

    def product(self, parts: Sequence[Part[str]]) -> Part[str]:
        if len(parts) == 1:
            return parts[0]
        return Part(self.times.join(map(self.fenced, parts)), "product")

    def total(self, terms: Sequence[tuple[bool, Part[str]]]) -> Part[str]:
        (negative, first), *rest = terms
        text = f"-{self.fenced(first)}" if negative else first.written
        text += "".join(f" {'-' if minus else '+'} {self.fenced(part)}" for minus, part in rest)
        return Part(text, "sum") if rest or negative else first


class Text(_Line):
    """One line of plain text: `1/2 - 2/7*sqrt(14)`."""

    times = "*"

    def rational(self, size: Fraction) -> Part[str]:
        return Part(ratio(size), "atom" if size.denominator == 1 else "ratio")

    def name(self, name: str) -> Part[str]:
        return Part(name)

    def root(self, of: Part[str]) -> Part[str]:
        return Part(f"sqrt({of.written})")

    def fenced(self, part: Part[str]) -> str:
        return _wrapped(part, "sum")

    def over(self, top: Part[str], bottom: Part[str]) -> Part[str]:
        return Part(f"{_wrapped(top, 'sum ratio')}/{_wrapped(bottom, 'sum ratio product')}", "ratio")


class Latex(_Line):
    """LaTeX without delimiters: `\\frac{1}{2} - \\frac{2}{7} \\sqrt{14}`."""

    times = " "

    def rational(self, size: Fraction) -> Part[str]:
        top, bottom = whole(size.numerator), whole(size.denominator)
        return Part(top if size.denominator == 1 else rf"\frac{{{top}}}{{{bottom}}}")

    def name(self, name: str) -> Part[str]:
        return Part(r"\varepsilon" if name == "eps" else rf"\text{{{name}}}")

    def root(self, of: Part[str]) -> Part[str]:
        return Part(rf"\sqrt{{{of.written}}}")

    def fenced(self, part: Part[str]) -> str:
        return _parens(part)

    def over(self, top: Part[str], bottom: Part[str]) -> Part[str]:
        return Part(rf"\frac{{{top.written}}}{{{bottom.written}}}")


def _parens(part: Part[str]) -> str:
    return rf"\left({part.written}\right)" if part.kind == "sum" else part.written


class MathML(Style[Html]):
    """MathML elements, to stand inside `math`."""

    def rational(self, size: Fraction) -> Part[Html]:
        top = el("mn", whole(size.numerator))
        return Part(top if size.denominator == 1 else el("mfrac", top, el("mn", whole(size.denominator))))

    def name(self, name: str) -> Part[Html]:
        return Part(el("mi", "ε") if name == "eps" else el("mtext", name))

    def root(self, of: Part[Html]) -> Part[Html]:
        return Part(el("msqrt", of.written))

    def product(self, parts: Sequence[Part[Html]]) -> Part[Html]:
        if len(parts) == 1:
            return parts[0]
        first, *rest = map(_fenced, parts)
        times = (piece for part in rest for piece in (el("mo", "\u2062"), part))  # invisible times
        return Part(el("mrow", first, *times), "product")

    def over(self, top: Part[Html], bottom: Part[Html]) -> Part[Html]:
        return Part(el("mfrac", top.written, bottom.written))

    def total(self, terms: Sequence[tuple[bool, Part[Html]]]) -> Part[Html]:
        (negative, first), *rest = terms
        if not rest and not negative:
            return first
        pieces = [el("mo", "−"), _fenced(first)] if negative else [first.written]
        for minus, part in rest:
            pieces += [el("mo", "−" if minus else "+"), _fenced(part)]
        return Part(el("mrow", *pieces), "sum")


def _fenced(part: Part[Html]) -> Html:
    return el("mrow", el("mo", "("), part.written, el("mo", ")")) if part.kind == "sum" else part.written


TEXT, LATEX, MATHML = Text(), Latex(), MathML()


def signed(style: Style[Written], value: Fraction) -> Part[Written]:
    """A rational with its sign."""
    return style.total([(value < 0, style.rational(abs(value)))])
