"""Headers of .safetensors files, right and wrong."""

import json

import ml_dtypes
import numpy as np
import pytest

from normscope.errors import DtypeError, FileError
from normscope.models import tensors as module
from normscope.models.tensors import tensors


def written(path, header, data=b"", length=None):
    """A file with this header and these bytes of data."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes((len(text) if length is None else length).to_bytes(8, "little") + text + data)
    return path


def entry(dtype="F32", shape=(2,), start=0, stop=8):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [start, stop]}


def test_tensors_in_the_order_of_the_file(tmp_path):
    cells = np.array([1.5, -2.0], np.float32)
    narrow = np.array([[0.5], [3.0]], ml_dtypes.bfloat16)
    header = {"b": entry("BF16", (2, 1), 8, 12), "a": entry(), "__metadata__": {"format": "pt"}}
    found = tensors(written(tmp_path / "x.safetensors", header, cells.tobytes() + narrow.tobytes()))
    assert list(found) == ["a", "b"]
    assert (found["a"].dtype, found["b"].dtype) == ("float32", "bfloat16")
    assert found["a"].array().tolist() == [1.5, -2.0]
    assert found["b"].array().astype("float32").tolist() == [[0.5], [3.0]]


def test_a_dtype_that_numpy_lacks_is_listed_and_not_read(tmp_path):
    found = tensors(written(tmp_path / "x.safetensors", {"a": entry("F4", (4,), 0, 2)}, b"ab"))["a"]
    with pytest.raises(DtypeError, match=r"a of x\.safetensors is F4"):
        found.array()


def test_a_pointer_of_git_lfs_says_what_it_is(tmp_path):
    (tmp_path / "x.safetensors").write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 123\n")
    with pytest.raises(FileError, match=r"x\.safetensors is a pointer of git-lfs, .*fetch it: git lfs pull"):
        tensors(tmp_path / "x.safetensors")


@pytest.mark.parametrize(
    ("header", "length", "reason"),
    [
        (b"{}", 1 << 40, "promise a header of 1,099,511,627,776 bytes"),
        (b"{", None, "its header is no JSON"),
        (b"[]", None, "its header is no JSON object"),
        (b"[" * 100_000, None, "its header is no JSON"),
        (b"\xff\xfe{}", None, "its header is no JSON"),
        (b'{"a": 1, "a": 2}', None, "its header is no JSON"),
        ({"a": {"dtype": "F32"}}, None, "'a' has no dtype, shape and data_offsets"),
        ({"a": entry(shape=(-2,))}, None, "'a' has no dtype, shape and data_offsets"),
        ({"a": entry(shape=(True, 2))}, None, "'a' has no dtype, shape and data_offsets"),
        ({"a": entry(stop=4000)}, None, "cut short"),
        ({"a": entry(start=8, stop=0)}, None, "cut short"),
        ({"a": entry(shape=(3,))}, None, "'a', F32 of shape (3,), has 8 bytes"),
    ],
    ids=range(12),
)
def test_what_contradicts_itself_is_refused(tmp_path, header, length, reason):
    with pytest.raises(FileError) as caught:
        tensors(written(tmp_path / "x.safetensors", header, b"12345678", length))
    assert reason in str(caught.value)


def test_a_header_is_bounded_however_large_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LONGEST_HEADER", 10)
    with pytest.raises(FileError, match="at most"):
        tensors(written(tmp_path / "x.safetensors", {"a": entry()}, b"12345678"))


def test_what_is_not_there_or_empty(tmp_path):
    (tmp_path / "empty.safetensors").touch()
    for name in ("empty.safetensors", "none.safetensors"):
        with pytest.raises(FileError):
            tensors(tmp_path / name)
