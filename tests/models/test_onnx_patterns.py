"""Norms as converters write them, wrong ones too, and operators of ONNX Runtime: built by hand."""

import sys

import numpy as np
import pytest

import normscope as ns
from tests.models.graphs import BETA, GAMMA, inspected, model, only, scalar

STATISTICS = """
    mu = ReduceMean <axes = [-1]> (x)
    c = Sub (x, mu)
    q = Mul (c, c)
    var = ReduceMean <axes = [-1]> (q)
"""
EPS = {"eps": scalar(1e-5), "gamma": GAMMA, "beta": BETA}
AFFINE = "scaled = Mul (xhat, gamma)\n y = Add (scaled, beta)"


def test_tf2onnx_multiplies_gamma_into_the_root(tmp_path):
    body = f"""{STATISTICS}
        v = Add (var, eps)
        s = Sqrt (v)
        r = Reciprocal (s)
        k = Mul (r, gamma)
        xk = Mul (x, k)
        muk = Mul (mu, k)
        neg = Neg (muk)
        b = Add (neg, beta)
        y = Add (xk, b)
    """
    found = only(inspected(model(body, opset=15, **EPS), tmp_path))
    assert found.norm == ns.layer_norm(8)
    assert found.form == "two-pass"
    assert found.warnings == ()
    assert {role: found.tensors[role] for role in ("gamma", "beta")} == {"gamma": "gamma", "beta": "beta"}


def test_tf2onnx_without_a_beta(tmp_path):
    body = f"""{STATISTICS}
        v = Add (var, eps)
        s = Sqrt (v)
        r = Reciprocal (s)
        k = Mul (r, gamma)
        xk = Mul (x, k)
        muk = Mul (mu, k)
        y = Sub (xk, muk)
    """
    found = only(inspected(model(body, opset=15, **EPS), tmp_path))
    assert (found.norm, found.warnings) == (ns.layer_norm(8, bias=False), ())


def test_keras_takes_means_by_global_average_pool(tmp_path):
    body = """
        flat = Reshape (x, rows)
        mu = GlobalAveragePool (flat)
        c = Sub (flat, mu)
        q = Mul (c, c)
        var = GlobalAveragePool (q)
        v = Add (var, eps)
        s = Sqrt (v)
        n = Div (c, s)
        xhat = Reshape (n, back)
        scaled = Mul (xhat, gamma)
        y = Add (scaled, beta)
    """
    arrays = {**EPS, "eps": scalar(1e-3), "rows": np.array([1, -1, 8]), "back": np.array([-1, 5, 8])}
    found = only(inspected(model(body, x="float[B,5,8] x", y="float[B,5,8] y", **arrays), tmp_path))
    assert found.norm == ns.layer_norm(8, 1e-3)
    assert "ONNX Runtime gives what the norm gives, on random numbers" in found.evidence


def test_a_sum_times_one_nth_is_a_mean(tmp_path):
    body = """
        total = ReduceSum (x, last)
        mu = Mul (total, nth)
        c = Sub (x, mu)
        squares = ReduceSumSquare <axes = [-1]> (c)
        var = Div (squares, n)
        v = Add (var, eps)
        r = Pow (v, half)
        xhat = Mul (c, r)
        scaled = Mul (xhat, gamma)
        y = Add (scaled, beta)
    """
    arrays = {**EPS, "last": np.array([-1]), "nth": scalar(0.125), "n": scalar(8), "half": scalar(-0.5)}
    found = only(inspected(model(body, opset=13, **arrays), tmp_path))
    assert found.norm == ns.layer_norm(8)
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("steps", "starts"),
    [
        ("s = Sqrt (var)\n d = Add (s, eps)\n xhat = Div (c, d)", ["eps is added to the standard deviation"]),
        ("v = Max (var, eps)\n s = Sqrt (v)\n xhat = Div (c, s)", ["eps is a floor under the variance"]),
        ("s = Sqrt (var)\n d = Max (s, eps)\n xhat = Div (c, d)", ["eps is a floor under the standard deviation"]),
        ("s = Sqrt (var)\n xhat = Div (c, s)", ["there is no eps"]),
        ("v = Add (var, eps)\n s = Sqrt (v)\n xhat = Div (x, s)", ["the mean is subtracted for the variance only"]),
        (
            "u = Mul (var, bessel)\n v = Add (u, eps)\n s = Sqrt (v)\n xhat = Div (c, s)",
            ["the variance divides by n - 1"],
        ),
        (
            "p = Mul (x, x)\n m = ReduceMean <axes = [-1]> (p)\n v = Add (m, eps)\n s = Sqrt (v)\n xhat = Div (c, s)",
            ["the divisor is the root mean square of x"],
        ),
    ],
)
def test_a_wrong_form_is_found_and_said(steps, starts, tmp_path):
    found = only(inspected(model(f"{STATISTICS} {steps}\n {AFFINE}", **EPS, bessel=scalar(8 / 7)), tmp_path))
    assert found.norm.name == "LayerNorm"
    assert [warning[: len(start)] for warning, start in zip(found.warnings, starts, strict=True)] == starts
    assert "ONNX Runtime gives what the norm gives, on random numbers" in found.evidence


