"""What "Inside LayerNorm" hands over: the state as a link, NumPy, PyTorch, LaTeX or CSV."""

from collections.abc import Callable, Mapping

from ...page.controls import select
from ...page.html import Html, el, region
from ...page.numbers import plain
from ...views.formula import FOLDED
from ...views.formula import expression as right_side
from ...views.formula import symbol as letter
from ...views.notation import latex
from .state import COPIES
from .view import View

MOST_CELLS = 512
NUMPY: Mapping[str, str] = {
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0} * {1}",
    "mean": "{0}.mean(-1, keepdims=True)",
    "sum": "{0}.sum(-1, keepdims=True)",
    "max": "{0}.max(-1, keepdims=True)",
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
    steps = [f"{step.name} = {NUMPY[step.op].format(*step.args)}  # {' '.join(step.axes)}" for step in view.program]
    return "\n".join(["import numpy as np", "", *_data(view, "np.array({})"), *steps])


def pytorch(view: View) -> str:
    """One call of PyTorch's functional form."""
    d = view.sizes["d"]
    arguments = [f"x, ({d},)", *(f"{name}" for name in view.parameters), f"eps={_eps(view)}"]
    if view.norm.center and view.norm.scale and not view.norm.shift:
        arguments.insert(2, "None")
    call = "layer_norm" if view.norm.center else "rms_norm"
    head = ["import torch", "import torch.nn.functional as F", ""]
    data = _data(view, "torch.tensor({}, dtype=torch.float64)", with_eps=False)
    return "\n".join([*head, *data, f"y = F.{call}({', '.join(arguments)})"])


def _data(view: View, make: str, with_eps: bool = True) -> list[str]:
    """x, gamma and beta as literals, or as a file to load where they are many."""
    names = ["x", *view.parameters]
    count = view.source.shape[0] * view.source.shape[1] * view.source.shape[2]
    if count > MOST_CELLS:
        shape = ", ".join(map(str, view.source.shape))
        lines = [f"# load {' and '.join(names)} here: x has shape ({shape})"]
    else:
        lines = [f"{name} = {make.format(_literal(view, name))}" for name in names]
    return lines + ([f"eps = {_eps(view)}"] if with_eps else [])


def _literal(view: View, name: str) -> str:
    rows = [[_row(view.row(name, i, j)) for j in range(len(view.window[1]))] for i in range(len(view.window[0]))]
    if name != "x":
        return rows[0][0]
    return "[" + ",\n ".join(f"[{(', ' + chr(10) + '  ').join(batch)}]" for batch in rows) + "]"


def _row(cells: list[float]) -> str:
    return f"[{', '.join(map(plain, cells))}]"


def _eps(view: View) -> str:
    return plain(float(view.norm.eps or 0))


def tex(view: View) -> str:
    """The steps as aligned LaTeX equations."""
    names = [name for name in view.steps if name != "x"]
    lines = [f"{latex(letter(view.program, n))} &= {latex(right_side(view.program, n, FOLDED))}" for n in names]
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
