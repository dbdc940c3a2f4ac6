"""Formulas, against what the papers and PyTorch's pages print."""

import re
from xml.etree import ElementTree

import pytest

import normscope as ns
from normscope.lessons.inside.copies import NUMPY
from normscope.program import OPS, Builder
from normscope.views.formula import ROOT, RULES, WHOLE, expression, letters, substituted, symbol
from normscope.views.notation import Infix, Literal, Ratio, Square, equation, latex, mathml, text

LAYER = ns.forward(ns.layer_norm().fit(3))
RMS = ns.forward(ns.rms_norm().fit(3))
GROUP = ns.forward(ns.group_norm(2).fit(4))


def line(program, name, opened=frozenset({"v"})):
    return f"{text(symbol(program, name))} = {text(expression(program, name, opened))}"


def test_every_op_has_a_rule():
    assert set(RULES) == set(NUMPY) == set(OPS)


@pytest.mark.parametrize(
    ("program", "name", "opened", "wanted"),
    [
        (LAYER, "mu", frozenset(), "mu[b,s] = sum_i x[b,s,i] / d"),
        (LAYER, "q", frozenset(), "q[b,s,i] = c[b,s,i]^2"),
        (LAYER, "v", frozenset(), "v[b,s] = var[b,s] + eps"),
        (LAYER, "r", frozenset({"v"}), "r[b,s] = 1 / sqrt(var[b,s] + eps)"),
        (LAYER, "xhat", ROOT, "xhat[b,s,i] = c[b,s,i] / sqrt(var[b,s] + eps)"),
        (LAYER, "xhat", WHOLE, "xhat[b,s,i] = (x[b,s,i] - mu[b,s]) / sqrt(var[b,s] + eps)"),
        (LAYER, "y", WHOLE, "y[b,s,i] = xhat[b,s,i] * gamma[i] + beta[i]"),
        (RMS, "xhat", ROOT, "xhat[b,s,i] = x[b,s,i] / sqrt(var[b,s] + eps)"),
        (GROUP, "mu", frozenset(), "mu[n,i] = sum_j,h,w x[n,i,j,h,w] / (c * H * W)"),
    ],
)
def test_a_step_in_one_line(program, name, opened, wanted):
    assert line(program, name, opened) == wanted


def test_the_correction_is_in_the_divisor():
    program = ns.forward(ns.Norm("B S [d]", correction=1))
    assert line(program, "var") == "var[b,s] = sum_i q[b,s,i] / (d - 1)"


def test_latex_is_the_papers_formula():
    whole = latex(expression(LAYER, "xhat", WHOLE))
    assert whole == r"\frac{x_{b,s,i} - \mu_{b,s}}{\sqrt{\sigma^2_{b,s} + \varepsilon}}"
    assert latex(expression(LAYER, "mu")) == r"\frac{\sum_{i} x_{b,s,i}}{d}"
    assert latex(symbol(RMS, "var")) == "m_{b,s}"


@pytest.mark.parametrize("program", [LAYER, RMS, GROUP], ids=["layer", "rms", "group"])
def test_mathml_is_well_formed_and_says_what_the_text_says(program):
    for step in program:
        markup = str(equation(symbol(program, step.name), expression(program, step.name)))
        tree = ElementTree.fromstring(markup)
        assert tree.tag == "math"
        letters_shown = len(re.findall(r"[a-z]+(?=\[)", text(expression(program, step.name))))
        assert len(tree.findall(".//msub")) == letters_shown + 1


def test_numbers_for_letters():
    values = {"x": ["1.0", "-2.0", "3.5"], "mu": ["-0.5"], "c": ["2.0"], "var": ["4.0"], "eps": ["1e-5"]}
    sizes = {"d": 3}
    assert text(substituted(expression(LAYER, "mu"), values.__getitem__, sizes)) == "(1.0 + (-2.0) + 3.5) / 3"
    assert text(substituted(expression(LAYER, "c"), values.__getitem__, sizes)) == "1.0 - (-0.5)"
    assert text(substituted(expression(LAYER, "xhat", ROOT), values.__getitem__, sizes)) == "2.0 / sqrt(4.0 + 1e-5)"


def test_long_sums_are_cut_and_keep_their_last_term():
    cells = [str(i) for i in range(20)]
    shown = text(substituted(expression(LAYER, "mu"), lambda name: cells, {"d": 20}, limit=4))
    assert shown == "(0 + 1 + 2 + … + 19) / 20"


def test_parentheses_where_they_matter_and_nowhere_else():
    a, b, c = map(Literal, "abc")
    assert text(Infix("-", a, Infix("+", b, c))) == "a - (b + c)"
    assert text(Infix("+", Infix("+", a, b), c)) == "a + b + c"
    assert text(Infix("·", Infix("+", a, b), c)) == "(a + b) * c"
    assert text(Square(Literal("-1"))) == "(-1)^2"
    assert text(Ratio(Ratio(a, b), c)) == "a / b / c" and text(Ratio(a, Ratio(b, c))) == "a / (b / c)"
    assert "mo" in str(mathml(Square(Infix("-", a, b)))) and latex(Square(Infix("-", a, b))) == r"\left(a - b\right)^2"


def test_every_op_can_be_written():
    build = Builder(("d",), {"x": ("d",), "z": ("d",)})
    for name, op, args, over in [
        ("a", "maximum", ("x", "z"), ()), ("b", "abs", ("x",), ()), ("e", "max", ("x",), ("d",)),
        ("f", "sum", ("x",), ("d",)), ("g", "sqrt", ("x",), ()), ("h", "recip", ("x",), ()),
    ]:  # fmt: skip
        build.let(name, op, *args, over=over)
    program = build.program()
    assert [text(expression(program, step.name)) for step in program] == [
        "max(x[i], z[i])", "abs(x[i])", "max(x[i])", "sum_i x[i]", "sqrt(x[i])", "1 / x[i]",
    ]  # fmt: skip
    assert latex(expression(program, "b")) == r"\operatorname{abs}\left(x_{i}\right)"
    assert "<mi>abs</mi>" in str(mathml(expression(program, "b")))


def test_index_letters():
    assert letters(("N", "g", "c", "H", "W")) == {"N": "n", "g": "i", "c": "j", "H": "h", "W": "w"}
