"""What the kernels refuse, word for word, with the C code and without it; and what they take though it looks odd."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from normscope import kernels
from normscope.errors import DtypeError, NormError, NormscopeError, ShapeError
from normscope.kernels import arrange, backward, explanation
from tests.kernels.reference import BFLOAT16

X = np.arange(12, dtype=np.float32).reshape(3, 4)
ROW = np.ones(4, np.float32)


@pytest.fixture(params=["as installed", "without the extension"], autouse=True)
def either(request: Any, monkeypatch: Any) -> Iterator[None]:
    """The public functions with the C code, where it was built, and as they are where it was not."""
    if request.param == "without the extension":
        for module in (arrange, backward, explanation):
            monkeypatch.setattr(module, "NATIVE", None)
        monkeypatch.setattr(kernels, "_norm", lambda *arguments: NotImplemented)
    yield


def read_only() -> Any:
    made = X.copy()
    made.flags.writeable = False
    return made


REFUSALS = {
    "x of integers": (
        lambda: kernels.layer_norm(np.arange(4)),
        DtypeError,
        "x has dtype int64; the kernels take float32, float64, float16, bfloat16: cast it first",
    ),
    "x of complex numbers": (
        lambda: kernels.layer_norm(X * 1j),
        DtypeError,
        "x has dtype complex64; the kernels take float32, float64, float16, bfloat16: cast it first",
    ),
    "x of 16-bit integers, which bfloat16 is not": (
        lambda: kernels.rms_norm(X.astype(np.uint16)),
        DtypeError,
        "x has dtype uint16; the kernels take float32, float64, float16, bfloat16: cast it first",
    ),
    "x of long double": (
        lambda: kernels.rms_norm(X.astype(np.longdouble)),
        DtypeError,
        f"x has dtype {np.dtype(np.longdouble)}; the kernels take float32, float64, float16, bfloat16: cast it first",
    ),
    "x a number": (
        lambda: kernels.layer_norm(np.float32(1)),
        ShapeError,
        "x is a single number; a norm needs an axis to run over",
    ),
    "gamma too short": (
        lambda: kernels.layer_norm(X, ROW[:3]),
        ShapeError,
        "gamma has shape (3,); the last axis of x (3, 4) needs (4,)",
    ),
    "beta of two axes": (
        lambda: kernels.layer_norm(X, ROW, X),
        ShapeError,
        "beta has shape (3, 4); the last axis of x (3, 4) needs (4,)",
    ),
    "gamma of complex numbers": (
        lambda: kernels.rms_norm(X, ROW * 1j),
        DtypeError,
        "gamma has dtype complex64; real numbers are needed",
    ),
    "x with masked cells": (
        lambda: kernels.layer_norm(np.ma.array(X, mask=X > 5)),
        DtypeError,
        "x is a masked array; a norm has no masked cells: give x.filled(0)",
    ),
    "eps true": (
        lambda: kernels.layer_norm(X, eps=True),
        NormError,
        "eps is True; it must be a number, 0 or more",
    ),
    "threads true": (
        lambda: kernels.layer_norm(X, threads=True),
        NormError,
        "threads is True; it must be 1 or more, or None to let the size of x decide",
    ),
    "eps below 0": (
        lambda: kernels.layer_norm(X, eps=-1e-5),
        NormError,
        "eps is -1e-05; it must be 0 or more, and finite",
    ),
    "eps no number": (
        lambda: kernels.layer_norm(X, eps=float("nan")),
        NormError,
        "eps is nan; it must be 0 or more, and finite",
    ),
    "eps infinite": (
        lambda: kernels.rms_norm(X, eps=float("inf")),
        NormError,
        "eps is inf; it must be 0 or more, and finite",
    ),
    "eps a word": (
        lambda: kernels.layer_norm(X, eps="small"),
        NormError,
        "eps is 'small'; it must be a number, 0 or more",
    ),
    "out of another shape": (
        lambda: kernels.layer_norm(X, out=X[:2].copy()),
        ShapeError,
        "out has shape (2, 4); x has (3, 4), and they must be alike",
    ),
    "out of another dtype": (
        lambda: kernels.layer_norm(X, out=X.astype(float)),
        DtypeError,
        "out has dtype float64; x has float32, and they must be alike: cast one",
    ),
    "out a list": (
        lambda: kernels.layer_norm(X, out=[0.0] * 4),
        NormError,
        "out is a list; it must be a NumPy array to write into",
    ),
    "out read-only": (
        lambda: kernels.layer_norm(X, out=read_only()),
        NormError,
        "out is read-only; it must be an array to write into",
    ),
    "no thread": (
        lambda: kernels.layer_norm(X, threads=0),
        NormError,
        "threads is 0; it must be 1 or more, or None to let the size of x decide",
    ),
    "half a thread": (
        lambda: kernels.layer_norm(X, threads=1.5),
        NormError,
        "threads is 1.5; it must be 1 or more, or None to let the size of x decide",
    ),
    "residual of another shape": (
        lambda: kernels.add_layer_norm(X, X[:1]),
        ShapeError,
        "residual has shape (1, 4); x has (3, 4), and they must be alike",
    ),
    "residual of another dtype": (
        lambda: kernels.add_rms_norm(X, X.astype(BFLOAT16)),
        DtypeError,
        "residual has dtype bfloat16; x has float32, and they must be alike: cast one",
    ),
    "no residual": (
        lambda: kernels.add_layer_norm(X, None),
        NormError,
        "residual is None; add_layer_norm and add_rms_norm add one: layer_norm and rms_norm do not",
    ),
    "one array for y and the sum": (
        lambda: kernels.add_layer_norm(*[X.copy()] * 2, out=(same := X.copy()), sum_out=same),
        NormError,
        "out and sum_out overlap; y and the sum need an array each",
    ),
    "dy of another shape": (
        lambda: kernels.layer_norm_backward(X[0], X),
        ShapeError,
        "dy has shape (4,); x has (3, 4), and they must be alike",
    ),
    "dy of another dtype": (
        lambda: kernels.rms_norm_backward(X.astype(float), X),
        DtypeError,
        "dy has dtype float64; x has float32, and they must be alike: cast one",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refused_word_for_word(name):
    call, kind, message = REFUSALS[name]
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == message
    assert isinstance(caught.value, NormscopeError)


def test_a_refusal_writes_nothing():
    out, total = X.copy(), X.copy()
    with pytest.raises(ShapeError):
        kernels.layer_norm(X, ROW[:3], out=out)
    with pytest.raises(DtypeError):
        kernels.add_layer_norm(X, X.astype(float), out=out, sum_out=total)
    assert np.array_equal(out, X) and np.array_equal(total, X)


def test_lists_and_other_dtypes_of_parameters_are_taken():
    right = kernels.layer_norm(X, ROW * 2, ROW)
    assert np.array_equal(kernels.layer_norm(X, [2, 2, 2, 2], [1.0] * 4), right)
    assert np.array_equal(kernels.layer_norm(X, ROW.astype(float) * 2, ROW.astype(np.float16)), right)
    assert np.array_equal(kernels.layer_norm(X.tolist()), kernels.layer_norm(X.astype(float)))


def test_another_byte_order_is_taken_and_kept():
    swapped = X.astype(X.dtype.newbyteorder())
    y = kernels.layer_norm(swapped, ROW)
    assert y.dtype == swapped.dtype and np.array_equal(y, kernels.layer_norm(X, ROW))
    out = np.zeros_like(swapped)
    assert kernels.layer_norm(swapped, ROW, out=out) is out
    assert np.array_equal(out, y)
    dx, *_ = kernels.layer_norm_backward(swapped, swapped)
    assert dx.dtype == swapped.dtype and np.array_equal(dx, kernels.layer_norm_backward(X, X)[0])


def test_eps_and_threads_of_numpy_are_numbers():
    right = kernels.layer_norm(X, eps=0.125)
    assert np.array_equal(kernels.layer_norm(X, eps=np.float32(0.125), threads=np.int64(2)), right)
    assert np.array_equal(kernels.layer_norm(X, eps=1), kernels.layer_norm(X, eps=1.0))


def test_every_row_of_nothing_is_refused_or_empty():
    """d = 0: there is no cell, so there is nothing to compute."""
    y = kernels.layer_norm(np.empty((3, 0), np.float32))
    assert y.shape == (3, 0)


def test_explain_says_what_is_done():
    made = kernels.explain(X)
    assert made.path in ("native", "numpy") and made.threads == 1 and made.stores == "plain"
    text = repr(made)
    assert all(word in text for word in (made.path, made.why_path, made.why_threads, made.why_stores))
    with pytest.raises(AttributeError):
        made.threads = 2


def test_a_row_without_memory_may_be_of_any_length():
    for dtype in (np.float16, np.float32, np.float64):
        x = np.empty((0, 2**57), dtype)
        assert kernels.layer_norm(x).shape == x.shape
        assert kernels.add_rms_norm(x, x)[1].shape == x.shape


def test_a_subclass_becomes_a_plain_array():
    class Own(np.ndarray):
        pass

    for x in (X.view(Own), np.asfortranarray(X).view(Own)):
        assert type(kernels.layer_norm(x)) is np.ndarray
