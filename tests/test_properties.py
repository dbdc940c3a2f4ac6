"""What holds for every norm and every input: invariances, equivalences, round trips and closed forms."""

import json
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import normscope as ns
from normscope.views import ledger as ledger_view
from tests.bounds import ulps_apart

ULPS = 16  # two summation orders over at most 120 cells; 5 seen
VALUES = st.floats(-1000, 1000, width=32)
EPS = st.sampled_from([1e-8, 1e-5, 0.01, 1])
STORAGES = tuple(ledger_view.WIDTH)


@st.composite
def arrays(draw, shape, values=VALUES):
    cells = draw(st.lists(values, min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
    return np.array(cells, float).reshape(shape)


@st.composite
def matrices(draw, min_d=1):
    """x of shape (rows, d)."""
    return draw(arrays((draw(st.integers(1, 4)), draw(st.integers(min_d, 7)))))


@st.composite
def images(draw):
    """x of shape (N, C, H, W)."""
    return draw(arrays(tuple(draw(st.tuples(*[st.integers(1, 3)] * 4)))))


@st.composite
def norms(draw):
    """Any norm over one to four axes, one of them perhaps split into groups, and sizes that fit it."""
    axes = ("N", "C", "H", "W")[: draw(st.integers(1, 4))]
    words, names = [], []
    for axis in axes:
        split = draw(st.booleans()) and axis == "C"
        words.append(["g", "c"] if split else [axis])
        names += words[-1]
    over = draw(st.sets(st.sampled_from(names), min_size=1))
    marked = [[f"[{axis}]" if axis in over else axis for axis in dim] for dim in words]
    pattern = " ".join(dim[0] if len(dim) == 1 else f"({' '.join(dim)})" for dim in marked)
    sizes = {axis: draw(st.integers(1, 4)) for axis in names}
    norm = ns.Norm(
        pattern,
        affine=" ".join(axis for axis in names if draw(st.booleans())) or None,
        eps=draw(EPS),
        correction=draw(st.integers(0, 2)),
        center=draw(st.booleans()),
        scale=draw(st.booleans()),
        shift=draw(st.booleans()),
        offset=draw(st.sampled_from([0, 0, 1, -2])),
        running=draw(st.booleans()),
        sizes={axis: sizes[axis] for axis in names if axis == "g" or draw(st.booleans())},
        name=draw(st.sampled_from(["", "mine"])),
    )
    return norm, sizes


def full(norm, sizes, seed):
    """x and every parameter of a norm, as arrays."""
    rng = np.random.default_rng(seed)
    shape = tuple(int(np.prod([sizes[axis] for axis in dim])) for dim in norm.layout.dims)
    made = {"x": rng.normal(size=shape) * 3 + 1}
    made |= {name: rng.normal(size=norm.param_shape(sizes)) for name in ("gamma", "beta")}
    made |= {name: rng.uniform(1, 2, [sizes[axis] for axis in norm.kept]) for name in ("running_mean", "running_var")}
    given = {"gamma": norm.scale, "beta": norm.shift, "running_mean": norm.running and norm.center}
    given["running_var"] = norm.running
    return {name: value for name, value in made.items() if given.get(name, True)}


def lists(given):
    return {name: value.tolist() for name, value in given.items()}


# Invariances


@given(matrices(), st.floats(-1000, 1000), EPS)
def test_a_shift_of_x_changes_nothing(x, shift, eps):
    shifted = ns.trace(x + shift, ns.layer_norm(eps=eps))
    # x + shift itself rounds, at the size of the shift.
    assert ulps_apart(shifted, ns.trace(x, ns.layer_norm(eps=eps))["y"]) <= 2 * ULPS + abs(shift) / 100


@given(matrices(), st.integers(-20, 20))
def test_a_power_of_two_changes_no_bit_without_eps(x, power):
    norm = ns.layer_norm(eps=0)
    scaled = ns.trace((x * 2.0**power).tolist(), norm)
    assert np.array_equal(scaled["xhat"], ns.trace(x.tolist(), norm)["xhat"], equal_nan=True)


@given(matrices(), st.floats(0.01, 100), st.sampled_from([ns.layer_norm, ns.rms_norm]))
def test_a_scale_changes_nothing_without_eps(x, factor, kind):
    trace = ns.trace(x * factor, kind(eps=0))
    assume(np.all(np.ptp(x, axis=-1) > 0.01))
    assert ulps_apart(trace, ns.trace(x, kind(eps=0))["y"]) <= 2 * ULPS


@given(st.integers(1, 7).flatmap(lambda d: st.tuples(arrays((2, d)), arrays((3, d)))))
def test_rows_are_independent(pair):
    x, other = pair
    both = ns.trace(np.concatenate([x, other]).tolist())
    for name in both:
        parts = ns.trace(x.tolist())[name] + ns.trace(other.tolist())[name]
        assert both[name] == parts, name


@given(matrices(), st.data())
def test_a_permutation_of_features_permutes_y_and_keeps_the_statistics(x, data):
    order = data.draw(st.sampled_from(list(permutations(range(x.shape[1])))[:200]))
    gamma, beta = data.draw(arrays(x.shape[1:])), data.draw(arrays(x.shape[1:]))
    straight = ns.trace(x.tolist(), gamma=gamma.tolist(), beta=beta.tolist())
    permuted = x[:, order].tolist(), ns.layer_norm(), gamma[list(order)].tolist(), beta[list(order)].tolist()
    turned = ns.trace(*permuted)
    for name in straight:
        expected = np.array(straight[name])
        assert np.array_equal(turned[name], expected[:, order] if expected.shape[1] > 1 else expected), name


# Equivalences of patterns; plain sums are correctly rounded, so the cells are equal to the bit


@given(images())
def test_group_norm_of_one_group_is_layer_norm_over_c_h_w(x):
    groups = ns.trace(x.tolist(), ns.group_norm(1, affine=False))
    layer = ns.trace(x.tolist(), ns.layer_norm(x.shape[1:], elementwise_affine=False))
    assert groups.output == layer.output
    assert ulps_apart(ns.trace(x, ns.group_norm(1)), layer["y"]) <= ULPS


@given(images())
def test_instance_norm_is_group_norm_of_one_channel_a_group(x):
    groups = ns.trace(x.tolist(), ns.group_norm(x.shape[1], affine=False))
    instance = ns.trace(x.tolist(), ns.instance_norm())
    assert groups.output == instance.output
    assert np.array_equal(np.ravel(groups["r"]), np.ravel(instance["r"]))


@given(images())
def test_batch_norm_over_tokens_is_layer_norm_of_the_transpose(x):
    tokens = x.reshape(-1, x.shape[-1])
    batch = ns.trace(tokens.tolist(), ns.batch_norm(affine=False))
    layer = ns.trace(tokens.T.tolist(), ns.layer_norm(elementwise_affine=False))
    assert np.array_equal(np.array(batch["y"]).T, layer["y"])
    named = ns.trace(tokens.reshape(1, *tokens.shape).tolist(), ns.Norm("[B S] d"))
    assert named["y"] == [batch["y"]]


@given(matrices())
def test_rms_norm_is_layer_norm_of_a_row_without_a_mean(x):
    mirrored = np.concatenate([x, -x], axis=1).tolist()
    rms = ns.trace(mirrored, ns.rms_norm(eps=1e-5))
    assert rms["y"] == ns.trace(mirrored, ns.layer_norm(eps=1e-5))["y"]


# Cells and arrays; programs and norms; ledgers


@given(norms(), st.integers(0, 999))
def test_plain_cells_equal_arrays(case, seed):
    norm, sizes = case
    given = full(norm, sizes, seed)
    count = int(np.prod([sizes[axis] for axis in norm.over]))
    assume(norm.running or count > norm.correction)  # else the variance is negative or 0/0
    plain, array = ns.trace(norm=norm, **lists(given)), ns.trace(norm=norm, **given)
    assert list(plain) == list(array)
    for name in plain:
        assert np.shape(plain[name]) == array[name].shape == array.shape_of(name)
    assert np.shape(plain.output) == array.output.shape == given["x"].shape
    assert ulps_apart(array, plain["y"]) <= ULPS


@given(norms())
def test_a_program_survives_json(case):
    norm, _ = case
    for program in (ns.forward(norm), ns.program.Program.from_json(ns.forward(norm).to_json())):
        assert ns.Program.from_json(json.loads(json.dumps(program.to_json()))) == ns.forward(norm)


@given(norms(), st.sampled_from([None, 0, 1e-12, "1/3"]))
def test_a_norm_survives_json(case, eps):
    norm = replace(case[0], eps=eps)
    again = ns.Norm.from_json(json.loads(json.dumps(norm.to_json())))
    assert again == norm
    assert again.name == norm.name


@given(norms(), st.sampled_from(STORAGES))
def test_ledger_closed_form(case, storage):
    """Counted from what the norm's fields say, not from its program."""
    norm, sizes = case
    cost = ns.ledger(norm, sizes, storage)
    n = int(np.prod([sizes[axis] for axis in norm.axes]))
    r = int(np.prod([sizes[axis] for axis in norm.kept]))
    p = int(np.prod(norm.param_shape(sizes)))
    w = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2}.get(storage, 1)
    affine, gain = norm.scale + norm.shift, p * (norm.offset != 0)
    taken = 0 if norm.running else 1  # statistics taken from x: squares, a mean and a variance
    buffers = 2 + norm.center + taken + bool(affine)  # x, xhat; c; q; y
    statistics = 1 + norm.center + (norm.running and 1)  # var or r; mean; the running variance beside r
    assert cost.peak_bytes == buffers * n * w + statistics * 4 * r + (affine * p + gain) * w
    assert cost.flops == n * (norm.center + taken * (norm.center + 2) + 1 + affine) + r + gain
    assert (cost.reciprocal_roots, cost.cells, cost.statistics) == (r, n, r)
    assert cost.fused_bytes == 2 * n * w + affine * p * w + (norm.running * (1 + norm.center)) * 4 * r
    assert sum(row["bytes"] for row in cost.to_json()["steps"]) + sum(cost.inputs.values()) == cost.peak_bytes
    assert cost.same_as == ("" if affine else "xhat")
    assert ns.ledger(norm, [int(np.prod([sizes[a] for a in dim])) for dim in norm.layout.dims], storage) == cost


@pytest.mark.parametrize("sizes", [{"B": 10**6, "S": 10**6, "d": 10**6}, (10**6, 10**6, 10**6)])
def test_a_ledger_of_any_size_is_exact(sizes):
    cost = ns.ledger(ns.Norm("B S [d]", "d"), sizes, "bfloat16")
    assert cost.peak_bytes == 10 * 10**18 + 8 * 10**12 + 4 * 10**6
    assert cost.flops == 7 * 10**18 + 10**12
