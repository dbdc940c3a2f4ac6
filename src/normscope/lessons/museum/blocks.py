"""Exhibits: blocks, chunks, padded lanes and the wrong cells in memory."""

from ...steps import forward
from .kernels import (
    AVERAGED,
    BLEEDING,
    FIRST,
    HALVES,
    MERGED,
    PADDED,
    START,
    behind,
    from_start,
    with_block,
    with_chunks,
    with_lanes,
    with_next,
)
from .side import Side
from .slips import GROUP, KIND, LAYER, Exhibit, given, halves

block = KIND["block"]
LETTERED = "i counts the halves, j the k features of one."


def _threes(rows: int, columns: int) -> str:
    return "" if columns == 6 else f"x has {columns} channels; here a group has 3 and its block 4, so x needs 6."


def _slice(rows: int, columns: int) -> str:
    return "" if rows > 1 else "x has 1 row; a slice needs a row before it."


BLOCKS = (
    block(
        "padded-lanes-counted",
        "Zeros behind the row, centered to −mean, enter the variance",
        PADDED,
        given("1,1,4"),
        "Mask the padded lanes after centering.",
        instrument="eps",
        reads=with_lanes,
        where="p is the count of padded lanes, up to a power of two.",
        shown=("mu", "var"),
        seen="https://github.com/triton-lang/triton/issues/9838",
    ),
    block(
        "columns-beyond-block-ignored",
        "Only the first power of two of columns is counted and written",
        FIRST,
        given("0,2,4"),
        "Loop over the blocks of a row.",
        instrument="influence",
        reads=with_block,
        where="b is 1 in the block and 0 beyond it; w is b over the count of the block.",
        seen="https://github.com/facebookresearch/xformers/issues/785",
    ),
    block(
        "statistics-per-chunk",
        "Each half of a row has its own statistics",
        forward(HALVES),
        given("1,3,3,9"),
        "Merge the sums of the halves before dividing.",
        instrument="influence",
        fits=halves,
        where=LETTERED,
        seen="https://github.com/EleutherAI/gpt-neox/pull/1424",
    ),
    block(
        "between-chunk-term-missing",
        "The variance is the average of the halves’ variances",
        AVERAGED,
        given("0,2,4,6"),
        "Add the variance of the chunk means.",
        instrument="eps",
        shown=("mu", "m", "var"),
        fits=halves,
        where=LETTERED,
        seen="https://github.com/fyu/drn/issues/26",
    ),
    block(
        "chunks-merged-with-equal-weights",
        "Chunks of different length are merged as if they were alike",
        MERGED,
        given("0,0,6"),
        "Weigh each chunk by its count of cells.",
        instrument="eps",
        reads=with_chunks,
        shown=("m₁", "m₂", "mu", "var"),
        where="a is 1 over the first chunk’s count within it and 0 beyond, b likewise for the second.",
        seen="https://github.com/pytorch/pytorch/issues/22192",
    ),
    Exhibit(
        "block-bleeds-into-next-row",
        "A block of 4 reads one channel of the next group of 3",
        "block",
        "influence",
        Side(forward(GROUP)),
        Side(BLEEDING, reads=with_next),
        given("0,2,4,3,0,3"),
        "Mask the block to the group.",
        "https://github.com/flagos-ai/FlagGems/issues/4984",
        "group_norm",
        fits=_threes,
        where="i counts the groups, j the c channels of one; next is the channel behind a group, b 1 if there is one.",
    ),
    Exhibit(
        "ignores-offset-and-strides",
        "A slice is read from the start of its buffer",
        "block",
        "layout",
        Side(forward(LAYER), reads=behind),
        Side(START, reads=from_start),
        given("0,2;2,0"),
        "Use the array's offset and strides, or make it contiguous first.",
        "https://github.com/pytorch/pytorch/issues/131750",
        fits=_slice,
        where="The first row typed stands before the slice x; x₀ is as many rows from the start of the buffer.",
    ),
)
