"""Arrays by name from .npz and .safetensors files: which one is x, what stands beside it, what is refused."""

import io
import json
import mmap
import pickle
import struct
import zipfile
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import normscope as ns
from normscope.errors import DtypeError, FileError, NormscopeError
from normscope.interfaces import memory, reports
from normscope.interfaces.archives import MissingArray
from normscope.interfaces.files import FileSource, beside, given, opened, read
from normscope.lessons.site import respond

X = np.random.default_rng(0).normal(size=(3, 8)).astype("f4")
TYPES = {
    "float32": "F32",
    "float64": "F64",
    "float16": "F16",
    "bfloat16": "BF16",
    "float8_e5m2": "F8_E5M2",
    "int32": "I32",
}
TYPES |= {"bool": "BOOL"}


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def safetensors(name: str, header: dict | None = None, **arrays: np.ndarray) -> None:
    """A .safetensors file written here; `header` replaces entries of the right one."""
    entries, data = {}, b""
    for key, array in arrays.items():
        begin, data = len(data), data + array.tobytes()
        place = [begin, len(data)]
        entries[key] = {"dtype": TYPES[array.dtype.name], "shape": list(array.shape), "data_offsets": place}
    text = json.dumps(entries | (header or {})).encode()
    Path(name).write_bytes(struct.pack("<Q", len(text)) + text + data)


def npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def is_mapped(array: np.ndarray) -> bool:
    base = array
    while base is not None and not isinstance(base, mmap.mmap):
        base = getattr(base, "base", None)
    return base is not None


@pytest.mark.parametrize("dtype", ["<f2", "<f4", ">f4", "<f8", "i1", ">i4"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("save, maps", [(np.savez, True), (np.savez_compressed, False)])
def test_a_npz_gives_the_array_that_was_saved(save, maps, order, dtype):
    array = np.asarray(np.arange(24).reshape(2, 3, 4), dtype, order=order)
    save("x.npz", other=np.zeros(5), x=array)
    made = read("x.npz", array="x").array
    assert made.dtype == array.dtype and (made == array).all()
    assert is_mapped(made) == maps and not made.flags.writeable


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "float8_e5m2", "int32"])
def test_a_safetensors_file_gives_its_tensor_where_it_lies(dtype):
    array = X.astype(getattr(ml_dtypes, dtype, dtype))
    safetensors("x.safetensors", pad=np.zeros(3, "f4"), x=array)
    made = read("x.safetensors", array="x").array
    assert made.dtype == array.dtype and (made == array).all()
    assert is_mapped(made) and not made.flags.writeable


def test_the_only_array_is_x_and_gamma_beta_and_eps_stand_beside_it():
    gamma, beta = np.arange(8.0), np.ones(8)
    np.savez("x.npz", gamma=gamma, beta=beta, eps=np.float32(1e-6), hidden=X)
    tensor, eps, scale, shift = given("x.npz")
    assert tensor.name == "hidden" and tensor.title == "x.npz, hidden" and (tensor.array == X).all()
    assert (scale == gamma).all() and (shift == beta).all() and eps == "1e-06"
    assert given("x.npz", eps="0.5")[1] == "0.5"  # what is asked for goes first


def test_a_command_takes_the_parameters_beside_x(run):
    gamma = np.linspace(-1, 1, 8).astype("f4")
    np.savez("x.npz", x=X, gamma=gamma, eps=1e-3)
    code, out, _ = run("trace", "x.npz", "--json")
    wanted = ns.trace(X, ns.layer_norm(eps="1e-3"), gamma)
    made = json.loads(out)
    assert code == 0 and made["norm"]["eps"] == "1/1000"
    assert np.array_equal(np.array(made["steps"][-1]["values"], "f4"), wanted["y"])


