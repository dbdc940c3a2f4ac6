"""The definition: every norm as a program of named steps. All that Normscope shows, costs or runs reads this.

    mu      mean            c = x - mu    centered        q = c * c       squares
    var     variance        v = var + eps                 r = 1/sqrt(v)   reciprocal root
    xhat    normalized      scaled = xhat * gamma         y = scaled + beta

The definition is PyTorch's (torch.nn.LayerNorm and its relatives): the variance divides by the count of
cells (correction 0) and eps stands inside the root. RMSNorm has no mu and c; its var is the mean square.
"""

from collections.abc import Mapping
from functools import lru_cache
from math import prod

from .axes import Axes
from .norm import Norm
from .program import PARAMETERS, Builder, Program

STATISTICS = ("running_mean", "running_var")
NUMBERS = ("eps", "momentum")  # single numbers among the inputs; the others are tensors


@lru_cache(maxsize=256)
def forward(norm: Norm) -> Program:
    """x, gamma, beta and eps to y.

    >>> print(forward(Norm("B S [d]", affine="d")))
    inputs x[B S d] gamma[d] beta[d] eps[]
    mu[B S] = mean(x) over d
    c[B S d] = sub(x, mu)
    q[B S d] = mul(c, c)
    var[B S] = mean(q) over d
    v[B S] = add(var, eps)  in var
    r[B S] = rsqrt(v)  in var
    xhat[B S d] = mul(c, r)
    scaled[B S d] = mul(xhat, gamma)  in y
    y[B S d] = add(scaled, beta)

    v and r take the buffer of var, and scaled that of y: so few values need be kept at once.
    """
    build = Builder(norm.axes, inputs(norm))
    if norm.running:
        centered = build.let("c", "sub", "x", "running_mean") if norm.center else "x"
        variance, buffer = "running_var", "r"
    else:
        centered = _spread(build, norm, norm.correction)
        variance = buffer = "var"
    build.let("v", "add", variance, "eps", into=buffer)
    build.let("r", "rsqrt", "v", into=buffer)
    build.let("xhat", "mul", centered, "r")
    scaled = "xhat"
    if norm.scale:
        scaled = build.let("scaled" if norm.shift else "y", "mul", "xhat", "gamma", into="y")
    if norm.shift:
        build.let("y", "add", scaled, "beta")
    return build.program()


def output(program: Program) -> str:
    """The name of the step that is the layer's output: y, or xhat where there is no affine."""
    return "y" if "y" in program.by_name else "xhat"


def results(program: Program) -> dict[str, str]:
    """Every name that a result goes by, and the step that it is: y is xhat where there is no affine.

    >>> results(forward(Norm("S [d]", center=False)))
    {'q': 'q', 'var': 'var', 'v': 'v', 'r': 'r', 'xhat': 'xhat', 'y': 'xhat'}
    """
    names = {name: name for name in program.by_name}
    return names | {"y": output(program)} if "xhat" in names else names


def is_statistic(norm: Norm, name: str, axes: Axes) -> bool:
    """Whether a value is one number for each row of reduced cells, and no parameter."""
    return name not in PARAMETERS and not set(norm.over) & set(axes)


def trace_bytes(program: Program, sizes: Mapping[str, int], width: int) -> int:
    """Bytes of x, the parameters and every step, each kept apart as a trace does, at `width` bytes a cell.

    More than the ledger's peak, where steps share buffers.

    >>> trace_bytes(forward(Norm("S [d]")), {"S": 2, "d": 4}, 4)  # x, c, q, xhat and mu, var, v, r
    160
    """
    tensors = (name for name in program.values if name not in NUMBERS)
    return width * sum(prod(program.shape(name, sizes)) for name in tensors)


def inputs(norm: Norm) -> dict[str, Axes]:
    """The inputs of `forward(norm)` and their axes; eps is a single number."""
    axes: dict[str, Axes] = {"x": norm.axes}
    if norm.scale:
        axes["gamma"] = norm.param_axes
    if norm.shift:
        axes["beta"] = norm.param_axes
    if norm.running:
        axes |= {name: norm.kept for name in STATISTICS if norm.center or name == "running_var"}
    return axes | {"eps": ()}


@lru_cache(maxsize=64)
def running(norm: Norm, correction: int = 1) -> Program:
    """The update of BatchNorm's running statistics by one batch; the momentum weighs the new value.

    https://docs.pytorch.org/docs/stable/generated/torch.nn.BatchNorm1d.html: the running variance takes
    the unbiased variance (correction 1), although the forward pass divides by n. ONNX's takes that of the
    forward pass (correction 0): https://onnx.ai/onnx/operators/onnx__BatchNormalization.html.

    >>> print(running(Norm("[N] C")))
    inputs x[N C] running_mean[C] running_var[C] momentum[]
    mu[C] = mean(x) over N
    c[N C] = sub(x, mu)
    q[N C] = mul(c, c)
    var[C] = mean(q) over N, count less 1
    mean_change[C] = sub(mu, running_mean)
    mean_step[C] = mul(mean_change, momentum)
    new_running_mean[C] = add(running_mean, mean_step)
    var_change[C] = sub(var, running_var)
    var_step[C] = mul(var_change, momentum)
    new_running_var[C] = add(running_var, var_step)
    """
    given = dict.fromkeys(STATISTICS, norm.kept)
    build = Builder(norm.axes, {"x": norm.axes} | given | {"momentum": ()})
    _spread(build, norm, correction)
    for short, new in (("mean", "mu"), ("var", "var")):
        build.let(f"{short}_change", "sub", new, f"running_{short}")
        build.let(f"{short}_step", "mul", f"{short}_change", "momentum")
        build.let(f"new_running_{short}", "add", f"running_{short}", f"{short}_step")
    return build.program()


def _spread(build: Builder, norm: Norm, less: int) -> str:
    """The steps to the variance; returns what the variance is the mean square of."""
    centered = "x"
    if norm.center:
        build.let("mu", "mean", "x", over=norm.over)
        centered = build.let("c", "sub", "x", "mu")
    build.let("q", "mul", centered, centered)
    build.let("var", "mean", "q", over=norm.over, less=less)
    return centered
