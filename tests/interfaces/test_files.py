"""Reading a person's files: what is read, what is refused and in which words."""

import hashlib
import io
import os
import pickle
import struct
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from normscope.errors import DtypeError, FileError, NormscopeError, ShapeError
from normscope.interfaces import files, tables
from normscope.interfaces.files import FileSource, parameter, read


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # so that messages show short paths


def saved(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def npy_with_header(text: str) -> bytes:
    header = text.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header


WHOLE = saved(np.zeros((2, 4, 8), np.float32))
BROKEN = "its .npy header is broken; save the array again with numpy.save."
HUGE = "{'descr': '<f4', 'fortran_order': False, 'shape': (4, %s), }"

# name: (file, contents, error class, text after "x from FILE: ")
REFUSED: dict[str, tuple[str, bytes, type[NormscopeError], str]] = {
    "onnx": (
        "x.onnx",
        b"",
        FileError,
        "an .onnx model is no tensor; `normscope inspect x.onnx` finds its norms.",
    ),
    "pt": (
        "x.pt",
        b"",
        FileError,
        "a .pt file can run code when it is loaded, so it is never read; use numpy.save.",
    ),
    "pkl": (
        "x.PKL",
        b"",
        FileError,
        "a .pkl file can run code when it is loaded, so it is never read; use numpy.save.",
    ),
    "other ending": (
        "x.txt",
        b"1",
        FileError,
        "its name ends in '.txt'; give a .npy, .npz, .safetensors or .csv file, named so.",
    ),
    "no ending": ("x", b"1", FileError, "its name ends in ''; give a .npy, .npz, .safetensors or .csv file, named so."),
    "empty npy": (
        "x.npy",
        b"",
        FileError,
        "it is empty (0 bytes); save the array again with numpy.save.",
    ),
    "text as npy": (
        "x.npy",
        b"1,2,3\n",
        FileError,
        r"it is no .npy file, it starts with b'1,2,3\n'; save the array with numpy.save.",
    ),
    "pickle as npy": (
        "x.npy",
        pickle.dumps([1.0]),
        FileError,
        "it is a pickle, which can run code when it is loaded, so it is never read; use numpy.save.",
    ),
    "npz as npy": (
        "x.npy",
        b"PK\x03\x04....",
        FileError,
        "it is a .npz archive by its contents; give it a name that ends so.",
    ),
    "object array": (
        "x.npy",
        saved(np.array([{}, None])),
        FileError,
        "it holds pickled Python objects, which can run code when they are loaded, so it is never read; "
        "numpy.save it with a numeric dtype.",
    ),
    "cut short": (
        "x.npy",
        WHOLE[:-100],
        FileError,
        "it is cut short: (2, 4, 8) of float32 takes 256 bytes, and 156 are there; save or copy it again.",
    ),
    "header cut": (
        "x.npy",
        WHOLE[:50],
        FileError,
        BROKEN,
    ),
    "header of nonsense": (
        "x.npy",
        npy_with_header("nonsense"),
        FileError,
        BROKEN,
    ),
    "negative size": (
        "x.npy",
        npy_with_header(HUGE % "-8"),
        FileError,
        BROKEN,
    ),
    "absurd size": (
        "x.npy",
        npy_with_header(HUGE % 10**30),
        FileError,
        f"it is cut short: (4, {10**30}) of float32 takes {16 * 10**30:,} bytes, and 0 are there; "
        "save or copy it again.",
    ),
    "structured": (
        "x.npy",
        saved(np.zeros(2, [("re", "f4"), ("im", "f4")])),
        DtypeError,
        "its cells are records (re, im); save one field: x['name'].",
    ),
    "complex": (
        "x.npy",
        saved(np.zeros(2, "c8")),
        DtypeError,
        "its dtype is complex64; give real numbers, for example x.real.",
    ),
    "bfloat16": (
        "x.npy",
        saved(np.zeros(2, "V2")),
        DtypeError,
        "its dtype is |V2, perhaps bfloat16 or float8; save x.astype('float32').",
    ),
    "bool": (
        "x.npy",
        saved(np.zeros(2, bool)),
        DtypeError,
        "its dtype is bool; save it as real numbers: x.astype('float64').",
    ),
    "text array": (
        "x.npy",
        saved(np.array(["a"])),
        DtypeError,
        "its dtype is str32; save it as real numbers: x.astype('float64').",
    ),
    "a single number": (
        "x.npy",
        saved(np.float32(1)),
        FileError,
        "it holds a single number (shape ()); give it an axis: x.reshape(1).",
    ),
    "empty csv": ("x.csv", b"", FileError, "it is empty; give a row of numbers a line."),
    "blank csv": ("x.csv", b"\n  \n\n", FileError, "it is empty; give a row of numbers a line."),
    "header alone": (
        "x.csv",
        b"f0,f1\n",
        FileError,
        "it has a header and no row of numbers; give a row of numbers a line.",
    ),
    "names alone": (
        "x.csv",
        b"token\nThe\ncat\n",
        FileError,
        "it has token names and no column of numbers; give numbers after the names.",
    ),
    "ragged": (
        "x.csv",
        b"1,2,3\n\n4,5\n",
        FileError,
        "line 3 has 2 cells, line 1 has 3; give every line the same number of cells.",
    ),
    "ragged header": (
        "x.csv",
        b"f0,f1\n1,2,3\n",
        FileError,
        "the header has 2 cells, line 2 has 3; name every column once.",
    ),
    "no number": (
        "x.csv",
        b"a,b\n1,2\n3,four\n",
        FileError,
        "line 3, column 2 is 'four', which is no number; columns are separated by comma, semicolon or tab.",
    ),
    "no number in column 1": (
        "x.csv",
        b"1,2\n3,4\nx5,6\n",
        FileError,
        "line 3, column 1 is 'x5', which is no number; columns are separated by comma, semicolon or tab.",
    ),
    "underscore": (
        "x.csv",
        b"1,2\n3,1_000\n",
        FileError,
        "line 2, column 2 is '1_000', which is no number; columns are separated by comma, semicolon or tab.",
    ),
    "spaces": (
        "x.csv",
        b"1.0 2.0\n",
        FileError,
        "it has a header and no row of numbers; give a row of numbers a line.",
    ),
    "400 digits": (
        "x.csv",
        b"1,2\n3," + b"1" * 400 + b"\n",
        FileError,
        "line 2, column 2 is '" + "1" * 30 + "...', beyond float64's 1.8e308; write a smaller number, or inf.",
    ),
    "a large exponent": (
        "x.csv",
        b"a,b\n-1e309,2\n",
        FileError,
        "line 2, column 1 is '-1e309', beyond float64's 1.8e308; write a smaller number, or inf.",
    ),
    "missing value": (
        "x.csv",
        b"1,2\n3,\n",
        FileError,
        "line 2, column 2 is empty; write a number, or nan.",
    ),
    "decimal commas": (
        "x.csv",
        b"1,5;2,5\n",
        FileError,
        "line 1, column 1 is '1,5', a decimal comma; write 1.5, or say --decimal-comma (decimal_comma=True).",
    ),
    "quoted decimal commas": (
        "x.csv",
        b'a,b\n"1,5","2,5"\n',
        FileError,
        "line 2, column 1 is '1,5', a decimal comma; write 1.5, or say --decimal-comma (decimal_comma=True).",
    ),
    "open quote": (
        "x.csv",
        b'1,2\n"3,4\n',
        FileError,
        "line 2 is no CSV (unexpected end of data); mend its quotes.",
    ),
    "Latin-1": (
        "x.csv",
        b"caf\xe9,1\n",
        FileError,
        "it is not UTF-8 text (byte 4); save it as 'CSV UTF-8'.",
    ),
    "UTF-16": (
        "x.csv",
        "1,2\n".encode("utf-16"),
        FileError,
        "it is not UTF-8 text (byte 1); save it as 'CSV UTF-8'.",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refused_file_is_named_with_the_place_and_the_fix(case):
    name, contents, error, text = REFUSED[case]
    Path(name).write_bytes(contents)
    with pytest.raises(error) as caught:
        read(name)
    assert str(caught.value) == f"x from {name}: {text}"
    assert Path(name).read_bytes() == contents


@pytest.mark.parametrize(
    ("make", "path", "code", "text"),
    [
        (None, "none.npy", 2, "there is no such file; give a .npy, .npz, .safetensors or .csv file."),
        (os.mkdir, "folder.npy", 3, "it is a directory; give a .npy, .npz, .safetensors or .csv file in it."),
        (os.mkfifo, "pipe.csv", 3, "it is no regular file; save it as a .npy, .npz, .safetensors or .csv file first."),
    ],
)
def test_what_is_no_file_is_refused(make: Callable[[str], None] | None, path: str, code: int, text: str):
    if make:
        make(path)
    with pytest.raises(FileError) as caught:
        read(path, "gamma")
    assert (str(caught.value), caught.value.exit_code) == (f"gamma from {path}: {text}", code)


@pytest.mark.parametrize("name", ["x.npy", "x.csv"])
def test_a_file_that_may_not_be_read_says_so(name, monkeypatch):
    Path(name).write_bytes(WHOLE)

    def denied(*arguments: object, **options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(io, "open", denied)  # what Path.open calls; root may read any file
    with pytest.raises(FileError) as caught:
        read(name)
    assert str(caught.value) == f"x from {name}: it cannot be read (Permission denied)."


def test_a_path_with_a_null_character_is_refused():
    with pytest.raises(FileError, match="it cannot be read"):
        read("a\0.npy")


def test_a_csv_beyond_the_limit_is_refused(monkeypatch):
    monkeypatch.setattr(tables, "LIMIT", 3)
    Path("x.csv").write_text("1,2\n")
    with pytest.raises(FileError) as caught:
        read("x.csv")
    assert str(caught.value) == (
        "x from x.csv: it has 4 bytes; a .csv file may have 3. Save it as .npy with numpy.save."
    )


CSV = {
    "plain": ("1,2\n3,4\n", [[1, 2], [3, 4]], None),
    "one line, no end": ("1,2", [[1, 2]], None),
    "header": ("f0,f1\n1,2\n", [[1, 2]], None),
    "tokens": ("The,1,2\ncat,3,4\n", [[1, 2], [3, 4]], ("The", "cat")),
    "tokens and header": ("token,0,1\nThe,1,2\n", [[1, 2]], ("The",)),
    "numeric tokens, named": ("token,a\n7,1\n8,2\n", [[1], [2]], ("7", "8")),
    "pandas index": (",0,1\n0,1,2\n1,3,4\n", [[1, 2], [3, 4]], ("0", "1")),
    "tokens keep spaces and newlines": ('" the",1\n"\n",2\n",",3\n', [[1], [2], [3]], (" the", "\n", ",")),
    "tokens keep odd line ends": ('"\u2028",1\na,2\n', [[1], [2]], ("\u2028", "a")),
    "a token that is a usual header": ("text,0.5,1\n,3,4\n", [[0.5, 1], [3, 4]], ("text", "")),
    "a blank token first": ('" ",1,2\na,3,4\n', [[1, 2], [3, 4]], (" ", "a")),
    "tokens keep Windows newlines": ('"\r\n",1\na,2\n', [[1], [2]], ("\r\n", "a")),
    "semicolons": ("1;2\n3;4\n", [[1, 2], [3, 4]], None),
    "tabs": ("1\t2\n3\t4\n", [[1, 2], [3, 4]], None),
    "a semicolon as a token": ("a,1\n;,2\nb,3\n", [[1], [2], [3]], ("a", ";", "b")),
    "byte order mark": ("\ufeff1,2\n", [[1, 2]], None),
    "blank lines": ("\n1,2\n\n3,4\n\n", [[1, 2], [3, 4]], None),
    "Windows line ends": ("a,b\r\n1,2\r\n", [[1, 2]], None),
    "spaces round numbers": (" 1 , 2 \n", [[1, 2]], None),
    "exponents and specials": ("1e-3,-2E5\ninf,-inf\n", [[1e-3, -2e5], [np.inf, -np.inf]], None),
    "one column with header": ("gamma\n1\n2\n", [[1], [2]], None),
}


@pytest.mark.parametrize("case", CSV)
def test_a_csv_is_read(case):
    text, rows, tokens = CSV[case]
    Path("x.csv").write_bytes(text.encode())
    tensor = read("x.csv")
    assert tensor.array.dtype == np.float64
    assert tensor.array.tolist() == rows
    assert tensor.tokens == tokens


def test_nan_in_a_csv_is_a_number():
    Path("x.csv").write_text("nan,1\nNaN,2\n")
    assert np.isnan(read("x.csv").array[:, 0]).all()


@pytest.mark.parametrize("text", ["1,5;-2,5e1\n", '"1,5","-2,5e1"\n', "1,5\t-2,5e1\n"])
def test_decimal_commas_are_read_when_asked_for(text):
    Path("x.csv").write_text(text)
    assert read("x.csv", decimal_comma=True).array.tolist() == [[1.5, -25.0]]


def test_a_point_among_decimal_commas_is_refused():
    Path("x.csv").write_text("1,5;1.234\n")
    with pytest.raises(FileError) as caught:
        read("x.csv", decimal_comma=True)
    assert str(caught.value) == (
        "x from x.csv: line 1, column 2 is '1.234', which has a point; "
        "with decimal commas write 1,5 and no thousands mark."
    )


@pytest.mark.parametrize("dtype", ["<f2", "<f4", ">f4", "<f8", ">f8", "i1", ">i4", "<u2"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_npy_is_mapped_and_read_only(dtype, order):
    array = np.asarray(np.arange(24).reshape(2, 3, 4), dtype, order=order)
    np.save("x.npy", array)
    made = read("x.npy").array
    assert made.dtype == array.dtype and (made == array).all()
    assert not made.flags.writeable and not made.flags.owndata
    with pytest.raises(ValueError, match="read-only"):
        made[0] = 1


@pytest.mark.parametrize("text", ["1,2,3\n", "1\n2\n3\n", "gamma\n1\n2\n3\n"])
def test_a_parameter_from_a_csv_is_a_vector(text):
    Path("g.csv").write_text(text)
    assert parameter("g.csv", "gamma").tolist() == [1, 2, 3]


def source_of(array: np.ndarray, **options: object) -> FileSource:
    np.save("x.npy", array)
    return FileSource.of(read("x.npy"), **options)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(5,), (3, 5), (2, 3, 5), (2, 3, 4, 5), (2, 3, 2, 4, 5)])
def test_a_source_of_any_rank_has_the_rows_of_a_reshaped_array(shape, order):
    array = np.asarray(np.random.default_rng(0).normal(size=shape), order=order)
    source = source_of(array)
    whole = array.reshape((-1, *((1, 1, *shape)[-2:])))  # the oracle may reshape: it is small
    assert source.shape == whole.shape
    b, s = source.shape[:2]
    for rows in (range(b), range(b - 1, b)):
        for columns in (range(s), range(s - 1, s), range(0)):
            made = source.rows(rows, columns)
            assert made.shape == (len(rows), len(columns), shape[-1])
            assert (made == whole[list(rows)][:, list(columns)]).all()


def test_a_source_is_not_silently_shorter_than_asked_for():
    with pytest.raises((IndexError, ValueError)):
        source_of(np.zeros((2, 3, 4))).rows(range(1), range(2, 5))


@pytest.mark.parametrize(("dtype", "wide"), [("f2", "f8"), (">f4", "f8"), (">f8", "f8"), ("i2", "f8"), ("u8", "f8")])
def test_rows_are_native_floats(dtype, wide):
    made = source_of(np.ones((2, 3), dtype)).rows(range(1), range(2))
    assert made.dtype == np.dtype(wide) and made.dtype.isnative and made.flags.writeable


def test_a_source_says_what_it_is():
    Path("t.csv").write_text("token,a,b\nThe,1,2\ncat,3,4\n")
    source = FileSource.of(read("t.csv"), gamma=np.float32([0.1, 2]), eps="1e-12")
    assert (source.title, source.shape, source.tokens) == ("t.csv", (1, 2, 2), ("The", "cat"))
    assert (source.gamma, source.beta, source.eps) == ([float(np.float32(0.1)), 2.0], None, "1e-12")
    assert source.note == "t.csv: float64, shape (2, 2)."
    assert source_of(np.zeros((2, 3, 4, 5), "f4")).note == (
        "x.npy: float32, shape (2, 3, 4, 5). Its first 2 axes (2, 3) are counted as one, B: b = 3·i0 + i1."
    )
    hash(source)  # pages are cached by their source


@pytest.mark.parametrize(
    ("array", "options", "error", "text"),
    [
        (
            np.zeros((2, 0)),
            {},
            FileError,
            "x from x.npy: its shape (2, 0) has no cell; there is nothing to show.",
        ),
        (
            np.zeros(1_048_577, "i1"),
            {},
            FileError,
            "x from x.npy: a row has 1,048,577 features (shape (1048577,)); a page shows up to 1,048,576. "
            "Save it with its rows along the last axis.",
        ),
        (
            np.zeros((2, 3)),
            {"gamma": np.zeros(2)},
            ShapeError,
            "gamma has shape (2,); rows of x from x.npy need (3,).",
        ),
    ],
)
def test_a_source_that_cannot_be_shown_is_refused_when_opened(array, options, error, text):
    with pytest.raises(error) as caught:
        source_of(array, **options)
    assert str(caught.value) == text


def test_the_longest_row_allowed_is_shown():
    assert source_of(np.zeros(files.ROW_LIMIT, "i1")).rows(range(1), range(1)).shape == (
        1,
        1,
        files.ROW_LIMIT,
    )


def resident() -> int:
    """Bytes of file pages that this process has touched and mapped."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if "RssFile" in line)
    return int(line.split()[1]) * 1024


def sparse(path: str, shape: tuple[int, ...], order: str) -> None:
    """A .npy file of any size that takes no disk: a header, then a hole."""
    fortran = order == "F"
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": fortran, "shape": shape})
        file.truncate(file.tell() + 4 * int(np.prod(shape)))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(2**11, 2**10, 2**10), (2**6, 2**5, 2**10, 2**10)])
def test_a_window_of_an_8_gib_file_touches_few_pages(shape, order):
    sparse("x.npy", shape, order)
    before, started = resident(), time.monotonic()
    source = FileSource.of(read("x.npy"))
    last = source.shape[0] - 1
    rows = source.rows(range(last, last + 1), range(1020, 1024))
    assert time.monotonic() - started < 1
    assert rows.shape == (1, 4, 1024) and not rows.any()
    # In Fortran order each of the 4,096 cells is on a page of its own.
    assert resident() - before < 4 * 4096 * 4096


@pytest.mark.parametrize("name", ["x.npy", "x.csv"])
def test_a_file_is_never_modified(name):
    if name == "x.npy":
        np.save(name, np.ones((2, 3)))
    else:
        Path(name).write_text("1,2,3\n4,5,6\n")
    before = hashlib.sha256(Path(name).read_bytes()).digest(), os.stat(name).st_mtime_ns
    source = FileSource.of(read(name))
    source.rows(range(1), range(2))[:] = 7
    assert (hashlib.sha256(Path(name).read_bytes()).digest(), os.stat(name).st_mtime_ns) == before
    assert source.rows(range(1), range(1)).max() < 7
