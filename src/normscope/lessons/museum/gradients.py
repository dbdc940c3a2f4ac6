"""Exhibits: gradients that lack a term, and BatchNorm's running statistics."""

from fractions import Fraction

from ...gradients import training
from ...norm import Norm
from ...steps import running
from .side import Given, Side
from .slips import BATCH, Exhibit, line, rewritten

NORM = Norm("S [d]", affine="d", shift=False)
BACK = Side(training(NORM), "dx", ("xhat",))
NAMED = frozenset({"mu", "r"})  # what the way back reads of the forward pass
GIVEN = {"x": "0,2,4", "gamma": "3,1,1", "dy": "1,0,0", "eps": "0"}
WITHOUT = training(Norm("S [d]"))


def _back(id: str, name: str, side: Side, fix: str) -> Exhibit:
    return Exhibit(
        id, name, "backward", "gradient", BACK, side, GIVEN, fix, function="layer_norm_backward", named=NAMED
    )


def _run(id: str, name: str, side: tuple[Side, Side], momentum: str, fix: str, seen: str) -> Exhibit:
    given = {"x": "0;2", "momentum": momentum}
    return Exhibit(id, name, "backward", "running", *side, given, fix, seen, "batch_norm")


def _started(given: Given) -> Given:
    """Running statistics as a fresh layer has them."""
    columns = len(given["x"][0])
    return {**given, "running_mean": [0] * columns, "running_var": [1] * columns}


KEEP = line("keep", "sub", Fraction(1), "momentum")
INVERTED = rewritten(
    running(BATCH),
    mean_step=(KEEP, line("mean_step", "mul", "mean_change", "keep")),
    var_step=(line("var_step", "mul", "var_change", "keep"),),
)

BACKWARD = (
    _back(
        "mean-term-missing",
        "dx lacks the term of the mean",
        Side(rewritten(training(NORM), across=(line("across", "sub", "dxhat", "along"),)), "dx", ("xhat",)),
        "Subtract the mean of dy · gamma.",
    ),
    _back(
        "xhat-term-missing",
        "dx lacks the term of the variance",
        Side(rewritten(training(NORM), dx=(line("dx", "mul", "r", "centered"),)), "dx", ("xhat",)),
        "Subtract xhat times the mean of dy · gamma · xhat.",
    ),
    _back(
        "gamma-missing-in-gradient", "gamma does not enter dx", Side(WITHOUT, "dx", ("xhat",)), "Start from dy · gamma."
    ),
    _run(
        "running-variance-biased",
        "The running variance takes the variance over n, not n − 1",
        (
            Side(running(BATCH), "new_running_var", ("mu", "var"), _started),
            Side(running(BATCH, 0), "new_running_var", ("mu", "var"), _started),
        ),
        "1",
        "Store the variance over n − 1; normalize with that over n.",
        "https://github.com/tinygrad/tinygrad/pull/807",
    ),
    _run(
        "momentum-inverted",
        "The momentum weighs the old value, not the new one",
        (
            Side(running(BATCH), "new_running_mean", ("mu",), _started),
            Side(INVERTED, "new_running_mean", ("mu",), _started),
        ),
        "1/10",
        "Weigh the new value by the momentum, or pass 1 − momentum.",
        "https://github.com/r9y9/tacotron_pytorch/issues/19",
    ),
)
