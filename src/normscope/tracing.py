"""Trace: every named step of one run of a norm, and `trace()`, which makes it."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import prod
from typing import Any

from .axes import Axes, sized
from .errors import DtypeError, NormError, ShapeError
from .gradients import GRADIENTS, training
from .norm import Norm, a_norm, layer_norm
from .page import text
from .page.html import Html, el
from .page.notebook import fold, table
from .program import PARAMETERS, Program
from .run import run
from .steps import NUMBERS, STATISTICS, forward, output, results, running, trace_bytes
from .views import arrays, cells, rounding
from .views.formats import FORMATS
from .views.policies import Policy, find

FLOAT64_EPS = 2.0**-52


class Trace(Mapping[str, Any]):
    """The value of every named step, in order: `mu c q var v r xhat scaled y`, less those the norm lacks.

    norm      the norm, its pattern fitted to x
    program   the program that was run; with a dy the forward pass and the backward one
    sizes     the size of every axis
    inputs    x, gamma, beta and eps as they went in
    notes     what a reader should know: a dtype that was widened, a gamma that was not given
    policy    how every step was rounded, where that was asked for

    A value is nested lists if x was, else an array; it has all axes of the program, those that it lacks
    with size 1. A forward pass always has a `y`: without gamma and beta it is xhat. A trace keeps every
    value apart and so holds more, `bytes`, than the peak of a staged run, which reuses its buffers
    (`ledger(...).peak_bytes`).

    >>> t = trace([[1.0, 3.0]], Norm("S [d]", eps=0))
    >>> list(t), t["mu"], t["y"]
    (['mu', 'c', 'q', 'var', 'v', 'r', 'xhat', 'y'], [[2.0]], [[-1.0, 1.0]])
    """

    def __init__(
        self,
        norm: Norm,
        program: Program,
        sizes: Mapping[str, int],
        values: Mapping[str, Any],
        shape: tuple[int, ...],
        notes: tuple[str, ...] = (),
        policy: Policy | None = None,
    ) -> None:
        self.norm = norm
        self.program = program
        self.sizes = dict(sizes)
        self.notes = notes
        self.policy = policy
        self.shape = shape
        self.inputs = {name: plain(values[name], name in NUMBERS) for name, _ in program.inputs}
        self._values = values
        self._results = results(program)

    def __getitem__(self, name: str) -> Any:
        return plain(self._values[self._step(name)])

    def _step(self, name: str) -> str:
        if name not in self._results:
            raise KeyError(f"{self.norm.name} has no step '{name}'; its steps are {' '.join(self)}.")
        return self._results[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    def __contains__(self, name: object) -> bool:
        return name in self._results

    def axes(self, name: str) -> Axes:
        """The axes of an input or a step; its value has size 1 along every other."""
        return self.program.values[name if name in self.inputs else self._step(name)]

    def shape_of(self, name: str) -> tuple[int, ...]:
        """The shape of an input or a step: all axes of the program, size 1 for those that it lacks."""
        return self.program.shape(self.axes(name), self.sizes)

    @property
    def bytes(self) -> int:
        """Bytes of x, the parameters and every step; of plain cells what they would take as float64."""
        x = self._values["x"]
        bits = 64 if isinstance(x, cells.Cells) else x.__array_namespace__().finfo(x.dtype).bits
        return trace_bytes(self.program, self.sizes, bits // 8)

    @property
    def output(self) -> Any:
        """y in the shape of x (a grouped norm computes with its channels split)."""
        return self._shaped("y", self.shape)

    @property
    def gradients(self) -> dict[str, Any]:
        """dx in the shape of x, dgamma and dbeta in that of gamma and beta; empty without a dy.

        >>> trace([[1.0, 3.0]], dy=[[1.0, 0.0]]).gradients["dbeta"]
        [1.0, 0.0]
        """
        shape = self.norm.param_shape(self.sizes)
        return {name: self._shaped(name, self.shape if name == "dx" else shape) for name in GRADIENTS if name in self}

    def _shaped(self, name: str, shape: tuple[int, ...]) -> Any:
        value = self._values[self._step(name)]
        if isinstance(value, cells.Cells):
            return cells.Cells(shape, value.flat).nested()
        return value.__array_namespace__().reshape(value, shape)

    @property
    def title(self) -> str:
        """What was run: the norm, its pattern and the sizes of x."""
        return f"{self.norm.name} '{self.norm.pattern}' of x {sized(self.program.axes, self.sizes)}"

    def __repr__(self) -> str:
        rows = [[step.name, "x".join(map(str, self.shape_of(step.name))), step.call] for step in self.program]
        lines = [*text.table(rows, "<<<").splitlines(), *self.notes]
        return "\n".join([f"Trace of {self.title}", *(f"  {line}" for line in lines)])

    def _repr_html_(self) -> str:
        """For a notebook: every step folded under its title, the output open, each a window of its cells."""
        folded = [fold("x", self._table("x", self.inputs["x"]))]
        for step in self.program:
            title = f"{step.name} = {step.call}"
            folded.append(fold(title, self._table(step.name, self[step.name]), step.name == output(self.program)))
        notes = (el("p", note) for note in self.notes)
        return str(el("div", el("p", f"Trace of {self.title}"), *notes, *folded))

    def _table(self, name: str, values: Any) -> Html:
        return table(*text.layout(self.program.axes, self.shape_of(name), values, self.axes(name)))


def plain(value: Any, single: bool = False) -> Any:
    """A value as the caller's kind: nested lists for plain cells (a number if single), else as it is."""
    if not isinstance(value, cells.Cells):
        return value
    return value.flat[0] if single else value.nested()


