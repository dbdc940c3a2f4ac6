"""Small mathematics in MathML: vectors and equations."""

from collections.abc import Iterable

from .html import Html, el, group


def vector(items: Iterable[Html]) -> Html:
    """Cells in parentheses; a single one as it is.

    >>> str(vector([el("mn", "1"), el("mn", "2")]))
    '<mrow><mo>(</mo><mn>1</mn><mo>,</mo><mn>2</mn><mo>)</mo></mrow>'
    """
    cells = list(items)
    if len(cells) == 1:
        return cells[0]
    parts = [el("mo", "(")]
    for at, cell in enumerate(cells):
        parts += [el("mo", ",")] * (at > 0) + [cell]
    return el("mrow", *parts, el("mo", ")"))


def equal(left: Html, *sides: Html, block: bool = True) -> Html:
    """`left = side = side ...` as a `math` element."""
    rights = (group(el("mo", "="), side) for side in sides)
    return el("math", el("mrow", left, *rights), display="block" if block else None)
