"""Exact numbers beyond sums of roots: values without a closed form, symbols, and what is undefined.

    Opaque     a sum of coefficient * atoms; an atom is the root of something irrational, the reciprocal of a
               sum of roots, a root that is not opened yet, or a symbol such as eps
    Undefined  0/0 and its kin; whatever is computed with it is undefined too

Equality of opaque values is that of their terms: equal terms are equal values, and terms that differ may
still be. Bounds are certified; where they never decide (the value is 0, or a tie), an ExactError says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isqrt
from typing import Union

from ..errors import ExactError
from .roots import FIRST_BITS, Interval, Rational, Surd, sign_of
from .writing import TEXT, Part, Style, Written

MOST_BITS = 1 << 14  # refining an opaque value ends here

Exact = Union[Rational, Surd, "Opaque", "Undefined"]
Terms = Mapping[tuple["Atom", ...], Surd]


@dataclass(frozen=True)
class Atom:
    """sqrt or recip of a value, or a symbol by its name."""

    op: str
    of: "Surd | Opaque | None" = None
    name: str = ""

    def between(self, bits: int) -> Interval:
        """Whole numbers low and high with low <= value * 2^bits <= high."""
        if self.of is None:
            raise ExactError(f"digits need a value for {self.name}; give one, such as 1/100000.")
        return _sqrt_bounds(self.of, bits) if self.op == "sqrt" else _recip_bounds(self.of, bits)

    @property
    def is_symbolic(self) -> bool:
        """Whether a symbol stands in it."""
        return self.of is None or (isinstance(self.of, Opaque) and self.of.is_symbolic)

    def written(self, style: Style[Written]) -> Part[Written]:
        """The root or the symbol; of a reciprocal what stands below the line."""
        if self.of is None:
            return style.name(self.name)
        return style.root(self.of.written(style)) if self.op == "sqrt" else self.of.written(style)


class Opaque:
    """A sum of coefficient * product of atoms, like terms collected; the plain part has no atoms.

    >>> from fractions import Fraction
    >>> value = unopened("recip", Surd({1: Fraction(1), 2: Fraction(1)}))
    >>> value, value * 3 - value
    (Opaque('1/(1 + sqrt(2))'), Opaque('2/(1 + sqrt(2))'))
    """

    __slots__ = ("terms",)

    def __init__(self, terms: Terms) -> None:
        self.terms = terms

    @property
    def is_symbolic(self) -> bool:
        """Whether a symbol stands in it."""
        return any(atom.is_symbolic for atoms in self.terms for atom in atoms)

    def __add__(self, other: Exact) -> Exact:
        if isinstance(other, Undefined):
            return other
        terms = dict(self.terms)
        for atoms, coefficient in _terms(other).items():
            terms[atoms] = terms.get(atoms, Surd({})) + coefficient
        return _collected(terms)

    def __mul__(self, other: Exact) -> Exact:
        if isinstance(other, Undefined):
            return other * self
        terms: dict[tuple[Atom, ...], Surd] = {}
        for left, a in self.terms.items():
            for right, b in _terms(other).items():
                atoms = tuple(sorted(left + right, key=repr))
                terms[atoms] = terms.get(atoms, Surd({})) + a * b
        return _collected(terms)

    __rmul__ = __mul__

    def __radd__(self, other: Rational | Surd) -> Exact:
        return Opaque(_terms(other)) + self  # terms are written in the order that they came in

    def __neg__(self) -> "Opaque":
        return Opaque({atoms: -coefficient for atoms, coefficient in self.terms.items()})

    def __sub__(self, other: Exact) -> Exact:
        return self + -other

    def __rsub__(self, other: Exact) -> Exact:
        return other + -self

    def __abs__(self) -> "Opaque":
        return -self if self.sign() < 0 else self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Opaque) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    def __lt__(self, other: Exact) -> bool:
        return not isinstance(other, Undefined) and sign(self - other) < 0

    def __gt__(self, other: Exact) -> bool:
        return not isinstance(other, Undefined) and sign(self - other) > 0

    def sign(self) -> int:
        """-1 or 1; ExactError where it cannot be told from 0."""
        bits = FIRST_BITS
        while bits <= MOST_BITS:
            low, high = self.between(bits)
            if low > 0 or high < 0:
                return 1 if low > 0 else -1
            bits *= 2
        raise ExactError(f"{self} cannot be told from 0 by {MOST_BITS:,} bits.")

    def between(self, bits: int) -> Interval:
        """Whole numbers low and high with low <= value * 2^bits <= high."""
        low = high = 0
        for atoms, coefficient in self.terms.items():
            bounds = coefficient.between(bits)
            for atom in atoms:
                bounds = _times(bounds, atom.between(bits), bits)
            low, high = low + bounds[0], high + bounds[1]
        return low, high

    def written(self, style: Style[Written]) -> Part[Written]:
        """The terms joined by their signs: `3/2/sqrt(1/4 + eps) - 1` with fractions where a style has them."""
        return style.total([_term(style, atoms, factor) for atoms, factor in self.terms.items()])

    def __str__(self) -> str:
        return self.written(TEXT).written

    def __repr__(self) -> str:
        return f"Opaque('{self}')"


@dataclass(frozen=True)
class Undefined:
    """What is no number, and why: `0/0`, `1/0`, `sqrt(-1)`. A maximum with it is undefined as well."""

    why: str = "0/0"

    def _stays(self, other: Exact) -> "Undefined":
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = _stays

    def __mul__(self, other: Exact) -> "Undefined":
        return Undefined("0/0") if self.why == "1/0" and other == 0 else self

    __rmul__ = __mul__

    def __neg__(self) -> "Undefined":
        return self

    def __abs__(self) -> "Undefined":
        return self

    def __lt__(self, other: Exact) -> bool:
        return False

    def __gt__(self, other: Exact) -> bool:
        return True

    def written(self, style: Style[Written]) -> Part[Written]:
        """The word and the reason."""
        return style.name(str(self))

    def __str__(self) -> str:
        return f"undefined: {self.why}"


def symbol(name: str) -> Opaque:
    """A positive number that has a name and no value."""
    return Opaque({(Atom("name", name=name),): Surd.of(1)})


def unopened(op: str, value: Surd | Opaque) -> Opaque:
    """sqrt or recip of a value as an atom, whether or not it has a closed form.

    >>> str(unopened("sqrt", Surd.of(4)))
    'sqrt(4)'
    """
    return Opaque({(Atom(op, value),): Surd.of(1)})


def sign(value: Exact) -> int:
    """-1, 0 or 1 of any value that is defined; 0 for one that is not."""
    if isinstance(value, Undefined):
        return 0
    return value.sign() if isinstance(value, (Surd, Opaque)) else sign_of(value)


def _terms(value: Rational | Surd | Opaque) -> Terms:
    return value.terms if isinstance(value, Opaque) else {(): Surd.of(value)}


def _collected(terms: Terms) -> Surd | Opaque:
    """The sum of terms, without those that are 0; a sum of roots where no atom is left."""
    left = {atoms: coefficient for atoms, coefficient in terms.items() if coefficient.terms}
    return Opaque(left) if any(left) else left.get((), Surd({}))


def _term(style: Style[Written], atoms: tuple[Atom, ...], factor: Surd) -> tuple[bool, Part[Written]]:
    """Whether a term is subtracted, and its size: reciprocals stand below a line."""
    negative = len(factor.terms) == 1 and min(factor.terms.values()) < 0
    size = -factor if negative else factor
    above = [atom.written(style) for atom in atoms if atom.op != "recip"]
    below = [atom.written(style) for atom in atoms if atom.op == "recip"]
    if size != 1 or not above:
        above.insert(0, size.written(style))
    top = style.product(above)
    return negative, style.over(top, style.product(below)) if below else top


def _times(a: Interval, b: Interval, bits: int) -> Interval:
    products = [x * y for x in a for y in b]
    return min(products) >> bits, -(-max(products) >> bits)


def _sqrt_bounds(value: Surd | Opaque, bits: int) -> Interval:
    low, high = value.between(2 * bits)
    return isqrt(max(low, 0)), isqrt(max(high, 0)) + 1


def _recip_bounds(value: Surd | Opaque, bits: int) -> Interval:
    """Bounds of 1 / value, from bounds of the value that leave 0 out."""
    more = bits
    while more <= 2 * MOST_BITS:
        low, high = value.between(more)
        if low > 0 or high < 0:
            one = 1 << bits + more
            return one // high, -(-one // low)
        more *= 2
    raise ExactError(f"{value} cannot be told from 0 by {MOST_BITS:,} bits.")