def trace(
    x: Any,
    norm: Norm | None = None,
    gamma: Any = None,
    beta: Any = None,
    *,
    dy: Any = None,
    running_mean: Any = None,
    running_var: Any = None,
    policy: Policy | str | None = None,
) -> Trace:
    """Run a norm on x and keep every named step; with dy run it backward as well.

    x is nested lists of numbers, a NumPy array or any Array API array, and is never modified; float32 and
    float64 are computed in their own dtype, integers in float64, narrower floats in float32 (a note says
    so). gamma and beta have the shape of the norm's affine axes and, if not given, the layer's initial
    values, ones (less the norm's offset) and zeros. running_mean and running_var belong to
    `batch_norm(training=False)`. A mean of arrays is infinite where its sum overflows; of plain cells it is not.

    dy, of the shape of x, is the gradient of a loss with respect to y; from it come `dx`, `dgamma`, `dbeta`
    and every step on the way back (gradients.backward). With a policy, or its name, every value is rounded to
    the format that the policy keeps it in (`views.policies`), and the steps are those of its order; x is
    nested lists or a NumPy array.

    >>> trace([[1, 3]], layer_norm(eps=0), gamma=[2, 2])["y"]
    [[-2.0, 2.0]]
    >>> trace([[1, 3]], layer_norm(eps=3), dy=[[1, 0]])["dx"]
    [[0.1875, -0.1875]]
    >>> trace([[0.1, 0.3]], layer_norm(eps=0), policy="pytorch-bf16").inputs["x"]
    [[0.10009765625, 0.30078125]]

    Raises ShapeError, DtypeError or NormError; the message names the argument and the fix.
    """
    norm = a_norm(layer_norm() if norm is None else norm)
    given = {"gamma": gamma, "beta": beta, "running_mean": running_mean, "running_var": running_var, "dy": dy}
    chosen = None if policy is None else find(policy)
    there = chosen.program if chosen else forward
    program_of = there if dy is None else lambda norm: training(norm, there(norm))
    return _trace(x, norm, program_of, given, {"eps": norm.eps}, chosen)


def running_statistics(
    x: Any, norm: Norm, running_mean: Any, running_var: Any, momentum: float | Fraction = 0.1, *, correction: int = 1
) -> Trace:
    """The running statistics of a BatchNorm after one more batch x, as a Trace with every step on the way.

    The momentum weighs the new value, as in PyTorch; the new variance is the unbiased one (correction 1), or
    with correction 0 that of the forward pass, as in ONNX.

    >>> from .norm import batch_norm
    >>> t = running_statistics([[1.0], [3.0]], batch_norm(), [0.0], [1.0])
    >>> t["new_running_mean"], t["new_running_var"]
    ([[0.2]], [[1.1]])
    """
    given = {"running_mean": running_mean, "running_var": running_var}
    if not isinstance(momentum, (int, float, Fraction)) or not 0 <= momentum <= 1:
        raise NormError(f"momentum is {momentum!r}; it must be a number from 0 to 1.")
    correction = replace(a_norm(norm), correction=correction).correction
    if not norm.center:
        raise NormError(f"norm is {norm.name} '{norm.pattern}', which has no mean to keep; give a BatchNorm.")
    return _trace(x, norm, partial(running, correction=correction), given, {"momentum": momentum})


