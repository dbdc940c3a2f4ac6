"""normscope inspect --run: tables, JSON, the page and the lab, as a person asks for them."""

import io
import json
import re
import zipfile
from dataclasses import replace
from urllib.parse import urlsplit

import numpy as np
import pytest
from onnx import helper, numpy_helper

import normscope as ns
from normscope.errors import DtypeError, FileError
from normscope.interfaces import inspect_lab, inspect_run, web
from normscope.interfaces.feeds import read_feeds
from normscope.interfaces.inspect_lab import lab
from normscope.lessons.site import respond
from normscope.models.found import Found
from normscope.models.onnx_file import inspect_onnx
from normscope.models.passing import Passage
from normscope.page.numbers import written
from tests.lessons.dom import parse
from tests.models.graphs import BETA, GAMMA, model

X = np.random.default_rng(8).normal(1.0, 2.0, (2, 3, 8)).astype(np.float32)
X[1, 2, 5] = 40.0
TWO = """a = LayerNormalization<axis = -1, epsilon = 1e-5>(x, gamma, beta)
b = Mul(a, three)
y = LayerNormalization<axis = -1, epsilon = 1e-12>(b, gamma, beta)"""


@pytest.fixture(autouse=True)
def files(tmp_path):
    """A model of two norms and an input for it."""
    made = model(TWO, gamma=GAMMA, beta=BETA, three=np.array(3.0, np.float32))
    for at, node in enumerate(made.graph.node):
        node.name = f"/block.{at}/norm/{node.op_type}"
    (tmp_path / "model.onnx").write_bytes(made.SerializeToString())
    np.savez(tmp_path / "input.npz", x=X)


RUN = ("inspect", "model.onnx", "--run", "input.npz")


def test_the_json(run, tmp_path):
    code, out, err = run(*RUN, "--json")
    assert (code, err, out.count("\n")) == (0, "", 1)
    data = json.loads(out, parse_constant=pytest.fail)
    assert data["run"]["warnings"] == []
    first, second = data["run"]["norms"]
    assert (
        [each["where"] for each in data["norms"]]
        == [first["where"], second["where"]]
        == ["block.0/norm", "block.2/norm"]
    )
    assert (first["largest"], first["feature"], first["row"]) == (40.0, 5, 5)
    assert (first["pattern"], first["eps"]) == ("B S [d]", 1e-5)
    assert first["var"]["most"] == pytest.approx(X.astype(float).var(-1).max())
    assert second["apart"] < 1e-6


def test_the_tables(run):
    code, out, err = run(*RUN)
    assert (code, err) == (0, "")
    (line,) = [line for line in out.splitlines() if line.startswith("block.0/norm") and " 40 " in line]
    assert line.split()[:3] == ["block.0/norm", "LayerNorm", "6"]
    assert written(float(X.astype(float).var(-1).max()), 5) in line
    assert "0.5 to 1.5" in out and "−1 to 1" in out
    assert out.rstrip().endswith("normscope inspect model.onnx --run input.npz --open NORM")


def test_the_page_stands_alone_and_has_a_table_behind_each_plot(run, tmp_path):
    code, out, _ = run(*RUN, "--report", "page.html")
    text = (tmp_path / "page.html").read_text()
    tree = parse(text)
    assert code == 0 and "What enters each norm" in out
    assert tree.all("script") == [] and not re.search(r'(src|href)="(?!data:)', text)
    plots = [node for node in tree.all("svg") if node.attributes.get("role") == "img"]
    assert [plot.attributes["id"] for plot in plots] == [
        f"plot-{name}" for name in ("var", "largest", "mean", "share", "gamma", "beta", "lost")
    ]
    tables = list(tree.all("details"))
    assert len(tables) == len(plots)
    var = X.astype(float).var(-1)
    cells = [cell.text for cell in tables[0].all("td")]
    assert cells[:2] == ["block.0/norm", written(float(var.max()), 5)]
    assert written(float(np.median(var)), 5) in cells
    assert "normscope inspect model.onnx --run input.npz --open NORM" in text


