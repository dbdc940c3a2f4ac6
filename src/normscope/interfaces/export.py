"""A state of a lesson as one file: style and drawing inside, no script, no request; to print, to show, to hand in.

It is the page's own drawing, lowered once more. What only a script can move is told by its value or left out;
everything else stays as it is.
"""

from collections.abc import Callable, Mapping
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree.ElementTree import Element, TreeBuilder

from .. import __version__
from ..page.html import VOID, Html, el, group, raw
from .web import HOST, PORT, style

if TYPE_CHECKING:
    from ..lessons.sources import Source

LAB = f"http://{HOST}:{PORT}"  # where `normscope` serves the lab
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
NO_VALUE = "—"
SPELLED = {"viewbox": "viewBox"}  # the parser reads all names in small letters
KEPT_DATA = ("data-t", "data-row", "data-v")  # where a cell stands and its exact value: programs read pages too
STYLE = """
/* A page without a script */
* { animation: none !important; transition: none !important; }
.still *, .still ~ footer { content-visibility: visible; }
.still .walk { position: static; }
.still .label { color: var(--quiet); font-size: 13px; }
.still span.value, .still .chosen { font-weight: 600; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.still .choice { border: 1px solid var(--line); border-radius: 4px; padding: 2px 8px; }
.still .chosen { border-color: var(--ink); }
.still .chosen::before { content: "\\2713  "; }
.still .switch .label { margin-left: 4px; }
.still td[aria-current] { outline: 3px solid var(--ink); outline-offset: -2px; font-weight: 700; }
.still [data-t] td { cursor: auto; }
footer { max-width: 1440px; margin: 0 auto; padding: 0 24px 24px; color: var(--quiet); font-size: 13px; }
footer code { overflow-wrap: anywhere; }
@media print {
  .still { zoom: 0.75; }
  .still :is(.settings, .cell, .paging, .copy) { display: flex !important; flex-wrap: wrap; gap: 4px 16px; }
  .still .walk { display: block !important; }
  .still :is(pre, ol) { max-height: none; overflow: visible; white-space: pre-wrap; overflow-wrap: anywhere; }
  footer { padding: 8px 0 0; }
}
"""


class Page(NamedTuple):
    """A lesson's path, the state in canonical form, and the whole page."""

    lesson: str
    state: str
    html: str


def page(path: str, query: str, sources: "Mapping[str, Source]") -> Page:
    """The state of the lesson at `path` as a whole page.

    >>> made = page("/inside", "v=1&step=mu&do=step:q", {})
    >>> made.state, "<h1>Inside LayerNorm</h1>" in made.html, "<button" in made.html
    ('v=1&step=q', True, False)

    Raises StateError for a state that cannot be read, KeyError for a path that is no lesson's.
    """
    from ..lessons.site import LESSONS
    from ..lessons.state import split

    lesson = LESSONS[path]
    state = lesson.state_of(split(query), sources)
    main = el("main", still(lesson.draw(state, sources)), id="main", class_="lesson still")
    canonical = lesson.canonical(state)
    told = group("This state in the lab, while normscope runs: ", el("code", f"{LAB}{path}?{canonical}"))
    return Page(path, canonical, document(lesson.title, main, told))


def document(title: str, main: Html, told: Html) -> str:
    """A whole page that needs no other file and asks for none; `told` stands at its foot."""
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=POLICY),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("title", f"{title} | Normscope"),
        el("link", rel="icon", href="data:,"),  # none, and so nothing to ask for
        el("style", raw(style() + STYLE)),
    )
    body = el("body", main, el("footer", f"Normscope {__version__}. ", told))
    return f"<!doctype html>\n{el('html', head, body, lang='en')}\n"


