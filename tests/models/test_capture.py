"""A model run on one input: x and y of every norm are what the model computes there, whatever kind of model it is."""

import json
import zipfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import normscope as ns
from normscope.errors import FileError
from normscope.models import capture
from normscope.models.capture import captured
from normscope.models.found import Found
from normscope.models.measuring import measured
from normscope.models.onnx_file import inspect_onnx
from tests.models.graphs import BETA, GAMMA, model

X = np.random.default_rng(3).normal(2.0, 3.0, (2, 3, 8)).astype(np.float32)
W = np.random.default_rng(4).normal(size=(8, 8)).astype(np.float32)
TWO = """a = LayerNormalization<axis = -1, epsilon = 1e-5>(x, gamma, beta)
b = MatMul(a, w)
m = ReduceMean<axes = [-1]>(b)
c = Sub(b, m)
q = Mul(c, c)
v = ReduceMean<axes = [-1]>(q)
e = Add(v, eps)
s = Sqrt(e)
y = Div(c, s)"""


def layer_norm(x, gamma=1.0, beta=0.0, eps=1e-5):
    """The oracle: LayerNorm as NumPy says it."""
    x = x.astype(np.float64)
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps) * gamma + beta


def written(made, folder):
    path = folder / "model.onnx"
    path.write_bytes(made if isinstance(made, bytes) else made.SerializeToString())
    return path


def two(folder):
    eps = np.array(1e-5, np.float32)
    return written(model(TWO, gamma=GAMMA, beta=BETA, w=W, eps=eps), folder)


def passages(path, feeds, norms=None):
    """Every passage through a model's norms, and what was said."""
    kept = []
    notes = captured(path, feeds, inspect_onnx(path, run=False).norms if norms is None else norms, kept.append)
    return kept, notes


def test_x_and_y_of_each_norm(tmp_path):
    path = two(tmp_path)
    before = path.read_bytes()
    (first, second), notes = passages(path, {"x": X})
    between = layer_norm(X, GAMMA, BETA)
    assert notes == []
    np.testing.assert_array_equal(first.x, X)
    np.testing.assert_allclose(first.y, between, atol=1e-5)
    np.testing.assert_allclose(second.x, between @ W, atol=1e-4)
    np.testing.assert_allclose(second.y, layer_norm(between @ W), atol=1e-4)
    assert first.parameters.keys() == {"gamma", "beta"}
    np.testing.assert_array_equal(first.parameters["gamma"], GAMMA)
    assert second.parameters == {}
    assert path.read_bytes() == before


def test_what_has_no_room_in_one_run_is_taken_from_several(tmp_path, monkeypatch):
    third = "\nz = LayerNormalization<axis = -1>(y, gamma, beta)"
    eps = np.array(1e-5, np.float32)
    made = model(TWO + third, y="float[B,S,8] z", gamma=GAMMA, beta=BETA, w=W, eps=eps)
    path = written(made, tmp_path)
    whole, _ = passages(path, {"x": X})
    runs = []
    through = capture._Run.through

    def told(self, *arguments):
        for made, found in through(self, *arguments):
            runs.append(set(made))
            yield made, found

    monkeypatch.setattr(capture, "ROOM", 1)
    monkeypatch.setattr(capture._Run, "through", told)
    parts, _ = passages(path, {"x": X})
    assert [each.where for each in parts] == [each.where for each in whole]
    for one, other in zip(parts, whole, strict=True):
        np.testing.assert_array_equal(one.y, other.y)
    assert runs == [{"x", "a"}, {"b", "y"}, {"y", "z"}]  # each run gives its own norm's tensors alone


def test_weights_stay_in_the_file(tmp_path):
    large = np.eye(512, dtype=np.float32)
    body = "a = MatMul(x, w)\ny = LayerNormalization<axis = -1>(a, gamma, beta)"
    made = model(body, x="float[B,512] x", y="float[B,512] y", w=large, gamma=large[0] + 1, beta=large[0])
    path = written(made, tmp_path)
    graph = next(capture.graphs(path))
    assert len(capture._with_outputs(path, graph, ["a"])[1]) < path.stat().st_size / 100
    x = np.random.default_rng(0).normal(size=(2, 512)).astype(np.float32)
    ((passage,), _) = passages(path, {"x": x})
    np.testing.assert_allclose(passage.x, x, atol=1e-5)


