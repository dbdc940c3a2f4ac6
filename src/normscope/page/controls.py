"""Controls that carry an action: what a person sets is sent as `do=FIELD:VALUE`."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from .html import Html, el, group


class Span(NamedTuple):
    """The reach of a slider."""

    low: float
    high: float
    step: float


def select(field: str, label: str, options: Mapping[str, str], chosen: str) -> Html:
    """A labelled choice."""
    drawn = _options(tuple(options.items()), chosen)
    return _field(label, el("select", drawn, id=f"set-{field}", data_do=field), field)


def grouped(field: str, label: str, groups: Iterable[tuple[str, Mapping[str, str]]], chosen: str) -> Html:
    """A labelled choice with headings inside."""
    headed = (el("optgroup", _options(tuple(options.items()), chosen), label=name) for name, options in groups)
    return _field(label, el("select", *headed, id=f"set-{field}", data_do=field), field)


@lru_cache(maxsize=256)
def _options(options: tuple[tuple[str, str], ...], chosen: str) -> Html:
    return group(*(el("option", text, value=value, selected=value == chosen) for value, text in options))


def entry(field: str, label: str, value: str, complaint: str = "", width: int = 6) -> Html:
    """A labelled text field for a number."""
    box = el(
        "input",
        id=f"set-{field}",
        type="text",
        inputmode="decimal",
        autocomplete="off",
        spellcheck="false",
        size=width,
        value=value,
        data_do=field,
        aria_invalid="true" if complaint else None,
        aria_describedby=f"bad-{field}" if complaint else None,
    )
    return _field(label, group(box, _complaint(field, complaint)), field)


def slider(field: str, label: Html, spoken: str, value: str, shown: str, span: Span, complaint: str = "") -> Html:
    """A slider and a number field for one number; what the slider cannot reach, the field takes."""
    reach = el(
        "input",
        type="range",
        id=f"slide-{field}",
        min=f"{span.low:g}",
        max=f"{span.high:g}",
        step=f"{span.step:g}",
        value=value,
        data_do=field,
        data_pair=field,
        aria_label=spoken,
        aria_valuetext=f"{spoken}: {shown}",
    )
    exact = el(
        "input",
        type="text",
        id=f"exact-{field}",
        inputmode="decimal",
        autocomplete="off",
        size=8,
        value=value,
        data_do=field,
        data_pair=field,
        aria_label=f"{spoken}, exact",
        aria_invalid="true" if complaint else None,
        aria_describedby=f"bad-{field}" if complaint else None,
    )
    return el("div", el("span", label, class_="label"), reach, exact, _complaint(field, complaint), class_="slider")


def button(text: str, do: str, disabled: bool = False) -> Html:
    """A button that does one thing."""
    return el("button", text, type="button", data_do=do, disabled=disabled)


def _field(label: str, control: Html, field: str) -> Html:
    return el("div", el("label", label, for_=f"set-{field}"), control, class_="field")


def _complaint(field: str, complaint: str) -> Html | None:
    return el("p", complaint, class_="bad", id=f"bad-{field}") if complaint else None
