"""Sums of roots and what lies beyond them, against sympy, the decimal module and arithmetic on whole numbers."""

import decimal
import sys
from fractions import Fraction
from math import isqrt
from xml.etree import ElementTree

import pytest
import sympy
from hypothesis import assume, given
from hypothesis import strategies as st

from normscope.errors import ExactError
from normscope.views import exact as reading
from normscope.views.cells import larger
from normscope.views.exact import digits, latex, mathml, mean, recip, root, text
from normscope.views.opaque import Opaque, Undefined, symbol
from normscope.views.roots import TRIAL, Surd, root_of, squarefree
from normscope.views.writing import whole

P, Q, R = 1_000_003, 1_000_033, 1_000_037  # primes beyond what is factored
TWO_SQUARES = P * P * Q * Q * R  # a square that trial division does not find: P*Q is left beside R

WIDE = decimal.Context(prec=120)

rationals = st.fractions(min_value=-50, max_value=50, max_denominator=30)
radicands = st.one_of(st.integers(1, 200), st.sampled_from([P, P * P, P * P * Q, P**3, TWO_SQUARES, 4 * P * P * R]))


@st.composite
def sums(draw, most=4):
    total = Surd({})
    for _ in range(draw(st.integers(0, most))):
        total += root_of(Fraction(draw(radicands), draw(st.integers(1, 12)))) * draw(rationals)
    return total


def algebraic(value: Surd) -> sympy.Expr:
    return sum((sympy.Rational(str(c)) * sympy.sqrt(n) for n, c in value.terms.items()), sympy.Integer(0))


def decimal_value(value: Surd, precision: int = 120) -> decimal.Decimal:
    with decimal.localcontext(prec=precision):
        terms = (
            decimal.Decimal(c.numerator) / c.denominator * decimal.Decimal(n).sqrt() for n, c in value.terms.items()
        )
        return sum(terms, decimal.Decimal(0))


# --- reduced


@given(st.integers(1, 10**9))
def test_squarefree_is_what_sympy_factors(n):
    k, m, known = squarefree(n)
    assert known and n == k * k * m
    assert all(power == 1 for power in sympy.factorint(m).values())


@pytest.mark.parametrize(
    ("n", "wanted"),
    [
        (1, (1, 1, True)),
        (P, (1, P, True)),
        (P * P, (P, 1, True)),
        (12 * P * P, (2 * P, 3, True)),
        (P * Q, (1, P * Q, True)),
        (P * P * Q, (1, P * P * Q, False)),
        (P * P * Q * Q, (P * Q, 1, True)),
        (TWO_SQUARES, (1, TWO_SQUARES, False)),
        (99_991**2 * 2, (99_991, 2, True)),  # the largest prime below TRIAL
    ],
)
def test_the_bound_of_factoring(n, wanted):
    assert squarefree(n) == wanted


def test_what_is_known_to_be_squarefree_has_no_square_of_a_larger_prime():
    p = sympy.nextprime(TRIAL)
    assert squarefree(p * p * sympy.nextprime(p))[2] is False
    assert squarefree(p * sympy.nextprime(p))[2] is True


@given(st.fractions(min_value=0, max_value=10**6, max_denominator=10**4))
def test_a_root_squared_is_the_number(q):
    made = root_of(q)
    assert made * made == q and made.sign() == (q > 0) and made.is_reduced
    assert sympy.simplify(algebraic(made) - sympy.sqrt(sympy.Rational(str(q)))) == 0


@pytest.mark.parametrize("n", [P * P * Q, TWO_SQUARES, 12 * P * P * Q, 10**200 + 7])
def test_unreduced_roots_are_like_terms_where_their_product_is_a_square(n):
    one, other = Surd({n: Fraction(1)}), Surd({4 * n * R * R: Fraction(1)})
    assert one * (2 * R) == other and (one * (2 * R) - other).terms == {}
    assert hash(one * (2 * R)) == hash(other)
    assert one + other == one * (2 * R + 1) and len((one + other).terms) == 1
    assert one * one == n and (one - one).terms == {}
    assert one != Surd({n * 3: Fraction(1)}) and len((one + Surd({3 * n: Fraction(1)})).terms) == 2


def test_an_unreduced_and_a_reduced_root_of_one_class_meet():
    unreduced, reduced = root_of(Fraction(P * P * Q)), root_of(Fraction(Q)) * P
    assert not unreduced.is_reduced and reduced.is_reduced
    assert unreduced == reduced and unreduced - reduced == 0 and reduced - unreduced == 0
    assert unreduced * reduced == P * P * Q and (unreduced + reduced) * (unreduced - reduced) == 0


def test_the_root_of_a_huge_square_is_rational():
    n = 10**200 + 7
    assert root_of(Fraction(n * n, 9)) == Fraction(n, 3)


# --- arithmetic


