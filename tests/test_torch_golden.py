"""PyTorch 2.13's norms and GPT-2's formula against our trace: recorded vectors, and live (`oracle`)."""

from functools import cache
from typing import Any

import numpy as np
import pytest

import normscope as ns
from tests.bounds import ulps_apart
from tests.golden.record import CASES, FILE, HALVES, MOMENTUM, Case, dtype_of, inputs, outputs

# In both dtypes each side rounds every operation once, but sums in its own order, and PyTorch's kernels
# compute x*scale + shift, which cancels where x is far from 0. Seen over 30 seeds: at most 2.4 ulps of the
# row's scale.
ULPS = 4
EVERY = [pytest.param(case, dtype, id=f"{case.name}-{dtype}") for case in CASES for dtype in case.dtypes]
DIGITS = {"float16": 10, "bfloat16": 7}  # behind the point of a binary fraction
STEPS = {"mu": ("mean", "u"), "var": ("s",), "r": ("rstd",), "xhat": ("normalized",)}


@cache
def golden() -> dict[str, Any]:
    with np.load(FILE) as file:
        return dict(file)


def of_case(case: Case, dtype: str) -> dict[str, Any]:
    prefix = f"{case.name}/{dtype}/"
    return {key.removeprefix(prefix): value for key, value in golden().items() if key.startswith(prefix)}


def norm_of(case: Case) -> ns.Norm:
    constructor = getattr(ns, "layer_norm" if case.kind == "gpt2" else case.kind)
    return constructor(**case.arguments)


def run(case: Case, given: dict[str, Any]) -> ns.Trace:
    norm = norm_of(case)
    wanted = ["gamma", "beta", *(["running_mean", "running_var"] if norm.running else [])]
    return ns.trace(given["x"], norm, **{name: given[name] for name in wanted if name in given})


def check(case: Case, given: dict[str, Any], expected: dict[str, Any], dtype: str) -> None:
    if dtype in HALVES:
        check_half(case, given, expected["y"].astype(float), dtype)
        return
    trace = run(case, given)
    assert trace.output.dtype == expected["y"].dtype
    assert trace.output.shape == expected["y"].shape
    assert ulps_apart(trace, expected["y"]) <= ULPS
    check_steps(trace, expected)
    if "new_running_mean" in expected:
        check_running(case, given, expected)


def check_half(case: Case, given: dict[str, Any], y: Any, dtype: str) -> None:
    """Our float32 result, rounded as it would be stored, is at most one unit in the last place from PyTorch's."""
    trace = run(case, {name: value.astype(dtype_of(dtype)) for name, value in given.items()})
    assert trace["y"].dtype == np.float32
    ulp = 2.0 ** (np.floor(np.log2(np.abs(y))) - DIGITS[dtype])
    assert np.all(np.abs(trace.output.astype(dtype_of(dtype)).astype(float) - y) <= ulp)


def check_steps(trace: ns.Trace, expected: dict[str, Any]) -> None:
    """The mean, variance, reciprocal root and normalized x that PyTorch's kernel and GPT-2's formula give."""
    x, r, digit = np.abs(trace.inputs["x"]), trace["r"], np.finfo(trace["y"].dtype).eps
    over = tuple(trace.program.axes.index(axis) for axis in trace.norm.over)
    largest = np.max(x, axis=over, keepdims=True)
    # A mean rounds at the size of the row; that moves c by as much, and r by that beside its 1/r.
    allowed = {"mu": largest, "var": largest / r + 1 / r**2, "r": r * (1 + largest * r), "xhat": 1 + largest * r}
    for name, theirs in STEPS.items():
        for other in set(theirs) & set(expected):
            assert np.all(np.abs(trace[name] - expected[other]) <= ULPS * digit * allowed[name]), name


def check_running(case: Case, given: dict[str, Any], expected: dict[str, Any]) -> None:
    old = given["running_mean"], given["running_var"]
    update = ns.running_statistics(given["x"], norm_of(case), *old, momentum=MOMENTUM)
    tolerance = ULPS * np.finfo(given["x"].dtype).eps
    for name in ("new_running_mean", "new_running_var"):
        ours = update[name].reshape(-1)
        np.testing.assert_allclose(ours, expected[name], rtol=tolerance, atol=tolerance * np.abs(given["x"]).max())


def test_what_was_recorded():
    assert str(golden()["torch_version"]) == "2.13.0"
    assert FILE.stat().st_size < 200_000
    kinds = [case.kind for case in CASES]
    counts = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
    assert counts == {
        "layer_norm": 14, "rms_norm": 11, "batch_norm": 9, "instance_norm": 4, "group_norm": 6, "gpt2": 2,
    }  # fmt: skip


@pytest.mark.parametrize("case, dtype", EVERY)
def test_recorded(case, dtype):
    vectors = of_case(case, dtype)
    check(case, vectors, vectors, dtype)


@pytest.mark.parametrize("case, dtype", [each for each in EVERY if each.values[0].kind == "gpt2"])
def test_lesson_A4_layer_norm_is_pytorchs_and_gpt2s(case, dtype):
    vectors = of_case(case, dtype)
    assert {"u", "s", "normalized"} < vectors.keys()
    check(case, vectors, vectors, dtype)
    check(case, vectors, {"y": vectors["torch_y"]}, dtype)


@pytest.mark.parametrize("case, dtype", [each for each in EVERY if each.values[0].kind == "layer_norm"])
def test_lesson_A4_mean_and_reciprocal_root_are_recorded(case, dtype):
    assert {"mean", "rstd"} < of_case(case, dtype).keys()


@pytest.mark.parametrize("dtype", HALVES)
def test_pytorch_adds_float32s_eps_to_halves(dtype):
    """What eps None means is seen from the output alone: eps = (x / y)^2 - mean(x^2), for any cell."""
    case = next(case for case in CASES if case.name == "rms_norm_small_no_affine")
    x, y = (of_case(case, dtype)[name].astype(float) for name in "xy")
    implied = np.median((x / y) ** 2 - np.mean(x**2, axis=-1, keepdims=True))
    assert implied == pytest.approx(2.0**-23, rel=0.02)


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
