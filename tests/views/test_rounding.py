"""Every step under every policy: recomputed in exact numbers, in plain cells and in arrays alike."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import ml_dtypes
import numpy as np
import pytest

import normscope as ns
from normscope.program import OPS, REDUCTIONS, Builder
from normscope.run import run
from normscope.views import cells
from normscope.views.exact import EXACT
from normscope.views.formats import FLOAT32, FLOAT64, FORMATS
from normscope.views.policies import FORMS, POLICIES, Policy, find
from normscope.views.rounding import array_rules, evaluate, rules

NORMS = {
    "LayerNorm": (ns.layer_norm(), (3, 6)),
    "RMSNorm": (ns.rms_norm(eps="1e-6"), (3, 5)),
    "GroupNorm": (ns.group_norm(2), (2, 4, 3)),
    "BatchNorm": (ns.batch_norm(), (4, 3)),
    "evaluation": (ns.batch_norm(training=False), (4, 3)),
    "correction": (ns.Norm("S [d]", "d", correction=1), (3, 4)),
    "bare": (ns.Norm("S [d]"), (3, 4)),
}
EVERY = [pytest.param(norm, shape, policy, id=f"{name}-{policy.name}") for (name, (norm, shape)), policy
         in product(NORMS.items(), POLICIES.values())]  # fmt: skip


def given(norm, shape, seed=0):
    """Inputs with rows of several sizes, in float64: their rounding to the storage is part of the run."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape) * 2.0 ** rng.integers(-6, 7, (*shape[:-1], 1)) + rng.normal()
    made = {"x": x}
    fitted = norm.fit(len(shape))
    params = fitted.param_shape(fitted.sizes_for(shape))
    made |= {name: rng.uniform(-2, 2, params) for name in ("gamma", "beta") if getattr(norm, SWITCH[name])}
    if norm.running:
        made |= {"running_mean": rng.normal(size=shape[1]), "running_var": rng.uniform(0.5, 2, shape[1])}
    return made


SWITCH = {"gamma": "scale", "beta": "shift"}


def rounded(exact, of, policy):
    """The oracle: a Fraction to the nearest number of a format, by whole numbers."""
    if not isinstance(exact, Fraction):  # nan or an infinity
        return exact
    place = of.place(exact)
    made = round(exact / Fraction(2) ** place) * Fraction(2) ** place
    if abs(made) > Fraction(of.largest):
        top = Fraction(of.largest) if policy.saturate and not of.infinite else of.beyond
        return top if exact > 0 else -top
    return made


def root(value):
    with localcontext() as context:
        context.prec = 80
        return Fraction((Decimal(value.numerator) / Decimal(value.denominator)).sqrt())


def recomputed(step, args, count, policy, first, to):
    """One cell from the cells of its arguments, exact but for what the policy rounds."""
    op = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b}
    if step.op in op:
        exact = op[step.op](*args)
    elif step.op == "mean":
        exact = summed(args, policy, first) / (count - step.less)
    else:
        assert step.op == "rsqrt"
        exact = 1 / rounded(root(args[0]), first, policy)
    return rounded(rounded(exact, first, policy), to, policy)


def summed(numbers, policy, first):
    if policy.sums == "once":
        return rounded(rounded(sum(numbers), FLOAT64, policy), first, policy)
    running = Fraction(0)
    for cell in numbers:
        running = rounded(rounded(running + cell, first, policy), FORMATS[policy.sums], policy)
    return running


def checked(trace, norm, policy):
    """How many cells of the trace's steps were recomputed; fails where one is not as it should be."""
    kept, program, done = policy.kept(trace.norm), trace.program, 0
    values = {name: np.array(value, float) for name, value in trace.inputs.items() if name != "eps"}
    values |= {step.name: np.array(trace[step.name], float) for step in program}
    for step in program:
        to = kept[step.name]
        first = FLOAT64 if to is FLOAT64 or policy.compute == "float64" else FLOAT32
        full = [program.axes.index(axis) for axis in step.over]
        for at in np.ndindex(values[step.name].shape):
            args = [c for arg in step.args for c in arguments(arg, at, full, values, trace)]
            if all(math.isfinite(c) for c in args) and not (step.op == "rsqrt" and args[0] <= 0):
                wanted = recomputed(step, [Fraction(c) for c in args], len(args), policy, first, to)
                found = values[step.name][at]
                assert found == wanted or (math.isnan(found) and math.isnan(wanted)), (step.name, at)
                done += 1
    return done


def arguments(arg, at, over, values, trace):
    """The cells of an argument that a cell of the result is made of."""
    if isinstance(arg, Fraction):
        return [arg]
    if arg == "eps":
        return [trace.inputs["eps"]]
    of = values[arg]
    place = tuple(slice(None) if i in over else min(k, of.shape[i] - 1) for i, k in enumerate(at))
    return np.ravel(of[place]).tolist()


