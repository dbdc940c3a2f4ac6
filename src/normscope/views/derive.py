"""The reading in gradients: reverse mode over any program, one rule per op. What comes out is a program.

It knows no norms: that it finds what `gradients.backward` says is the proof that the textbook is right.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ..axes import Axes, order
from ..errors import ProgramError
from ..program import Arg, Builder, Program, Step
from ..steps import NUMBERS, STATISTICS

MINUS_ONE, MINUS_HALF, HALF, ONE, TWO = map(Fraction, ("-1", "-1/2", "1/2", "1", "2"))


@dataclass(frozen=True)
class Part:
    """What comes back through a step to one of its arguments: an op on a gradient, or without an op that itself."""

    to: Arg
    args: tuple[Arg, ...]
    op: str = ""
    per: Axes = ()
    less: int = 0


class Draft:
    """A gradient's program while it is written, from the last step of the forward one to the first.

    forward  the program whose gradients these are; any of its values may be read
    moving   the values that depend on what is asked for, which alone have gradients
    parts    for every value that a gradient has come back to, its parts
    """

    def __init__(self, forward: Program, of: str, wanted: Sequence[str]) -> None:
        self.forward = forward
        self.moving = frozenset(wanted).union(*(forward.feeds[name] for name in wanted))
        self.parts: dict[str, list[str]] = {of: ["dy"]}
        self._build = Builder(forward.axes, dict(forward.values) | {"dy": forward.values[of]})
        self._names = {*forward.values, "dy"}
        self._live = {of, *(name for name in forward.values if of in forward.feeds[name])}

    def let(self, name: str, op: str, *args: Arg, over: Axes = (), per: Axes = (), less: int = 0) -> str:
        """Add a step under a free name: name, name_2, ..."""
        tries = (name, *(f"{name}_{i}" for i in range(2, len(self._names) + 3)))
        made = next(each for each in tries if each not in self._names)
        self._names.add(made)
        return self._build.let(made, op, *args, over=over, per=per, less=less)

    def gradient(self, name: str) -> str:
        """The sum of all the parts that came back to a value."""
        total, *rest = self.parts[name]
        for left, part in zip(reversed(range(len(rest))), rest, strict=True):
            total = self.let(f"d{name}_so_far" if left else f"d{name}", "add", total, part)
        return total

    def give(self, step: Step, parts: Sequence[Part]) -> None:
        """Keep what comes back through a step for its arguments."""
        for part in parts:
            if isinstance(part.to, str) and part.to in self.moving:
                is_only = self._readers(part.to) == 1 == sum(each.to == part.to for each in parts)
                self._keep(step, part.to, part, f"d{part.to}" if is_only else f"d{part.to}_via_{step.name}")

    def _keep(self, step: Step, arg: str, part: Part, name: str) -> None:
        """Write a part, summed over the axes that the step broadcasts its argument along."""
        spread = order({*step.axes, *step.over} - {*self.forward.values[arg]}, self.forward.axes)
        made = str(part.args[0])
        if part.op:
            made = self.let(f"{name}_cells" if spread else name, part.op, *part.args, per=part.per, less=part.less)
        if spread:
            made = self.let(name, "sum", made, over=spread)
        self.parts.setdefault(arg, []).append(made)

    def _readers(self, name: str) -> int:
        """How many steps on the way to the output read a value."""
        return sum(name in step.args for step in self.forward if step.name in self._live)

    def program(self) -> Program:
        """All that was written."""
        return self._build.program()


def _add(draft: Draft, step: Step, g: str) -> Iterator[Part]:
    for arg in step.args:
        yield Part(arg, (g,))


def _sub(draft: Draft, step: Step, g: str) -> Iterator[Part]:
    yield Part(step.args[0], (g,))
    yield Part(step.args[1], (g, MINUS_ONE), "mul")


def _mul(draft: Draft, step: Step, g: str) -> Iterator[Part]:
    a, b = step.args
    if a == b:
        yield Part(a, (draft.let(f"{g}_twice", "mul", g, TWO), a), "mul")
        return
    yield Part(a, (g, b), "mul")
    yield Part(b, (g, a), "mul")


def _mean(draft: Draft, step: Step, g: str) -> Iterator[Part]:
    yield Part(step.args[0], (g,), "mean", step.counted, step.less)


def _sqrt(draft: Draft, step: Step, g: str) -> Iterator[Part]:
    over = draft.let(f"one_over_{step.name}", "recip", step.name)
    yield Part(step.args[0], (draft.let(f"{g}_half", "mul", g, HALF), over), "mul")


def _rsqrt(draft: Draft, step: Step, g: str) -> Iterator[Part]:
    square = draft.let(f"{step.name}_squared", "mul", step.name, step.name)
    cube = draft.let(f"{step.name}_cubed", "mul", square, step.name)
    yield Part(step.args[0], (draft.let(f"{g}_minus_half", "mul", g, MINUS_HALF), cube), "mul")


def _recip(draft: Draft, step: Step, g: str) -> Iterator[Part]:
    square = draft.let(f"{step.name}_squared", "mul", step.name, step.name)
    yield Part(step.args[0], (draft.let(f"{g}_minus", "mul", g, MINUS_ONE), square), "mul")


def _refused(draft: Draft, step: Step, g: str) -> Iterator[Part]:
    raise ProgramError(
        f"step '{step.name}': {step.op} has a kink, where there is no gradient; derive has no rule for it."
    )


RULES: Mapping[str, Callable[[Draft, Step, str], Iterator[Part]]] = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "mean": _mean,
    "sum": _add,
    "sqrt": _sqrt,
    "rsqrt": _rsqrt,
    "recip": _recip,
    "maximum": _refused,
    "abs": _refused,
    "max": _refused,
}


def derive(program: Program, of: str = "", wanted: Sequence[str] = ()) -> Program:
    """The gradients of a value, by reverse mode: a program from dy and the values of `program` to d<wanted>.

    of      the value whose gradient dy is given; the last step if not said
    wanted  the values whose gradients are asked for; if none are named every input but single numbers and
            running statistics

    d<name> is the gradient of a value, and of a value that several steps read `d<name>_via_<step>` the part
    that comes back through one of them. Where a gradient is another one unchanged it has no step of its own,
    but a wanted one always has. One that is the same along an axis may lack it, as any value.

    >>> from ..norm import Norm
    >>> from ..steps import forward
    >>> print(derive(forward(Norm("S [d]", center=False, eps=0))))
    inputs x[S d] r[S] dy[S d]
    dx_via_xhat[S d] = mul(dy, r)
    dr_cells[S d] = mul(dy, x)
    dr[S] = sum(dr_cells) over d
    r_squared[S] = mul(r, r)
    r_cubed[S] = mul(r_squared, r)
    dr_minus_half[S] = mul(dr, -1/2)
    dv[S] = mul(dr_minus_half, r_cubed)
    dq[S] = mean(dv) per d
    dq_twice[S] = mul(dq, 2)
    dx_via_q[S d] = mul(dq_twice, x)
    dx[S d] = add(dx_via_xhat, dx_via_q)

    Raises ProgramError for what is no Program, at a step of maximum, abs or max between the two, and for a value
    that is unknown, that nothing asked for leads to, or whose gradient's name is taken.
    """
    if not isinstance(program, Program):
        kind = type(program).__name__
        raise ProgramError(f"program is of type {kind}; give a Program, such as forward(layer_norm()).")
    of = of or program.steps[-1].name
    wanted = tuple(wanted) or _tensors(program, of)
    _check(program, of, wanted)
    draft = Draft(program, of, wanted)
    for step in reversed(program.steps):
        if step.name in draft.parts and step.name in draft.moving:
            draft.give(step, list(RULES[step.op](draft, step, draft.gradient(step.name))))
    names = [_named(draft, name) for name in wanted]
    return draft.program().needed(names)


def _named(draft: Draft, name: str) -> str:
    """A wanted gradient as a step of its own."""
    found = draft.gradient(name)
    return found if found == f"d{name}" else draft.let(f"d{name}", "mul", found, ONE)


def _tensors(program: Program, of: str) -> tuple[str, ...]:
    return tuple(
        name for name, _ in program.inputs if name not in (*NUMBERS, *STATISTICS) and of in program.feeds[name]
    )


def _check(program: Program, of: str, wanted: Sequence[str]) -> None:
    for argument, name in (("of is", of), *(("wanted holds", name) for name in wanted)):
        if name not in program.values:
            raise ProgramError(f"{argument} '{name}', no value of the program; it has {' '.join(program.values)}.")
    for name in wanted:
        if of not in program.feeds[name]:
            raise ProgramError(f"wanted holds '{name}', on which {of} does not depend: it has no gradient.")
    for name in ("dy", *(f"d{name}" for name in wanted)):
        if name in program.values:
            raise ProgramError(f"the program has a value '{name}'; that is the name of a gradient.")
