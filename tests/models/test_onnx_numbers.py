"""The numbers of a graph: eps as its dtype holds it, floors, and what clamps a one-pass variance."""

import numpy as np
import pytest
from onnx import TensorProto

import normscope as ns
from tests.models.graphs import AFFINE, CENTERED, EPS, GAMMA, RUN, XHAT, inspected, model, only, scalar

ONE_PASS = """
    mu = ReduceMean <axes = [-1]> (x)
    sq = Mul (x, x)
    msq = ReduceMean <axes = [-1]> (sq)
    mu2 = Mul (mu, mu)
    raw = Sub (msq, mu2)
"""
TAIL = f"v = Add (var, eps)\n s = Sqrt (v)\n c = Sub (x, mu)\n xhat = Div (c, s)\n {AFFINE}"


# ---- eps


@pytest.mark.parametrize(
    ("to", "eps"),
    [("FLOAT16", 0.0), ("BFLOAT16", 1.0018386e-12), ("FLOAT", 1e-12)],  # bfloat16 has 8 bits: 141 * 2^-47
)
@pytest.mark.parametrize("like", [True, False])
def test_eps_is_what_the_dtype_that_it_is_cast_to_holds(to, eps, like, tmp_path):
    code = getattr(TensorProto, to)
    dtype = {"FLOAT16": "float16", "BFLOAT16": "bfloat16", "FLOAT": "float"}[to]
    cast = "eps = CastLike (eps32, x)" if like else f"eps = Cast <to = {code}> (eps32)"
    body = f"{cast}\n {XHAT}\n y = Identity (xhat)"
    shape = f"{dtype}[B,S,8]"
    found = only(inspected(model(body, opset=17, x=f"{shape} x", y=f"{shape} y", eps32=scalar(1e-12)), tmp_path))
    assert found.eps == pytest.approx(eps, rel=1e-6)
    assert (found.warnings[:1] == ("there is no eps: a row of equal cells divides by 0.",)) == (eps == 0)


def test_numbers_that_a_graph_computes_are_rounded_as_it_rounds_them(tmp_path):
    body = f"eps = Mul (a, a)\n {XHAT}\n y = Identity (xhat)"
    made = model(body, x="float16[B,S,8] x", y="float16[B,S,8] y", a=np.array(1e-4, np.float16))
    assert only(inspected(made, tmp_path)).eps == 0


def test_a_count_that_is_cast_to_integers_is_truncated(tmp_path):
    body = f"""
        n = Cast <to = 7> (nearly)
        count = Cast <to = 1> (n)
        total = ReduceSum (x, last)
        mu = Div (total, count)
        c = Sub (x, mu)
        squares = ReduceSumSquare <axes = [-1]> (c)
        var = Div (squares, count)
        v = Add (var, eps)
        s = Sqrt (v)
        xhat = Div (c, s)
        {AFFINE}
    """
    found = only(inspected(model(body, **EPS, nearly=scalar(8.75), last=np.array([-1])), tmp_path))
    assert (found.norm, found.warnings) == (ns.layer_norm(8), ())


@pytest.mark.parametrize("line", ["d = Max (n, floor)", "d = Clip (n, floor)"])
def test_a_length_with_a_floor_has_an_eps_that_is_its_share(line, tmp_path):
    body = f"n = ReduceL2 <axes = [-1]> (x)\n {line}\n u = Div (x, d)\n xhat = Mul (u, root)\n y = Mul (xhat, gamma)"
    found = only(inspected(model(body, root=scalar(8**0.5), floor=scalar(1e-12), gamma=GAMMA), tmp_path))
    assert found.eps == pytest.approx(1e-12 / 8**0.5, rel=1e-6)
    assert found.warnings == ("eps is a floor under the root mean square; the definition adds it to the mean square.",)


def test_a_floor_is_seen_in_the_widest_rows(tmp_path):
    body = "q = Mul (x, x)\n m = ReduceMean <axes = [-1]> (q)\n s = Sqrt (m)\n d = Max (s, eps)\n y = Div (x, d)"
    made = model(body, x="float[B,S,4096] x", y="float[B,S,4096] y", eps=scalar(1e-6))
    found = only(inspected(made, tmp_path))
    assert (found.eps, found.warnings[0][:14]) == (1e-6, "eps is a floor")


