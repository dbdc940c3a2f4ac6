"""A hidden mistake and a few that it could be: only one of them gives these numbers.

The question is drawn from its seed; the same seed asks the same everywhere.
"""

from dataclasses import dataclass
from functools import lru_cache
from random import Random

from ...errors import NormscopeError
from .catalogue import EXHIBITS
from .outcome import NEAR, NEAR_ROUNDED, alike, read, sides
from .side import Rows
from .slips import Exhibit, Texts

OTHERS = 3
LEAST = 2  # others that a question needs


@dataclass(frozen=True)
class Question:
    """The hidden exhibit, and the ids to choose from, in the order shown."""

    id: str
    options: tuple[str, ...]

    @property
    def texts(self) -> Texts:
        """Its input."""
        return EXHIBITS[self.id].texts


@lru_cache(maxsize=64)
def others(id: str) -> tuple[str, ...]:
    """Exhibits of the same function that run on this one's input, and give neither its output nor the right one."""
    hidden = EXHIBITS[id]
    seen = sides(hidden, read(id, hidden.texts))
    return tuple(other for other in EXHIBITS if other != id and _is_other(hidden, EXHIBITS[other], seen))


def _is_other(hidden: Exhibit, exhibit: Exhibit, seen: tuple[Rows, Rows]) -> bool:
    kin = (hidden.function, hidden.is_rounded, hidden.right.output, hidden.given.keys())
    if (exhibit.function, exhibit.is_rounded, exhibit.right.output, exhibit.given.keys()) != kin:
        return False
    try:
        _, made = sides(exhibit, read(exhibit.id, hidden.texts))
    except NormscopeError:
        return False
    near = NEAR_ROUNDED if hidden.is_rounded else NEAR
    return len(made) == len(seen[0]) and not any(_same(made, rows, near) for rows in seen)


def _same(a: Rows, b: Rows, near: float) -> bool:
    return all(alike(p, q, near) for one, two in zip(a, b, strict=True) for p, q in zip(one, two, strict=True))


@lru_cache(maxsize=1)
def askable() -> tuple[str, ...]:
    """The exhibits that a question can hide."""
    return tuple(id for id in EXHIBITS if len(others(id)) >= LEAST)


@lru_cache(maxsize=256)
def question(seed: int) -> Question:
    """The question of a seed.

    >>> asked = question(1)
    >>> asked == question(1), asked.id in asked.options
    (True, True)
    """
    draw = Random(seed)
    id = draw.choice(askable())
    wrong = draw.sample(others(id), min(OTHERS, len(others(id))))
    options = [id, *wrong]
    draw.shuffle(options)
    return Question(id, tuple(options))
