"""What a judgement says: a verdict, its findings, its notes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from textwrap import indent
from typing import Any

from ..page.html import Html, el
from ..page.json import spelled


@dataclass(frozen=True)
class Reaction:
    """Which cells of y move when one cell of x does.

    place         the changed cell's index in x
    should, does  arrays of bool in the shape of x
    """

    place: tuple[int, ...]
    should: Any
    does: Any

    def to_json(self) -> dict[str, Any]:
        """Nested lists of true and false."""
        return {"place": list(self.place), "should": self.should.tolist(), "does": self.does.tolist()}


@dataclass(frozen=True)
class Finding:
    """One mistake, or one place where a function departs from the norm without a known cause.

    id        stable, in kebab-case: "eps-outside-root"
    name      one line
    evidence  what was measured, in numbers
    formula   what the function seems to compute, as a whole
    fix       one line
    input     the smallest input found that shows it, by argument name, with the expected and the returned values
    link      the address of a lesson that shows it
    reaction  which cells react to one of x, where that is what is wrong
    """

    id: str
    name: str
    evidence: str
    formula: str = ""
    fix: str = ""
    input: Mapping[str, Any] = field(default_factory=dict)
    link: str = ""
    reaction: Reaction | None = None

    def to_json(self) -> dict[str, Any]:
        """The finding as JSON values; a number that JSON lacks is a string."""
        made = {name: getattr(self, name) for name in ("id", "name", "evidence", "formula", "fix", "link")}
        made |= {"input": {name: spelled(value) for name, value in self.input.items()}}
        return made | ({"reaction": self.reaction.to_json()} if self.reaction else {})

    def __str__(self) -> str:
        lines = [f"{self.id}: {self.name}"]
        lines += [f"{what}: {text}" for what in ("evidence", "formula", "fix") if (text := getattr(self, what))]
        lines += [f"{name} = {spelled(value)}" for name, value in self.input.items()]
        lines += [f"see {self.link}"] if self.link else []
        return lines[0] + "\n" + indent("\n".join(lines[1:]), "  ")


SHARED = ("evidence", "formula", "input", "reaction")


def once(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings for a reader: what one shares with an earlier one of the same evidence is said there alone.

    >>> both = (Finding("a", "A", "seen", "f"), Finding("b", "B", "seen", "f", "mend b"))
    >>> print(*once(both), sep="\\n")
    a: A
      evidence: seen
      formula: f
    b: B
      evidence: with a, whose evidence and formula are the same
      fix: mend b
    """
    made: list[Finding] = []
    for at, finding in enumerate(findings):
        earlier = (each for each in findings[:at] if each.evidence and each.evidence == finding.evidence)
        first = next(earlier, None)
        made.append(finding if first is None else _beside(finding, first))
    return tuple(made)


def _beside(finding: Finding, first: Finding) -> Finding:
    """The finding without what an earlier one says."""
    same = [name for name in SHARED if getattr(finding, name) and _is_same(finding, first, name)]
    *most, last = same
    words = f"{', '.join(most)} and {last} are" if most else f"{last} is"
    nothing = Finding(finding.id, finding.name, f"with {first.id}, whose {words} the same")
    return replace(finding, **{name: getattr(nothing, name) for name in same})


def _is_same(finding: Finding, first: Finding, name: str) -> bool:
    one, other = (getattr(each, name) for each in (finding, first))
    if name == "reaction":
        return other is not None and one.to_json() == other.to_json()
    return bool(spelled(dict(one)) == spelled(dict(other)) if name == "input" else one == other)


@dataclass(frozen=True)
class Verdict:
    """Whether a function computes the norm, and if not, which mistake it makes.

    verdict   "correct", "mistake" (the findings name it) or "unrecognised" (they say where it departs)
    findings  none for a correct function
    notes     conventions, range limits and what could not be asked; never mistakes
    title     the function and the norm
    """

    verdict: str
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    title: str = ""

    def to_json(self) -> dict[str, Any]:
        """The verdict as JSON values.

        >>> Verdict("correct").to_json()
        {'verdict': 'correct', 'findings': [], 'notes': []}
        """
        findings = [finding.to_json() for finding in self.findings]
        return {"verdict": self.verdict, "findings": findings, "notes": list(self.notes)}

    @property
    def ids(self) -> tuple[str, ...]:
        """The findings' ids."""
        return tuple(finding.id for finding in self.findings)

    def __repr__(self) -> str:
        head = f"{self.title}: {self.verdict}" if self.title else self.verdict
        lines = [*(str(finding) for finding in once(self.findings)), *(f"note: {note}" for note in self.notes)]
        return "\n".join([head, *(indent(line, "  ") for line in lines)])

    def _repr_html_(self) -> str:
        findings = (_drawn(finding) for finding in once(self.findings))
        notes = (el("p", f"Note: {note}") for note in self.notes)
        return str(el("div", el("p", el("strong", self.verdict), f" {self.title}"), *findings, *notes))


def _drawn(finding: Finding) -> Html:
    parts = [("evidence", finding.evidence), ("formula", finding.formula), ("fix", finding.fix)]
    parts += [(name, str(spelled(value))) for name, value in finding.input.items()]
    rows = [piece for name, text in parts if text for piece in (el("dt", name), el("dd", el("code", text)))]
    return el("section", el("p", el("code", finding.id), f" {finding.name}"), el("dl", *rows))
