"""The reading that keeps exactly the ledger's buffers: NumPy, storage dtype for cells, FP32 statistics.

It exists to hold the ledger against a real allocator; `trace()` computes in the working dtype and is never
rounded this way.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import prod
from typing import Any

from ..gradients import training
from ..norm import Norm
from ..program import Program, Step
from ..run import Rules, run
from ..steps import forward, is_statistic
from .arrays import machine_eps
from .formats import dtype_of


def staged(
    x: Any, norm: Norm, gamma: Any = None, beta: Any = None, storage: str = "float32", dy: Any = None
) -> dict[str, Any]:
    """Run a norm with one buffer for each line of the ledger, and return the buffers by name; with dy backward too.

    x is a NumPy array of the storage dtype and is one of the buffers; so are dy, and gamma and beta, where the
    norm has them. Where several steps share a buffer it holds the last: `var` ends as r.

    >>> import numpy as np
    >>> kept = staged(np.float32([[1, 3]]), Norm("S [d]", eps=0))
    >>> list(kept), kept["xhat"].tolist()
    (['x', 'mu', 'c', 'q', 'var', 'xhat'], [[-1.0, 1.0]])
    """
    norm = norm.fit(x.ndim)
    sizes = norm.sizes_for(x.shape)
    program = forward(norm) if dy is None else training(norm)
    given = {"x": x, "gamma": gamma, "beta": beta, "dy": dy}
    kept = {name: given[name].reshape(program.shape(name, sizes)) for name, _ in program.inputs if name != "eps"}
    buffers: dict[str, Any] = {}
    eps = machine_eps(x) if norm.eps is None else float(norm.eps)
    run(program, rules(program, norm, sizes, dtype_of(storage), buffers), kept | {"eps": eps})
    return kept | buffers


def rules(program: Program, norm: Norm, sizes: Mapping[str, int], dtype: Any, buffers: dict[str, Any]) -> Rules:
    """One rule per op that writes into `buffers[step.into]`, made where a step first needs it."""
    import numpy as np

    def buffer(step: Step) -> Any:
        if step.into not in buffers:
            made = np.float32 if is_statistic(norm, step.into, step.axes) else dtype
            buffers[step.into] = np.empty(program.shape(step.axes, sizes), made)
        return buffers[step.into]

    def each(ufunc: Any) -> Callable[..., Any]:
        return lambda step, *args: ufunc(*map(_plain, args), out=buffer(step), casting="same_kind")

    def rsqrt(step: Step, a: Any) -> Any:
        return np.reciprocal(np.sqrt(a, out=buffer(step)), out=buffer(step))

    def fold(ufunc: Any) -> Callable[..., Any]:
        def rule(step: Step, a: Any) -> Any:
            at = tuple(map(program.axes.index, step.over))
            a = np.broadcast_to(a, program.shape(step.axes + step.over, sizes))
            out = buffer(step)
            return ufunc.reduce(a, axis=at, dtype=np.promote_types(out.dtype, np.float32), out=out, keepdims=True)

        return rule

    def mean(step: Step, a: Any) -> Any:
        count = prod(sizes[axis] for axis in step.counted) - step.less
        total = fold(np.add)(step, a)
        return np.divide(total, np.float32(count), out=total)

    elementwise = {
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "maximum": np.maximum,
        "abs": np.abs,
    }
    table: dict[str, Callable[..., Any]] = {op: each(ufunc) for op, ufunc in elementwise.items()}
    table |= {"sqrt": each(np.sqrt), "recip": each(np.reciprocal), "rsqrt": rsqrt}
    return table | {"sum": fold(np.add), "max": fold(np.maximum), "mean": mean}


def _plain(arg: Any) -> Any:
    return float(arg) if isinstance(arg, Fraction) else arg
