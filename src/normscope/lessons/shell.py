"""What stands round every page: head, navigation, the places that the script speaks through."""

from typing import NamedTuple

from ..page.html import Html, el


class Entry(NamedTuple):
    """A line of the navigation and of the home page."""

    path: str
    title: str
    about: str


ENTRIES = (
    Entry(
        "/axes",
        "Axes lab",
        "Change a feature and follow its row; see which cells share a statistic, under LayerNorm and its relatives.",
    ),
    Entry(
        "/inside",
        "Inside LayerNorm",
        "Follow a tensor through the layer and back, cell by cell, in any precision: made up, a model's, or your own.",
    ),
    Entry(
        "/precision",
        "Precision",
        "The same row in bfloat16, float16 and eight bits, as real code rounds it: what is lost, where, and why.",
    ),
    Entry(
        "/mistakes",
        "Mistakes",
        "Wrong norms, each run beside the right one: what tells it, and which usual tests let it through.",
    ),
    Entry(
        "/named",
        "A named step",
        "The arithmetic of a block in exact fractions, up to the square root; the root by its name, until you open it.",
    ),
    Entry("/exercises", "Exercises", "A sheet of exercises with nice numbers to print for a class, answers included."),
)


def document(title: str, main: Html, path: str = "") -> str:
    """A whole page.

    The head loads one style sheet and two scripts from this server; nothing comes from elsewhere.
    """
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("title", f"{title} | Normscope" if title != "Normscope" else title),
        el("link", rel="icon", href="/static/icon.svg", type="image/svg+xml"),
        el("link", rel="stylesheet", href="/static/lab.css"),
        el("script", src="/static/theme.js"),
        el("script", src="/static/lab.js", defer=True),
    )
    body = el(
        "body",
        el("a", "Skip to the lesson", href="#main", class_="skip"),
        _header(path),
        main,
        el("p", id="offline", role="alert", hidden=True),
        el("div", id="live", role="status", aria_live="polite", class_="unseen"),
    )
    return f"<!doctype html>\n{el('html', head, body, lang='en')}\n"


def _header(path: str) -> Html:
    here = {True: "page", False: None}
    links = (el("a", entry.title, href=entry.path, aria_current=here[entry.path == path]) for entry in ENTRIES)
    home = el("a", "Normscope", href="/", class_="brand", aria_current=here[path == "/"])
    theme = el("button", "Light / dark", type="button", data_theme_toggle=True)
    return el("header", home, el("nav", *links, aria_label="Lessons"), theme, class_="top")
