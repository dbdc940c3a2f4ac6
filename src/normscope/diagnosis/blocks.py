"""Statistics that no program has: of blocks, chunks, padded lanes, of the wrong cells in memory, or badly accumulated.

Each is an array function of rows (rows, n) and gives the mean and the spread of every cell's numerator, of shape
(rows, n) or (rows, 1); what a mistake leaves unwritten is set by `unwritten`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..norm import Norm

Pair = tuple[Any, Any]


class OneBlockError(ValueError):
    """A row that is no longer than a block, which no block mistake changes."""


@dataclass(frozen=True)
class About:
    """What the rows of a norm are measured about: their mean, or 0 for one that does not center.

    following  for every row the cells that lie behind it in memory, nan where nothing lies
    channels   how many channels a row is made of, each of `positions` cells
    """

    center: bool
    following: Any
    channels: int
    positions: int

    def mean(self, rows: Any) -> Any:
        """The means of rows, (rows, 1)."""
        return rows.mean(-1, keepdims=True) if self.center else 0 * rows[:, :1]

    def var(self, rows: Any) -> Any:
        """The mean squares about them."""
        return ((rows - self.mean(rows)) ** 2).mean(-1, keepdims=True)

    def sums(self, rows: Any, mean_count: float, count: float) -> Pair:
        """The sum over a count as mean, and the sum of squares about it over another."""
        mean = rows.sum(-1, keepdims=True) / mean_count if self.center else 0 * rows[:, :1]
        return mean, ((rows - mean) ** 2).sum(-1, keepdims=True) / count


@dataclass(frozen=True)
class Block:
    """A mistake of block, chunk, layout or accumulation.

    id, name, fix    as a finding has them
    formula          what is computed
    rows             rows (rows, n) to mean and spread
    unwritten        of n cells, how many are written; the rest stay 0
    """

    id: str
    name: str
    formula: str
    fix: str
    rows: Callable[[Any, About], Pair]
    unwritten: Callable[[int], int] | None = None

    def statistics(self, x: Any, norm: Norm) -> Pair:
        """Mean and spread against x of the program's rank; those of the whole row where that is one block.

        Raises ValueError where the shape does not allow the mistake.
        """
        rows = rows_of(x, norm)
        about = _about(x, norm)
        try:
            mean, spread = self.rows(rows, about)
        except OneBlockError:
            mean, spread = about.mean(rows), about.var(rows)
        return back(mean, x, norm), back(spread, x, norm)

    def written(self, y: Any, x: Any, norm: Norm) -> Any:
        """y with 0 where nothing is written."""
        import numpy as np

        if self.unwritten is None:
            return y
        rows = rows_of(np.broadcast_to(y, x.shape), norm).copy()
        rows[:, self.unwritten(rows.shape[1]) :] = 0
        return back(rows, x, norm)


def rows_of(x: Any, norm: Norm) -> Any:
    """x of the program's rank as (rows, cells that share a statistic)."""
    import numpy as np

    at = [norm.axes.index(axis) for axis in (*norm.kept, *norm.over)]
    moved = np.transpose(x, at)
    n = 1
    for axis in norm.over:
        n *= x.shape[norm.axes.index(axis)]
    return moved.reshape(-1, n)


def back(rows: Any, x: Any, norm: Norm) -> Any:
    """What `rows_of` undoes; a value of one column has size 1 along every reduced axis."""
    import numpy as np

    order = [norm.axes.index(axis) for axis in (*norm.kept, *norm.over)]
    kept = [x.shape[norm.axes.index(axis)] for axis in norm.kept]
    over = [x.shape[norm.axes.index(axis)] for axis in norm.over]
    shape = kept + (over if rows.shape[1] > 1 else [1] * len(over))
    return np.transpose(rows.reshape(shape), np.argsort(order))


