"""Exhibits: statistics over the wrong cells, not centered, or badly counted."""

from dataclasses import replace

from ...norm import Norm
from ...steps import forward
from .side import Given, Side
from .slips import KIND, LAYER, RMS, D, Exhibit, built, given, line, rewritten, square, wrong

axes, variance = KIND["axes"], KIND["variance"]
UNSHIFTED = {"x": "1,7", "gamma": "1,1", "eps": "0"}


def _transposed(given: Given) -> Given:
    return {**given, "xᵀ": [list(column) for column in zip(*given["x"], strict=True)]}


def _counted(given: Given) -> Given:
    return {**given, "d": len(given["x"][0])}


S_D = ("S", "d")
DROPPED = built(
    S_D,
    {"x": S_D, "xᵀ": S_D, "gamma": D, "beta": D, "eps": ()},
    line("mu", "mean", "xᵀ", over=("S",)),
    line("c", "sub", "x", "mu"),
    line("m", "mean", "x", over=D),
    line("ct", "sub", "xᵀ", "m"),
    line("q", "mul", "ct", "ct"),
    line("var", "mean", "q", over=("S",)),
    line("v", "add", "var", "eps"),
    line("r", "rsqrt", "v"),
    line("xhat", "mul", "c", "r"),
    line("scaled", "mul", "xhat", "gamma"),
    line("y", "add", "scaled", "beta"),
)

AXES = (
    axes(
        "wrong-axes",
        "Statistics over the rows, not over the features",
        forward(Norm("[S] d", affine="d")),
        given("1,3;3,9"),
        "Reduce the features alone.",
        instrument="influence",
        seen="https://github.com/Kyubyong/transformer/issues/40",
    ),
    axes(
        "keepdims-dropped",
        "Row statistics lined up with the columns",
        DROPPED,
        given("1,3;3,9"),
        "Keep the reduced axis: keepdims=True.",
        instrument="influence",
        seen="https://github.com/microsoft/onnxruntime/issues/30513",
        reads=_transposed,
        shown=("mu", "m", "var"),
        fits=square,
        where="xᵀ is x with its rows and columns exchanged.",
    ),
    axes(
        "rms-instead-of-layer-norm",
        "RMSNorm under LayerNorm’s name",
        forward(replace(LAYER, center=False)),
        given("1,7"),
        "Subtract the mean, before squaring too.",
        instrument="shift",
        shown=("var",),
        seen="https://github.com/huggingface/transformers/issues/20224",
    ),
    axes(
        "variance-not-centered",
        "The mean is subtracted, but the squares are those of x",
        wrong(LAYER, q=(line("q", "mul", "x", "x"),)),
        given("1,7"),
        "Square x − mean, not x.",
        instrument="shift",
    ),
    axes(
        "mean-not-subtracted",
        "x itself is divided, not x − mean",
        wrong(LAYER, xhat=(line("xhat", "mul", "x", "r"),)),
        given("1,3"),
        "Divide x − mean.",
        instrument="shift",
    ),
    Exhibit(
        "variance-instead-of-mean-square",
        "An RMSNorm that divides by the standard deviation",
        "axes",
        "shift",
        Side(forward(RMS), shown=("var",)),
        Side(wrong(Norm("S [d]", affine="d", shift=False), xhat=(line("xhat", "mul", "x", "r"),))),
        UNSHIFTED,
        "Use mean(x²), not var(x).",
        "https://github.com/keras-team/keras/pull/22393",
        "rms_norm",
    ),
    Exhibit(
        "layer-norm-instead-of-rms",
        "LayerNorm under RMSNorm’s name",
        "axes",
        "shift",
        Side(forward(RMS), shown=("var",)),
        Side(forward(Norm("S [d]", affine="d", shift=False))),
        UNSHIFTED,
        "Leave the mean in.",
        function="rms_norm",
    ),
)

VARIANCE = (
    variance(
        "correction-1",
        "The sum of squares is divided by n − 1",
        forward(replace(LAYER, correction=1)),
        given("1,3"),
        "Divide by n (correction 0).",
        instrument="eps",
        seen="https://github.com/allenai/allennlp/pull/953",
    ),
    variance(
        "sum-not-mean",
        "The sum of squares is not divided at all",
        wrong(LAYER, var=(line("var", "sum", "q", over=D),)),
        given("1,3"),
        "Divide the sum of squares by n.",
        instrument="eps",
    ),
    variance(
        "mean-not-squared",
        "E[x²] − E[x]: the mean is not squared",
        wrong(
            LAYER, q=(line("q", "mul", "x", "x"),), var=(line("m", "mean", "q", over=D), line("var", "sub", "m", "mu"))
        ),
        given("1,3"),
        "Subtract the square of the mean.",
        instrument="eps",
        shown=("mu", "m", "var"),
    ),
    variance(
        "squares-missing",
        "Absolute values are averaged where squares are due",
        wrong(LAYER, q=(line("q", "abs", "c"),)),
        given("0,8"),
        "Square before the mean.",
        instrument="eps",
    ),
    variance(
        "mean-absolute-deviation",
        "Divided by the mean absolute deviation",
        wrong(LAYER, q=(line("q", "abs", "c"),), r=(line("r", "recip", "v"),)),
        given("0,0,0,8"),
        "Divide by sqrt(mean square + eps).",
        instrument="eps",
    ),
    variance(
        "root-missing",
        "Divided by the variance, without a root",
        wrong(LAYER, r=(line("r", "recip", "v"),)),
        given("0,4"),
        "Divide by the root.",
        instrument="eps",
    ),
    variance(
        "root-of-std",
        "The root of the standard deviation",
        wrong(LAYER, v=(line("std", "sqrt", "var"), line("v", "add", "std", "eps"))),
        given("0,8"),
        "Take one root, of the variance.",
        instrument="eps",
        seen="https://github.com/fastai/course-v3/pull/363",
        shown=("mu", "var", "std"),
    ),
    Exhibit(
        "scale-inverted",
        "The unit vector is multiplied by d^−½ where d^½ is due",
        "variance",
        "eps",
        Side(forward(RMS), shown=("var",)),
        Side(
            rewritten(
                forward(RMS),
                {"d": ()},
                var=(line("total", "sum", "q", over=D),),
                v=(line("v", "add", "total", "eps"),),
                xhat=(line("u", "mul", "x", "r"), line("k", "rsqrt", "d"), line("xhat", "mul", "u", "k")),
            ),
            shown=("total",),
            reads=_counted,
        ),
        UNSHIFTED,
        "Multiply by the root of d, or divide the sum of squares by d.",
        "https://github.com/kyegomez/zeta/issues/180",
        "rms_norm",
    ),
    variance(
        "normalized-twice",
        "Normalized a second time before the affine",
        wrong(
            LAYER,
            xhat=(
                line("z", "mul", "c", "r"),
                line("q2", "mul", "z", "z"),
                line("w", "mean", "q2", over=D),
                line("w2", "add", "w", "eps"),
                line("r2", "rsqrt", "w2"),
                line("xhat", "mul", "z", "r2"),
            ),
        ),
        given("0,2", "3"),
        "Normalize once.",
        instrument="eps",
        shown=("mu", "var", "z", "w"),
    ),
)
