"""Rounding to every format: plain Python against arrays, against all the numbers that a format has, and laws."""

import math
from bisect import bisect
from fractions import Fraction
from functools import cache

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from normscope.errors import DtypeError
from normscope.views.formats import BFLOAT16, E4M3, E5M2, FLOAT16, FLOAT32, FLOAT64, FORMATS, format_of, round_array

NARROW = [pytest.param(each, id=each.name) for each in FORMATS.values() if each.bits <= 16]
EVERY = [pytest.param(each, id=each.name) for each in FORMATS.values()]
FLOATS = st.floats(allow_subnormal=True)


def dtype(of):
    return np.dtype(getattr(ml_dtypes, of.name, of.name))


@cache
def every_number(of):
    """The finite numbers from 0 up, by ml_dtypes and NumPy: the number at i is stored as the whole number i."""
    bits = np.arange(2 ** (of.bits - 1), dtype=f"u{of.bits // 8}")
    with np.errstate(invalid="ignore"):
        numbers = bits.view(dtype(of)).astype(float)
    return [float(number) for number in numbers if math.isfinite(number)]


def nearest(value, of):
    """The oracle: the nearest of all numbers, of two as near the one with an even pattern; none beyond the last."""
    numbers = every_number(of)
    exact = abs(Fraction(value))
    above = bisect(numbers, abs(value))
    if above == len(numbers):
        limit = Fraction(numbers[-1]) + (Fraction(numbers[-1]) - Fraction(numbers[-2])) / 2
        is_even = (len(numbers) - 1) % 2 == 0
        near = numbers[-1] if exact < limit or (exact == limit and is_even) else math.inf
    else:
        low, high = exact - Fraction(numbers[above - 1]), Fraction(numbers[above]) - exact
        near = numbers[above - (low < high or (low == high and (above - 1) % 2 == 0))]
    return math.copysign(near, value)


def hard(of):
    """Numbers about the ties of a format, from below its smallest number to beyond its largest, of both signs."""
    rng = np.random.default_rng(7)
    places = rng.integers(of.last - 3, of.place(of.largest) + 2, 400)
    halves = rng.integers(0, 2 ** (of.fraction + 2), 400) + 0.5 * rng.integers(0, 2, 400)
    with np.errstate(over="ignore"):
        ties = np.ldexp(halves, places)
    edges = [of.largest, of.smallest, of.smallest / 2, of.largest + float(of.ulp(of.largest)) / 2]
    made = np.concatenate([ties, edges])
    with np.errstate(over="ignore"):
        made = np.concatenate([made, np.nextafter(made, np.inf), np.nextafter(made, 0), made * (1 + 2.0**-30)])
    return np.concatenate([made, -made, [0.0, -0.0, np.inf, -np.inf, np.nan]])


def same(ours, theirs):
    """Equal with nan and the sign of 0."""
    ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
    np.testing.assert_array_equal(ours, theirs)
    is_number = ~np.isnan(theirs)
    np.testing.assert_array_equal(np.signbit(ours)[is_number], np.signbit(theirs)[is_number])


@pytest.mark.parametrize("of", NARROW)
def test_every_pattern_there_and_back(of):
    bits = np.arange(2**of.bits, dtype=f"u{of.bits // 8}")
    with np.errstate(invalid="ignore"):
        theirs = bits.view(dtype(of)).astype(float)
    ours = [of.value(pattern) for pattern in range(2**of.bits)]
    same(ours, theirs)
    for pattern, number in enumerate(ours):
        if not math.isnan(number):
            assert of.pattern(number) == pattern
            assert of.round(number) == number
    assert math.isnan(of.value(of.pattern(math.nan)))


@pytest.mark.parametrize("of", EVERY)
@pytest.mark.parametrize("saturate", [False, True])
def test_many_are_rounded_as_each_is(of, saturate):
    special = [0.0, -0.0, math.nan, math.inf, -math.inf, 1e-320, -1e-320, 1e308, -1e308]
    values = [*map(float, hard(of)), *special]
    found = of.round_all(values, saturate=saturate)
    assert list(map(repr, found)) == [repr(of.round(value, saturate=saturate)) for value in values]


@pytest.mark.parametrize("of", EVERY)
def test_the_limits_are_numpys_and_ml_dtypes(of):
    info = ml_dtypes.finfo(dtype(of))
    assert (of.largest, of.smallest, of.bits) == (float(info.max), float(info.smallest_subnormal), info.bits)
    assert of.ulp(1.0) == Fraction(float(info.eps))


