"""What "Inside LayerNorm" hands over: the state as a link, NumPy, PyTorch, LaTeX or CSV."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...page.controls import select
from ...page.html import Html, el, region
from ...page.numbers import plain
from ...program import PARAMETERS, Step
from ...views.formula import TEXTBOOK
from ...views.formula import expression as right_side
from ...views.formula import symbol as letter
from ...views.notation import latex
from .layer import FOLDED
from .state import COPIES
from .view import View

MOST_FEATURES = 1024
NUMPY: Mapping[str, str] = {
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0} * {1}",
    "mean": "{0}.mean({1})",
    "sum": "{0}.sum({1})",
    "max": "{0}.max({1})",
    "sqrt": "np.sqrt({0})",
    "rsqrt": "1 / np.sqrt({0})",
    "recip": "1 / {0}",
    "maximum": "np.maximum({0}, {1})",
    "abs": "np.abs({0})",
}


def copies(view: View, address: str) -> Html:
    """A choice of forms, and the chosen one with a button that copies it."""
    chosen = view.state.copy
    body = [select("copy", "Copy as", COPIES, chosen)]
    if chosen == "link":
        body.append(el("a", address, href=address, id="copied"))
    elif chosen:
        body.append(el("pre", FORMS[chosen](view), id="copied", tabindex=0))
    if chosen:
        body.append(el("button", "Copy", type="button", data_copy="copied"))
    return region(el("div", *body, id="copy", class_="copy"), "copy")


def numpy(view: View) -> str:
    """The steps as NumPy, with the numbers of the page where they are few."""
    steps = [f"{step.name} = {_numpy(step)}  # {' '.join(step.axes)}" for step in view.program]
    unrounded = ["# in float64: the page's rounding is not in these steps"] if view.formats else []
    return "\n".join(["import numpy as np", "", *_data(view, "np.array({})"), *unrounded, *steps])


def _numpy(step: Step) -> str:
    """A row's sum keeps its axis; the sum over all rows is a parameter's."""
    along = "-1, keepdims=True" if step.over == ("d",) else "(0, 1)"
    return NUMPY[step.op].format(*step.args, *[along] * bool(step.over))


def pytorch(view: View) -> str:
    """One call of PyTorch's functional form."""
    d = view.sizes["d"]
    gain = {"gamma": f"gamma + {view.norm.offset}"} if view.norm.offset else {}
    arguments = [f"x, ({d},)", *(gain.get(name, name) for name in view.parameters), f"eps={plain(view.eps)}"]
    if view.norm.center and view.norm.scale and not view.norm.shift:
        arguments.insert(2, "None")
    call = "layer_norm" if view.norm.center else "rms_norm"
    head = ["import torch", "import torch.nn.functional as F", ""]
    data = _data(view, "torch.tensor({}, dtype=torch.float64)", with_eps=False)
    if any("np.load" in line for line in data):
        head, data = (
            ["import numpy as np", *head],
            [line.replace("np.load", "torch.from_numpy(np.load") + ")" * ("np.load" in line) for line in data],
        )
    return "\n".join([*head, *data, *_autograd(view, f"y = F.{call}({', '.join(arguments)})")])


def _autograd(view: View, forward: str) -> list[str]:
    """The call, and with the way back the gradients of sum(dy * y)."""
    if not view.state.back:
        return [forward]
    names = ["x", *view.parameters]
    wanted = [f"{name}.requires_grad_()" for name in names]
    gradients = ", ".join(f"d{name}" for name in names) if view.parameters else "(dx,)"
    return [*wanted, forward, f"{gradients} = torch.autograd.grad(y, [{', '.join(names)}], dy)"]


def _data(view: View, make: str, with_eps: bool = True) -> list[str]:
    """x, gamma and beta as literals: the whole tensor, else the row in view, else files to load."""
    names = ["x", *view.parameters, *(["dy"] if view.state.back else [])]
    if view.is_whole:
        lines = [f"{name} = {make.format(_literal(view, name))}" for name in names]
    elif view.sizes["d"] <= MOST_FEATURES:
        lines = [f"# the row in view, with all of its {view.sizes['d']} features"]
        lines += [f"{name} = {make.format(_whole_row(view, name))}" for name in names]
    else:
        shape = ", ".join(map(str, view.source.shape))
        lines = [f"# your own files; x has shape ({shape})", *(f'{name} = np.load("{name}.npy")' for name in names)]
    return lines + ([f"eps = {plain(view.eps)}"] if with_eps else [])


def _whole_row(view: View, name: str) -> str:
    i, j, _ = view.focus
    given = view.given[name]
    return _row(given) if name in PARAMETERS else f"[[{_row(given[i][j])}]]"


def _literal(view: View, name: str) -> str:
    given = view.given[name]
    if name in PARAMETERS:
        return _row(given)
    rows = [[_row(row) for row in batch] for batch in given]
    return "[" + ",\n ".join(f"[{(', ' + chr(10) + '  ').join(batch)}]" for batch in rows) + "]"


def _row(cells: Sequence[Any]) -> str:
    return f"[{', '.join(plain(float(cell)) for cell in cells)}]"


def tex(view: View) -> str:
    """The steps as aligned LaTeX equations."""
    names = [name for name in view.steps if name in view.program.by_name and name not in TEXTBOOK]
    opened = FOLDED | TEXTBOOK
    lines = [f"{latex(letter(view.program, n))} &= {latex(right_side(view.program, n, opened))}" for n in names]
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"


def csv(view: View) -> str:
    """Every shown cell with every step on one line, statistics repeated."""
    lines = [",".join(["b", "s", "feature", *view.steps])]
    for i, j in view.rows:
        rows = [(view.row(name, i, j), "d" in view.axes(name)) for name in view.steps]
        for at, k in enumerate(view.window[2]):
            cells = [plain(row[at if has_features else 0]) for row, has_features in rows]
            lines.append(",".join([str(view.window[0][i]), str(view.window[1][j]), str(k), *cells]))
    return "\n".join(lines)


FORMS: Mapping[str, Callable[[View], str]] = {"numpy": numpy, "pytorch": pytorch, "latex": tex, "csv": csv}
