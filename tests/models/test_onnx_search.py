"""What a graph says between the lines: norms that share a statistic, what gamma is, what is no norm."""

import numpy as np
import pytest
from onnx import TensorProto, helper

import normscope as ns
from normscope.models import search
from normscope.models.inputs import places
from normscope.models.regions import Unreadable
from tests.models.graphs import AFFINE, BETA, EPS, GAMMA, RMS, RUN, XHAT, inspected, model, only, scalar

# ---- several norms of one root


def test_two_norms_that_share_a_statistic_are_two(tmp_path):
    body = f"{RMS} a = Mul (xhat, gamma)\n b = Mul (gamma2, xhat)\n y = Add (a, b)"
    report = inspected(model(body, **EPS, gamma2=GAMMA + 1), tmp_path)
    assert [found.tensors["gamma"] for found in report] == ["gamma", "gamma2"]
    assert {found.norm for found in report} == {ns.rms_norm(8, 1e-5)}
    assert [found.tensors["y"] for found in report] == ["a", "b"]
    assert len({found.where for found in report}) == 2
    assert all(RUN in found.evidence for found in report)


def test_two_layer_norms_that_share_xhat_have_a_beta_each(tmp_path):
    body = f"""{XHAT}
        s1 = Mul (xhat, gamma)
        s2 = Mul (xhat, gamma2)
        a = Add (s1, beta)
        b = Add (s2, beta2)
        y = Add (a, b)
    """
    report = inspected(model(body, **EPS, gamma2=GAMMA + 1, beta2=BETA + 1), tmp_path)
    assert [(found.norm, found.tensors["beta"]) for found in report] == [
        (ns.layer_norm(8), "beta"), (ns.layer_norm(8), "beta2")
    ]  # fmt: skip


def test_a_residual_add_behind_a_norm_is_no_second_one(tmp_path):
    body = f"{XHAT} scaled = Mul (xhat, gamma)\n n = Add (scaled, beta)\n r = Add (n, x)\n y = Mul (r, gamma2)"
    assert only(inspected(model(body, **EPS, gamma2=GAMMA), tmp_path)).tensors["y"] == "n"


def test_a_cast_that_changes_nothing_is_no_part_of_a_norm(tmp_path):
    cast = f"y = Cast <to = {TensorProto.FLOAT}> (n)"
    for dtype, y in (("float", "n"), ("float16", "y")):
        wide = f"w = Cast <to = {TensorProto.FLOAT}> (x)\n {XHAT.replace('(x', '(w')}\n {AFFINE.replace('y =', 'n =')}"
        back = cast if dtype == "float" else cast.replace(f"= {TensorProto.FLOAT}>", f"= {TensorProto.FLOAT16}>")
        made = model(f"{wide}\n {back}", x=f"{dtype}[B,S,8] x", y=f"{dtype}[B,S,8] y", **EPS)
        assert only(inspected(made, tmp_path)).tensors["y"] == y


# ---- gamma and beta


@pytest.mark.parametrize(
    ("lines", "shift"),
    [
        ("hg = Mul (xhat, gamma)\n y = Add (xhat, hg)", False),
        ("hg = Mul (xhat, gamma)\n hw = Add (hg, xhat)\n y = Add (hw, beta)", True),
        ("hg = Mul (xhat, gamma)\n hb = Add (hg, beta)\n y = Add (xhat, hb)", True),
    ],
)
def test_one_plus_w_multiplied_out_is_an_offset(lines, shift, tmp_path):
    found = only(inspected(model(f"{XHAT}\n{lines}", **EPS), tmp_path))
    assert (found.norm, found.tensors["y"]) == (ns.layer_norm(8, bias=shift, offset=1), "y")


def test_beta_before_gamma_is_said(tmp_path):
    found = only(inspected(model(f"{XHAT}\n shifted = Add (xhat, beta)\n y = Mul (shifted, gamma)", **EPS), tmp_path))
    assert found.norm == ns.layer_norm(8)
    assert found.warnings == ("beta is added before gamma multiplies; the definition multiplies first.",)
    assert RUN in found.evidence


@pytest.mark.parametrize("center", [True, False])
def test_a_gamma_as_it_stands_may_be_one_plus_w(center, tmp_path):
    body = f"{XHAT if center else RMS} y = Mul (xhat, gamma)"
    assert only(inspected(model(body, **EPS), tmp_path)).unknown == (() if center else ("offset",))
    fused = "y = RMSNormalization (x, gamma)" if not center else "y = LayerNormalization (x, gamma, beta)"
    assert only(inspected(model(fused, opset=23, **EPS), tmp_path)).unknown == (() if center else ("offset",))


