"""The exact reading of whole programs: the lesson's figures, sympy, 200-digit decimals, and float64 beside it."""

import decimal
import json
import math
from fractions import Fraction
from pathlib import Path

import pytest
import sympy
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import normscope as ns
from normscope.program import OPS, Builder, Program
from normscope.run import run
from normscope.steps import WIRINGS, forward, residual
from normscope.views import cells
from normscope.views import exact as reading
from normscope.views.opaque import Undefined
from normscope.views.roots import Surd

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "lessons.json").read_text())["B"]
HALF = Fraction(1, 2)

numbers = st.one_of(
    st.integers(-20, 20).map(Fraction),
    st.fractions(min_value=-9, max_value=9, max_denominator=12),
    st.decimals(-5, 5, places=3).map(Fraction),
)
vectors = st.lists(numbers, min_size=1, max_size=6)
positive_eps = st.sampled_from([Fraction(1, 100_000), Fraction(1, 3), Fraction(2)])


def lesson(**options):
    return ns.exact(GOLDEN["x"], update=GOLDEN["update"], **options)


# --- the lesson's figures


def test_lesson_B1_residual_add():
    made = lesson()
    assert made.written("residual") == GOLDEN["residual"] and next(iter(made)) == "residual"
    assert all(isinstance(cell, Fraction) for cell in made["residual"])
    assert "residual" in made.program.by_name["mu"].args  # the statistics are the residual's


def test_lesson_B2_mean_centered_variance():
    made = lesson()
    assert made.written("mu") == [GOLDEN["mean"]]
    assert made.written("c") == GOLDEN["centered"]
    assert made.written("var") == [GOLDEN["variance"]]
    assert made.eps == "0" and made["v"] == made["var"]
    for name in ("mu", "c", "q", "var", "v"):
        assert all(isinstance(cell, Fraction) for cell in made[name]) and name not in made.behind


def test_lesson_B3_the_root_is_named():
    made = lesson()
    assert made.roots == [GOLDEN["named"]] and made.behind == {"r", "xhat"}
    assert made.written("r", named=True) == ["1/sqrt(1/4)"]
    assert made.written("xhat", named=True) == ["(1/2)/sqrt(1/4)", "-(1/2)/sqrt(1/4)"]
    assert "." not in json.dumps(made.to_json())  # no decimal anywhere
    assert made.to_json()["steps"][-1] == {"name": "xhat", "named": GOLDEN["named"]}


def test_lesson_B6_the_boundary_opens():
    made = lesson()
    assert made.written("xhat") == GOLDEN["opened_eps_0"]
    last = made.to_json(opened=True, count=30)["steps"][-1]
    assert last == {
        "name": "xhat", "named": GOLDEN["named"], "closed": GOLDEN["opened_eps_0"],
        "digits": ["1." + "0" * 30, "-1." + "0" * 30],
    }  # fmt: skip


@pytest.mark.parametrize("case", GOLDEN["more"])
def test_lesson_B6_any_vector(case):
    made = ns.exact(case["x"], eps=case["eps"])
    assert (made.written("mu"), made.written("var")) == ([case["mean"]], [case["variance"]])
    assert made.written("xhat") == case["xhat_closed"]


def test_lesson_B6_eps_any_rational_or_a_symbol():
    fixed, free = lesson(eps="1/100000"), lesson(eps="eps")
    assert fixed.eps == "1/100000" and fixed["v"] == [Fraction(25_001, 100_000)]
    assert lesson().norm.eps == 0 and free.norm == ns.layer_norm(elementwise_affine=False).fit(1)
    assert fixed.roots == ["sqrt(25001/100000)"] and fixed.norm.eps == Fraction(1, 100_000)
    assert free.eps == "eps" and free.written("v") == ["1/4 + eps"] and free.roots == ["sqrt(1/4 + eps)"]
    assert free.written("r") == free.written("r", named=True) == ["1/sqrt(1/4 + eps)"]
    assert free.written("xhat") == ["(1/2)/sqrt(1/4 + eps)", "-(1/2)/sqrt(1/4 + eps)"]
    steps = {step["name"]: step for step in free.to_json(opened=True)["steps"]}
    assert steps["xhat"] == {"name": "xhat", "named": "sqrt(1/4 + eps)", "closed": free.written("xhat")}
    assert steps["var"] == {"name": "var", "values": ["1/4"]}


