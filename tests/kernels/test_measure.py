"""What engines keep, to the byte; what they compute; what is refused; how times become shares of the limit."""

import sys
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import normscope as ns
from normscope.errors import DtypeError, NormError, ShapeError
from normscope.kernels import engines, limits, measure, other_engines, timing

NORMS = {
    "layer_norm": ns.layer_norm(),
    "no bias": ns.layer_norm(bias=False),
    "no affine": ns.layer_norm(elementwise_affine=False),
    "rms_norm": ns.rms_norm(),
    "rms_norm, no affine": ns.rms_norm(elementwise_affine=False, eps=1e-6),
}
OWN = ("staged", "numpy", "fused", "fused out")
shapes = st.lists(st.integers(1, 9), min_size=2, max_size=4).map(tuple)


def prepared(shape, norm, storage):
    return measure.prepared(limits.checked(shape, norm, storage), shape, 1)


@settings(max_examples=25, deadline=None)
@given(shapes, st.sampled_from(list(NORMS)), st.sampled_from(limits.STORAGES))
def test_every_engine_of_ours_keeps_what_is_predicted_to_the_byte(shape, name, storage):
    task = prepared(shape, NORMS[name], storage)
    for engine in OWN:
        made = measure.ENGINES[engine](task)
        assert measure._measured(task.ledger, made, task) == made.predicted, engine


def test_predictions_in_closed_form():
    """N = 64 cells, R = 8 rows, P = 8 features, all float32."""
    task = prepared((2, 4, 8), ns.layer_norm(), "float32")
    made = {name: measure.ENGINES[name](task) for name in OWN}
    assert made["staged"].predicted == 4 * (5 * 64 + 2 * 8 + 2 * 8)
    assert made["numpy"].predicted == 4 * (6 * 64 + 4 * 8 + 2 * 8)  # x, c, q, xhat, scaled, y; mu, var, v, r
    assert made["fused"].predicted == made["fused"].moved == made["fused out"].moved == 4 * (2 * 64 + 2 * 8)
    # mu, c, q, var, v, r, xhat, scaled, y: what each reads and writes.
    reads = 64 + (64 + 8) + 64 + 64 + 8 + 8 + (64 + 8) + (64 + 8) + (64 + 8)
    assert made["staged"].moved == 4 * (reads + 8 + 64 + 64 + 8 + 8 + 8 + 64 + 64 + 64)


@pytest.mark.parametrize("storage", limits.STORAGES)
@pytest.mark.parametrize("norm", NORMS.values(), ids=NORMS)
def test_every_engine_computes_the_norm(norm, storage):
    task = prepared((3, 16), norm, storage)
    x, gamma, beta, _ = (each if each is None else each.astype(float) for each in task.given)
    expected = ns.trace(x, norm, gamma, beta)["y" if task.norm.scale else "xhat"]
    digit = {"float32": 1e-6, "float64": 1e-6, "float16": 4e-3, "bfloat16": 4e-2}[storage]
    results = {name: measure.ENGINES[name](task).run(*task.given) for name in OWN}
    results["staged"] = results["staged"].get("y", results["staged"].get("xhat"))
    results["numpy"] = results["numpy"][-1]
    for name, y in results.items():
        assert y.dtype == task.given.x.dtype, name
        np.testing.assert_allclose(y.astype(float), expected, rtol=0, atol=digit * np.abs(expected).max(), err_msg=name)
    assert results["fused out"] is task.given.out


def test_rows_and_shares_from_known_times(monkeypatch):
    cost = ns.ledger(ns.layer_norm(), (4, 8))
    times = {"staged": 8.0, "numpy": 4.0, "fused": 1.0, "fused out": 0.5}
    copies = {"NumPy copy": 3.0, "plain copy": 0.5, "streaming copy": 0.25}

    def taken(work, seconds, watch):
        watch(2, 4)
        assert list(work)[-4:] == list(times) and seconds == 7
        return {name: (times | copies)[name] for name in work}

    monkeypatch.setattr(timing, "interleaved", taken)
    monkeypatch.setattr(measure, "copies", lambda task: dict.fromkeys(copies, lambda: None))
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    told = []
    made = measure.measure((4, 8), threads=3, seconds=7, watch=told.append)
    assert made.yardstick == "streaming copy" and made.copy_gbps == pytest.approx(2 * 128 / 0.25 / 1e9)
    assert {row.engine: row.seconds for row in made.rows} == times
    limit = cost.fused_bytes / (2 * 128) * 0.25
    assert [row.of_copy_limit for row in made.rows] == pytest.approx([limit / each for each in times.values()])
    assert dict(made.missing) == {
        "pytorch": "PyTorch is not installed",
        "onnxruntime": "ONNX Runtime is not installed",
    }
    assert "staged, its bytes" in told and told[-1] == "timing, [##########..........] round 3 of 4"


