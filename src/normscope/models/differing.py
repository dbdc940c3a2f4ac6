"""diff(): the norms of two models side by side, field by field."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..page import notebook
from ..page.html import el
from ..page.text import table
from ..presets import PRESETS, Preset
from .alike import template
from .families import FAMILIES
from .fields import FIELDS, UNKNOWN, equal, values
from .found import MACHINE, Found, Report, eps_text
from .inspecting import inspect
from .pairing import Pair, paired

MODEL = "model"  # where a difference is that of the whole model
LISTED = 3  # places on a line that says what agrees

Side = Any  # a preset's name, a Report, or what `inspect` takes


@dataclass(frozen=True)
class Row:
    """A field of some norms in both models.

    where  the place in the block, or the path with * for numbers
    """

    where: str
    field: str
    a: Any
    b: Any

    def to_json(self) -> dict[str, Any]:
        """The row as JSON values."""
        return {"where": self.where, "field": self.field, "a": self.a, "b": self.b}


@dataclass(frozen=True, repr=False)
class Diff(Mapping[str, Any]):
    """What two models' norms have in common and in what they differ; as a mapping, its JSON.

    unsure  the fields that one of them does not tell
    """

    same: tuple[Row, ...]
    different: tuple[Row, ...]
    unsure: tuple[Row, ...] = ()
    paired: str = ""

    def to_json(self) -> dict[str, Any]:
        """Three lists of rows."""
        unknown = [{"where": row.where, "field": row.field} for row in self.unsure]
        return {
            "same": [row.to_json() for row in self.same],
            "different": [row.to_json() for row in self.different],
            "unknown": unknown,
            "paired": self.paired,
        }

    def __getitem__(self, key: str) -> Any:
        return self.to_json()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.to_json())

    def __len__(self) -> int:
        return len(self.to_json())

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        """For a notebook: the table of `text`."""
        return str(el("div", el("p", self._title), notebook.table(self._rows())))

    @property
    def _title(self) -> str:
        count = len(self.different)
        found = "The norms agree" if not count else f"{count} difference{'s' * (count != 1)}"
        fields = f"{len(self.same)} field{' agrees' if len(self.same) == 1 else 's agree'}"
        return f"{found}; {fields}. Norms are paired {self.paired}."

    def _rows(self) -> list[list[str]]:
        """Every difference on a line; of what agrees or is not known, the places that have the same fields."""
        rows = [["differs", row.where, row.field, shown(row.a), shown(row.b)] for row in self.different]
        for mark, group in (("unknown", self.unsure), ("same", self.same)):
            rows += [[mark, listed(places), fields, "", ""] for fields, places in _by_fields(group).items()]
        return [["", "where", "field", "a", "b"], *rows]

    def text(self, color: bool = False) -> str:
        """A table for people, the differences first."""
        return "\n".join([self._title, table(self._rows(), "<<<<<", color)])


def _by_fields(rows: Sequence[Row]) -> dict[str, list[str]]:
    """The places by the fields that they have rows of."""
    made: dict[str, list[str]] = {}
    for where in dict.fromkeys(row.where for row in rows):
        made.setdefault(", ".join(row.field for row in rows if row.where == where), []).append(where)
    return made


def listed(places: Sequence[str]) -> str:
    """Some places, as many as a line shows.

    >>> listed(["a", "b", "c", "d", "e"])
    'a; b; c and 2 more'
    """
    more = len(places) - LISTED
    return "; ".join(places[:LISTED]) + (f" and {more} more" if more > 0 else "")


def shown(value: Any) -> str:
    """A value for people."""
    if value is None:
        return "-"
    if isinstance(value, float) or value == MACHINE:
        return eps_text(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "; ".join(map(str, value)) or "none" if isinstance(value, list) else str(value)


def diff(a: Side, b: Side) -> Diff:
    """The norms of two models field by field: kind, axes, sizes, eps, gamma's offset, bias, cast order, how the
    variance is computed, how many; and of the models placement and QK-norm.

    a, b  the name of a preset, or whatever `inspect` takes, or a Report that it gave

    Norms are paired by their place in the block where both models tell it, else by their paths, else in order. What
    one model does not tell, as weights do not tell eps, is no difference: it is in `unsure`.

    >>> [(row.where, row.a, row.b) for row in diff("llama-2-7b", "qwen2.5-7b").different if row.field == "eps"][:1]
    [('before attention', 1e-05, 1e-06)]
    """
    one, other = _report(a), _report(b)
    pairs, how = paired(one.norms, other.norms)
    rows = [*_of_models(one.norms, other.norms), *_of_pairs(pairs)]
    unsure = [row for row in rows if UNKNOWN in (row.a, row.b)]
    told = [row for row in rows if UNKNOWN not in (row.a, row.b)]
    same = tuple(row for row in told if equal(row.a, row.b))
    return Diff(same, tuple(row for row in told if not equal(row.a, row.b)), tuple(unsure), how)


def _report(side: Side) -> Report:
    if isinstance(side, Report):
        return side
    if isinstance(side, str) and side in PRESETS:
        return of_preset(PRESETS[side])
    return inspect(side)


def of_preset(model: Preset) -> Report:
    """The norms of a preset, each as often as a forward pass calls it."""
    norms = []
    family = FAMILIES.get(model.model_type)
    for group in model.norms:
        norm = model.norm_of(group)
        sizes = {norm.axes[-1] if norm.name != "BatchNorm" else "C": group.d}
        evidence = (f"preset {model.name}: {model.source}", *(f"{who} has eps {eps}" for who, eps in model.eps_by))
        for at in range(group.count):
            found = Found(
                group.where if group.count == 1 else f"{at}.{group.where}",
                norm, sizes, offset=norm.offset, evidence=evidence, place=group.where,
                cast=family.cast if family is not None else "",
            )  # fmt: skip
            norms.append(found)
    return Report(tuple(norms))


def _of_models(one: Sequence[Found], other: Sequence[Found]) -> Iterator[Row]:
    """What is said of all norms of a model together."""
    yield Row(MODEL, "norms", _count(one), _count(other))
    if all(any(each.place for each in side) for side in (one, other)):
        yield Row(MODEL, "placement", placement(one), placement(other))
        yield Row(MODEL, "QK-norm", _has_qk(one), _has_qk(other))


def _count(norms: Sequence[Found | None]) -> Any:
    """How many there are."""
    there = [each for each in norms if each is not None]
    return UNKNOWN if any("count" in each.unknown for each in there) else len(there)


def placement(norms: Sequence[Found]) -> str:
    """Whether the norms stand before the sublayers, after them, or both.

    >>> placement(of_preset(PRESETS["gemma-2-2b"]).norms)
    'pre and post'
    """
    places = [each.place.rpartition(", ")[2].partition(" ")[0] for each in norms]
    names = {"before": "pre", "after": "post"}
    return " and ".join(name for word, name in names.items() if word in places) or "none"


def _has_qk(norms: Sequence[Found]) -> bool:
    return any(each.place.endswith(("queries", "keys")) and "latent" not in each.place for each in norms)


def _of_pairs(pairs: Sequence[Pair]) -> Iterator[Row]:
    """A row for every field, of all norms together whose paths differ in numbers; else one for each value."""
    groups: dict[str, list[Pair]] = {}
    for pair in pairs:
        groups.setdefault(template(pair[0]), []).append(pair)
    for where, group in groups.items():
        name = where if len(group) > 1 else group[0][0]
        both = [(a, b) for _, a, b in group if a is not None and b is not None]
        yield Row(name, "count", _count([a for _, a, _ in group]), _count([b for _, _, b in group]))
        for field, read in FIELDS.items():
            yield from _rows(name, field, [(a.where, *values(field, read, a, b)) for a, b in both])


def _rows(where: str, field: str, several: Sequence[tuple[str, Any, Any]]) -> Iterator[Row]:
    first = several[:1]
    if all(each[1:] == first[0][1:] for each in several):
        yield from (Row(where, field, a, b) for _, a, b in first)
        return
    agreeing = [each for each in several if equal(*each[1:]) or UNKNOWN in each[1:]]
    yield from (Row(name, field, a, b) for name, a, b in several if (name, a, b) not in agreeing)
    yield from (Row(name, field, a, b) for name, a, b in agreeing[:1])