def test_lesson_B6_gamma_and_beta():
    made = lesson(gamma=["3", "1/2"], beta=["0", "-1"])
    assert made["scaled"] == [3, -HALF] and made["y"] == [3, -HALF - 1]
    assert made.written("y", named=True) == ["(3/2)/sqrt(1/4)", "-(1/4)/sqrt(1/4) - 1"]
    assert made.behind == {"r", "xhat", "scaled", "y"}
    assert "scaled" not in lesson(gamma=[2, 2]) and list(lesson(beta=[1, 1]))[-2:] == ["scaled", "y"]
    assert lesson(beta=[1, 1])["y"] == [2, 0] and lesson(gamma=[2, 2])["y"] == [2, -2]
    assert lesson()["y"] == lesson()["xhat"] and "y" not in lesson().program.by_name


# --- wiring


def test_post_norm_reads_the_residual_and_pre_norm_reads_x():
    post, pre = lesson(wiring="post"), lesson(wiring="pre")
    assert list(pre) == ["mu", "c", "q", "var", "v", "r", "xhat", "residual", "y"]
    assert pre["residual"] == post["residual"] == [3, 2]
    steps = [name for name in pre if name != "residual"]
    assert [pre[name] for name in steps] == [ns.exact(GOLDEN["x"])[name] for name in steps]
    assert [post[name] for name in list(post)[1:]] == [ns.exact(["3", "2"])[name] for name in list(post)[1:]]
    assert (post.wiring, pre.wiring, ns.exact([1, 2]).wiring) == ("post", "pre", "")


@pytest.mark.parametrize("norm", [ns.layer_norm(), ns.rms_norm(), ns.group_norm(2)], ids=lambda norm: norm.name)
@pytest.mark.parametrize("wiring", WIRINGS)
def test_the_residual_add_is_one_step_of_the_program(norm, wiring):
    program = forward(norm.fit(3))
    wired = residual(program, wiring)
    assert len(wired) == len(program) + 1 and wired.by_name["residual"].args == ("x", "update")
    readers = [step.name for step in wired if "x" in step.args]
    assert readers == (["residual"] if wiring == "post" else [s.name for s in program if "x" in s.args] + ["residual"])
    assert Program.from_json(wired.to_json()) == wired and wired.values["update"] == wired.values["x"]


# --- other inputs


def test_numbers_are_taken_as_they_are_written():
    made = ns.exact(["0.1", 0.1, Fraction(1, 10), " 1 / 10 ", "1e-1", "+.1", "−0.1"])
    assert made.inputs["x"] == [Fraction(1, 10)] * 6 + [Fraction(-1, 10)]
    assert ns.exact([3, "5."])["mu"] == [4]


@pytest.mark.parametrize("x", [["5", "5"], ["0", "0", "0"], ["2/3"]])
def test_a_constant_row_is_undefined_and_nothing_raises(x):
    made = ns.exact(x, gamma=["0"] * len(x), beta=["1"] * len(x))
    assert made["r"] == [Undefined("1/0")]
    for name in ("xhat", "scaled", "y"):
        assert made.written(name) == made.written(name, named=True) == ["undefined: 0/0"] * len(x)
        assert made.digits(name) == ["undefined: 0/0"] * len(x)
    assert made.to_json(opened=True)["steps"][-1]["closed"] == ["undefined: 0/0"] * len(x)
    assert ns.exact(x, eps="1/4")["xhat"] == [0] * len(x)


def test_one_row_of_many_is_undefined_alone():
    made = ns.exact([[1, 1], [1, 2]])
    assert made["xhat"] == [[Undefined("0/0")] * 2, [-1, 1]] and made.roots == [["sqrt(0)"], ["sqrt(1/4)"]]


def test_rms_and_group_norm_and_a_correction():
    assert ns.exact([3, 4], ns.rms_norm(elementwise_affine=False))["xhat"] == [
        Surd({2: Fraction(3, 5)}), Surd({2: Fraction(4, 5)}),
    ]  # fmt: skip
    made = ns.exact([[1, 3, 2, 6]], ns.group_norm(2, affine=False))
    assert made["xhat"] == [[[-1, 1], [-1, 1]]]
    assert ns.exact([1, 2], ns.Norm("[d]", correction=1))["var"] == [HALF]
    assert str(ns.exact([1], ns.Norm("[d]", correction=1))["var"][0]) == "undefined: 0/0"
    assert str(ns.exact([1, 2], ns.Norm("[d]", correction=3))["r"][0]) == "undefined: sqrt(-1/2)"