@pytest.mark.parametrize("norm, shape, policy", EVERY)
def test_every_cell_of_every_step_is_the_exact_result_rounded(norm, shape, policy):
    inputs = {name: value.tolist() for name, value in given(norm, shape).items()}
    trace = ns.trace(inputs.pop("x"), norm, **inputs, policy=policy)
    assert checked(trace, norm, policy) > 20


@pytest.mark.parametrize("norm, shape, policy", EVERY)
def test_arrays_are_as_plain_cells(norm, shape, policy):
    """Bit for bit, every step; but float64's own sums are NumPy's, those of cells correctly rounded."""
    arrays = given(norm, shape, seed=1)
    lists = {name: value.tolist() for name, value in arrays.items()}
    ours = ns.trace(arrays.pop("x"), norm, **arrays, policy=policy)
    plain = ns.trace(lists.pop("x"), norm, **lists, policy=policy)
    assert list(ours) == list(plain) and ours.notes == plain.notes
    rtol = 1e-12 if policy.name == "float64" else 0
    for name in ours:
        np.testing.assert_allclose(ours[name], np.array(plain[name]), rtol=rtol, err_msg=name)
    assert ours.output.shape == np.shape(plain.output) == shape


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_every_value_is_a_number_of_the_format_it_is_kept_in(policy):
    trace = ns.trace([[0.1, 3.3, -2.7], [100.1, 90.3, 7.7]], ns.layer_norm(), policy=policy)
    for name, of in policy.kept(trace.norm).items():
        if name != "eps":
            value = trace.inputs[name] if name in trace.inputs else trace[name]
            for cell in np.ravel(value).tolist():
                assert math.isnan(cell) or of.round(cell) == cell, name


@pytest.mark.parametrize("kind", [list, np.array])
def test_float64_is_the_trace_without_a_policy(kind):
    x = kind(given(ns.layer_norm(), (4, 7))["x"].tolist())
    with_policy, without = ns.trace(x, policy="float64"), ns.trace(x)
    for name in without:
        np.testing.assert_array_equal(with_policy[name], without[name])


def test_there_is_one_rule_for_every_op():
    for table in (rules, array_rules):
        program, policy = ns.forward(ns.Norm("S [d]")), find("steps-bf16")
        made = table(program, {"S": 1, "d": 2}, policy, policy.formats(program, ("d",)))
        assert set(made) == set(OPS) and len(set(made.values())) == 1


@pytest.mark.parametrize("op", OPS)
def test_every_op_of_arrays_is_that_of_cells(op):
    build = Builder(("S", "d"), {"x": ("S", "d"), "z": ("S", "d")})
    over = ("d",) if op in REDUCTIONS else ()
    args = ("x", "z") if op in ("add", "sub", "mul", "maximum") else ("x",)
    build.let("out", op, *args, over=over)
    rng = np.random.default_rng(2)
    values = {"x": np.abs(rng.normal(size=(2, 5))) + 0.1, "z": rng.normal(size=(2, 5))}
    lists = {name: value.tolist() for name, value in values.items()}
    for policy in POLICIES.values():
        ours = evaluate(build.program(), {"S": 2, "d": 5}, values, policy, ("d",))["out"]
        plain = evaluate(build.program(), {"S": 2, "d": 5}, lists, policy, ("d",))["out"]
        np.testing.assert_array_equal(ours, np.array(plain.nested()), err_msg=policy.name)


# --- what a policy says


def test_the_formats_of_the_named_policies():
    norm = ns.layer_norm().fit(2)
    names = ("x", "mu", "c", "r", "xhat", "scaled", "y")
    table = {
        "pytorch-fp32": "float32 float32 float32 float32 float32 float64 float32",
        "pytorch-bf16": "bfloat16 float32 float32 float32 float32 float64 bfloat16",
        "onnxruntime-fp16": "float16 float32 float32 float32 float32 float64 float16",
        "statistics-fp16": "float16 float32 float16 float32 float16 float16 float16",
        "steps-bf16": "bfloat16 " * 7,
        "llama-bf16": "bfloat16 float32 float32 float32 bfloat16 bfloat16 bfloat16",
        "gemma-e5m2": "float8_e5m2 float32 float32 float32 float32 float32 float8_e5m2",
    }
    for name, formats in table.items():
        kept = find(name).kept(norm)
        assert [kept[value].name for value in names] == formats.split(), name