def test_the_json_holds_what_was_asked_and_found():
    made = measure.measure((2, 8), ns.rms_norm(), "bfloat16", seconds=0.01).to_json()
    assert made["shape"] == [2, 8] and made["storage"] == "bfloat16" and made["norm"]["name"] == "RMSNorm"
    assert made["copy_gbps"] > 0 and made["x_bytes"] == 32 and made["threads"] == 1
    (staged, *_) = made["rows"]
    assert set(staged) == {
        "engine", "predicted_bytes", "measured_bytes", "moved_bytes", "seconds", "of_copy_limit",
    }  # fmt: skip
    peak = ns.ledger(ns.rms_norm(), (2, 8), "bfloat16").peak_bytes
    assert staged["predicted_bytes"] == staged["measured_bytes"] == peak


@pytest.mark.parametrize(
    ("shape", "norm", "storage", "error", "told"),
    [
        ((2, 8), None, "float8_e5m2", DtypeError, "storage is 'float8_e5m2'; a kernel takes float32"),
        ((2, 8), ns.batch_norm(), "float32", NormError, "not LayerNorm or RMSNorm over the last axis"),
        ((2, 4, 8), ns.layer_norm([4, 8]), "float32", NormError, "not LayerNorm or RMSNorm over the last axis"),
        ((2, 8), ns.Norm("B [d]", "B d"), "float32", NormError, "not LayerNorm or RMSNorm over the last axis"),
        ((2, 8), ns.Norm("B [d]", "d", correction=1), "float32", NormError, "not LayerNorm or RMSNorm"),
        ((2, 8), ns.Norm("B [d]", "d", center=False), "float32", NormError, "which no kernel of RMSNorm takes"),
        ((0, 8), None, "float32", ShapeError, "which has no cells"),
    ],
)
def test_what_no_engine_takes_is_refused(shape, norm, storage, error, told):
    with pytest.raises(error, match=told.replace("(", r"\(")):
        measure.measure(shape, norm, storage)


def test_a_refusal_names_the_bytes_and_the_limit():
    cost = ns.ledger(ns.layer_norm(), (8, 1024, 768))
    most = limits.needed(cost)
    assert limits.refusal(cost, most) == ""
    told = limits.refusal(cost, most - 1)
    assert f"{most:,} bytes" in told and "(B=8, S=1024, d=768)" in told


@pytest.mark.parametrize("storage", ["float32", "bfloat16"])
def test_what_is_needed_is_not_exceeded(storage):
    """Resident memory counts what every library holds; NumPy's arrays are counted by its own allocator."""
    import tracemalloc

    shape = (64, 1024)
    cost = limits.checked(shape, None, storage)
    tracemalloc.start()
    try:
        task = measure.prepared(cost, shape, 1)
        for name in OWN:
            measure.ENGINES[name](task).run(*task.given)
            measure.ENGINES[name](task).run(*measure._inputs(cost, shape, True))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= limits.needed(cost) + 100_000
    assert prod(shape) * 4 < peak  # the check sees the arrays


@pytest.mark.oracle
@pytest.mark.parametrize("storage", limits.STORAGES)
def test_pytorch_and_onnx_runtime_compute_and_keep_the_same(storage):
    task = prepared((3, 16), ns.layer_norm(), storage)
    expected = engines.fused(task).run(*task.given).astype(float)
    theirs = other_engines.pytorch(task)
    digit = {"float32": 1e-5, "float64": 1e-12, "float16": 4e-3, "bfloat16": 4e-2}[storage]
    np.testing.assert_allclose(theirs.run().double().numpy(), expected, rtol=0, atol=digit)
    assert measure._measured(task.ledger, theirs, task) == theirs.predicted
    if storage == "bfloat16":
        with pytest.raises(engines.Missing, match="no bfloat16"):
            other_engines.onnxruntime(task)
        return
    other_engines.onnxruntime(task).run()
    np.testing.assert_allclose(task.given.out.astype(float), expected, rtol=0, atol=digit)
