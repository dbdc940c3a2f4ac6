"""One side of an exhibit: a program, what it reads of the given input, and how it is run.

Both sides are programs for the same evaluator. x is given as rows; a program's axes lie along rows and columns, and
a third one splits the columns into halves or groups.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...program import Program
from ...views import cells, rounding
from ...views.cells import Cells, Numbers
from ...views.policies import Policy

Given = Mapping[str, Any]
Rows = list[list[Any]]
PARTS = 2  # halves, groups


def same(given: Given) -> Given:
    """The input as it is."""
    return given


@dataclass(frozen=True)
class Side:
    """A definition that can be run.

    program  a program; output: the value that it returns
    reads    from what is given (x as rows, gamma and beta as lists, single numbers) to the program's inputs
    shown    the steps that stand as formulas of their own, before the output
    keep     values kept in a narrow format, where the arithmetic is float32
    """

    program: Program
    output: str = "y"
    shown: tuple[str, ...] = ("mu", "var")
    reads: Callable[[Given], Given] = same
    keep: tuple[tuple[str, str], ...] = ()

    def sizes(self, x: Rows) -> dict[str, int]:
        """The size of every axis for rows of x."""
        first, *others = self.program.axes
        width = len(x[0])
        parts = (width,) if len(others) == 1 else (PARTS, width // PARTS)
        return {first: len(x)} | dict(zip(others, parts, strict=True))

    def run(self, given: Given, numbers: Numbers) -> Rows:
        """The output as rows, in any kind of numbers."""
        return self._rows(self.values(given, numbers)[self.output])

    def values(self, given: Given, numbers: Numbers = cells.FLOATS) -> dict[str, Cells]:
        """Every value of the program."""
        inputs = self.reads(given)
        return cells.evaluate(self.program, self.sizes(inputs["x"]), inputs, numbers)

    def rounded(self, given: Given) -> Rows:
        """The output in float32, every step rounded, single values narrower."""
        policy = Policy("float32", "float32", keep=self.keep)
        inputs = {name: floats(value) for name, value in self.reads(given).items()}
        made = rounding.evaluate(self.program, self.sizes(inputs["x"]), inputs, policy, ("d",))
        return self._rows(made[self.output])

    def _rows(self, value: Cells) -> Rows:
        width = 1
        for size in value.shape[1:]:
            width *= size
        return [value.flat[at : at + width] for at in range(0, len(value.flat), width)]


def floats(value: Any) -> Any:
    """Nested numbers as floats."""
    if isinstance(value, (int, float, Fraction)):
        return float(value)
    return [floats(each) for each in value]