def test_the_page_says_what_the_inspection_found_wrong(run, tmp_path):
    one_pass = """m = ReduceMean<axes = [-1]>(x)
s = Mul(x, x)
a = ReduceMean<axes = [-1]>(s)
b = Mul(m, m)
v = Sub(a, b)
e = Add(v, eps)
r = Sqrt(e)
c = Sub(x, m)
y = Div(c, r)"""
    (tmp_path / "model.onnx").write_bytes(model(one_pass, eps=np.array(1e-5, np.float32)).SerializeToString())
    run(*RUN, "--report", "page.html")
    assert "the variance is one-pass" in (tmp_path / "page.html").read_text()


def test_a_name_behind_an_error_is_explained(run, tmp_path):
    assert inspect_run.BREAKS not in run(*RUN)[1]
    np.savez(tmp_path / "input.npz", x=X * 1e4)
    out = run(*RUN)[1]
    assert inspect_run.BREAKS in out and re.search(r" (x|q)$", out, re.MULTILINE)


def test_a_page_overwrites_no_input(run, tmp_path):
    before = (tmp_path / "model.onnx").read_bytes()
    code, _, err = run(*RUN, "--report", "model.onnx")
    assert (code, (tmp_path / "model.onnx").read_bytes()) == (3, before)
    assert "the page would overwrite model.onnx" in err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("inspect", "model.onnx", "--open", "norm"), 2, "--report and --open show a run"),
        (("inspect", "model.onnx", "--report", "page.html"), 2, "--report and --open show a run"),
        ((*RUN, "--port", "0"), 2, "--port and --no-browser belong to --open"),
        ((*RUN, "--open", "norm", "--report", "page.html"), 2, "ask for one at a time"),
        ((*RUN, "--open", "norm"), 2, "'norm' could be 2 of the norms: block.0/norm, block.2/norm."),
        ((*RUN, "--open", "gone"), 2, "there is no norm at 'gone': block.0/norm, block.2/norm."),
        (("inspect", "model.onnx", "--run", "gone.npz"), 2, "there is no such file"),
        (("inspect", "model.onnx", "--run", "model.onnx"), 3, "it is no .npz file"),
    ],
)
def test_what_is_refused(run, arguments, code, words):
    found, out, err = run(*arguments)
    assert (found, out) == (code, "")
    assert words in err


def test_open_serves_the_norm(run, monkeypatch):
    served = {}
    monkeypatch.setattr(web, "serve", lambda **options: served.update(options) or 0)
    code, _, _ = run(*RUN, "--open", "block.2", "--no-browser", "--port", "0")
    assert (code, served["port"], served["browser"]) == (0, 0, False)
    (source,) = served["sources"].values()
    assert (source.shape, source.eps) == ((2, 3, 8), "1e-12")
    assert source.gamma == GAMMA.astype(float).tolist()
    status, _, body = respond(*urlsplit(served["path"])[2:4], served["sources"])
    assert status == 200 and "block.2/norm of model.onnx" in body


def test_a_model_without_a_norm_has_no_tables(run, tmp_path):
    (tmp_path / "model.onnx").write_bytes(model("y = Relu(x)").SerializeToString())
    assert run(*RUN) == (0, "No norm was found.\n\nNothing went through a norm.\n", "")


def test_what_a_run_cannot_show_takes_nothing_from_the_inspection(run, tmp_path):
    inner = helper.make_graph(
        [helper.make_node("LayerNormalization", ["x", "gamma"], ["inner"], name="inside")],
        "then", [], [helper.make_empty_tensor_value_info("inner")],
    )  # fmt: skip
    made = model("y = Relu(x)", gamma=GAMMA)
    made.graph.node.append(helper.make_node("If", ["yes"], ["b"], name="choice", then_branch=inner, else_branch=inner))
    made.graph.initializer.append(numpy_helper.from_array(np.array(True), "yes"))
    (tmp_path / "model.onnx").write_bytes(made.SerializeToString())
    code, out, err = run(*RUN)
    assert (code, err) == (0, "") and out.startswith("2 norms\n")
    assert "Nothing went through a norm.\n" in out and "it stands in a branch or a loop" in out
    assert "--open" not in out


