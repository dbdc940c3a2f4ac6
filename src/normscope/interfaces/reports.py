"""A file's trace, run and written as JSON or as tables for a terminal."""

import shutil
from collections.abc import Sequence
from typing import Any

from ..norm import Norm
from ..page import json, text
from ..page.window import cut_out, window
from ..program import Step
from ..steps import output
from ..tracing import Trace, trace
from . import memory
from .files import Tensor


def traced(tensor: Tensor, norm: Norm, gamma: Any, beta: Any, policy: str | None = None) -> Trace:
    """The trace of a file's tensor, rounded as a policy says.

    Raises FileError where it would not fit in memory, before anything is computed.
    """
    x = tensor.array
    memory.check(str(tensor.path), [norm], x.shape, width(x))
    return trace(x, norm, gamma, beta, policy=policy)


def width(x: Any) -> int:
    """Bytes of a cell in the dtype that x is computed in."""
    return 4 if x.dtype.name in ("float16", "float32") else 8


def trace_json(made: Trace, tokens: Sequence[str] | None = None, whole: bool = False) -> str:
    """Norm, sizes, notes and every step on one line; a large step as a window unless `whole`."""
    steps = [_step_json(made, step, whole) for step in made.program]
    if (same_as := output(made.program)) != "y":
        steps.append({"name": "y", "same_as": same_as})
    data = {"norm": made.norm.to_json(), "sizes": made.sizes, "notes": list(made.notes)}
    return json.dumps(data | ({"tokens": list(tokens)} if tokens else {}) | {"steps": steps})


def _step_json(made: Trace, step: Step, whole: bool) -> dict[str, Any]:
    values, shape = made[step.name], made.shape_of(step.name)
    data = {"name": step.name, "op": step.op, "axes": list(step.axes), "shape": list(shape)}
    shown = None if whole else window(shape)
    if shown is None:
        return data | {"values": values}
    return data | {"window": shown, "values": cut_out(values, shown)}


def trace_text(made: Trace, tokens: Sequence[str] | None = None, whole: bool = False, color: bool = False) -> str:
    """The norm, the notes and a table for x and every step."""
    axes = made.program.axes
    named = {axes[0]: tokens} if tokens and made.sizes[axes[0]] == len(tokens) else {}
    width = shutil.get_terminal_size().columns
    shape = tuple(made.sizes.values())
    parts = ["\n".join([made.title, *made.notes])]
    parts.append(text.tensor("x", axes, shape, made.inputs["x"], None, named, width, whole, color))
    for step in made.program:
        title, values = f"{step.name} = {step.call}", made[step.name]
        shape = made.shape_of(step.name)
        parts.append(text.tensor(title, axes, shape, values, step.axes, named, width, whole, color))
    if (same_as := output(made.program)) != "y":
        parts.append(f"y is {same_as}: the norm has no gamma and beta.")
    return "\n\n".join(parts)