def test_a_gamma_that_is_quantized_is_a_gamma(tmp_path):
    body = f"g = DequantizeLinear (packed, step)\n {XHAT} scaled = Mul (xhat, g)\n y = Add (scaled, beta)"
    packed = np.arange(-4, 4, dtype=np.int8)
    found = only(inspected(model(body, **EPS, packed=packed, step=scalar(0.1)), tmp_path))
    assert found.norm == ns.layer_norm(8)
    assert (found.tensors["gamma"], found.tensors["beta"]) == ("g", "beta")
    assert RUN in found.evidence


def test_a_modulation_is_no_gamma_and_is_said(tmp_path):
    body = f"t = Tanh (z)\n {XHAT} scaled = Mul (xhat, t)\n y = Add (scaled, z)"
    found = only(inspected(model(body, given="float[B,1,8] z", **EPS), tmp_path))
    assert not found.norm.affine
    assert "t, which is computed, multiplies y next: a modulation, no gamma" in found.evidence


def test_a_gamma_that_the_model_is_given_is_said_to_be(tmp_path):
    found = only(inspected(model(f"{XHAT} y = Mul (xhat, z)", given="float[8] z", **EPS), tmp_path))
    assert (found.tensors["gamma"], "gamma is an input of the model, z" in found.evidence) == ("z", True)


@pytest.mark.parametrize(
    ("line", "shape"),
    [("y = Mul (xhat, k)", (3, 1, 1)), ("y = Mul (xhat, k)", (5, 1)), ("y = Add (xhat, k)", (5, 6, 1))],
    ids=["of the first dimension", "of one kept dimension", "of two kept dimensions"],
)
def test_parameters_are_of_one_kept_dimension_and_not_the_first(line, shape, tmp_path):
    x = "float[3,5,8]" if len(shape) != 3 or shape[0] == 3 else "float[3,5,6,8]"
    made = model(
        f"{XHAT}\n {line}",
        x=f"{x} x",
        y=f"{x} y",
        **EPS,
        k=np.linspace(0.5, 1.5, np.prod(shape), dtype="f4").reshape(shape),
    )
    assert only(inspected(made, tmp_path)).tensors["y"] == ("y" if shape == (5, 1) else "xhat")


# ---- what is no norm


def test_an_eps_that_the_model_is_given_makes_it_nearly_a_norm(tmp_path):
    report = inspected(model(f"{XHAT}\n{AFFINE}", given="float eps", gamma=GAMMA, beta=BETA), tmp_path)
    assert report.norms == ()
    assert len(report.warnings) == 1


def test_what_is_a_little_off_is_no_norm(tmp_path):
    report = inspected(
        model(f"{XHAT} off = Mul (xhat, nearly)\n y = Mul (off, gamma)", **EPS, nearly=scalar(1.00002)), tmp_path
    )
    assert [found.tensors["y"] for found in report] == ["xhat"]


def test_the_root_of_a_number_is_no_root_of_the_norm_behind_it(tmp_path):
    body = f"k = Sqrt (width)\n x = Div (z, k)\n {XHAT}\n {AFFINE}"
    found = only(inspected(model(body, x="float[B,S,8] z", **EPS, width=scalar(64)), tmp_path))
    assert (found.norm, found.tensors["x"]) == (ns.layer_norm(8), "x")


@pytest.mark.parametrize("axis", [3, -4, 7])
def test_an_axis_beyond_the_rank_is_not_wrapped(axis, tmp_path):
    body = f"{XHAT.replace('[-1]', f'[{axis}]')}\n y = Identity (xhat)"
    assert inspected(model(body, eps=scalar(1e-5)), tmp_path).norms == ()
    assert places([-3, 2, 0], 3) == [0, 2, 0]
    with pytest.raises(Unreadable):
        places([0, axis], 3)


def test_a_single_number_has_no_norm(tmp_path):
    body = f"{XHAT.replace('[-1]', '[0]')}\n y = Identity (xhat)"
    assert inspected(model(body, x="float x", y="float y", eps=scalar(1e-5)), tmp_path).norms == ()


