"""Where a lesson's tensor comes from: made up, recorded from a real model, or a person's own file.

A link names a source; it never carries a path. Whatever its rank, a source is seen as (B, S, d), and a
lesson reads only the rows that it shows, each with all of its d features, so that the statistics are those
of the whole row.
"""

import base64
import json
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from random import Random
from sys import byteorder
from typing import Any, Protocol

from ..norm import Norm, layer_norm
from ..presets import PRESETS

Shape = tuple[int, int, int]
MODELS = {key: model for key, model in PRESETS.items() if model.kind != "BatchNorm"}  # a row is what a lesson shows
DATA = Path(__file__).parent.parent / "data"
DIGITS = 2  # after the point
LEVELS = (2.5, -1.5, 0.0, 1.0, -3.0, 0.5, 3.0, -0.5)
SPREADS = (0.3, 1.2, 2.0, 0.6, 0.15, 0.9, 0.45)


class Source(Protocol):
    """A tensor x of shape (B, S, d) and, where it has them, its tokens, gamma, beta and norm."""

    @property
    def title(self) -> str:
        """What the tensor is, for a heading."""

    @property
    def note(self) -> str:
        """Where the numbers come from, in a sentence or two."""

    @property
    def shape(self) -> Shape:
        """The sizes of B, S and d."""

    @property
    def tokens(self) -> Sequence[str] | None:
        """A name for every position along S."""

    @property
    def gamma(self) -> Sequence[float] | None:
        """d numbers, or None: ones."""

    @property
    def beta(self) -> Sequence[float] | None:
        """d numbers, or None: zeros."""

    @property
    def eps(self) -> str | None:
        """The layer's eps, or None where the source does not tell."""

    @property
    def offset(self) -> int:
        """What the layer adds to gamma."""

    def rows(self, b: range, s: range) -> Any:
        """The cells of some rows: new nested lists or a new array, of shape (len(b), len(s), d)."""

    def __hash__(self) -> int:
        """Sources are keys of what was computed from them."""


@dataclass(frozen=True)
class Synthetic:
    """Seeded numbers. Every row has a level and a spread of its own, so that the norm has work to do.

    >>> Synthetic("x", "", (1, 2, 4), seed=1).rows(range(1), range(1, 2))
    [[[-0.92, 0.4, -1.3, 1.57]]]
    """

    title: str
    note: str
    shape: Shape
    seed: int = 0
    eps: str | None = None
    tokens: Sequence[str] | None = None
    offset: int = 0

    def rows(self, b: range, s: range) -> list[list[list[float]]]:
        """Rows by their own seeds: any window of any shape costs only what it shows."""
        return [[self._row(i, j) for j in s] for i in b]

    def _row(self, b: int, s: int) -> list[float]:
        draw, row = Random(f"{self.seed}:{b}:{s}"), self.seed + b * self.shape[1] + s
        level, spread = LEVELS[row % len(LEVELS)], SPREADS[row % len(SPREADS)]
        return [self._rounded(draw.gauss(level, spread)) for _ in range(self.shape[2])]

    @property
    def gamma(self) -> list[float]:
        """Around 1, less what the norm adds to it."""
        draw = Random(f"{self.seed}:gamma")
        return [self._rounded(draw.gauss(1, 0.25) - self.offset) for _ in range(self.shape[2])]

    @property
    def beta(self) -> list[float]:
        """Around 0."""
        draw = Random(f"{self.seed}:beta")
        return [self._rounded(draw.gauss(0, 0.3)) for _ in range(self.shape[2])]

    def _rounded(self, value: float) -> float:
        return round(value, DIGITS) + 0.0


@dataclass(frozen=True)
class Recorded:
    """A tensor that was recorded from a real model and ships with Normscope."""

    title: str
    note: str
    shape: Shape
    tokens: tuple[str, ...]
    gamma: tuple[float, ...]
    beta: tuple[float, ...]
    eps: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    offset: int = 0

    def rows(self, b: range, s: range) -> list[list[list[float]]]:
        """Rows of the recorded tensor."""
        _, tokens, d = self.shape
        starts = [[(i * tokens + j) * d for j in s] for i in b]
        return [[list(self.x[at : at + d]) for at in row] for row in starts]


def symbolic(shape: Shape, seed: int) -> Synthetic:
    """The default view: small, every cell visible."""
    b, s, d = shape
    return Synthetic(
        f"Symbolic, {b} × {s} × {d}",
        "Synthetic numbers from a seed. Rows sit at different levels with different spreads.",
        shape,
        seed,
    )


def preset(key: str, shape: Shape, seed: int) -> Synthetic:
    """The sizes of a real model, filled with synthetic numbers."""
    model = MODELS[key]
    kind = f"{model.kind} that multiplies by {model.offset} + gamma" if model.offset else model.kind
    place = model.place.replace(" ", "- ", 1)
    about = f"{kind}, {place}-norm, eps {model.eps}, {model.calls} norms a forward pass"
    note = f"{about} ({model.about}). The numbers are synthetic, from a seed."
    return Synthetic(f"{model.name}, d = {model.d}", note, shape, seed, eps=model.eps, offset=model.offset)


@lru_cache(maxsize=64)
def preset_norm(key: str) -> Norm:
    """The norm of a preset, LayerNorm for any other source."""
    return MODELS[key].norm() if key in MODELS else layer_norm()


@lru_cache(maxsize=1)
def minilm() -> Recorded:
    """Real activations: 14 tokens on their way through a LayerNorm of MiniLM-L6."""
    data: Mapping[str, Any] = json.loads((DATA / "minilm.json").read_text())
    b, s, d = data["shape"]
    tensors: dict[str, Any] = {name: _floats(data[name]) for name in ("x", "gamma", "beta", "y")}
    return Recorded(
        title="Real activations: MiniLM-L6, layer 0",
        note=f"“{data['sentence']}” at the output LayerNorm of layer 0. {data['model']}. "
        "Feature 99 of [CLS] is an outlier: one value that squeezes all others of its row.",
        shape=(b, s, d),
        tokens=tuple(data["tokens"]),
        eps=data["eps"],
        **tensors,
    )


def _floats(text: str) -> tuple[float, ...]:
    cells = array("f", base64.b64decode(text))
    if byteorder == "big":
        cells.byteswap()
    return tuple(cells)
