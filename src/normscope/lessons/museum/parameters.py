"""Exhibits: gamma and beta that enter in the wrong way."""

from dataclasses import replace
from fractions import Fraction

from ...norm import Norm
from ...steps import forward
from .side import Given, Side
from .slips import GROUP, KIND, LAYER, Exhibit, line, rewritten, square, wrong

affine = KIND["affine"]
ONE = Fraction(1)
GIVEN = {"x": "0,2", "gamma": "2,3", "beta": "1,5", "eps": "0"}


def _first(given: Given) -> Given:
    return {**given, "γ₀": given["gamma"][0], "β₀": given["beta"][0]}


def _two(given: Given) -> Given:
    return {**given, "gamma": given["gamma"][:2], "beta": given["beta"][:2]}


SCALAR = rewritten(
    forward(replace(LAYER, affine=None)),
    {"γ₀": (), "β₀": ()},
    xhat=(line("xhat", "mul", "c", "r"), line("scaled", "mul", "xhat", "γ₀"), line("y", "add", "scaled", "β₀")),
)
BEFORE = rewritten(
    forward(replace(LAYER, affine=None)),
    {"gamma": ("d",), "beta": ("d",)},
    mu=(line("a", "mul", "x", "gamma"), line("t", "add", "a", "beta"), line("mu", "mean", "t", over=("d",))),
    c=(line("c", "sub", "t", "mu"),),
)


def _groups(rows: int, columns: int) -> str:
    if columns % 2 == 0 and columns >= 4:
        return ""
    return f"x has {columns} channels; two groups need an even count of at least 4."


AFFINE = (
    affine(
        "affine-ignored",
        "gamma and beta are never applied",
        forward(replace(LAYER, affine=None)),
        GIVEN,
        "y = gamma · xhat + beta.",
        instrument="affine",
        output="xhat",
        seen="https://github.com/nyu-mll/jiant/issues/714",
    ),
    affine(
        "gamma-plus-one",
        "The scale is 1 + gamma, though gamma is the full scale",
        wrong(LAYER, scaled=(line("w", "add", ONE, "gamma"), line("scaled", "mul", "xhat", "w"))),
        GIVEN,
        "Multiply by gamma.",
        instrument="affine",
        seen="https://github.com/utensils/mold/issues/1074",
    ),
    affine(
        "gamma-beta-swapped",
        "gamma and beta are exchanged",
        wrong(LAYER, scaled=(line("scaled", "mul", "xhat", "beta"),), y=(line("y", "add", "scaled", "gamma"),)),
        GIVEN,
        "Scale by gamma, shift by beta.",
        instrument="affine",
        seen="https://github.com/google/objax/pull/94",
    ),
    affine(
        "affine-scalar",
        "One scale and one shift serve all features",
        SCALAR,
        GIVEN,
        "Give every feature its own.",
        instrument="affine",
        reads=_first,
        where="γ₀ and β₀ are the first entries of gamma and beta.",
        seen="https://github.com/pyg-team/pytorch_geometric/issues/4030",
    ),
    affine(
        "affine-on-wrong-axis",
        "gamma and beta lie along the rows",
        forward(replace(LAYER, affine="S")),
        GIVEN | {"x": "0,2;0,2"},
        "Line gamma and beta up with the features.",
        instrument="affine",
        fits=square,
        seen="https://github.com/keras-team/keras/issues/19642",
    ),
    affine(
        "shift-inside-scale",
        "beta is added before the scale",
        wrong(LAYER, scaled=(line("scaled", "add", "xhat", "beta"),), y=(line("y", "mul", "scaled", "gamma"),)),
        GIVEN,
        "Scale first, then shift.",
        instrument="affine",
    ),
    affine(
        "shift-missing",
        "beta is never added",
        forward(replace(LAYER, shift=False)),
        GIVEN,
        "Add beta.",
        instrument="affine",
    ),
    affine(
        "affine-before-norm",
        "gamma and beta are applied to x, before the statistics",
        BEFORE,
        GIVEN,
        "Apply them to the normalized values.",
        instrument="affine",
        output="xhat",
        shown=("t", "mu", "var"),
    ),
    Exhibit(
        "affine-per-group",
        "GroupNorm’s scale and shift are one a group, not one a channel",
        "affine",
        "affine",
        Side(forward(GROUP)),
        Side(forward(Norm("N (g [c])", affine="g", sizes={"g": 2})), reads=_two),
        {"x": "0,2,0,2", "gamma": "1,2,3,4", "beta": "0,0,0,0", "eps": "0"},
        "Give every channel its own.",
        "https://github.com/onnx/onnx/issues/5466",
        "group_norm",
        fits=_groups,
        where="i counts the groups, j the c channels of one.",
    ),
)
