"""The variance several ways: programs that are equal in exact numbers and not in rounded ones, and Welford's.

Chan, Golub and LeVeque 1983, https://doi.org/10.1080/00031305.1983.10483115, compares them.
"""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from math import isqrt
from typing import Any

from .axes import Pattern, dimensions, parse
from .errors import ShapeError
from .program import Builder, Program
from .run import run
from .views import cells
from .views.exact import EXACT
from .views.formats import FORMATS
from .views.policies import Policy, find
from .views.rounding import evaluate, saturates


@lru_cache(maxsize=32)
def two_pass(pattern: str = "[d]") -> Program:
    """The mean of the squares of x - mu: the definition, and what `steps.forward` computes.

    >>> print(two_pass())
    inputs x[d]
    mu[] = mean(x) over d
    c[d] = sub(x, mu)
    q[d] = mul(c, c)
    var[] = mean(q) over d
    """
    layout, build = _builder(pattern)
    build.let("mu", "mean", "x", over=layout.over)
    _spread(build, "c", "q", "var", ("x", "mu"), layout.over)
    return build.program()


@lru_cache(maxsize=32)
def one_pass(pattern: str = "[d]") -> Program:
    """The mean square less the squared mean: one look at x, and the two cancel where the mean is large.

    >>> print(one_pass())
    inputs x[d]
    mu[] = mean(x) over d
    x2[d] = mul(x, x)
    mean_x2[] = mean(x2) over d
    mu2[] = mul(mu, mu)
    var[] = sub(mean_x2, mu2)
    """
    layout, build = _builder(pattern)
    build.let("mu", "mean", "x", over=layout.over)
    build.let("x2", "mul", "x", "x")
    build.let("mean_x2", "mean", "x2", over=layout.over)
    build.let("mu2", "mul", "mu", "mu")
    build.let("var", "sub", "mean_x2", "mu2")
    return build.program()


@lru_cache(maxsize=32)
def chunked(pattern: str = "[k c]") -> Program:
    """The statistics of k chunks of c cells each, merged: what lies within the chunks and what between them.

    The first reduced axis of the pattern counts the chunks, the others the cells of one.

    >>> print(chunked())
    inputs x[k c]
    mu_chunk[k] = mean(x) over c
    c_chunk[k c] = sub(x, mu_chunk)
    q_chunk[k c] = mul(c_chunk, c_chunk)
    var_chunk[k] = mean(q_chunk) over c
    mu[] = mean(mu_chunk) over k
    c_mu[k] = sub(mu_chunk, mu)
    q_mu[k] = mul(c_mu, c_mu)
    between[] = mean(q_mu) over k
    within[] = mean(var_chunk) over k
    var[] = add(within, between)
    """
    layout, build = _builder(pattern)
    chunks, inside = layout.over[:1], layout.over[1:]
    build.let("mu_chunk", "mean", "x", over=inside)
    _spread(build, "c_chunk", "q_chunk", "var_chunk", ("x", "mu_chunk"), inside)
    build.let("mu", "mean", "mu_chunk", over=chunks)
    _spread(build, "c_mu", "q_mu", "between", ("mu_chunk", "mu"), chunks)
    build.let("within", "mean", "var_chunk", over=chunks)
    build.let("var", "add", "within", "between")
    return build.program()


def _builder(pattern: str) -> tuple[Pattern, Builder]:
    layout = parse(pattern)
    return layout, Builder(layout.axes, {"x": layout.axes})


def _spread(build: Builder, c: str, q: str, var: str, of: tuple[str, str], over: tuple[str, ...]) -> None:
    build.let(c, "sub", *of)
    build.let(q, "mul", c, c)
    build.let(var, "mean", q, over=over)


def welford(columns: Iterable[Any], keep: Callable[[Any], Any]) -> tuple[Any, Any]:
    """Mean and variance by Welford's updates, cell after cell; no program, for its length is that of a row.

    columns  the cells of a row, or arrays of one cell of every row
    keep     rounds each result: `Format.round`, or the like for arrays

    Welford 1962, https://doi.org/10.1080/00401706.1962.10490022.

    >>> welford([1.0, 2.0, 6.0], FORMATS["float64"].round)
    (3.0, 4.666666666666667)

    Raises ShapeError for no cell.
    """
    count: int = 0
    mean: Any = 0
    spread: Any = 0
    for count, x in enumerate(columns, 1):
        delta = keep(x - mean)
        mean = keep(mean + keep(delta / count))
        spread = keep(spread + keep(delta * keep(x - mean)))
    if not count:
        raise ShapeError("x has no cell; a variance needs at least one.")
    return mean, keep(spread / count)


def variances(row: Sequence[float], policy: Policy | str = "float32", chunk: int | None = None) -> dict[str, Any]:
    """The variance of one row by each way, and exactly, of the row as the policy stores it.

    chunk  cells of one chunk; it divides the row's. If not given, the divisor nearest to the root of the count

    >>> for way, value in variances([40000.0, 40001.0, 40002.0, 40003.0]).items():
    ...     print(way, value)
    exact 5/4
    two-pass 1.25
    one-pass 0.0
    chunked 1.25
    Welford 1.25

    Raises ShapeError for a chunk that does not divide the row or for what is no row, DtypeError for a cell that
    is no number, NormError for an unknown policy.
    """
    policy, row = find(policy), _row(row)
    size = _chunk(len(row), chunk)
    sizes = {"d": len(row), "k": len(row) // size, "c": size}

    def var(program: Program) -> float:
        made: float = evaluate(program, sizes, {"x": row}, policy, program.axes[-1:])["var"].flat[0]
        return made

    storage, kept = FORMATS[policy.storage], FORMATS[policy.statistics]
    stored = [storage.round(cell, saturate=saturates(policy, storage)) for cell in row]
    return {
        "exact": _exact(stored),
        "two-pass": var(two_pass()),
        "one-pass": var(one_pass()),
        "chunked": var(chunked()),
        "Welford": welford(stored, partial(kept.round, saturate=saturates(policy, kept)))[1],
    }


def _row(row: Any) -> list[float]:
    """One row of numbers: a list, or an array of one dimension."""
    row = row.tolist() if hasattr(row, "tolist") else row
    rank = len(cells.shape_of(row, "row"))
    if rank != 1:
        raise ShapeError(f"row has {dimensions(rank)}; give one row of numbers, such as x[0].")
    return [cells.number(cell, "row") for cell in row]


def _exact(stored: Sequence[float]) -> Fraction | float:
    """The exact variance of the numbers; nan where one is not finite."""
    if not all(value - value == 0 for value in stored):
        return float("nan")
    program, sizes = two_pass(), {"d": len(stored)}
    given = {"x": cells.Cells((len(stored),), [Fraction(value) for value in stored])}
    exact: Fraction = run(program, cells.rules(program, sizes, EXACT), given)["var"].flat[0]
    return exact


def _chunk(count: int, chunk: int | None) -> int:
    if not count:
        raise ShapeError("x has no cell; a variance needs at least one.")
    if chunk is None:
        return next(size for size in range(isqrt(count), 0, -1) if count % size == 0)
    if chunk < 1 or count % chunk:
        raise ShapeError(f"chunk is {chunk}; it must divide the {count} cells of x.")
    return chunk


def eps_share(var: Any, eps: float) -> Any:
    """How much of var + eps is eps: beside a share near 1 the norm divides by sqrt(eps), whatever x is.

    >>> eps_share(1e-5, 1e-5)
    0.5
    """
    return eps / (var + eps)
