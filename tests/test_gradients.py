"""The textbook backward pass: proved equal to reverse mode in exact numbers, and the facts it is told by."""

import json
from fractions import Fraction
from math import inf, prod
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

import normscope as ns
from normscope.gradients import GRADIENTS, saved_values, training
from normscope.run import run
from normscope.steps import NUMBERS
from normscope.views import cells
from normscope.views import exact as reading
from normscope.views.arrays import rules as array_rules
from normscope.views.opaque import symbol
from normscope.views.staged import rules as staged_rules

PHASES = [phase for phase in Phase if phase is not Phase.shrink]  # exact numbers shrink for minutes
SMALL = st.fractions(-3, 3, max_denominator=4)
POSITIVE = st.fractions(Fraction(1, 4), 3, max_denominator=4)
NAMED = {
    "layer_norm": (ns.Norm("B [d]", "d"), {"B": 2, "d": 3}),
    "layer_norm_row": (ns.Norm("[d]", "d"), {"d": 4}),
    "layer_norm_every_axis": (ns.layer_norm([2, 2]).fit(2), {"d1": 2, "d2": 2}),
    "layer_norm_no_affine": (ns.Norm("B [d]"), {"B": 2, "d": 3}),
    "scale_only": (ns.Norm("B [d]", "d", shift=False), {"B": 2, "d": 3}),
    "shift_only": (ns.Norm("B [d]", "d", scale=False), {"B": 2, "d": 3}),
    "correction": (ns.Norm("B [d]", "d", correction=1), {"B": 2, "d": 3}),
    "rms_norm": (ns.rms_norm(eps=1).fit(2), {"S": 2, "d": 3}),
    "rms_norm_correction": (ns.Norm("B [d]", "d", center=False, correction=1), {"B": 2, "d": 3}),
    "batch_norm": (ns.batch_norm().fit(3), {"N": 2, "C": 2, "L": 2}),
    "batch_norm_evaluation": (ns.batch_norm(training=False).fit(3), {"N": 2, "C": 2, "L": 2}),
    "running_without_mean": (ns.Norm("[N] C", "C", running=True, center=False), {"N": 3, "C": 2}),
    "instance_norm": (ns.instance_norm(affine=True).fit(3), {"N": 1, "C": 2, "L": 3}),
    "group_norm": (ns.group_norm(2).fit(3), {"N": 1, "g": 2, "c": 2, "L": 2}),
    "affine_of_a_kept_axis": (ns.Norm("B [d]", "B"), {"B": 2, "d": 3}),
    "affine_of_some_reduced_axes": (ns.Norm("B [h d]", "B h"), {"B": 2, "h": 2, "d": 2}),
}
EVERY = [pytest.param(*case, id=name) for name, case in NAMED.items()]


def exact_values(norm: ns.Norm, sizes: dict[str, int], data: Any, eps: Any) -> dict[str, Any]:
    """Every value of the forward pass and a dy, all in exact numbers that hypothesis draws."""
    program = training(norm)
    nested = {"eps": eps}
    for name, axes in program.inputs:
        if name not in NUMBERS:
            count = prod(sizes[axis] for axis in axes)
            kind = POSITIVE if name == "running_var" else SMALL
            nested[name] = data.draw(st.lists(kind, min_size=count, max_size=count), name)
    made = cells.inputs(program, sizes, nested, reading.EXACT)
    forward = ns.forward(norm)
    return made | run(forward, cells.rules(forward, sizes, reading.EXACT), made)


def gradients(program: ns.Program, sizes: dict[str, int], values: dict[str, Any]) -> dict[str, list[Any]]:
    made = run(program, cells.rules(program, sizes, reading.EXACT), values)
    names = {"dbeta": made["dy"]} | {name: made[name] for name in GRADIENTS if name in made}
    return {name: value.flat for name, value in names.items()}