def test_two_hundred_digits_and_roots_that_stay_unreduced():
    x = [str(10**199 + 7), f"{10**200 - 1}/{10**199 + 3}", "1/3"]
    made = ns.exact(x)
    r, xhat = made["r"][0], made["xhat"]
    assert r * r * made["v"][0] == 1 and sum(xhat, Surd({})) == 0
    assert sum((cell * cell for cell in xhat), Surd({})) == 3
    assert not made.is_reduced and ns.exact([1, 2, 4]).is_reduced
    assert made.written("var")[0].partition("/")[0].isdigit()


def test_all_numbers_as_long_as_they_may_be_are_still_written():
    x = [f"{i}/{10**999 + i}" for i in (7, 9, 13)]
    made = ns.exact(x)
    assert len(made.written("xhat")[0]) > 4300 and len(made.digits("xhat", 5)[0]) == 8


# --- the rule table


def every_op() -> Program:
    build = Builder(("d",), {"x": ("d",), "z": ("d",)})
    for name, op, args, over in [
        ("plus", "add", ("x", "z"), ()), ("minus", "sub", ("x", "z"), ()), ("times", "mul", ("x", "z"), ()),
        ("root", "sqrt", ("times",), ()), ("one_over", "recip", ("minus",), ()), ("r", "rsqrt", ("plus",), ()),
        ("both", "maximum", ("root", "r"), ()), ("size", "abs", ("minus",), ()), ("top", "max", ("root",), ("d",)),
        ("all", "sum", ("r",), ("d",)), ("middle", "mean", ("root",), ("d",)),
    ]:  # fmt: skip
        build.let(name, op, *args, over=over)
    return build.program()


def test_every_op_is_exact_and_agrees_with_floats():
    program, sizes = every_op(), {"d": 3}
    assert {step.op for step in program} == set(OPS)
    given = {"x": [2, 3, 5], "z": [7, 4, 1]}
    floats = run(program, cells.rules(program, sizes), cells.inputs(program, sizes, given))
    fractions = {name: [Fraction(cell) for cell in row] for name, row in given.items()}
    ready = cells.inputs(program, sizes, fractions, reading.EXACT)
    for numbers in (reading.EXACT, reading.NAMED):
        values = run(program, cells.rules(program, sizes, numbers), ready)
        for step in program:
            shown = [float(reading.digits(cell, 25)) for cell in values[step.name].flat]
            assert shown == pytest.approx(floats[step.name].flat, rel=1e-15), step.name
    closed = run(program, cells.rules(program, sizes, reading.EXACT), ready)
    assert reading.text(closed["top"].flat[0]) == "sqrt(14)" and reading.text(closed["all"].flat[0]) == (
        "1/3 + 1/6*sqrt(6) + 1/7*sqrt(7)"
    )
    assert closed["size"].flat == [5, 1, 4]


# --- against other arithmetic


def by_decimals(x, update, gamma, beta, eps, center):
    """LayerNorm or RMSNorm written with 240 decimals, in another way: one variance formula, then one division."""
    with decimal.localcontext(prec=240):
        d = [decimal.Decimal(q.numerator) / q.denominator for q in map(sum, zip(x, update, strict=True))]
        mean = sum(d) / len(d) if center else decimal.Decimal(0)
        e = decimal.Decimal(eps.numerator) / eps.denominator
        root = (sum(v * v for v in d) / len(d) - mean * mean + e).sqrt()
        scale = [decimal.Decimal(q.numerator) / q.denominator for q in gamma]
        shift = [decimal.Decimal(q.numerator) / q.denominator for q in beta]
        return [(v - mean) / root * g + b for v, g, b in zip(d, scale, shift, strict=True)]


