"""What "A named step" says on each panel: one or two sentences."""

from ...block import SYMBOL, ExactTrace
from ...views.exact import text
from ...views.opaque import Undefined
from .fold import CLOSING, NAMED

LEAD = (
    "A block adds, averages and squares in fractions. Then comes a square root, and fractions end. This lesson walks "
    "up to that boundary, gives it a name, and opens it only when you ask."
)
POST = (
    "Post-norm: the add stands first and the norm reads the sum x + update, as in the first Transformer and in BERT. "
    "With pre-norm the norm would read x alone, and the add would stand last."
)
PRE = (
    "Pre-norm: the norm reads x, a sublayer works on its output, and the update that comes out is added to x. So the "
    "add stands last, and no statistic ever sees it. With post-norm the add would stand first, and the norm would read "
    "the sum."
)


def sentences(trace: ExactTrace, key: str) -> str:
    """What a panel says of its box."""
    d = trace.sizes["d"]
    if key == "residual" and trace.wiring == "post":
        return "The sublayer's update is added to x, cell by cell. The norm takes its statistics from this sum."
    if key == "residual":
        return "The update that the sublayer made of the normalized vector is added to x itself."
    if key == "mu":
        return f"One number for the whole vector: the sum of its cells over their count, d = {d}."
    if key == "c":
        return "The mean is subtracted from every cell. What is left sums to 0, exactly."
    if key == "var" and trace.norm.center:
        less = f", not by {d - 1}" if d > 1 else ""
        return f"The squares of the centered cells, summed and divided by {d}{less}. It is a fraction still."
    if key == "var":
        return f"The squares of the cells, summed and divided by {d}. No mean is subtracted. It is a fraction still."
    if key == NAMED and isinstance(trace["r"][0], Undefined):
        alike = "All cells are alike, so the variance" if trace.norm.center else "All cells are 0, so the mean square"
        return f"{alike} is 0, and with eps = 0 this divides 0 by 0: undefined. An eps above 0 gives it a value."
    if key == NAMED:
        subtract = "Subtract the mean, then divide" if trace.norm.center else "Divide"
        kept = "" if trace.eps in ("0", SYMBOL) else f" (that is {text(trace['var'][0])} + eps)"
        return (
            f"{subtract} by {trace.roots[0]}{kept}. A root need not be a fraction, so the step keeps its name: "
            "no decimal is pinned to what comes out."
        )
    assert key == CLOSING
    return "Everything up to the root is exact: a fraction, whatever fractions went in. One step is named."
