"""What can be wrong with a norm: in words, and as a program."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from ..norm import Norm
from ..program import Program, Step

BETA_FIRST = "beta-first"
WORDS: Mapping[str, str] = {  # of a norm that is centered
    "outside": "eps is added to the standard deviation, after the root; the definition adds it to the variance.",
    "floor": "eps is a floor under the variance; the definition adds it.",
    "root-floor": "eps is a floor under the standard deviation; the definition adds it to the variance.",
    "no-root": "it divides by the variance + eps: the root is missing.",
    "raw-square": "the divisor is the root mean square of x, not the standard deviation: the mean is not subtracted.",
    "raw-x": "the mean is subtracted for the variance only: what is divided is x itself.",
    "correction": "the variance divides by n - 1 (an unbiased estimate); the definition divides by n.",
    "one-pass": "the variance is one-pass, E[x^2] - E[x]^2: where the mean is large its digits cancel.",
    "unclamped": "nothing keeps the one-pass variance from being negative, and the root of that is nan.",
    "keepdims": "a statistic lost its reduced axis (keepdims = 0), so it is broadcast along another axis of x.",
    BETA_FIRST: "beta is added before gamma multiplies; the definition multiplies first.",
    "unseen-floor": "there is no eps, but a row of equal cells gives numbers: how, is not understood.",
    "no-eps": "there is no eps: a row of equal cells divides by 0.",
}
NOT_CENTERED = {"standard deviation": "root mean square", "variance": "mean square", "equal cells": "zeros"}


def words(fault: str, norm: Norm) -> str:
    """What is wrong, in words, about a norm of this kind.

    >>> from normscope.norm import layer_norm, rms_norm
    >>> words("no-eps", layer_norm()), words("no-eps", rms_norm())
    ('there is no eps: a row of equal cells divides by 0.', 'there is no eps: a row of zeros divides by 0.')
    """
    told = WORDS[fault]
    for word, other in NOT_CENTERED.items() if not norm.center else ():
        told = told.replace(word, other)
    return told


def _root(name: str, op: str) -> Callable[[Program], Program]:
    """eps added to the root (or a floor under it) in the place of `v` and `r`."""

    def changed(program: Program) -> Program:
        v, r = program.by_name["v"], program.by_name["r"]
        root = Step(name, "sqrt", v.args[:1], v.axes, into=name)
        made = program.instead("v", root, replace(v, op=op, args=(name, "eps"), into="v"))
        return made.instead("r", replace(r, op="recip", into="r"))

    return changed


def _floor(program: Program) -> Program:
    v = program.by_name["v"]
    return program.instead("v", replace(v, op="maximum", into="v"))


def _no_root(program: Program) -> Program:
    return program.instead("r", replace(program.by_name["r"], op="recip", into="r"))


def _raw_square(program: Program) -> Program | None:
    q = program.by_name.get("q")
    return program.instead("q", replace(q, args=("x", "x"))) if q and "c" in program.by_name else None


def _raw_x(program: Program) -> Program | None:
    xhat = program.by_name["xhat"]
    return program.instead("xhat", replace(xhat, args=("x", "r"))) if "q" in program.by_name else None


FORMS: Mapping[str, Callable[[Program], Program | None]] = {
    "": lambda program: program,
    "outside": _root("root", "add"),
    "floor": _floor,
    "root-floor": _root("root", "maximum"),
    "no-root": _no_root,
    "raw-square": _raw_square,
    "raw-x": _raw_x,
}
