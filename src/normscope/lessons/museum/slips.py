"""How a wrong program is written: the right one with some steps replaced. And what an exhibit is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from ...axes import Axes
from ...norm import Norm
from ...program import Arg, Builder, Program
from ...steps import forward
from .side import Side

Texts = tuple[tuple[str, str], ...]  # the fields as typed
D: Axes = ("d",)
LAYER = Norm("S [d]", affine="d")
RMS = Norm("S [d]", affine="d", center=False, shift=False)
GROUP = Norm("N (g [c])", affine="(g c)", sizes={"g": 2})
BATCH = Norm("[N] C")


class Line(NamedTuple):
    """A step to be written."""

    name: str
    op: str
    args: tuple[Arg, ...]
    over: Axes = ()
    less: int = 0
    per: Axes = ()


def line(name: str, op: str, *args: Arg, over: Axes = (), per: Axes = ()) -> Line:
    """`name = op(*args)`."""
    return Line(name, op, args, over, 0, per)


def rewritten(program: Program, inputs: Mapping[str, Axes] | None = None, /, **lines: tuple[Line, ...]) -> Program:
    """The program with each step named replaced by the lines; by none: it is left out. More inputs come first.

    >>> print(rewritten(forward(Norm("[d]")), v=(), r=(line("r", "rsqrt", "var"),)))
    inputs x[d] eps[]
    mu[] = mean(x) over d
    c[d] = sub(x, mu)
    q[d] = mul(c, c)
    var[] = mean(q) over d
    r[] = rsqrt(var)
    xhat[d] = mul(c, r)
    """
    build = Builder(program.axes, dict(program.inputs) | dict(inputs or {}))
    for step in program:
        own = Line(step.name, step.op, step.args, step.over, step.less, step.per)
        for name, op, args, over, less, per in lines.get(step.name, (own,)):
            build.let(name, op, *args, over=over, less=less, per=per)
    return build.program()


def built(axes: Axes, inputs: Mapping[str, Axes], *lines: Line) -> Program:
    """A program of its own."""
    build = Builder(axes, inputs)
    for name, op, args, over, less, per in lines:
        build.let(name, op, *args, over=over, less=less, per=per)
    return build.program()


def wrong(norm: Norm, **lines: tuple[Line, ...]) -> Program:
    """The norm's program with lines replaced."""
    return rewritten(forward(norm), **lines)


@dataclass(frozen=True, eq=False)
class Exhibit:
    """A mistake of the museum.

    id          as `check` reports it      kind    a key of KINDS      instrument    a key of fingerprint.INSTRUMENTS
    fix         one line
    given       the smallest input that separates the two, as a person types it, by field
    named       steps that stand in formulas by their names, beside the shown ones; all others stand opened
    where       what other letters in them mean
    seen        the address of a public case; empty: none is claimed
    is_rounded  both sides run in float32
    fits        why rows of this count and length cannot be run, or nothing
    """

    id: str
    name: str
    kind: str
    instrument: str
    right: Side
    wrong: Side
    given: Mapping[str, str]
    fix: str
    seen: str = ""
    function: str = "layer_norm"
    is_rounded: bool = False
    named: frozenset[str] = frozenset()
    where: str = ""
    fits: Callable[[int, int], str] = field(default=lambda rows, columns: "")

    @property
    def texts(self) -> Texts:
        """The fields of its own input, as a person types them."""
        return tuple(self.given.items())


KINDS = {
    "axes": "Axes and centering",
    "variance": "Variance and root",
    "eps": "Epsilon",
    "affine": "Gamma and beta",
    "block": "Blocks and layout",
    "numerics": "Numerics",
    "backward": "Backward and running",
}
RIGHT = Side(forward(LAYER))


def given(x: str, eps: str = "0") -> dict[str, str]:
    """An input of these rows, with gamma = 1 and beta = 0.

    >>> given("1,1,4")
    {'x': '1,1,4', 'gamma': '1,1,1', 'beta': '0,0,0', 'eps': '0'}
    """
    count = x.split(";")[0].count(",") + 1
    return {"x": x, "gamma": ",".join("1" * count), "beta": ",".join("0" * count), "eps": eps}


def layer(
    kind: str, id: str, name: str, program: Program, given: Mapping[str, str], fix: str, **more: object
) -> Exhibit:
    """A mistaken LayerNorm whose inputs are the right one's.

    shown, reads  of the wrong side
    """
    own = {key: more.pop(key) for key in ("output", "shown", "reads") if key in more}
    instrument = str(more.pop("instrument"))
    return Exhibit(id, name, kind, instrument, RIGHT, Side(program, **own), given, fix, **more)  # type: ignore[arg-type]


def halves(rows: int, columns: int) -> str:
    """Why the columns cannot be halved."""
    return "" if columns % 2 == 0 else f"x has {columns} features; this mistake takes an even count."


def square(rows: int, columns: int) -> str:
    """Why rows and columns cannot be exchanged."""
    if rows == columns:
        return ""
    return f"x has {rows} rows of {columns}; this mistake fails loudly unless there are as many rows as features."


KIND = {kind: partial(layer, kind) for kind in KINDS}