def test_gemma_keeps_w_and_adds_it_up_again():
    program = find("gemma-bf16").program(ns.rms_norm(eps=0).fit(2))
    assert str(program).splitlines()[1:3] == ["w[d] = sub(gamma, 1)", "gain[d] = add(w, 1)"]
    w = 2.0**-9  # 1 + w is no bfloat16, and w is
    x = [[1.0, -1.0]]
    for policy, y in (("gemma-bf16", 1.0), ("gemma-fp16", 1 + w), ("llama-bf16", 1.0)):
        assert ns.trace(x, ns.rms_norm(eps=0), gamma=[1 + w, 1], policy=policy)["y"] == [[y, -1.0]]
    # that bfloat16 keeps w shows where y is wide enough to show it
    wide = Policy("mine", "bfloat16", form="one plus w", keep=(("gamma", "float64"), ("y", "float32")))
    assert ns.trace(x, ns.rms_norm(eps=0), gamma=[1 + w, 1], policy=wide)["y"] == [[1 + w, -1.0]]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_the_same_norm_in_exact_numbers(form):
    """Run by the exact rules, every order of the operations gives the same y."""
    norm = ns.layer_norm(eps="1/7").fit(2)
    values = {"x": [[1, 2, 4]], "gamma": [2, 3, 5], "beta": [1, 0, -1], "eps": Fraction(1, 7)}
    sizes = {"S": 1, "d": 3}
    ys = []
    for function in (FORMS[form], FORMS["textbook"]):
        program = function(norm)
        exact = {n: cells.flatten(v) if n != "eps" else [v] for n, v in values.items()}
        made = {n: cells.Cells(program.shape(n, sizes), [Fraction(c) for c in exact[n]]) for n, _ in program.inputs}
        ys.append(run(program, cells.rules(program, sizes, EXACT), made)["y"].flat)
    assert ys[0] == ys[1]


def test_a_fused_product_is_not_rounded_before_the_add():
    """(1 + 2**-12)**2 - (1 + 2**-11) is 2**-24, which a product that is rounded to float32 has lost."""
    fused, plain = Policy("fused", "float32", keep=(("scaled", "float64"),)), Policy("plain", "float32")
    norm = ns.Norm("S [d]", "d", eps=0, center=False)
    gamma, beta = [1 + 2.0**-12, 1.0], [-1 - 2.0**-11, 0.0]
    x = [[1 + 2.0**-12, 1 - 2.0**-12 - 2.0**-25]]  # its mean square is nearly 1
    for policy in (fused, plain):
        t = ns.trace(x, norm, gamma, beta, policy=policy)
        exact = Fraction(t["xhat"][0][0]) * Fraction(gamma[0])
        kept = exact if policy is fused else rounded(exact, FLOAT32, policy)
        assert Fraction(t["y"][0][0]) == rounded(kept + Fraction(beta[0]), FLOAT32, policy)
    assert ns.trace(x, norm, gamma, beta, policy=fused)["y"] != ns.trace(x, norm, gamma, beta, policy=plain)["y"]


def added(a, b, policy, kind, op="add"):
    """a + b or a - b of float64 numbers by a policy, as a program of one step."""
    build = Builder(("d",), {"x": ("d",), "b": ("d",)})
    build.let("y", op, "x", "b")
    made = evaluate(build.program(), {"d": len(a)}, {"x": kind(a), "b": kind(b)}, policy, ("d",))["y"]
    return cells.flatten(made.tolist() if kind is np.array else made.nested())


WIDE_TO_FLOAT32 = Policy("wide", "float32", keep=(("x", "float64"), ("b", "float64")))


@pytest.mark.parametrize("kind", [list, np.array])
def test_a_fused_add_is_rounded_once(kind):
    """A product of two float32 and a third: the sum lies just below a tie of float32, to which float64 rounds it."""
    a, c = (2.0**-12 * (1 + 2.0**-23)) * (2.0**-12 * (1 - 2.0**-23)), 1 + 2.0**-23
    assert added([a, -a], [c, -c], WIDE_TO_FLOAT32, kind) == [1 + 2.0**-23, -1 - 2.0**-23]
    assert added([a, -a], [-c, c], WIDE_TO_FLOAT32, kind, "sub") == [1 + 2.0**-23, -1 - 2.0**-23]
    assert added([math.inf, math.inf, 1e308, -0.0], [1.0, -math.inf, 1e308, -0.0], WIDE_TO_FLOAT32, kind)[0] == math.inf


@pytest.mark.parametrize("kind", [list, np.array])
def test_fused_adds_near_ties_of_float32(kind):
    draw = np.random.default_rng(3)
    near = draw.integers(2**23, 2**24, 4000) + 0.5 * draw.integers(0, 2, 4000)  # a float32, or a tie between two
    far = draw.choice([-1, 1], 4000) * draw.random(4000) * 2.0 ** draw.integers(-60, -20, 4000).astype(float)
    for op, sign in (("add", 1), ("sub", -1)):
        found = added(near.tolist(), far.tolist(), WIDE_TO_FLOAT32, kind, op)
        exact = [Fraction(a) + sign * Fraction(b) for a, b in zip(near.tolist(), far.tolist(), strict=True)]
        assert [Fraction(cell) for cell in found] == [rounded(each, FLOAT32, WIDE_TO_FLOAT32) for each in exact]


