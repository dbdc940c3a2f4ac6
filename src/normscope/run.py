"""The only evaluator: fold a table of rules, one per op, over the steps of a program."""

from collections.abc import Callable, Mapping
from typing import Any

from .program import Program

Rule = Callable[..., Any]
Rules = Mapping[str, Rule]


def run(program: Program, rules: Rules, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Every input and every step by name.

    `rules[op](step, *arguments)` gives a step's value; what a value is (a number, an array, an exact root,
    a cost) is up to the table. A constant argument arrives as a Fraction.

    >>> from .norm import Norm
    >>> from .steps import forward
    >>> from .views import cells
    >>> program, sizes = forward(Norm("S [d]", eps=0)), {"S": 1, "d": 2}
    >>> given = cells.inputs(program, sizes, {"x": [[1, 3]], "eps": 0})
    >>> values = run(program, cells.rules(program, sizes), given)
    >>> values["mu"].nested(), values["xhat"].nested()
    ([[2.0]], [[-1.0, 1.0]])
    """
    values = dict(inputs)
    for step in program.steps:
        arguments = (values[arg] if isinstance(arg, str) else arg for arg in step.args)
        values[step.name] = rules[step.op](step, *arguments)
    return values
