"""Reverse mode against forward mode: dual numbers, run through the same rules, know nothing of gradients' steps."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

import normscope as ns
from normscope.errors import ProgramError
from normscope.program import OPS, REDUCTIONS, Builder
from normscope.run import run
from normscope.views import arrays, cells
from normscope.views import exact as reading
from normscope.views.derive import RULES, derive

AXES = ("a", "b")
SIZES = {"a": 2, "b": 3}
ZERO = Fraction(0)


@dataclass(frozen=True)
class Dual:
    """value + slope * t, where t * t is 0: what a value does while its inputs move along a line."""

    value: Fraction
    slope: Fraction = ZERO

    def __add__(self, other: "Dual") -> "Dual":
        return Dual(self.value + other.value, self.slope + other.slope)

    def __sub__(self, other: "Dual") -> "Dual":
        return Dual(self.value - other.value, self.slope - other.slope)

    def __mul__(self, other: "Dual") -> "Dual":
        return Dual(self.value * other.value, self.value * other.slope + self.slope * other.value)


def total(values: Any) -> Dual:
    return Dual(sum((each.value for each in values), ZERO), sum((each.slope for each in values), ZERO))


def mean(values: Any, count: int) -> Dual:
    whole = total(values)
    return Dual(whole.value / count, whole.slope / count)


def sqrt(each: Dual) -> Dual:
    root = reading.root(each.value).rational  # of squares alone
    return Dual(root, each.slope / (2 * root))


def recip(each: Dual) -> Dual:
    return Dual(1 / each.value, -each.slope / each.value**2)


def dual(value: Any) -> Dual:
    return value if isinstance(value, Dual) else Dual(Fraction(value))


DUALS = cells.Numbers(dual, total, mean, sqrt, recip)
PHASES = [phase for phase in Phase if phase is not Phase.shrink]  # which takes minutes here
CELL = st.fractions(-2, 2, max_denominator=3)


@st.composite
def programs(draw):
    """A program of one to seven steps of rational ops, over inputs with all, some and no axes."""
    inputs = {"x": AXES, "w": ("b",), "s": ()}
    build = Builder(AXES, inputs)
    names = list(inputs)
    subsets = st.sampled_from([(), ("a",), ("b",), AXES])
    for i in range(draw(st.integers(1, 7))):
        op = draw(st.sampled_from(["add", "sub", "mul", "mul", "sum", "mean", "recip"]))
        arg = draw(st.sampled_from(names))
        if op in ("add", "sub", "mul"):
            names.append(build.let(f"t{i}", op, arg, draw(st.sampled_from([*names, Fraction(2, 3)]))))
        elif op == "recip":
            names.append(build.let(f"t{i}", op, arg))
        else:
            over = draw(subsets.filter(bool) if op == "sum" else subsets)
            per = () if op == "sum" else draw(subsets if over else subsets.filter(bool))
            less = 0 if op == "sum" else draw(st.sampled_from([0, 7]))  # a count here is 2, 3 or 6
            names.append(build.let(f"t{i}", op, arg, over=over, per=per, less=less))
    return build.program()


def values(program: ns.Program, data: Any) -> dict[str, Any]:
    sizes = {name: program.shape(name, SIZES) for name in program.values}
    draw = {name: int(np.prod(sizes[name])) for name, _ in program.inputs}
    return {
        name: cells.Cells(sizes[name], data.draw(st.lists(CELL, min_size=count, max_size=count), name))
        for name, count in draw.items()
    }


def moved(program: ns.Program, given: dict[str, Any], along: dict[str, Any]) -> dict[str, Any]:
    """Every value as a dual number, the inputs moving along a direction."""
    duals = {
        name: cells.Cells(each.shape, [Dual(*pair) for pair in zip(each.flat, along[name].flat, strict=True)])
        for name, each in given.items()
    }
    return run(program, cells.rules(program, SIZES, DUALS), duals)


def agree(program: ns.Program, data: Any, given: dict[str, Any] | None = None) -> None:
    """sum(dy * slope of the output) is the sum of gradient * direction, over all inputs; exactly."""
    of = program.steps[-1].name
    wanted = [name for name, _ in program.inputs if of in program.feeds[name]]
    assume(wanted)
    back = derive(program, of, wanted)
    given = given or values(program, data)
    along = values(program, data)
    try:
        there = moved(program, given, along)
    except ZeroDivisionError:
        assume(False)
    plain = {name: cells.Cells(each.shape, [cell.value for cell in each.flat]) for name, each in there.items()}
    shape = program.shape(of, SIZES)
    size = int(np.prod(shape))
    dy = cells.Cells(shape, data.draw(st.lists(CELL, min_size=size, max_size=size), "dy"))
    made = run(back, cells.rules(back, SIZES, reading.EXACT), plain | {"dy": dy})
    forward = sum(g * cell.slope for g, cell in zip(dy.flat, there[of].flat, strict=True))
    backward = ZERO
    for name in wanted:
        wide = along[name].shape
        spread = cells.spread(made[f"d{name}"], wide, reading.EXACT)
        backward += sum(g * v for g, v in zip(spread, along[name].flat, strict=True))
    assert backward == forward


@given(programs(), st.data())
@settings(max_examples=60, deadline=None, phases=PHASES)
def test_reverse_mode_is_forward_mode(program, data):
    agree(program, data)


@pytest.mark.parametrize("op", ["sqrt", "rsqrt", "recip"])
@given(data=st.data())
@settings(max_examples=10, deadline=None, phases=PHASES)
def test_roots_and_reciprocals_of_squares(op, data):
    build = Builder(AXES, {"x": AXES})
    build.let("u", op, "x")
    squares = [cell**2 for cell in data.draw(st.lists(CELL.filter(bool), min_size=6, max_size=6))]
    agree(build.program(), data, {"x": cells.Cells((2, 3), squares)})


def test_every_op_has_a_rule():
    assert set(RULES) == set(OPS)


@pytest.mark.parametrize("op", ["maximum", "abs", "max"])
def test_a_kink_is_refused_by_the_name_of_its_step(op):
    build = Builder(("d",), {"x": ("d",)})
    args = ("x", "x") if op == "maximum" else ("x",)
    build.let("bend", op, *args, over=("d",) if op == "max" else ())
    build.let("y", "add", "bend", "x")
    with pytest.raises(ProgramError, match=f"^step 'bend': {op} has a kink"):
        derive(build.program())


def test_a_kink_that_nothing_asked_for_goes_through_is_no_matter():
    build = Builder(("d",), {"x": ("d",), "eps": ()})
    build.let("size", "abs", "eps")
    build.let("y", "add", "x", "size")
    assert [step.name for step in derive(build.program())] == ["dx"]


def line(*steps: tuple[str, ...], axes: tuple[str, ...] = ("d",)) -> ns.Program:
    build = Builder(("d",), {"x": axes})
    for name, op, *args in steps:
        build.let(name, op, *args, over=("d",) if op in REDUCTIONS else ())
    return build.program()


@pytest.mark.parametrize(
    ("program", "wanted"),
    [
        (line(("y", "add", "x", "x")), ["dx[d] = add(dy, dy)"]),
        (line(("y", "mul", "x", "x")), ["dy_twice[d] = mul(dy, 2)", "dx[d] = mul(dy_twice, x)"]),
        (line(("y", "mean", "x")), ["dx[] = mean(dy) per d"]),
        (line(("m", "mean", "x"), ("y", "mul", "m", "m")), [
            "dy_twice[] = mul(dy, 2)", "dm[] = mul(dy_twice, m)", "dx[] = mean(dm) per d",
        ]),
        (line(("dead", "recip", "x"), ("y", "sum", "x")), ["dx[] = mul(dy, 1)"]),
        (line(("y", "sum", "x"), axes=()), ["dx[] = sum(dy) over d"]),
        (line(("y", "sub", "x", "x")), ["dx_via_y[d] = mul(dy, -1)", "dx[d] = add(dy, dx_via_y)"]),
        (line(("u", "add", "x", "x"), ("y", "add", "u", "x")), [
            "dx_so_far[d] = add(dy, dy)", "dx[d] = add(dx_so_far, dy)",
        ]),
    ],
    ids=["twice", "square", "mean", "chain", "pruned", "broadcast sum", "difference", "thrice"],
)  # fmt: skip
def test_programs_small_enough_to_read(program, wanted):
    assert [str(step) for step in derive(program)] == wanted


def test_layer_norm_is_derived_without_a_step_too_many():
    names = [step.name for step in derive(ns.forward(ns.Norm("S [d]", "d")))]
    assert names == [
        "dbeta", "dxhat", "dgamma_cells", "dgamma", "dc_via_xhat", "dr_cells", "dr", "r_squared", "r_cubed",
        "dr_minus_half", "dv", "dq", "dq_twice", "dc_via_q", "dc", "dmu_cells", "dmu", "dx_via_mu", "dx",
    ]  # fmt: skip


def test_a_gradient_of_any_value_with_respect_to_any():
    program = ns.forward(ns.Norm("S [d]", "d"))
    assert [str(step) for step in derive(program, "var", ["c"])] == [
        "dq[S] = mean(dy) per d", "dq_twice[S] = mul(dq, 2)", "dc[S d] = mul(dq_twice, c)",
    ]  # fmt: skip
    assert derive(program, "y", ["eps"]).by_name["deps"].over == ("S",)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_know_a_share_and_a_sum_along_a_missing_axis(dtype):
    build = Builder(AXES, {"x": ("a",)})
    build.let("share", "mean", "x", per=AXES, less=1)
    build.let("m", "mean", "x", over=("b",))
    build.let("n", "sum", "x", over=AXES)
    build.let("most", "max", "x", over=AXES)
    program = build.program()
    given = {"x": np.array([[1], [4]], dtype)}
    made = run(program, arrays.rules(program, SIZES, np), given)
    assert made["share"].tolist() == pytest.approx(np.array([[0.2], [0.8]]))
    assert made["m"].tolist() == [[1], [4]] and made["n"].tolist() == [[15]] and made["most"].tolist() == [[4]]
    plain = run(program, cells.rules(program, SIZES), cells.inputs(program, SIZES, {"x": [[1], [4]]}))
    assert plain["share"].flat == [0.2, 0.8] and plain["n"].flat == [15] and plain["most"].flat == [4]
    assert {made[name].dtype for name in made} == {np.dtype(dtype)}
