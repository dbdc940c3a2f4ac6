"""What cannot be read, or only in part: never a crash, and a message that says what is wrong."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, external_data_helper, helper, numpy_helper

import normscope as ns
from normscope.errors import FileError
from normscope.models import skeleton as walker
from normscope.models.graph import graphs
from normscope.models.onnx_file import inspect_onnx
from tests.models.graphs import BETA, CENTERED, GAMMA, inspected, model, only

LAYER = "y = LayerNormalization <axis = -1> (x, gamma, beta)"


def test_large_tensors_stay_in_the_file(tmp_path):
    weight = np.arange(100_000, dtype=np.float32)
    path = tmp_path / "model.onnx"
    path.write_bytes(
        model(f"z = Identity (weight)\n {LAYER}", weight=weight, gamma=GAMMA, beta=BETA).SerializeToString()
    )
    made = walker.skeleton(path)
    assert len(made) < 2000 < 400_000 < path.stat().st_size
    (graph,) = graphs(path)
    np.testing.assert_array_equal(graph.array("weight"), weight)


@pytest.mark.parametrize("field", ["raw_data", "float_data"])
def test_data_is_read_from_either_field(field, tmp_path):
    cells = np.linspace(0, 1, 1000, dtype=np.float32)
    tensor = numpy_helper.from_array(cells, "w")
    if field == "float_data":
        tensor = helper.make_tensor("w", TensorProto.FLOAT, [1000], cells)
    made = model(LAYER, gamma=GAMMA, beta=BETA)
    made.graph.initializer.append(tensor)
    path = tmp_path / "model.onnx"
    path.write_bytes(made.SerializeToString())
    (graph,) = graphs(path)
    np.testing.assert_array_equal(graph.array("w"), cells)


def test_a_skeleton_is_the_model_less_its_data(tmp_path):
    made = model(LAYER, gamma=GAMMA, beta=BETA, weight=np.ones((50, 50), np.float32))
    path = tmp_path / "model.onnx"
    path.write_bytes(made.SerializeToString())
    read = onnx.ModelProto()
    read.ParseFromString(walker.skeleton(path))
    assert read.graph.node == made.graph.node
    assert read.graph.initializer[:2] == made.graph.initializer[:2]
    assert [list(each.dims) for each in read.graph.initializer] == [[8], [8], [50, 50]]


@pytest.mark.parametrize("content", [b"", b"not a model", b"\xff" * 100, b"\x00\x01\x02", b"\x3a\xff\xff\xff\xff\x0f"])
def test_what_is_no_model_is_refused(content, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"model\.onnx is no ONNX model"):
        inspect_onnx(path)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileError, match="does not exist"):
        inspect_onnx(tmp_path / "none.onnx")


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.9, 0.99])
def test_a_file_that_is_cut_off_is_refused(kept, tmp_path):
    data = model(LAYER, gamma=GAMMA, beta=BETA, weight=np.ones(5000, np.float32)).SerializeToString()
    path = tmp_path / "model.onnx"
    path.write_bytes(data[: int(len(data) * kept)])
    with pytest.raises(FileError, match="is no ONNX model"):
        inspect_onnx(path)


def test_no_byte_that_is_flipped_crashes_it(tmp_path):
    data = bytearray(model(LAYER, gamma=GAMMA, beta=BETA).SerializeToString())
    path = tmp_path / "model.onnx"
    for at in range(0, len(data), 3):
        changed = bytearray(data)
        changed[at] ^= 0x55
        path.write_bytes(changed)
        try:
            inspect_onnx(path, run=False)
        except FileError:
            pass


def external(made: onnx.ModelProto, folder: Path) -> Path:
    """The model with its initializers in a file beside it."""
    path = folder / "model.onnx"
    external_data_helper.convert_model_to_external_data(made, location="weights.bin", size_threshold=0)
    onnx.save(made, path)
    return path


def test_external_data_is_read_where_it_is(tmp_path):
    path = external(model(LAYER, gamma=GAMMA, beta=BETA), tmp_path)
    found = only(inspect_onnx(path))
    assert found.norm == ns.layer_norm(8)
    assert found.parameters["gamma"].most == 1.5


@pytest.mark.parametrize(
    ("size", "count", "why"), [(None, "2 tensors", "which is not there"), (32, "1 tensor", "which is too short")]
)
def test_external_data_that_is_missing_is_told_once_and_costs_the_summary_alone(size, count, why, tmp_path):
    path = external(model(LAYER, gamma=GAMMA, beta=BETA), tmp_path)
    weights = tmp_path / "weights.bin"
    weights.unlink() if size is None else weights.write_bytes(weights.read_bytes()[:size])
    report = inspect_onnx(path)
    assert [found.norm for found in report.norms] == [ns.layer_norm(8)]
    assert list(report.norms[0].parameters) == ([] if size is None else ["gamma"])
    assert report.warnings == (f"the data of {count} stands in weights.bin, {why}.",)


@pytest.mark.parametrize(("key", "value"), [("location", "\0"), ("offset", "x"), ("none", "")])
def test_external_data_that_says_nothing_is_told(key, value, tmp_path):
    path = external(model(LAYER, gamma=GAMMA, beta=BETA), tmp_path)
    made = onnx.load(path, load_external_data=False)
    entries = made.graph.initializer[0].external_data
    if key == "none":
        del entries[:]
    else:
        next(each for each in entries if each.key == key).value = value
    path.write_bytes(made.SerializeToString())
    (warning,) = inspect_onnx(path).warnings
    assert warning == "the data of 1 tensor stands in a file that the model names in no way that can be read."


def test_external_data_outside_the_folder_is_not_read(tmp_path):
    (tmp_path / "inside").mkdir()
    (tmp_path / "weights.bin").write_bytes(GAMMA.tobytes() + BETA.tobytes())
    path = external(model(LAYER, gamma=GAMMA, beta=BETA), tmp_path / "inside")
    made = onnx.load(path, load_external_data=False)
    for tensor in made.graph.initializer:
        tensor.external_data[0].value = "../weights.bin"
    path.write_bytes(made.SerializeToString())
    report = inspect_onnx(path)
    assert report.norms[0].parameters == {}
    told = "the data of 2 tensors stands in weights.bin, which is outside the model's folder and is not read."
    assert report.warnings == (told,)


def test_a_branch_is_looked_into_and_its_name_says_where(tmp_path):
    branch = helper.make_graph(
        [helper.make_node("LayerNormalization", ["x", "gamma", "beta"], ["b"], axis=-1, name="inner")],
        "then",
        [],
        [helper.make_tensor_value_info("b", 1, None)],
    )
    other = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["o"])], "else", [], [helper.make_tensor_value_info("o", 1, None)]
    )
    made = model("y = Identity (x)", given="bool flag", gamma=GAMMA, beta=BETA)
    choice = helper.make_node("If", ["flag"], ["y2"], name="choice", then_branch=branch, else_branch=other)
    made.graph.node.insert(0, choice)
    found = only(inspected(made, tmp_path))
    assert found.where == "choice/then_branch/inner"
    assert found.norm == ns.layer_norm(8)


def test_a_function_of_the_model_is_written_out(tmp_path):
    made = model(LAYER.replace("LayerNormalization <axis = -1>", "Layer"), gamma=GAMMA, beta=BETA)
    body = helper.make_node("LayerNormalization", ["a", "g", "b"], ["o"], axis=-1)
    opset = [helper.make_opsetid("", 17)]
    made.functions.append(helper.make_function("own", "Layer", ["a", "g", "b"], ["o"], [body], opset))
    made.graph.node[0].domain = "own"
    made.opset_import.append(helper.make_opsetid("own", 1))
    assert only(inspected(made, tmp_path)).norm == ns.layer_norm(8)


def test_unknown_operators_are_passed_by(tmp_path):
    made = model(f"z = com.microsoft.Unheard (x)\n {LAYER}", gamma=GAMMA, beta=BETA)
    assert only(inspected(made, tmp_path)).norm == ns.layer_norm(8)


def test_an_operator_without_what_it_needs_is_a_warning(tmp_path):
    report = inspected(model("y = GroupNormalization (x, gamma, beta)", opset=18, gamma=GAMMA, beta=BETA), tmp_path)
    assert report.norms == ()
    (warning,) = report.warnings
    assert "GroupNormalization" in warning


def test_a_cycle_ends(tmp_path):
    made = model("a = Add (x, c)\n b = Sqrt (a)\n c = Mul (b, a)\n y = Div (x, b)")
    assert inspected(made, tmp_path).norms == ()


def scoped(*scopes: str) -> onnx.ModelProto:
    """A LayerNorm of no gamma whose nodes name the modules that they are of, as PyTorch's exporter of today does."""
    body = f"{CENTERED} v = Add (var, eps)\n s = Sqrt (v)\n y = Div (c, s)"
    made = model(body, eps=np.array(1e-5, np.float32))
    for at, node in enumerate(made.graph.node):
        entry = node.metadata_props.add()
        entry.key, entry.value = "pkg.torch.onnx.name_scopes", scopes[min(at, len(scopes) - 1)]
    return made


