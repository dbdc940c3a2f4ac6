"""diff(): the norms of two models side by side, field by field."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..axes import ELLIPSIS
from ..page import notebook
from ..page.html import el
from ..page.text import table
from ..presets import PRESETS, Preset
from .alike import template
from .forms import WORDS, words
from .found import MACHINE, Found, Report, eps_text
from .inspecting import inspect

MODEL = "model"  # where a difference is that of the whole model
FLOAT32_EPS = 2.0**-23
FOLDED = "folded into gamma"
NEAR = 1e-2  # gammas that are rounded to bfloat16
CLOSE = 1e-6  # eps that are read back from a float32


class Unsure:
    """A value that a model does not tell."""

    def __repr__(self) -> str:
        return "unknown"


UNKNOWN = Unsure()
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
        return f"{found}; {len(self.same)} fields agree. Norms are paired {self.paired}."

    def _rows(self) -> list[list[str]]:
        """Every difference on a line; what agrees or is not known, by where it is."""
        rows = [["differs", row.where, row.field, shown(row.a), shown(row.b)] for row in self.different]
        for mark, group in (("unknown", self.unsure), ("same", self.same)):
            for where in dict.fromkeys(row.where for row in group):
                rows.append([mark, where, ", ".join(row.field for row in group if row.where == where), "", ""])
        return [["", "where", "field", "a", "b"], *rows]

    def text(self, color: bool = False) -> str:
        """A table for people, the differences first."""
        return "\n".join([self._title, table(self._rows(), "<<<<<", color)])


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
    pairs, how = _paired(one.norms, other.norms)
    rows = [*_of_models(one.norms, other.norms), *_of_pairs(pairs)]
    unsure = [row for row in rows if UNKNOWN in (row.a, row.b)]
    told = [row for row in rows if UNKNOWN not in (row.a, row.b)]
    same = tuple(row for row in told if _equal(row.a, row.b))
    return Diff(same, tuple(row for row in told if not _equal(row.a, row.b)), tuple(unsure), how)


def _report(side: Side) -> Report:
    if isinstance(side, Report):
        return side
    if isinstance(side, str) and side in PRESETS:
        return of_preset(PRESETS[side])
    return inspect(side)


def of_preset(model: Preset) -> Report:
    """The norms of a preset, each as often as a forward pass calls it."""
    norms = []
    for group in model.norms:
        norm = model.norm_of(group)
        sizes = {norm.axes[-1] if norm.name != "BatchNorm" else "C": group.d}
        evidence = (f"preset {model.name}: {model.source}", *(f"{who} has eps {eps}" for who, eps in model.eps_by))
        for at in range(group.count):
            where = group.where if group.count == 1 else f"{group.where}.{at}"
            norms.append(
                Found(where, norm, sizes, offset=norm.offset, evidence=evidence, place=group.where),
            )
    return Report(tuple(norms))


# ---- which norm beside which

Pair = tuple[str, Found | None, Found | None]  # where; None: the model has no such norm


def _paired(one: Sequence[Found], other: Sequence[Found]) -> tuple[list[Pair], str]:
    """The norms of both models, each beside that of the other; and by what they are paired."""
    if all(each.place for each in (*one, *other)):
        return _by(lambda each: each.place, one, other), "by their place in the block"
    by_path = _by_paths(one, other)
    matched = sum(a is not None and b is not None for _, a, b in by_path)
    if 2 * matched >= max(len(one), len(other)) or len(one) != len(other):
        return by_path, "by their paths"
    return [(a.where, a, b) for a, b in zip(one, other, strict=True)], "in the order in which they stand"


def _by(key: Callable[[Found], str], one: Sequence[Found], other: Sequence[Found]) -> list[Pair]:
    """Norms of the same key, in order."""
    pairs: list[Pair] = []
    for where in dict.fromkeys(key(each) for each in (*one, *other)):
        left, right = ([each for each in side if key(each) == where] for side in (one, other))
        for at in range(max(len(left), len(right))):
            pairs.append((where, left[at] if at < len(left) else None, right[at] if at < len(right) else None))
    return pairs


def _by_paths(one: Sequence[Found], other: Sequence[Found]) -> list[Pair]:
    """Norms whose paths are the same, but for what stands before them in one: `model.norm` and `norm`."""
    rest = {_path(each): each for each in other}
    pairs: list[Pair] = []
    for each in one:
        path = _path(each)
        ends = [name for name in rest if _is_end(path, name) or _is_end(name, path)]
        beside = rest.pop(min(ends, key=lambda name: abs(len(name) - len(path)))) if ends else None
        pairs.append((each.where, each, beside))
    return pairs + [(each.where, None, each) for each in rest.values()]


def _is_end(end: str, path: str) -> bool:
    """Whether a path ends so, with nothing before it that has a number: `norm` is no layer's norm."""
    before = path.removesuffix(end)
    return path == end or (path.endswith(f".{end}") and not any(part.isdigit() for part in before.split(".")))


def _path(found: Found) -> str:
    return found.where.replace("/", ".").strip(".")


# ---- field by field


