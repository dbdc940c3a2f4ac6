"""What stands round one exhibit: the list, the outputs, the fingerprint, the usual tests, where it was seen."""

from urllib.parse import urlsplit

from ...page.controls import Complaint, bar, button, entry, select
from ...page.frame import frame, head
from ...page.html import Html, el, group, region
from ...page.numbers import fixed, short
from ...views import exact
from .catalogue import ALL, EXHIBITS, by_kind, of_kind
from .fingerprint import INSTRUMENTS, figures
from .outcome import Outcome, written
from .side import Rows
from .slips import KINDS, Exhibit
from .state import State
from .usual import because, findings

LABELS = {"x": "x (rows by ;)", "gamma": "gamma", "beta": "beta", "eps": "eps", "momentum": "momentum", "dy": "dy"}
WIDTHS = {"x": 16, "gamma": 12, "beta": 12, "eps": 9, "momentum": 9, "dy": 12}
LETTERS = {"y": "y", "dx": "dx", "new_running_mean": "running mean", "new_running_var": "running variance"}
SHORT = 16  # signs of an exact number that a cell has room for
LISTED = 16  # lines of the list


def chooser(state: State) -> Html:
    """The list of exhibits: one Tab stop, arrows walk through it."""
    listed = list(of_kind(state.kind))
    at = listed.index(state.show) if state.show in listed else 0
    kinds = {ALL: "All", **KINDS}
    names = (
        el(
            "optgroup",
            *(el("option", text, value=id, selected=id == state.show) for id, text in exhibits.items()),
            label=name,
        )
        for name, exhibits in by_kind(state.kind)
    )
    box = el("select", *names, id="set-show", size=LISTED, data_do="show")
    turns = el(
        "div",
        button("Previous", f"show:{listed[at - 1]}", disabled=at == 0),
        button("Next", f"show:{listed[(at + 1) % len(listed)]}", disabled=at == len(listed) - 1),
        el("span", f"{at + 1} of {len(listed)}", class_="hint"),
        class_="row",
    )
    body = (
        select("kind", "Kind", kinds, state.kind),
        el("div", el("label", "Mistake", for_="set-show"), box, class_="field gallery"),
        turns,
    )
    return region(el("div", *body, id="chooser", class_="chooser"), "chooser")


def heading(exhibit: Exhibit) -> Html:
    """Its name, and its id."""
    body = group(el("h2", exhibit.name), el("code", exhibit.id))
    return region(el("div", body, id="heading", class_="heading"), "heading")


def where(exhibit: Exhibit) -> Html:
    """What other letters in the formulas mean."""
    line = el("p", exhibit.where, class_="hint") if exhibit.where else None
    return region(el("div", line, id="where"), "where")


def inputs(state: State, wrong: Complaint) -> Html:
    """The input, to be edited."""
    boxes = [entry(name, LABELS[name], text, wrong, WIDTHS[name], "text") for name, text in state.texts]
    changed = any(getattr(state, name) for name in state.exhibit.given)
    return bar([*boxes, button("Reset", "reset:1", disabled=not changed), wrong.rest()], state.bad is not None)


def outputs(exhibit: Exhibit, made: Outcome) -> Html:
    """Both outputs as tables; the cells that differ are marked by a sign and a word."""
    letter = LETTERS[exhibit.right.output]
    right = _table(f"✓ Right {letter}", made.right, made.exact_right, None)
    wrong = _table(f"✗ This {letter}", made.wrong, made.exact_wrong, made.differ)
    body = (el("div", right, wrong, class_="sides"), el("p", summary(made), class_="notice"))
    return region(el("div", *body, id="outputs", class_="outcomes"), "outputs")


def summary(made: Outcome) -> str:
    """How many cells differ."""
    count = sum(map(len, made.right))
    where = "in float32, every step rounded" if made.is_rounded else "in exact arithmetic"
    if not made.count:
        return f"On this input the two agree in every cell: {'it' if count == 1 else f'all {count}'}."
    return f"{made.count} of {count} cells differ, {where}."


