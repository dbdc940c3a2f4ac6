"""A file's trace, run and written as JSON or as tables for a terminal."""

import shutil
from collections.abc import Mapping, Sequence
from typing import Any

from ..gradients import backward
from ..page import json, text
from ..page.window import cut_out, window
from ..program import Step
from ..steps import forward, results
from ..tracing import Trace, trace
from ..views.formats import NARROW
from . import memory
from .choice import Layer

WHY = {
    "y": "the norm has no gamma and beta",
    "dxhat": "the norm has no gamma",
    "dbeta": "beta has every axis of x",
}


def traced(layer: Layer, dy: Any = None, policy: str | None = None) -> Trace:
    """The trace of a file's tensor; with the gradient dy of y the steps back too; rounded as a policy says.

    Raises FileError where it would not fit in memory, before anything is computed.
    """
    tensor, norm, gamma, beta = layer
    memory.check(str(tensor.path), [norm], tensor.array.shape, width(tensor.array), dy is not None)
    return trace(tensor.array, norm, gamma, beta, dy=dy, policy=policy)


def width(x: Any) -> int:
    """Bytes of a cell in the dtype that x is computed in."""
    return 4 if x.dtype.name in (*NARROW, "float32") else 8


def trace_json(made: Trace, tokens: Sequence[str] | None = None, whole: bool = False) -> str:
    """Norm, sizes, notes and every step on one line; a large step as a window unless `whole`.

    A step back has "pass": "backward".
    """
    steps = [
        _step_json(made, made.program.by_name[name], whole) if name == value else {"name": name, "same_as": value}
        for name, value in results(made.program).items()
    ]
    data = {"norm": made.norm.to_json(), "sizes": made.sizes, "notes": list(made.notes)}
    return json.dumps(data | ({"tokens": list(tokens)} if tokens else {}) | {"steps": steps})


def _step_json(made: Trace, step: Step, whole: bool) -> dict[str, Any]:
    values, shape = made[step.name], made.shape_of(step.name)
    data: dict[str, Any] = {"name": step.name, "op": step.op, "axes": list(step.axes), "shape": list(shape)}
    data |= {"pass": "backward"} if step.name in _back(made) else {}
    shown = None if whole else window(shape)
    if shown is None:
        return data | {"values": values}
    return data | {"window": shown, "values": cut_out(values, shown)}


def trace_text(made: Trace, tokens: Sequence[str] | None = None, whole: bool = False, color: bool = False) -> str:
    """The norm, the notes and a table for x, every step and, before the steps back, dy."""
    axes = made.program.axes
    named = {axes[0]: tokens} if tokens and made.sizes[axes[0]] == len(tokens) else {}
    width = shutil.get_terminal_size().columns
    shape = tuple(made.sizes.values())
    parts = ["\n".join([made.title, *made.notes])]
    parts.append(text.tensor("x", axes, shape, made.inputs["x"], None, named, width, whole, color))
    first_back = next(iter(_back(made)), None)
    for step in made.program:
        if step.name == first_back:
            parts.append(text.tensor("dy", axes, shape, made.inputs["dy"], None, named, width, whole, color))
        title, values = f"{step.name} = {step.call}", made[step.name]
        small = made.shape_of(step.name)
        parts.append(text.tensor(title, axes, small, values, step.axes, named, width, whole, color))
    parts += [f"{name} is {value}: {WHY[name]}." for name, value in results(made.program).items() if name != value]
    return "\n\n".join(parts)


def _back(made: Trace) -> Mapping[str, Step]:
    """The steps of the backward pass, where there is one."""
    if "dy" not in made.inputs:
        return {}
    there = forward(made.norm).by_name
    return {step.name: step for step in backward(made.norm) if step.name not in there}
