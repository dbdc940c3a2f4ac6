"""The ledger against a real allocator: what a staged run keeps alive, to the byte."""

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import normscope as ns
from normscope.views.staged import dtype_of, staged
from tests.bounds import row_scale

DOMAIN = np.lib.tracemalloc_domain
STORAGES = ["float32", "float16", "bfloat16", "float64"]
SHAPES = [(1, 3, 4), (2, 4, 8), (3, 5, 7), (4, 128, 96), (8, 256, 768)]
NORMS = {
    "layer_norm": (ns.layer_norm(), (2, 4, 8)),
    "no_bias": (ns.layer_norm(bias=False), (2, 4, 8)),
    "two_axes": (ns.layer_norm([4, 8]), (2, 4, 8)),
    "rms_norm": (ns.rms_norm(eps=1e-6), (2, 4, 8)),
    "rms_norm_no_affine": (ns.rms_norm(eps=1e-6, elementwise_affine=False), (2, 4, 8)),
    "batch_norm": (ns.batch_norm(), (2, 3, 4, 5)),
    "instance_norm": (ns.instance_norm(), (2, 3, 4, 5)),
    "group_norm": (ns.group_norm(2), (2, 6, 4)),
}
EVERY = [pytest.param(*case, id=name) for name, case in NORMS.items()]


@contextmanager
def traced() -> Iterator[Callable[[], int]]:
    """Bytes of NumPy's data that were allocated within and are still alive."""
    gc.collect()
    tracemalloc.start()
    only_numpy = [tracemalloc.DomainFilter(True, DOMAIN)]
    try:
        yield lambda: sum(trace.size for trace in tracemalloc.take_snapshot().filter_traces(only_numpy).traces)
    finally:
        tracemalloc.stop()


def inputs(norm: ns.Norm, shape: tuple[int, ...], storage: str) -> dict[str, Any]:
    """x and the parameters in the storage dtype; every temporary is gone on return."""
    rng = np.random.default_rng(0)
    dtype = dtype_of(storage)
    params = norm.fit(len(shape)).param_shape(norm.fit(len(shape)).sizes_for(shape))
    made = {"x": rng.normal(size=shape).astype(dtype)}
    made |= {"gamma": rng.uniform(0.5, 2, params).astype(dtype)} if norm.scale else {}
    return made | ({"beta": rng.normal(size=params).astype(dtype)} if norm.shift else {})


def live_bytes(norm: ns.Norm, shape: tuple[int, ...], storage: str) -> int:
    staged(norm=norm, storage=storage, **inputs(norm, shape, storage))  # what libraries allocate once
    with traced() as live:
        given = inputs(norm, shape, storage)
        kept = staged(norm=norm, storage=storage, **given)
        gc.collect()
        alive = live()
        assert kept
    return alive


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_lesson_A8_live_bytes_are_the_ledgers(shape, affine, storage):
    norm = ns.layer_norm(elementwise_affine=affine)
    assert live_bytes(norm, shape, storage) == ns.ledger(norm, shape, storage).peak_bytes


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("norm, shape", EVERY)
def test_live_bytes_of_every_norm_are_the_ledgers(norm, shape, storage):
    assert live_bytes(norm, shape, storage) == ns.ledger(norm, shape, storage).peak_bytes


@pytest.mark.parametrize("storage", ["float32", "float16", "bfloat16"])
def test_the_peak_is_the_live_bytes(storage):
    """At no time does a staged run hold more, but for NumPy's buffer of a few kB for a mixed-dtype ufunc."""
    norm, shape = ns.layer_norm(), (4, 128, 96)
    # PyTraceMalloc's peak counts Python's objects too, so it is compared at a size that drowns them.
    with traced(), small_ufunc_buffer():
        given = inputs(norm, shape, storage)
        tracemalloc.reset_peak()
        kept = staged(norm=norm, storage=storage, **given)
        peak = tracemalloc.get_traced_memory()[1]
    assert kept
    expected = ns.ledger(norm, shape, storage).peak_bytes
    assert expected <= peak <= expected + 40_000


@contextmanager
def small_ufunc_buffer() -> Iterator[None]:
    before = np.setbufsize(16)
    try:
        yield
    finally:
        np.setbufsize(before)


@pytest.mark.parametrize("norm, shape", EVERY)
def test_the_buffers_are_the_rows_of_the_ledger(norm, shape):
    kept = staged(norm=norm, storage="float16", **inputs(norm, shape, "float16"))
    cost = ns.ledger(norm, shape, "float16")
    assert {name: kept[name].nbytes for name in cost.inputs} == dict(cost.inputs)
    made = {name: kept[name].nbytes for name in kept if name not in cost.inputs}
    assert sum(made.values()) == sum(row.bytes for row in cost.rows)
    statistics = {name for name in ("mu", "var") if name in kept}
    assert {str(kept[name].dtype) for name in statistics} == {"float32"}
    assert {str(kept[name].dtype) for name in kept.keys() - statistics} == {"float16"}


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("norm, shape", EVERY)
def test_a_staged_run_is_close_to_the_trace(norm, shape, storage):
    """Four or five roundings to storage, each half an ulp of what is stored, and statistics in float32."""
    given = inputs(norm, shape, storage)
    kept = staged(norm=norm, storage=storage, **given)
    trace = ns.trace(norm=norm, **{name: value.astype(float) for name, value in given.items()})
    y = kept["y" if "y" in trace.program.by_name else "xhat"].astype(float)
    digits = {"float32": 2**-23, "float16": 2**-10, "bfloat16": 2**-7, "float64": 2**-23}[storage]
    size = np.abs(trace["xhat"]) * np.abs(trace.inputs.get("gamma", 1)) + np.abs(trace.inputs.get("beta", 0))
    allowed = 3 * digits * size + 8 * 2**-23 * row_scale(trace)
    assert np.all(np.abs(y - trace["y"]) <= allowed)
    assert np.array_equal(given["x"], inputs(norm, shape, storage)["x"])


def test_eps_none_is_that_of_the_dtype_of_x():
    x = np.float32([[1e-4, -2e-4]])  # mean square 2.5e-8, below float32's eps of 1.2e-7
    kept = staged(x, ns.rms_norm(elementwise_affine=False))
    np.testing.assert_allclose(kept["xhat"], ns.trace(x, ns.rms_norm())["xhat"], rtol=1e-6)
