"""Controls that carry an action: what a person sets is sent as `do=FIELD:VALUE`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import log10
from typing import NamedTuple

from .html import Html, el, group, region

Joined = tuple[tuple[str, str | None], ...]  # attributes that join a field with its message
MOST_TYPED = 20_000  # characters; what is pasted beyond them is cut, and still too much for any field
NUMBER = {"type": "text", "inputmode": "decimal", "autocomplete": "off", "spellcheck": "false"}


@dataclass
class Complaint:
    """What was wrong with an action, until a control has shown it.

    field, value  the action, as it was sent
    text          why it was not done; empty: nothing was wrong
    """

    field: str = ""
    value: str = ""
    text: str = ""

    def at(self, field: str) -> bool:
        """Whether the complaint belongs to this field."""
        return bool(self.text) and self.field == field

    def take(self, field: str, value: str) -> tuple[str, Html | None, dict[str, str | None]]:
        """What the field shows, the message under it, and the attributes that join the two.

        A value that was refused stays in its field, to be mended.
        """
        if not self.at(field):
            return value, None, {}
        message, self.text = _message(field, self.text), ""
        return self.value, message, {"aria_invalid": "true", "aria_describedby": f"bad-{field}"}

    def rest(self) -> Html | None:
        """The message, if no field has taken it."""
        return _message("other", self.text) if self.text else None


def _message(field: str, text: str) -> Html:
    return el("p", text, class_="bad", id=f"bad-{field}")


class Span(NamedTuple):
    """The reach of a slider."""

    low: float
    high: float
    step: float


def select(field: str, label: str, options: Mapping[str, str], chosen: str) -> Html:
    """A labelled choice."""
    return _select(field, label, tuple(options.items()), chosen)


@lru_cache(maxsize=256)
def _select(field: str, label: str, options: tuple[tuple[str, str], ...], chosen: str) -> Html:
    return _field(label, el("select", _options(options, chosen), id=f"set-{field}", data_do=field), field)


def grouped(field: str, label: str, groups: Iterable[tuple[str, Mapping[str, str]]], chosen: str) -> Html:
    """A labelled choice with headings inside."""
    headed = (el("optgroup", _options(tuple(options.items()), chosen), label=name) for name, options in groups)
    return _field(label, el("select", *headed, id=f"set-{field}", data_do=field), field)


@lru_cache(maxsize=256)
def _options(options: tuple[tuple[str, str], ...], chosen: str) -> Html:
    return group(*(el("option", text, value=value, selected=value == chosen) for value, text in options))


def entry(field: str, label: str, value: str, wrong: Complaint, width: int = 6, keys: str = "decimal") -> Html:
    """A labelled text field for a number, or for what a pad of digits has no keys for: `keys` "text"."""
    shown, message, joined = wrong.take(field, value)
    return _entry(field, label, shown, width, keys, message, tuple(joined.items()))


@lru_cache(maxsize=256)
def _entry(field: str, label: str, shown: str, width: int, keys: str, message: Html | None, joined: Joined) -> Html:
    """Kept, since most fields of a page stay as they are from one drawing to the next."""
    typed = {**NUMBER, "inputmode": keys, "maxlength": MOST_TYPED}
    box = el("input", id=f"set-{field}", **typed, size=width, value=shown, data_do=field, **dict(joined))
    return _field(label, group(box, message), field)


def slider(field: str, label: Html, spoken: str, value: str, shown: str, span: Span, wrong: Complaint) -> Html:
    """A slider and a number field for one number; what the slider cannot reach, the field takes.

    The slider sends `drag.FIELD`: however far it is drawn, that is one change.
    """
    typed, message, joined = wrong.take(field, value)
    return _slider(field, label, spoken, value, shown, span, typed, message, tuple(joined.items()))


@lru_cache(maxsize=256)
def _slider(
    field: str,
    label: Html,
    spoken: str,
    value: str,
    shown: str,
    span: Span,
    typed: str,
    message: Html | None,
    joined: Joined,
) -> Html:
    reach = _reach(field, value, span, spoken, shown, field)
    named = {"data_do": field, "data_pair": field, "aria_label": f"{spoken}, exact"}
    exact = el("input", id=f"exact-{field}", **NUMBER, size=8, value=typed, **named, **dict(joined))
    return el("div", el("span", label, class_="label"), reach, exact, message, class_="slider")


def _reach(field: str, place: str, span: Span, spoken: str, shown: str, pair: str | None = None) -> Html:
    """The slider itself; `pair` joins it with the field that takes its own values."""
    return el(
        "input",
        type="range",
        id=f"slide-{field}",
        min=f"{span.low:g}",
        max=f"{span.high:g}",
        step=f"{span.step:g}",
        value=place,
        data_do=f"drag.{field}",
        data_pair=pair,
        aria_label=spoken,
        aria_valuetext=f"{spoken}: {shown}",
    )


class Decades(NamedTuple):
    """The reach of a slider on powers of ten; its leftmost place stands for 0.

    >>> reach = Decades(-2, 6, 0.05)
    >>> reach.value(-2), reach.value(3), reach.value(0.05), reach.place(1000.0), reach.place(0.0)
    (0.0, 1000.0, 1.12, '3', '-2')
    """

    low: float
    high: float
    step: float

    def value(self, place: float) -> float:
        """The number at a place, to three digits."""
        return 0.0 if place <= self.low else float(f"{10 ** min(place, self.high):.3g}")

    def place(self, value: float) -> str:
        """The place nearest to a number's size."""
        exponent = log10(abs(value)) if value else self.low
        steps = round((min(max(exponent, self.low), self.high) - self.low) / self.step)
        return f"{self.low + steps * self.step:.6g}"