def _trace(
    x: Any,
    norm: Norm,
    program_of: Any,
    given: Mapping[str, Any],
    numbers: Mapping[str, Any],
    policy: Policy | None = None,
) -> Trace:
    notes: list[str] = []
    shape = shape_of(x, "x")
    norm = norm.fit(len(shape))
    sizes = norm.sizes_for(shape)
    program = program_of(norm)
    values = {"x": x} | dict(numbers)
    if "eps" in numbers and norm.eps is None:
        values["eps"] = _machine_eps(x, policy)
        notes.append(f"eps is finfo(dtype computed in).eps = {values['eps']:.6g}.")
    wanted = [name for name, _ in program.inputs if name not in ("x", *NUMBERS)]
    _refuse(norm, given, wanted)
    for name in wanted:
        values[name] = parameter(name, given[name], norm, sizes, x)
        if given[name] is None:
            start = initial(name, norm)
            told = {0: "zeros", 1: "ones"}.get(start, f"{start} everywhere")
            notes.append(f"{name} is not given: {told}, its initial value.")
    if policy:
        made = rounding.evaluate(program, sizes, values, policy, norm.over)
        return Trace(norm, program, sizes, made, shape, (policy.note(program), *notes), policy)
    return _run(program, sizes, values, norm, shape, notes)


def _machine_eps(x: Any, policy: Policy | None) -> float:
    if policy:
        return 2.0 ** -FORMATS[policy.compute].fraction
    return arrays.machine_eps(x) if arrays.is_array(x) else FLOAT64_EPS


def _run(
    program: Program, sizes: dict[str, int], values: dict[str, Any], norm: Norm, shape: Any, notes: list[str]
) -> Trace:
    x = values["x"]
    if not arrays.is_array(x):
        flat = cells.flatten(x)  # once: its shape is known
        if any(isinstance(cell, int) for cell in flat):
            notes.insert(0, "x holds integers; computed in float64.")
        made = cells.evaluate(program, sizes, values | {"x": flat})
        return Trace(norm, program, sizes, made, shape, tuple(notes))
    values["x"], note = arrays.working(x)
    if note:
        notes.insert(0, note)
    xp = x.__array_namespace__()
    with _quiet(xp):
        ready = arrays.inputs(program, sizes, values, values["x"])
        made = run(program, arrays.rules(program, sizes, xp), ready)
    return Trace(norm, program, sizes, made, shape, tuple(notes))


def _quiet(xp: Any) -> AbstractContextManager[Any]:
    """NumPy warns of infinities and nan; here they are results, shown in their row."""
    return xp.errstate(all="ignore") if hasattr(xp, "errstate") else nullcontext()


def shape_of(value: Any, name: str) -> tuple[int, ...]:
    """The shape of an argument, nested lists or an array; DtypeError for anything else."""
    if isinstance(value, (list, tuple)):
        return cells.shape_of(value, name)
    if arrays.is_array(value):
        return tuple(value.shape)
    if name != "x" and isinstance(value, (int, float, Fraction)):
        return ()
    fix = f"{name}.detach().numpy()" if hasattr(value, "detach") else "nested lists or an array"
    raise DtypeError(f"{name} is of type {type(value).__name__}, which follows no Array API; give {fix}.")


def _refuse(norm: Norm, given: Mapping[str, Any], wanted: list[str]) -> None:
    for name, value in given.items():
        if value is not None and name not in wanted:
            fix = "give the norm an affine with it" if name in PARAMETERS else "use batch_norm(training=False)"
            raise NormError(f"{name} is given, but {norm.name} '{norm.pattern}' has none; {fix} or leave it out.")


def parameter(name: str, value: Any, norm: Norm, sizes: Mapping[str, int], x: Any) -> Any:
    """A parameter of the right shape; the initial value where none is given."""
    if name in STATISTICS:
        axes = norm.kept
        shape: tuple[int, ...] = tuple(sizes[axis] for axis in axes)
        if value is None:
            raise NormError(f"{norm.name} '{norm.pattern}' needs {name}, of shape {shape}; give {name}=...")
    elif name == "dy":
        shape = shape_of(x, "x")
    else:
        axes, shape = norm.param_axes, norm.param_shape(sizes)
    if value is None:
        start = initial(name, norm)
        return _filled(x, shape, float(start)) if arrays.is_array(x) else [Fraction(start)] * prod(shape)
    if shape_of(value, name) != shape:
        if name == "dy":
            raise ShapeError(f"dy has shape {shape_of(value, name)}; the gradient of y needs that of x, {shape}.")
        raise ShapeError(
            f"{name} has shape {shape_of(value, name)}; {norm.name} over {' '.join(norm.over)} of x "
            f"{sized(norm.axes, sizes)} needs {shape}."
        )
    return value.tolist() if not arrays.is_array(x) and hasattr(value, "tolist") else value


def initial(name: str, norm: Norm) -> int:
    """What gamma and beta are before training: the layer then multiplies by 1 and adds 0."""
    return 1 - norm.offset if name == "gamma" else 0


def _filled(x: Any, shape: tuple[int, ...], value: float) -> Any:
    xp = x.__array_namespace__()
    return xp.full(shape, value, dtype=arrays.working(x)[0].dtype)
