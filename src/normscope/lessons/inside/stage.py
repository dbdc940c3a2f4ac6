"""The tensors of "Inside LayerNorm": the step in the middle of the page, and the strip of all steps."""

from ...page.grid import figure
from ...page.html import Html, el, group, region
from ...page.numbers import general
from ...program import REDUCTIONS, Arg, Step
from .grids import grid
from .layer import FOLDED
from .view import View

SIGNS = {"add": "+", "sub": "−", "mul": "×"}


def stage(view: View) -> Html:
    """The current step: what goes in, the operation, what comes out."""
    name = view.state.step
    body = _operation(view, view.program.by_name[name]) if name in view.program.by_name else figure(grid(view, name))
    arriving = el("div", body, id=f"stage-{name}", class_="stage")  # a new element a step: its cells come in anew
    return region(el("div", arriving, id="stage"), "stage")


def strip(view: View) -> Html:
    """Every step and parameter, small."""
    names = [*view.steps, *view.parameters]
    return el("div", *(figure(grid(view, name, small=True)) for name in names), class_="strip")


def _operation(view: View, step: Step) -> Html:
    result = figure(grid(view, step.name, computed=True))
    if step.op in REDUCTIONS:
        over = ", ".join(axis.lower() for axis in step.over)
        return group(*_reduced(view, step.args[0]), _sign(step.op, f"over {over}"), result)
    if step.op == "rsqrt":
        inside = f"of {'σ²' if view.norm.center else 'm'} + {general(view.eps)}"
        return group(figure(grid(view, "var")), _sign("1 / √", inside), result)
    left, right = step.args
    if left == right:
        return group(figure(grid(view, str(left))), _sign("square", "cell by cell"), result)
    return group(
        _operand(view, step, left), _sign(SIGNS[step.op], ""), _operand(view, step, right), _sign("=", ""), result
    )


def _reduced(view: View, name: Arg) -> list[Html]:
    """What a reduction reads: a value, or the product that is shown here and in no step of its own."""
    if name not in FOLDED:
        return [figure(grid(view, str(name)))]
    left, right = view.program.by_name[str(name)].args
    return [figure(grid(view, str(left))), _sign("×", ""), figure(grid(view, str(right)))]


def _operand(view: View, step: Step, arg: Arg) -> Html:
    """A value, repeated where it has fewer axes than the result; a constant as it is."""
    if not isinstance(arg, str):
        return _sign(str(arg), "")
    return figure(grid(view, arg, repeat=view.axes(arg) != step.axes))


def _sign(sign: str, below: str) -> Html:
    return el("div", el("b", sign), el("small", below) if below else None, class_="sign")