def test_parameters_beside_x_that_the_norm_lacks_are_left_out_but_not_those_asked_for(run):
    np.savez("x.npz", x=X, gamma=np.ones(8, "f4"), beta=np.ones(8, "f4"))
    assert run("trace", "x.npz", "--norm", "rms_norm", "--json")[0] == 0
    assert run("trace", "x.npz", "--no-affine", "--json")[0] == 0
    code, _, err = run("trace", "x.npz", "--norm", "rms_norm", "--beta", "beta")
    assert code == 2 and "beta is given, but RMSNorm 'S [d]' has none" in err


def test_parameters_are_arrays_of_the_file_by_name_or_files_of_their_own(run):
    weight = np.linspace(-0.1, 0.1, 8).astype("f4")
    safetensors("m.safetensors", **{"layer.x": X, "layer.norm.weight": weight})
    np.save("w.npy", weight)
    asked = ("trace", "m.safetensors", "--array", "layer.x", "--norm", "rms_norm", "--eps", "1e-6", "--offset", "1")
    wanted = ns.trace(X, ns.rms_norm(eps="1e-6", offset=1), weight)["y"]
    for gamma in ("layer.norm.weight", "w.npy"):
        code, out, _ = run(*asked, "--gamma", gamma, "--json")
        assert code == 0 and np.array_equal(np.array(json.loads(out)["steps"][-1]["values"], "f4"), wanted)


def test_dy_may_be_an_array_of_the_file(run):
    np.savez("x.npz", x=X, dy=X + 1)
    code, out, _ = run("trace", "x.npz", "--array", "x", "--backward", "dy", "--json")
    steps = {step["name"]: step for step in json.loads(out)["steps"]}
    wanted = ns.trace(X, dy=X + 1)
    assert code == 0 and np.array_equal(np.array(steps["dx"]["values"], "f4"), wanted["dx"])


def test_the_factor_of_gemma_is_a_step_of_the_pass_there(run):
    np.savez("x.npz", x=X)
    code, out, _ = run("trace", "x.npz", "--norm", "rms_norm", "--offset", "1", "--backward", "x", "--json")
    back = {step["name"]: "pass" in step for step in json.loads(out)["steps"]}
    assert code == 0 and not back["gain"] and back["dxhat"]


@pytest.mark.parametrize("command", [("compare",), ("precision", "--policy", "pytorch-bf16")])
def test_other_commands_read_archives_too(run, command):
    np.savez("x.npz", a=X, b=X + 1)
    name, *options = command
    assert run(name, "x.npz", *options)[0] == 3
    by_name = run(name, "x.npz", *options, "--array", "b", "--json")
    np.save("b.npy", X + 1)
    assert by_name == run(name, "b.npy", *options, "--json") and by_name[0] == 0


def test_bfloat16_is_computed_in_float32_and_counted_so():
    safetensors("x.safetensors", x=X.astype(ml_dtypes.bfloat16))
    array = read("x.safetensors").array
    assert ns.trace(array)["y"].dtype == np.float32 and reports.width(array) == 4


def test_the_lab_opens_an_array_of_an_archive():
    np.savez("x.npz", x=X, other=X, gamma=np.zeros(8), beta=np.ones(8), eps=np.float32(1e-6))
    source = opened("x.npz", array="x", offset=1)
    assert isinstance(source, FileSource) and source.title == "x.npz, x" and source.shape == (1, 3, 8)
    assert (source.gamma, source.beta, source.eps, source.offset) == ([0.0] * 8, [1.0] * 8, "1e-06", 1)
    assert source.note == "x.npz, x: float32, shape (3, 8). Beside it: gamma, beta, eps."
    status, _, body = respond("/inside", "v=1&source=file&step=gain", {"file": source})
    assert status == 200 and "keeps gamma less 1" in body
    safetensors("b.safetensors", x=X.astype(ml_dtypes.bfloat16))
    assert (opened("b.safetensors").rows(range(1), range(3)) == X.astype(ml_dtypes.bfloat16).astype(float)).all()


def test_a_state_with_an_array_is_exported(run):
    np.savez("x.npz", a=X, b=X + 1)
    code, out, err = run("export", "/inside?v=1&source=file", "--file", "x.npz", "--array", "b", "--json")
    assert (code, err) == (0, "") and "x.npz, b" in json.loads(out)["html"]


