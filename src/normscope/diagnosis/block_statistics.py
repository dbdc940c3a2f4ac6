"""Means and spreads of rows as block, chunk, padding and accumulation mistakes compute them: array functions.

Each takes rows (rows, n) and what they are measured about, and gives arrays of shape (rows, n) or (rows, 1).
"""

from collections.abc import Callable, Mapping
from typing import Any

from .blocks import About, OneBlockError, Pair

Rows = Callable[[Any, About], Pair]


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
    "one": ("1", lambda n: 1),
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


def whole_chunks(k: int) -> Cut:
    """The largest multiple of k up to n."""
    return lambda n: n // k * k


def cut_rows(rows: Any, cut: Cut) -> tuple[Any, Any]:
    """The first cells of every row, and the rest."""
    k = cut(rows.shape[1])
    if not 0 < k < rows.shape[1]:
        raise OneBlockError
    return rows[:, :k], rows[:, k:]


def own(cut: Cut) -> Rows:
    """Statistics of its own for each of two chunks."""

    def rows_to(rows: Any, about: About) -> Pair:
        import numpy as np

        parts = cut_rows(rows, cut)
        mean = np.concatenate([np.broadcast_to(about.mean(part), part.shape) for part in parts], 1)
        return mean, np.concatenate([np.broadcast_to(about.var(part), part.shape) for part in parts], 1)

    return rows_to


def every(k: int) -> Rows:
    """Chunks of k cells, each with its own statistics."""

    def rows_to(rows: Any, about: About) -> Pair:
        import numpy as np

        if rows.shape[1] <= k:
            raise OneBlockError
        parts = [rows[:, at : at + k] for at in range(0, rows.shape[1], k)]
        mean = np.concatenate([np.broadcast_to(about.mean(part), part.shape) for part in parts], 1)
        return mean, np.concatenate([np.broadcast_to(about.var(part), part.shape) for part in parts], 1)

    return rows_to


def shards(count: int, is_own: bool) -> Rows:
    """So many parts of about equal length: each with its own statistics, or the average of their variances."""

    def rows_to(rows: Any, about: About) -> Pair:
        import numpy as np

        if rows.shape[1] < count:
            raise OneBlockError
        parts = np.array_split(rows, count, axis=1)
        if not is_own:
            return about.mean(rows), sum(about.var(part) for part in parts) / count
        every = [(np.broadcast_to(of(part), part.shape) for part in parts) for of in (about.mean, about.var)]
        mean, var = (np.concatenate(list(each), 1) for each in every)
        return mean, var

    return rows_to


def averaged(cut: Cut, weighted: bool) -> Rows:
    """The mean of the row, and of the spread only what lies within the chunks."""

    def rows_to(rows: Any, about: About) -> Pair:
        a, b = cut_rows(rows, cut)
        share = a.shape[1] / rows.shape[1] if weighted else 0.5
        return about.mean(rows), share * about.var(a) + (1 - share) * about.var(b)

    return rows_to


def equal(cut: Cut, mean_too: bool) -> Rows:
    """Two chunks merged with weights 1/2."""

    def rows_to(rows: Any, about: About) -> Pair:
        a, b = cut_rows(rows, cut)
        mean = (about.mean(a) + about.mean(b)) / 2
        spread = (about.var(a) + about.var(b)) / 2 + ((about.mean(a) - about.mean(b)) / 2) ** 2
        return (mean if mean_too else about.mean(rows)), spread

    return rows_to


def unmerged(cut: Cut) -> Rows:
    """Chunk means merged with equal weight, the spread about that mean."""

    def rows_to(rows: Any, about: About) -> Pair:
        a, b = cut_rows(rows, cut)
        mean = (about.mean(a) + about.mean(b)) / 2
        return mean, ((rows - mean) ** 2).mean(-1, keepdims=True)

    return rows_to


def last_wins(cut: Cut, first: bool) -> Rows:
    """One chunk's statistics for the whole row."""

    def rows_to(rows: Any, about: About) -> Pair:
        part = cut_rows(rows, cut)[0 if first else 1]
        return about.mean(part), about.var(part)

    return rows_to


def only(cut: Cut, of_all: bool) -> Rows:
    """The first cells alone, their sums divided by the count of all or of them."""

    def rows_to(rows: Any, about: About) -> Pair:
        part = cut_rows(rows, cut)[0]
        n = rows.shape[1] if of_all else part.shape[1]
        return about.sums(part, n, n)

    return rows_to


