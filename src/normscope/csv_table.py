"""Numbers in CSV text: separators, header, token names; every fault by line and column."""

import csv
import io
import math
import re
from collections.abc import Callable
from typing import NoReturn

SEPARATORS = "\t;,"  # where two stand in as many lines, the earlier one: 1,5;2,5 has decimal commas
SAMPLE = 50  # lines that are looked at for the separator
COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
NAME_HEADS = ("", "token", "tokens", "name", "names", "text", "word")

Lines = list[tuple[int, list[str]]]  # a line's number in the text and its cells
Refuse = Callable[[str], NoReturn]
Table = tuple[list[list[float]], tuple[str, ...] | None]


def parse(text: str, refuse: Refuse, decimal_comma: bool = False, way_out: str = "") -> Table:
    """The rows of numbers in CSV text, and the token names of its first column, if it has one.

    The first row is a header if a cell of it after the first is no number, or if it is `token,0,1,2`. The
    first column names tokens if its header is empty, "token" or the like, or if most of it is no numbers.
    Columns are separated by commas, semicolons or tabs; blank lines do not count. `refuse(reason)` raises;
    way_out says where the caller lets decimal commas pass.

    >>> parse("token,0,1\\ncat,1,-1", print)
    ([[1.0, -1.0]], ('cat',))
    """
    lines = _lines(text, refuse, decimal_comma)
    if not lines:
        refuse("it is empty; give a row of numbers a line.")
    head = lines.pop(0)[1] if _is_header(lines[0][1]) else None
    if not lines:
        refuse("it has a header and no row of numbers; give a row of numbers a line.")
    _same_length(lines, refuse, head)
    named = _has_names(head, lines)
    if named and len(lines[0][1]) == 1:
        refuse("it has token names and no column of numbers; give numbers after the names.")
    rows = [
        [
            _number(cell, f"line {line}, column {column}", refuse, decimal_comma, way_out)
            for column, cell in enumerate(cells, 1)
            if column > named
        ]
        for line, cells in lines
    ]
    return rows, tuple(cells[0] for _, cells in lines) if named else None


def _lines(text: str, refuse: Refuse, decimal_comma: bool) -> Lines:
    by = separator(text.split("\n", SAMPLE)[:SAMPLE], decimal_comma)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=by, skipinitialspace=True, strict=True)
    try:
        return [(reader.line_num, row) for row in reader if len(row) > 1 or "".join(row).strip()]
    except csv.Error as error:
        refuse(f"line {reader.line_num} is no CSV ({error}); mend its quotes.")


def separator(lines: list[str], decimal_comma: bool = False) -> str:
    """The separator that stands in the most lines; text in quotes does not count.

    >>> separator(["1,5;2,5"]), separator(["a,b", '";",1']), separator(["1 2"])
    (';', ',', ',')
    """
    bare = [re.sub(r'"[^"]*"', "", line) for line in lines if line.strip()]
    candidates = SEPARATORS[:2] if decimal_comma else SEPARATORS
    best = max(candidates, key=lambda each: sum(each in line for line in bare))
    return best if any(best in line for line in bare) else ","


def _parse(cell: str) -> float | None:
    """The number in a cell, None where it is none; Python's own 1_000 does not count."""
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def _is_text(cell: str) -> bool:
    return _parse(cell) is None and not COMMA_NUMBER.fullmatch(cell.strip())


def _is_header(cells: list[str]) -> bool:
    if len(cells) == 1:
        return _is_text(cells[0])
    return any(map(_is_text, cells[1:])) or (_names_names(cells[0]) and _counts(cells[1:]))


def _names_names(head: str) -> bool:
    """Whether a header says that its column holds names; a quoted space is a token, not an empty header."""
    return head == "" or head.strip().lower() in NAME_HEADS[1:]


def _counts(cells: list[str]) -> bool:
    """Whether cells are 0, 1, 2 ... or 1, 2, 3 ...: a header that numbers its columns."""
    numbers = [cell.strip() for cell in cells]
    return any(numbers == [str(first + i) for i in range(len(cells))] for first in (0, 1))


def _has_names(head: list[str] | None, lines: Lines) -> int:
    """1 if the first column names tokens, 0 if it holds numbers."""
    if head and _names_names(head[0]):
        return 1
    words = sum(_is_text(cells[0]) for _, cells in lines)
    return int(len(lines[0][1]) > 1 and 2 * words > len(lines))


def _same_length(lines: Lines, refuse: Refuse, head: list[str] | None) -> None:
    first, wanted = lines[0][0], len(lines[0][1])
    if head is not None and len(head) != wanted:
        refuse(f"the header has {_cells(len(head))}, line {first} has {wanted}; name every column once.")
    for line, cells in lines:
        if len(cells) != wanted:
            refuse(
                f"line {line} has {_cells(len(cells))}, line {first} has {wanted}; "
                "give every line the same number of cells."
            )


def _cells(count: int) -> str:
    return f"{count} cell{'' if count == 1 else 's'}"


def _number(cell: str, place: str, refuse: Refuse, decimal_comma: bool, way_out: str) -> float:
    cell = cell.strip()
    if decimal_comma and "." not in cell:
        value = _parse(cell.replace(",", "."))
    else:
        value = None if decimal_comma else _parse(cell)
    if value is not None and (abs(value) != math.inf or "n" in cell.lower()):  # inf and infinity are written so
        return value
    if value is not None:
        refuse(f"{place} is '{_short(cell)}', beyond float64's 1.8e308; write a smaller number, or inf.")
    if not cell:
        refuse(f"{place} is empty; write a number, or nan.")
    if COMMA_NUMBER.fullmatch(cell):
        refuse(f"{place} is '{cell}', a decimal comma; write 1.5{way_out}.")
    if decimal_comma and "." in cell:
        refuse(f"{place} is '{cell}', which has a point; with decimal commas write 1,5 and no thousands mark.")
    refuse(f"{place} is '{_short(cell)}', which is no number; columns are separated by comma, semicolon or tab.")


def _short(cell: str) -> str:
    return ascii(cell)[1:-1] if len(cell) <= 30 else ascii(cell[:30])[1:-1] + "..."
