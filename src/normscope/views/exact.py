"""The reading in exact numbers: the same program over fractions and named roots.

Up to the variance every value is a `Fraction`. Beyond it stands a root: `EXACT` opens it into a sum of
rational * sqrt(whole number), `NAMED` keeps it as it is, `1/sqrt(1/4)`.
"""

import re
from collections.abc import Iterable
from fractions import Fraction
from functools import reduce
from operator import add
from typing import Any

from ..errors import ExactError
from ..page.html import Html
from .cells import Numbers
from .opaque import MOST_BITS, Exact, Opaque, Undefined, sign, unopened
from .roots import Surd, root_of
from .writing import LATEX, MATHML, TEXT, Part, Style, Written, signed, whole

MOST_DIGITS = 1000  # of a number that is given, and decimals of one that is asked for
RATIONAL = re.compile(r"([+-]?[0-9]+)(?:\s*/\s*([0-9]+))?")
DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE]([+-]?[0-9]+))?")
EXAMPLES = "a whole number, a fraction such as 2/3 or a decimal such as 0.1"


def rational(value: Any, name: str = "x") -> Fraction:
    """A number exactly as it is written: "2/3", "0.1" is 1/10, a float is its shortest decimal.

    >>> rational("2/3"), rational(0.1), rational("-1e-5")
    (Fraction(2, 3), Fraction(1, 10), Fraction(-1, 100000))

    Raises ExactError for what is no finite number, or has more than 1,000 digits.
    """
    if isinstance(value, Fraction):
        return _short(value, name)
    if isinstance(value, (bool, bytes)) or value is None:
        raise ExactError(f"{name} holds {value!r}; give {EXAMPLES}.")
    if isinstance(value, int):
        return _short(Fraction(value), name)
    return _read(str(value).strip().replace("−", "-"), name)


def _read(text: str, name: str) -> Fraction:
    shown = f"'{text}'" if len(text) <= 20 else f"'{text[:20]}…'"
    if len(text) > 2 * MOST_DIGITS + 2:
        raise ExactError(f"{name} holds {shown}, a number of {len(text):,} characters; {_limit()}.")
    fraction, decimal = RATIONAL.fullmatch(text), DECIMAL.fullmatch(text)
    if not fraction and not decimal:
        raise ExactError(f"{name} holds {shown}; give {EXAMPLES}.")
    if fraction and fraction[2] and not int(fraction[2]):
        raise ExactError(f"{name} holds {shown}, which divides by 0; give {EXAMPLES}.")
    if decimal and decimal[1] and (len(decimal[1]) > 6 or abs(int(decimal[1])) > MOST_DIGITS):
        raise ExactError(f"{name} holds {shown}; {_limit()}.")
    return _short(Fraction(re.sub(r"\s", "", text)), name)


def _short(value: Fraction, name: str) -> Fraction:
    if max(abs(value.numerator), value.denominator) >= 10**MOST_DIGITS:
        raise ExactError(f"{name} holds a number of more than {MOST_DIGITS:,} digits; {_limit()}.")
    return value


def _limit() -> str:
    return f"a numerator and a denominator may have {MOST_DIGITS:,} digits each"


def root(value: Exact) -> Exact:
    """The square root: a named root of a rational, opaque for anything irrational, else undefined.

    >>> str(root(Fraction(14, 9))), str(root(Fraction(-1))), str(root(root(Fraction(2))))
    ('1/3*sqrt(14)', 'undefined: sqrt(-1)', 'sqrt(sqrt(2))')
    """
    if isinstance(value, Undefined):
        return value
    bounded = _bounded(value)
    is_symbolic = isinstance(bounded, Opaque) and bounded.is_symbolic  # and so taken to be positive
    if not is_symbolic and sign(bounded) < 0:
        return Undefined(f"sqrt({bounded})")
    known = bounded.rational if isinstance(bounded, Surd) else None
    return unopened("sqrt", bounded) if known is None else root_of(known)


