"""The policies against what PyTorch 2.13 and ONNX Runtime 1.32 gave in narrow formats (tests/golden)."""

from dataclasses import replace
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import normscope as ns
from normscope.program import Step
from normscope.views.formats import FORMATS, format_of
from normscope.views.policies import find
from normscope.views.rounding import evaluate
from tests.golden.record_rounding import CASES, FILE, HALVES, NARROW, Case

EVERY = [pytest.param(case, id=case.name) for case in CASES]
FLOAT16 = [pytest.param(case, id=case.name) for case in CASES if case.dtype == "float16"]
LAYER, RMS = ns.layer_norm(), ns.rms_norm(eps=1e-5)


@cache
def golden() -> dict[str, Any]:
    with np.load(FILE) as file:
        return dict(file)


def recorded(case: Case, name: str) -> Any:
    """A recorded array of a case; of bits, the numbers that they are."""
    made = golden()[f"{case.name}/{name}"]
    return made if made.dtype == np.float32 else numbers(made, case.dtype)


def numbers(bits: Any, dtype: str) -> Any:
    return bits.view(getattr(ml_dtypes, dtype, dtype)).astype(np.float32)


def of_policy(case: Case, kind: str, norm: ns.Norm, gamma: Any = None) -> ns.Trace:
    beta = recorded(case, "beta") if norm.shift else None
    gamma = recorded(case, "gamma") if gamma is None else gamma
    return ns.trace(recorded(case, "x"), norm, gamma, beta, policy=f"{kind}-{format_of(case.dtype).short}")


def apart(ours: Any, theirs: Any, dtype: str) -> tuple[float, float]:
    """The largest difference in ulps of the row's largest number, and the share of cells that differ."""
    ulp = [[float(format_of(dtype).ulp(float(np.abs(row).max())))] for row in theirs]
    return float(np.max(np.abs(ours - theirs) / ulp)), float(np.mean(ours != theirs))


def given_statistics(case: Case, kind: str, mean: str, rstd: str) -> Any:
    """y of a policy's program from a mean and a reciprocal root that are not computed but given."""
    policy = find(f"{kind}-{format_of(case.dtype).short}")
    norm = LAYER.fit(2)
    program = policy.program(norm)
    steps = tuple(step for step in program if step.name not in ("mu", "r"))
    inputs = (*program.inputs, ("mu", norm.kept), ("r", norm.kept))
    values = {name: recorded(case, name) for name in ("x", "gamma", "beta")} | {"eps": norm.eps}
    values |= {"mu": recorded(case, mean), "r": recorded(case, rstd)}
    sizes = norm.sizes_for(values["x"].shape)
    return evaluate(replace(program, inputs=inputs, steps=steps), sizes, values, policy, norm.over)["y"]


def test_what_was_recorded():
    assert str(golden()["torch/version"]) == "2.13.0"
    assert str(golden()["onnxruntime/version"]) == "1.32.0"
    assert FILE.stat().st_size < 200_000
    assert {case.dtype for case in CASES} == set(HALVES)


@pytest.mark.parametrize("dtype", NARROW)
def test_pytorchs_casts(dtype):
    """Bit for bit; of float8_e4m3fn PyTorch's cast saturates, an infinity too."""
    of, saturate = FORMATS[dtype], dtype == "float8_e4m3fn"
    theirs = numbers(golden()[f"cast/{dtype}"], dtype).astype(float)
    ours = [of.round(float(cell), saturate=saturate) for cell in golden()["cast/from"]]
    np.testing.assert_array_equal(ours, theirs)
    is_number = ~np.isnan(theirs)  # a nan's sign bit says nothing, and differs
    np.testing.assert_array_equal(np.signbit(ours)[is_number], np.signbit(theirs)[is_number])


@pytest.mark.parametrize("kind, norm", [("steps", LAYER), ("statistics", LAYER), ("llama", RMS), ("pytorch", RMS)])
@pytest.mark.parametrize("case", EVERY)
def test_bit_for_bit(case, kind, norm):
    order = "rms" if (kind, norm) == ("pytorch", RMS) else kind
    np.testing.assert_array_equal(of_policy(case, kind, norm).output, recorded(case, order))


