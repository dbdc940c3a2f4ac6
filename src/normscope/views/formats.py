"""The formats that floating-point numbers are kept in, and rounding to them: one number here, arrays below.

A format is a sign, an exponent and a fraction; a number is rounded to the nearest that the format has, a tie
to the one whose last bit is 0 (IEEE 754-2019, 4.3.1). float8_e4m3fn and float8_e5m2 are those of Micikevicius
et al. 2022, arXiv:2209.05433, and of ONNX: https://onnx.ai/onnx/technical/float8.html.
"""

import math
from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from struct import Struct
from typing import Any

from ..errors import DtypeError

WIDER = {"float64", "float32"}  # what NumPy computes in itself
# What the standard library rounds itself, as IEEE 754 does and four times as fast.
NATIVE = {"float64": Struct("<d"), "float32": Struct("<f"), "float16": Struct("<e")}


@dataclass(frozen=True)
class Format:
    """A floating-point format.

    name      as NumPy, ml_dtypes and PyTorch call it
    short     as a policy's name ends: fp32, bf16
    exponent  bits of the exponent
    fraction  bits of the fraction that are stored; a normal number has one digit more
    infinite  there are infinities; without them the largest exponent is an ordinary one, and what lies beyond
              the largest number is nan (float8_e4m3fn)

    >>> BFLOAT16.largest, BFLOAT16.smallest, FORMATS["float8_e4m3fn"].largest
    (3.3895313892515355e+38, 9.183549615799121e-41, 448.0)
    """

    name: str
    short: str
    exponent: int
    fraction: int
    infinite: bool = True

    @property
    def bits(self) -> int:
        """Bits of one number."""
        return 1 + self.exponent + self.fraction

    @cached_property
    def bias(self) -> int:
        """What the stored exponent is more than that of a normal number."""
        return int(2 ** (self.exponent - 1)) - 1

    @cached_property
    def last(self) -> int:
        """The exponent of the last place of the smallest numbers: no number has a finer one."""
        return 1 - self.bias - self.fraction

    @cached_property
    def largest(self) -> float:
        """The largest finite number."""
        top = self.bias if self.infinite else self.bias + 1
        digits = 2 ** (self.fraction + 1) - (1 if self.infinite else 2)  # one pattern of the top is nan's
        return math.ldexp(digits, top - self.fraction)

    @property
    def smallest(self) -> float:
        """The smallest number above 0, a subnormal one."""
        return math.ldexp(1, self.last)

    @property
    def beyond(self) -> float:
        """What a number beyond the largest becomes."""
        return math.inf if self.infinite else math.nan

    def place(self, value: float | Fraction) -> int:
        """The exponent of the last place of a number of this size: its ulp is 2**place.

        >>> FLOAT16.place(1.0), FLOAT16.place(-2049.0), FLOAT16.place(0.0)
        (-10, 1, -24)
        """
        return max(_exponent(value) - self.fraction, self.last) if value else self.last

    def ulp(self, value: float | Fraction) -> Fraction:
        """The distance of the format's numbers at a finite value, were the exponent not bounded above."""
        return Fraction(2) ** self.place(value)

    def round(self, value: float, *, saturate: bool = False) -> float:
        """The nearest number of the format, a tie to the even one; what lies beyond the largest is infinite.

        With `saturate` it becomes the largest instead, and so does an infinity: PyTorch 2.13 casts so to
        float8_e4m3fn, where ml_dtypes 0.6 gives nan (both recorded in tests/golden).

        >>> FLOAT16.round(0.1), FLOAT16.round(2049.0), FLOAT16.round(65520.0), FLOAT16.round(-1e-9)
        (0.0999755859375, 2048.0, inf, -0.0)
        >>> E4M3.round(464.0), E4M3.round(465.0), E4M3.round(465.0, saturate=True)
        (448.0, nan, 448.0)
        """
        if self.name in NATIVE and not saturate:
            try:
                return float(NATIVE[self.name].unpack(NATIVE[self.name].pack(value))[0])
            except OverflowError:
                return math.copysign(math.inf, value)
        if value == 0 or math.isnan(value):
            return value
        nearest = abs(value)
        if nearest < 2 * self.largest:
            place = max(math.frexp(nearest)[1] - 1 - self.fraction, self.last)  # `place`, without its calls
            nearest = math.ldexp(round(math.ldexp(nearest, -place)), place)  # Python's round takes a tie to even
        if nearest > self.largest:
            nearest = self.largest if saturate else self.beyond
        return math.copysign(nearest, value)

    def round_all(self, values: Iterable[float], *, saturate: bool = False) -> list[float]:
        """`round` of every number, several times as fast: a page rounds some thousand.

        >>> BFLOAT16.round_all([0.1, -2.1, 0.0]), FLOAT32.round_all([1e39])
        ([0.10009765625, -2.09375, 0.0], [inf])
        """
        if self.name == "float64" and not saturate:
            return list(values)
        if self.name == "float32" and not saturate:
            return array("f", values).tolist()  # C rounds a double to the nearest float, a tie to even
        largest, fraction, last = self.largest, self.fraction + 1, self.last
        made = []
        for value in values:
            near = 0.0
            if -largest <= value <= largest:
                place = max(math.frexp(value)[1] - fraction, last)
                near = math.ldexp(round(math.ldexp(value, -place)), place)
            # What is 0, has a sign that 0 would lose, lies near the end or is no number takes the careful way.
            made.append(near if near and -largest <= near <= largest else self.round(value, saturate=saturate))
        return made

    def pattern(self, value: float) -> int:
        """The bits that a number of the format is stored as, as a whole number.

        >>> hex(FLOAT16.pattern(1.0)), hex(BFLOAT16.pattern(-2.0)), hex(E4M3.pattern(448.0))
        ('0x3c00', '0xc000', '0x7e')

        Raises DtypeError for a number that the format does not have.
        """
        sign = (math.copysign(1, value) < 0) << (self.bits - 1)
        top = (2**self.exponent - 1) << self.fraction
        if math.isnan(value):
            return int(top + 2**self.fraction // 2) if self.infinite else int(top + 2**self.fraction - 1)
        if math.isinf(value) and self.infinite:
            return int(sign | top)
        if self.round(value) != value:
            raise DtypeError(f"{value!r} is no {self.name}; round it first.")
        place = self.place(value)
        digits = int(math.ldexp(abs(value), -place))
        return sign | ((place - self.last) << self.fraction) + digits

    def value(self, pattern: int) -> float:
        """The number that is stored as these bits.

        >>> FLOAT16.value(0x3C00), BFLOAT16.value(0xFF80), E4M3.value(0x7F), E4M3.value(1)
        (1.0, -inf, nan, 0.001953125)
        """
        sign = -1.0 if pattern >> (self.bits - 1) else 1.0
        stored, digits = divmod(pattern % 2 ** (self.bits - 1), 2**self.fraction)
        if stored == 2**self.exponent - 1:
            if self.infinite:
                return sign * (math.inf if not digits else math.nan)
            if digits == 2**self.fraction - 1:
                return math.nan
        if stored:
            digits += 2**self.fraction
        return sign * math.ldexp(digits, self.last + max(stored - 1, 0))


def _exponent(value: float | Fraction) -> int:
    """The exponent of the leading binary digit of a number that is not 0."""
    if isinstance(value, float):
        return math.frexp(value)[1] - 1
    top, bottom = abs(value.numerator), value.denominator
    guess = top.bit_length() - bottom.bit_length()
    return guess if Fraction(2) ** guess * bottom <= top else guess - 1


FLOAT64 = Format("float64", "fp64", 11, 52)
FLOAT32 = Format("float32", "fp32", 8, 23)
BFLOAT16 = Format("bfloat16", "bf16", 8, 7)
FLOAT16 = Format("float16", "fp16", 5, 10)
E4M3 = Format("float8_e4m3fn", "e4m3fn", 4, 3, infinite=False)
E5M2 = Format("float8_e5m2", "e5m2", 5, 2)
FORMATS = {each.name: each for each in (FLOAT64, FLOAT32, BFLOAT16, FLOAT16, E4M3, E5M2)}
NARROW = {name: each for name, each in FORMATS.items() if each.bits <= 16}  # in which no kernel computes


def odd_sum(a: float, b: float) -> float:
    """a + b; where float64 lacks it that one of its two neighbours whose last bit is odd.

    Rounded to float32, which is more than two bits narrower, that is a + b rounded once: no tie is seen where
    there was none. What the sum has lost is found by Knuth's TwoSum. Boldo and Melquiond 2008,
    https://doi.org/10.1109/TC.2007.70819.

    >>> odd_sum(1.0, 2.0**-60) - 1.0 == 2.0**-52, odd_sum(0.5, 0.25)
    (True, 0.75)
    """
    total = a + b
    lost = _lost(a, b, total)
    if not lost or not math.isfinite(lost) or FLOAT64.pattern(total) % 2:
        return total
    return math.nextafter(total, math.copysign(math.inf, lost))


def odd_sum_array(a: Any, b: Any) -> Any:
    """`odd_sum` of NumPy arrays in float64."""
    import numpy as np

    total = np.asarray(a + b)
    lost = _lost(a, b, total)
    is_even = total.view(np.uint64) % 2 == 0
    inexact = (lost != 0) & np.isfinite(lost)
    return np.where(inexact & is_even, np.nextafter(total, np.copysign(np.inf, lost)), total)


def _lost(a: Any, b: Any, total: Any) -> Any:
    """a + b - total without an error, where nothing overflows: Knuth's TwoSum."""
    of_b = total - a
    return (a - (total - of_b)) + (b - of_b)


def format_of(name: str, what: str = "dtype") -> Format:
    """The format of a dtype's name; `what` is the argument that it is for.

    Raises DtypeError for any other name.
    """
    if name not in FORMATS:
        raise DtypeError(f"{what} is {name!r}; it must be one of {', '.join(FORMATS)}.")
    return FORMATS[name]


def round_array(values: Any, to: Format, *, saturate: bool = False) -> Any:
    """A NumPy array rounded as `Format.round` does; float64 to float64, else held in float32.

    >>> import numpy as np
    >>> round_array(np.array([0.1, 2049.0, 65520.0]), FLOAT16).tolist()
    [0.0999755859375, 2048.0, inf]
    """
    import numpy as np

    with np.errstate(all="ignore"):
        if saturate:
            values = np.clip(values, -to.largest, to.largest)
        if to.name in WIDER:
            return np.asarray(values).astype(to.name, copy=False)
        return _odd(np.asarray(values)).astype(dtype_of(to.name)).astype(np.float32)


def _odd(values: Any) -> Any:
    """The array in float32, an inexact number as its neighbour with an odd last bit.

    That bit keeps a later rounding to a narrower format from seeing a tie where there was none: ml_dtypes
    casts a float64 through the nearest float32, and so rounds twice.
    Boldo and Melquiond 2008, https://doi.org/10.1109/TC.2007.70819.
    """
    import numpy as np

    if values.dtype != np.float64:
        return values.astype(np.float32, copy=False)
    near = values.astype(np.float32)
    bits = near.view(np.uint32)
    inexact = (near != values) & np.isfinite(values)
    away = inexact & (np.abs(near) > np.abs(values))
    bits -= away.astype(np.uint32)  # towards 0, where rounding went away from it; the largest, from an infinity
    bits |= inexact.astype(np.uint32)
    return near


def dtype_of(name: str) -> Any:
    """The NumPy dtype of a format's name, bfloat16 and float8 included."""
    import ml_dtypes
    import numpy as np

    return np.dtype(getattr(ml_dtypes, name, name))