def recip(value: Exact) -> Exact:
    """1 / value: exact for one term, opaque for a sum of several, undefined for 0.

    >>> str(recip(root(Fraction(2)))), str(recip(Fraction(0)))
    ('1/2*sqrt(2)', 'undefined: 1/0')
    """
    if isinstance(value, Undefined):
        return value
    if value == 0:
        return Undefined("1/0")
    if isinstance(value, Opaque):
        return unopened("recip", value)
    if isinstance(value, Surd):
        return value.recip() or unopened("recip", value)
    return 1 / Fraction(value)


def total(values: Iterable[Exact]) -> Exact:
    """The sum."""
    return reduce(add, values, Fraction(0))


def mean(values: Iterable[Exact], count: int) -> Exact:
    """The sum over a whole count; undefined for 0."""
    return total(values) * (Fraction(1, count) if count else Undefined("1/0"))


def named_root(value: Exact) -> Exact:
    """The root as it stands, `sqrt(1/4)`, not opened; 0 and what is undefined have nothing to open."""
    if isinstance(value, (Undefined, Opaque)) or sign(value) <= 0:
        return root(value)
    return unopened("sqrt", Surd.of(value))


def _same(value: Exact) -> Exact:
    return value


EXACT = Numbers(_same, total, mean, root, recip)
NAMED = Numbers(_same, total, mean, named_root, recip)


def digits(value: Exact, count: int) -> str:
    """The value with `count` decimals, correctly rounded (a tie to the even digit), certified by bounds.

    >>> digits(Fraction(1, 3), 4), digits(root(Fraction(2)), 20), digits(Fraction(1, 8), 2)
    ('0.3333', '1.41421356237309504880', '0.12')

    Raises ExactError for more than 1,000 decimals, and for a symbol.
    """
    if not 0 <= count <= MOST_DIGITS:
        raise ExactError(f"{count} decimals are asked for; 0 to {MOST_DIGITS:,} can be had.")
    if isinstance(value, Undefined):
        return str(value)
    bounded = _bounded(value)
    if isinstance(bounded, Surd) and bounded.rational is not None:
        return _placed(round(bounded.rational * 10**count), count)
    bits = 64 + 4 * count  # a decimal has 3.4 bits
    while bits <= MOST_BITS or isinstance(bounded, Surd):  # a sum of roots that is irrational is no tie
        ends = {_rounded(end, bits, count) for end in bounded.between(bits)}
        if len(ends) == 1:
            return _placed(ends.pop(), count)
        bits *= 2
    raise ExactError(f"{value} lies too near a tie for {count} decimals to be certified.")


def _bounded(value: int | Fraction | Surd | Opaque) -> Surd | Opaque:
    return value if isinstance(value, (Surd, Opaque)) else Surd.of(value)


def _rounded(end: int, bits: int, count: int) -> int:
    return round(Fraction(end * 10**count, 1 << bits))


def _placed(number: int, count: int) -> str:
    shown = whole(abs(number)).rjust(count + 1, "0")
    shown = f"{shown[:-count]}.{shown[-count:]}" if count else shown
    return f"-{shown}" if number < 0 else shown


def written(value: Exact, style: Style[Written]) -> Part[Written]:
    """Any exact number in a style."""
    return signed(style, Fraction(value)) if isinstance(value, (int, Fraction)) else value.written(style)


def text(value: Exact) -> str:
    """One line of plain text, such as `-2/7*sqrt(14)`."""
    return written(value, TEXT).written


def latex(value: Exact) -> str:
    r"""LaTeX without delimiters.

    >>> print(latex(root(Fraction(2, 3))))
    \frac{1}{3} \sqrt{6}
    """
    return written(value, LATEX).written


def mathml(value: Exact) -> Html:
    """MathML elements, to stand inside `math`."""
    return written(value, MATHML).written
