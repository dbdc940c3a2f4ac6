"""A norm as a straight-line program: named steps of one op each, over named axes.

A program is data. It is free of sizes (the divisor of a mean is "the cells reduced, less the correction"),
so one program serves every input, and every view of a norm is a table with one rule per op.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from .axes import Axes, order
from .errors import ProgramError

REDUCTIONS = ("mean", "sum", "max")
OPS = ("add", "sub", "mul", "sqrt", "rsqrt", "recip", "maximum", "abs", *REDUCTIONS)
ARITY = {"add": 2, "sub": 2, "mul": 2, "maximum": 2}
PARAMETERS = ("gamma", "beta")

Arg = str | Fraction


@dataclass(frozen=True)
class Step:
    """`name[axes] = op(*args)`; an axis that an argument lacks is broadcast along, and so is one reduced away.

    over   the axes reduced away, for mean, sum and max
    per    a mean divides by the count of cells along these axes, where they are not those reduced away:
           `mean(dvar) per d` is one cell's share of a mean over d, which is what gradients need
    less   a mean divides by the count, less this
    into   the buffer that a run with buffers writes the result to: its own, an earlier step's (in place) or
           a later one's
    """

    name: str
    op: str
    args: tuple[Arg, ...]
    axes: Axes
    over: Axes = ()
    less: int = 0
    into: str = ""
    per: Axes = ()

    @property
    def counted(self) -> Axes:
        """The axes whose cells a mean counts."""
        return self.per or self.over

    @property
    def call(self) -> str:
        """The right-hand side: `mean(x) over d`."""
        reduced = f" over {' '.join(self.over)}" if self.over else ""
        per = f" per {' '.join(self.per)}" if self.per else ""
        less = f", count less {self.less}" if self.less else ""
        return f"{self.op}({', '.join(map(str, self.args))}){reduced}{per}{less}"

    def __str__(self) -> str:
        place = f"  in {self.into}" if self.into != self.name else ""
        return f"{self.name}[{' '.join(self.axes)}] = {self.call}{place}"


@dataclass(frozen=True)
class Program:
    """The axes of the largest value in order, the inputs with their axes, and the steps.

    >>> build = Builder(("S", "d"), {"x": ("S", "d")})
    >>> build.let("mu", "mean", "x", over=("d",))
    'mu'
    >>> build.let("c", "sub", "x", "mu")
    'c'
    >>> print(build.program())
    inputs x[S d]
    mu[S] = mean(x) over d
    c[S d] = sub(x, mu)

    Raises ProgramError where a step is not one op of the closed set over values that exist.
    """

    axes: Axes
    inputs: tuple[tuple[str, Axes], ...]
    steps: tuple[Step, ...]

    def __post_init__(self) -> None:
        known = dict(self.inputs)
        for name, axes in self.inputs:
            if axes != order(axes, self.axes):
                raise ProgramError(f"input '{name}': its axes {axes} are not in the order of {self.axes}.")
        for step in self.steps:
            if reason := fault(step, known, self.axes):
                raise ProgramError(f"step '{step.name}': {reason}")
            known[step.name] = step.axes
        for step in self.steps:
            if step.into and step.into not in known:
                raise ProgramError(f"step '{step.name}': its buffer '{step.into}' is no step's.")

    @cached_property
    def values(self) -> Mapping[str, Axes]:
        """The axes of every input and every step."""
        return dict(self.inputs) | {step.name: step.axes for step in self.steps}

    def shape(self, value: str | Axes, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """The shape of a value, by its name or its axes: all axes of the program, 1 for those that it lacks.

        >>> Program(("S", "d"), (("x", ("S", "d")),), ()).shape(("S",), {"S": 3, "d": 8})
        (3, 1)
        """
        axes = self.values[value] if isinstance(value, str) else value
        return tuple(sizes[axis] if axis in axes else 1 for axis in self.axes)

    @cached_property
    def by_name(self) -> Mapping[str, Step]:
        """The steps by their names."""
        return {step.name: step for step in self.steps}

    def instead(self, name: str, *steps: Step) -> "Program":
        """The program with other steps in the place of one."""
        at = list(self.by_name).index(name)
        return replace(self, steps=(*self.steps[:at], *steps, *self.steps[at + 1 :]))

    @cached_property
    def feeds(self) -> Mapping[str, frozenset[str]]:
        """For every value, the later steps that depend on it, directly or not."""
        feeds: dict[str, set[str]] = {name: set() for name in self.values}
        for step in reversed(self.steps):
            for arg in step.args:
                if isinstance(arg, str):
                    feeds[arg] |= {step.name} | feeds[step.name]
        return {name: frozenset(later) for name, later in feeds.items()}

    @cached_property
    def mixes(self) -> Mapping[str, Mapping[str, frozenset[str]]]:
        """By axis, for every value, the later steps that depend on it through a reduction of that axis."""
        return {axis: self._mixes(axis) for axis in self.axes}

    def _mixes(self, axis: str) -> Mapping[str, frozenset[str]]:
        mixes: dict[str, set[str]] = {name: set() for name in self.values}
        for step in reversed(self.steps):
            for arg in step.args:
                if isinstance(arg, str):
                    mixes[arg] |= mixes[step.name]
                    mixes[arg] |= {step.name} | self.feeds[step.name] if axis in step.over else set()
        return {name: frozenset(later) for name, later in mixes.items()}

    def needed(self, wanted: Iterable[str]) -> "Program":
        """The program with only the inputs and the steps that the wanted values are made of."""
        alive = set(wanted)
        for step in reversed(self.steps):
            if step.name in alive:
                alive |= {arg for arg in step.args if isinstance(arg, str)}
        steps = tuple(step for step in self.steps if step.name in alive)
        return replace(self, inputs=tuple(item for item in self.inputs if item[0] in alive), steps=steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def __str__(self) -> str:
        inputs = " ".join(f"{name}[{' '.join(axes)}]" for name, axes in self.inputs)
        return "\n".join([f"inputs {inputs}", *map(str, self.steps)])

    def to_json(self) -> dict[str, Any]:
        """The program as JSON values; a constant is the text of a fraction in a list of its own."""
        return {
            "axes": list(self.axes),
            "inputs": {name: list(axes) for name, axes in self.inputs},
            "steps": [_step_json(step) for step in self.steps],
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "Program":
        """The program that `to_json` wrote; ProgramError if it is none."""
        try:
            inputs = tuple((name, tuple(axes)) for name, axes in data["inputs"].items())
            return Program(tuple(data["axes"]), inputs, tuple(map(_step, data["steps"])))
        except ProgramError:
            raise
        except KeyError as error:
            raise ProgramError(f"this JSON is no program: it lacks {error}.") from None
        except (AttributeError, IndexError, TypeError, ValueError, ZeroDivisionError):
            raise ProgramError("this JSON is no program: a part of it is not as to_json writes it.") from None


def fault(step: Step, known: Mapping[str, Axes], axes: Axes) -> str:
    """Why the step cannot follow the values that are known, or nothing."""
    if step.op not in OPS:
        return f"'{step.op}' is no op; the ops are {', '.join(OPS)}."
    if len(step.args) != ARITY.get(step.op, 1):
        return f"{step.op} takes {ARITY.get(step.op, 1)} arguments, not {len(step.args)}."
    if step.name in known:
        return "a value of that name stands already; every step has its own."
    for arg in step.args:
        if isinstance(arg, str) and arg not in known:
            return f"'{arg}' is no input and no earlier step."
    if reason := _reduction_fault(step, axes):
        return reason
    if step.axes != result_axes(step.args, step.over, known, axes):
        return f"its axes {step.axes} are not those of its arguments."
    return ""


def _reduction_fault(step: Step, axes: Axes) -> str:
    if step.per and step.op != "mean":
        return f"a count per {' '.join(step.per)} is for a mean."
    if bool(step.over or step.per) != (step.op in REDUCTIONS):
        return f"{step.op} {'needs axes to reduce' if step.op in REDUCTIONS else 'reduces no axis'}."
    if step.less and (step.op != "mean" or step.less < 0):
        return f"a count less {step.less} is for a mean, and from 0."
    if lost := {*step.over, *step.per} - set(axes):
        return f"it reduces {' '.join(sorted(lost))}, which the program lacks."
    if step.op in REDUCTIONS and isinstance(step.args[0], Fraction):
        return f"{step.op} takes a value, not the constant {step.args[0]}."
    return ""


def result_axes(args: tuple[Arg, ...], over: Axes, known: Mapping[str, Axes], axes: Axes) -> Axes:
    """The axes of any argument, less those reduced, in the program's order."""
    seen = {axis for arg in args if isinstance(arg, str) for axis in known[arg]}
    return order(seen - set(over), axes)


