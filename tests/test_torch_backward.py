"""PyTorch 2.13's gradients against ours: recorded vectors, and live (`oracle`)."""

from functools import cache
from typing import Any

import numpy as np
import pytest

import normscope as ns
from normscope.run import run
from normscope.views import arrays
from tests.golden.record import FILE as FORWARD_FILE
from tests.golden.record import HALVES, Case, dtype_of
from tests.golden.record_backward import CASES, FILE, IN_HALVES, dtypes, inputs, outputs

# In ulps of the sizes that a gradient is summed from: both sides round each of them once, in their own order.
# Seen over 10 seeds: 1.2.
ULPS = 2
# In ulps of a gradient's largest cell, all of it rounded to a half. Seen over 10 seeds: 1.4, where PyTorch's r and
# ours lie on either side of a tie.
HALF_ULPS = 2
DIGIT = {"float32": 2.0**-23, "float64": 2.0**-52, "float16": 2.0**-10, "bfloat16": 2.0**-7}
EVERY = [pytest.param(case, dtype, id=f"{case.name}-{dtype}") for case in CASES for dtype in dtypes(case)]


@cache
def golden() -> dict[str, Any]:
    """Both files: the forward one holds the inputs of the cases that it has."""
    with np.load(FORWARD_FILE) as there, np.load(FILE) as back:
        return dict(there) | dict(back)


def of_case(case: Case, dtype: str) -> dict[str, Any]:
    prefix = f"{case.name}/{dtype}/"
    return {key.removeprefix(prefix): value for key, value in golden().items() if key.startswith(prefix)}


def traced(case: Case, given: dict[str, Any]) -> ns.Trace:
    norm = getattr(ns, case.kind)(**case.arguments)
    wanted = ["gamma", "beta", *(["running_mean", "running_var"] if norm.running else [])]
    return ns.trace(given["x"], norm, dy=given["dy"], **{name: given[name] for name in wanted if name in given})


def sizes(trace: ns.Trace, name: str) -> Any:
    """What a gradient's cells are summed from, in size: the mean of x moves xhat by an ulp of max |x| * r."""
    over = tuple(map(trace.program.axes.index, trace.norm.over))
    value = {each: np.abs(trace[each]) for each in ("xhat", "dxhat", "r")}
    moved = 1 + np.max(np.abs(trace.inputs["x"]), axis=over, keepdims=True) * value["r"]
    if name == "dx":
        row = {each: np.max(value[each], axis=over, keepdims=True) for each in ("xhat", "dxhat")}
        made = value["r"] * row["dxhat"] * (1 + row["xhat"] ** 2) * moved
        return np.broadcast_to(made, trace["xhat"].shape).reshape(trace.shape)
    made = np.abs(trace.inputs["dy"]) * (moved + value["xhat"] if name == "dgamma" else 1)
    rest = tuple(i for i, axis in enumerate(trace.program.axes) if axis not in trace.norm.param_axes)
    return np.sum(made, axis=rest).reshape(trace.norm.param_shape(trace.sizes))


def check(case: Case, given: dict[str, Any], expected: dict[str, Any], dtype: str) -> None:
    if dtype in HALVES:
        check_half(case, given, expected, dtype)
        return
    trace = traced(case, given)
    assert set(trace.gradients) == {name for name in expected if name.startswith("d")} - {"dy"}
    for name, ours in trace.gradients.items():
        assert ours.dtype == expected[name].dtype and ours.shape == expected[name].shape
        assert np.all(np.abs(ours - expected[name]) <= ULPS * DIGIT[dtype] * sizes(trace, name)), name


def check_half(case: Case, given: dict[str, Any], expected: dict[str, Any], dtype: str) -> None:
    """Our float32 gradients, rounded as they would be stored.

    PyTorch's LayerNorm on a CPU saves mu and r in the dtype of x, and goes back from these; so do we here.
    """
    half = dtype_of(dtype)
    trace = traced(case, {name: value.astype(half) for name, value in given.items()})
    made = from_saved(trace, half) if case.kind == "layer_norm" else trace.gradients
    for name, ours in made.items():
        theirs = expected[name].astype(float)
        error = np.abs(ours.astype(half).astype(float).reshape(theirs.shape) - theirs)
        assert np.max(error) <= HALF_ULPS * DIGIT[dtype] * np.max(np.abs(theirs)), name
    y = np.abs(trace.output.astype(half).astype(float) - expected.get("y", trace.output))
    assert np.max(y) <= DIGIT[dtype] * np.max(np.abs(trace.output))


def from_saved(trace: ns.Trace, half: Any) -> dict[str, Any]:
    """The gradients in float32 from x and the statistics as they are in a half."""
    program = ns.backward(trace.norm, "x")
    saved = {name: trace[name].astype(half).astype(np.float32) for name in ("mu", "r")}
    made = run(program, arrays.rules(program, trace.sizes, np), {**trace.inputs, **saved})
    return {name: made[name] for name in trace.gradients}


def test_what_was_recorded():
    assert str(golden()["torch_version"]) == "2.13.0"
    assert FILE.stat().st_size < 210_000
    assert len(CASES) == 44 and sum(case.name in IN_HALVES for case in CASES) == len(IN_HALVES)


@pytest.mark.parametrize("case, dtype", EVERY)
def test_recorded(case, dtype):
    vectors = of_case(case, dtype)
    check(case, vectors, vectors, dtype)


@pytest.mark.parametrize("dtype", HALVES)
def test_what_is_saved_in_a_half_is_seen_in_dgamma(dtype):
    """From mu and r as they were, not as PyTorch saved them, dgamma is off by more than it can be rounded."""
    case = next(case for case in CASES if case.name == "layer_norm_2d")
    vectors = of_case(case, dtype)
    half = dtype_of(dtype)
    trace = traced(case, {name: value.astype(half) for name, value in vectors.items()})
    off = {
        name: np.max(np.abs(np.ravel(dgamma).astype(half).astype(float) - vectors["dgamma"]))
        for name, dgamma in (("exact", trace["dgamma"]), ("saved", from_saved(trace, half)["dgamma"]))
    }
    ulp = DIGIT[dtype] * np.max(np.abs(vectors["dgamma"]))
    assert off["saved"] <= ulp < 3 * ulp < off["exact"]


@pytest.mark.oracle
@pytest.mark.parametrize("seed", range(1, 11))
@pytest.mark.parametrize("case, dtype", EVERY)
def test_live(case, dtype, seed):
    given = inputs(case, dtype, seed)
    check(case, given, outputs(case, given, dtype), dtype)


@pytest.mark.oracle
@pytest.mark.parametrize("case, dtype", EVERY)
def test_the_recorded_inputs_are_those_of_the_case(case, dtype):
    vectors = of_case(case, dtype)
    for name, value in inputs(case, dtype).items():
        assert np.array_equal(vectors[name], value), name