def has_spread(norm: ns.Norm, sizes: dict[str, int]) -> bool:
    """Whether the variance is defined: a correction leaves a cell to count."""
    return norm.running or prod(sizes[axis] for axis in norm.over) > norm.correction


def same(norm: ns.Norm, sizes: dict[str, int], values: dict[str, Any]) -> None:
    textbook = gradients(ns.backward(norm), sizes, values)
    wanted = {"dx": True, "dgamma": norm.scale, "dbeta": norm.shift}
    for other in (ns.derive(ns.forward(norm)), ns.backward(norm, "x")):
        found = gradients(other, sizes, values)
        for name in (name for name, has in wanted.items() if has):
            assert found[name] == textbook[name], name


@pytest.mark.parametrize("norm, sizes", EVERY)
@given(data=st.data())
@settings(max_examples=8, deadline=None, phases=PHASES)
def test_reverse_mode_is_the_textbook(norm, sizes, data):
    same(norm, sizes, exact_values(norm, sizes, data, data.draw(POSITIVE, "eps")))


@pytest.mark.parametrize("norm, sizes", EVERY)
@given(data=st.data())
@settings(max_examples=3, deadline=None, phases=PHASES)
def test_reverse_mode_is_the_textbook_for_every_eps_at_once(norm, sizes, data):
    """With eps a symbol both are formulas of it, equal term by term."""
    same(norm, sizes, exact_values(norm, sizes, data, symbol("eps")))


@st.composite
def norms(draw):
    """Any norm over one to three axes of one to three cells each."""
    names = ("N", "C", "H")[: draw(st.integers(1, 3))]
    over = draw(st.sets(st.sampled_from(names), min_size=1))
    affine = [name for name in names if draw(st.booleans())]
    norm = ns.Norm(
        " ".join(f"[{name}]" if name in over else name for name in names),
        affine=" ".join(affine) or None,
        correction=draw(st.integers(0, 1)),
        center=draw(st.booleans()),
        scale=draw(st.booleans()),
        shift=draw(st.booleans()),
        running=draw(st.booleans()),
    )
    return norm, {name: draw(st.integers(1, 3)) for name in names}


@given(norms(), st.data())
@settings(max_examples=60, deadline=None, phases=PHASES)
def test_reverse_mode_is_the_textbook_for_any_norm(case, data):
    norm, sizes = case
    assume(has_spread(norm, sizes))
    same(norm, sizes, exact_values(norm, sizes, data, data.draw(POSITIVE, "eps")))


# Facts


def exact_rows(x, dy, eps="1/7", gamma=None, norm=None):
    return ns.exact(x, norm, gamma, dy=dy, eps=eps)


ROW = st.lists(SMALL, min_size=4, max_size=4)


@given(ROW, ROW, ROW)
@settings(max_examples=20, deadline=None, phases=PHASES)
def test_the_mean_of_xhat_is_0_so_that_the_mean_takes_one_term_away(x, dy, gamma):
    """In reverse mode var reaches x through the mean as well: 2 c / n summed over a row, which is exactly 0."""
    made = exact_rows(x, dy, gamma=gamma)
    assert sum(made["xhat"]) == 0 == sum(made["c"])
    program = ns.derive(ns.forward(made.norm))
    values = {**{name: made._values[name] for name in made.program.values}}
    back = run(program, cells.rules(program, made.sizes, reading.EXACT), values)
    assert sum(back["dc_via_q"].flat) == 0
    assert back["dx_via_mu"].flat[0] == -sum(back["dc_via_xhat"].flat) * Fraction(1, 4)


@given(ROW, ROW, ROW)
@settings(max_examples=20, deadline=None, phases=PHASES)
def test_a_row_of_dx_sums_to_0_and_lies_across_xhat(x, dy, gamma):
    assume(len(set(x)) > 1)
    assert sum(exact_rows(x, dy, gamma=gamma)["dx"]) == 0
    made = exact_rows(x, dy, gamma=gamma, eps=0)
    assert sum(a * b for a, b in zip(made["dx"], made["xhat"], strict=True)) == 0
    assert sum(a * b for a, b in zip(made["across"], made["along"], strict=True)) == 0