def placed(field: str, label: str, value: str, place: str, span: Span, wrong: Complaint) -> Html:
    """A slider and a number field for one number, where the slider's places are not the number's own.

    The slider sends `drag.FIELD` with its place, the field FIELD with the number.
    """
    reach = _reach(field, place, span, label, value)
    typed, message, joined = wrong.take(field, value)
    exact = el("input", id=f"set-{field}", **NUMBER, size=8, value=typed, data_do=field, **joined)
    named = el("label", label, for_=f"set-{field}", class_="label")
    return el("div", named, reach, exact, message, class_="slider")


def check_box(field: str, label: str, is_on: bool) -> Html:
    """A labelled switch; it sends 1 or 0."""
    box = el("input", type="checkbox", id=f"set-{field}", data_do=field, checked=is_on)
    return el("div", box, el("label", label, for_=f"set-{field}"), class_="switch")


def button(text: str, do: str, disabled: bool = False) -> Html:
    """A button that does one thing. Disabled for the script, not for the browser, which would take its focus."""
    return el("button", text, type="button", data_do=do, aria_disabled="true" if disabled else None)


def choices(field: str, asked: str, options: Mapping[str, str], chosen: str, disabled: bool = False) -> Html:
    """Answers to choose from, of which one is pressed; `asked` is the id of the question that names them."""

    def one(value: str, text: str) -> Html:
        pressed = "true" if value == chosen else "false"
        return el(
            "button",
            text,
            type="button",
            data_do=f"{field}:{value}",
            aria_pressed=pressed,
            aria_disabled="true" if disabled else None,
        )

    drawn = (one(value, text) for value, text in options.items())
    return el("div", *drawn, class_="choices", role="group", aria_labelledby=asked)


def bar(controls: Iterable[Html | None], complains: bool) -> Html:
    """The controls of a whole page in a row; a region of the page. It keeps room for a message where it complains."""
    classes = f"settings{' complaining' if complains else ''}"
    drawn = el("div", *controls, id="settings", class_=classes, role="group", aria_label="Settings")
    return region(drawn, "settings")


def _field(label: str, control: Html, field: str) -> Html:
    return el("div", el("label", label, for_=f"set-{field}"), control, class_="field")