@pytest.mark.parametrize("clamp", [True, False])
def test_a_one_pass_variance_is_called_so_with_or_without_a_clamp(clamp, tmp_path):
    body = f"""
        mu = ReduceMean <axes = [-1]> (x)
        sq = Mul (x, x)
        msq = ReduceMean <axes = [-1]> (sq)
        mu2 = Mul (mu, mu)
        raw = Sub (msq, mu2)
        var = {"Max (raw, zero)" if clamp else "Identity (raw)"}
        v = Add (var, eps)
        s = Sqrt (v)
        c = Sub (x, mu)
        xhat = Div (c, s)
        {AFFINE}
    """
    found = only(inspected(model(body, **EPS, zero=scalar(0)), tmp_path))
    assert found.norm == ns.layer_norm(8)
    assert found.form == "one-pass"
    assert [("negative" in warning) for warning in found.warnings] == ([False] if clamp else [False, True])


def test_dropped_keepdims_is_said_and_run(tmp_path):
    body = """
        mu = ReduceMean <axes = [-1], keepdims = 0> (x)
        c = Sub (x, mu)
        q = Mul (c, c)
        var = ReduceMean <axes = [-1], keepdims = 0> (q)
        v = Add (var, eps)
        s = Sqrt (v)
        y = Div (c, s)
    """
    found = only(inspected(model(body, x="float[8,8] x", y="float[8,8] y", eps=scalar(1e-5)), tmp_path))
    assert found.norm == ns.layer_norm(8, elementwise_affine=False)
    assert found.warnings[0].startswith("a statistic lost its reduced axis")
    assert found.warnings[1].startswith("ONNX Runtime gives another result")


@pytest.mark.parametrize("offset", [0, 1])
def test_one_plus_gamma_is_an_offset(offset, tmp_path):
    body = f"""
        q = Mul (x, x)
        m = ReduceMean <axes = [-1]> (q)
        v = Add (m, eps)
        s = Sqrt (v)
        xhat = Div (x, s)
        g = {"Add (gamma, one)" if offset else "Identity (gamma)"}
        y = Mul (g, xhat)
    """
    found = only(inspected(model(body, **(EPS | {"eps": scalar(1e-6)}), one=scalar(1)), tmp_path))
    assert found.norm == ns.rms_norm(8, 1e-6, offset=offset)
    assert found.offset == offset
    assert found.tensors["gamma"] == "gamma"
    assert found.parameters["gamma"].most == pytest.approx(1.5)


def test_the_offset_of_a_fused_operator(tmp_path):
    body = "g = Add (one, gamma)\n y = RMSNormalization <epsilon = 1e-6> (x, g)"
    found = only(inspected(model(body, opset=23, gamma=GAMMA, one=scalar(1)), tmp_path))
    assert (found.norm, found.offset, found.tensors["gamma"]) == (ns.rms_norm(8, 1e-6, offset=1), 1, "gamma")
    assert "ONNX Runtime gives what the norm gives, on random numbers" in found.evidence