@given(ROW)
@settings(max_examples=20, deadline=None, phases=PHASES)
def test_the_sum_of_y_has_no_gradient_without_gamma(x):
    """A row of xhat sums to 0 whatever x is, so that the sum of y is that of beta."""
    made = exact_rows(x, [1] * 4)
    assert made["dx"] == [0] * 4 and sum(made["y"]) == 0
    assert made["mean_dxhat"] == [1] and made["mean_dxhat_xhat"] == [0]


def test_the_sum_of_y_has_a_gradient_with_gamma_and_in_rms_norm():
    assert exact_rows([1, 2, 4], [1] * 3, gamma=[1, 2, 3])["dx"] != [0] * 3
    assert exact_rows([1, 2, 4], [1] * 3, norm=ns.rms_norm(elementwise_affine=False))["dx"] != [0] * 3


def test_a_dx_by_hand():
    """var = 1 and eps = 3: r = 1/2, xhat = -1/2 1/2. dy = 1 0: the means are 1/2 and -1/4.

    dx = 1/2 * (1 - 1/2 - 1/8, 0 - 1/2 + 1/8).
    """
    made = exact_rows([1, 3], [1, 0], eps=3)
    assert made["mean_dxhat"] == [Fraction(1, 2)] and made["mean_dxhat_xhat"] == [Fraction(-1, 4)]
    assert made["along"] == [Fraction(1, 8), Fraction(-1, 8)]
    assert made["dx"] == [Fraction(3, 16), Fraction(-3, 16)]
    corrected = exact_rows([1, 3], [1, 0], eps=2, norm=ns.Norm("[d]", correction=1))
    assert corrected["mean_dxhat_xhat"] == [Fraction(-1, 2)] and corrected["dx"] == [Fraction(1, 8), Fraction(-1, 8)]


def test_post_norm_hands_dx_to_x_and_to_the_update():
    made = ns.exact([1, 2], update=[0, 1], eps=3, dy=[1, 0])
    assert made["dx"] == ns.exact([1, 3], eps=3, dy=[1, 0])["dx"]
    derived = ns.derive(ns.steps.residual(ns.forward(made.norm)))
    back = run(derived, cells.rules(derived, made.sizes, reading.EXACT), made._values)
    assert back["dx"].flat == back["dupdate"].flat == made["dx"]


# What is saved


@pytest.mark.parametrize(
    "norm, textbook, pytorch",
    [
        (ns.Norm("B [d]", "d"), ("r", "xhat"), ("x", "mu", "r")),
        (ns.Norm("B [d]", "d", center=False), ("r", "xhat"), ("x", "r")),
        (ns.Norm("[N] C", "C", running=True), ("r", "xhat"), ("x", "running_mean", "r")),
        (ns.Norm("[N] C", running=True), ("r",), ("r",)),
    ],
    ids=["layer", "rms", "evaluation", "evaluation without gamma"],
)
def test_what_is_saved(norm, textbook, pytorch):
    assert saved_values(norm) == textbook
    assert saved_values(norm, "x") == pytorch


@pytest.mark.parametrize("norm, sizes", EVERY)
def test_the_two_passes_are_one_program(norm, sizes):
    both = training(norm)
    assert both.steps == ns.forward(norm).steps + ns.backward(norm).steps
    assert ns.Program.from_json(json.loads(json.dumps(both.to_json()))) == both
    derived = ns.derive(ns.forward(norm))
    assert ns.Program.from_json(json.loads(json.dumps(derived.to_json()))) == derived


# The trace