@pytest.mark.parametrize("of", NARROW)
def test_the_nearest_of_all_numbers(of):
    for value in hard(of):
        if math.isfinite(value):
            found, wanted = of.round(float(value)), nearest(float(value), of)
            wanted = math.copysign(of.beyond, value) if math.isinf(wanted) else wanted
            same(found, wanted)


@pytest.mark.parametrize("saturate", [False, True])
@pytest.mark.parametrize("of", EVERY)
def test_arrays_are_rounded_as_one_number_is(of, saturate):
    rng = np.random.default_rng(3)
    with np.errstate(over="ignore"):
        places = rng.integers(of.last - 4, of.place(of.largest) + of.fraction + 3, 4000)
        cells = np.concatenate([hard(of), np.ldexp(rng.normal(size=4000), places)])
    wanted = [of.round(float(cell), saturate=saturate) for cell in cells]
    same(round_array(cells, of, saturate=saturate), wanted)


@pytest.mark.parametrize("of", NARROW)
def test_arrays_of_float32_too(of):
    with np.errstate(over="ignore"):
        cells = hard(of).astype(np.float32)
    made = round_array(cells, of)
    assert made.dtype == np.float32
    same(made, [of.round(float(cell)) for cell in cells])


def test_arrays_are_held_in_float32_but_for_float64():
    x = np.array([0.1])
    assert [round_array(x, of).dtype.name for of in (FLOAT64, FLOAT32, E5M2)] == ["float64", "float32", "float32"]


def test_a_float64_is_rounded_once():
    """1 + half an ulp and a little more: through float32 the little is lost, and the tie goes down."""
    value = 1 + 2.0**-8 + 2.0**-40
    assert BFLOAT16.round(value) == float(round_array(np.array([value]), BFLOAT16)[0]) == 1 + 2.0**-7
    assert BFLOAT16.round(FLOAT32.round(value)) == 1.0
    assert float(np.array([value]).astype(ml_dtypes.bfloat16)[0]) == 1.0  # why arrays go by an odd last bit


def test_overflow_as_measured():
    """float16 to infinity from halfway on; float8_e4m3fn to nan (ml_dtypes), or to 448 (PyTorch 2.13)."""
    assert (FLOAT16.round(65519.9), FLOAT16.round(65520.0), FLOAT16.round(-1e9)) == (65504.0, math.inf, -math.inf)
    assert E4M3.round(464.0) == 448.0 and math.isnan(E4M3.round(464.1)) and math.isnan(E4M3.round(-math.inf))
    assert [E4M3.round(v, saturate=True) for v in (464.1, math.inf, -math.inf)] == [448.0, 448.0, -448.0]
    assert (E5M2.round(61439.0), E5M2.round(61440.0)) == (57344.0, math.inf)
    theirs = np.array([464.1, np.inf]).astype(np.float32).astype(ml_dtypes.float8_e4m3fn).astype(float)
    assert np.isnan(theirs).all()


@pytest.mark.parametrize("of", EVERY)
@given(value=FLOATS)
def test_laws_of_rounding(of, value):
    found = of.round(value)
    if math.isnan(found):
        assert math.isnan(value) or (not of.infinite and abs(value) > of.largest)
        return
    assert of.round(found) == found
    assert of.round(-value) == -found
    if math.isfinite(found):
        assert abs(Fraction(found) - Fraction(value)) <= of.ulp(value) / 2


@pytest.mark.parametrize("of", [each for each in EVERY if each.values[0].infinite])
@given(pair=st.tuples(st.floats(allow_nan=False), st.floats(allow_nan=False)))
def test_rounding_keeps_the_order(of, pair):
    low, high = sorted(pair)
    assert of.round(low) <= of.round(high)


@given(top=st.integers(1, 10**30), bottom=st.integers(1, 10**30))
def test_the_place_of_a_fraction_is_that_of_its_leading_digit(top, bottom):
    value = Fraction(top, bottom)
    leading = FLOAT64.place(value) + FLOAT64.fraction
    assert Fraction(2) ** leading <= value < Fraction(2) ** (leading + 1)
    assert FLOAT64.place(float(2.0**leading)) == FLOAT64.place(Fraction(2) ** leading)


def test_what_is_no_number_of_the_format_has_no_pattern():
    with pytest.raises(DtypeError, match=r"^0.1 is no float16; round it first.$"):
        FLOAT16.pattern(0.1)
    with pytest.raises(DtypeError, match=r"^storage is 'int8'; it must be one of float64, float32, bfloat16"):
        format_of("int8", "storage")
