"""A find that is run: what is noticed, what is not run, and what ONNX Runtime's fusions change."""

import numpy as np
import pytest
from onnx import ModelProto

import normscope as ns
from normscope.models import onnx_file, sizing, verify
from normscope.models.found import Found, Report
from normscope.models.recognise import made_by
from normscope.models.running import Part
from tests.models.graphs import AFFINE, BETA, CENTERED, GAMMA, RUN, XHAT, inspected, model, only, scalar

BODY = f"{XHAT}\n{AFFINE}"


def layer(eps: float = 1e-5, dtype: str = "float", cells=np.float32, body: str = BODY) -> ModelProto:
    """A LayerNorm written out in some format."""
    arrays = {"eps": np.array(eps, cells), "gamma": GAMMA.astype(cells), "beta": BETA.astype(cells)}
    return model(body, opset=13, x=f"{dtype}[2,3,8] x", y=f"{dtype}[2,3,8] y", **arrays)


def read_with(monkeypatch, **fields):
    """Let every norm be read with these fields instead of its own."""
    from dataclasses import replace

    def wrong(found, sizes, given):
        return made_by(replace(found, norm=replace(found.norm, **fields)), sizes, given)

    monkeypatch.setattr(onnx_file, "made_by", wrong)


@pytest.mark.parametrize("eps", [1e-3, 1e-5, 1e-6, 1e-12])
def test_an_eps_is_verified_where_it_counts(eps, tmp_path):
    found = only(inspected(layer(eps), tmp_path))
    assert (found.verified, found.warnings) == ("agrees", ())
    assert f"and where eps counts, at a spread of {eps**0.5:.2g}" in found.evidence


@pytest.mark.parametrize(("eps", "read"), [(1e-5, "1e-6"), (1e-5, "1.1e-5"), (1e-6, "1e-12"), (1e-12, "1e-5")])
def test_an_eps_that_is_read_wrong_is_noticed(eps, read, tmp_path, monkeypatch):
    read_with(monkeypatch, eps=ns.layer_norm(eps=read).eps)
    found = only(inspected(layer(eps), tmp_path))
    assert found.verified == "differs"
    assert found.warnings[0].startswith("ONNX Runtime gives another result for these nodes than this norm")


def test_of_float16_an_eps_is_verified_that_float16_can_hold(tmp_path, monkeypatch):
    found = only(inspected(layer(1e-5, "float16", np.float16), tmp_path))
    assert (found.verified, found.warnings) == ("agrees", ())
    read_with(monkeypatch, eps=ns.layer_norm(eps="1e-7").eps)
    assert only(inspected(layer(1e-5, "float16", np.float16), tmp_path)).verified == "differs"


def test_of_float16_an_eps_of_few_digits_is_verified(tmp_path):
    found = only(inspected(layer(6e-7, "float16", np.float16), tmp_path))
    assert (found.verified, found.warnings) == ("agrees", ())
    assert "and where eps counts, at a spread of 0.00077" in found.evidence


def test_of_float16_an_eps_below_its_digits_is_not_claimed_to_be_verified(tmp_path):
    body = "y = LayerNormalization <axis = -1, epsilon = 1e-12> (x, gamma, beta)"
    made = layer(0, "float16", np.float16, body)
    made.opset_import[0].version = 17
    found = only(inspected(made, tmp_path))
    assert (found.verified, found.evidence[-1]) == ("agrees", RUN)


@pytest.mark.parametrize(
    ("steps", "eps"),
    [("s = Sqrt (var)\n d = Add (s, eps)", 1e-6), ("s = Sqrt (var)\n d = Max (s, eps)", 1e-6)],
)
def test_an_eps_beside_the_root_counts_at_a_spread_of_its_own(steps, eps, tmp_path, monkeypatch):
    body = f"{CENTERED}{steps}\n xhat = Div (c, d)\n{AFFINE}"
    found = only(inspected(layer(eps, body=body), tmp_path))
    assert found.verified == "agrees"
    assert "and where eps counts, at a spread of 1e-06" in found.evidence
    read_with(monkeypatch, eps=ns.layer_norm(eps="1e-8").eps)
    assert only(inspected(layer(eps, body=body), tmp_path)).verified == "differs"


