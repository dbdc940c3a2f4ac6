"""How a measurement is written: a table for a terminal, a table and plots for a page, a plot as a file.

All take its JSON, since the lab has it from a process of its own.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ..page import bars
from ..page.frame import frame
from ..page.html import Html, el, group, raw
from ..page.numbers import bytes_, count
from ..page.text import table
from . import machine

Data = Mapping[str, Any]

HEADS = ("engine", "time", "of the copy limit", "predicted bytes", "measured bytes", "bytes moved")
OURS = "fused"
NAMES = {
    "staged": "staged run",
    "numpy": "NumPy, step by step",
    "fused": "fused kernel",
    "fused out": "fused kernel, out=",
    "pytorch": "PyTorch",
    "onnxruntime": "ONNX Runtime",
}
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
UNKNOWN = "–"
SMALL = 256 * 1024  # bytes of x, below which a call costs more than its cells
FILE_WIDTH, EDGE = 720, 16  # px
FILE_STYLE = """
svg { color-scheme: light dark; }
text { font: 13px system-ui, sans-serif; fill: light-dark(#1c1d1f, #ececea); }
text { paint-order: stroke; stroke: light-dark(#ffffff, #1b1d20); stroke-width: 4px; }
.end, .middle { fill: light-dark(#585c63, #a6abb3); }
.end { text-anchor: end; } .middle { text-anchor: middle; } .strong text { font-weight: 600; }
.title { font-weight: 600; font-size: 15px; } .paper { fill: light-dark(#ffffff, #1b1d20); }
.tick { stroke: light-dark(#d9dad6, #36393e); } .limit { stroke: light-dark(#0b6e69, #5fcfc7); stroke-width: 2; }
.limit-label { fill: light-dark(#0b6e69, #5fcfc7); }
.stem { stroke: light-dark(#8a8d92, #787d85); stroke-width: 2; }
circle, .measured { fill: light-dark(#8a8d92, #787d85); }
.strong :is(circle, .measured) { fill: light-dark(#2b6b1f, #8fd07f); }
.predicted { fill: none; stroke: light-dark(#1c1d1f, #ececea); stroke-width: 1.5; }
"""


def seconds(value: float) -> str:
    """A time in the unit that a person would choose.

    >>> seconds(0.00236), seconds(3.9e-06), seconds(1.5)
    ('2.36 ms', '3.9 µs', '1.5 s')
    """
    size, unit = next((each for each in UNITS if value >= each[0]), UNITS[-1])
    return f"{value / size:.3g} {unit}"


def times(share: float) -> str:
    """How many times the copy's time, from a share of its limit.

    >>> times(0.952), times(0.0125)
    ('1.05×', '80×')
    """
    return f"{1 / share:.3g}×"


def text(data: Data, color: bool = False) -> str:
    """Everything for a terminal."""
    notes = [told(data), *absent(data), *remarks(data)]
    return "\n".join([title(data), table(cells(data), "<>>>>>", color), *notes])


def title(data: Data) -> str:
    """What was run."""
    sizes = " x ".join(map(str, data["shape"]))
    return f"{data['norm']['name']} of x {sizes}, {data['storage']}, on {_threads(data)}"


def _threads(data: Data) -> str:
    return f"{data['threads']} thread{'' if data['threads'] == 1 else 's'}"


def summary(data: Data) -> str:
    """What the figures come to, in two sentences."""
    rows = {row["engine"]: row for row in data["rows"]}
    fused, staged = (times(rows[name]["of_copy_limit"]) for name in ("fused out", "staged"))
    kept, counted = (rows["staged"][name] for name in ("measured_bytes", "predicted_bytes"))
    same = "as the ledger counts, to the byte" if kept == counted else f"and the ledger counts {count(counted)}"
    return (
        f"The fused kernel with out= takes {fused} the time of a copy of x, the staged run {staged}. "
        f"The staged run keeps {count(kept)} bytes, {same}."
    )


def told(data: Data) -> str:
    """The yardstick and the kernel."""
    return (
        f"The limit is a {data['yardstick']} of x on {_threads(data)}, {data['copy_gbps']:.3g} GB/s read and written "
        f"together: the time in which x, the parameters and y could be copied. Kernel: {data['kernel']}."
    )


def absent(data: Data) -> list[str]:
    """A sentence for each engine that was not measured."""
    return [f"{NAMES[name]} was not measured: {why}." for name, why in data["missing"].items()]


def remarks(data: Data) -> list[str]:
    """What must be known to read the figures."""
    about = "Times are medians of samples taken in turn. PyTorch, and the kernel without out=, allocate y in the call."
    small = "x is small: the time of a call is its overhead, not its cells, and the copy's is too."
    return [about, *([small] if x_bytes(data) < SMALL else []), f"Machine: {machine.written(data['machine'])}"]


def x_bytes(data: Data) -> int:
    """Bytes of x."""
    return int(data["x_bytes"])


def cells(data: Data) -> list[list[str]]:
    """The table, its head first."""
    return [list(HEADS), *(_line(row) for row in data["rows"])]


def _line(row: Data) -> list[str]:
    figures = (row["predicted_bytes"], row["measured_bytes"], row["moved_bytes"])
    amounts = [UNKNOWN if amount is None else count(amount) for amount in figures]
    return [NAMES[row["engine"]], seconds(row["seconds"]), share(row["of_copy_limit"]), *amounts]


def share(part: float) -> str:
    """A share in percent.

    >>> share(0.9523), share(0.00123)
    ('95.2 %', '0.123 %')
    """
    return f"{100 * part:.3g} %"


def drawing(data: Data) -> Html:
    """Plots, table and notes for a page."""
    notes = (el("p", line, class_="hint") for line in (told(data), *absent(data), *remarks(data)))
    return group(
        el("p", summary(data), class_="summary"),
        el("figure", el("figcaption", "Time, as a multiple of the copy's"), _time_plot(data)),
        el("figure", el("figcaption", "Bytes kept: predicted (outline) and measured (bar)"), _bytes_plot(data)),
        frame("The measurement as a table", _html_table(cells(data))),
        *notes,
    )


def _html_table(lines: Sequence[Sequence[str]]) -> Html:
    head = el("tr", *(el("th", cell, scope="col") for cell in lines[0]))
    body = (el("tr", el("th", row[0], scope="row"), *(el("td", cell) for cell in row[1:])) for row in lines[1:])
    return el("table", el("thead", head), el("tbody", *body))


def _time_plot(data: Data, width: str = "100%") -> Html:
    rows = data["rows"]
    points = [
        bars.Point(NAMES[row["engine"]], 1 / row["of_copy_limit"], _time_words(row), OURS in row["engine"])
        for row in rows
    ]
    said = "; ".join(f"{point.name} {point.words}" for point in points)
    return bars.distances(f"Times as multiples of the copy's: {said}.", "copy", points, width)


def _time_words(row: Data) -> str:
    return f"{seconds(row['seconds'])}, {times(row['of_copy_limit'])}"


def _bytes_plot(data: Data, width: str = "100%") -> Html:
    pairs = [
        bars.Pair(
            NAMES[row["engine"]],
            row["predicted_bytes"],
            row["measured_bytes"],
            _bytes_words(row),
            OURS in row["engine"],
        )
        for row in data["rows"]
    ]
    said = "; ".join(f"{pair.name} {pair.words}" for pair in pairs)
    return bars.amounts(f"Bytes kept: {said}.", pairs, width)


def _bytes_words(row: Data) -> str:
    """The measured bytes, and whether they are the predicted ones.

    >>> _bytes_words({"predicted_bytes": 1408, "measured_bytes": 1408})
    '1.38 KiB, to the byte'
    """
    predicted, measured = row["predicted_bytes"], row["measured_bytes"]
    if measured is None:
        return "not measured" if predicted is None else f"{bytes_(predicted)} predicted"
    if predicted is None:
        return f"{bytes_(measured)} measured"
    if measured == predicted:
        return f"{bytes_(measured)}, to the byte"
    return f"{bytes_(measured)}; predicted {bytes_(predicted)}"


def svg(data: Data) -> str:
    """Both plots as one file, which needs nothing else to be seen."""
    inner = f"{FILE_WIDTH - 2 * EDGE}"
    plots = ((title(data), _time_plot(data, inner)), ("Bytes kept, predicted and measured", _bytes_plot(data, inner)))
    top, body = EDGE, []
    for heading, plot in plots:
        height = _height(plot)
        body += [el("text", heading, x=EDGE, y=top + 14, class_="title"), _moved(plot, EDGE, top + 28)]
        top += 28 + height + EDGE
    paper = el("rect", width="100%", height="100%", class_="paper")
    named = {"xmlns": "http://www.w3.org/2000/svg", "width": FILE_WIDTH, "height": top, "role": "img"}
    return str(el("svg", el("style", raw(FILE_STYLE)), paper, *body, **named, aria_label=title(data))) + "\n"


def _height(plot: Html) -> int:
    return int(str(plot).partition(' height="')[2].partition('"')[0])


def _moved(plot: Html, x: int, y: int) -> Html:
    return raw(str(plot).replace("<svg ", f'<svg x="{x}" y="{y}" ', 1))
