"""Tables: what may be wider than the screen, in a frame of its own that the keyboard can scroll; and their heads."""

from functools import lru_cache

from .html import Html, el


def frame(label: str, table: Html, id: str | None = None, role: str = "group") -> Html:
    """A table in its frame, which `label` names.

    role  "region" makes it a landmark, for tables that a page is about
    """
    return el("div", table, id=id, class_="frame", tabindex=0, role=role, aria_label=label)


@lru_cache(maxsize=256)
def head(*names: str, id: str | None = None) -> Html:
    """The head of a table: a name a column; without one, an empty corner.

    >>> str(head("", "mean"))
    '<thead><tr><td></td><th scope="col">mean</th></tr></thead>'
    """
    return el("thead", el("tr", *(el("th", name, scope="col") if name else el("td") for name in names)), id=id)