def _of_models(one: Sequence[Found], other: Sequence[Found]) -> Iterator[Row]:
    """What is said of all norms of a model together."""
    yield Row(MODEL, "norms", len(one), len(other))
    if all(any(each.place for each in side) for side in (one, other)):
        yield Row(MODEL, "placement", placement(one), placement(other))
        yield Row(MODEL, "QK-norm", _has_qk(one), _has_qk(other))


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
        counts = [sum(pair[side] is not None for pair in group) for side in (1, 2)]
        yield Row(name, "count", *counts)
        for field, read in FIELDS.items():
            yield from _rows(name, field, [(a.where, *_values(field, read, a, b)) for a, b in both])


def _values(field: str, read: Callable[[Found], Any], a: Found, b: Found) -> tuple[Any, Any]:
    """A field of two norms. An exporter computes 1 + w once and for all: that is the same gamma, kept otherwise.

    The same weights with another offset are another gamma, even where a graph alone cannot tell its offset.
    """
    if field == "offset" and not {"offset"} <= {*a.unknown} & {*b.unknown}:
        if a.offset != b.offset and _gammas_agree(a, b, a.offset, b.offset):
            return FOLDED, FOLDED
        if _gammas_agree(a, b, 0, 0):
            return a.offset, b.offset
    return read(a), read(b)


def _gammas_agree(a: Found, b: Found, *offsets: int) -> bool:
    """Whether the weights with these offsets come out the same, as far as their summary tells."""
    gammas = [(offset, each.parameters.get("gamma")) for offset, each in zip(offsets, (a, b), strict=True)]
    figures = [
        [made.least + offset, made.most + offset, made.mean + offset] for offset, made in gammas if made is not None
    ]
    return len(figures) == 2 and all(abs(one - two) <= NEAR * abs(one) for one, two in zip(*figures, strict=True))


def _rows(where: str, field: str, values: Sequence[tuple[str, Any, Any]]) -> Iterator[Row]:
    first = values[:1]
    if all(each[1:] == first[0][1:] for each in values):
        yield from (Row(where, field, a, b) for _, a, b in first)
        return
    agreeing = [each for each in values if _equal(*each[1:]) or UNKNOWN in each[1:]]
    yield from (Row(name, field, a, b) for name, a, b in values if (name, a, b) not in agreeing)
    yield from (Row(name, field, a, b) for name, a, b in agreeing[:1])


def _equal(a: Any, b: Any) -> bool:
    """Whether two values are the same; numbers as float32, in which graphs keep them."""
    numbers = [FLOAT32_EPS if each == MACHINE else each for each in (a, b)]
    if all(isinstance(each, float) for each in numbers):
        return bool(abs(numbers[0] - numbers[1]) <= CLOSE * max(map(abs, numbers)))
    return bool(a == b)


def _kind(found: Found) -> Any:
    return UNKNOWN if "kind" in found.unknown else found.norm.name


def _eps(found: Found) -> Any:
    return UNKNOWN if found.eps is None else found.eps


def _offset(found: Found) -> Any:
    return UNKNOWN if "offset" in found.unknown else found.offset


def _variance(found: Found) -> Any:
    """How the variance is computed: what a fused operator or a configuration leaves open is taken to be right."""
    return "one-pass" if found.form == "one-pass" else "two-pass"


def _axes(found: Found) -> str:
    """The reduced axes without the names and the number of those before them.

    >>> from normscope.norm import Norm
    >>> _axes(Found("", Norm("B S h [d]"))), _axes(Found("", Norm("[N] C [L]", "C")))
    ('... [d]', '[N] C [...]')
    """
    norm, dims = found.norm, found.norm.layout.dims
    if norm.axes[-len(norm.over) :] == norm.over and all(len(dim) == 1 for dim in dims) and norm.name != "InstanceNorm":
        names = ["d"] if len(norm.over) == 1 else [f"d{at}" for at in range(1, len(norm.over) + 1)]
        return f"... [{' '.join(names)}]"
    return KNOWN.get(norm.name, norm.pattern) if ELLIPSIS in norm.axes or norm.name in KNOWN else norm.pattern


KNOWN = {"BatchNorm": "[N] C [...]", "InstanceNorm": "N C [...]", "GroupNorm": "N (g [c]) [...]"}


def _sizes(found: Found) -> Any:
    """The sizes that are known, in the order of the axes."""
    return [found.sizes[axis] for axis in found.norm.axes if axis in found.sizes] or UNKNOWN


def _faults(found: Found) -> list[str]:
    """What is wrong about it, but for how its variance is computed, which has a field of its own."""
    faults = [words(key, found.norm) for key in WORDS if key not in ("one-pass", "unclamped")]
    return [each for each in found.warnings if each in faults]


FIELDS: Mapping[str, Callable[[Found], Any]] = {
    "kind": _kind,
    "axes": _axes,
    "sizes": _sizes,
    "eps": _eps,
    "gamma": lambda found: found.norm.scale,
    "offset": _offset,
    "bias": lambda found: found.norm.shift,
    "cast": lambda found: found.cast or UNKNOWN,
    "variance": _variance,
    "faults": _faults,
}
