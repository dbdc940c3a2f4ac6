"""Exhibits: right in exact numbers, wrong in the format that a value is kept in. Both sides run in float32."""

from ...steps import forward
from .side import Side
from .slips import LAYER, RIGHT, D, Exhibit, given, line, wrong

ONE_PASS = wrong(
    LAYER,
    q=(line("q", "mul", "x", "x"),),
    var=(line("m", "mean", "q", over=D), line("mu2", "mul", "mu", "mu"), line("var", "sub", "m", "mu2")),
)


def _kept(id: str, name: str, value: str, dtype: str, x: str, eps: str, fix: str, seen: str) -> Exhibit:
    """The right program with one value in a narrow format, which stands in the formulas."""
    shown = ("mu", "var") if value == "var" else ("mu", "var", value)
    side = Side(forward(LAYER), keep=((value, dtype),), shown=shown)
    return Exhibit(id, name, "numerics", "numerics", RIGHT, side, given(x, eps), fix, seen, is_rounded=True)


ROUNDED = (
    Exhibit(
        "one-pass-variance",
        "E[x²] − E[x]² in float32, which cancels where the mean is large",
        "numerics",
        "numerics",
        RIGHT,
        Side(ONE_PASS),
        given("4096,4097", "0.00001"),
        "Subtract the mean before squaring, or use Welford’s update.",
        "https://github.com/pytorch/pytorch/issues/51102",
        is_rounded=True,
    ),
    _kept(
        "variance-in-half",
        "The variance is kept in float16, where it overflows",
        "var",
        "float16",
        "0,600",
        "0.00001",
        "Keep the variance in float32.",
        "https://github.com/microsoft/onnxruntime/issues/17692",
    ),
    _kept(
        "eps-in-half",
        "variance + eps is kept in float16, where a small eps is 0",
        "v",
        "float16",
        "3,3",
        "1e-12",
        "Keep variance + eps in float32.",
        "https://github.com/deepspeedai/DeepSpeed/issues/581",
    ),
    _kept(
        "rstd-in-bf16",
        "The reciprocal root is kept in bfloat16: one error for the whole row",
        "r",
        "bfloat16",
        "0,6",
        "0.00001",
        "Keep 1/√(variance + eps) in float32.",
        "https://github.com/amd/IRON/pull/139",
    ),
)
