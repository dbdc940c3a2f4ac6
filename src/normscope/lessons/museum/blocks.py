"""Exhibits: blocks, chunks, padded lanes and the wrong cells in memory, all as programs.

What a kernel does by position is an input here: a weight or a mark for every cell.
"""

from fractions import Fraction

from ...axes import Axes
from ...norm import Norm
from ...steps import forward
from .side import Given, Side
from .slips import D, GROUP, INNER, KIND, LAYER, Exhibit, built, halves, line, rewritten

block = KIND["block"]
HALF = Fraction(1, 2)
ENDS = (line("v", "add", "var", "eps"), line("r", "rsqrt", "v"), line("xhat", "mul", "c", "r"),
        line("scaled", "mul", "xhat", "gamma"))  # fmt: skip
Y = line("y", "add", "scaled", "beta")
S_D: Axes = ("S", "d")
K: Axes = ("k",)
HALVES = Norm("S (h [k])", affine="(h k)", sizes={"h": 2})
LETTERED = "i counts the halves, j the k features of one."
INPUTS = {"x": S_D, "gamma": D, "beta": D, "eps": ()}


def power_below(n: int) -> int:
    """The largest power of two up to n."""
    return 1 << (n.bit_length() - 1)


def power_above(n: int) -> int:
    """The smallest power of two from n on."""
    return 1 << (n - 1).bit_length()


def _marked(columns: int, first: int) -> list[int]:
    return [int(at < first) for at in range(columns)]


def _lanes(given: Given) -> Given:
    columns = len(given["x"][0])
    return {**given, "p": power_above(columns) - columns}


def _block(given: Given) -> Given:
    columns = len(given["x"][0])
    first = power_below(columns)
    marks = _marked(columns, first)
    return {**given, "b": marks, "w": [Fraction(mark, first) for mark in marks]}


def _chunks(given: Given) -> Given:
    columns = len(given["x"][0])
    first = (columns + 1) // 2
    marks = _marked(columns, first)
    rest = max(columns - first, 1)
    return {**given, "a": [Fraction(m, first) for m in marks], "b": [Fraction(1 - m, rest) for m in marks]}


def _next(given: Given) -> Given:
    """For each group the channel behind it, of the same item, and whether there is one."""
    x = given["x"]
    half = len(x[0]) // 2
    return {**given, "next": [[row[half], 0] for row in x], "b": [1, 0]}


def _behind(given: Given) -> Given:
    return {**given, "x": given["x"][1:]}


def _start(given: Given) -> Given:
    return {**given, "x": given["x"][1:], "x₀": given["x"][:-1]}


PADDED = rewritten(
    forward(LAYER), {"p": ()},
    var=(line("m", "mean", "q", over=D), line("mu2", "mul", "mu", "mu"), line("lost", "mul", "p", "mu2"),
         line("lanes", "mean", "lost", per=D), line("var", "add", "m", "lanes")),
)  # fmt: skip
FIRST = built(
    S_D, INPUTS | {"b": D, "w": D},
    line("wx", "mul", "w", "x"), line("mu", "sum", "wx", over=D), line("c", "sub", "x", "mu"), line("q", "mul", "c", "c"),
    line("wq", "mul", "w", "q"), line("var", "sum", "wq", over=D), *ENDS, line("z", "add", "scaled", "beta"), line("y", "mul", "b", "z"),
)  # fmt: skip
AVERAGED = rewritten(
    forward(HALVES),
    mu=(line("m", "mean", "x", over=K), line("mu", "mean", "x", over=("h", "k"))),
    c=(line("c", "sub", "x", "mu"), line("e", "sub", "x", "m")),
    q=(line("q", "mul", "e", "e"),),
    var=(line("var", "mean", "q", over=("h", "k")),),
)  # fmt: skip
MERGED = built(
    S_D, INPUTS | {"a": D, "b": D},
    line("ax", "mul", "a", "x"), line("m₁", "sum", "ax", over=D), line("bx", "mul", "b", "x"), line("m₂", "sum", "bx", over=D),
    line("both", "add", "m₁", "m₂"), line("mu", "mul", HALF, "both"), line("c", "sub", "x", "mu"),
    line("e", "sub", "x", "m₁"), line("e2", "mul", "e", "e"), line("ae", "mul", "a", "e2"), line("u", "sum", "ae", over=D),
    line("f", "sub", "x", "m₂"), line("f2", "mul", "f", "f"), line("bf", "mul", "b", "f2"), line("w", "sum", "bf", over=D),
    line("within", "add", "u", "w"), line("half", "mul", HALF, "within"),
    line("apart", "sub", "m₁", "m₂"), line("side", "mul", HALF, "apart"), line("between", "mul", "side", "side"),
    line("var", "add", "half", "between"), *ENDS, Y,
)  # fmt: skip
C: Axes = ("c",)
BLEEDING = rewritten(
    forward(GROUP), {"next": ("N", "g"), "b": ("g",)},
    mu=(line("own", "sum", "x", over=C), line("all", "add", "own", "next"), line("mu", "mean", "all", per=C)),
    var=(line("sq", "sum", "q", over=C), line("e", "sub", "next", "mu"), line("e2", "mul", "e", "e"), line("be", "mul", "b", "e2"),
         line("all2", "add", "sq", "be"), line("var", "mean", "all2", per=C)),
)  # fmt: skip

