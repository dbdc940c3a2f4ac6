"""The home page: what there is; and the pages for what there is not."""

from collections.abc import Mapping
from urllib.parse import quote

from ..page.html import Html, el
from .shell import ENTRIES
from .sources import Source

AXES = (
    ("The lesson’s figures", "", "Three tokens, four features, and the row of one of them."),
    ("An outlier", "?v=1&do=x.1.0:30", "One feature far from the rest squeezes the rest of its row."),
    ("A constant row", "?v=1&do=constant:1", "Its z is 0 and its y is beta: eps keeps the division whole."),
    ("A row scaled by 3", "?v=1&do=rowscale.1:3", "x is three times as large and z nearly what it was."),
    ("Another gamma", "?v=1&do=gamma.0:0.6", "One feature of every token moves, and no statistic does."),
)
INSIDE = (
    ("Symbolic, 2 × 4 × 8", "", "A small tensor with every entry of every step in view."),
    (
        "Real activations",
        "?v=1&source=minilm",
        "14 tokens of MiniLM-L6, with the outlier feature that squeezes its row.",
    ),
    ("GPT-2 small", "?v=1&source=gpt2-small", "The layer at its real sizes, with its bill in bytes and FLOPs."),
    ("Llama-3 8B", "?v=1&source=llama-3-8b", "RMSNorm: no mean, no beta, and what that saves."),
)
PRECISION = (
    ("A row in bfloat16", "", "Its mean and spread are sliders; every named policy stands beside it."),
    ("40000 to 40003 in float32", "?v=1&do=fault:ort-40000", "The one-pass variance of a row that broke a runtime."),
    ("Squares beyond float16", "?v=1&do=fault:llama-squares", "x² overflows, and the row comes out as zeros."),
    ("What MiniLM loses", "?v=1&source=minilm", "Real activations, row by row, under every policy."),
)
MISTAKES = (
    ("Divided by n − 1", "", "At d = 768 it hides in a tolerance of 0.1 %."),
    ("eps outside the root", "?v=1&show=eps-outside-root", "Ordinary rows hide it; a row of tiny variance does not."),
    ("Padded lanes", "?v=1&show=padded-lanes-counted", "A kernel that is right for every power of two."),
    ("Which is it?", "?v=1&quiz=1", "A hidden mistake, its numbers, and a few that it could be."),
)
NAMED = (
    ("(2, 3) + (1, −1)", "", "The root opens to a fraction, and is named all the same."),
    ("(1, 2, 4)", "?v=1&x=1,2,4&update=0,0,0&panel=4", "The root of 14/9 is none, however long the decimals."),
    ("eps as a symbol", "?v=1&eps=eps&panel=4", "The formula that stands where no value is given."),
)
WAYS = {"/axes": AXES, "/inside": INSIDE, "/precision": PRECISION, "/mistakes": MISTAKES, "/named": NAMED}
OWN = ("/inside", "/precision")  # lessons that take a person's tensors


def home(sources: Mapping[str, Source]) -> Html:
    """Every lesson, the ways into it, and the tensors that the server was started with."""
    own = [(source.title, f"?v=1&source={quote(name)}", source.note) for name, source in sources.items()]
    lessons = (
        el("section", el("h2", el("a", entry.title, href=entry.path)), el("p", entry.about), _ways(entry.path, own))
        for entry in ENTRIES
    )
    return el(
        "main",
        el("h1", "A microscope for normalization layers"),
        el("p", "One verified definition stands behind every number here.", class_="source"),
        *lessons,
        _commands(),
        id="main",
        class_="text",
    )


def _ways(path: str, own: list[tuple[str, str, str]]) -> Html:
    ways = [*(own if path in OWN else ()), *WAYS.get(path, ())]
    items = (el("li", el("a", title, href=path + query), el("span", f" {note}")) for title, query, note in ways)
    return el("ul", *items, class_="ways")


def _commands() -> Html:
    lines = (
        ("normscope open FILE.npy", "the lesson on your own tensor"),
        ("normscope trace FILE.npy", "every step in the terminal, or as JSON"),
        ("normscope ledger --shape 8,1024,768", "bytes and FLOPs of a layer"),
    )
    items = (el("li", el("code", command), f" {about}") for command, about in lines)
    return el("section", el("h2", "In the terminal"), el("ul", *items, class_="ways"))


def missing(path: str) -> Html:
    """The page for an address that is none."""
    return _message("There is no such page", f"Nothing stands at {path[:80]}.", "/", "All lessons")


def unreadable(reason: str, path: str) -> Html:
    """The page for an address whose state cannot be read."""
    return _message("This address cannot be read", f"It was not changed: {reason}", path, "Start the lesson afresh")


def _message(title: str, text: str, href: str, label: str) -> Html:
    return el("main", el("h1", title), el("p", text), el("p", el("a", label, href=href)), id="main", class_="text")
