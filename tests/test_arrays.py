"""Traces of arrays: the Array API standard suffices; dtypes, shapes and names; the rule tables are whole."""

from fractions import Fraction

import array_api_strict as strict
import ml_dtypes
import numpy as np
import pytest

import normscope as ns
from normscope.program import OPS, Builder
from normscope.run import run
from normscope.views import arrays, cells, ledger, staged

RNG = np.random.default_rng(0)
NORMS = {  # name: norm, shape of x, shape of gamma
    "layer_norm": (ns.layer_norm(), (2, 4, 8), (8,)),
    "layer_norm_two_axes": (ns.layer_norm([4, 8]), (2, 4, 8), (4, 8)),
    "rms_norm": (ns.rms_norm(), (2, 4, 8), (8,)),
    "batch_norm": (ns.batch_norm(), (2, 3, 4, 5), (3,)),
    "batch_norm_evaluation": (ns.batch_norm(training=False), (2, 3, 4), (3,)),
    "instance_norm": (ns.instance_norm(affine=True), (2, 3, 4, 5), (3,)),
    "group_norm": (ns.group_norm(2), (2, 6, 4, 5), (6,)),
    "per_group": (ns.Norm("N (g [c]) [...]", "g", sizes={"g": 3}), (2, 6, 4), (3,)),
    "corrected": (ns.Norm("B S [d]", "d", correction=1), (2, 3, 4), (4,)),
    "corrected_to_nothing": (ns.Norm("B S [d]", "d", correction=1), (2, 3, 1), (1,)),
    "over_tokens": (ns.Norm("[B S] d", "d"), (2, 3, 4), (4,)),
    "everything": (ns.Norm("[B d]"), (2, 3), ()),
}


def given(name, dtype="float64"):
    norm, shape, params = NORMS[name]
    made = {"x": RNG.normal(size=shape) * 2 + 1}
    affine = [name for name, has in (("gamma", norm.scale), ("beta", norm.shift)) if has]
    made |= {key: RNG.normal(size=params) for key in affine}
    if norm.running:
        made |= {"running_mean": RNG.normal(size=params), "running_var": RNG.uniform(1, 2, params)}
    return norm, {key: value.astype(dtype) for key, value in made.items()}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", NORMS)
def test_the_standard_suffices(name, dtype):
    """array-api-strict has nothing but the standard; what it gives is what NumPy gives."""
    norm, inputs = given(name, dtype)
    expected = ns.trace(norm=norm, **inputs)
    with np.errstate(all="ignore"):  # array-api-strict is NumPy underneath, and has no errstate to ask for
        trace = ns.trace(norm=norm, **{key: strict.asarray(value) for key, value in inputs.items()})
    assert list(trace) == list(expected)
    for step in [*trace, "y"]:
        assert isinstance(trace[step], type(strict.asarray(0)))
        assert trace[step].dtype == getattr(strict, dtype)
        assert np.array_equal(np.asarray(trace[step]), expected[step], equal_nan=True), step
    assert np.array_equal(np.asarray(trace.output), expected.output, equal_nan=True)


def test_the_standard_suffices_for_integers_defaults_and_running_statistics():
    trace = ns.trace(strict.asarray([[1, 3], [2, 8]]))
    assert trace["y"].dtype == strict.float64
    assert trace.notes[0] == "x is int64; computed in float64."
    update = ns.running_statistics(strict.asarray([[1.0], [3.0]]), ns.batch_norm(), [0.0], [1.0])
    assert float(update["new_running_mean"][0, 0]) == 0.2
    none = ns.trace(strict.asarray([[1.0, 3.0]], dtype=strict.float32), ns.rms_norm())
    assert none.inputs["eps"] == 2.0**-23


