"""Exhibits: an eps in the wrong place, or another eps."""

from fractions import Fraction

from .slips import KIND, LAYER, D, given, line, wrong

eps = KIND["eps"]
THOUSANDTH = Fraction(1, 1000)  # Keras's default


RESCALED = wrong(
    LAYER,
    mu=(
        line("size", "abs", "x"),
        line("most", "max", "size", over=D),
        line("small", "recip", "most"),
        line("t", "mul", "x", "small"),
        line("mu", "mean", "t", over=D),
    ),
    c=(line("c", "sub", "t", "mu"),),
)

EPS = (
    eps(
        "eps-outside-root",
        "eps is added after the root",
        wrong(LAYER, v=(line("s", "sqrt", "var"), line("v", "add", "s", "eps")), r=(line("r", "recip", "v"),)),
        given("0,6", "7"),
        "Add eps to the variance, then take the root.",
        instrument="eps",
        seen="https://github.com/tracel-ai/burn/issues/2185",
    ),
    eps(
        "eps-missing",
        "eps never reaches the divisor",
        wrong(LAYER, v=(), r=(line("r", "rsqrt", "var"),)),
        given("2,2", "1"),
        "Add eps to the variance.",
        instrument="eps",
        seen="https://github.com/VeriSilicon/TIM-VX/pull/589",
    ),
    eps(
        "eps-fixed",
        "The eps that is given is ignored: a constant stands in its place",
        wrong(LAYER, v=(line("v", "add", "var", THOUSANDTH),)),
        given("0,6", "7"),
        "Use the eps that is given.",
        instrument="eps",
        seen="https://github.com/tensorflow/tensorflow/issues/62607",
    ),
    eps(
        "eps-twice",
        "A variance that holds eps already gets it again",
        wrong(LAYER, v=(line("u", "add", "var", "eps"), line("v", "add", "u", "eps"))),
        given("0,2", "4"),
        "Add eps once.",
        instrument="eps",
    ),
    eps(
        "eps-squared",
        "The square of eps is added",
        wrong(LAYER, v=(line("e", "mul", "eps", "eps"), line("v", "add", "var", "e"))),
        given("0,4", "5"),
        "Add eps itself.",
        instrument="eps",
    ),
    eps(
        "eps-as-floor",
        "eps is the least variance, and is not added",
        wrong(LAYER, v=(line("v", "maximum", "var", "eps"),)),
        given("0,6", "7"),
        "Add eps to the variance.",
        instrument="eps",
    ),
    eps(
        "eps-added-to-xhat",
        "A parenthesis slips: eps is added to the normalized value",
        wrong(
            LAYER,
            v=(),
            r=(line("r", "rsqrt", "var"),),
            xhat=(line("z", "mul", "c", "r"), line("xhat", "add", "z", "eps")),
        ),
        given("0,2", "3"),
        "Add eps inside the root.",
        instrument="eps",
        seen="https://discuss.pytorch.org/t/batchnorm1d-output-different-with-my-implementation/51877",
    ),
    eps(
        "eps-after-rescale",
        "The row is divided by its largest magnitude first, and eps is not",
        RESCALED,
        given("0,4", "2"),
        "Divide eps by the squared magnitude too.",
        instrument="eps",
        shown=("t", "mu", "var"),
        seen="https://github.com/apple/coremltools/pull/2822",
    ),
)