def test_channels_that_stand_last_are_grouped_too(tmp_path):
    body = """
        split = Reshape (x, groups)
        mu = ReduceMean <axes = [1, 2, 4]> (split)
        c = Sub (split, mu)
        q = Mul (c, c)
        var = ReduceMean <axes = [1, 2, 4]> (q)
        v = Add (var, eps)
        s = Sqrt (v)
        n = Div (c, s)
        xhat = Reshape (n, whole)
        scaled = Mul (xhat, gamma)
        y = Add (scaled, beta)
    """
    arrays = {**EPS, "groups": np.array([0, 5, 6, 2, 4]), "whole": np.array([-1, 5, 6, 8])}
    found = only(inspected(model(body, x="float[N,5,6,8] x", y="float[N,5,6,8] y", **arrays), tmp_path))
    assert found.norm.layout.over == tuple(found.norm.layout.axes[at] for at in (1, 2, 4))
    assert found.norm.param_axes == found.norm.axes[-2:]


def test_batch_norm_in_evaluation_written_out(tmp_path):
    body = """
        v = Add (variance, eps)
        s = Sqrt (v)
        c = Sub (x, mean)
        xhat = Div (c, s)
        scaled = Mul (xhat, gamma)
        y = Add (scaled, beta)
    """
    shape = (1, 8, 1, 1)
    arrays = {"mean": BETA, "variance": GAMMA * 2, "gamma": GAMMA, "beta": BETA}
    arrays = {name: cells.reshape(shape) for name, cells in arrays.items()}
    made = model(body, x="float[N,8,H,W] x", y="float[N,8,H,W] y", eps=scalar(1e-5), **arrays)
    found = only(inspected(made, tmp_path))
    assert found.norm == ns.batch_norm(8, training=False)
    assert found.tensors["running_var"] == "variance"


@pytest.mark.parametrize(
    ("line", "norm"),
    [
        ("y = SkipLayerNormalization <epsilon = 1e-12> (x, x2, gamma, beta)", ns.layer_norm(8, 1e-12)),
        ("y = SkipSimplifiedLayerNormalization <epsilon = 1e-6> (x, x2, gamma)", ns.rms_norm(8, 1e-6)),
        ("y = SimplifiedLayerNormalization <axis = -1, epsilon = 1e-6> (x, gamma)", ns.rms_norm(8, 1e-6)),
        ("y = LayerNormalization <axis = -1> (x, gamma, beta)", ns.layer_norm(8)),
        ("y = LayerNormalization <axis = 2, epsilon = 1e-3> (x, gamma)", ns.layer_norm(8, 1e-3, bias=False)),
    ],
)
def test_fused_operators(line, norm, tmp_path):
    line = line.replace("y = S", "y = com.microsoft.S") if "Skip" in line else line
    found = only(inspected(model(line, x="float[2,3,8] x, float[2,3,8] x2", y="float[2,3,8] y", **EPS), tmp_path))
    assert found.norm == norm
    assert found.form == "fused"
    assert "ONNX Runtime gives what the norm gives, on random numbers" in found.evidence


def test_opset_18_scales_a_group_norm_by_group(tmp_path):
    line = "y = GroupNormalization <num_groups = 2> (x, gamma, beta)"
    arrays = {"gamma": GAMMA[:2], "beta": BETA[:2]}
    made = model(line, opset=18, x="float[N,8,3,3] x", y="float[N,8,3,3] y", **arrays)
    found = only(inspected(made, tmp_path))
    assert found.norm.affine == "g"
    assert any("one a group" in each for each in found.evidence)


def test_batch_norm_in_training_takes_the_statistics_of_x(tmp_path):
    line = "y, m, v = BatchNormalization <training_mode = 1, epsilon = 1e-3> (x, gamma, beta, mean, var)"
    arrays = {"gamma": GAMMA, "beta": BETA, "mean": BETA, "var": GAMMA}
    made = model(line, x="float[N,8,3,3] x", y="float[N,8,3,3] y", **arrays)
    assert only(inspected(made, tmp_path)).norm == ns.batch_norm(8, 1e-3)