@pytest.mark.parametrize("name", NORMS)
def test_shapes(name):
    """Every step has every axis of the program; the axes that a statistic lacks have size 1."""
    norm, inputs = given(name)
    trace = ns.trace(norm=norm, **inputs)
    for step in trace:
        sizes = [trace.sizes[axis] if axis in trace.axes(step) else 1 for axis in trace.program.axes]
        assert trace[step].shape == tuple(sizes) == trace.shape_of(step)
    assert trace["r"].size == np.prod([trace.sizes[axis] for axis in trace.norm.kept])
    assert trace.output.shape == inputs["x"].shape


def test_a_grouped_norm_has_the_axes_of_its_pattern_and_the_output_of_x():
    norm, inputs = given("group_norm")
    trace = ns.trace(norm=norm, **inputs)
    assert trace.program.axes == ("N", "g", "c", "H", "W")
    assert (trace["mu"].shape, trace["y"].shape) == ((2, 2, 1, 1, 1), (2, 2, 3, 4, 5))
    assert np.array_equal(trace.output, trace["y"].reshape(2, 6, 4, 5))
    plain = ns.trace(norm=norm, **{key: value.tolist() for key, value in inputs.items()})
    assert np.shape(plain["y"]) == (2, 2, 3, 4, 5)
    assert np.shape(plain.output) == (2, 6, 4, 5)


def test_an_affine_of_groups_has_one_value_a_group():
    norm, inputs = given("per_group")
    trace = ns.trace(norm=norm, **inputs)
    repeated = np.repeat(inputs["gamma"], 2), np.repeat(inputs["beta"], 2)
    assert np.array_equal(trace.output, ns.trace(inputs["x"], ns.group_norm(3), *repeated).output)


def test_a_trace_is_a_mapping_of_its_steps():
    trace = ns.trace([[1.0, 3.0]], gamma=[2.0, 2.0])
    assert list(trace) == ["mu", "c", "q", "var", "v", "r", "xhat", "scaled", "y"]
    assert len(trace) == 9
    assert dict(trace)["mu"] == trace["mu"] == [[2.0]]
    assert "y" in trace
    assert "gamma" not in trace
    assert trace.get("sigma") is None
    assert list(trace.inputs) == ["x", "gamma", "beta", "eps"]
    assert trace.notes == ("beta is not given: zeros, its initial value.",)
    assert repr(trace).splitlines()[:2] == [
        "Trace of LayerNorm 'S [d]' of x (S=1, d=2)",
        "  mu      1x1  mean(x) over d",
    ]


def test_a_long_name_does_not_touch_its_shape():
    update = ns.running_statistics([[1.0], [3.0]], ns.batch_norm(), [0.0], [1.0])
    assert repr(update).splitlines()[5:7] == [
        "  mean_change       1x1  sub(mu, running_mean)",
        "  mean_step         1x1  mul(mean_change, momentum)",
    ]


@pytest.mark.parametrize(
    "norm, absent",
    [
        (ns.rms_norm(), "mu c scaled"),
        (ns.rms_norm(elementwise_affine=False), "mu c scaled"),
        (ns.layer_norm(bias=False), "scaled"),
        (ns.layer_norm(elementwise_affine=False), "scaled"),
    ],
)
def test_a_name_that_the_norm_lacks_is_absent(norm, absent):
    trace = ns.trace([[1.0, 3.0]], norm)
    for name in absent.split():
        assert name not in trace
        assert name not in list(trace)
        with pytest.raises(KeyError, match=name):
            trace[name]


def test_without_scale_and_shift_y_is_xhat():
    trace = ns.trace(np.array([[1.0, 3.0]]), ns.layer_norm(elementwise_affine=False))
    assert list(trace) == list(trace.keys()) == ["mu", "c", "q", "var", "v", "r", "xhat", "y"]
    assert len(trace) == len(list(trace)) == 8
    assert dict(trace).get("y") is trace.get("y") is trace["y"] is trace["xhat"]
    assert trace.axes("y") == trace.axes("xhat")
    only_beta = ns.trace([[1.0, 3.0]], ns.Norm("S [d]", "d", eps=0, scale=False), beta=[1.0, 1.0])
    assert (list(only_beta)[-2:], only_beta["y"]) == (["xhat", "y"], [[0.0, 2.0]])


