"""What a whole tensor loses: its rows under every policy of the page's format, a window at a time."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from ...errors import StateError
from ...norm import Norm
from ...page.controls import button, select
from ...page.frame import frame, head
from ...page.html import Html, el, group, region
from ...page.numbers import ulps
from ...page.text import printable
from ...views.policies import find
from ..sources import Source, minilm
from .panels import percent
from .reading import Reading, read, reference
from .state import State, norm_with, policies_of

ROOM, ROWS, LONGEST = 1536, 8, 4096  # cells and rows of a window, features of a row
MINILM = "minilm"


def source_of(state: State, sources: Mapping[str, Source]) -> Source | None:
    """The tensor that is looked at, if any; StateError if there is none of that name, or no such row."""
    if not state.source:
        return None
    if state.source != MINILM and state.source not in sources:
        names = ", ".join([MINILM, *sources])
        raise StateError(f"there is no source '{state.source[:40]}' here; there are {names}.")
    source = minilm() if state.source == MINILM else sources[state.source]
    if state.at >= count(source):
        raise StateError(f"the window starts at row {state.at:,}; {source.title} has {count(source):,} rows.")
    return source


def count(source: Source) -> int:
    """The rows of a tensor."""
    return source.shape[0] * source.shape[1]


def window(source: Source, at: int) -> range:
    """The rows that are computed at once: at most 8, and no more cells than plain Python takes in a moment."""
    size = max(1, min(ROWS, ROOM // source.shape[2]))
    return range(at, min(at + size, count(source)))


def panel(state: State, sources: Mapping[str, Source]) -> Html:
    """The choice of a tensor, and what becomes of its rows."""
    options = {"": "choose a tensor", MINILM: "MiniLM-L6, layer 0"} | {
        name: printable(each.title) for name, each in sources.items()
    }
    source = source_of(state, sources)
    top = el(
        "div",
        el("h2", "What does my tensor lose?"),
        select("source", "Tensor", options, state.source),
        class_="lanes-head",
    )
    body = _told(state.source) if source is None else _losses(state, source)
    return region(el("section", top, body, id="tensor", class_="tensor-losses"), "tensor")


def _told(name: str) -> Html:
    text = "Its rows under the policies of the chosen format: the worst error, what breaks first, what eps takes."
    own = ("Start ", el("code", "normscope open FILE"), " to have your own tensor in this list.")
    return el("p", text, " ", *own, class_="hint")


def _losses(state: State, source: Source) -> Html:
    if source.shape[2] > LONGEST:
        return group(
            el(
                "p",
                f"A row has {source.shape[2]:,} features; rows of up to {LONGEST:,} are computed here.",
                class_="notice",
            ),
            _command(state),
        )
    rows = window(source, state.at)
    storage = find(state.policy).storage
    norm = norm_with(state.norm, state.eps, source.gamma is not None)
    losses = {row: row_losses(source, row, norm, storage) for row in rows}
    heads = ("policy", *(_name(source, row) for row in rows), "breaks at", "most eps")
    body = el("tbody", *(_line(at, list(losses.values())) for at in range(len(policies_of(storage)))))
    label = f"Worst error of each row in ulps of {storage}"
    table = el("table", el("caption", label), head(*heads), body, class_="figures losses")
    return group(_paging(state, source, rows), frame(label, table), _command(state))


@lru_cache(maxsize=256)
def row_losses(source: Source, row: int, norm: Norm, storage: str) -> tuple[Reading, ...]:
    """One row of a tensor under the policies of a format; kept, since a row is the same on every page."""
    b, s = divmod(row, source.shape[1])
    (((*cells,),),) = source.rows(range(b, b + 1), range(s, s + 1))
    x = [float(cell) for cell in cells]
    gamma, beta = (part and [float(cell) for cell in part] for part in (_listed(source.gamma), _listed(source.beta)))
    given = (gamma if norm.scale else None, beta if norm.shift else None)
    wanted = reference(x, norm, given)
    return tuple(read(x, norm, given, policy, wanted) for policy in policies_of(storage))


def _listed(values: Sequence[float] | None) -> list[float] | None:
    return None if values is None else list(values)


def _name(source: Source, row: int) -> str:
    tokens = source.tokens
    at = row % source.shape[1]
    return f"{row}" if tokens is None else f"{row} {printable(str(tokens[at]))}"


def _line(at: int, losses: list[tuple[Reading, ...]]) -> Html:
    """One policy over the rows of the window."""
    own = [each[at] for each in losses]
    broken = [reading.overflow for reading in own if reading.overflow]
    told = f"{broken[0]}, in {len(broken)} of {len(own)}" if broken else "nothing"
    shares = [reading.share for reading in own if reading.share == reading.share]
    eps = percent(max(shares)) if shares else "undefined"
    cells = (
        el("td", ulps(reading.worst), " ", el("small", f"breaks at {reading.overflow}") if reading.overflow else None)
        for reading in own
    )
    return el("tr", el("th", own[0].policy.name, scope="row"), *cells, el("td", told), el("td", eps))


def _paging(state: State, source: Source, rows: range) -> Html:
    size, total = len(window(source, 0)), count(source)
    text = f"rows {rows.start} to {rows.stop - 1} of {total:,}, {source.shape[2]:,} features each, eps {state.eps}"
    return el(
        "div",
        button("◂", f"at:{max(0, state.at - size)}", state.at == 0),
        button("▸", f"at:{state.at + size}", rows.stop == total),
        el("span", text, class_="range"),
        class_="turn",
    )


def _command(state: State) -> Html:
    file = "FILE" if state.source in ("", MINILM) else printable(state.source)
    return el("p", "All rows, in NumPy: ", el("code", f"normscope precision {file}"), class_="hint")
