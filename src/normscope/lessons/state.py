"""A page's state is its address: typed fields, defaults left out, everything validated.

A lesson declares a frozen dataclass whose fields all have defaults; `read` makes one from a query string and
`write` turns it back. Actions come in the same query: `do=FIELD:VALUE`.
"""

import math
import re
from collections.abc import Callable, Container, Mapping
from dataclasses import fields, replace
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar
from urllib.parse import parse_qsl, urlencode

from ..errors import NormscopeError, StateError

VERSION = "1"
LONGEST = 60_000
Codec = tuple[Callable[[str], Any], Callable[[Any], str]]
LONGEST_VALUE = 24_000  # a table of 32 x 32 numbers in full: cut, it would be complained of otherwise


class Correctable(Protocol):
    """A state that remembers an action which could not be done."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def bad(self) -> tuple[str, str] | None:
        """The action's field and value."""


S = TypeVar("S", bound=Correctable)


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


def act(state: S, field: str, value: str, done: Callable[[S, str, str], S], looking: Container[str] = ()) -> S:
    """The state after one action; after one that cannot be done, the same state with `bad` set.

    done     the state after an action, which raises NormscopeError or ValueError where it cannot be done
    looking  fields that change what is seen, not what is set: a complaint stands on
    """
    kept = state.bad if field in looking else None
    state = replace(state, bad=None)
    try:
        return replace(done(state, field, value), bad=kept)
    except (NormscopeError, ValueError):
        cut = value if len(value) <= LONGEST_VALUE else f"{value[:LONGEST_VALUE]}…"
        return replace(state, bad=(field[:40], cut))


def complaint(state: S, done: Callable[[S, str, str], S]) -> str:
    """Why the last action was not done, or nothing: found by trying it again."""
    if not state.bad:
        return ""
    field, value = state.bad
    try:
        done(replace(state, bad=None), field, value)
    except NormscopeError as error:
        return str(error)
    except ValueError:
        return f"'{value[:40]}' is not understood here."
    return ""


def whole_number(text: str) -> int:
    """A whole number that a person typed, from 0 to 10^15; StateError if it is none."""
    if not text.strip().isdecimal() or len(text) > 16 or int(text) > 10**15:
        raise StateError(f"'{text[:20]}' is no whole number from 0; type one such as 3.")
    return int(text)


def words(text: str) -> list[str]:
    """The numbers of a row that was typed, separated by commas or blanks; a fraction's slash may have blanks round it.

    >>> words("1 / 2, 3"), words("2/3 0.1")
    (['1/2', '3'], ['2/3', '0.1'])
    """
    return re.sub(r"\s*/\s*", "/", text).replace(",", " ").split()


def fitted(text: str, count: int, neutral: str) -> str:
    """A row that was typed, cut or filled up to so many numbers; as it was typed where it has them.

    >>> fitted("2,3,4", 2, "0"), fitted("1 / 2", 3, "1"), fitted("5 6", 2, "0")
    ('2,3', '1/2,1,1', '5 6')
    """
    given = words(text)
    return text if len(given) == count else ",".join((given + [neutral] * count)[:count])


def finite(text: str) -> float:
    """A number that a person typed; StateError if it is none, or not finite."""
    try:
        value = float(text.replace("\N{MINUS SIGN}", "-"))
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or "_" in text:
        raise StateError(f"'{text[:20]}' is no finite number; type one such as 1.25.")
    return value


def _pair(text: str) -> tuple[str, str]:
    field, colon, value = text.partition(":")
    if not colon:
        raise ValueError(text)
    return field, value


def _flag(text: str) -> bool:
    if text not in ("0", "1"):
        raise ValueError(text)
    return text == "1"


PAIR: Codec = (_pair, ":".join)  # an action that could not be done
FLAG: Codec = (_flag, lambda flag: str(int(flag)))
WHOLE: Codec = (whole_number, str)


def pairs(between: str) -> Codec:
    """Several fields with their values: `mu:2;c:1,1`."""
    return lambda text: tuple(map(_pair, text.split(between))), lambda listed: between.join(map(":".join, listed))


def indices(axes: int) -> Codec:
    """A place by its index along so many axes: `0,1,96`."""

    def place(text: str) -> tuple[int, ...]:
        at = tuple(map(whole_number, text.split(",")))
        if len(at) != axes:
            raise StateError(f"'{text[:40]}' has {len(at)} numbers; give {axes}.")
        return at

    return place, lambda at: ",".join(map(str, at))


def choice(options: tuple[str, ...]) -> Codec:
    """One of some words."""

    def one(text: str) -> str:
        if text not in options:
            raise StateError(f"'{text[:40]}' is none of {', '.join(filter(None, options))}.")
        return text

    return one, str
