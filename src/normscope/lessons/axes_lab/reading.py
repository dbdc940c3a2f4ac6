"""A person's own table: CSV text to rows of numbers and token names."""

import math
from typing import NoReturn

from ...csv_table import parse
from ...errors import StateError
from ...page.text import printable
from ..state import LONGEST_VALUE
from .state import MOST, Numbers, tokens_by_features


def read_csv(text: str) -> tuple[tuple[Numbers, ...], tuple[str, ...]]:
    """The rows of a table that was pasted, and a name for each; StateError says what is wrong in one line.

    >>> read_csv("token,f1,f2\\ncat,1,-1\\nsat,0.5,2")
    (((1.0, -1.0), (0.5, 2.0)), ('cat', 'sat'))
    """
    if len(text) > LONGEST_VALUE:
        raise StateError(
            f"the table is longer than {LONGEST_VALUE:,} characters, more than an address carries; "
            "give its numbers fewer digits."
        )
    rows, names = parse(text.removeprefix("\ufeff"), _refuse)
    size = len(rows), len(rows[0])
    if max(size) > MOST:
        raise StateError(f"it is {tokens_by_features(size)}; give at most {MOST} of each.")
    for name, row in zip(names or _numbered(rows), rows, strict=True):
        if not all(map(math.isfinite, row)):
            raise StateError(f"the row of {name} has a number that is not finite; write an ordinary one.")
    return tuple(map(tuple, rows)), tuple(map(printable, names)) if names else _numbered(rows)


def _refuse(reason: str) -> NoReturn:
    raise StateError(f"the table cannot be read: {reason}")


def _numbered(rows: list[list[float]]) -> tuple[str, ...]:
    return tuple(f"token {at}" for at in range(1, len(rows) + 1))
