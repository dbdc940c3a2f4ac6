"""PyTorch 2.13's norms and GPT-2's formula against our trace: recorded vectors, and live (`oracle`)."""

from functools import cache
from typing import Any

import numpy as np
import pytest

import normscope as ns
from tests.bounds import ulps_apart
from tests.golden.record import CASES, DTYPES, FILE, MOMENTUM, Case, inputs, outputs

# In both dtypes each side rounds every operation once, but sums in its own order, and PyTorch's kernels
# compute x*scale + shift, which cancels where x is far from 0. Seen over 30 seeds: at most 2.4 ulps of the
# row's scale.
ULPS = 4
EVERY = [pytest.param(case, dtype, id=f"{case.name}-{dtype}") for case in CASES for dtype in DTYPES]


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


def check(case: Case, given: dict[str, Any], expected: dict[str, Any]) -> None:
    trace = run(case, given)
    assert trace.output.dtype == expected["y"].dtype
    assert trace.output.shape == expected["y"].shape
    assert ulps_apart(trace, expected["y"]) <= ULPS
    if "new_running_mean" in expected:
        check_running(case, given, expected)


def check_running(case: Case, given: dict[str, Any], expected: dict[str, Any]) -> None:
    old = given["running_mean"], given["running_var"]
    update = ns.running_statistics(given["x"], norm_of(case), *old, momentum=MOMENTUM)
    tolerance = ULPS * np.finfo(given["x"].dtype).eps
    for name in ("new_running_mean", "new_running_var"):
        ours = update[name].reshape(-1)
        np.testing.assert_allclose(
            ours, expected[name], rtol=tolerance, atol=tolerance * np.abs(given["x"]).max()
        )


def test_what_was_recorded():
    assert str(golden()["torch_version"]) == "2.13.0"
    assert FILE.stat().st_size < 200_000
    kinds = [case.kind for case in CASES]
    counts = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
    assert counts == {
        "layer_norm": 13, "rms_norm": 7, "batch_norm": 9, "instance_norm": 4, "group_norm": 6, "gpt2": 2,
    }  # fmt: skip


@pytest.mark.parametrize("case, dtype", EVERY)
def test_recorded(case, dtype):
    vectors = of_case(case, dtype)
    check(case, vectors, vectors)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", [case for case in CASES if case.kind == "gpt2"], ids=lambda case: case.name)
def test_lesson_A4_layer_norm_is_pytorchs_and_gpt2s(case, dtype):
    vectors = of_case(case, dtype)
    check(case, vectors, vectors)
    check(case, vectors, {"y": vectors["torch_y"]})


@pytest.mark.oracle
@pytest.mark.parametrize("seed", range(1, 11))
@pytest.mark.parametrize("case, dtype", EVERY)
def test_live(case, dtype, seed):
    given = inputs(case, dtype, seed)
    check(case, given, outputs(case, given))


@pytest.mark.oracle
@pytest.mark.parametrize("case, dtype", EVERY)
def test_the_recorded_inputs_are_those_of_the_case(case, dtype):
    vectors = of_case(case, dtype)
    for name, value in inputs(case, dtype).items():
        assert np.array_equal(vectors[name], value), name
