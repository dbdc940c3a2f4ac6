"""Formulas, against what the papers and PyTorch's pages print."""

import re
from xml.etree import ElementTree

import pytest

import normscope as ns
from normscope.lessons.inside.copies import NUMPY
from normscope.program import OPS, Builder
from normscope.views.formula import ROOT, RULES, TEXTBOOK, WHOLE, expression, letters, substituted, symbol
from normscope.views.notation import Infix, Literal, Ratio, Square, equation, latex, mathml, text

LAYER = ns.forward(ns.layer_norm().fit(3))
RMS = ns.forward(ns.rms_norm().fit(3))
GROUP = ns.forward(ns.group_norm(2).fit(4))
LAYER_BACK = ns.backward(ns.layer_norm().fit(3))
RMS_BACK = ns.backward(ns.rms_norm().fit(3))
BATCH_BACK = ns.backward(ns.batch_norm().fit(4))


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
        (LAYER_BACK, "dbeta", TEXTBOOK, "dbeta[i] = sum_b,s dy[b,s,i]"),
        (LAYER_BACK, "dgamma", TEXTBOOK, "dgamma[i] = sum_b,s dy[b,s,i] * xhat[b,s,i]"),
        (LAYER_BACK, "dgamma", frozenset(), "dgamma[i] = sum_b,s dy_xhat[b,s,i]"),
        (LAYER_BACK, "dxhat", TEXTBOOK, "dxhat[b,s,i] = dy[b,s,i] * gamma[i]"),
        (LAYER_BACK, "mean_dxhat", TEXTBOOK, "mean_dxhat[b,s] = sum_i dxhat[b,s,i] / d"),
        (LAYER_BACK, "mean_dxhat_xhat", TEXTBOOK, "mean_dxhat_xhat[b,s] = sum_i dxhat[b,s,i] * xhat[b,s,i] / d"),
        (LAYER_BACK, "across", frozenset(), "across[b,s,i] = centered[b,s,i] - along[b,s,i]"),
        (
            LAYER_BACK,
            "dx",
            TEXTBOOK,
            "dx[b,s,i] = r[b,s] * (dxhat[b,s,i] - mean_dxhat[b,s] - xhat[b,s,i] * mean_dxhat_xhat[b,s])",
        ),
        (RMS_BACK, "dx", TEXTBOOK, "dx[b,s,i] = r[b,s] * (dxhat[b,s,i] - xhat[b,s,i] * mean_dxhat_xhat[b,s])"),
        (BATCH_BACK, "dbeta", TEXTBOOK, "dbeta[c] = sum_n,h,w dy[n,c,h,w]"),
        (BATCH_BACK, "mean_dxhat", TEXTBOOK, "mean_dxhat[c] = sum_n,h,w dxhat[n,c,h,w] / (N * H * W)"),
    ],
)
def test_a_step_in_one_line(program, name, opened, wanted):
    assert line(program, name, opened) == wanted


def test_the_correction_is_in_the_divisor():
    program = ns.forward(ns.Norm("B S [d]", correction=1))
    assert line(program, "var") == "var[b,s] = sum_i q[b,s,i] / (d - 1)"


def test_a_share_of_a_mean_is_divided_by_the_count():
    derived = ns.derive(ns.forward(ns.Norm("B S [h d]", correction=1)))
    assert line(derived, "dq") == "dq[b,s] = dv[b,s] / (h * d - 1)"
    assert (
        text(substituted(expression(derived, "dq"), {"dv": ["6.0"]}.__getitem__, {"h": 2, "d": 3}))
        == "6.0 / (2 * 3 - 1)"
    )


def test_latex_of_the_way_back():
    assert latex(expression(LAYER_BACK, "dgamma", TEXTBOOK)) == r"\sum_{b,s} dy_{b,s,i} \cdot \hat{x}_{b,s,i}"
    assert latex(expression(LAYER_BACK, "dx", TEXTBOOK)) == (
        r"r_{b,s} \cdot \left(d\hat{x}_{b,s,i} - \langle d\hat{x} \rangle_{b,s}"
        r" - \hat{x}_{b,s,i} \cdot \langle d\hat{x}\,\hat{x} \rangle_{b,s}\right)"
    )
    assert latex(symbol(LAYER_BACK, "along")) == r"d\hat{x}^\parallel_{b,s,i}"


def test_mathml_of_the_way_back():
    markup = str(mathml(expression(RMS_BACK, "dx", TEXTBOOK)))
    shown = "".join(ElementTree.fromstring(f"<math>{markup}</math>").itertext())
    assert shown == "rb,s·(dx̂b,s,i−x̂b,s,i·⟨dx̂·x̂⟩b,s)"


def test_latex_is_the_papers_formula():
    whole = latex(expression(LAYER, "xhat", WHOLE))
    assert whole == r"\frac{x_{b,s,i} - \mu_{b,s}}{\sqrt{\sigma^2_{b,s} + \varepsilon}}"
    assert latex(expression(LAYER, "mu")) == r"\frac{\sum_{i} x_{b,s,i}}{d}"
    assert latex(symbol(RMS, "var")) == "m_{b,s}"


@pytest.mark.parametrize(
    "program", [LAYER, RMS, GROUP, LAYER_BACK, BATCH_BACK], ids=["layer", "rms", "group", "layer back", "batch back"]
)
def test_mathml_is_well_formed_and_says_what_the_text_says(program):
    for step in program:
        markup = str(equation(symbol(program, step.name), expression(program, step.name)))
        tree = ElementTree.fromstring(markup)
        assert tree.tag == "math"
        letters_shown = len(re.findall(r"[a-z_]+(?=\[)", text(expression(program, step.name))))
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
        "max(x[i], z[i])", "abs(x[i])", "max_i(x[i])", "sum_i x[i]", "sqrt(x[i])", "1 / x[i]",
    ]  # fmt: skip
    assert latex(expression(program, "b")) == r"\operatorname{abs}\left(x_{i}\right)"
    assert "<mi>abs</mi>" in str(mathml(expression(program, "b")))


def test_index_letters():
    assert letters(("N", "g", "c", "H", "W")) == {"N": "n", "g": "i", "c": "j", "H": "h", "W": "w"}