def _about(x: Any, norm: Norm) -> About:
    """What rows of x are measured about, and what lies behind each: of the same item where channels are grouped."""
    rows = rows_of(x, norm)
    channels = x.shape[norm.axes.index("c")] if "c" in norm.over else rows.shape[1]
    return About(norm.center, _following(rows, x, norm), channels, rows.shape[1] // channels)


def _following(rows: Any, x: Any, norm: Norm) -> Any:
    import numpy as np

    count, n = rows.shape
    together = x.shape[norm.axes.index("g")] if "g" in norm.axes and norm.kept[-1:] == ("g",) else count
    made = np.zeros((count, n))
    for at in range(count):
        end = (at // together + 1) * together
        rest = rows[at + 1 : min(at + 2, end)].ravel()
        made[at, : rest.size] = rest
        made[at, rest.size :] = np.nan  # nothing lies there
    return made


def power_above(n: int) -> int:
    """The smallest power of two from n on."""
    return 1 << (n - 1).bit_length()


def power_below(n: int) -> int:
    """The largest power of two up to n."""
    return 1 << (n.bit_length() - 1)


Cut = Callable[[int], int]
CUTS: Mapping[str, tuple[str, Cut]] = {
    "half-up": ("(n + 1) // 2", lambda n: (n + 1) // 2),
    "half": ("n // 2", lambda n: n // 2),
    "half-plus-one": ("n // 2 + 1", lambda n: n // 2 + 1),
    "power-of-two": ("2^floor(log2 n)", power_below),
    "all-but-one": ("n - 1", lambda n: n - 1),
    "two": ("2", lambda n: 2),
    "four": ("4", lambda n: 4),
    "eight": ("8", lambda n: 8),
    "sixteen": ("16", lambda n: 16),
    "thirty-two": ("32", lambda n: 32),
    "sixty-four": ("64", lambda n: 64),
    "128": ("128", lambda n: 128),
    "256": ("256", lambda n: 256),
    "512": ("512", lambda n: 512),
    "1024": ("1024", lambda n: 1024),
}


def _parts(rows: Any, cut: Cut) -> tuple[Any, Any]:
    k = cut(rows.shape[1])
    if not 0 < k < rows.shape[1]:
        raise OneBlockError
    return rows[:, :k], rows[:, k:]


def _own(cut: Cut) -> Callable[[Any, About], Pair]:
    def rows_to(rows: Any, about: About) -> Pair:
        import numpy as np

        parts = _parts(rows, cut)
        mean = np.concatenate([np.broadcast_to(about.mean(part), part.shape) for part in parts], 1)
        return mean, np.concatenate([np.broadcast_to(about.var(part), part.shape) for part in parts], 1)

    return rows_to


def _every(k: int) -> Callable[[Any, About], Pair]:
    """Chunks of k cells, each with its own statistics."""

    def rows_to(rows: Any, about: About) -> Pair:
        import numpy as np

        if rows.shape[1] <= k:
            raise OneBlockError
        parts = [rows[:, at : at + k] for at in range(0, rows.shape[1], k)]
        mean = np.concatenate([np.broadcast_to(about.mean(part), part.shape) for part in parts], 1)
        return mean, np.concatenate([np.broadcast_to(about.var(part), part.shape) for part in parts], 1)

    return rows_to


def _averaged(cut: Cut, weighted: bool) -> Callable[[Any, About], Pair]:
    """The mean of the row, and of the spread only what lies within the chunks."""

    def rows_to(rows: Any, about: About) -> Pair:
        a, b = _parts(rows, cut)
        share = a.shape[1] / rows.shape[1] if weighted else 0.5
        return about.mean(rows), share * about.var(a) + (1 - share) * about.var(b)

    return rows_to


def _equal(cut: Cut, mean_too: bool) -> Callable[[Any, About], Pair]:
    def rows_to(rows: Any, about: About) -> Pair:
        a, b = _parts(rows, cut)
        mean = (about.mean(a) + about.mean(b)) / 2
        spread = (about.var(a) + about.var(b)) / 2 + ((about.mean(a) - about.mean(b)) / 2) ** 2
        return (mean if mean_too else about.mean(rows)), spread

    return rows_to


def _unmerged(cut: Cut) -> Callable[[Any, About], Pair]:
    """Chunk means merged with equal weight, the spread about that mean."""

    def rows_to(rows: Any, about: About) -> Pair:
        a, b = _parts(rows, cut)
        mean = (about.mean(a) + about.mean(b)) / 2
        return mean, ((rows - mean) ** 2).mean(-1, keepdims=True)

    return rows_to


def _last_wins(cut: Cut, first: bool) -> Callable[[Any, About], Pair]:
    """One chunk's statistics for the whole row."""

    def rows_to(rows: Any, about: About) -> Pair:
        part = _parts(rows, cut)[0 if first else 1]
        return about.mean(part), about.var(part)

    return rows_to


def _only(cut: Cut, of_all: bool) -> Callable[[Any, About], Pair]:
    """The first cells alone, their sums divided by the count of all or of them."""

    def rows_to(rows: Any, about: About) -> Pair:
        part = _parts(rows, cut)[0]
        n = rows.shape[1] if of_all else part.shape[1]
        return about.sums(part, n, n)

    return rows_to


def _padded(lanes: Callable[[int], int], mean_count: bool, var_count: bool, var_lanes: bool) -> Callable[..., Pair]:
    """Zeros behind the row: in the count of the mean, in that of the variance, and themselves in the variance."""

    def rows_to(rows: Any, about: About) -> Pair:
        n = rows.shape[1]
        p = lanes(n)
        count = p if var_count else n
        mean, spread = about.sums(rows, p if mean_count else n, count)
        return mean, spread + ((p - n) * mean**2 / count if var_lanes else 0)

    return rows_to


def _multiple(k: int) -> Callable[[int], int]:
    return lambda n: -(-n // k) * k


def _more(k: int) -> Callable[[int], int]:
    return lambda n: n + k


def _bleeding(rows: Any, about: About) -> Pair:
    """A block of the next power of two of channels reads on into the next row."""
    import numpy as np

    n = rows.shape[1]
    more = about.following[:, : (power_above(about.channels) - about.channels) * about.positions]
    there = ~np.isnan(more)
    more = np.where(there, more, 0)
    mean = (rows.sum(-1, keepdims=True) + more.sum(-1, keepdims=True)) / n if about.center else 0 * rows[:, :1]
    squares = ((rows - mean) ** 2).sum(-1, keepdims=True)
    return mean, (squares + (there * (more - mean) ** 2).sum(-1, keepdims=True)) / n


def _welford(rows: Any, about: About) -> Pair:
    """Welford's update with the old difference squared."""
    import numpy as np

    mean, spread = np.zeros(rows.shape[0]), np.zeros(rows.shape[0])
    for count, cell in enumerate(rows.T, 1):
        delta = cell - mean
        mean = mean + delta / count
        spread = spread + delta * delta
    return mean[:, None], spread[:, None] / rows.shape[1]


def _welford_new(rows: Any, about: About) -> Pair:
    """Welford's update with the new difference squared."""
    import numpy as np

    mean, spread = np.zeros(rows.shape[0]), np.zeros(rows.shape[0])
    for count, cell in enumerate(rows.T, 1):
        mean = mean + (cell - mean) / count
        spread = spread + (cell - mean) ** 2
    return mean[:, None], spread[:, None] / rows.shape[1]


def _median(rows: Any, about: About) -> Pair:
    import numpy as np

    center = np.median(rows, -1, keepdims=True)
    return center, ((rows - center) ** 2).mean(-1, keepdims=True)


def _midrange(rows: Any, about: About) -> Pair:
    center = (rows.min(-1, keepdims=True) + rows.max(-1, keepdims=True)) / 2
    return center, (rows.max(-1, keepdims=True) - rows.min(-1, keepdims=True)) ** 2


def _range(rows: Any, about: About) -> Pair:
    return about.mean(rows), (rows.max(-1, keepdims=True) - rows.min(-1, keepdims=True)) ** 2


def _min_max(rows: Any, about: About) -> Pair:
    least = rows.min(-1, keepdims=True)
    return least, (rows.max(-1, keepdims=True) - least) ** 2


def _first_row(rows: Any, about: About) -> Pair:
    return about.mean(rows)[:1].repeat(len(rows), 0), about.var(rows)[:1].repeat(len(rows), 0)


def _previous_row(rows: Any, about: About) -> Pair:
    import numpy as np

    return np.roll(about.mean(rows), 1, 0), np.roll(about.var(rows), 1, 0)


def _dropped_axis(mean_too: bool, var_too: bool) -> Callable[[Any, About], Pair]:
    """Row statistics lined up with the columns, which works for as many rows as cells."""

    def rows_to(rows: Any, about: About) -> Pair:
        count, n = rows.shape
        if count != n:
            raise ValueError("not square")
        mean = rows.mean(-1)[None, :].repeat(n, 0) if mean_too else about.mean(rows)
        spread = ((rows - mean) ** 2).mean(-1)
        return mean + 0 * rows, (spread[None, :] if var_too else spread[:, None]) + 0 * rows

    return rows_to


def _made() -> dict[str, Block]:
    blocks: dict[str, Block] = {}

    def add(key: str, *fields: Any) -> None:
        blocks[key] = Block(*fields)

    whole = "take the statistics over all {n} cells of a row"
    for key, (text, cut) in CUTS.items():
        add(
            f"own {key}",
            "statistics-per-chunk",
            f"each part of a row (the first {text} cells, and the rest) has its own statistics",
            f"mean and var of the first {text} cells for these, of the rest for the rest",
            "merge the sums of the parts before dividing",
            _own(cut),
        )
        add(
            f"averaged {key}",
            "between-chunk-term-missing",
            "the variance is the average of the chunks' variances: the spread between their means is left out",
            f"var = (var(x[:{text}]) + var(x[{text}:])) / 2",
            "add the variance of the chunk means, or merge by Chan's formula",
            _averaged(cut, False),
        )
        add(
            f"averaged by size {key}",
            "between-chunk-term-missing",
            "the variance is the weighted average of the chunks' variances: the spread between their means is left out",
            f"var = weighted mean of var(x[:{text}]) and var(x[{text}:])",
            "add the variance of the chunk means, or merge by Chan's formula",
            _averaged(cut, True),
        )
        add(
            f"equal {key}",
            "chunks-merged-with-equal-weights",
            "chunks of different length are merged as if they had as many cells",
            f"mean = (m1 + m2)/2, var = (v1 + v2)/2 + ((m1 - m2)/2)^2, chunks cut at {text}",
            "weigh each chunk by its count of cells",
            _equal(cut, True),
        )
        add(
            f"equal variance {key}",
            "chunks-merged-with-equal-weights",
            "the variances of chunks of different length are merged as if they had as many cells",
            f"var = (v1 + v2)/2 + ((m1 - m2)/2)^2, chunks cut at {text}",
            "weigh each chunk by its count of cells",
            _equal(cut, False),
        )
        add(
            f"equal mean {key}",
            "chunks-merged-with-equal-weights",
            "the means of chunks of different length are merged as if they had as many cells",
            f"mean = (m1 + m2)/2, chunks cut at {text}",
            "weigh each chunk by its count of cells",
            _unmerged(cut),
        )
        add(
            f"first chunk {key}",
            "columns-beyond-block-ignored",
            f"the statistics are those of the first {text} cells alone",
            f"mean and var of x[:{text}], for the whole row",
            whole,
            _last_wins(cut, True),
        )
        add(
            f"last chunk {key}",
            "last-chunk-only",
            f"the statistics are those of the cells from {text} on alone",
            f"mean and var of x[{text}:], for the whole row",
            whole,
            _last_wins(cut, False),
        )
        add(
            f"block {key}",
            "columns-beyond-block-ignored",
            f"only the first {text} cells are summed, though the sums are divided by n",
            f"mean and var = sums over x[:{text}] / n",
            whole,
            _only(cut, True),
        )
        add(
            f"block unwritten {key}",
            "columns-beyond-block-ignored",
            f"only the first {text} cells are counted and written",
            f"mean and var = sums over x[:{text}] / n; y[{text}:] = 0",
            "loop over the blocks of a row",
            _only(cut, True),
            cut,
        )
        add(
            f"block own unwritten {key}",
            "columns-beyond-block-ignored",
            f"only the first {text} cells are counted and written",
            f"mean and var of x[:{text}]; y[{text}:] = 0",
            "loop over the blocks of a row",
            _only(cut, False),
            cut,
        )
        add(
            f"right unwritten {key}",
            "columns-beyond-block-unwritten",
            f"only the first {text} cells are written",
            f"y[{text}:] = 0",
            "loop over the blocks of a row when writing too",
            lambda rows, about: (about.mean(rows), about.var(rows)),
            cut,
        )
    for k in (2, 3, 4, 8, 16, 32, 64, 128, 256, 512, 1024):
        add(
            f"every {k}",
            "statistics-per-chunk",
            f"every {k} cells have their own statistics",
            f"mean and var of each {k} cells",
            "merge the sums of the chunks before dividing",
            _every(k),
        )
    lanes = {"power of two": ("P the next power of two", power_above)} | {
        f"multiple of {k}": (f"P the next multiple of {k}", _multiple(k)) for k in (4, 8, 16, 32, 64, 128)
    }
    for key, (text, count) in lanes.items():
        add(
            f"padded {key}",
            "padded-lanes-counted",
            "padding lanes enter the variance: centered, their zeros are -mean",
            f"var = (sum(c^2) + (P - n) * mean^2) / n, {text}",
            "mask the lanes beyond n after subtracting the mean",
            _padded(count, False, False, True),
        )
        add(
            f"padded count {key}",
            "padded-lanes-counted",
            "the sums are divided by the padded width",
            f"mean = sum(x)/P, var = sum(c^2)/P, {text}",
            "divide by n, not by the padded width",
            _padded(count, True, True, False),
        )
        add(
            f"padded row {key}",
            "padded-lanes-counted",
            "the padding zeros are counted as cells of the row",
            f"mean and var of the row with its zeros, P cells, {text}",
            "divide by n and mask the lanes beyond it",
            _padded(count, True, True, True),
        )
        add(
            f"padded var count {key}",
            "padded-lanes-counted",
            "the variance is divided by the padded width",
            f"var = sum(c^2)/P, {text}",
            "divide by n, not by the padded width",
            _padded(count, False, True, False),
        )
        add(
            f"padded mean count {key}",
            "padded-lanes-counted",
            "the mean is divided by the padded width",
            f"mean = sum(x)/P, {text}",
            "divide by n, not by the padded width",
            _padded(count, True, False, False),
        )
        add(
            f"padded var {key}",
            "padded-lanes-counted",
            "the variance counts the padded lanes and divides by their width",
            f"var = (sum(c^2) + (P - n) * mean^2) / P, {text}",
            "mask the lanes beyond n and divide by n",
            _padded(count, False, True, True),
        )
    for k in (1, 2, 3, 4):
        add(
            f"zeros {k}",
            "padding-counted",
            f"padding is counted: {k} cells of zeros enter the statistics",
            f"mean and var of the cells and {k} zeros",
            "count only the cells that are there: mask the padding out of both sums and of their count",
            _padded(_more(k), True, True, True),
        )
    add(
        "bleeding",
        "block-bleeds-into-next-row",
        "a block of the next power of two reads on into the next row's cells",
        "sums over P cells from the row's first on, divided by n",
        "bound the mask by the end of the row",
        _bleeding,
    )
    add(
        "welford old",
        "welford-update",
        "Welford's update squares the old difference",
        "M2 += (x - mean_old)^2",
        "M2 += (x - mean_old) * (x - mean_new)",
        _welford,
    )
    add(
        "welford new",
        "welford-update",
        "Welford's update squares the new difference",
        "M2 += (x - mean_new)^2",
        "M2 += (x - mean_old) * (x - mean_new)",
        _welford_new,
    )
    add(
        "median",
        "median-for-mean",
        "the median stands in place of the mean",
        "c = x - median(x)",
        "subtract the mean",
        _median,
    )
    add(
        "range",
        "range-for-std",
        "the range stands in place of the standard deviation",
        "(x - mean) / (max - min)",
        "divide by sqrt(var + eps)",
        _range,
    )
    add(
        "midrange",
        "min-max-scaling",
        "the row is centered on its midrange and divided by its range",
        "(x - (min + max)/2) / (max - min)",
        "subtract the mean, divide by sqrt(var + eps)",
        _midrange,
    )
    add(
        "min-max",
        "min-max-scaling",
        "this is min-max scaling, not standardization",
        "(x - min) / (max - min)",
        "subtract the mean, divide by sqrt(var + eps)",
        _min_max,
    )
    add(
        "first row",
        "first-rows-statistics",
        "every row gets the first row's statistics",
        "mean and var of row 0",
        "take each row's own statistics",
        _first_row,
    )
    add(
        "previous row",
        "neighbours-statistics",
        "every row gets the statistics of the row before",
        "mean and var of the previous row",
        "take each row's own statistics",
        _previous_row,
    )
    for key, which in {"both": (True, True), "mean": (True, False), "variance": (False, True)}.items():
        what = {"both": "the statistics of rows", "mean": "the means of rows", "variance": "the variances of rows"}[key]
        add(
            f"dropped axis {key}",
            "keepdims-dropped",
            f"the reduced axis is dropped, so {what} are lined up with the columns",
            "x - mean(x, -1) without keepdims",
            "keep the reduced axis (keepdims=True)",
            _dropped_axis(*which),
        )
    return blocks


BLOCKS: Mapping[str, Block] = _made()
