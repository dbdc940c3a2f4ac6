"""The definition: every norm as a program of named steps. All that Normscope shows, costs or runs reads this.

    mu      mean            c = x - mu    centered        q = c * c       squares
    var     variance        v = var + eps                 r = 1/sqrt(v)   reciprocal root
    xhat    normalized      scaled = xhat * gamma         y = scaled + beta
    gain    gamma + offset, which scales in gamma's place where the norm has an offset (Gemma's 1)

The definition is PyTorch's (torch.nn.LayerNorm and its relatives): the variance divides by the count of
cells (correction 0) and eps stands inside the root. RMSNorm has no mu and c; its var is the mean square.
"""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import prod

from .axes import Axes
from .errors import ProgramError
from .norm import Norm, a_norm
from .program import PARAMETERS, Builder, Program, Step

PARAMETER_GRADIENTS = ("dgamma", "dbeta")
FACTORS = ("gain", "w")  # made of gamma alone
STATISTICS = ("running_mean", "running_var")
WIRINGS = ("post", "pre")
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

    >>> forward(Norm("S [d]", affine="d", offset=1)).by_name["gain"].call
    'add(gamma, 1)'

    Raises NormError for what is no Norm.
    """
    norm = a_norm(norm)
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
        scaled = build.let("scaled" if norm.shift else "y", "mul", "xhat", gain(build, norm), into="y")
    if norm.shift:
        build.let("y", "add", scaled, "beta")
    return build.program()


def gain(build: Builder, norm: Norm) -> str:
    """The factor of xhat: gamma, or a step that adds the offset to it."""
    return build.let("gain", "add", "gamma", Fraction(norm.offset)) if norm.offset else "gamma"


def output(program: Program) -> str:
    """The name of the step that is the layer's output: y, or xhat where there is no affine."""
    return "y" if "y" in program.by_name else "xhat"


def results(program: Program) -> dict[str, str]:
    """Every name that a result goes by, and the value that it is: y is xhat where there is no affine.

    Likewise dxhat is dy where there is no scale, and dbeta is dy where beta has all axes of x.

    >>> results(forward(Norm("S [d]", center=False)))
    {'q': 'q', 'var': 'var', 'v': 'v', 'r': 'r', 'xhat': 'xhat', 'y': 'xhat'}
    """
    names: dict[str, str] = {}
    y = {"y": output(program)} if "xhat" in program.by_name else {}
    for step in program:
        if "dy" in step.args:  # y ends the way there
            names = names | y
        if step.name == "dx":
            names |= dict.fromkeys(_unchanged(program), "dy")
        names[step.name] = step.name
    return names | y


def _unchanged(program: Program) -> list[str]:
    """The gradients that are dy itself."""
    passed = {"dxhat": True, "dbeta": "beta" in program.values}
    return [name for name, exists in passed.items() if exists and name not in program.by_name]


def is_statistic(norm: Norm, name: str, axes: Axes) -> bool:
    """Whether a value is one number for each row of reduced cells, and none that is made of parameters."""
    return name not in (*PARAMETERS, *FACTORS, *PARAMETER_GRADIENTS) and not set(norm.over) & set(axes)


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


def residual(program: Program, wiring: str = "post") -> Program:
    """The program of a norm with the residual add of its block, `residual = x + update`.

    post  the norm reads the residual: y = norm(x + update), as in the first Transformer and in BERT. The
          same two steps stand between the layers of a pre-norm stack, where y goes into the next sublayer.
    pre   the norm reads x, its y goes into the sublayer, and the update is what comes out of that: the add
          is the last step, and what it adds is given, not computed (a sublayer is no part of a norm).

    Vaswani et al. 2017, arXiv:1706.03762 (post); Xiong et al. 2020, arXiv:2002.04745 (both).

    >>> print(residual(forward(Norm("[d]", eps=0))))
    inputs x[d] update[d] eps[]
    residual[d] = add(x, update)
    mu[] = mean(residual) over d
    c[d] = sub(residual, mu)
    q[d] = mul(c, c)
    var[] = mean(q) over d
    v[] = add(var, eps)  in var
    r[] = rsqrt(v)  in var
    xhat[d] = mul(c, r)

    Raises ProgramError for another wiring.
    """
    if wiring not in WIRINGS:
        raise ProgramError(f"wiring is {wiring!r}; it must be one of {', '.join(WIRINGS)}.")
    axes = program.values["x"]
    after = [item for item in program.inputs if item[0] != "x"]
    given = (("x", axes), ("update", axes), *after)
    add = Step("residual", "add", ("x", "update"), axes, into="residual")
    if wiring == "pre":
        return replace(program, inputs=given, steps=(*program.steps, add))
    steps = (reading(step, "x", "residual") for step in program.steps)
    return replace(program, inputs=given, steps=(add, *steps))


def reading(step: Step, old: str, new: str) -> Step:
    """The step with another value in an argument's place."""
    return replace(step, args=tuple(new if arg == old else arg for arg in step.args))
