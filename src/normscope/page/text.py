"""Tables for a terminal: aligned columns, tensors as a window of rows, and when to colour."""

from collections.abc import Collection, Mapping, Sequence
from math import prod
from typing import Any

from .window import EDGE, indices, spans

WHOLE = 8  # rows and columns up to this many are all shown
DIGITS = 5  # significant ones
TOKEN = 14  # characters of a token that are shown
CUT = "…"
BOLD, DIM, PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"


def wants_color(choice: bool | None, environ: Mapping[str, str], is_terminal: bool) -> bool:
    """Whether to colour: the person's option, else NO_COLOR, else FORCE_COLOR, else whether it is a terminal.

    https://no-color.org, https://force-color.org: set and not empty is what counts.

    >>> wants_color(None, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, True)
    False
    """
    if choice is not None:
        return choice
    if environ.get("NO_COLOR"):
        return False
    return bool(environ.get("FORCE_COLOR")) or (is_terminal and environ.get("TERM") != "dumb")


def paint(text: str, code: str, color: bool) -> str:
    """`text` in an ANSI style where colour is wanted."""
    return f"{code}{text}{PLAIN}" if color and text else text


def number(value: Any) -> str:
    """A cell with five significant digits.

    >>> number(-1.23456789), number(float("nan")), number(0)
    ('-1.2346', 'nan', '0')
    """
    return f"{float(value):.{DIGITS}g}"


def table(rows: Sequence[Sequence[str]], align: str, color: bool = False) -> str:
    """Rows of cells in aligned columns, the first row the head; `align` has < or > for each column.

    >>> print(table([["step", "bytes"], ["mu", "32"], ["c", "1,024"]], "<>"))
    step  bytes
    mu       32
    c     1,024
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [f"{cell:{side}{width}}" for cell, side, width in zip(row, align, widths, strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join([paint(lines[0], DIM, color), *lines[1:]])


def tensor(
    title: str,
    axes: Sequence[str],
    shape: Sequence[int],
    values: Any,
    own: Collection[str] | None = None,
    tokens: Mapping[str, Sequence[str]] | None = None,
    width: int = 80,
    whole: bool = False,
    color: bool = False,
) -> str:
    """A tensor as a caption and a table: a line for each row, a column for each cell of the last axis.

    Up to eight rows and columns are all shown, else three at either end with … between. A statistic, which
    has size 1 along the axes that are not its `own`, is one column. tokens names the indices of an axis;
    columns are left out until the table fits `width` characters; `whole` leaves nothing out.

    >>> print(tensor("mu", ("S", "d"), (2, 1), [[0.5], [-1.25]], own=("S",)))
    mu  S=2
      S  value
      0    0.5
      1  -1.25
    """
    rows, labels = layout(axes, shape, values, own, tokens, width, whole)
    mine = " ".join(f"{axis}={size}" for axis, size in zip(axes, shape, strict=True) if own is None or axis in own)
    return _drawn(title, mine, rows, labels, color)


def layout(
    axes: Sequence[str],
    shape: Sequence[int],
    values: Any,
    own: Collection[str] | None = None,
    tokens: Mapping[str, Sequence[str]] | None = None,
    width: int = 80,
    whole: bool = False,
) -> tuple[list[list[str]], int]:
    """The cells of `tensor`'s table, the head first, and how many columns are labels."""
    mine = [i for i, axis in enumerate(axes) if own is None or axis in own]
    lead = [i for i in mine if i < len(axes) - 1]
    columns = shape[-1] if len(lead) < len(mine) else None
    rows = _rows(axes, shape, values, lead, tokens or {}, None if whole else WHOLE)
    for most, edge in ((None, 0),) if whole else ((WHOLE, EDGE), (2 * EDGE, EDGE), (4, 2), (2, 1)):
        picked = [0] if columns is None else _picked(columns, most, edge)
        head = [axes[i] for i in lead] + _head("" if columns is None else axes[-1], picked)
        made = [head, *([*labels, *_cells(row, picked)] for labels, row in rows)]
        if sum(max(map(len, column)) + 2 for column in zip(*made, strict=True)) <= width:
            break
    return made, len(lead)


def _rows(
    axes: Sequence[str],
    shape: Sequence[int],
    values: Any,
    lead: Sequence[int],
    tokens: Mapping[str, Sequence[str]],
    most: int | None,
) -> list[tuple[list[str], Any]]:
    """The rows shown: labels and the cells along the last axis; None where rows are left out."""
    sizes, rows = [shape[i] for i in lead], []
    for number_of_row in _picked(prod(sizes), most, EDGE):
        if number_of_row is None:
            rows.append(([CUT] * len(lead), None))
            continue
        at = dict(zip(lead, unravel(number_of_row, sizes), strict=True))
        row = values
        for axis in range(len(shape) - 1):
            row = row[at.get(axis, 0)]
        rows.append(([_label(i, tokens.get(axes[axis])) for axis, i in at.items()], row))
    return rows


def _drawn(title: str, sizes: str, rows: list[list[str]], labels: int, color: bool) -> str:
    align = "<" * labels + ">" * (len(rows[0]) - labels)
    lines = [f"  {line}" for line in table(rows, align, color).splitlines()]
    return "\n".join([f"{paint(title, BOLD, color)}  {sizes}".rstrip(), *lines])


def _picked(size: int, most: int | None, edge: int) -> list[int | None]:
    """The indices shown, None where some are left out."""
    shown = spans(size, edge, size if most is None else most)
    first = list[int | None](indices(shown[:1]))
    return first if len(shown) == 1 else [*first, None, *indices(shown[1:])]


def unravel(row: int, sizes: Sequence[int]) -> list[int]:
    """The indices of a row counted in row-major order.

    >>> unravel(5, (2, 4))
    [1, 1]
    """
    at: list[int] = []
    for size in reversed(sizes):
        row, index = divmod(row, size)
        at.insert(0, index)
    return at


def _label(index: int, tokens: Sequence[str] | None) -> str:
    return f"{index} {printable(tokens[index])}" if tokens else str(index)


def printable(token: str) -> str:
    """A token on one line and without control characters, which could steer the terminal.

    >>> printable("\\n"), printable("caf\\u00e9")
    ('\\\\n', 'café')
    """
    text = "".join(char if char.isprintable() else repr(char)[1:-1] for char in token)
    return text if len(text) <= TOKEN else text[: TOKEN - 1] + CUT


def _head(axis: str, picked: Sequence[int | None]) -> list[str]:
    if not axis:
        return ["value"]
    names = [CUT if index is None else str(index) for index in picked]
    return [f"{axis}={names[0]}", *names[1:]]


def _cells(row: Any, picked: Sequence[int | None]) -> list[str]:
    return [CUT if row is None or index is None else number(row[index]) for index in picked]
