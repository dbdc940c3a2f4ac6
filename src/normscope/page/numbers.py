"""Numbers as a person reads them: few digits, a real minus sign, marks for what is no number."""

import math

MINUS = "\N{MINUS SIGN}"
UNITS = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
SMALL = 1e-3  # below it `written` takes an exponent
COUNTS = ((10**12, "T"), (10**9, "G"), (10**6, "M"))


def short(value: float) -> str:
    """A number for a cell: at most six signs.

    >>> [short(v) for v in (0.0, -1.2345, 222.5, 31250.0, 1e-7, float("nan"), float("-inf"))]
    ['0.00', '−1.23', '222.5', '3.1e4', '1e-7', 'NaN', '−∞']
    """
    size = abs(value)
    if size != size:
        return "NaN"
    if size == math.inf:
        text = "∞"
    elif size >= 9999.5:
        text = _power(f"{size:.1e}")
    elif size >= 99.995:
        text = f"{size:.1f}" if size < 999.95 else f"{size:.0f}"
    elif size < 0.005 and size:
        text = _power(f"{size:.0e}")
    else:
        text = f"{size:.2f}"
    return MINUS + text if value < 0 else text


def fixed(value: float, digits: int = 6) -> str:
    """A number with a fixed count of decimals, in a sentence or a formula.

    >>> fixed(-0.9999950), fixed(0.0, 4), fixed(1e-9), fixed(2.5e9)
    ('−0.999995', '0.0000', '1.000000e-9', '2.500000e9')
    """
    if not math.isfinite(value):
        return short(value)
    size = abs(value)
    small = size and size < 0.5 * 10.0**-digits
    text = _power(f"{size:.{digits}e}") if small or size >= 1e9 else f"{size:.{digits}f}"
    return MINUS + text if value < 0 else text


def general(value: float) -> str:
    """A number as a person writes it, to six digits: `1e-5`, not `1e-05`.

    >>> general(1e-05), general(0.25), general(-3.0), general(math.nan)
    ('1e-5', '0.25', '−3', 'NaN')
    """
    if not math.isfinite(value):
        return short(value)
    text = f"{abs(value):g}"
    return (MINUS if value < 0 else "") + (_power(text) if "e" in text else text)


def written(value: float, digits: int = 9) -> str:
    """A number with so many digits at most.

    >>> written(40001.0), written(-1.5e-07), written(float("inf")), written(1 / 3, 4), written(0.00031)
    ('40001', '−1.5e-7', '∞', '0.3333', '3.1e-4')
    """
    if value != value:
        return "NaN"
    size = abs(value)
    text = f"{size:.{digits - 1}e}" if 0 < size < SMALL else f"{size:.{digits}g}"
    mantissa, _, exponent = text.replace("inf", "∞").partition("e")
    if "." in mantissa and exponent:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return (MINUS if value < 0 else "") + mantissa + (f"e{int(exponent)}" if exponent else "")


def ulps(value: float) -> str:
    """An error, to three digits.

    >>> ulps(0.38296), ulps(52886.2), ulps(0.0), ulps(float("nan"))
    ('0.383', '5.29e4', '0', 'undefined')
    """
    return "undefined" if value != value else written(value, 3)


def plain(value: float) -> str:
    """A number that reads back as the same float64, as short as it goes.

    >>> plain(1.0), plain(-0.1), plain(1e-05), plain(-0.0)
    ('1', '-0.1', '1e-05', '0')
    """
    return repr(value + 0.0).removesuffix(".0")


def count(value: int) -> str:
    """An exact integer with its digits in groups.

    >>> count(671236096)
    '671,236,096'
    """
    return f"{value:,}"


def bytes_(value: int) -> str:
    """Bytes in the unit that a person would choose.

    >>> bytes_(1408), bytes_(671236096), bytes_(96)
    ('1.38 KiB', '640 MiB', '96 B')
    """
    for size, unit in UNITS:
        if value >= size:
            return f"{value / size:.3g} {unit}" if value / size < 999.5 else f"{value / size:.0f} {unit}"
    return f"{value} B"


def operations(value: int) -> str:
    """A count of operations in the unit that a person would choose.

    >>> operations(456), operations(469778432)
    ('456', '470 M')
    """
    for size, unit in COUNTS:
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return count(value)


def _power(text: str) -> str:
    """`3.1e+04` as `3.1e4`."""
    digits, _, exponent = text.partition("e")
    return f"{digits}e{int(exponent)}"