@given(st.data(), vectors, positive_eps, st.booleans())
def test_200_digit_decimals_agree(data, x, eps, center):
    same = st.lists(numbers, min_size=len(x), max_size=len(x))
    update, gamma = data.draw(same), data.draw(same)
    beta = data.draw(same) if center else [Fraction(0)] * len(x)
    norm = ns.layer_norm() if center else ns.rms_norm()
    made = ns.exact(x, norm, gamma, beta if center else None, update=update, eps=eps)
    for shown, wanted in zip(made.digits("y", 200), by_decimals(x, update, gamma, beta, eps, center), strict=True):
        with decimal.localcontext(prec=240):
            assert abs(decimal.Decimal(shown) - wanted) <= decimal.Decimal("0.51").scaleb(-200)


@given(vectors, st.sampled_from([Fraction(0), *map(Fraction, (1, 2))]))
@settings(max_examples=40)
def test_sympy_has_the_same_closed_forms(x, eps):
    assume(eps or len(set(x)) > 1)
    made = ns.exact(x, eps=eps)
    row = [sympy.Rational(str(cell)) for cell in x]
    mean = sum(row) / len(row)
    variance = sum((cell - mean) ** 2 for cell in row) / len(row)
    for text, cell in zip(made.written("xhat"), row, strict=True):
        wanted = (cell - mean) / sympy.sqrt(variance + sympy.Rational(str(eps)))
        assert sympy.radsimp(sympy.sympify(text, rational=True) - wanted) == 0
        assert sympy.sympify(text).count(sympy.Pow) == sympy.radsimp(wanted).count(sympy.Pow)


@given(vectors)
@settings(max_examples=30)
def test_sympy_has_the_same_formula_of_eps(x):
    made, eps = ns.exact(x, eps="eps"), sympy.Symbol("eps")
    row = [sympy.Rational(str(cell)) for cell in x]
    mean = sum(row) / len(row)
    variance = sum((cell - mean) ** 2 for cell in row) / len(row)
    for text, cell in zip(made.written("xhat"), row, strict=True):
        shown = sympy.sympify(text, locals={"eps": eps}, rational=True)
        assert sympy.simplify(shown - (cell - mean) / sympy.sqrt(variance + eps)) == 0


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=6), st.sampled_from([1e-5, 0.5]))
def test_float64_is_within_its_bound_of_the_exact_value(x, eps):
    """c errs by (n + 2) u max|x|; r c by that and by r's relative error, all of them times r: n + 8 units."""
    floats = ns.trace(x, ns.Norm("[d]", eps=eps))
    made = ns.exact([Fraction(cell) for cell in x], eps=eps)  # the doubles, not the decimals that they print as
    unit, n = Fraction(1, 2**53), len(x)
    largest = max(map(abs, made.inputs["x"]))
    r = Fraction(reading.digits(made["r"][0], 40))
    bound = unit * (n + 8) * (largest * r + 1) * (1 + largest * r)
    for shown, cell in zip(floats["xhat"], made["xhat"], strict=True):
        assert abs(Fraction(shown) - Fraction(reading.digits(cell, 40))) <= bound + Fraction(1, 10**39)
    for name in ("mu", "c"):
        for shown, cell in zip(floats[name], made[name], strict=True):
            assert abs(Fraction(shown) - cell) <= unit * (n + 2) * largest + Fraction(math.ulp(0.0))


@given(vectors)
def test_rows_have_mean_zero_and_mean_square_one(x):
    assume(len(set(x)) > 1)
    made = ns.exact(x)
    assert sum(made["xhat"], Surd({})) == 0
    assert sum((cell * cell for cell in made["xhat"]), Surd({})) == len(x)


@given(vectors, positive_eps)
def test_the_named_values_are_the_closed_ones(x, eps):
    made = ns.exact(x, eps=eps)
    assert [reading.digits(cell, 40) for cell in made.named("xhat")] == made.digits("xhat", 40)


def test_opening_a_thousand_digits_bounds_each_cell_twice_at_most(monkeypatch):
    made = ns.exact([1, 2, 4, "2/3", 5, 6, 7, "8.5"])
    asked = []
    between = Surd.between
    monkeypatch.setattr(Surd, "between", lambda self, bits: asked.append(bits) or between(self, bits))
    shown = made.digits("xhat", 1000)
    assert all(len(text.partition(".")[2]) == 1000 for text in shown)
    assert len(asked) <= 2 * len(shown) and max(asked) <= 8192