def test_weights_beside_the_file(tmp_path):
    made = model("a = MatMul(x, w)\ny = LayerNormalization<axis = -1>(a, gamma, beta)", w=W, gamma=GAMMA, beta=BETA)
    path = tmp_path / "model.onnx"
    onnx.save(made, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    ((passage,), _) = passages(path, {"x": X})
    np.testing.assert_allclose(passage.y, layer_norm(X @ W, GAMMA, BETA), atol=1e-4)
    np.testing.assert_array_equal(passage.parameters["beta"], BETA)


def test_an_operator_that_adds_first_is_a_norm_of_the_sum(tmp_path):
    body = "y = com.microsoft.SkipLayerNormalization<epsilon = 1e-5>(x, skip, gamma, beta, bias)"
    made = model(body, given="float[B,S,8] skip", gamma=GAMMA, beta=BETA, bias=BETA)
    ((passage,), _) = passages(written(made, tmp_path), {"x": X, "skip": 2 * X})
    np.testing.assert_allclose(passage.x, 3 * X + BETA, rtol=1e-6)
    np.testing.assert_allclose(passage.y, layer_norm(3 * X + BETA, GAMMA, BETA), atol=1e-4)


def test_a_norm_in_a_branch_is_told_and_the_others_are_captured(tmp_path):
    node = helper.make_node("LayerNormalization", ["x", "gamma"], ["inner"], name="inside")
    out = helper.make_empty_tensor_value_info("inner")
    branch = helper.make_graph([node], "then", [], [out])
    made = model("a = LayerNormalization<axis = -1>(x, gamma, beta)", gamma=GAMMA, beta=BETA, y="float[B,S,8] a")
    made.graph.node.append(helper.make_node("If", ["yes"], ["b"], then_branch=branch, else_branch=branch))
    made.graph.initializer.append(numpy_helper.from_array(np.array(True), "yes"))
    kept, notes = passages(written(made, tmp_path), {"x": X})
    assert len(kept) == 1
    assert notes and all("it stands in a branch or a loop" in note for note in notes)


def test_a_dtype_that_numpy_lacks_comes_in_float32(tmp_path):
    body = """h = Cast<to = 16>(x)
f = Cast<to = 1>(h)
a = LayerNormalization<axis = -1>(f, gamma, beta)
y = Cast<to = 16>(a)"""
    made = model(body, y="bfloat16[B,S,8] y", gamma=GAMMA, beta=BETA)
    path = written(made, tmp_path)
    (found,) = inspect_onnx(path, run=False).norms
    narrow = replace(found, tensors={**found.tensors, "x": "h", "y": "y"})
    ((passage,), _) = passages(path, {"x": X}, [narrow])
    assert passage.x.dtype == passage.y.dtype == np.float32
    assert not np.array_equal(passage.x, X)
    np.testing.assert_allclose(passage.x, X, rtol=2**-8)


# ---- what is given


def test_an_input_is_cast_and_that_is_said(tmp_path):
    (first, _), notes = passages(two(tmp_path), {"x": X.astype(np.float64), "mask": np.ones(2)})
    np.testing.assert_array_equal(first.x, X)
    assert notes == ["mask is no input of model.onnx, and is left out.", "x is cast from float64 to float32."]


@pytest.mark.parametrize(
    ("feeds", "words"),
    [
        ({"y": X}, "the input holds y and lacks x; model.onnx takes x: float32 (B, S, 8)"),
        ({"x": X > 0}, "x is bool; the model takes float32"),
        ({"x": X[..., :4]}, "x has shape (2, 3, 4); the model takes (B, S, 8): axis 2 has 4 and needs 8."),
        ({"x": X[0]}, "x has shape (3, 8); the model takes (B, S, 8), of 3 axes."),
    ],
)
def test_an_input_that_is_not_the_models(tmp_path, feeds, words):
    with pytest.raises(FileError) as error:
        passages(two(tmp_path), feeds)
    assert words in str(error.value)


def test_integers_that_the_models_dtype_does_not_hold(tmp_path):
    made = model("a = Cast<to = 1>(x)\ny = LayerNormalization<axis = -1>(a, gamma)", x="int32[B,8] x", gamma=GAMMA)
    path = written(made, tmp_path)
    ((passage,), _) = passages(path, {"x": np.arange(8)[None]})
    np.testing.assert_array_equal(passage.x, np.arange(8.0)[None])
    with pytest.raises(FileError, match="x is int64; the model takes int32"):
        passages(path, {"x": np.arange(8)[None] + 2**40})


def test_a_model_that_cannot_be_run(tmp_path):
    made = model("y = Reshape(x, five)", y="float[N] y", five=np.array([5]))
    path = written(made, tmp_path)
    norm = Found("n", ns.layer_norm(8), tensors={"x": "x", "y": "y"})
    with pytest.raises(FileError, match="ONNX Runtime cannot run it on this input"):
        passages(path, {"x": X}, [norm])


def test_a_model_that_cannot_be_loaded(tmp_path):
    made = model("a = strange.Thing(x)\ny = LayerNormalization<axis = -1>(a, gamma)", gamma=GAMMA)
    with pytest.raises(FileError, match="ONNX Runtime cannot load it"):
        passages(written(made, tmp_path), {"x": X})


# ---- graphs that PyTorch wrote


FILE = Path(__file__).parent / "files" / "torch_graphs.zip"
WRONG = {"tutorial", "dropped_keepdims"}  # what these compute is no norm, or another one than the operators' shapes say
with zipfile.ZipFile(FILE) as recorded:
    GRAPHS = {name: recorded.read(name) for name in recorded.namelist() if name.endswith(".onnx")}


@pytest.mark.parametrize("name", [name for name in GRAPHS if name.partition("/")[0] not in WRONG])
def test_a_recorded_graph_gives_what_its_norm_gives(name, tmp_path):
    path = written(GRAPHS[name], tmp_path)
    rng = np.random.default_rng(1)
    feeds = {}
    for each in onnx.load(path).graph.input:
        kind = each.type.tensor_type
        shape = [dim.dim_value or 3 for dim in kind.shape.dim]
        feeds[each.name] = rng.normal(size=shape).astype(helper.tensor_dtype_to_np_dtype(kind.elem_type))
    ((passage,), _) = passages(path, feeds)
    figures = measured(passage)
    half = "half" in name
    assert figures.warnings == ()
    assert figures.apart < (5e-3 if half else 1e-5)
    json.dumps(figures.to_json())


# ---- weights


def weights(folder):
    """A file of weights with one norm, and the norm."""
    cells = GAMMA.tobytes() + BETA.tobytes()
    entries = {"n.weight": (0, 32), "n.bias": (32, 64)}
    header = {name: {"dtype": "F32", "shape": [8], "data_offsets": list(at)} for name, at in entries.items()}
    text = json.dumps(header).encode()
    path = folder / "model.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text + cells)
    return path, Found("n", ns.layer_norm(8), tensors={"gamma": "n.weight", "beta": "n.bias"})


def test_weights_take_what_was_recorded_elsewhere(tmp_path):
    path, found = weights(tmp_path)
    y = layer_norm(X, GAMMA, BETA)
    for source in (path, tmp_path):
        ((passage,), notes) = passages(source, {"n": X, "n.y": y, "other": X}, [found])
        assert measured(passage).apart < 1e-6
        np.testing.assert_array_equal(passage.parameters["gamma"], GAMMA)
        assert notes == ["other is the name of no norm, and is left out."]


def test_weights_say_how_to_give_it(tmp_path):
    path, found = weights(tmp_path)
    with pytest.raises(FileError, match=r"holds weights, which do not run; .*numpy.savez\('input.npz', \*\*{'n': x}\)"):
        passages(path, {"x": X}, [found])


# ---- PyTorch


@pytest.mark.oracle
def test_a_module_is_run_with_hooks():
    import torch

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = torch.nn.LayerNorm(8)
            self.drop = torch.nn.Dropout(0.5)
            self.unused = torch.nn.LayerNorm(8)

        def forward(self, x, scale=None):
            return self.norm(input=self.drop(self.norm(x)) * 2)

    net = Net()
    norms = [Found(where, ns.layer_norm(8)) for where in ("norm", "unused", "gone")]
    (first, second), notes = passages(net, {"x": X.astype(np.float64), "more": X}, norms)
    np.testing.assert_array_equal(first.x, X)
    np.testing.assert_allclose(first.y, layer_norm(X), atol=1e-5)
    np.testing.assert_array_equal(second.x, first.y * 2)
    assert (first.where, second.where) == ("norm", "norm (call 2)")
    assert first.parameters.keys() == {"gamma", "beta"}
    assert net.training and not net.norm._forward_hooks
    assert notes == [
        "gone: it is no module, so nothing is told of what goes through it.",
        "more is no input of Net, and is left out.",
        "x is cast from float64 to float32.",
        "unused: this input does not reach it.",
    ]
    with pytest.raises(FileError, match="the input holds more and lacks x"):
        passages(net, {"more": X}, norms)
    with pytest.raises(FileError, match="Net cannot be run on this input: RuntimeError"):
        passages(net, {"x": X[..., :4]}, norms)
    assert not net.norm._forward_hooks


@pytest.mark.oracle
def test_norms_that_are_functions_are_seen_as_they_are_called():
    import torch
    from torch.nn import functional

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight, self.norm = torch.nn.Parameter(torch.arange(8.0)), torch.nn.LayerNorm(8)

        def forward(self, x):
            x = functional.layer_norm(x, (8,), self.weight, eps=1e-3)
            x = functional.layer_norm(self.norm(x), (3, 8), bias=torch.ones(3, 8))
            x = torch.rms_norm(x, (8,), eps=1e-6)
            x = functional.group_norm(x, 3, torch.ones(3))
            x = functional.instance_norm(x) + functional.batch_norm(x, None, None, training=True)
            return functional.batch_norm(x, torch.ones(3), torch.ones(3), eps=1e-2)

    net = torch.nn.Sequential(Block())
    kept, notes = passages(net, {"input": X}, [Found("0.norm", ns.layer_norm(8))])
    two = replace(ns.layer_norm([3, 8]), scale=False)
    assert {each.where: (each.norm.name, each.found.norm) for each in kept} == {
        "0.norm": ("LayerNorm", ns.layer_norm(8)),
        "0.layer_norm()": ("LayerNorm", ns.layer_norm(8, 1e-3, bias=False)),
        "0.layer_norm() 2": ("LayerNorm", two),
        "0.rms_norm()": ("RMSNorm", ns.rms_norm(8, 1e-6, elementwise_affine=False)),
        "0.group_norm()": ("GroupNorm", replace(ns.group_norm(3, 3), shift=False)),
        "0.instance_norm()": ("InstanceNorm", replace(ns.instance_norm(3), scale=False, shift=False)),
        "0.batch_norm()": ("BatchNorm", ns.batch_norm(3, affine=False)),
        "0.batch_norm() 2": ("BatchNorm", ns.batch_norm(3, 1e-2, affine=False, training=False)),
    }
    assert notes == [] and all(measured(each).apart < 1e-5 for each in kept)
    np.testing.assert_array_equal(kept[0].parameters["gamma"], np.arange(8))
    assert kept[0].found.evidence == ("torch.nn.functional.layer_norm was called in 0",)
    again, _ = passages(torch.nn.Sequential(net[0], net[0]), {"input": X}, [Found("0.norm", ns.layer_norm(8))])
    assert [each.where for each in again[8:10]] == ["0.layer_norm() (call 2)", "0.norm (call 2)"]


@pytest.mark.oracle
def test_a_module_in_bfloat16_and_one_with_running_statistics():
    import torch

    net = torch.nn.LayerNorm(8).to(torch.bfloat16)
    ((passage,), _) = passages(net, {"input": X}, [Found("", ns.layer_norm(8), dtype="bfloat16")])
    assert passage.y.dtype == np.float32
    assert measured(passage).apart < 0.02
    batch = torch.nn.BatchNorm1d(3)
    batch.running_mean += torch.arange(3)
    ((passage,), _) = passages(batch, {"input": X}, [Found("", ns.batch_norm(3, training=False))])
    assert passage.parameters.keys() == {"gamma", "beta", "running_mean", "running_var"}
    assert measured(passage).apart < 1e-6


def test_eps_of_the_dtype_is_the_one_of_float32():
    found = Found("n", ns.rms_norm(8))
    assert capture.Passage(found, X).norm.eps == Fraction(1, 2**23)
    assert capture.Passage(found, X.astype(np.float64)).norm.eps is None
