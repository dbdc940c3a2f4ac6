"""What may be wider than the screen, in a frame of its own that the keyboard can scroll."""

from .html import Html, el


def frame(label: str, table: Html, id: str | None = None) -> Html:
    """A table in its frame, which `label` names."""
    return el("div", table, id=id, class_="frame", tabindex=0, role="region", aria_label=label)
