"""A definition as one line of mathematics, as the finding shows it."""

from ..axes import Axes
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
    text, _, before = _divided(definition).partition(" with ")
    rest = [f"with {before}"] if before else []
    if definition.division.startswith("xhat + eps") and (definition.factor != 1 or SCALES[definition.scale].text):
        text = f"({text})"
    if definition.factor != 1:
        text = f"{text} * {definition.factor}"
    if definition.twice:
        text = f"norm({text})"
    if definition.before:
        return ", ".join([text, *rest, "with x * gamma + beta in place of x"])
    scale, shift = SCALES[definition.scale].text, SHIFTS[definition.shift].text
    if scale.startswith("/"):
        text = f"{text} {scale}"
    elif scale:
        text = f"{text} * {scale}"
    if definition.block and not BLOCKS[definition.block].mean:
        rest.append(f"with {BLOCKS[definition.block].formula}")
    return ", ".join([f"{text} {shift}".strip(), *rest])


def _divided(definition: Definition) -> str:
    """The normalized value; a compound spread stands in parentheses where nothing else holds it together."""
    text = DIVISIONS[definition.division].text
    spread, eps = _spread(definition), _eps(definition)
    if definition.block and (std := BLOCKS[definition.block].std):
        text = text.replace("(sqrt({v})", f"({std}").replace("sqrt({v})", f"({std})")
        spread = f"({std})^2"
    is_sum, is_compound = " + " in spread or " - " in spread, " " in spread
    if (is_compound and text.endswith("/ {v}")) or (is_sum and "{v} of t" in text):
        spread = f"({spread})"
    text = text if eps == "eps" else text.replace("{eps}^2", "({eps})^2")
    return text.format(c=_numerator(definition), v=spread, eps=eps).replace("+ -", "- ")


def _numerator(definition: Definition) -> str:
    return f"(x - {_mean(definition)})" if definition.centered else "x"


def _mean(definition: Definition) -> str:
    """What is taken for the mean."""
    if definition.running:
        return "running_var" if definition.swapped else "running_mean"
    if definition.block and BLOCKS[definition.block].mean:
        return BLOCKS[definition.block].mean
    text = {
        "n": "mean",
        "n - 1": "sum(x)/(n-1)",
        "1": "sum(x)",
        "n + 1": "sum(x)/(n+1)",
        "n^2": "sum(x)/n^2",
        "rows": "sum(x)/rows",
    }[definition.mean_count]
    return text + _over(definition, definition.mean_over or definition.over)


def _over(definition: Definition, over: Axes) -> str:
    return f" over {' '.join(over)}" if over != definition.norm.over else ""


def _spread(definition: Definition) -> str:
    if definition.running:
        return "running_mean" if definition.swapped else "running_var"
    own = "mean" + _over(definition, definition.over)
    mean = own if definition.center == "apart" else _mean(definition)
    is_centered = definition.norm.center if definition.block else definition.center in ("both", "spread", "apart")
    of = f"x - {mean}" if is_centered else "x"
    named = {
        "square": "mean(x^2)" if of == "x" else "var" if mean == own else f"mean(({of})^2)",
        "abs": f"mean(|{of}|)",
        "max": f"max|{of}|",
        "less mean": f"mean(x^2) - {mean}",
        "plus mean": f"mean(x^2) + {_squared(mean)}",
        "reversed": f"{_squared(mean)} - mean(x^2)",
    }
    is_mean = definition.spread in ("square", "abs")  # a correction is a mean's
    count = definition.count if is_mean or definition.count != "n - 1" else "n"
    text = _counted(named[definition.spread], count)
    if definition.v_times != 1:
        is_sum = " - " in text or " + " in text
        text = f"{definition.v_times:g} * " + (f"({text})" if is_sum else text)
    groups = "" if definition.groups == "own" else f" of {definition.groups} groups"
    return f"{text}{_over(definition, definition.over)}{groups}"


def _squared(mean: str) -> str:
    return f"{mean}^2" if mean == "mean" else f"({mean})^2"


def _counted(text: str, count: str) -> str:
    """A mean whose sum is divided by another count."""
    if count == "n" or (count, text) == ("n - 1", "var"):
        return text if count == "n" else "var_{n-1}"
    short = count.replace(" ", "")
    divisor = f"({short})" if set(short) & set("+-") else short
    whole = f"({text})" if "mean(x^2) " in text or " - mean(x^2)" in text else text
    return f"n * {whole}" if count == "1" else f"{whole} * n / {divisor}"


def _eps(definition: Definition) -> str:
    times, plus = definition.eps_times, definition.eps_plus
    if times == 0:
        return f"{plus:g}"
    text = {"1/n": "eps / n", 1.0: "eps", -1.0: "-eps"}.get(
        times, f"{times} * eps" if isinstance(times, str) else f"{times:g} * eps"
    )
    return f"{text} + {plus:g}" if plus else text
