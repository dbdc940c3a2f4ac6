"""A find, run: its nodes by ONNX Runtime (or by onnx's reference) beside what our program gives, on random numbers.

How far the two may be apart follows from the arithmetic: a sum of n cells is off by about the root of n roundings,
and the division by the spread carries that to y. x is tried twice: at a spread of 1, and so small that eps counts.
ONNX Runtime runs the nodes as they stand, and once more with the fusions that it makes by itself.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod, sqrt
from typing import Any

from ..errors import NormscopeError
from .running import WIDER, Missing, Part, Runs, model, ran
from .sizing import MOST_CELLS

ROUNDING = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11}
LEAST = {"float64": 2.0**-1074, "float32": 2.0**-149, "float16": 2.0**-24}  # that is not 0
NARROWEST = 2.0**-9  # rounding of the narrowest format that an eps is stored in, bfloat16
OPERATIONS = 16  # roundings of a cell beside those of the sums
MEAN = 0.4  # of x, beside a spread of 1
LARGE_MEAN = 1e4  # where a one-pass variance in float32 loses its digits
AGREES, DIFFERS, NOT_RUN = "agrees", "differs", "not run"
Kinds = tuple[tuple[tuple[int, ...], str, int], ...]  # of each tensor its shape, its dtype and its power


@dataclass(frozen=True)
class Outcome:
    """What came of it.

    verdict   "agrees", "differs" or "not run: why"; empty where nothing was asked for
    evidence  what was seen, in words
    warnings  where the two disagree, in words
    """

    verdict: str = ""
    evidence: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def not_run(why: str) -> Outcome:
    """The outcome of a find that could not be run."""
    return Outcome(f"{NOT_RUN}: {why}", (f"{NOT_RUN}: {why}",))


def verified(part: Part) -> Outcome:
    """Run the nodes and compare. A part that cannot be run is said to be so."""
    x = next(iter(part.feeds))
    if prod(part.feeds[x]) > MOST_CELLS:
        return not_run("x is too large to try")
    graph = part.graph
    dtypes = {name: graph.dtype(name) or "float32" for name in part.feeds}
    kinds = tuple(
        (shape, WIDER.get(dtypes[name], dtypes[name]), part.powers.get(name, 0)) for name, shape in part.feeds.items()
    )
    if strange := [dtype for _, dtype, _ in kinds if dtype not in ROUNDING]:
        return not_run(f"{strange[0]} is no dtype that is tried")
    try:
        written = model(part)
        ordinary = _tried(part, written, kinds, 1.0)
        tiny = _tried(part, written, kinds, part.spread) if _is_told(part.spread, kinds[0][1]) else None
        lossy = _digits_lost(part, written, kinds) if part.one_pass and kinds[0][1] == "float32" else ()
    except (Missing, NormscopeError, ValueError) as error:
        return not_run(str(error))
    made = _judged(ordinary, tiny, lossy)
    return replace(
        made, evidence=(*made.evidence, *(f"{each} was run as float32" for each in {*dtypes.values()} & {*WIDER}))
    )


def _is_told(spread: float, dtype: str) -> bool:
    """Whether the square of a spread has digits in a format: else eps cannot be seen to count."""
    return spread**2 > 8 * LEAST[dtype]


@dataclass(frozen=True)
class Tried:
    """One run at one spread of x.

    share    the largest difference between the nodes and the norm, as a share of what rounding explains
    fusion   that between the nodes with fusions and without; by how much at most, and its share of the norm's
    """

    spread: float
    who: str
    share: float
    fusion: float = 0.0
    moved: float = 0.0
    fused_share: float = 0.0

    @property
    def differs(self) -> bool:
        """Whether the nodes give what the norm does not."""
        return self.share > 1


def _tried(part: Part, written: bytes, kinds: Kinds, spread: float) -> Tried:
    feeds, runs = random_cells(kinds, spread), _runs(written, kinds, spread)
    want = _wanted(part, feeds)
    room = _Room(feeds, kinds[0][1], part.cells, spread)
    made = Tried(spread, runs.who, room.share(runs.plain, want))
    if runs.fused is None:
        return made
    share, moved = room.share(runs.fused, runs.plain), _apart(runs.fused, runs.plain)
    return Tried(spread, runs.who, made.share, share, moved, room.share(runs.fused, want))


def _wanted(part: Part, feeds: Sequence[Any]) -> Any:
    return part.expected({name: cells.astype("float64") for name, cells in zip(part.feeds, feeds, strict=True)})


def _digits_lost(part: Part, written: bytes, kinds: Kinds) -> tuple[str, ...]:
    """What a one-pass variance costs where the mean is large."""
    feeds, runs = random_cells(kinds, 1.0, LARGE_MEAN), _runs(written, kinds, 1.0, LARGE_MEAN)
    far = _apart(runs.plain, _wanted(part, feeds))
    told = "no finite number" if far == float("inf") else f"y off by {far:.3g}"
    return (f"at a mean of {LARGE_MEAN:g} and a spread of 1 {runs.who} gives {told}",)


@lru_cache(maxsize=8)
def _runs(written: bytes, kinds: Kinds, spread: float, mean: float = MEAN) -> Runs:
    """What is made of random numbers: the layers of a model are alike."""
    return ran(written, random_cells(kinds, spread, mean))


def _judged(ordinary: Tried, tiny: Tried | None, lossy: tuple[str, ...]) -> Outcome:
    tried = [ordinary, *([tiny] if tiny else [])]
    wrong = next((each for each in tried if each.differs), None)
    seen = [f"{ordinary.who} gives what the norm gives, on random numbers"] * (wrong is not ordinary)
    if wrong is None and tiny is not None:
        seen.append(f"and where eps counts, at a spread of {tiny.spread:.2g}")
    warnings = [_disagreement(wrong)] if wrong else []
    return Outcome(DIFFERS if wrong else AGREES, (*seen, *lossy), (*warnings, *_fusions(tried)))


def _disagreement(tried: Tried) -> str:
    where = "" if tried.spread == 1 else f" where eps counts, at a spread of {tried.spread:.2g}"
    far = (
        "no finite number" if tried.share == float("inf") else f"off by {tried.share:.3g} times what rounding explains"
    )
    return f"{tried.who} gives another result for these nodes than this norm{where}: {far}."


def _fusions(tried: Sequence[Tried]) -> Iterator[str]:
    """The first run whose fusions change the result; either of the two may be off by its rounding."""
    for each in tried:
        if each.fusion > 2:
            then = "; it then gives what the norm gives" if each.fused_share <= 1 < each.share else ""
            yield f"{each.who}'s own fusion of these nodes changes the result by {each.moved:.3g}{then}."
            return


@lru_cache(maxsize=8)
def random_cells(kinds: Kinds, spread: float = 1.0, mean: float = MEAN) -> tuple[Any, ...]:
    """x, and every parameter from 0.5 to 1.5: the same ones for the same shapes and dtypes.

    Each is multiplied by the power of the spread with which it grows.
    """
    import numpy as np

    rng = np.random.default_rng(0)
    (shape, dtype, _), *others = kinds
    x = (rng.normal(mean, 1.0, shape) * spread).astype(dtype)
    return x, *((rng.uniform(0.5, 1.5, shape) * spread**power).astype(dtype) for shape, dtype, power in others)


class _Room:
    """How far two results may be apart."""

    def __init__(self, feeds: Sequence[Any], dtype: str, cells: int, spread: float) -> None:
        import numpy as np

        x, *others = (np.abs(each.astype("float64")) for each in feeds)
        largest = prod(float(each.max(initial=1.0)) for each in others)
        sums = ROUNDING[dtype] * (OPERATIONS + 4 * sqrt(cells)) * 4
        told = NARROWEST * (spread < 1)  # eps is told as the decimal that a narrow format rounded
        self._of_y = (sums + told) * largest
        self._of_x = self._of_y * max(float(x.max(initial=0.0)) / spread, 1.0)

    def share(self, got: Any, want: Any) -> float:
        """The largest difference as a share of it."""
        import numpy as np

        if got.shape != want.shape:
            return float("inf")
        with np.errstate(all="ignore"):
            return _largest(got, want, self._of_x + self._of_y * np.abs(want.astype("float64")))


def _apart(got: Any, want: Any) -> float:
    return _largest(got, want, 1.0) if got.shape == want.shape else float("inf")


def _largest(got: Any, want: Any, of: Any) -> float:
    """The largest difference in this unit; two results that are both no number agree."""
    import numpy as np

    got, want = got.astype("float64"), want.astype("float64")
    with np.errstate(all="ignore"):
        apart = np.nan_to_num(np.abs(got - want) / of, nan=np.inf)
    return float(np.where(np.isnan(got) & np.isnan(want), 0.0, apart).max(initial=0.0))