class _Reader(HTMLParser):
    """Our own markup as a tree."""

    def __init__(self) -> None:
        super().__init__()
        self.tree = TreeBuilder()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tree.start(tag, {SPELLED.get(name, name): value or "" for name, value in attrs})
        if tag in VOID:
            self.tree.end(tag)

    def handle_endtag(self, tag: str) -> None:
        self.tree.end(tag)

    def handle_data(self, data: str) -> None:
        self.tree.data(data)


def still(drawing: Html) -> Html:
    """A drawing without what needs a script.

    >>> print(still(el("p", el("label", "eps", for_="e"), el("input", id="e", type="text", value="0"))))
    <p><span class="label">eps</span><span id="e" class="value">0</span></p>
    """
    reader = _Reader()
    reader.feed(f"<div>{drawing}</div>")
    reader.close()
    return Html((str(el("div", *_children(reader.tree.close())))[len("<div>") : -len("</div>")],))


def _lowered(node: Element) -> Html | None:
    """An element as it stands without a script, or nothing."""
    if "hidden" in node.attrib or "hands" in node.get("class", "").split():  # what to do with mouse and keys
        return None
    if node.tag in RULES:
        return RULES[node.tag](node)
    return _same(node)


def _same(node: Element, tag: str = "", **more: Any) -> Html | None:
    """The element itself; nothing if all that was in it is gone."""
    children = _children(node)
    if len(node) and not any(children):
        return None
    if "field" in node.get("class", "").split() and len([each for each in children if each]) < 2:
        return None  # a label alone
    return el(tag or node.tag, *children, **_attributes(node), **more)


def _children(node: Element) -> list[Any]:
    parts: list[Any] = [node.text]
    for child in node:
        parts += [_lowered(child), child.tail]
    return parts


def _attributes(node: Element) -> dict[str, str]:
    """Those that mean something without a script; `aria-selected` belongs to a grid, which needs one."""
    kept = {name: value for name, value in node.attrib.items() if not name.startswith("data-") or name in KEPT_DATA}
    if kept.pop("aria-selected", "") == "true":
        kept["aria-current"] = "true"
    if kept.get("role") in ("grid", "button"):
        del kept["role"]
    return kept


def _value(node: Element, text: str) -> Html:
    """What a control was set to."""
    return el("span", text, id=node.get("id"), class_="value")


def _input(node: Element) -> Html | None:
    kind, value = node.get("type"), node.get("value", "")
    if kind in ("checkbox", "radio"):
        return _value(node, "☑" if "checked" in node.attrib else "☐")
    if kind == "file" or node.get("data-do", "").startswith("drag."):  # a field beside the slider has the number
        return None
    return _value(node, node.get("aria-valuetext") or value or NO_VALUE)


def _select(node: Element) -> Html | None:
    """The chosen option; nothing where none is chosen yet."""
    options = list(node.iter("option"))
    chosen = next((option for option in options if "selected" in option.attrib), options[0])
    return _value(node, chosen.text or "") if chosen.get("value") else None


def _button(node: Element) -> Html | None:
    """Only what could be chosen, and whether it was."""
    if "aria-pressed" not in node.attrib or "data-play" in node.attrib:
        return None
    is_chosen = node.get("aria-pressed") == "true"
    return el("span", *_children(node), class_="choice chosen" if is_chosen else "choice")


def _link(node: Element) -> Html | None:
    """A link inside the page; any other as text, an address with its host."""
    href = node.get("href", "")
    if href.startswith("#"):
        return _same(node)
    return el("span", f"{LAB}{href}") if node.text == href else el("span", *_children(node))


def _textarea(node: Element) -> Html | None:
    return _value(node, node.text) if node.text else None


RULES: Mapping[str, Callable[[Element], Html | None]] = {
    "a": _link,
    "button": _button,
    "details": lambda node: el("details", *_children(node), **_attributes(node) | {"open": ""}),  # paper cannot unfold
    "input": _input,
    "label": lambda node: el("span", *_children(node), class_="label"),
    "select": _select,
    "textarea": _textarea,
}
