"""Every exhibit, in the order of the museum."""

from collections.abc import Mapping

from .blocks import BLOCKS
from .divisors import EPS
from .gradients import BACKWARD
from .parameters import AFFINE
from .rounding import ROUNDED
from .slips import KINDS, Exhibit
from .statistics import AXES, VARIANCE

EXHIBITS: Mapping[str, Exhibit] = {
    exhibit.id: exhibit for exhibit in (*AXES, *VARIANCE, *EPS, *AFFINE, *BLOCKS, *ROUNDED, *BACKWARD)
}
ALL = "all"


def of_kind(kind: str) -> dict[str, Exhibit]:
    """The exhibits of a kind, or all."""
    return {id: exhibit for id, exhibit in EXHIBITS.items() if kind in (ALL, exhibit.kind)}


def by_kind(kind: str) -> list[tuple[str, dict[str, str]]]:
    """Their names, under the headings of their kinds."""
    made = of_kind(kind)
    listed = ((text, {id: each.name for id, each in made.items() if each.kind == key}) for key, text in KINDS.items())
    return [(text, names) for text, names in listed if names]