LAYERS = "['', 'layers.0', 'layers.0.input_layernorm', 'add']"


@pytest.mark.parametrize(
    ("scopes", "where"),
    [
        ([LAYERS], "layers.0.input_layernorm"),
        ([*[LAYERS] * 6, LAYERS.replace("input_layernorm", "post_norm")], "layers.0"),
        (["['', 'add']"], "Sqrt_5"),
        (["['add']"], "Sqrt_5"),
        (["__import__('os')"], "Sqrt_5"),
        (["[" * 3000], "Sqrt_5"),
        (["['', 3, 'add']"], "Sqrt_5"),
        (["7"], "Sqrt_5"),
        ([f"['', '{'a' * 5000}', 'add']"], "Sqrt_5"),
    ],
)
def test_the_module_of_a_node_is_where_the_exporter_says(scopes, where, tmp_path):
    assert only(inspected(scoped(*scopes), tmp_path, run=False)).where == where


def test_the_module_of_an_operator_is_where_the_exporter_says(tmp_path):
    made = model(LAYER, gamma=GAMMA, beta=BETA)
    entry = made.graph.node[0].metadata_props.add()
    entry.key, entry.value = "pkg.torch.onnx.name_scopes", LAYERS
    assert only(inspected(made, tmp_path, run=False)).where == "layers.0.input_layernorm"