@pytest.mark.parametrize("eps", ["1e-5", "1e-12"])
@pytest.mark.parametrize(
    "line",
    [
        "y = BatchNormalization <epsilon = EPS> (x, gamma, beta, mean, var)",
        "v = Add (var2, eps)\n s = Sqrt (v)\n c = Sub (x, mean2)\n n = Div (c, s)\n y = Mul (n, gamma2)",
    ],
)
def test_the_eps_of_running_statistics_counts_where_they_are_small(line, eps, tmp_path, monkeypatch):
    arrays = {"gamma": GAMMA, "beta": BETA, "mean": BETA, "var": GAMMA}
    arrays |= {f"{name}2": arrays[name].reshape(8, 1, 1) for name in ("gamma", "mean", "var")} | {
        "eps": scalar(float(eps))
    }
    made = model(line.replace("EPS", eps), x="float[2,8,3,3] x", y="float[2,8,3,3] y", **arrays)
    found = only(inspected(made, tmp_path))
    assert (found.norm.eps, found.verified) == (ns.layer_norm(eps=eps).eps, "agrees")
    assert f"and where eps counts, at a spread of {float(eps) ** 0.5:.2g}" in found.evidence
    read_with(monkeypatch, eps=found.norm.eps * 2)
    if "Batch" not in line:
        assert only(inspected(made, tmp_path)).verified == "differs"


def part(tmp_path, wrong: float) -> Part:
    """A LayerNorm to run, of which we expect y, wrong by a share of what rounding explains."""
    made = layer()
    path = tmp_path / "model.onnx"
    path.write_bytes(made.SerializeToString())
    (graph,) = onnx_file.graphs(path)

    def expected(cells):
        x, gamma, beta = (cells[name] for name in ("x", "gamma", "beta"))
        c = x - x.mean(-1, keepdims=True)
        y = c / np.sqrt((c * c).mean(-1, keepdims=True) + 1e-5) * gamma + beta
        spread = 1 if x.std() > 0.1 else 1e-5**0.5
        relative = 2.0**-24 * (16 + 4 * 8**0.5) * 4 + 2.0**-9 * (spread < 1)
        room = relative * gamma.max() * max(beta.max(), 1)
        return y + wrong * room * (max(np.abs(x).max() / spread, 1) + np.abs(y))

    feeds = {"x": (2, 3, 8), "gamma": (8,), "beta": (8,)}
    return Part(graph, range(len(graph.nodes)), "y", feeds, {}, expected, 8, 1e-5**0.5, {"x": 1})


@pytest.mark.parametrize(("wrong", "verdict"), [(0, "agrees"), (0.7, "agrees"), (1.5, "differs"), (100, "differs")])
def test_as_much_is_allowed_as_rounding_explains(wrong, verdict, tmp_path):
    assert verify.verified(part(tmp_path, wrong)).verdict == verdict


def test_the_fusion_that_mistakes_a_lost_axis_is_said(tmp_path, monkeypatch):
    """ONNX Runtime makes a LayerNormalization of it, which broadcasts along the rows instead of the columns.

    Its sizes stay, for it runs only where they are equal.
    """
    monkeypatch.setattr(sizing, "ENOUGH", 32)
    body = BODY.replace("[-1]", "[-1], keepdims = 0").replace("q = Mul (c, c)", "q = Pow (c, two)")
    arrays = {"eps": scalar(1e-5), "two": scalar(2), "gamma": GAMMA, "beta": BETA}
    made = model(body, opset=13, x="float[8,8] x", y="float[8,8] y", **arrays)
    found = only(inspected(made, tmp_path))
    lost, other, fusion = found.warnings
    assert lost.startswith("a statistic lost its reduced axis")
    assert other.startswith("ONNX Runtime gives another result for these nodes")
    assert fusion.startswith("ONNX Runtime's own fusion of these nodes changes the result by ")
    assert fusion.endswith("it then gives what the norm gives.")
    assert float(fusion.split(" by ")[1].split(";")[0]) == pytest.approx(changed(made), rel=0.01)


