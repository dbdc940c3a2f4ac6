"""The way back: every norm's textbook gradients as a program of named steps, and both ways in one program.

    dy      gradient of a loss with respect to y, given            dbeta, dgamma   of the parameters
    dxhat   of the normalized values                               dx              of the input
    mean_dxhat, mean_dxhat_xhat                                    the two means

    dx = r * (dxhat - mean(dxhat) - xhat * mean(dxhat * xhat))

So what comes back is dxhat without its mean (mu moves with x) and without its part along xhat (r moves with
x), times r. Ba, Kiros and Hinton 2016, arXiv:1607.06450; Ioffe and Szegedy 2015, arXiv:1502.03167. The
proof is `views/derive.py`, which finds the gradients of any program by rules.
"""

from dataclasses import replace
from functools import lru_cache

from .axes import Axes
from .errors import ProgramError
from .norm import Norm, a_norm
from .program import PARAMETERS, Builder, Program
from .steps import forward, gain, inputs

SAVED = ("xhat", "x")
GRADIENTS = ("dx", "dgamma", "dbeta")


@lru_cache(maxsize=256)
def backward(norm: Norm, saved: str = "xhat") -> Program:
    """dy, gamma and what the forward pass saves to dbeta, dgamma and dx.

    saved  "xhat": xhat and r, which is all that the formula needs;
           "x": x, mu and r, as PyTorch's kernel does, of which xhat is computed again (two more steps; x is
           often kept anyway, xhat never)

    >>> print(backward(Norm("B S [d]", affine="d")))
    inputs dy[B S d] gamma[d] r[B S] xhat[B S d]
    dbeta[d] = sum(dy) over B S
    dy_xhat[B S d] = mul(dy, xhat)
    dgamma[d] = sum(dy_xhat) over B S
    dxhat[B S d] = mul(dy, gamma)
    mean_dxhat[B S] = mean(dxhat) over d
    dxhat_xhat[B S d] = mul(dxhat, xhat)
    mean_dxhat_xhat[B S] = mean(dxhat_xhat) over d
    centered[B S d] = sub(dxhat, mean_dxhat)  in dx
    along[B S d] = mul(xhat, mean_dxhat_xhat)
    across[B S d] = sub(centered, along)  in dx
    dx[B S d] = mul(r, across)

    A norm that has no gamma reads dy as dxhat; one with an offset adds it to gamma again (`gain`), and its dgamma
    is the same, since an offset moves with nothing. RMSNorm, which has no mu, takes no mean of dxhat away. With
    running statistics, which do not move with x, dx is r * dxhat. A correction divides the second mean as it
    does the variance. Where gamma and beta have all axes of x, dgamma is dy_xhat and dbeta is dy.

    Raises ProgramError for another `saved`, NormError for what is no Norm.
    """
    norm = a_norm(norm)
    if saved not in SAVED:
        raise ProgramError(f"saved is {saved!r}; it must be one of {', '.join(SAVED)}.")
    build = Builder(norm.axes, {"dy": norm.axes} | _readable(norm, saved))
    if saved == "x":
        _normalized(build, norm)
    _parameters(build, norm)
    _input(build, norm)
    made = build.program()
    return made.needed(name for name in GRADIENTS if name in made.by_name)


@lru_cache(maxsize=256)
def training(norm: Norm, there: Program | None = None) -> Program:
    """The forward pass and the textbook backward one as one program; dy is an input of it.

    there  another forward pass of the norm, such as a policy's; it has an r and an xhat too

    >>> norm = Norm("S [d]", center=False)
    >>> [step.name for step in training(norm)]
    ['q', 'var', 'v', 'r', 'xhat', 'dxhat_xhat', 'mean_dxhat_xhat', 'along', 'across', 'dx']
    """
    there = there or forward(norm)
    back = (step for step in backward(norm) if step.name not in there.by_name)  # its gain stands already
    return replace(there, inputs=(*there.inputs, ("dy", norm.axes)), steps=(*there.steps, *back))


def saved_values(norm: Norm, saved: str = "xhat") -> Axes:
    """The values that the forward pass must keep for the backward one, parameters apart.

    >>> saved_values(Norm("S [d]")), saved_values(Norm("S [d]"), "x")
    (('r', 'xhat'), ('x', 'mu', 'r'))
    """
    return tuple(name for name, _ in backward(norm, saved).inputs if name not in ("dy", *PARAMETERS))


def _readable(norm: Norm, saved: str) -> dict[str, Axes]:
    """What a backward step may read besides dy, in the order of the forward pass."""
    there = forward(norm)
    names = ("x", "gamma", "mu", "running_mean", "r") if saved == "x" else ("gamma", "r", "xhat")
    return {name: there.values[name] for name in names if name in inputs(norm) or name in there.by_name}


def _normalized(build: Builder, norm: Norm) -> None:
    """xhat once more, by the forward pass's own last steps."""
    for step in forward(norm):
        if step.name in ("c", "xhat"):
            build.let(step.name, step.op, *step.args)


def _parameters(build: Builder, norm: Norm) -> None:
    """dbeta and dgamma: each is summed over the axes that the parameter is broadcast along."""
    rest = tuple(axis for axis in norm.axes if axis not in norm.param_axes)
    if norm.shift and rest:
        build.let("dbeta", "sum", "dy", over=rest)
    if norm.scale:
        cells = build.let("dy_xhat" if rest else "dgamma", "mul", "dy", "xhat")
        if rest:
            build.let("dgamma", "sum", cells, over=rest)


def _input(build: Builder, norm: Norm) -> None:
    g = build.let("dxhat", "mul", "dy", gain(build, norm)) if norm.scale else "dy"
    if norm.running:
        build.let("dx", "mul", "r", g)
        return
    if norm.center:
        build.let("mean_dxhat", "mean", g, over=norm.over)
    build.let("dxhat_xhat", "mul", g, "xhat")
    build.let("mean_dxhat_xhat", "mean", "dxhat_xhat", over=norm.over, less=norm.correction)
    centered = build.let("centered", "sub", g, "mean_dxhat", into="dx") if norm.center else g
    build.let("along", "mul", "xhat", "mean_dxhat_xhat")
    build.let("across", "sub", centered, "along", into="dx")
    build.let("dx", "mul", "r", "across")