@given(sums(), sums(), sums())
def test_ring_laws(a, b, c):
    assert a + b == b + a and a * b == b * a and (a + b) + c == a + (b + c)
    assert (a + b) * c == a * c + b * c and (a * b) * c == a * (b * c)
    assert a - a == 0 and a + -a == Surd({}) and hash(a + b) == hash(b + a) and abs(a).sign() == abs(a.sign())


@given(sums(3), sums(3))
def test_equality_order_and_sign_against_decimals(a, b):
    difference = decimal_value(a) - decimal_value(b)
    assert (a == b) == (abs(difference) < decimal.Decimal(10) ** -80)
    if a != b:
        assert (a < b, a > b) == (difference < 0, difference > 0)
    assert (a - b).sign() == -(b - a).sign()


@given(sums(3), st.integers(0, 60))
def test_digits_are_the_correctly_rounded_decimals(value, count):
    with decimal.localcontext(prec=200):
        shown = decimal_value(value, 200).quantize(decimal.Decimal(1).scaleb(-count), decimal.ROUND_HALF_EVEN)
    rational = value.rational
    if rational is not None:  # a decimal of 200 digits is not exact where a tie is
        shown = decimal.Decimal(round(rational * 10**count)).scaleb(-count)
    assert decimal.Decimal(digits(value, count)) == shown
    assert len(digits(value, count).partition(".")[2]) == count


@given(radicands, rationals)
def test_a_term_has_a_reciprocal(n, q):
    assume(q)
    term = root_of(Fraction(n)) * q
    assert recip(term) * term == 1


def test_a_tight_sign():
    n = 10**400
    value = root_of(Fraction(n + 1)) - 10**200  # 5e-201
    assert value.sign() == 1 and value > 0 and -value < 0 and abs(-value) == value
    product = (root_of(Fraction(n + 1)) - 10**200) * (root_of(Fraction(n + 1)) + 10**200)
    assert product == 1 and product.rational == 1


def test_ties_go_to_the_even_digit_and_minus_zero_has_no_sign():
    assert [digits(Fraction(n, 8), 2) for n in (1, 3, -1, -3)] == ["0.12", "0.38", "-0.12", "-0.38"]
    assert digits(Fraction(-1, 1000), 2) == "0.00" and digits(Fraction(5, 2), 0) == "2"


def test_a_thousand_digits_by_bounds_of_a_few_thousand_bits(monkeypatch):
    asked = []
    between = Surd.between
    monkeypatch.setattr(Surd, "between", lambda self, bits: asked.append(bits) or between(self, bits))
    shown = digits(root_of(Fraction(2)), 1000)
    assert shown.replace(".", "") in {str(isqrt(2 * 100**1000)), str(isqrt(2 * 100**1000) + 1)}
    with decimal.localcontext(prec=1001):
        assert decimal.Decimal(shown) == decimal.Decimal(2).sqrt()
    assert len(asked) <= 2 and max(asked) <= 8192


def test_a_rounding_that_needs_more_bits_gets_them():
    half = 25 * 10**600
    above, below = (root_of(Fraction(n)) * Fraction(1, 10**301) for n in (half + 1, half - 1))  # 0.5 + 1e-602
    assert digits(above, 0) == "1" and digits(below, 0) == "0"


@pytest.mark.parametrize("count", [-1, 1001])
def test_digits_have_a_limit(count):
    with pytest.raises(ExactError, match=r"0 to 1,000 can be had\.$"):
        digits(Fraction(1), count)


# --- beyond sums of roots


def test_the_root_of_an_irrational_is_opaque_with_certified_digits():
    value = root(root(Fraction(2)))
    assert isinstance(value, Opaque) and str(value) == "sqrt(sqrt(2))"
    with decimal.localcontext(prec=60):
        assert digits(value, 50) == str(decimal.Decimal(2).sqrt().sqrt().quantize(decimal.Decimal(10) ** -50))


@given(sums(3), sums(3), st.integers(0, 40))
def test_opaque_values_agree_with_decimals(a, b, count):
    assume(len(a.terms) > 1)
    value = recip(a) * 3 - recip(a) * b + root(abs(a))
    with decimal.localcontext(prec=250):
        x, y = decimal_value(a, 250), decimal_value(b, 250)
        shown = (3 / x - y / x + abs(x).sqrt()).quantize(decimal.Decimal(1).scaleb(-count))
    assert decimal.Decimal(digits(value, count)) == shown


@given(sums(3), st.integers(0, 12))
def test_bounds_enclose_the_value_however_few_the_bits(a, bits):
    assume(a.terms)
    values = [(a, decimal_value(a)), (root(root(Fraction(2))), decimal.Decimal(2).sqrt(WIDE).sqrt(WIDE))]
    if len(a.terms) > 1:
        values += [(recip(a), WIDE.divide(1, decimal_value(a))), (root(abs(a)), abs(decimal_value(a)).sqrt(WIDE))]
        values.append((recip(a) * root(abs(a)), WIDE.divide(values[-1][1], decimal_value(a))))
    for value, wanted in values:
        low, high = value.between(bits)
        assert low <= WIDE.multiply(wanted, 2**bits) <= high