def changed(made: ModelProto) -> float:
    """How far apart ONNX Runtime is with and without its fusions, on the numbers that verification takes."""
    import onnxruntime

    (x, *_) = verify.random_cells((((8, 8), "float32", 1), ((8,), "float32", 0), ((8,), "float32", 0)))
    tensors = verify.random_cells((((8, 8), "float32", 1), ((8,), "float32", 0), ((8,), "float32", 0)))
    for tensor, cells in zip(made.graph.initializer, (None, None, *tensors[1:]), strict=True):
        if cells is not None:
            tensor.raw_data = cells.tobytes()
    results = []
    for level in ("ORT_DISABLE_ALL", "ORT_ENABLE_ALL"):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
        session = onnxruntime.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
        results.append(session.run(None, {"x": x})[0])
    return float(np.abs(results[0] - results[1]).max())


def test_a_fusion_that_changes_nothing_is_not_told(tmp_path):
    body = BODY.replace("q = Mul (c, c)", "q = Pow (c, two)")
    arrays = {"eps": scalar(1e-5), "two": scalar(2), "gamma": GAMMA, "beta": BETA}
    made = model(body, opset=13, x="float[8,8] x", y="float[8,8] y", **arrays)
    assert only(inspected(made, tmp_path)).warnings == ()


def test_what_a_one_pass_variance_costs_at_a_large_mean_is_measured(tmp_path):
    body = BODY.replace("q = Mul (c, c)", "q = Mul (x, x)").replace(
        "var = ReduceMean <axes = [-1]> (q)", "m = ReduceMean <axes = [-1]> (q)\n mm = Mul (mu, mu)\n var = Sub (m, mm)"
    )
    found = only(inspected(layer(body=body), tmp_path))
    (told,) = [each for each in found.evidence if each.startswith("at a mean of 10000 and a spread of 1 ONNX Runtime")]
    assert float(told.rpartition(" ")[2]) > 0.1
    two_pass = only(inspected(layer(), tmp_path))
    assert not any("at a mean" in each for each in two_pass.evidence)


@pytest.mark.parametrize("stash", ["float", "bfloat16"])
def test_bfloat16_is_run(stash, tmp_path, monkeypatch):
    cast = f"w = Cast <to = 1> (x)\n{XHAT.replace('(x', '(w')}\n h = Cast <to = 16> (xhat)\n"
    body = cast + AFFINE.replace("xhat", "h") if stash == "float" else BODY
    import ml_dtypes
    from onnx import numpy_helper

    made = layer(1e-5, "bfloat16", np.float32, body)
    for tensor in made.graph.initializer:
        if tensor.name != "eps" or stash == "bfloat16":
            cells = numpy_helper.to_array(tensor).astype(ml_dtypes.bfloat16)
            tensor.CopyFrom(numpy_helper.from_array(cells, tensor.name))
    found = only(inspected(made, tmp_path))
    assert (found.verified, found.warnings, found.dtype) == ("agrees", (), "bfloat16")
    assert found.evidence[-1] == "bfloat16 was run as float32"
    read_with(monkeypatch, eps=ns.layer_norm(eps="1e-6").eps)
    assert only(inspected(made, tmp_path)).verified == "differs"


@pytest.mark.parametrize("batch", ["N", "1"])
def test_a_large_x_is_run_smaller(batch, tmp_path):
    shape = f"float[{batch},128,256,256]"
    body = """
        rows = Reshape (x, groups)
        mu = ReduceMean <axes = [2]> (rows)
        c = Sub (rows, mu)
        q = Mul (c, c)
        var = ReduceMean <axes = [2]> (q)
        v = Add (var, eps)
        s = Sqrt (v)
        n = Div (c, s)
        size = Shape (x)
        xhat = Reshape (n, size)
        scaled = Mul (xhat, gamma)
        y = Add (scaled, beta)
    """
    gamma = np.linspace(0.5, 1.5, 128, dtype=np.float32).reshape(128, 1, 1)
    arrays = {"eps": scalar(1e-6), "groups": np.array([0, 32, -1]), "gamma": gamma, "beta": gamma}
    found = only(inspected(model(body, x=f"{shape} x", y=f"{shape} y", **arrays), tmp_path))
    assert (found.norm, found.verified) == (ns.group_norm(32, 128, 1e-6), "agrees")


