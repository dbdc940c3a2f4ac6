"""Sums of named roots: rational * sqrt(whole number) + ..., compared, added and multiplied exactly.

Square roots of whole numbers whose products are no perfect squares are linearly independent over the
rationals (Besicovitch 1940). So like terms are found without factoring, a sum is 0 exactly when no term is
left, and the sign of any other sum shows as soon as its bounds are narrow enough. Nothing is ever a float.
"""

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from math import gcd, isqrt, prod

from .writing import TEXT, Part, Style, Written

TRIAL = 100_000  # primes up to here are divided out; beyond, a factor is only found as a square
FIRST_BITS = 64

Interval = tuple[int, int]


@lru_cache(maxsize=1)
def _primes() -> tuple[tuple[int, ...], int]:
    """The primes below TRIAL, and their product: its gcd with a number tells which of them divide it."""
    sieve = bytearray([1]) * TRIAL
    for n in range(2, isqrt(TRIAL) + 1):
        if sieve[n]:
            sieve[n * n :: n] = bytes(len(range(n * n, TRIAL, n)))
    primes = tuple(n for n in range(2, TRIAL) if sieve[n])
    return primes, prod(primes)


@lru_cache(maxsize=4096)
def squarefree(n: int) -> tuple[int, int, bool]:
    """k and m with n = k * k * m for a whole n from 1, and whether m is known to be free of squares.

    >>> squarefree(72), squarefree(14)
    ((6, 2, True), (1, 14, True))

    Factoring is bounded: a square of a prime beyond 100,000 is found only where all that is left of n once
    the smaller primes are gone is a perfect square.
    """
    primes, product = _primes()
    small = gcd(n, product)
    k, m = 1, 1
    for p in primes:
        if small == 1:
            break
        if small % p:
            continue
        small //= p
        power = 0
        while n % p == 0:
            n, power = n // p, power + 1
        k, m = k * p ** (power // 2), m * p ** (power % 2)
    root = isqrt(n)
    if root * root == n:
        return k * root, m, True
    return k, m * n, n < TRIAL**3  # two or more primes beyond TRIAL, and not the same two


class Surd:
    """A finite sum of rational * sqrt(whole number), made by `of`, `root_of`, + - and *.

    terms  for every radicand its coefficient. No coefficient is 0 and no two radicands have a perfect
           square for a product, so equal sums have equally many terms, equal in pairs; where a radicand
           could not be reduced (`is_reduced` is False) equal terms may be written differently.

    >>> Surd.of(Fraction(1, 2)) + root_of(Fraction(8))
    Surd('1/2 + 2*sqrt(2)')
    """

    __slots__ = ("terms",)

    def __init__(self, terms: Mapping[int, Fraction]) -> None:
        self.terms = {n: terms[n] for n in sorted(terms) if terms[n]}

    @staticmethod
    def of(value: "Rational | Surd") -> "Surd":
        """A rational as a sum of at most one term."""
        return value if isinstance(value, Surd) else Surd({1: Fraction(value)})

    @property
    def rational(self) -> Fraction | None:
        """The value, where it is rational."""
        if not self.terms:
            return Fraction(0)
        return self.terms.get(1) if len(self.terms) == 1 else None

    @property
    def is_reduced(self) -> bool:
        """Whether every radicand is known to be free of squares."""
        return all(squarefree(n)[::2] == (1, True) for n in self.terms)

    def __add__(self, other: "Rational | Surd") -> "Surd":
        if not isinstance(other, REAL):
            return NotImplemented
        terms = dict(self.terms)
        for n, coefficient in Surd.of(other).terms.items():
            like, factor = _like(n, terms)
            terms[like] = terms.get(like, Fraction(0)) + coefficient * factor
        return Surd(terms)

    def __neg__(self) -> "Surd":
        return Surd({n: -coefficient for n, coefficient in self.terms.items()})

    def __sub__(self, other: "Rational | Surd") -> "Surd":
        return self + -other if isinstance(other, REAL) else NotImplemented

    def __rsub__(self, other: "Rational | Surd") -> "Surd":
        return -self + other

    def __mul__(self, other: "Rational | Surd") -> "Surd":
        if not isinstance(other, REAL):
            return NotImplemented
        total = Surd({})
        for m, a in self.terms.items():
            for n, b in Surd.of(other).terms.items():
                k, radicand = _product(m, n)
                total += Surd({radicand: a * b * k})
        return total

    __radd__ = __add__
    __rmul__ = __mul__

    def __abs__(self) -> "Surd":
        return -self if self.sign() < 0 else self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, REAL) and not (self - other).terms

    def __hash__(self) -> int:
        return hash(len(self.terms)) if self.rational is None else hash(self.rational)

    def __lt__(self, other: "Rational | Surd") -> bool:
        return (self - other).sign() < 0 if isinstance(other, REAL) else NotImplemented

    def __gt__(self, other: "Rational | Surd") -> bool:
        return (self - other).sign() > 0 if isinstance(other, REAL) else NotImplemented

    def sign(self) -> int:
        """-1, 0 or 1; a sum is 0 exactly when it has no terms, so refining always ends."""
        signs = {sign_of(coefficient) for coefficient in self.terms.values()}
        if len(signs) <= 1:
            return signs.pop() if signs else 0
        bits = FIRST_BITS
        while True:
            low, high = self.between(bits)
            if low > 0 or high < 0:
                return 1 if low > 0 else -1
            bits *= 2

    def recip(self) -> "Surd | None":
        """1 / value of a single term; None for a sum of several, which has no such form here."""
        if len(self.terms) != 1:
            return None
        ((n, coefficient),) = self.terms.items()
        return Surd({n: 1 / (coefficient * n)})

    def between(self, bits: int) -> Interval:
        """Whole numbers low and high with low <= value * 2^bits <= high, apart by at most one a term."""
        bounds = [_term_between(n, coefficient, bits) for n, coefficient in self.terms.items()]
        return sum(low for low, _ in bounds), sum(high for _, high in bounds)

    def written(self, style: Style[Written]) -> Part[Written]:
        """The terms joined by their signs: `1/2 - 2/7*sqrt(14)`."""
        terms = []
        for n, coefficient in self.terms.items():
            size = abs(coefficient)
            parts = [style.rational(size)] if n == 1 or size != 1 else []
            parts += [] if n == 1 else [style.root(style.rational(Fraction(n)))]
            terms.append((coefficient < 0, style.product(parts)))
        return style.total(terms) if terms else style.rational(Fraction(0))

    def __str__(self) -> str:
        return self.written(TEXT).written

    def __repr__(self) -> str:
        return f"Surd('{self}')"