def test_running_statistics_have_no_y():
    update = ns.running_statistics([[1.0], [3.0]], ns.batch_norm(), [0.0], [1.0])
    assert "y" not in update and "y" not in list(update)
    with pytest.raises(KeyError, match="BatchNorm has no step 'y'; its steps are mu c"):
        update.output  # noqa: B018


@pytest.mark.parametrize("name", NORMS)
@pytest.mark.parametrize("dtype, width", [("float16", 4), ("float32", 4), ("float64", 8), ("int8", 8)])
def test_lesson_A8_a_trace_keeps_every_value_and_says_so(name, dtype, width):
    norm, inputs = given(name, dtype)
    trace = ns.trace(norm=norm, **inputs)
    tensors = [trace.inputs[each] for each, axes in trace.program.inputs if each != "eps"]
    arrays_kept = [*tensors, *(trace[step.name] for step in trace.program)]
    assert trace.bytes == sum(array.nbytes for array in arrays_kept)
    assert {array.itemsize for array in arrays_kept} == {width}
    cost = ns.ledger(norm, inputs["x"].shape, "float64" if width == 8 else "float32")
    assert trace.bytes == cost.trace_bytes > cost.peak_bytes
    assert f"keeps every step apart: {trace.bytes:,} bytes (" in cost.text()
    assert (
        ns.trace(norm=norm, **{key: value.tolist() for key, value in inputs.items()}).bytes == 8 // width * trace.bytes
    )


# Dtypes


@pytest.mark.parametrize(
    "dtype, computed, note",
    [
        ("float32", "float32", ()),
        ("float64", "float64", ()),
        ("longdouble", "longdouble", ()),
        ("float16", "float32", ("x is float16; computed in float32.",)),
        ("bfloat16", "float32", ("x is bfloat16; computed in float32.",)),
        ("float8_e4m3fn", "float32", ("x is float8_e4m3fn; computed in float32.",)),
        ("int8", "float64", ("x is int8; computed in float64.",)),
        ("uint16", "float64", ("x is uint16; computed in float64.",)),
        ("int64", "float64", ("x is int64; computed in float64.",)),
    ],
)
def test_dtypes(dtype, computed, note):
    x = np.array([[1, 3, 2], [4, 0, 8]]).astype(getattr(ml_dtypes, dtype, dtype))
    trace = ns.trace(x, ns.layer_norm(elementwise_affine=False))
    assert trace.notes == note
    assert {value.dtype for value in trace.values()} == {np.dtype(computed)}
    expected = ns.trace(x.astype(computed).tolist())["y"]
    np.testing.assert_allclose(trace["y"].astype(float), expected, rtol=1e-6)


def test_integers_in_lists_are_noted():
    notes = ns.trace([[1, 3.5]], ns.layer_norm(elementwise_affine=False)).notes
    assert notes == ("x holds integers; computed in float64.",)


@pytest.mark.parametrize(
    "dtype, eps",
    {"float64": 2**-52, "float32": 2**-23, "float16": 2**-23, "bfloat16": 2**-23, "int32": 2**-52}.items(),
)
def test_eps_none_is_that_of_the_dtype_computed_in(dtype, eps):
    trace = ns.trace(np.ones((1, 2)).astype(getattr(ml_dtypes, dtype, dtype)), ns.rms_norm())
    assert trace.inputs["eps"] == eps
    assert f"eps is finfo(dtype computed in).eps = {eps:.6g}." in trace.notes
    assert ns.trace([[1.0, 1.0]], ns.rms_norm()).inputs["eps"] == 2**-52


