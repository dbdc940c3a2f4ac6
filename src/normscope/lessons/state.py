"""A page's state is its address: typed fields, defaults left out, everything validated.

A lesson declares a frozen dataclass whose fields all have defaults; `read` makes one from a query string and
`write` turns it back. Actions come in the same query: `do=FIELD:VALUE`.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl, urlencode

from ..errors import StateError

VERSION = "1"
LONGEST = 60_000
Codec = tuple[Callable[[str], Any], Callable[[Any], str]]
S = TypeVar("S")


class Query(NamedTuple):
    """A query string taken apart: the state's fields, the actions, and the drawing to patch, if any."""

    fields: dict[str, str]
    actions: list[tuple[str, str]]
    patch: str | None


def split(query: str) -> Query:
    """Take a query string apart.

    >>> split("v=1&step=mu&do=step%3Aq&patch=")
    Query(fields={'v': '1', 'step': 'mu'}, actions=[('step', 'q')], patch='')

    Raises StateError if it is too long, of another version, or says a field twice.
    """
    if len(query) > LONGEST:
        raise StateError(f"the address is {len(query):,} characters long; {LONGEST:,} are read.")
    state: dict[str, str] = {}
    actions: list[tuple[str, str]] = []
    patch: str | None = None
    for key, value in parse_qsl(query, keep_blank_values=True):
        if key == "do":
            field, _, wanted = value.partition(":")
            actions.append((field, wanted))
        elif key == "patch":
            patch = value
        elif key in state:
            raise StateError(f"the address gives '{key}' twice.")
        else:
            state[key] = value
    if state.get("v", VERSION) != VERSION:
        raise StateError(f"the address has state version {state['v'][:20]!r}; this Normscope reads version {VERSION}.")
    return Query(state, actions, patch)


def read(cls: type[S], codecs: Mapping[str, Codec], given: Mapping[str, str]) -> S:
    """A state from the fields of an address; StateError names a field that is unknown or cannot be read."""
    values = {}
    for key, text in given.items():
        if key == "v":
            continue
        if key not in codecs:
            raise StateError(f"the address has '{key[:40]}', which this page does not know.")
        try:
            values[key] = codecs[key][0](text)
        except (ValueError, IndexError):
            raise StateError(f"the address has {key}={text[:40]!r}, which cannot be read.") from None
    return cls(**values)


def write(state: Any, codecs: Mapping[str, Codec]) -> str:
    """The canonical query of a state: every field that differs from its default, in the order declared."""
    pairs = [("v", VERSION)]
    for field in fields(state):
        value = getattr(state, field.name)
        if value != field.default:
            pairs.append((field.name, codecs[field.name][1](value)))
    return urlencode(pairs, safe=":,")


def whole_numbers(text: str) -> tuple[int, ...]:
    """`0,1,96` as numbers.

    >>> whole_numbers("0,1,96")
    (0, 1, 96)
    """
    numbers = tuple(int(word) for word in text.split(","))
    if min(numbers) < 0 or max(numbers) > 10**15:
        raise ValueError(text)
    return numbers


def choice(options: tuple[str, ...]) -> Codec:
    """One of some words."""

    def one(text: str) -> str:
        if text not in options:
            raise ValueError(text)
        return text

    return one, str
