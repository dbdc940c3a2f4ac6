"""A definition as one line of mathematics, as the finding shows it."""

from .affine import SCALES, SHIFTS
from .block_table import BLOCKS
from .definition import Definition
from .division import DIVISIONS


def formula(definition: Definition) -> str:
    """What the function seems to compute.

    >>> from ..norm import layer_norm
    >>> from .definition import right
    >>> formula(right(layer_norm().fit(2)))
    '(x - mean) / sqrt(var + eps) * gamma + beta'
    """
    text = DIVISIONS[definition.division].text.format(
        c=_numerator(definition), v=_spread(definition), eps=_eps(definition)
    )
    if definition.factor != 1:
        text = f"{text} * {definition.factor}"
    if definition.twice:
        text = f"norm({text})"
    if definition.before:
        return f"{text}, x = x * gamma + beta before"
    scale, shift = SCALES[definition.scale].text, SHIFTS[definition.shift].text
    if scale.startswith("/"):
        text = f"{text} {scale}"
    elif scale:
        text = (
            f"({text}) * {scale}"
            if text[-6:] == " + eps" or definition.division.startswith("x /")
            else f"{text} * {scale}"
        )
    text = f"{text} {shift}".strip()
    return f"{text}, {BLOCKS[definition.block].formula}" if definition.block else text


def _numerator(definition: Definition) -> str:
    if not definition.centered:
        return "x"
    mean = {
        "n": "mean",
        "n - 1": "sum(x)/(n-1)",
        "1": "sum(x)",
        "n + 1": "sum(x)/(n+1)",
        "n^2": "sum(x)/n^2",
        "rows": "sum(x)/rows",
    }[definition.mean_count]
    if definition.running:
        mean = "running_var" if definition.swapped else "running_mean"
    over = definition.mean_over or definition.over
    where = f" over {' '.join(over)}" if over != definition.norm.over and not definition.running else ""
    return f"(x - {mean}{where})"


def _spread(definition: Definition) -> str:
    if definition.running:
        return "running_mean" if definition.swapped else "running_var"
    of = "x - mean" if definition.center in ("both", "spread", "apart") else "x"
    named = {
        "square": "mean(x^2)" if of == "x" else "var",
        "abs": f"mean(|{of}|)",
        "max": f"max|{of}|",
        "less mean": "(mean(x^2) - mean)",
        "plus mean": "(mean(x^2) + mean^2)",
        "reversed": "(mean^2 - mean(x^2))",
    }
    text = named[definition.spread]
    if definition.count != "n":
        short = definition.count.replace(" ", "")
        text = {"n - 1": f"{text}_{{n-1}}", "1": f"(n * {text})"}.get(definition.count, f"({text} * n / ({short}))")
    if definition.v_times != 1:
        text = f"{definition.v_times:g} * {text}"
    where = f" over {' '.join(definition.over)}" if definition.over != definition.norm.over else ""
    groups = "" if definition.groups == "own" else f" of {definition.groups} groups"
    return f"{text}{where}{groups}"


def _eps(definition: Definition) -> str:
    times, plus = definition.eps_times, definition.eps_plus
    if times == 0:
        return f"{plus:g}"
    text = "eps" if times == 1 else f"{times} * eps"
    return f"{text} + {plus:g}" if plus else text