def test_parameters_take_the_dtype_of_x():
    trace = ns.trace(np.ones((2, 2), np.float32), gamma=[1, 2], beta=np.array([1, 2]))
    assert {trace[name].dtype for name in trace} == {np.dtype("float32")}
    assert {value.dtype for name, value in trace.inputs.items() if name != "eps"} == {np.dtype("float32")}


def test_longdouble_keeps_its_digits():
    digit = np.finfo(np.longdouble).eps
    x = np.array([[1, 1 + 8 * digit, 1 - 8 * digit]], np.longdouble)
    assert np.array_equal(ns.trace(x, ns.layer_norm(eps=0))["c"], [[0, 8 * digit, -8 * digit]])


# Rule tables


def test_every_view_has_one_rule_for_each_op():
    program = ns.forward(ns.Norm("S [d]"))
    sizes = {"S": 1, "d": 2}
    tables = [
        cells.rules(program, sizes),
        arrays.rules(program, sizes, np),
        ledger.RULES,
        staged.rules(program, ns.Norm("S [d]"), sizes, np.float32, {}),
    ]
    for table in tables:
        assert sorted(table) == sorted(OPS)


EVERY_OP = [  # op, arguments, and by hand the value for a = [[4, -1], [16, 0.25]]
    ("add", "a", Fraction(1, 2), [[4.5, -0.5], [16.5, 0.75]]),
    ("sub", "a", "row", [[2.5, -2.5], [7.875, -7.875]]),
    ("mul", Fraction(2), "a", [[8, -2], [32, 0.5]]),
    ("maximum", "a", Fraction(1), [[4, 1], [16, 1]]),
    ("abs", "a", [[4, 1], [16, 0.25]]),
    ("sqrt", "positive", [[2, 1], [4, 0.5]]),
    ("rsqrt", "positive", [[0.5, 1], [0.25, 2]]),
    ("recip", "a", [[0.25, -1], [0.0625, 4]]),
    ("sum", "a", [[3], [16.25]]),
    ("max", "a", [[4], [16]]),
    ("mean", "a", [[1.5], [8.125]]),
]


def test_every_op_in_every_view():
    axes = ("S", "d")
    build = Builder(axes, {"a": axes, "positive": axes, "row": ("S",)})
    for op, *args, _ in EVERY_OP:
        build.let(f"{op}_", op, *args, over=("d",) if op in ("sum", "max", "mean") else ())
    build.let("less", "mean", "a", over=("d",), less=1)
    program, sizes = build.program(), {"S": 2, "d": 2}
    a = np.array([[4, -1], [16, 0.25]])
    inputs = {"a": a, "positive": abs(a), "row": np.array([[1.5], [8.125]])}
    plain = run(program, cells.rules(program, sizes), cells.inputs(program, sizes, inputs | lists(inputs)))
    array = run(program, arrays.rules(program, sizes, np), inputs)
    kept = run(program, staged.rules(program, ns.Norm("S [d]"), sizes, np.float64, {}), inputs)
    assert {op for op, *_ in EVERY_OP} == set(OPS)
    for name, expected in [*((f"{op}_", value) for op, *_, value in EVERY_OP), ("less", [[3], [16.25]])]:
        assert plain[name].nested() == array[name].tolist() == kept[name].tolist() == expected, name


def lists(inputs):
    return {name: value.tolist() for name, value in inputs.items()}


def test_the_largest_of_a_row_with_nan_is_nan():
    build = Builder(("S", "d"), {"a": ("S", "d")})
    build.let("most", "max", "a", over=("d",))
    build.let("two", "maximum", "a", Fraction(1))
    program, sizes, a = build.program(), {"S": 2, "d": 2}, [[1.0, np.nan], [np.nan, 0.0]]
    plain = run(program, cells.rules(program, sizes), cells.inputs(program, sizes, {"a": a}))
    array = run(program, arrays.rules(program, sizes, np), {"a": np.array(a)})
    for name in ("most", "two"):
        assert np.array_equal(plain[name].nested(), array[name], equal_nan=True)