def test_an_open_batch_leaves_room_for_large_rows(tmp_path):
    cells = np.linspace(0.5, 1.5, 64 * 112 * 112, dtype=np.float32).reshape(64, 112, 112)
    body = BODY.replace("[-1]", "[1, 2, 3]")
    shape = "float[N,64,112,112]"
    made = model(body, x=f"{shape} x", y=f"{shape} y", eps=scalar(1e-5), gamma=cells, beta=cells)
    assert only(inspected(made, tmp_path)).verified == "agrees"


def test_more_cells_than_there_is_room_for_are_not_run(tmp_path, monkeypatch):
    monkeypatch.setattr(verify, "MOST_CELLS", 2 * 3 * 8)
    assert only(inspected(layer(), tmp_path)).verified == "agrees"
    monkeypatch.setattr(verify, "MOST_CELLS", 2 * 3 * 8 - 1)
    found = only(inspected(layer(), tmp_path))
    assert found.verified == "not run: x is too large to try"
    assert found.evidence[-1] == found.verified


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("y = MeanVarianceNormalization <axes = [0, 2, 3]> (x)", "the operator does more than the norm"),
        ("y = com.microsoft.SkipLayerNormalization (x, x, bad)", "ONNX Runtime refuses these nodes"),
    ],
)
def test_why_nodes_were_not_run_is_said(line, reason, tmp_path):
    made = model(line, x="float[2,8,3,8] x", y="float[2,8,3,8] y", bad=GAMMA)
    (found,) = inspected(made, tmp_path).norms
    assert found.verified.startswith(f"not run: {reason}")


@pytest.mark.parametrize(
    ("line", "norm"),
    [
        ("y = com.microsoft.SkipLayerNormalization (x, x, gamma, beta)", ns.layer_norm(8, 1e-12)),
        ("y = com.microsoft.SkipLayerNormalization (x, x2, gamma, beta, added)", ns.layer_norm(8, 1e-12)),
        ("y = com.microsoft.SkipSimplifiedLayerNormalization (x, x2, gamma, added)", ns.rms_norm(8, 1e-12)),
    ],
)
def test_an_operator_that_adds_first_is_run_with_all_that_it_adds(line, norm, tmp_path):
    arrays = {"gamma": GAMMA, "beta": BETA, "added": GAMMA[::-1].copy()}
    made = model(line, x="float[2,3,8] x, float[2,3,8] x2", y="float[2,3,8] y", **arrays)
    found = only(inspected(made, tmp_path))
    assert (found.norm, found.verified, found.warnings) == (norm, "agrees", ())


def test_a_table_says_how_many_were_verified_and_why_others_were_not(tmp_path, monkeypatch):
    lines = [BODY, "z = com.microsoft.SkipLayerNormalization (y, y, gamma, beta)"]
    made = model("\n".join(lines), opset=13, y="float[B,S,8] z", eps=scalar(1e-5), gamma=GAMMA, beta=BETA)
    assert "\n2 of 2 verified by running their nodes.\n" in inspected(made, tmp_path).text() + "\n"
    monkeypatch.setattr(verify, "MOST_CELLS", 100)
    assert (
        "1 of 2 verified by running their nodes; 1 not run: x is too large to try." in inspected(made, tmp_path).text()
    )
    read_with(monkeypatch, eps=ns.layer_norm(eps="1e-3").eps)
    monkeypatch.setattr(verify, "MOST_CELLS", 1 << 20)
    assert "1 of 2 verified by running their nodes; 1 differs." in inspected(made, tmp_path).text()
    assert "verified" not in inspected(made, tmp_path, run=False).text()


def test_a_table_says_how_many_differ():
    norms = [Found("a", ns.layer_norm(8), verified=verdict) for verdict in ("differs", "agrees", "differs", "")]
    assert Report(tuple(norms)).text().splitlines()[-1] == "1 of 4 verified by running their nodes; 2 differ."


def test_a_table_says_from_where_to_where_gamma_and_beta_go(tmp_path):
    header, row, *_ = inspected(layer(), tmp_path).text().splitlines()[1:]
    assert header.split()[6:8] == ["gamma", "beta"]
    assert "  w 0.5..1.5  -1..1  " in row