def test_opaque_terms_are_collected():
    r = recip(root(Fraction(2)) + 1)
    assert r - r == 0 and r * 2 - r == r and (r + 1) - r == 1 and 0 * r == 0 and hash(r + r) == hash(2 * r)
    assert str(1 - r) == "1 - 1/(1 + sqrt(2))" and str(r * r) == "1/((1 + sqrt(2))*(1 + sqrt(2)))"
    assert r > 0 and -r < 0 and abs(-r) == r and r < 1 and recip(r) is not r


def test_the_sign_of_an_opaque_value_near_0_takes_more_bits():
    value = recip(root(Fraction(2)) + 1)
    near = Fraction(digits(value, 100))
    assert value > near - Fraction(1, 10**100) and value < near + Fraction(1, 10**100)


def test_what_bounds_never_decide_is_refused():
    hidden = recip(root(Fraction(2)) + 1) - (root(Fraction(2)) - 1)  # 0, which no bounds can tell
    with pytest.raises(ExactError, match="cannot be told from 0"):
        hidden.sign()
    with pytest.raises(ExactError, match="cannot be told from 0"):
        digits(recip(hidden), 3)
    with pytest.raises(ExactError, match="too near a tie"):
        digits(hidden + Fraction(1, 2), 0)
    assert digits(hidden, 5) == "0.00000"


def test_undefined_spreads_and_says_why():
    r = recip(Fraction(0))
    assert str(r) == "undefined: 1/0" and digits(r, 3) == "undefined: 1/0"
    for product in (r * 0, 0 * r, r * Surd({}), Surd({}) * r):
        assert product == Undefined("0/0")
    for value in (r + 1, 1 - r, r * 2, -r, abs(r), root(r), recip(r), mean([r], 2), root(Fraction(2)) + r, r - r):
        assert value == r
    assert symbol("eps") + r == r and symbol("eps") * r == r
    assert str(root(Fraction(-1, 4))) == "undefined: sqrt(-1/4)" and str(mean([Fraction(0)], 0)) == "undefined: 0/0"
    assert str(mean([Fraction(3)], 0)) == "undefined: 1/0"
    for other in (Fraction(1), root(Fraction(2)), symbol("eps")):
        assert larger(r, other) is r and larger(other, r) is r


def test_a_symbol_has_formulas_and_no_digits():
    eps = symbol("eps")
    v = Fraction(1, 4) + eps
    r = recip(root(v))
    assert str(v) == "1/4 + eps" and str(r) == "1/sqrt(1/4 + eps)" and str(r * 3 - 1) == "3/sqrt(1/4 + eps) - 1"
    assert r * Fraction(1, 2) + r * Fraction(-1, 2) == 0
    with pytest.raises(ExactError, match="digits need a value for eps"):
        digits(r, 3)


# --- written


@given(sums(4))
def test_text_and_latex_read_back_as_the_same_value(value):
    assert sympy.nsimplify(sympy.sympify(str(value)) - algebraic(value)) == 0
    shown = latex(value)
    assert shown.count(r"\sqrt") == str(value).count("sqrt") and shown.count("{") == shown.count("}")


@given(sums(4))
def test_mathml_is_well_formed_and_has_the_same_roots(value):
    tree = ElementTree.fromstring(f"<math>{mathml(value)}</math>")
    assert len(tree.findall(".//msqrt")) == str(value).count("sqrt")


def test_mathml_of_an_opaque_value_is_a_fraction():
    r = recip(root(Fraction(1, 4) + symbol("eps"))) * Fraction(-1, 2)
    assert str(mathml(r)) == (
        "<mrow><mo>−</mo><mfrac><mfrac><mn>1</mn><mn>2</mn></mfrac><msqrt><mrow><mfrac><mn>1</mn><mn>4</mn></mfrac>"
        "<mo>+</mo><mi>ε</mi></mrow></msqrt></mfrac></mrow>"
    )
    assert str(mathml(root(Fraction(2)) * Fraction(-2, 7) + 1)) == (
        "<mrow><mn>1</mn><mo>−</mo><mrow><mfrac><mn>2</mn><mn>7</mn></mfrac><mo>\u2062</mo><msqrt><mn>2</mn></msqrt>"
        "</mrow></mrow>"
    )
    assert latex(r) == r"-\frac{\frac{1}{2}}{\sqrt{\frac{1}{4} + \varepsilon}}"


def test_long_numbers_are_written_whatever_pythons_limit():
    n = 7**20_000
    limit = sys.get_int_max_str_digits()
    try:
        sys.set_int_max_str_digits(640)
        shown, negative = whole(n), text(Fraction(-n, 3))
    finally:
        sys.set_int_max_str_digits(0)
    try:
        assert shown == str(n) and negative == f"-{n}/3" and "0" * 599 in whole(10**1999)
    finally:
        sys.set_int_max_str_digits(limit)


def test_the_rule_table_covers_every_kind():
    assert reading.total([Fraction(1), root(Fraction(2)), symbol("eps")]) == root(Fraction(2)) + 1 + symbol("eps")
