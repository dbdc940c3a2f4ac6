"""Programs of kernels that go wrong: what one does by position is an input, a weight or a mark for every cell."""

from fractions import Fraction

from ...axes import Axes
from ...norm import Norm
from ...steps import forward
from .side import Given
from .slips import GROUP, LAYER, D, built, line, rewritten

HALF = Fraction(1, 2)
ENDS = (
    line("v", "add", "var", "eps"),
    line("r", "rsqrt", "v"),
    line("xhat", "mul", "c", "r"),
    line("scaled", "mul", "xhat", "gamma"),
)
Y = line("y", "add", "scaled", "beta")
S_D: Axes = ("S", "d")
K: Axes = ("k",)
HALVES = Norm("S (h [k])", affine="(h k)", sizes={"h": 2})
INPUTS = {"x": S_D, "gamma": D, "beta": D, "eps": ()}


def power_below(n: int) -> int:
    """The largest power of two up to n."""
    return 1 << (n.bit_length() - 1)


def power_above(n: int) -> int:
    """The smallest power of two from n on."""
    return 1 << (n - 1).bit_length()


def _marked(columns: int, first: int) -> list[int]:
    return [int(at < first) for at in range(columns)]


def with_lanes(given: Given) -> Given:
    """The count of lanes that pad a row to a power of two."""
    columns = len(given["x"][0])
    return {**given, "p": power_above(columns) - columns}


def with_block(given: Given) -> Given:
    """Which columns stand in the first block, and their share of its mean."""
    columns = len(given["x"][0])
    first = power_below(columns)
    marks = _marked(columns, first)
    return {**given, "b": marks, "w": [Fraction(mark, first) for mark in marks]}


def with_chunks(given: Given) -> Given:
    """Each column’s share of the mean of its chunk."""
    columns = len(given["x"][0])
    first = (columns + 1) // 2
    marks = _marked(columns, first)
    rest = max(columns - first, 1)
    return {**given, "a": [Fraction(m, first) for m in marks], "b": [Fraction(1 - m, rest) for m in marks]}


def with_next(given: Given) -> Given:
    """For each group the channel behind it, of the same item, and whether there is one."""
    x = given["x"]
    half = len(x[0]) // 2
    return {**given, "next": [[row[half], 0] for row in x], "b": [1, 0]}


def behind(given: Given) -> Given:
    """The slice: the rows after the first."""
    return {**given, "x": given["x"][1:]}


def from_start(given: Given) -> Given:
    """The slice, and as many rows from the start of its buffer."""
    return {**given, "x": given["x"][1:], "x₀": given["x"][:-1]}


PADDED = rewritten(
    forward(LAYER),
    {"p": ()},
    var=(
        line("m", "mean", "q", over=D),
        line("mu2", "mul", "mu", "mu"),
        line("lost", "mul", "p", "mu2"),
        line("lanes", "mean", "lost", per=D),
        line("var", "add", "m", "lanes"),
    ),
)
FIRST = built(
    S_D,
    INPUTS | {"b": D, "w": D},
    line("wx", "mul", "w", "x"),
    line("mu", "sum", "wx", over=D),
    line("c", "sub", "x", "mu"),
    line("q", "mul", "c", "c"),
    line("wq", "mul", "w", "q"),
    line("var", "sum", "wq", over=D),
    *ENDS,
    line("z", "add", "scaled", "beta"),
    line("y", "mul", "b", "z"),
)
AVERAGED = rewritten(
    forward(HALVES),
    mu=(line("m", "mean", "x", over=K), line("mu", "mean", "x", over=("h", "k"))),
    c=(line("c", "sub", "x", "mu"), line("e", "sub", "x", "m")),
    q=(line("q", "mul", "e", "e"),),
    var=(line("var", "mean", "q", over=("h", "k")),),
)
MERGED = built(
    S_D,
    INPUTS | {"a": D, "b": D},
    line("ax", "mul", "a", "x"),
    line("m₁", "sum", "ax", over=D),
    line("bx", "mul", "b", "x"),
    line("m₂", "sum", "bx", over=D),
    line("both", "add", "m₁", "m₂"),
    line("mu", "mul", HALF, "both"),
    line("c", "sub", "x", "mu"),
    line("e", "sub", "x", "m₁"),
    line("e2", "mul", "e", "e"),
    line("ae", "mul", "a", "e2"),
    line("u", "sum", "ae", over=D),
    line("f", "sub", "x", "m₂"),
    line("f2", "mul", "f", "f"),
    line("bf", "mul", "b", "f2"),
    line("w", "sum", "bf", over=D),
    line("within", "add", "u", "w"),
    line("half", "mul", HALF, "within"),
    line("apart", "sub", "m₁", "m₂"),
    line("side", "mul", HALF, "apart"),
    line("between", "mul", "side", "side"),
    line("var", "add", "half", "between"),
    *ENDS,
    Y,
)
C: Axes = ("c",)
BLEEDING = rewritten(
    forward(GROUP),
    {"next": ("N", "g"), "b": ("g",)},
    mu=(line("own", "sum", "x", over=C), line("all", "add", "own", "next"), line("mu", "mean", "all", per=C)),
    var=(
        line("sq", "sum", "q", over=C),
        line("e", "sub", "next", "mu"),
        line("e2", "mul", "e", "e"),
        line("be", "mul", "b", "e2"),
        line("all2", "add", "sq", "be"),
        line("var", "mean", "all2", per=C),
    ),
)

START = rewritten(
    forward(LAYER), {"x₀": S_D}, mu=(line("mu", "mean", "x₀", over=D),), c=(line("c", "sub", "x₀", "mu"),)
)
