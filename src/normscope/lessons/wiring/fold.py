"""The program of a block, folded into the boxes of the lesson: one box a panel.

The squares stand inside the variance; v, r and all that follows them stand inside the one named box.
"""

from collections.abc import Mapping

from ...block import ExactTrace
from ...page.diagram import Box, Diagram, Wire
from ...program import Program

PREDICTED = ("mu", "c", "var")
NAMED = "norm"
CLOSING = "closing"
INSIDE: Mapping[str, str] = {"q": "var", "v": NAMED, "r": NAMED, "xhat": NAMED, "scaled": NAMED, "y": NAMED}
TITLES: Mapping[str, str] = {"residual": "residual add", "mu": "mean", "c": "centered", "q": "squares"}
TAG = "computed in this step"
INPUTS = ("x", "update", "gamma", "beta")


def box_of(step: str) -> str:
    """The box that a step stands in."""
    return INSIDE.get(step, step)


def boxes_of(program: Program) -> tuple[str, ...]:
    """The boxes of a program in its order."""
    return tuple(dict.fromkeys(box_of(step.name) for step in program))


def panels_of(program: Program) -> tuple[str, ...]:
    """A panel for every box, and a closing one."""
    return (*boxes_of(program), CLOSING)


def title(trace: ExactTrace, key: str) -> str:
    """What a box or a step is called."""
    if key == NAMED:
        return f"named {trace.norm.name.lower()}"
    if key == "var":
        return "variance" if trace.norm.center else "mean square"
    return TITLES.get(key, key)


def last_of(trace: ExactTrace, key: str) -> str:
    """The step whose value a box shows: its last."""
    return [step.name for step in trace.program if box_of(step.name) == key][-1]


def diagram(trace: ExactTrace, panel: str, hidden: frozenset[str], every: bool, opened: bool) -> Diagram:
    """The block as a wiring diagram: its boxes, or with `every` its inputs and all of its steps.

    panel   the box that is computed now
    hidden  steps whose values are not shown yet, since an answer is awaited
    """
    keys = [step.name for step in trace.program] if every else list(boxes_of(trace.program))
    # Before a pre-norm add only inputs stand: without them the add would hang in the air.
    drawn = INPUTS if every else ("x", "update") if trace.wiring == "pre" else ()
    given = [name for name in drawn if name in trace.inputs]
    boxes = [Box(name, name, (vector(trace, name, False),), kind="input", state="done") for name in given]
    boxes += [_box(trace, key, panel, hidden, opened) for key in keys]
    name = f"The wiring of a {trace.norm.name} block"
    return Diagram("wiring", name, tuple(boxes), _wires(trace, keys, given), room=TAG)


def _box(trace: ExactTrace, key: str, panel: str, hidden: frozenset[str], opened: bool) -> Box:
    order = panels_of(trace.program)
    at, now = order.index(box_of(key)), order.index(panel)
    state = "now" if at == now else "done" if at < now else "ahead"
    step = key if key in trace.program.by_name else last_of(trace, key)
    shown = ("?",) if box_of(step) in hidden else (vector(trace, step, opened),)  # those ahead keep their room, unseen
    kind = "named" if step in trace.behind else "exact"
    return Box(key, title(trace, key), shown, kind, state, TAG if state == "now" else "")


def _wires(trace: ExactTrace, keys: list[str], given: list[str]) -> tuple[Wire, ...]:
    """A wire for each argument that is another box."""
    wires = {}
    for step in trace.program:
        target = step.name if step.name in keys else box_of(step.name)
        for arg in map(str, step.args):
            source = arg if arg in (*keys, *given) else box_of(arg)
            if source in (*keys, *given) and source != target:
                wires[source, target] = Wire(source, target)
    return tuple(wires.values())


def vector(trace: ExactTrace, name: str, opened: bool) -> str:
    """A value on one line: `(1/2, -1/2)`, a statistic without parentheses; behind the boundary by its name."""
    if name in trace.inputs:
        cells = trace.inputs[name]
    else:
        cells = trace.written(name, named=name in trace.behind and not opened)
    words = [str(cell) for cell in cells]
    return words[0] if trace.shape_of(name) == (1,) and not trace.axes(name) else f"({', '.join(words)})"
