"""normscope inspect and diff, as a person runs them: stdout, stderr and the exit code."""

import json
import sys
import time

import pytest

import normscope as ns
from normscope.errors import FileError
from normscope.interfaces import inspect_command, progress
from tests.models.graphs import model
from tests.models.weights import folder, saved, vector

WEIGHTS = {"model.layers.0.input_layernorm.weight": vector(), "model.norm.weight": vector()}
LAYER_NORM = "y = LayerNormalization <epsilon = 0.001> (x, w)"


@pytest.fixture
def data(run):
    """The JSON that a command prints, alone on stdout."""

    def command(*arguments, code=0):
        got, out, err = run(*arguments, "--json")
        assert (got, err, out.count("\n")) == (code, "", 1)
        return json.loads(out, parse_constant=pytest.fail)

    return command


def test_a_folder_as_json(tmp_path, data):
    folder(tmp_path, {"model_type": "gemma", "rms_norm_eps": 1e-6}, WEIGHTS)
    made = data("inspect", ".")
    assert list(made) == ["norms", "warnings"] and made["warnings"] == []
    first = made["norms"][0]
    assert (first["where"], first["kind"], first["eps"]) == ("model.layers.0.input_layernorm", "RMSNorm", 1e-6)
    assert (first["offset"], first["place"], first["sizes"]) == (1, "before attention", {"d": 8})
    assert first["norm"]["eps"] == "1/1000000" and first["unknown"] == []
    assert first["parameters"]["gamma"]["count"] == 8


def test_weights_alone_as_a_table(tmp_path, run):
    saved(tmp_path / "m.safetensors", WEIGHTS)
    code, out, err = run("inspect", "m.safetensors")
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "2 norms" and "unknown" in out and "RMSNorm?" in out


def test_a_graph(tmp_path, data):
    graph = model(LAYER_NORM, w=vector())
    (tmp_path / "m.onnx").write_bytes(graph.SerializeToString())
    (found,) = data("inspect", "m.onnx")["norms"]
    assert (found["kind"], found["eps"], found["form"]) == ("LayerNorm", 1e-3, "fused")


def test_a_model_without_norms_is_fine(tmp_path, run, data):
    saved(tmp_path / "m.safetensors", {"linear.weight": vector()})
    assert data("inspect", "m.safetensors") == {"norms": [], "warnings": []}
    assert run("inspect", "m.safetensors") == (0, "No norm was found.\n", "")


@pytest.mark.parametrize(
    ("source", "code", "words"),
    [
        ("none.onnx", 2, "there is no file or folder none.onnx"),
        ("", 2, "source is empty; give an .onnx"),
        ("lfs.onnx", 3, "is a pointer of git-lfs"),
        ("m.pt", 3, "never read"),
        ("m.safetensors", 3, "is no .safetensors file that can be read"),
        ("m.onnx", 3, "is no ONNX model"),
        ("m.gguf", 3, "no model that is known by its name"),
        ("nomodule:make", 2, "there is no module nomodule"),
        ("maker.py:nothing", 2, "maker.py has no 'nothing'"),
        ("maker.py:number", 2, "gives a int"),
        ("maker.py:broken", 3, "made no model: ValueError: not today"),
        ("maker.py:leaves", 3, "made no model: SystemExit"),
        ("maker.py:needs", 4, "pip install no_such_library"),
        ("none.py:make", 2, "there is no file none.py"),
    ],
)
def test_what_cannot_be_inspected(tmp_path, run, source, code, words):
    for name in ("m.pt", "m.gguf"):
        (tmp_path / name).touch()
    for name in ("m.safetensors", "m.onnx"):
        (tmp_path / name).write_bytes(b"\xff" * 40)
    (tmp_path / "lfs.onnx").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 123\n")
    (tmp_path / "maker.py").write_text(
        "import sys\n"
        "def number():\n    return 3\n"
        "def broken():\n    raise ValueError('not today')\n"
        "def leaves():\n    sys.exit(0)\n"
        "def needs():\n    import no_such_library\n"
    )
    got, out, err = run("inspect", source)
    assert (got, out) == (code, "")
    assert words in err and err.count("\n") == 1 and err.startswith("Error: ")


def test_a_library_without_onnx_says_what_to_install(tmp_path, run, monkeypatch):
    (tmp_path / "m.onnx").write_bytes(model(LAYER_NORM, w=vector()).SerializeToString())
    monkeypatch.setitem(sys.modules, "onnx", None)
    code, out, err = run("inspect", "m.onnx")
    assert (code, out) == (4, "") and "pip install 'normscope[inspect]'" in err


def test_python_runs_no_factory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "maker.py").write_text("raise AssertionError('it ran')")
    with pytest.raises(FileError, match=r"there is no file or folder maker\.py:make"):
        ns.inspect("maker.py:make")


def test_diff_of_presets(data):
    made = data("diff", "llama-2-7b", "gemma-2-2b", code=1)
    assert {"where": "before attention", "field": "offset", "a": 0, "b": 1} in made["different"]
    assert all(set(row) == {"where", "field", "a", "b"} for row in (*made["same"], *made["different"]))
    assert data("diff", "llama-2-7b", "llama-3-8b")["different"] == []


def test_diff_of_a_folder_and_a_preset(tmp_path, run):
    folder(tmp_path, {"model_type": "gemma2", "hidden_size": 2304, "num_hidden_layers": 26, "rms_norm_eps": 1e-5})
    code, out, err = run("diff", "gemma-2-2b", ".")
    assert (code, err) == (1, "") and out.startswith("5 differences")
    assert run("diff", "gemma-2-2b", "nothing")[0] == 2


def test_progress_is_told_on_stderr_when_it_takes_long(tmp_path, run, monkeypatch):
    folder(tmp_path, {"model_type": "llama"}, WEIGHTS)
    monkeypatch.setattr(inspect_command, "Progress", lambda: progress.Progress(first=0.001, every=0.02))
    monkeypatch.setattr("normscope.models.checkpoints.summary", lambda cells: time.sleep(0.1))
    code, out, err = run("inspect", ".", "--json")
    assert code == 0 and len(json.loads(out)["norms"]) == 2
    assert "normscope: reading the model" in err and "normscope: inspecting, 1 of 2 (50%)" in err


@pytest.mark.oracle
def test_a_factory_is_imported_and_called(tmp_path, data, run):
    pytest.importorskip("torch")
    (tmp_path / "maker.py").write_text(
        "import torch\nprint('loading')\ndef make():\n    print('hello')\n    return torch.nn.LayerNorm(8)\n"
        "ready = torch.nn.RMSNorm(8)\n"
    )
    code, out, _ = run("inspect", "maker.py:make", "--json")
    assert code == 0 and json.loads(out)["norms"][0]["kind"] == "LayerNorm"
    assert run("inspect", "maker.py:ready")[1].startswith("1 norm\n")
    assert run("diff", "maker.py:make", "maker.py:ready")[0] == 1
