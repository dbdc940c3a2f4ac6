"""A small escaping element builder, and regions: the pieces of a page that can be redrawn on their own.

>>> str(el("p", "1 < 2", class_="note"))
'<p class="note">1 &lt; 2</p>'
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from html import escape
from typing import Any, NamedTuple

SPECIAL = re.compile("[&<>\"']").search
VOID = frozenset({"br", "hr", "input", "link", "meta"})


class Region(NamedTuple):
    """One element with an id, drawn as text; a patch replaces it alone."""

    id: str
    html: str


class Html:
    """Markup that is safe to send: text pieces, and the regions between them."""

    __slots__ = ("pieces",)

    def __init__(self, pieces: Iterable["str | Region"]) -> None:
        self.pieces = tuple(pieces)

    def __str__(self) -> str:
        return "".join(piece if isinstance(piece, str) else piece.html for piece in self.pieces)


def raw(markup: str) -> Html:
    """Markup that is escaped already."""
    return Html((markup,))


def el(tag: str, *children: Any, **attributes: Any) -> Html:
    """An element. Text children are escaped, None children left out.

    `class_` and `for_` lose their underscore, `data_row` becomes data-row; True is a bare attribute, False
    and None are none.
    """
    opening = f"<{tag}{_attributes(attributes)}>"
    if tag in VOID:
        return Html((opening,))
    return _joined(opening, children, f"</{tag}>")


def group(*children: Any) -> Html:
    """Several elements without one around them."""
    return _joined("", children, "")


def region(element: Html, id: str) -> Html:
    """Mark an element, which must carry this id, as a region of the page."""
    return Html((Region(id, str(element)),))


def changed(old: Html, new: Html) -> list[Region] | None:
    """The regions of `new` that differ from `old`; None where the two have another layout.

    >>> old = el("ul", region(el("li", "1", id="a"), "a"), region(el("li", "2", id="b"), "b"))
    >>> new = el("ul", region(el("li", "1", id="a"), "a"), region(el("li", "3", id="b"), "b"))
    >>> changed(old, new)
    [Region(id='b', html='<li id="b">3</li>')]
    """
    if len(old.pieces) != len(new.pieces):
        return None
    regions = []
    for before, after in zip(old.pieces, new.pieces, strict=True):
        if before == after:
            continue
        if isinstance(before, str) or isinstance(after, str) or before.id != after.id:
            return None
        regions.append(after)
    return regions


def _attributes(attributes: dict[str, Any]) -> str:
    text = ""
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        text += f" {_name(key)}" if value is True else f' {_name(key)}="{_escaped(str(value))}"'
    return text


@lru_cache(maxsize=256)
def _name(key: str) -> str:
    """The attribute of a keyword."""
    return key.rstrip("_").replace("_", "-")


def _escaped(text: str) -> str:
    """Most texts of a page have nothing to escape."""
    return escape(text) if SPECIAL(text) else text


def _joined(opening: str, children: Iterable[Any], closing: str) -> Html:
    pieces: list[str | Region] = []
    text = opening
    for child in children:
        if child is None:
            continue
        if not isinstance(child, Html):
            word = str(child)
            text += escape(word, quote=False) if SPECIAL(word) else word
            continue
        for piece in child.pieces:
            if isinstance(piece, str):
                text += piece
            else:
                pieces += [text, piece]
                text = ""
    return Html([*pieces, text + closing])