START = rewritten(
    forward(LAYER), {"x₀": S_D}, mu=(line("mu", "mean", "x₀", over=D),), c=(line("c", "sub", "x₀", "mu"),)
)


def _threes(rows: int, columns: int) -> str:
    return "" if columns == 6 else f"x has {columns} channels; here a group has 3 and its block 4, so x needs 6."


def _slice(rows: int, columns: int) -> str:
    return "" if rows > 1 else "x has 1 row; a slice needs a row before it."


def _given(x: str, eps: str = "0") -> dict[str, str]:
    count = x.split(";")[0].count(",") + 1
    return {"x": x, "gamma": ",".join("1" * count), "beta": ",".join("0" * count), "eps": eps}


BLOCKS = (
    block("padded-lanes-counted", "Zeros behind the row, centered to −mean, enter the variance", PADDED, _given("1,1,4"),
          "Mask the padded lanes after centering.", instrument="eps", reads=_lanes, where="p is the count of padded lanes, up to a power of two.", shown=("mu", "var"),
          opened=INNER | {"m", "mu2", "lost", "lanes"}, seen="https://github.com/triton-lang/triton/issues/9838"),
    block("columns-beyond-block-ignored", "Only the first power of two of columns is counted and written", FIRST, _given("0,2,4"),
          "Loop over the blocks of a row.", instrument="influence", reads=_block, where="b is 1 in the block and 0 beyond it; w is b over the count of the block.", opened=INNER | {"wx", "wq", "z"},
          seen="https://github.com/facebookresearch/xformers/issues/785"),
    block("statistics-per-chunk", "Each half of a row has its own statistics", forward(HALVES),
          _given("1,3,3,9"), "Merge the sums of the halves before dividing.", instrument="influence", fits=halves, where=LETTERED,
          seen="https://github.com/EleutherAI/gpt-neox/pull/1424"),
    block("between-chunk-term-missing", "The variance is the average of the halves’ variances", AVERAGED, _given("0,2,4,6"),
          "Add the variance of the chunk means.", instrument="eps", shown=("mu", "m", "var"), opened=INNER | {"e"}, fits=halves, where=LETTERED,
          seen="https://github.com/fyu/drn/issues/26"),
    block("chunks-merged-with-equal-weights", "Chunks of different length are merged as if they were alike", MERGED, _given("0,0,6"),
          "Weigh each chunk by its count of cells.", instrument="eps", reads=_chunks, shown=("m₁", "m₂", "mu", "var"), where="a is 1 over the first chunk’s count within it and 0 beyond, b likewise for the second.",
          opened=INNER | {"ax", "bx", "both", "e", "e2", "ae", "u", "f", "f2", "bf", "w", "within", "half", "apart", "side", "between"},
          seen="https://github.com/pytorch/pytorch/issues/22192"),
    Exhibit("block-bleeds-into-next-row", "A block of 4 reads one channel of the next group of 3", "block", "influence",
            Side(forward(GROUP)), Side(BLEEDING, reads=_next), _given("0,2,4,3,0,3"), "Mask the block to the group.",
            "https://github.com/flagos-ai/FlagGems/issues/4984", "group_norm",
            opened=INNER | {"own", "all", "sq", "e", "e2", "be", "all2"}, fits=_threes,
            where="i counts the groups, j the c channels of one; next is the channel behind a group, b is 1 where there is one."),
    Exhibit("ignores-offset-and-strides", "A slice is read from the start of its buffer", "block", "layout",
            Side(forward(LAYER), reads=_behind), Side(START, reads=_start), _given("0,2;2,0"),
            "Use the array's offset and strides, or make it contiguous first.",
            "https://github.com/pytorch/pytorch/issues/131750", fits=_slice,
            where="The first row typed stands before the slice x; x₀ is as many rows from the start of the buffer."),
)  # fmt: skip