def test_progress_is_told_node_by_node(tmp_path):
    seen = []
    inspected(model(LAYER, gamma=GAMMA, beta=BETA), tmp_path, progress=lambda done, of: seen.append((done, of)))
    assert seen == [(1, 1)]


def test_nothing_is_run_where_it_is_not_asked_for(tmp_path):
    found = only(inspected(model(LAYER, gamma=GAMMA, beta=BETA), tmp_path, run=False))
    assert found.evidence == ("operator LayerNormalization",)


def test_messages_within_messages_have_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(walker, "DEEPEST", 1)
    path = tmp_path / "model.onnx"
    path.write_bytes(model(LAYER, gamma=GAMMA, beta=BETA, w=np.ones(5000, np.float32)).SerializeToString())
    with pytest.raises(FileError):
        inspect_onnx(path)


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process's own memory is read from /proc")
def test_a_hundred_megabytes_take_little_time_and_memory(tmp_path):
    """In a process of its own, for the peak of memory is a process's; the goals are the issue's."""
    rng = np.random.default_rng(0)
    lines, arrays = [], {"gamma": GAMMA, "beta": BETA}
    for at in range(24):
        arrays[f"w{at}"] = rng.normal(size=(8, 131_072)).astype(np.float32)
        lines.append(f"n{at} = LayerNormalization <axis = -1> ({f'a{at - 1}' if at else 'x'}, gamma, beta)")
        lines.append(f"m{at} = MatMul (n{at}, w{at})\n t{at} = Tanh (m{at})\n a{at} = Gemm <transB = 1> (t{at}, w{at})")
    path = tmp_path / "large.onnx"
    path.write_bytes(model("\n".join([*lines, "y = Identity (a23)"]), **arrays).SerializeToString())
    size = path.stat().st_size
    assert size > 100_000_000
    code = (
        "import re, sys, time; from pathlib import Path; from normscope.models.onnx_file import inspect_onnx\n"
        "start = time.process_time()\ncount, took = len(inspect_onnx(sys.argv[1]).norms), time.process_time() - start\n"
        "peak = re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())\n"
        "print(count, took, int(peak[1]) * 1024)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True, timeout=60
    )
    count, seconds, memory = map(float, ran.stdout.split())
    assert count == 24
    assert seconds < 3
    assert memory < 2 * size


def test_without_onnx_the_line_to_install_it_is_said(tmp_path, monkeypatch):
    path = tmp_path / "model.onnx"
    path.write_bytes(model(LAYER, gamma=GAMMA, beta=BETA).SerializeToString())
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(FileError, match=r"pip install 'normscope\[inspect\]'") as raised:
        inspect_onnx(path)
    assert raised.value.exit_code == 4