def test_no_axes_are_all_axes_or_none(tmp_path):
    for noop in (0, 1):
        body = XHAT.replace("axes = [-1]", f"noop_with_empty_axes = {noop}")
        made = model(
            f"{body}\n y = Identity (xhat)", opset=18, x="float[2,3,8] x", y="float[2,3,8] y", eps=scalar(1e-5)
        )
        assert [found.norm.over for found in inspected(made, tmp_path)] == ([] if noop else [("d1", "d2", "d3")])


def test_a_search_that_finds_nothing_ends(tmp_path, monkeypatch):
    """Layers that are nearly norms, each on top of the last: what is tried for one root does not grow with them."""
    tried = []
    monkeypatch.setattr(search, "recognised", lambda meaning: tried.append(meaning))
    lines, x = [], "x"
    for at in range(12):
        lines += [f"n{at} = ReduceL2 <axes = [1]> ({x})", f"m{at} = ReduceMean <axes = [-1]> (n{at})",
                  f"d{at} = Div (n{at}, m{at})", f"s{at} = Mul ({x}, d{at})", f"x{at} = Add (s{at}, {x})"]  # fmt: skip
        x = f"x{at}"
    report = inspected(model("\n".join([*lines, f"y = Identity ({x})"])), tmp_path)
    assert len(report.warnings) == 12
    assert len(tried) <= 24 * (search.FRUITLESS + 1)


def test_what_follows_a_norm_is_hardly_tried(tmp_path, monkeypatch):
    tried, recognised = [], search.recognised
    monkeypatch.setattr(search, "recognised", lambda meaning: tried.append(meaning) or recognised(meaning))
    lines = [f"r{at + 1} = Mul (r{at}, k{at})" for at in range(20)]
    scales = {f"k{at}": GAMMA for at in range(20)}
    body = "\n".join([XHAT, AFFINE.replace("y =", "r0 ="), *lines, "y = Identity (r20)"])
    assert only(inspected(model(body, **EPS, **scales), tmp_path)).tensors["y"] == "r0"
    assert len(tried) < 12


# ---- operators of ONNX Runtime


def test_the_parameters_of_embed_layer_norm(tmp_path):
    made = model(
        "y = Identity (x)", opset=17, gamma=GAMMA, beta=BETA, words=np.ones((9, 8), "f4"), places=np.ones((9, 8), "f4")
    )
    inputs = ["ids", "", "words", "places", "", "gamma", "beta"]
    made.graph.node.append(
        helper.make_node("EmbedLayerNormalization", inputs, ["e", "mask"], domain="com.microsoft", epsilon=1e-12)
    )
    found = only(inspected(made, tmp_path))
    assert (found.norm, found.tensors["gamma"], found.tensors["beta"]) == (ns.layer_norm(8, 1e-12), "gamma", "beta")
    assert "the operator adds the embeddings first" in found.evidence


@pytest.mark.parametrize("bias", [True, False])
def test_a_bias_is_added_inside_skip_simplified(bias, tmp_path):
    inputs = "x, x2, gamma, beta" if bias else "x, x2, gamma"
    line = f"y = com.microsoft.SkipSimplifiedLayerNormalization <epsilon = 1e-6> ({inputs})"
    found = only(inspected(model(line, x="float[2,3,8] x, float[2,3,8] x2", y="float[2,3,8] y", **EPS), tmp_path))
    assert (found.norm, "beta" in found.tensors) == (ns.rms_norm(8, 1e-6), False)
    added = "x + skip + bias" if bias else "x + skip"
    assert f"the operator adds first: its norm is of {added}" in found.evidence


@pytest.mark.parametrize("silu", [0, 1])
@pytest.mark.parametrize("last", [0, 1])
def test_channels_of_the_runtimes_group_norm(last, silu, tmp_path):
    settings = f"groups = 2, channels_last = {last}, activation = {silu}, epsilon = 1e-6"
    line = f"y = com.microsoft.GroupNorm <{settings}> (x, gamma, beta)"
    x = "float[2,3,5,8]" if last else "float[2,8,3,5]"
    found = only(inspected(model(line, x=f"{x} x", y=f"{x} y", **EPS), tmp_path))
    assert found.norm.pattern == ("N [H W] (g [c])" if last else "N (g [c]) [...]")
    assert found.sizes == {"g": 2, "c": 4}
    assert ("SiLU follows inside the operator" in found.evidence) == bool(silu)