@pytest.mark.parametrize(
    "body",
    [
        "n = ReduceL2 <axes = [-1]> (x)\n y = Div (x, n)",
        "s = Sqrt (eps)\n y = Mul (x, s)",
        "q = Mul (x, x)\n s = Sqrt (q)\n y = Div (x, s)",
        "y = Softmax (x)",
        "t = Tanh (x)\n a = Mul (t, t)\n s = Sqrt (a)\n y = Add (s, x)",
    ],
)
def test_a_root_that_is_no_norm_is_none(body, tmp_path):
    report = inspected(model(body, eps=scalar(1e-5)), tmp_path)
    assert report.norms == ()
    assert report.warnings == ()


def test_what_is_nearly_a_norm_is_a_warning(tmp_path):
    body = f"{STATISTICS} twice = Mul (var, two)\n v = Add (twice, eps)\n s = Sqrt (v)\n y = Div (c, s)"
    report = inspected(model(body, eps=scalar(1e-5), two=scalar(2)), tmp_path)
    assert report.norms == ()
    (warning,) = report.warnings
    assert warning.startswith("Sqrt_6 (Sqrt): a tensor is divided by the root of a mean over itself")


def test_a_length_times_the_root_of_n_is_an_rms_norm(tmp_path):
    body = "n = ReduceL2 <axes = [-1]> (x)\n u = Div (x, n)\n xhat = Mul (u, root)\n y = Mul (xhat, gamma)"
    found = only(inspected(model(body, root=scalar(8**0.5), gamma=GAMMA), tmp_path))
    assert found.norm == ns.rms_norm(8, 0)
    assert [warning.partition(":")[0] for warning in found.warnings] == ["there is no eps"]


def test_where_onnx_runtime_lacks_the_reference_of_onnx_runs_the_nodes(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    body = f"{STATISTICS} v = Add (var, eps)\n s = Sqrt (v)\n xhat = Div (c, s)\n {AFFINE}"
    found = only(inspected(model(body, opset=16, **(EPS | {"eps": scalar(3e-5)})), tmp_path))
    assert "onnx's reference gives what the norm gives, on random numbers" in found.evidence


def test_the_norm_is_found_between_what_stands_round_it(tmp_path):
    weight = np.eye(8, dtype=np.float32)
    body = f"""
        h0 = MatMul (z, weight)
        h = Add (h0, beta)
        x = Add (h, z)
        {STATISTICS}
        v = Add (var, eps)
        s = Sqrt (v)
        xhat = Div (c, s)
        scaled = Mul (xhat, gamma)
        n = Add (scaled, beta)
        m = MatMul (n, weight)
        y = Add (m, x)
    """
    found = only(inspected(model(body, x="float[B,S,8] z", weight=weight, **EPS), tmp_path))
    assert (found.norm, found.tensors["x"], found.tensors["y"]) == (ns.layer_norm(8), "x", "n")


def test_every_layer_of_a_stack_has_a_name_of_its_own(tmp_path):
    lines = []
    for at in range(3):
        lines.append(f"x{at + 1} = LayerNormalization <axis = -1> (x{at}, gamma, beta)")
    made = model("\n".join(lines), x="float[B,S,8] x0", y="float[B,S,8] x3", **EPS)
    names = [found.where for found in inspected(made, tmp_path).norms]
    assert names == ["LayerNormalization_0", "LayerNormalization_1", "LayerNormalization_2"]


def test_gamma_tells_the_width_that_x_leaves_open(tmp_path):
    body = f"{STATISTICS} v = Add (var, eps)\n s = Sqrt (v)\n xhat = Div (c, s)\n {AFFINE}"
    found = only(inspected(model(body, x="float[B,S,D] x", y="float[B,S,D] y", **EPS), tmp_path))
    assert found.norm == ns.layer_norm(8)


@pytest.mark.parametrize("rank", [2, 3, 4])
def test_a_width_that_nothing_tells_is_left_open(rank, tmp_path):
    body = f"{STATISTICS} v = Add (var, eps)\n s = Sqrt (v)\n y = Div (c, s)"
    shape = ",".join("ABCD"[:rank])
    found = only(inspected(model(body, x=f"float[{shape}] x", y=f"float[{shape}] y", eps=scalar(1e-5)), tmp_path))
    assert found.norm == ns.layer_norm(elementwise_affine=False)
    assert found.sizes == {}