def huge(*sizes: int) -> bytes:
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {sizes}, }}".encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header


def zipped(name: str, method: int = zipfile.ZIP_STORED, **members: bytes) -> None:
    with zipfile.ZipFile(name, "w", method) as file:
        for key, contents in members.items():
            file.writestr(f"{key}.npy", contents)


def spoiled(name: str) -> None:
    """A compressed member with a byte changed."""
    np.savez_compressed(name, x=np.random.default_rng(0).normal(size=200))
    contents = bytearray(Path(name).read_bytes())
    contents[400] ^= 255
    Path(name).write_bytes(contents)


def cut(name: str) -> None:
    np.savez(name, x=X)
    Path(name).write_bytes(Path(name).read_bytes()[:-10])


REFUSED = {
    "no archive": (lambda n: Path(n).write_bytes(b"PK"), None, FileError,
                   "x from x.npz: it is no .npz archive, or cut short; save it again with numpy.savez."),
    "cut short": (cut, None, FileError,
                  "x from x.npz: it is no .npz archive, or cut short; save it again with numpy.savez."),
    "empty": (lambda n: np.savez(n), None, FileError, "x from x.npz: it holds no array; save one with numpy.savez."),
    "several": (lambda n: np.savez(n, a=X, b=X, gamma=X), None, FileError,
                "x from x.npz: it holds a, b, gamma; choose one, as in --array a."),
    "parameters alone": (lambda n: np.savez(n, gamma=X, beta=X), None, FileError,
                         "x from x.npz: it holds gamma, beta; choose one, as in --array gamma."),
    "many": (lambda n: np.savez(n, **{f"a{i}": X for i in range(20)}), None, FileError,
             "x from x.npz: it holds a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11 and 8 more; choose one, as in "
             "--array a0."),
    "another name": (lambda n: np.savez(n, a=X), "b", MissingArray, "x from x.npz: it has no array 'b'; it has a."),
    "a pickle": (lambda n: np.savez(n, x=np.array([{}, None])), None, FileError,
                 "x from x.npz, array 'x': it holds pickled Python objects, which can run code when they are loaded, "
                 "so it is never read; numpy.save it with a numeric dtype."),
    "a member that is a pickle": (lambda n: zipped(n, x=pickle.dumps(1)), None, FileError,
                                  "x from x.npz, array 'x': it is a pickle, which can run code when it is loaded, so "
                                  "it is never read; use numpy.save."),
    "complex": (lambda n: np.savez(n, x=X * 1j), None, DtypeError,
                "x from x.npz, array 'x': its dtype is complex64; give real numbers, for example x.real."),
    "a single number": (lambda n: np.savez(n, x=np.float32(1)), None, FileError,
                        "x from x.npz, array 'x': it holds a single number (shape ()); give it an axis: x.reshape(1)."),
    "a lie": (lambda n: zipped(n, x=huge(4, 8)), None, FileError,
              "x from x.npz, array 'x': it is cut short: (4, 8) of float32 takes 128 bytes, and 0 are there; save or "
              "copy it again."),
    "a large lie": (lambda n: zipped(n, zipfile.ZIP_DEFLATED, x=huge(2**40, 2**20)), None, FileError,
                    "x from x.npz, array 'x': it is cut short: (1099511627776, 1048576) of float32 takes "
                    "4,611,686,018,427,387,904 bytes, and 0 are there; save or copy it again."),
    "spoiled": (spoiled, None, FileError,
                "x from x.npz, array 'x': it cannot be unpacked; save it again with numpy.savez."),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_an_archive_that_cannot_be_read_says_why_and_how_to_mend_it(case):
    make, name, error, text = REFUSED[case]
    make("x.npz")
    before = Path("x.npz").read_bytes()
    with pytest.raises(NormscopeError) as caught:
        read("x.npz", array=name)
    assert str(caught.value) == text and type(caught.value) is error
    assert Path("x.npz").read_bytes() == before


def test_a_compressed_array_larger_than_the_memory_is_not_unpacked(monkeypatch):
    np.savez_compressed("x.npz", x=np.zeros((1000, 1000)))
    monkeypatch.setattr(memory, "available", lambda: 1_000_000)
    with pytest.raises(FileError) as caught:
        read("x.npz")
    assert str(caught.value) == (
        "x from x.npz, array 'x': unpacked it takes 8,000,000 bytes (7.63 MiB), and 1,000,000 bytes (977 KiB) are "
        "available; numpy.savez does not compress, and such an array is read in place."
    )
    np.savez("x.npz", x=np.zeros((1000, 1000)))
    assert read("x.npz").array.shape == (1000, 1000)  # mapped


TENSORS = {
    "several": ({}, {"a": X, "b": X}, None, FileError, "x from x.safetensors: it holds a, b; choose one, as "
                "in --array a."),
    "another name": ({}, {"a": X}, "b", MissingArray, "x from x.safetensors: it has no array 'b'; it has a."),
    "truth values": ({}, {"a": X > 0}, None, DtypeError,
                     "x from x.safetensors, array 'a': its dtype is bool; give real numbers."),
    "an unknown dtype": ({"a": {"dtype": "F4", "shape": [2], "data_offsets": [0, 1]}}, {"a": X[0, :1]}, None,
                         DtypeError, "x from x.safetensors, array 'a': its dtype is F4; give real numbers."),
    "a name of NumPy's": ({"a": {"dtype": "load", "shape": [2], "data_offsets": [0, 1]}}, {"a": X[0, :1]}, None,
                          DtypeError, "x from x.safetensors, array 'a': its dtype is load; give real numbers."),
}  # fmt: skip


@pytest.mark.parametrize("case", TENSORS)
def test_a_tensor_that_cannot_be_read_says_why(case):
    header, arrays, name, error, text = TENSORS[case]
    safetensors("x.safetensors", header, **arrays)
    with pytest.raises(error) as caught:
        read("x.safetensors", array=name)
    assert str(caught.value) == text


@pytest.mark.parametrize("contents", [b"", b"x" * 7, b"\xff" * 40, struct.pack("<Q", 4) + b"[1]]", b"PK\x03\x04" * 9])
def test_what_is_no_safetensors_file_is_refused(contents):
    Path("x.safetensors").write_bytes(contents)
    with pytest.raises(FileError, match=r"x\.safetensors is no \.safetensors file that can be read"):
        read("x.safetensors")


def test_an_empty_array_is_an_array():
    np.savez("x.npz", x=np.zeros((0, 8)))
    safetensors("x.safetensors", x=np.zeros((3, 0), "f4"))
    assert read("x.npz").array.shape == (0, 8) and read("x.safetensors").array.shape == (3, 0)


@pytest.mark.parametrize(
    "arguments, text",
    [
        (("trace", "x.npy", "--array", "a"), "x from x.npy: it holds one array, none called 'a'; leave --array out."),
        (("trace", "x.npz", "--gamma", "layer.w"), "gamma from x.npz: it has no array 'layer.w'; it has x, eps."),
        (("trace", "x.npz"), "eps from x.npz: it has shape (2,); eps is a single number."),
        (("export", "/inside", "--array", "a"), "--array belongs to --file; give the file too. See "),
    ],
)
def test_a_wrong_request_is_one_line(run, arguments, text):
    np.save("x.npy", X)
    np.savez("x.npz", x=X, eps=np.zeros(2))
    code, out, err = run(*arguments)
    assert code == 2 and out == "" and err.startswith(f"Error: {text}") and err.count("\n") == 1


def test_a_file_that_is_named_and_missing_is_no_array():
    np.savez("x.npz", x=X)
    with pytest.raises(FileError, match=r"gamma from none\.npy: there is no such file"):
        beside(read("x.npz"), "none.npy", "gamma")