def _table(title: str, rows: Rows, exact_rows: Rows | None, differ: list[list[bool]] | None) -> Html:
    width = len(rows[0])
    heads = head("", *(f"feature {at + 1}" for at in range(width)))
    body = (
        el(
            "tr",
            el("th", f"row {r + 1}", scope="row"),
            *(
                _cell(rows[r][c], exact_rows[r][c] if exact_rows else None, differ is not None and differ[r][c])
                for c in range(width)
            ),
        )
        for r in range(len(rows))
    )
    table = el(
        "table",
        el("caption", title),
        heads,
        el("tbody", *body),
        class_="figures pair",
    )
    return frame(title, table)


def _cell(value: float, exact_value: object, differs: bool) -> Html:
    mark = el("span", "≠ differs", class_="mark") if differs else None
    return el("td", *_number(value, exact_value), mark, class_="off" if differs else None)


def _number(value: float, exact_value: object) -> tuple[Html | str, ...]:
    """An exact number where it is short, and its decimals; NaN by its exact reason."""
    if exact_value is None:
        return (fixed(value),)
    text = written(exact_value)  # type: ignore[arg-type]
    if text == "undefined":
        return (el("b", "undefined"), el("small", short(value)))
    if text.removeprefix("-").isdigit():
        return (text.replace("-", "−"),)
    if len(text) > SHORT:
        return (fixed(value),)
    return (el("math", exact.mathml(exact_value)), el("small", fixed(value, 4)))  # type: ignore[arg-type]


def fingerprint(exhibit: Exhibit) -> Html:
    """The instrument that tells it, and what it shows on both sides."""
    instrument = INSTRUMENTS[exhibit.instrument]
    body = (
        el("tr", el("th", each.asked, scope="row"), el("td", each.right), el("td", each.wrong))
        for each in figures(exhibit.id)
    )
    table = el("table", head("asked", "right", "this one"), el("tbody", *body), class_="figures asked")
    parts = (
        el("h3", f"Fingerprint: {instrument.name}"),
        el("p", instrument.about, class_="notice"),
        frame("Fingerprint", table),
    )
    return region(el("section", *parts, id="fingerprint"), "fingerprint")


VERDICTS = {True: "✗ lets it through", False: "✓ catches it", None: "✓ cannot run: the shapes do not fit"}


def usual(exhibit: Exhibit) -> Html:
    """Tests that people write, run now, with their verdicts."""
    made = findings(exhibit.id)
    through = sum(each.passes is True for each in made)
    rows = (
        el(
            "tr",
            el("th", each.about, scope="row"),
            el("td", VERDICTS[each.passes], class_="off" if each.passes else None),
        )
        for each in made
    )
    table = el("table", head("test", "run now"), el("tbody", *rows), class_="figures asked")
    parts = (
        el("h3", "Why a usual test misses it"),
        el("p", because(exhibit), class_="notice"),
        el(
            "p",
            f"{through} of these {len(made)} tests let it through. Inputs are drawn from a normal, with a fixed seed.",
            class_="notice",
        ),
        frame("Usual tests", table),
    )
    return region(el("section", *parts, id="usual"), "usual")


def wild(exhibit: Exhibit) -> Html:
    """How it is named, mended, and where it was seen."""
    command = f"normscope check FILE.py:{exhibit.function}"
    lines = (
        el("p", el("b", "Fix: "), exhibit.fix),
        el(
            "p",
            el("b", "Named by: "),
            el("code", command, id="command"),
            " ",
            el("button", "Copy", type="button", data_copy="command"),
            ", which reports ",
            el("code", exhibit.id),
            ".",
        ),
        _seen(exhibit.seen),
    )
    return region(el("section", *lines, id="wild", class_="told-of"), "wild")


def _seen(address: str) -> Html:
    if not address:
        return el("p", el("b", "Seen: "), "no public case is cited here.")
    parts = urlsplit(address)
    named = f"{parts.netloc}{parts.path}"
    return el("p", el("b", "Seen in the wild: "), el("a", named, href=address, rel="external noreferrer"))


def names(ids: tuple[str, ...]) -> dict[str, str]:
    """The ids with their names."""
    return {id: EXHIBITS[id].name for id in ids}
