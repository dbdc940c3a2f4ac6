"""A verdict for a terminal."""

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from ..page.text import BOLD, DIM, number, paint

if TYPE_CHECKING:
    from ..diagnosis.verdict import Finding, Reaction, Verdict

WIDTH = 80
LABEL = 10  # columns of "evidence", "expected" and the like
MOST_ROWS = 16  # of the cells that react
MOST = 8  # rows and columns of an array that are shown
ANSWERS = ("expected", "got")


def text(verdict: "Verdict", heading: str, color: bool = False, width: int = WIDTH) -> str:
    """The verdict, its findings with the smallest input that shows each, and its notes, in lines of `width`."""
    from ..diagnosis.verdict import once

    blocks = [paint(heading, BOLD, color)]
    blocks += [finding_text(finding, color, width) for finding in once(verdict.findings)]
    notes = ["\n".join(wrap(f"note: {note}", width, subsequent_indent="      ")) for note in verdict.notes]
    return "\n\n".join([*blocks, *(["\n".join(notes)] if notes else [])])


def finding_text(finding: "Finding", color: bool = False, width: int = WIDTH) -> str:
    """One finding in lines of `width`."""
    head = f"{paint(finding.id, BOLD, color)}: {finding.name}"
    said = [("evidence", finding.evidence), ("formula", finding.formula), ("fix", finding.fix)]
    lines = [*wrap(head, width + len(head) - len(f"{finding.id}: {finding.name}"), subsequent_indent="  ")]
    for label, words in said:
        lines += _labelled(label, wrap(words, width - LABEL - 2, break_on_hyphens=False), color)
    lines += _labelled("cells", reaction(finding.reaction) if finding.reaction else [], color)
    lines += _input(finding.input, color, width - LABEL - 2)
    return "\n".join([*lines, *_labelled("see", [f"{finding.link} in the lab"] if finding.link else [], color)])


def _labelled(label: str, lines: Sequence[str], color: bool) -> list[str]:
    """Lines beside a label; none where there are none."""
    heads = [paint(f"{label:{LABEL}}", DIM, color), *[" " * LABEL] * len(lines)]
    return [f"  {head}{line}" for head, line in zip(heads, lines, strict=False)]


def reaction(of: "Reaction") -> list[str]:
    """Which cells of y react to one of x: the norm's beside the function's, as rows of the last axis.

    >>> import numpy as np
    >>> from normscope.diagnosis.verdict import Reaction
    >>> row, column = np.array([[1, 1], [0, 0]], bool), np.array([[1, 0], [1, 0]], bool)
    >>> for line in reaction(Reaction((0, 0), row, column)):
    ...     print(line)
    which of y move with x[0, 0]: it O, others #
    should   does
    O #      O .
    . .      # .
    """
    import numpy as np

    drawn = []
    for cells in (of.should, of.does):
        marks = np.where(cells, "#", ".")
        marks[of.place] = "O"
        rows = [" ".join(row) for row in marks.reshape(-1, marks.shape[-1])]
        drawn.append([*rows[:MOST_ROWS], *(["…"] if len(rows) > MOST_ROWS else [])])
    wide = max(len("should"), len(drawn[0][0])) + 3
    head = [f"which of y move with x[{', '.join(map(str, of.place))}]: it O, others #", f"{'should':<{wide}}does"]
    return [*head, *(f"{one:<{wide}}{other}" for one, other in zip(*drawn, strict=True))]


def _input(given: Mapping[str, Any], color: bool, width: int) -> list[str]:
    """The arguments, then what is expected and what came; * marks the cells that are wrong."""
    lines = []
    named = [(name, value) for name, value in given.items() if name.partition(" ")[0] not in ANSWERS]
    widest = max((len(name) for name, _ in named), default=0)
    for at, (name, value) in enumerate(named):
        rows = cells(value) or ["[]"]
        heads = [f"{name:<{widest}} = ", *[" " * (widest + 3)] * len(rows)]
        shown = [(head + row)[:width] for head, row in zip(heads, rows, strict=False)]
        lines += _labelled("input" if at == 0 else "", shown, color)
    for name, value in given.items():
        kind, _, what = name.partition(" ")  # expected, or expected dx
        if kind in ANSWERS:
            rows = cells(value, given.get(f"expected {what}".strip()) if kind == "got" else None)
            head = [what] if what else []
            lines += _labelled(kind, [row[:width] for row in head + rows], color)
    return lines


def cells(value: Any, right: Any = None) -> list[str]:
    """A number, or the rows of an array in aligned columns; a cell that differs from `right` has a star.

    >>> cells([[1.0, 2.5]], [[1.0, 2.0]])
    ['1  2.5*']
    """
    if value is None:
        return []
    rows, others = _rows(value), _rows(right) if right is not None else []
    is_marked = right is not None and [len(row) for row in rows] == [len(row) for row in others]
    written = [
        [_cell(cell) + ("*" if is_marked and _differs(cell, others[i][j]) else "") for j, cell in enumerate(row[:MOST])]
        + (["…"] if len(row) > MOST else [])
        for i, row in enumerate(rows[:MOST])
    ]
    widths = [max(len(row[j]) for row in written if j < len(row)) for j in range(max(map(len, written), default=0))]
    lines = ["  ".join(f"{cell:<{widths[j]}}" for j, cell in enumerate(row)).rstrip() for row in written]
    return [*lines, *(["…"] if len(rows) > MOST else [])]


def _rows(value: Any) -> list[list[Any]]:
    """The cells as rows, whatever the rank."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if not isinstance(value, list):
        return [[value]]
    if all(not isinstance(each, list) for each in value):
        return [value]
    return [row for each in value for row in _rows(each)]


def _cell(cell: Any) -> str:
    is_number = isinstance(cell, int | float) and not isinstance(cell, bool)
    return number(cell) if is_number else str(cell)


def _differs(one: Any, other: Any) -> bool:
    """Whether two cells are written differently."""
    return _cell(one) != _cell(other)