def test_beside_a_sum_of_squares_stands_n_times_eps(tmp_path):
    body = """
        q = Mul (x, x)
        total = ReduceSum (q, last)
        v = Add (total, eps)
        s = Sqrt (v)
        u = Div (x, s)
        xhat = Mul (u, root)
        y = Mul (xhat, gamma)
    """
    arrays = {"last": np.array([-1]), "eps": scalar(8e-6), "root": scalar(8**0.5), "gamma": GAMMA}
    found = only(inspected(model(body, **arrays), tmp_path))
    assert (found.norm, found.warnings) == (ns.rms_norm(8, 1e-6), ())


def test_without_an_eps_a_row_of_zeros_is_what_an_rms_norm_fears(tmp_path):
    body = "q = Mul (x, x)\n m = ReduceMean <axes = [-1]> (q)\n s = Sqrt (m)\n y = Div (x, s)"
    assert only(inspected(model(body), tmp_path)).warnings == ("there is no eps: a row of zeros divides by 0.",)


@pytest.mark.parametrize("eps", [0.5, 1.0, 3.0])
def test_an_eps_may_be_large(eps, tmp_path):
    assert only(inspected(model(f"{XHAT}\n{AFFINE}", **(EPS | {"eps": scalar(eps)})), tmp_path)).eps == eps


def test_a_forgotten_root_is_said(tmp_path):
    for line in ("xhat = Div (c, v)", "r = Reciprocal (v)\n xhat = Mul (c, r)"):
        found = only(inspected(model(f"{CENTERED} v = Add (var, eps)\n {line}\n {AFFINE}", **EPS), tmp_path))
        assert found.norm == ns.layer_norm(8)
        assert found.warnings == ("it divides by the variance + eps: the root is missing.",)
        assert RUN in found.evidence


# ---- the clamp of a one-pass variance


@pytest.mark.parametrize(
    "clamp",
    [
        "var = Relu (raw)",
        "var = Abs (raw)",
        "p = Greater (raw, zero)\n var = Where (p, raw, zero)",
        "p = Less (zero, raw)\n var = Where (p, raw, zero)",
        "p = LessOrEqual (raw, zero)\n var = Where (p, zero, raw)",
        "p = GreaterOrEqual (raw, zero)\n var = Where (p, raw, zero)",
    ],
)
def test_whatever_keeps_a_variance_from_being_negative_is_a_clamp(clamp, tmp_path):
    found = only(inspected(model(f"{ONE_PASS}\n {clamp}\n {TAIL}", **EPS, zero=scalar(0)), tmp_path))
    assert (found.norm, found.form) == (ns.layer_norm(8), "one-pass")
    assert [warning[:24] for warning in found.warnings] == ["the variance is one-pass"]
    assert {"the variance is clamped: it cannot be negative", RUN} <= set(found.evidence)


def test_a_clamp_behind_the_root_clamps_nothing(tmp_path):
    body = f"{ONE_PASS} v = Add (raw, eps)\n s0 = Sqrt (v)\n s = Max (s0, zero)\n c = Sub (x, mu)\n xhat = Div (c, s)"
    found = only(inspected(model(f"{body}\n {AFFINE}", **EPS, zero=scalar(0)), tmp_path))
    assert found.warnings[-1].startswith("nothing keeps the one-pass variance from being negative")


@pytest.mark.parametrize(
    "line",
    [
        "var = Softplus (raw)",
        "var = Clip (raw, zero, ten)",
        "p = Greater (raw, zero)\n var = Where (p, raw, ten)",
        "p = Greater (raw, zero)\n var = Where (p, zero, raw)",
        "var = Where (flag, raw, zero)",
    ],
)
def test_what_hides_a_statistic_from_its_root_is_a_warning(line, tmp_path):
    made = model(f"{ONE_PASS}\n {line}\n {TAIL}", given="bool[B,S,1] flag", **EPS, zero=scalar(0), ten=scalar(10))
    report = inspected(made, tmp_path)
    assert report.norms == ()
    (warning,) = report.warnings
    assert "a tensor is divided by the root of a mean" in warning
