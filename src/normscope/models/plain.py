"""Programs that a graph's nodes were read into, in a form in which equal ones compare equal."""

from dataclasses import replace

from ..program import Program


def plain_names(program: Program, y: str) -> tuple[Program, str]:
    """The program with its parameters and steps counted from 0, and the name that y has then."""
    params = (name for name, _ in program.inputs if name != "x")
    named = {"x": "x"} | {name: f"p{at}" for at, name in enumerate(params)}
    named |= {step.name: f"s{at}" for at, step in enumerate(program.steps)}
    steps = tuple(
        replace(
            step,
            name=named[step.name],
            into=named[step.name],
            args=tuple(named[arg] if isinstance(arg, str) else arg for arg in step.args),
        )
        for step in program.steps
    )
    inputs = tuple((named[name], axes) for name, axes in program.inputs)
    return Program(program.axes, inputs, steps), named[y]