def test_an_input_without_a_cell_is_refused(run, tmp_path):
    np.savez(tmp_path / "input.npz", x=X[:, :0])
    code, out, err = run(*RUN)
    assert (code, out) == (3, "")
    assert (
        "nothing could be measured. block.0/norm: what goes through it cannot be measured: x has shape (2, 0, 8)"
        in (err)
    )


@pytest.mark.oracle
def test_a_run_shows_the_norms_that_are_functions(run, tmp_path, monkeypatch):
    (tmp_path / "maker.py").write_text(
        "import torch\nclass Net(torch.nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n        self.norm = torch.nn.LayerNorm(8)\n"
        "    def forward(self, x):\n        return torch.nn.functional.rms_norm(self.norm(x), (8,), eps=1e-6)\n"
    )
    command = ("inspect", "maker.py:Net", "--run", "input.npz")
    data = json.loads(run(*command, "--json")[1])
    assert [each["where"] for each in data["norms"]] == ["norm", "rms_norm()"]
    assert [each["where"] for each in data["run"]["norms"]] == ["norm", "rms_norm()"]
    served = {}
    monkeypatch.setattr(web, "serve", lambda **options: served.update(options) or 0)
    for name, eps in (("rms_norm()", "1e-6"), ("norm", "1e-5")):
        assert run(*command, "--open", name)[0] == 0
        assert next(iter(served["sources"].values())).eps == eps
    assert "there is no norm at 'gone': norm, rms_norm()." in run(*command, "--open", "gone")[2]


# ---- the lab


def opened(norm, x, unknown=(), **parameters):
    source, path = lab(Passage(Found("n", norm, unknown=unknown), x, None, parameters), "m.onnx")
    status, _, body = respond(*urlsplit(path)[2:4], {"file": source})
    assert status == 200
    return source, path, body


def test_the_lab_opens_at_the_largest_cell():
    x = np.zeros((3, 20, 64), np.float32)
    x[2, 17, 40] = -9.0
    _, path, body = opened(ns.layer_norm(64), x)
    assert "at=1,16,37" in path
    assert "−9.00" in body


def test_activations_that_are_not_finite_are_shown():
    x = X.copy()
    x[1, 1, 2] = np.nan
    _, path, body = opened(ns.layer_norm(8), x)
    assert "at=0,0,0" in path and "NaN" in body


def test_an_rms_norm_with_an_offset():
    source, path, _ = opened(ns.rms_norm(8, 1e-6, offset=1), X, gamma=GAMMA - 1)
    assert "norm=rms_norm&affine=scale" in path
    assert (source.offset, source.eps) == (1, "1e-6")
    assert source.gamma == (GAMMA - 1).astype(float).tolist()


def test_other_axes_become_rows():
    x = np.arange(24.0).reshape(2, 3, 4)
    source, _, _ = opened(ns.Norm("N [C] L", "C"), x, gamma=np.array([1.0, 2.0, 3.0]), beta=np.zeros(3))
    assert source.shape == (1, 8, 3)
    np.testing.assert_array_equal(source.rows(range(1), range(1, 2))[0][0], x[0, :, 1])
    assert source.gamma == [1.0, 2.0, 3.0]
    assert "A row here is one statistic's cells, C; the rows are N L." in source.note


def test_a_gamma_of_the_rows_is_left_out_and_that_is_said():
    source, path, _ = opened(ns.group_norm(2, 4), np.arange(24.0).reshape(1, 4, 6), gamma=np.ones(4), beta=np.ones(4))
    assert "affine=none" in path
    assert (source.gamma, source.beta) == (None, None)
    assert "Its gamma differs from row to row and is left out." in source.note
    running = opened(ns.batch_norm(3, training=False), np.arange(24.0).reshape(2, 3, 4))[0]
    assert "The norm takes its running statistics; the lab takes those of the row." in running.note