def test_a_running_sum_in_bfloat16_stands_still_at_256():
    build = Builder(("d",), {"x": ("d",)})
    build.let("total", "sum", "x", over=("d",))
    for ones in ([1.0] * 1000, np.ones(1000)):
        totals = [
            evaluate(build.program(), {"d": 1000}, {"x": ones}, find(name), ("d",))["total"]
            for name in ("naive-bf16", "naive-fp16", "steps-bf16")
        ]
        assert [float(np.ravel(getattr(t, "flat", t))[0]) for t in totals] == [256.0, 1000.0, 1000.0]


def test_squares_beyond_float16_are_infinite_where_they_are_kept_in_it():
    x = [[300.0, -300.0]]
    assert ns.trace(x, ns.layer_norm(), policy="steps-fp16")["q"] == [[math.inf, math.inf]]
    assert ns.trace(x, ns.layer_norm(), policy="steps-fp16")["y"] == [[0.0, -0.0]]
    assert ns.trace(x, ns.layer_norm(), policy="pytorch-fp16")["y"] == [[1.0, -1.0]]


def test_float8_e4m3fn_saturates_as_pytorch_casts_and_not_in_a_policy_of_ones_own():
    x = [[1000.0, -1000.0, 1.0]]
    assert ns.trace(x, policy="pytorch-e4m3fn").inputs["x"] == [[448.0, -448.0, 1.0]]
    own = Policy("own", "float8_e4m3fn")
    assert math.isnan(ns.trace(x, policy=own).inputs["x"][0][0])
    assert ns.trace(x, policy="pytorch-e5m2").inputs["x"] == [[1024.0, -1024.0, 1.0]]


@pytest.mark.parametrize("kind", [list, np.array])
def test_what_is_kept_in_float32_does_not_saturate(kind):
    trace = ns.trace(kind([[5.0, 5.0]]), ns.layer_norm(eps=0), policy="pytorch-e4m3fn")
    assert np.ravel(trace["r"]).tolist() == [math.inf]


def test_eps_is_rounded_to_what_is_computed_in():
    assert ns.trace([[1.0, 2.0]], policy="pytorch-bf16").inputs["eps"] == float(np.float32(1e-5))
    assert ns.trace([[1.0, 2.0]], policy="float64").inputs["eps"] == 1e-5
    assert ns.trace([[1.0, 2.0]], ns.rms_norm(), policy="pytorch-bf16").inputs["eps"] == 2.0**-23


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e5m2", "float32", "int16", ">f4"])
def test_arrays_of_any_dtype_are_taken(dtype):
    x = np.array([[1, 2, 4]]).astype(getattr(ml_dtypes, dtype, dtype))
    trace = ns.trace(x, ns.Norm("S [d]"), policy="pytorch-bf16")
    wanted = ns.trace([[1.0, 2.0, 4.0]], ns.Norm("S [d]"), policy="pytorch-bf16")
    np.testing.assert_array_equal(trace["y"], wanted["y"])
    assert trace["y"].dtype == np.float32 and trace.policy is POLICIES["pytorch-bf16"]


def test_x_is_not_changed():
    x = np.array([[0.1, 0.2]], np.float32)
    ns.trace(x, policy="steps-fp16")
    assert x.tolist() == np.array([[0.1, 0.2]], np.float32).tolist()


def test_the_note_says_what_was_rounded():
    (note, *_) = ns.trace([[1.0, 2.0]], ns.Norm("S [d]"), policy="llama-bf16").notes
    assert note == (
        "policy llama-bf16: x, gamma, beta and y in bfloat16, statistics in float32, cells in float32, "
        "xhat in bfloat16, scaled in bfloat16; every step is rounded."
    )


@pytest.mark.parametrize("policy", ["float32", "float64", "steps-bf16"])
def test_a_derived_program_is_the_same_over_arrays_and_cells(policy):
    """A gradient divides by a count of axes that it does not reduce, and broadcasts what it sums."""
    norm = ns.Norm("S [d]", eps=0, center=False)
    program, sizes = ns.derive(ns.forward(norm)), {"S": 1, "d": 2}
    given = {"x": [[1.0, 3.0]], "r": [[0.5]], "dy": [[1.0, -1.0]]}
    made = evaluate(program, sizes, given, find(policy), norm.over)
    ready = {name: np.array(value) for name, value in given.items()}
    assert evaluate(program, sizes, ready, find(policy), norm.over)["dx"].tolist() == made["dx"].nested()
