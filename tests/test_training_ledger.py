"""The ledger of a training step against closed forms from the norm's fields, and against a real allocator."""

import gc
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import normscope as ns
from normscope.views.staged import dtype_of, staged
from tests.test_properties import STORAGES as WIDTHS
from tests.test_properties import norms
from tests.test_staged import EVERY, SHAPES, STORAGES, inputs, traced


@given(norms(), st.sampled_from(WIDTHS))
def test_closed_form(case, storage):
    """Counted from what the norm's fields say, not from its program."""
    norm, sizes = case
    cost = ns.training_ledger(norm, sizes, storage)
    n, r = (prod(sizes[axis] for axis in axes) for axes in (norm.axes, norm.kept))
    p = prod(norm.param_shape(sizes)) if norm.param_axes else 0
    w = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2}.get(storage, 1)
    sums = set(norm.axes) != set(norm.param_axes)  # else gamma and beta have every axis
    taken = not norm.running
    means = taken * (1 + norm.center)
    cells = norm.scale * (1 + sums * (n - p) / n) + norm.shift * sums * (n - p) / n + norm.scale
    cells += means + taken * (norm.center + 3) + 1  # centered; the product, along, across; dx
    assert cost.backward_flops == pytest.approx(n * cells, abs=1e-6)
    kept = norm.scale * (sums + 1) + 2 * taken + 1  # dy_xhat, dxhat; their product, along; dx
    gradients = (norm.scale + norm.shift * sums) * p * w
    assert cost.backward_bytes == (1 + kept) * n * w + means * 4 * r + gradients
    assert cost.peak_bytes == cost.forward.peak_bytes + cost.backward_bytes
    assert cost.flops == cost.forward.flops + cost.backward_flops
    reads_x = taken or norm.scale
    saved = reads_x * (n * w + norm.center * 4 * r) + 4 * r
    assert sum(cost.saved["x"].values()) == saved
    assert sum(cost.saved["xhat"].values()) == reads_x * n * w + 4 * r
    moved = 2 * n * w + saved + norm.scale * p * w + gradients
    assert cost.fused_backward_bytes == moved
    written = 4 * r * (1 + (norm.center and taken))
    assert cost.fused_bytes == cost.forward.fused_bytes + written + moved


def test_layer_norm_by_hand():
    """N = 64, R = 8, P = 8: 9 N for means and cells, 2 (N - P) for the sums of dgamma and dbeta, in float32."""
    cost = ns.training_ledger(ns.layer_norm(), (2, 4, 8))
    assert cost.backward_flops == 9 * 64 + 2 * 56
    assert cost.backward_bytes == 4 * (64 + 5 * 64 + 2 * 8 + 2 * 8)
    assert cost.saved == {"xhat": {"r": 32, "xhat": 256}, "x": {"x": 256, "mu": 32, "r": 32}}
    assert cost.fused_backward_bytes == 256 + (256 + 32 + 32) + 32 + (256 + 32 + 32)
    assert cost.fused_bytes == cost.forward.fused_bytes + 64 + 928


def live_bytes(norm: ns.Norm, shape: tuple[int, ...], storage: str) -> int:
    def given() -> dict[str, Any]:
        made = inputs(norm, shape, storage)
        return made | {"dy": np.random.default_rng(1).normal(size=shape).astype(dtype_of(storage))}

    staged(norm=norm, storage=storage, **given())  # what libraries allocate once
    with traced() as live:
        held = given()
        kept = staged(norm=norm, storage=storage, **held)
        gc.collect()
        alive = live()
        assert kept
    return alive


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("norm, shape", [*EVERY, *(pytest.param(ns.layer_norm(), each) for each in SHAPES)])
def test_live_bytes_are_the_ledgers(norm, shape, storage):
    assert live_bytes(norm, shape, storage) == ns.training_ledger(norm, shape, storage).peak_bytes


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("norm, shape", EVERY)
def test_a_staged_run_backward_is_close_to_the_trace(norm, shape, storage):
    """Each step rounds once to storage, so that dx is off by some roundings of a row's largest terms."""
    given = inputs(norm, shape, storage)
    given["dy"] = np.random.default_rng(1).normal(size=shape).astype(dtype_of(storage))
    kept = staged(norm=norm, storage=storage, **given)
    trace = ns.trace(norm=norm, **{name: value.astype(float) for name, value in given.items()})
    digit = {"float32": 2**-23, "float16": 2**-10, "bfloat16": 2**-7, "float64": 2**-23}[storage]
    over = tuple(map(trace.program.axes.index, trace.norm.over))
    row = {name: np.max(np.abs(trace[name]), axis=over, keepdims=True) for name in ("dxhat", "xhat")}
    allowed = 6 * digit * np.abs(trace["r"]) * row["dxhat"] * (1 + row["xhat"] ** 2)
    assert np.all(np.abs(kept["dx"].astype(float) - trace["dx"]) <= allowed)


def test_a_float64_sum_is_added_in_float64():
    x = np.random.default_rng(2).normal(size=(50, 3))
    kept = staged(x, ns.layer_norm(elementwise_affine=True), np.ones(3), np.zeros(3), "float64", dy=x)
    np.testing.assert_allclose(kept["dbeta"], x.sum(axis=0, keepdims=True), rtol=1e-13)


def test_the_rows_are_the_steps_back():
    cost = ns.training_ledger(ns.group_norm(2), (2, 6, 4))
    assert [row.name for row in cost.rows] == [step.name for step in ns.backward(cost.forward.norm)]
    assert cost.to_json()["backward"]["steps"] == [row.to_json() for row in cost.rows]


def test_the_json_is_the_forward_ledgers_with_two_keys_more():
    made, there = (of(ns.layer_norm(), (2, 4, 8)) for of in (ns.training_ledger, ns.ledger))
    data = made.to_json()
    assert data["training"] == {"peak_bytes": 3072, "flops": 1144, "fused_bytes": 1568}
    assert {key: value for key, value in data.items() if key not in ("backward", "training")} == there.to_json()


def test_no_rows_cost_nothing_but_the_parameters():
    cost = ns.training_ledger(ns.layer_norm(), (0, 8))
    assert cost.saved["x"] == {"x": 0, "mu": 0, "r": 0} and cost.results == {"dx": 0, "dgamma": 32, "dbeta": 32}
    assert cost.backward_flops == 0 and "(saved)" in cost.text()


def test_the_text_says_what_is_saved_and_where_dbeta_is_dy():
    text = repr(ns.training_ledger(ns.layer_norm(), (2, 4, 8)))
    assert (
        text.splitlines()[-1] == "Saved for backward: r, xhat (288 bytes) or x, mu, r (320 bytes); fused, the latter."
    )
    lines = [line.split() for line in text.splitlines()]
    assert ["forward", "1,408", "1.38", "KiB", "640", "456"] in lines
    assert ["backward", "1,664", "1.62", "KiB", "928", "688"] in lines
    assert ["training", "step", "3,072", "3", "KiB", "1,568", "1.53", "KiB", "1,144"] in lines
    assert repr(ns.training_ledger(ns.layer_norm([8]), (8,))).endswith("dbeta is dy.")
    assert "dbeta is dy" in ns.training_ledger(ns.layer_norm([8]), (8,))._repr_html_()
