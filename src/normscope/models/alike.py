"""Norms of a model that are alike but for the number of their layer."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .found import Found

NUMBER = re.compile(r"(?<![A-Za-z0-9])\d+(?![A-Za-z0-9])")


@dataclass(frozen=True)
class Alike:
    """Norms under one name, in which * stands for the number of a layer."""

    where: str
    norms: tuple["Found", ...]

    @property
    def first(self) -> "Found":
        """One of them: they differ in nothing else."""
        return self.norms[0]


def template(where: str) -> str:
    """A path with * for each number of a layer: what only names a module, as in `ln_1` or a list's `0`, stays.

    >>> template("encoder.layer.3.output.LayerNorm"), template("layer_3/ln_1"), template("layers.2.1")
    ('encoder.layer.*.output.LayerNorm', 'layer_*/ln_1', 'layers.*.1')
    """
    *before, last = re.split(r"([./])", where)
    return "".join(NUMBER.sub("*", part) for part in before) + last


def alike(norms: Iterable["Found"]) -> list[Alike]:
    """The norms in order, those together whose paths differ in numbers and which agree in all else."""
    groups: dict[object, list[Found]] = {}
    for each in norms:
        key = (
            template(each.where), each.norm, each.norm.name, tuple(each.sizes.items()), each.form, each.place,
            each.unknown, each.warnings,
        )  # fmt: skip
        groups.setdefault(key, []).append(each)
    return [
        Alike(template(group[0].where) if len(group) > 1 else group[0].where, tuple(group)) for group in groups.values()
    ]
