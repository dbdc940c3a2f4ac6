"""What an inspection finds: norms, each with where it stands, what it is and what speaks for it."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from ..norm import Norm
from ..page import notebook
from ..page.html import el
from ..page.text import table
from .alike import Alike, alike
from .summary import Summary

HEAD = ["where", "norms", "kind", "axes", "size", "eps", "gamma", "beta", "form", "place"]
ALIGN = "<><<><<<<<"
Progress = Callable[[int, int], None]  # how much is done, of how much
MACHINE = "machine"  # how an eps of None is written: that of the dtype computed in


@dataclass(frozen=True)
class Found:
    """A norm that was found.

    where       the node of a graph, or the path of a module
    norm        what it is
    sizes       sizes of its axes that are known
    form        "fused", "two-pass" or "one-pass"; empty where only weights or a configuration say what it is
    offset      added to gamma before it multiplies: 1 in Gemma
    dtype       of x; of weights, theirs
    parameters  a summary of gamma and beta, by name
    evidence    what speaks for it, in words
    unknown     what could not be told: "eps", "kind", "offset", "groups", "count" (one stands for every layer's)
    warnings    what is wrong about it, in words
    tensors     the names of x, y, gamma and beta in the model
    place       in the block, as in "before attention", where that is known
    cast        narrow values are cast back to x's dtype "before gamma" multiplies or "after gamma", where known
    verified    of a graph's nodes that were run beside the norm: "agrees", "differs" or "not run: why"
    """

    where: str
    norm: Norm
    sizes: Mapping[str, int] = field(default_factory=dict)
    form: str = ""
    offset: int = 0
    dtype: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    evidence: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    tensors: Mapping[str, str] = field(default_factory=dict)
    place: str = ""
    cast: str = ""
    verified: str = ""

    @property
    def eps(self) -> float | str | None:
        """The eps as a number; "machine" for that of the dtype; None where it is not known."""
        if "eps" in self.unknown:
            return None
        return MACHINE if self.norm.eps is None else float(self.norm.eps)

    def to_json(self) -> dict[str, Any]:
        """The find as JSON values; eps is null where it is not known."""
        return {
            "where": self.where,
            "kind": self.norm.name,
            "pattern": self.norm.pattern,
            "eps": self.eps,
            "offset": self.offset,
            "sizes": dict(self.sizes),
            "form": self.form,
            "place": self.place,
            "cast": self.cast,
            "dtype": self.dtype,
            "verified": self.verified,
            "norm": self.norm.to_json(),
            "parameters": {role: _summary_json(each) for role, each in self.parameters.items()},
            "tensors": dict(self.tensors),
            "evidence": list(self.evidence),
            "unknown": list(self.unknown),
            "warnings": list(self.warnings),
        }


def _summary_json(each: Summary) -> dict[str, Any]:
    return {
        "count": each.count,
        "min": each.least,
        "max": each.most,
        "mean": each.mean,
        "not_finite": each.strange,
        "outliers": [{"feature": at, "value": value} for at, value in each.outliers],
    }


@dataclass(frozen=True, repr=False)
class Report(Sequence[Found]):
    """Every norm of a model in order, as a list; and what must be said about the model."""

    norms: tuple[Found, ...]
    warnings: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.norms)

    @overload
    def __getitem__(self, at: int) -> Found: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[Found, ...]: ...

    def __getitem__(self, at: int | slice) -> Found | tuple[Found, ...]:
        return self.norms[at]

    def __iter__(self) -> Iterator[Found]:
        return iter(self.norms)

    def to_json(self) -> dict[str, Any]:
        """All finds as JSON values."""
        return {"norms": [each.to_json() for each in self.norms], "warnings": list(self.warnings)}

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        """For a notebook: the table of `text`."""
        rows = [] if not self.norms else [notebook.table(self._rows())]
        return str(el("div", el("p", self._title), *rows, *(el("p", line) for line in self._told())))

    @property
    def _title(self) -> str:
        least = "at least " * any("count" in each.unknown for each in self.norms)
        count = f"{least}{len(self.norms)} norm{'s' * (len(self.norms) != 1)}"
        return count[0].upper() + count[1:] if self.norms else "No norm was found."

    def text(self, color: bool = False) -> str:
        """A table for people: norms that are alike but for the number of their layer are one line."""
        tables = [table(self._rows(), ALIGN, color)] if self.norms else []
        return "\n".join([self._title, *tables, *self._told()])

    def _rows(self) -> list[list[str]]:
        return [HEAD, *(_row(each) for each in alike(self.norms))]

    def _told(self) -> list[str]:
        """How many were verified, the warnings, and the features of gamma and beta that stand out."""
        lines = [f"{each.where}: {warning}" for each in alike(self.norms) for warning in each.first.warnings]
        lines += [line for each in self.norms for line in _strange(each)]
        far = [line for each in self.norms for line in _outliers(each)]
        shown = [*far[:MOST_TOLD], *([f"and {len(far) - MOST_TOLD} more norms with such features"] * _more(far))]
        return [*_verified(self.norms), *lines, *self.warnings, *shown]


MOST_TOLD = 8  # norms whose outliers are written out for people; JSON has all


def _more(lines: Sequence[str]) -> bool:
    return len(lines) > MOST_TOLD


def _strange(found: Found) -> Iterator[str]:
    for role, each in found.parameters.items():
        if each.strange:
            yield f"{found.where}: {each.strange:,} of {each.count:,} cells of {role} are not finite."


def _verified(norms: Sequence[Found]) -> list[str]:
    """How many of the norms whose nodes can be run give what the norm gives, and why others were not run."""
    verdicts = Counter(each.verified for each in norms if each.verified)
    if not verdicts:
        return []
    agree, differ = verdicts.pop("agrees", 0), verdicts.pop("differs", 0)
    others = [f"{differ} differ{'s' * (differ == 1)}"] * bool(differ)
    others += [f"{count} {why}" for why, count in verdicts.items()]
    return ["; ".join([f"{agree} of {len(norms)} verified by running their nodes", *others]) + "."]


def _outliers(found: Found) -> Iterator[str]:
    for role, each in found.parameters.items():
        if each.outliers:
            cells = ", ".join(f"{value:.4g} at feature {at}" for at, value in each.outliers[:3])
            yield f"{found.where}: {role} has outliers: {cells}"


def _row(group: Alike) -> list[str]:
    found, norm = group.first, group.first.norm
    doubt = "?" if "kind" in found.unknown else ""
    weight = {0: "w", 1: "1 + w"}.get(found.offset, f"{found.offset} + w")
    return [
        group.where or "(the module)",
        "?" if "count" in found.unknown else str(len(group.norms)),
        norm.name + doubt,
        norm.pattern,
        " ".join(f"{axis}={size}" for axis, size in found.sizes.items()),
        eps_text(found.eps),
        (weight + ("?" if "offset" in found.unknown else "") + _range(group, "gamma")) if norm.scale else "none",
        (_range(group, "beta").strip() or "yes") if norm.shift else "none",
        found.form or "-",
        found.place or "-",
    ]


def _range(group: Alike, role: str) -> str:
    """From where to where a parameter goes, over all norms of a line; empty where its cells are not known."""
    known = [each.parameters[role] for each in group.norms if role in each.parameters]
    if not known:
        return ""
    return f" {min(each.least for each in known):.3g}..{max(each.most for each in known):.3g}"


def eps_text(eps: float | str | None) -> str:
    """An eps for people.

    >>> eps_text(1e-5), eps_text(None)
    ('1e-05', 'unknown')
    """
    if eps is None:
        return "unknown"
    return "finfo(dtype).eps" if isinstance(eps, str) else f"{eps:g}"