Rational = int | Fraction
REAL = (int, Fraction, Surd)


def root_of(value: Fraction) -> Surd:
    """The square root of a rational from 0: one named root, or a rational where it is one.

    >>> root_of(Fraction(1, 4)), root_of(Fraction(2, 3))
    (Surd('1/2'), Surd('1/3*sqrt(6)'))
    """
    if not value:
        return Surd({})
    (j, top, _), (k, bottom, _) = squarefree(value.numerator), squarefree(value.denominator)
    return Surd({top * bottom: Fraction(j * k, value.denominator)})


def sign_of(value: Rational) -> int:
    """-1, 0 or 1."""
    return (value > 0) - (value < 0)


def _like(n: int, terms: Mapping[int, Fraction]) -> tuple[int, Fraction]:
    """A radicand in `terms` that sqrt(n) is a rational multiple of, and the factor; else n itself."""
    if n in terms:
        return n, Fraction(1)
    for m in terms:
        k = isqrt(m * n)
        if k * k == m * n:
            return m, Fraction(k, m)
    return n, Fraction(1)


def _product(m: int, n: int) -> tuple[int, int]:
    """k and a radicand with sqrt(m) * sqrt(n) = k * sqrt(radicand), for radicands as terms have them."""
    if 1 in (m, n):
        return 1, m * n
    common = gcd(m, n)
    (j, left, _), (k, right, _) = squarefree(m // common), squarefree(n // common)
    return common * j * k, left * right


def _term_between(n: int, coefficient: Fraction, bits: int) -> Interval:
    """Bounds of coefficient * sqrt(n): the whole root of p^2 n 4^bits / q^2."""
    p, q = abs(coefficient.numerator), coefficient.denominator
    square, rest = divmod(p * p * n << 2 * bits, q * q)
    low = isqrt(square)
    high = low if not rest and low * low == square else low + 1
    return (low, high) if coefficient > 0 else (-high, -low)