def test_large_activations_are_cut_and_that_is_said(monkeypatch):
    monkeypatch.setattr(inspect_lab, "CELLS", 8 * 5)
    x = np.arange(4 * 9 * 8.0).reshape(4, 9, 8)
    source, _, _ = opened(ns.layer_norm(8), x)
    assert source.shape == (1, 5, 8)
    assert "The first 5 of its 36 rows are kept here." in source.note
    assert "rows are kept" not in opened(ns.layer_norm(8), x[:1, :5])[0].note


def test_an_eps_that_is_not_known_is_said():
    source, _, _ = opened(ns.layer_norm(8), X, unknown=("eps",))
    assert source.eps == "1e-5"
    assert "Its eps is not known: 1e-5 is taken." in source.note


def test_passage_at_takes_the_whole_name_first(tmp_path):
    norms = inspect_onnx(tmp_path / "model.onnx").norms
    kept = inspect_run.passage_at(tmp_path / "model.onnx", norms, str(tmp_path / "input.npz"), "block.0/norm")
    np.testing.assert_array_equal(kept.x, X)
    longer = [replace(norms[0], where="block.0/norm/2"), *norms]
    kept = inspect_run.passage_at(tmp_path / "model.onnx", longer, str(tmp_path / "input.npz"), "block.0/norm")
    assert kept.where == "block.0/norm"
    with pytest.raises(inspect_run.NoSuchNorm):
        inspect_run.passage_at(tmp_path / "model.onnx", norms, str(tmp_path / "input.npz"), "block")


def test_a_shape_that_is_none_of_the_norms_is_told(tmp_path):
    norms = [Found("n", ns.layer_norm(9), tensors={"x": "x", "y": "a"}), *inspect_onnx(tmp_path / "model.onnx").norms]
    made = inspect_run.run(tmp_path / "model.onnx", norms, str(tmp_path / "input.npz"))
    assert len(made.norms) == 2
    assert made.warnings[0].startswith("n: what goes through it cannot be measured: x has size 8 ")


# ---- the input's file


def saved(folder, **arrays):
    np.savez(folder / "f.npz", **arrays)
    return folder / "f.npz"


def test_feeds_of_every_kind(tmp_path):
    given = {
        "ids": np.arange(6).reshape(2, 3),
        "mask": np.array([True, False]),
        "sr": np.array(16000),
        "f": np.asfortranarray(X[0]),
    }
    made = read_feeds(saved(tmp_path, **given))
    assert made.keys() == given.keys()
    for name, cells in given.items():
        assert (made[name].dtype, made[name].shape) == (cells.dtype, cells.shape)
        np.testing.assert_array_equal(made[name], cells)


def test_feeds_are_never_unpickled(tmp_path):
    with pytest.raises(FileError, match="'x' holds pickled objects"):
        read_feeds(saved(tmp_path, x=np.array([{}, 1], object)))
    with pytest.raises(DtypeError, match="'x' is <U1"):
        read_feeds(saved(tmp_path, x=np.array(["a"])))


def test_feeds_that_promise_more_than_is_there(tmp_path):
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(4))
    longer = buffer.getvalue().replace(b"(4,), }            ", b"(4000000000000,), }")
    assert longer != buffer.getvalue()
    with zipfile.ZipFile(tmp_path / "f.npz", "w") as archive:
        archive.writestr("x.npy", longer)
    with pytest.raises(FileError, match="'x' is cut short"):
        read_feeds(tmp_path / "f.npz")
    with zipfile.ZipFile(tmp_path / "f.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", b"nothing of the kind")
    with pytest.raises(FileError, match="'x' in it is no array"):
        read_feeds(tmp_path / "f.npz")
    np.savez(tmp_path / "f.npz")
    with pytest.raises(FileError, match="it holds no array"):
        read_feeds(tmp_path / "f.npz")


def test_feeds_that_unpack_to_too_much(tmp_path, monkeypatch):
    monkeypatch.setattr("normscope.interfaces.feeds.MOST", 100)
    with pytest.raises(FileError, match="at most 100 are read"):
        read_feeds(saved(tmp_path, x=np.zeros(20)))
