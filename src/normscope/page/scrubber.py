"""A walk through numbered steps: a slider, buttons that move it, and a name to jump to each."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from .html import Html, el, region


def scrubber(field: str, label: str, lines: Mapping[str, Sequence[Html]], at: int, spoken: str) -> Html:
    """All steps by their names, on one line or several, each under its heading; "" is none.

    Moving sends `do=FIELD:NUMBER`, counted through all lines. A region of the page.
    """
    names = [name for line in lines.values() for name in line]
    reach = el(
        "input",
        type="range",
        id=field,
        min=0,
        max=len(names) - 1,
        step=1,
        value=at,
        data_do=field,
        data_pair=field,
        aria_label=label,
        aria_valuetext=spoken,
    )
    jumps = [_jump(field, i, name, i == at) for i, name in enumerate(names)]
    drawn = []
    for heading, line in lines.items():
        here, jumps = jumps[: len(line)], jumps[len(line) :]
        steps = el("ol", *here, aria_label=heading or None)
        drawn.append(el("div", el("small", heading, aria_hidden="true"), steps, class_="leg") if heading else steps)
    return region(el("div", reach, *drawn, id="scrub", class_="scrub"), "scrub")


def _jump(field: str, i: int, name: Html, is_here: bool) -> Html:
    number = el("span", str(i + 1), class_="nr")
    here = "step" if is_here else None
    return el("li", el("button", number, name, type="button", data_do=f"{field}:{i}", aria_current=here))


@lru_cache(maxsize=8)
def transport(field: str, what: str = "step") -> Html:
    """Back, play, forward: they move the slider of that field."""

    def bump(text: str, label: str, by: str) -> Html:
        return el("button", text, type="button", data_bump=field, data_by=by, aria_label=label)

    return el(
        "div",
        bump("|◀", f"First {what}", "min"),
        bump("◀", f"{what.capitalize()} back", "-1"),
        el("button", "Play", type="button", data_play=field, aria_pressed="false"),
        bump("▶", f"{what.capitalize()} forward", "1"),
        bump("▶|", f"Last {what}", "max"),
        class_="transport",
    )