@pytest.mark.parametrize("case", EVERY)
def test_gemma(case):
    """Bit for bit but for the order of the sum: 1 of 8,000 cells is an ulp away."""
    ours = of_policy(case, "gemma", RMS, 1 + recorded(case, "w").astype(float)).output
    ulps, share = apart(ours, recorded(case, "gemma"), case.dtype)
    assert ulps <= 1 and share * ours.size <= (1 if case.name == "wide-far-float16" else 0)


@pytest.mark.parametrize("case", EVERY)
def test_gemmas_norm_given_the_weights_that_it_stores(case):
    """The same bits from a norm whose offset is the 1: no gamma is made of w first."""
    from_gamma = of_policy(case, "gemma", RMS, 1 + recorded(case, "w").astype(float)).output
    stored = of_policy(case, "gemma", replace(RMS, offset=1), recorded(case, "w"))
    np.testing.assert_array_equal(stored.output, from_gamma)
    assert "w in" not in stored.notes[0] and "gamma in float64" not in stored.notes[0]


@pytest.mark.parametrize("case", EVERY)
def test_pytorchs_kernel_from_its_own_statistics(case):
    """Given the kernel's float32 mean and 1/std, every bit of y: x*r - mu*r and *gamma + beta, each fused."""
    np.testing.assert_array_equal(given_statistics(case, "pytorch", "mean", "rstd"), recorded(case, "kernel"))


@pytest.mark.parametrize("case", EVERY)
def test_pytorchs_kernel(case):
    """Its sums (Welford, by lanes) round otherwise: mean and 1/std by some float32 ulps, so a few cells of y."""
    trace = of_policy(case, "pytorch", LAYER)
    ulps, share = apart(trace.output, recorded(case, "kernel"), case.dtype)
    assert ulps <= 1 and share <= (0.02 if case.level == "far" else 0)
    for name, theirs, most in (("mu", "mean", 1), ("r", "rstd", 14)):
        assert np.all(np.abs(trace[name] - recorded(case, theirs)) <= most * np.spacing(recorded(case, theirs))), name


@pytest.mark.parametrize("case", EVERY)
def test_a_root_left_over_is_rounded_before_its_reciprocal(case):
    """PyTorch's rsqrt of a half that fills no vector: the same policy on a program with two steps for the root."""
    policy, norm = find(f"steps-{format_of(case.dtype).short}"), LAYER.fit(2)
    program = policy.program(norm)
    two = (Step("s", "sqrt", ("v",), norm.kept, into="s"), Step("r", "recip", ("s",), norm.kept, into="r"))
    steps = [two if step.name == "r" else (step,) for step in program]
    program = replace(program, steps=tuple(step for several in steps for step in several))
    values = {name: recorded(case, name) for name in ("x", "gamma", "beta")} | {"eps": norm.eps}
    made = evaluate(program, norm.sizes_for(values["x"].shape), values, policy, norm.over)
    np.testing.assert_array_equal(made["y"], recorded(case, "left_over"))


def test_a_root_left_over_gives_other_bits():
    assert any(np.any(recorded(case, "left_over") != recorded(case, "steps")) for case in CASES)


@pytest.mark.parametrize("case", FLOAT16)
def test_onnxruntime_from_its_own_statistics(case):
    """Given its mean and 1/std, every bit of y: (x - mu) * r, and *gamma + beta fused."""
    np.testing.assert_array_equal(
        given_statistics(case, "onnxruntime", "onnx_mean", "onnx_rstd"), recorded(case, "onnx")
    )


@pytest.mark.parametrize("case", FLOAT16)
def test_onnxruntime(case):
    ulps, share = apart(of_policy(case, "onnxruntime", LAYER).output, recorded(case, "onnx"), "float16")
    assert ulps <= 1 and share <= (0.002 if case.name == "wide-far-float16" else 0)
    np.testing.assert_array_equal(of_policy(case, "onnxruntime", RMS).output, recorded(case, "onnx_rms"))