def _step_json(step: Step) -> dict[str, Any]:
    args = [arg if isinstance(arg, str) else [str(arg)] for arg in step.args]
    return {
        "name": step.name,
        "op": step.op,
        "args": args,
        "axes": list(step.axes),
        "over": list(step.over),
        "less": step.less,
        "into": step.into,
        "per": list(step.per),
    }


def _step(data: Mapping[str, Any]) -> Step:
    args = tuple(arg if isinstance(arg, str) else Fraction(arg[0]) for arg in data["args"])
    axes, over = tuple(data["axes"]), tuple(data["over"])
    return Step(data["name"], data["op"], args, axes, over, data["less"], data["into"], tuple(data.get("per", ())))


class Builder:
    """Writes a program step by step; the axes of every result follow from its arguments."""

    def __init__(self, axes: Axes, inputs: Mapping[str, Axes]) -> None:
        self._program = Program(axes, tuple(inputs.items()), ())
        self._known = dict(inputs)
        self._steps: list[Step] = []

    def let(
        self, name: str, op: str, *args: Arg, over: Axes = (), less: int = 0, into: str = "", per: Axes = ()
    ) -> str:
        """Add a step and return its name, to be an argument of later ones."""
        axes = result_axes(args, over, self._known, self._program.axes)
        self._steps.append(Step(name, op, args, axes, over, less, into or name, per))
        self._known[name] = axes
        return name

    def program(self) -> Program:
        """The program so far."""
        return replace(self._program, steps=tuple(self._steps))