def arrays(norm: ns.Norm, sizes: dict[str, int]) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    shape = tuple(prod(sizes[axis] for axis in dim) for dim in norm.layout.dims)
    kept = [sizes[axis] for axis in norm.kept]
    made = {"x": rng.normal(size=shape), "dy": rng.normal(size=shape)}
    made |= {"gamma": rng.normal(size=norm.param_shape(sizes))} if norm.scale else {}
    made |= {"beta": rng.normal(size=norm.param_shape(sizes))} if norm.shift else {}
    made |= {"running_mean": rng.normal(size=kept)} if norm.running and norm.center else {}
    return made | ({"running_var": rng.uniform(1, 2, kept)} if norm.running else {})


@pytest.mark.parametrize("norm, sizes", EVERY)
def test_cells_and_arrays_agree_and_gradients_have_the_shapes_of_what_they_are_of(norm, sizes):
    given = arrays(norm, sizes)
    array = ns.trace(norm=norm, **given)
    plain = ns.trace(norm=norm, **{name: value.tolist() for name, value in given.items()})
    assert list(array) == list(plain)
    for name, value in array.gradients.items():
        assert value.shape == given[name[1:]].shape
        np.testing.assert_allclose(plain.gradients[name], value, rtol=1e-12, atol=1e-13)
    assert set(array.gradients) == {"dx"} | ({"dgamma"} if norm.scale else set()) | ({"dbeta"} if norm.shift else set())


def test_a_gradient_that_is_dy_goes_by_its_name_too():
    made = ns.trace([[1.0, 2.0]], ns.layer_norm(elementwise_affine=False), dy=[[3.0, 5.0]])
    assert made["dxhat"] == [[3.0, 5.0]] and list(made)[-2:] == ["dxhat", "dx"]
    whole = ns.trace([1.0, 2.0], dy=[3.0, 5.0])
    assert whole["dbeta"] == whole.gradients["dbeta"] == [3.0, 5.0]


def test_without_dy_there_is_no_way_back():
    made = ns.trace([[1.0, 2.0]])
    assert made.gradients == {} and "dx" not in made


def test_no_rows_have_parameters_whose_gradient_is_0():
    made = ns.trace(np.zeros((0, 3)), dy=np.zeros((0, 3)))
    assert made.gradients["dgamma"].tolist() == [0, 0, 0] and made.gradients["dx"].shape == (0, 3)


def test_a_float32_dy_stays_float32_and_a_half_is_widened():
    x = np.float32([[1, 2, 4]])
    assert ns.trace(x, dy=x.astype(np.float64))["dx"].dtype == np.float32
    assert ns.trace(x.astype(np.float16), dy=x)["dx"].dtype == np.float32