def padded(lanes: Callable[[int], int], mean_count: bool, var_count: bool, var_lanes: bool) -> Callable[..., Pair]:
    """Zeros behind the row: in the count of the mean, in that of the variance, and themselves in the variance."""

    def rows_to(rows: Any, about: About) -> Pair:
        n = rows.shape[1]
        p = lanes(n)
        count = p if var_count else n
        mean, spread = about.sums(rows, p if mean_count else n, count)
        return mean, spread + ((p - n) * mean**2 / count if var_lanes else 0)

    return rows_to


def multiple(k: int) -> Callable[[int], int]:
    """The next multiple of k."""
    return lambda n: -(-n // k) * k


def more(k: int) -> Callable[[int], int]:
    """So many more."""
    return lambda n: n + k


def bleeding(rows: Any, about: About) -> Pair:
    """A block of the next power of two of channels reads on into the next row."""
    import numpy as np

    n = rows.shape[1]
    more = about.following[:, : (power_above(about.channels) - about.channels) * about.positions]
    there = ~np.isnan(more)
    more = np.where(there, more, 0)
    mean = (rows.sum(-1, keepdims=True) + more.sum(-1, keepdims=True)) / n if about.center else 0 * rows[:, :1]
    squares = ((rows - mean) ** 2).sum(-1, keepdims=True)
    return mean, (squares + (there * (more - mean) ** 2).sum(-1, keepdims=True)) / n


def welford(rows: Any, about: About) -> Pair:
    """Welford's update with the old difference squared."""
    import numpy as np

    mean, spread = np.zeros(rows.shape[0]), np.zeros(rows.shape[0])
    for count, cell in enumerate(rows.T, 1):
        delta = cell - mean
        mean = mean + delta / count
        spread = spread + delta * delta
    return mean[:, None], spread[:, None] / rows.shape[1]


def welford_new(rows: Any, about: About) -> Pair:
    """Welford's update with the new difference squared."""
    import numpy as np

    mean, spread = np.zeros(rows.shape[0]), np.zeros(rows.shape[0])
    for count, cell in enumerate(rows.T, 1):
        mean = mean + (cell - mean) / count
        spread = spread + (cell - mean) ** 2
    return mean[:, None], spread[:, None] / rows.shape[1]


def median(rows: Any, about: About) -> Pair:
    """The median in place of the mean."""
    import numpy as np

    center = np.median(rows, -1, keepdims=True)
    return center, ((rows - center) ** 2).mean(-1, keepdims=True)


def midrange(rows: Any, about: About) -> Pair:
    """The middle of the range, and the range squared."""
    center = (rows.min(-1, keepdims=True) + rows.max(-1, keepdims=True)) / 2
    return center, (rows.max(-1, keepdims=True) - rows.min(-1, keepdims=True)) ** 2


def value_range(rows: Any, about: About) -> Pair:
    """The mean, and the range squared."""
    return about.mean(rows), (rows.max(-1, keepdims=True) - rows.min(-1, keepdims=True)) ** 2


def min_max(rows: Any, about: About) -> Pair:
    """The least cell, and the range squared."""
    least = rows.min(-1, keepdims=True)
    return least, (rows.max(-1, keepdims=True) - least) ** 2


def first_row(rows: Any, about: About) -> Pair:
    """The first row's statistics for all."""
    return about.mean(rows)[:1].repeat(len(rows), 0), about.var(rows)[:1].repeat(len(rows), 0)


def previous_row(rows: Any, about: About) -> Pair:
    """Each row with the statistics of the one before."""
    import numpy as np

    return np.roll(about.mean(rows), 1, 0), np.roll(about.var(rows), 1, 0)


def dropped_axis(mean_too: bool, var_too: bool) -> Rows:
    """Row statistics lined up with the columns, which works for as many rows as cells."""

    def rows_to(rows: Any, about: About) -> Pair:
        count, n = rows.shape
        if count != n:
            raise ValueError("not square")
        mean = rows.mean(-1)[None, :].repeat(n, 0) if mean_too else about.mean(rows)
        spread = ((rows - mean) ** 2).mean(-1)
        return mean + 0 * rows, (spread[None, :] if var_too else spread[:, None]) + 0 * rows

    return rows_to


def whole(rows: Any, about: About) -> Pair:
    """What is right: the whole row."""
    return about.mean(rows), about.var(rows)
