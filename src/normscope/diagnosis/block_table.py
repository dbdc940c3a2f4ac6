"""Every mistake of block, chunk, padding, layout and accumulation that is looked for."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from . import block_statistics as of
from .block_statistics import CUTS, Cut, Rows, power_above
from .blocks import Block

Words = tuple[str, str, str, str]  # id, name, formula, fix

WHOLE = "take the statistics over all cells of a row"
MERGE = "merge the sums of the parts before dividing, or by Chan's formula"
WEIGH = "weigh each chunk by its count of cells"
LOOP = "loop over the blocks of a row, when summing and when writing"
MASK = "mask the lanes beyond n after subtracting the mean"
COUNT = "divide by n, not by the padded width"

CHUNKS: Mapping[str, tuple[Words, Callable[[Cut], Rows]]] = {
    "own": (
        (
            "statistics-per-chunk",
            "the first {0} cells and the rest have statistics of their own",
            "mean and var of x[:{0}] and of x[{0}:], each for its own cells",
            MERGE,
        ),
        of.own,
    ),
    "averaged": (
        (
            "between-chunk-term-missing",
            "the variance is the average of the chunks' variances: the spread between their means is left out",
            "var = (var(x[:{0}]) + var(x[{0}:])) / 2",
            MERGE,
        ),
        lambda cut: of.averaged(cut, False),
    ),
    "averaged by size": (
        (
            "between-chunk-term-missing",
            "the variance is the weighted average of the chunks' variances: the spread between their means is left out",
            "var = weighted mean of var(x[:{0}]) and var(x[{0}:])",
            MERGE,
        ),
        lambda cut: of.averaged(cut, True),
    ),
    "equal": (
        (
            "chunks-merged-with-equal-weights",
            "chunks of different length are merged as if they had as many cells",
            "mean = (m1 + m2)/2, var = (v1 + v2)/2 + ((m1 - m2)/2)^2, chunks cut at {0}",
            WEIGH,
        ),
        lambda cut: of.equal(cut, True),
    ),
    "equal variance": (
        (
            "chunks-merged-with-equal-weights",
            "the variances of chunks of different length are merged as if they had as many cells",
            "var = (v1 + v2)/2 + ((m1 - m2)/2)^2, chunks cut at {0}",
            WEIGH,
        ),
        lambda cut: of.equal(cut, False),
    ),
    "equal mean": (
        (
            "chunks-merged-with-equal-weights",
            "the means of chunks of different length are merged as if they had as many cells",
            "mean = (m1 + m2)/2, chunks cut at {0}",
            WEIGH,
        ),
        of.unmerged,
    ),
    "first chunk": (
        (
            "columns-beyond-block-ignored",
            "the statistics are those of the first {0} cells alone",
            "mean and var of x[:{0}], for the whole row",
            WHOLE,
        ),
        lambda cut: of.last_wins(cut, True),
    ),
    "last chunk": (
        (
            "last-chunk-only",
            "the statistics are those of the cells from {0} on alone",
            "mean and var of x[{0}:], for the whole row",
            WHOLE,
        ),
        lambda cut: of.last_wins(cut, False),
    ),
    "block": (
        (
            "columns-beyond-block-ignored",
            "only the first {0} cells are summed, though the sums are divided by n",
            "mean and var = sums over x[:{0}] / n",
            WHOLE,
        ),
        lambda cut: of.only(cut, True),
    ),
}
UNWRITTEN: Mapping[str, tuple[Words, Callable[[Cut], Rows]]] = {
    "block unwritten": (
        (
            "columns-beyond-block-ignored",
            "only the first {0} cells are counted and written",
            "mean and var = sums over x[:{0}] / n; y[{0}:] = 0",
            LOOP,
        ),
        lambda cut: of.only(cut, True),
    ),
    "block own unwritten": (
        (
            "columns-beyond-block-ignored",
            "only the first {0} cells are counted and written",
            "mean and var of x[:{0}]; y[{0}:] = 0",
            LOOP,
        ),
        lambda cut: of.only(cut, False),
    ),
    "right unwritten": (
        ("columns-beyond-block-unwritten", "only the first {0} cells are written", "y[{0}:] = 0", LOOP),
        lambda cut: of.whole,
    ),
}
PADDED: Mapping[str, tuple[str, str, str, tuple[bool, bool, bool]]] = {  # counts: of the mean, of the variance, lanes
    "variance": (
        "padding lanes enter the variance: centered, their zeros are -mean",
        "var = (sum(c^2) + (P - n) * mean^2) / n",
        MASK,
        (False, False, True),
    ),
    "counts": (
        "the sums are divided by the padded width",
        "mean = sum(x)/P, var = sum(c^2)/P",
        COUNT,
        (True, True, False),
    ),
    "row": (
        "the padding zeros are counted as cells of the row",
        "mean and var of the row with its zeros, P cells",
        f"{COUNT}; {MASK}",
        (True, True, True),
    ),
    "var count": ("the variance is divided by the padded width", "var = sum(c^2)/P", COUNT, (False, True, False)),
    "mean count": ("the mean is divided by the padded width", "mean = sum(x)/P", COUNT, (True, False, False)),
    "var": (
        "the variance counts the padding lanes and divides by their width",
        "var = (sum(c^2) + (P - n) * mean^2) / P",
        f"{COUNT}; {MASK}",
        (False, True, True),
    ),
}
SINGLE: Mapping[str, tuple[Words, Rows]] = {
    "bleeding": (
        (
            "block-bleeds-into-next-row",
            "a block of the next power of two reads on into the next row's (or group's) cells",
            "sums over P cells from the row's first on, divided by n",
            "bound the mask by the end of the row",
        ),
        of.bleeding,
    ),
    "welford old": (
        (
            "welford-update",
            "Welford's update squares the old difference",
            "var = M2 / n, M2 += (x - mean_old)^2",
            "M2 += (x - mean_old) * (x - mean_new)",
        ),
        of.welford,
    ),
    "welford new": (
        (
            "welford-update",
            "Welford's update squares the new difference",
            "var = M2 / n, M2 += (x - mean_new)^2",
            "M2 += (x - mean_old) * (x - mean_new)",
        ),
        of.welford_new,
    ),
    "median": (
        ("median-for-mean", "the median stands in place of the mean", "c = x - median(x)", "subtract the mean"),
        of.median,
    ),
    "range": (
        (
            "range-for-std",
            "the range stands in place of the standard deviation",
            "(x - mean) / (max - min)",
            "divide by sqrt(var + eps)",
        ),
        of.value_range,
    ),
    "midrange": (
        (
            "min-max-scaling",
            "the row is centered on its midrange and divided by its range",
            "(x - (min + max)/2) / (max - min)",
            "subtract the mean, divide by sqrt(var + eps)",
        ),
        of.midrange,
    ),
    "min-max": (
        (
            "min-max-scaling",
            "this is min-max scaling, not standardization",
            "(x - min) / (max - min)",
            "subtract the mean, divide by sqrt(var + eps)",
        ),
        of.min_max,
    ),
    "first row": (
        (
            "first-rows-statistics",
            "every row gets the first row's statistics",
            "mean and var of row 0",
            "take each row's own statistics",
        ),
        of.first_row,
    ),
    "previous row": (
        (
            "neighbours-statistics",
            "every row gets the statistics of the row before",
            "mean and var of the previous row",
            "take each row's own statistics",
        ),
        of.previous_row,
    ),
}
TAILS = (4, 8)  # cells at a time, without a loop for the rest
NAMED: Mapping[str, tuple[str, str]] = {  # what stands for the mean and for the root of the variance
    "median": ("median(x)", ""),
    "range": ("mean", "max - min"),
    "midrange": ("(min + max)/2", "max - min"),
    "min-max": ("min", "max - min"),
}
DROPPED = {
    "both": ("the statistics", True, True),
    "mean": ("the means", True, False),
    "variance": ("the variances", False, True),
}
WIDTHS = (2, 3, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
SHARDS = (3, 4, 8)
LANES = (4, 8, 16, 32, 64, 128)
ZEROS = (1, 2, 3, 4)


def _chunks() -> Iterator[tuple[str, Block]]:
    for at, (text, cut) in CUTS.items():
        for table, written in ((CHUNKS, None), (UNWRITTEN, cut)):
            for key, (words, rows) in table.items():
                id, name, formula, fix = (word.format(text) for word in words)
                yield f"{key} {at}", Block(id, name, formula, fix, rows(cut), written)
    for count in SHARDS:
        name = f"each of {count} parts of a row has statistics of its own"
        yield (
            f"shards {count}",
            Block(
                "statistics-per-chunk", name, f"mean and var of each of {count} parts", MERGE, of.shards(count, True)
            ),
        )
        name = f"the variance is the average of those of {count} parts: the spread between their means is left out"
        yield (
            f"averaged shards {count}",
            Block(
                "between-chunk-term-missing",
                name,
                f"var = mean of the variances of {count} parts",
                MERGE,
                of.shards(count, False),
            ),
        )
    for k in WIDTHS:
        name = f"every {k} cells have their own statistics"
        yield f"every {k}", Block("statistics-per-chunk", name, f"mean and var of each {k} cells", MERGE, of.every(k))


def _lanes() -> Iterator[tuple[str, Block]]:
    widths: dict[str, tuple[str, Cut]] = {"power of two": ("P the next power of two", power_above)}
    widths |= {f"multiple of {k}": (f"P the next multiple of {k}", of.multiple(k)) for k in LANES}
    for at, (text, count) in widths.items():
        for key, (name, formula, fix, flags) in PADDED.items():
            yield (
                f"padded {key} {at}",
                Block("padded-lanes-counted", name, f"{formula}, {text}", fix, of.padded(count, *flags)),
            )
    fix = "count only the cells that are there: mask the padding out of both sums and of their count"
    for k in ZEROS:
        name, formula = (
            f"padding is counted: {k} zeros enter the statistics",
            f"mean and var of the cells and {k} zeros",
        )
        yield f"zeros {k}", Block("padding-counted", name, formula, fix, of.padded(of.more(k), True, True, True))


def _single() -> Iterator[tuple[str, Block]]:
    for key, (words, rows) in SINGLE.items():
        mean, std = NAMED.get(key, ("", ""))
        yield key, Block(*words, rows, mean=mean, std=std)
    for k in TAILS:
        name = f"cells are read {k} at a time: the last n % {k} enter no statistic"
        cut, fix = of.whole_chunks(k), "add the rest of the row in a loop"
        for count, rows in (("their count", of.last_wins(cut, True)), ("n", of.only(cut, True))):
            formula = f"mean and var = sums over x[:n // {k} * {k}] / {count}"
            yield f"tail {k} over {count}", Block("tail-ignored", name, formula, fix, rows)
    for key, (what, *which) in DROPPED.items():
        name = f"the reduced axis is dropped, so {what} of rows are lined up with the columns"
        formula, fix = "x - mean(x, -1) without keepdims", "keep the reduced axis (keepdims=True)"
        yield f"dropped axis {key}", Block("keepdims-dropped", name, formula, fix, of.dropped_axis(*which))


def _every() -> dict[str, Block]:
    made: dict[str, Any] = {}
    for part in (_single(), _chunks(), _lanes()):
        made |= dict(part)
    return made


BLOCKS: Mapping[str, Block] = _every()