@pytest.mark.parametrize("norm, sizes", EVERY)
def test_every_reading_of_values_knows_the_derived_steps(norm, sizes):
    made = ns.trace(norm=norm, **arrays(norm, sizes))
    program = ns.derive(ns.forward(norm))
    values = {name: made._values[name] for name, _ in program.inputs}
    apart = run(program, array_rules(program, sizes, np), values)
    buffers = {}
    run(program, staged_rules(program, norm, sizes, np.dtype("float64"), buffers), values)
    for name in (name for name in GRADIENTS if name in program.by_name):
        np.testing.assert_allclose(apart[name], made[name], rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(buffers[name], made[name], rtol=1e-5, atol=1e-5)  # statistics in float32


# Finite differences


@pytest.mark.parametrize("norm, sizes", EVERY)
def test_finite_differences_of_every_cell(norm, sizes):
    made = ns.trace(norm=norm, **arrays(norm, sizes))
    for name in (gradient[1:] for gradient in made.gradients):
        for index in np.ndindex(*(sizes[axis] for axis in made.axes(name))):
            found = ns.difference(made, name, index)
            assert found.gradient == made[f"d{name}"].reshape([sizes[axis] for axis in made.axes(name)])[index]
            assert found.slope == pytest.approx(found.gradient, rel=1e-6, abs=1e-8), (name, index)


def test_a_finite_difference_far_from_0_takes_a_step_of_the_spread():
    x = [[1e6, 1e6 + 100, 1e6 + 300]]
    made = ns.trace(x, dy=[[1, 0, 2]])
    found = ns.difference(made, "x", (0, 1))
    assert 2**-17 < found.step * made["r"][0][0] < 2**-10
    assert found.slope == pytest.approx(found.gradient, rel=1e-5)
    assert found.low < found.high if found.gradient > 0 else found.low > found.high


def exact_slope(eps):
    """d sum(dy * xhat) / dx_0 of x = m + [1, 2, 4] and dy = [1, 0, 1/2], whatever m is: by the Jacobian's row."""
    c, dy = [Fraction(n, 3) for n in (-4, -1, 5)], [1, 0, Fraction(1, 2)]
    v = sum(cell * cell for cell in c) / 3 + Fraction(eps)
    row = [(i == 0) - Fraction(1, 3) - c[0] * c[i] / (3 * v) for i in range(3)]
    return float(sum(a * b for a, b in zip(row, dy, strict=True))) / float(v) ** 0.5


@pytest.mark.parametrize("eps", ["22/9", "1e-5", "0"])
@pytest.mark.parametrize(
    "m, within", [(0, 1e-9), (-1e4, 1e-7), (1e8, 1e-4), (1e10, 2e-3)], ids=lambda value: f"{value:g}"
)
def test_a_finite_difference_at_any_offset(m, within, eps):
    made = ns.trace([m + 1, m + 2, m + 4], ns.layer_norm(eps=eps), dy=[1, 0, 0.5])
    found = ns.difference(made)
    assert found.slope == pytest.approx(exact_slope(eps), rel=within)
    assert found.moved == Fraction(m + 1 + found.step) - Fraction(m + 1 - found.step) > 0


def test_where_float64_is_too_coarse_there_is_no_step():
    made = ns.trace([1e12 + 1, 1e12 + 2, 1e12 + 4], ns.layer_norm(), dy=[1, 0, 0.5])
    found = ns.difference(made)
    assert (found.step, found.moved, found.slope) == (0, 0, None) and found.low == found.high
    assert ns.difference(made, step=1e-5).slope is None  # 1e12 has no neighbour so near
    assert ns.difference(made, step=0.1).slope == pytest.approx(exact_slope("1e-5"), rel=0.02)  # asked for, and rough
    for row in ([5.0], [3.0, 3.0], [1.0, inf]):
        undefined = ns.trace(row, ns.layer_norm(eps=0), dy=[1.0] * len(row))
        assert ns.difference(undefined).slope is None


def test_the_slope_is_by_the_way_that_the_cell_has_moved():
    """Near 1e10 the neighbours are 2**-19 apart: a step of 3e-6 is one of 2**-18 or 2**-19."""
    made = ns.trace([1e10, 1e10 + 2], ns.rms_norm(eps=0), dy=[1.0, 0.0])
    found = ns.difference(made, step=3e-6)
    assert found.moved == 2 * 2.0**-18 != 2 * found.step
    assert found.slope == (found.high - found.low) / 2.0**-17


@pytest.mark.parametrize("gamma", [0.0, 3.0, -1e20])
def test_a_parameter_moves_whatever_its_size(gamma):
    made = ns.trace([1.0, 2.0, 4.0], ns.layer_norm(), [gamma, 1.0, 1.0], dy=[1.0, 0.0, 0.5])
    found = ns.difference(made, "gamma")
    assert found.moved == 2 * found.step and found.slope == pytest.approx(made["dgamma"][0], rel=1e-12)


def test_a_larger_step_is_further_off_by_its_square():
    made = ns.trace([[1.0, 2.0, 4.0]], dy=[[1.0, 0.0, 0.0]])
    off = [abs((found := ns.difference(made, "x", (0, 0), step)).slope - found.gradient) for step in (0.1, 0.01)]
    assert 80 < off[0] / off[1] < 120
