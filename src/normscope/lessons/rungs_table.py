"""The ladder of a cell as a table, for every lesson that shows one."""

from collections.abc import Iterable

from ..page.frame import frame, head
from ..page.html import Html, el
from ..page.numbers import MINUS, ulps, written
from ..rungs import Rung

HEADS = ("rung", "value", "error, ulp", "bits")
LONGEST = 64  # signs of an exact form that are shown whole
BEGIN, END = 36, 20  # signs that are shown of a longer one


def rungs_table(rungs: Iterable[Rung], label: str) -> Html:
    """A line for every rung: exact forms first, then what each format has, with its error and its bits."""
    return frame(label, el("table", head(*HEADS), el("tbody", *map(_line, rungs)), class_="figures ladder"))


def _line(rung: Rung) -> Html:
    value = cut(rung.text.replace("-", MINUS)) if rung.value is None else written(rung.value, 17)
    error = "" if rung.ulps is None else ulps(rung.ulps)
    return el("tr", el("th", rung.name, scope="row"), el("td", value), el("td", error), el("td", el("code", rung.bits)))


def cut(text: str) -> str:
    """An exact form, its middle left out where it is long: the digits of a large fraction tell nobody anything.

    >>> cut("5/14"), cut("1" * 3116)[-24:]
    ('5/14', '1111111111 (3,116 signs)')
    """
    return text if len(text) <= LONGEST else f"{text[:BEGIN]} … {text[-END:]} ({len(text):,} signs)"
