"""How much room text takes, before any browser has drawn it: widths from above, wrapping, shortening.

The widths are those of the widest common faces (DejaVu Sans Bold, DejaVu Sans Mono), so that what is
estimated to fit does fit.
"""

import re
from functools import lru_cache
from unicodedata import combining, east_asian_width

LONG = 24  # digits in a run from which its middle is left out
HEAD, TAIL = 10, 6
LINES = 8  # of one value
CUT = "…"
SLACK = 0.01  # px: a width that was made for a word holds it, whatever was added and taken off since


@lru_cache(maxsize=4096)
def measure(text: str, size: float, mono: bool = False) -> float:
    """The width of a text in px, at least what it will take.

    >>> measure("1/2", 10, mono=True), measure("mean", 10)
    (18.3, 32.6)
    """
    return round(sum(map(_fixed if mono else _letter, text)) * size, 1)


def _letter(letter: str) -> float:
    if letter in " ijl.,:;'|!()[]":
        return 0.46
    if letter in "mwMW@%":
        return 1.1
    if not letter.isascii():
        return _foreign(letter, 0.9)
    return 0.84 if letter.isupper() else 0.72


def _fixed(letter: str) -> float:
    return 0.61 if letter.isascii() else _foreign(letter, 0.75)


def _foreign(letter: str, usual: float) -> float:
    if combining(letter):
        return 0.0
    return 1.4 if east_asian_width(letter) in "WF" else usual


@lru_cache(maxsize=4096)
def wrap(text: str, width: float, size: float, mono: bool = False, indent: float = 0) -> tuple[str, ...]:
    """The text in lines of at most `width` px, broken after spaces, commas and slashes where it can be.

    Lines after the first have `indent` px less. A single letter is never broken, however narrow the line.

    >>> wrap("1234/5678", 40, 10, mono=True)
    ('1234/', '5678')
    """
    lines = [""]
    for word in re.findall(r"[^ ,/]*[ ,/]+|[^ ,/]+", text):
        for piece in _pieces(word, width - indent, size, mono):
            room = width - (indent if len(lines) > 1 else 0)
            if lines[-1] and measure((lines[-1] + piece).rstrip(), size, mono) > room + SLACK:
                lines.append("")
            lines[-1] += piece
    return tuple(line.rstrip() for line in lines)


def _pieces(word: str, width: float, size: float, mono: bool) -> list[str]:
    """A word, cut into pieces that fit a line."""
    pieces = [""]
    for letter in word:
        if pieces[-1] and measure((pieces[-1] + letter).rstrip(), size, mono) > width + SLACK:
            pieces.append("")
        pieces[-1] += letter
    return pieces


def shorten(text: str) -> str:
    """Long runs of digits without their middle.

    >>> shorten("1/" + "7" * 200)
    '1/7777777777…777777'
    """
    return re.sub(rf"\d{{{LONG},}}", lambda run: run[0][:HEAD] + CUT + run[0][-TAIL:], text)


def wrap_lines(text: str, width: float, size: float, indent: float) -> tuple[str, ...]:
    """A value in fixed type in lines, cut with … where it takes more than LINES."""
    lines = wrap(text, width, size, True, indent)
    return lines if len(lines) <= LINES else (*lines[: LINES - 1], CUT)
