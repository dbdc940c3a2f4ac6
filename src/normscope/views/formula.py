"""The reading in mathematics: a step as a formula, with letters or with numbers (notation.py writes it down).

The program multiplies by r; people write a division by the root. Both are the same steps read with some of
them opened: `expression(program, "xhat")` is c * r, `expression(program, "xhat", opened=ROOT)` is
c / sqrt(var + eps).
"""

from collections.abc import Callable, Mapping
from fractions import Fraction

from ..axes import Axes
from ..program import Program, Step
from .notation import ONE, Call, Expr, Infix, Literal, Ratio, Root, Size, Square, Symbol, Total

FOLDED = frozenset({"v", "gain"})
ROOT = frozenset({"v", "r", "gain"})
WHOLE = frozenset({"v", "r", "c", "gain", "scaled"})
TEXTBOOK = frozenset({"v", "gain", "dy_xhat", "dxhat_xhat", "centered", "along", "across"})  # of gradients

Leaf = Callable[[str], list[str]]


def letters(axes: Axes) -> dict[str, str]:
    """An index letter for every axis: b for B, and i, j, k for axes that are lower case themselves.

    >>> letters(("B", "S", "d"))
    {'B': 'b', 'S': 's', 'd': 'i'}
    """
    small = iter("ijklmn")
    return {axis: axis.lower() if axis != axis.lower() else next(small, axis) for axis in axes}


def count_of(over: Axes, less: int) -> Expr:
    """The divisor of a mean: `d`, `C·H·W`, `d - 1`."""
    count: Expr = Size(over[0])
    for axis in over[1:]:
        count = Infix("·", count, Size(axis))
    return Infix("-", count, Literal(str(less))) if less else count


def _mean(step: Step, index: Mapping[str, str], a: Expr) -> Expr:
    return Ratio(_total(step, index, a) if step.over else a, count_of(step.counted, step.less))


def _total(step: Step, index: Mapping[str, str], a: Expr) -> Expr:
    return Total(tuple(index[axis] for axis in step.over), a)


def _mul(step: Step, index: Mapping[str, str], a: Expr, b: Expr) -> Expr:
    if a == b:
        return Square(a)
    if isinstance(b, Ratio) and b.top == ONE:
        return Ratio(a, b.bottom)
    return Infix("·", a, b)


RULES: Mapping[str, Callable[..., Expr]] = {
    "add": lambda step, index, a, b: Infix("+", a, b),
    "sub": lambda step, index, a, b: Infix("-", a, b),
    "mul": _mul,
    "mean": _mean,
    "sum": _total,
    "sqrt": lambda step, index, a: Root(a),
    "rsqrt": lambda step, index, a: Ratio(ONE, Root(a)),
    "recip": lambda step, index, a: Ratio(ONE, a),
    "maximum": lambda step, index, a, b: Call("max", (a, b)),
    "abs": lambda step, index, a: Call("abs", (a,)),
    "max": lambda step, index, a: Call("max", (a,), tuple(index[axis] for axis in step.over)),
}


def expression(program: Program, name: str, opened: frozenset[str] = FOLDED) -> Expr:
    """The right-hand side of a step; arguments named in `opened` stand as their own right-hand sides.

    >>> from ..norm import Norm
    >>> from ..steps import forward
    >>> from .notation import text
    >>> text(expression(forward(Norm("B S [d]")), "xhat", ROOT))
    'c[b,s,i] / sqrt(var[b,s] + eps)'
    >>> from ..gradients import backward
    >>> text(expression(backward(Norm("S [d]")), "dx", TEXTBOOK))
    'r[s] * (dy[s,i] - mean_dxhat[s] - xhat[s,i] * mean_dxhat_xhat[s])'
    """
    step = program.by_name[name]
    index = letters(program.axes)

    def side(arg: str | Fraction) -> Expr:
        if isinstance(arg, Fraction):
            return Literal(str(arg))
        if arg in opened and arg in program.by_name:
            return expression(program, arg, opened)
        return symbol(program, arg)

    return RULES[step.op](step, index, *map(side, step.args))


def symbol(program: Program, name: str) -> Symbol:
    """A value's name with the index letters of its axes; RMSNorm's var is the mean square, gamma + offset a factor."""
    index = letters(program.axes)
    return Symbol(name, tuple(index[axis] for axis in program.values[name]), _alias(program, name))


def _alias(program: Program, name: str) -> str:
    if name == "var" and "mu" not in program.by_name:
        return "mean square"
    return "factor" if name == "gain" and "w" not in program.by_name else ""


def substituted(expr: Expr, numbers: Leaf, sizes: Mapping[str, int], limit: int = 8, more: str = "") -> Expr:
    """The expression with numbers for its symbols; a sum becomes its terms, `...` after `limit` of them.

    numbers(name) gives the cells that a symbol stands for, as text: several under a sum, else one.
    more          what stands behind the terms of a sum, for those that numbers leaves out
    """

    def put(e: Expr, k: int = 0) -> Expr:
        match e:
            case Symbol():
                cells = numbers(e.name)
                return Literal(cells[k if len(cells) > 1 else 0])
            case Size():
                return Literal(f"{sizes[e.axis]:,}")
            case Infix():
                return Infix(e.sign, put(e.left, k), put(e.right, k))
            case Ratio():
                return Ratio(put(e.top, k), put(e.bottom, k))
            case Root():
                return Root(put(e.of, k))
            case Square():
                return Square(put(e.base, k))
            case Total():
                count = max(len(numbers(name)) for name in names(e.body))
                return _sum([put(e.body, at) for at in range(count)] + [Literal(more)] * bool(more), limit)
            case Call():
                return Call(e.name, tuple(put(arg, k) for arg in e.args), e.index)
        return e

    return put(expr)


def names(e: Expr) -> set[str]:
    """The values that an expression speaks of."""
    match e:
        case Symbol():
            return {e.name}
        case Infix():
            return names(e.left) | names(e.right)
        case Ratio():
            return names(e.top) | names(e.bottom)
        case Root():
            return names(e.of)
        case Square():
            return names(e.base)
        case Total():
            return names(e.body)
        case Call():
            return set().union(*map(names, e.args))
    return set()


def _sum(terms: list[Expr], limit: int) -> Expr:
    shown = terms if len(terms) <= limit else [*terms[: limit - 1], Literal("…"), terms[-1]]
    total = shown[0]
    for term in shown[1:]:
        total = Infix("+", total, term)
    return total
