"""The same bits whatever the batch, the layout, the alignment, the threads and whether x is written over."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.kernels.reference import DTYPES, FLOAT32

WIDTHS = [1, 3, 8, 13, 32, 77, 768, 1025]


def case(width: int, dtype: Any, rows: int = 11, mean: float = 3.0) -> tuple[Any, Any, Any]:
    random = np.random.default_rng([width, rows])
    gamma, beta = random.normal(size=(2, width)).astype(dtype)
    about_zero = np.arange(rows)[:, None] // 3 % 2  # some rows, of which some are two that are taken together
    x = (random.normal(size=(rows, width)) + mean * (1 - about_zero)).astype(dtype)
    x[1::4] *= np.array(1000).astype(dtype)
    x[2::5, : width // 3] += np.array(200).astype(dtype)  # rows whose pivot is a poor guess
    return x, gamma, beta


def bits(values: Any) -> Any:
    """The stored patterns, of one shape for one content."""
    return np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}")


def assert_same(mine: Any, other: Any) -> None:
    assert mine.dtype == other.dtype and mine.shape == other.shape
    assert np.array_equal(bits(mine), bits(other))


def misaligned(values: Any, offset: int) -> Any:
    """A C-contiguous copy whose memory begins so many bytes after a multiple of 64."""
    room = np.empty(values.nbytes + 64 + offset, np.uint8)
    start = -room.ctypes.data % 64 + offset
    made = room[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    made[...] = values
    return made


@pytest.fixture(params=DTYPES)
def dtype(request: Any) -> Any:
    return DTYPES[request.param]


@pytest.mark.parametrize("width", WIDTHS)
def test_batched_or_row_by_row(kernels, dtype, width):
    x, gamma, beta = case(width, dtype)
    y = kernels.layer_norm(x, gamma, beta)
    for count in (1, 2, 3, 5):
        parts = [kernels.layer_norm(x[i : i + count], gamma, beta) for i in range(0, len(x), count)]
        assert_same(np.concatenate(parts), y)
    assert_same(kernels.layer_norm(x[4], gamma, beta), y[4])
    assert_same(kernels.layer_norm(x[None, :, None], gamma, beta), y[None, :, None])


@pytest.mark.parametrize("width", WIDTHS)
def test_the_order_of_rows_changes_nothing(kernels, dtype, width):
    x, gamma, beta = case(width, dtype, 40)
    order = np.random.default_rng(0).permutation(40)
    assert_same(kernels.layer_norm(x[order], gamma, beta), kernels.layer_norm(x, gamma, beta)[order])
    assert_same(kernels.rms_norm(x[order], gamma), kernels.rms_norm(x, gamma)[order])


@pytest.mark.parametrize("width", WIDTHS)
def test_alignment(kernels, dtype, width):
    x, gamma, beta = case(width, dtype)
    y = kernels.layer_norm(x, gamma, beta)
    size = dtype.itemsize
    for at_x, at_y, at_gamma in product([0, size, 3 * size, 32], [0, size, 5 * size, 16], [0, size]):
        out = misaligned(np.zeros_like(x), at_y)
        made = kernels.layer_norm(misaligned(x, at_x), misaligned(gamma, at_gamma), misaligned(beta, size), out=out)
        assert made is out
        assert_same(out, y)


@pytest.mark.parametrize("offset", [1, 2, 3])
def test_memory_that_is_no_multiple_of_an_element(kernels, dtype, offset):
    x, gamma, beta = case(37, dtype)
    y = kernels.layer_norm(x, gamma, beta)
    out = misaligned(np.zeros_like(x), offset)
    kernels.layer_norm(misaligned(x, offset), misaligned(gamma, offset), misaligned(beta, offset), out=out)
    assert_same(out.copy(), y)


@pytest.mark.parametrize("width", WIDTHS)
def test_layout(kernels, dtype, width):
    x, gamma, beta = case(width, dtype, 12)
    y = kernels.layer_norm(x, gamma, beta)
    strided = np.zeros((12, width + 5), dtype)[:, 2 : width + 2]
    strided[...] = x
    every_other = np.zeros((12, 2 * width), dtype)[:, ::2]
    every_other[...] = x
    backwards = x[::-1, ::-1].copy()[::-1, ::-1]
    fortran = np.asfortranarray(x)
    for given in (strided, every_other, backwards, fortran):
        assert_same(kernels.layer_norm(given, gamma, beta), y)
        out = np.zeros_like(given)
        out_strided = np.zeros((12, width + 3), dtype)[:, 1 : width + 1]
        for target in (out, out_strided, every_other.copy(order="F"), backwards.copy()[::-1]):
            assert kernels.layer_norm(given, gamma, beta, out=target) is target
            assert_same(target, y)


def test_layouts_of_more_axes(kernels, dtype):
    x, gamma, beta = case(24, dtype, 30)
    y = kernels.layer_norm(x, gamma, beta).reshape(5, 3, 2, 24)
    x = x.reshape(5, 3, 2, 24)
    for order in ((1, 0, 2, 3), (2, 1, 0, 3), (3, 2, 1, 0), (0, 3, 1, 2)):
        back = np.argsort(order)
        given = np.ascontiguousarray(x.transpose(order)).transpose(back)
        assert_same(kernels.layer_norm(given, gamma, beta), y)
        out = np.ascontiguousarray(np.zeros_like(x).transpose(order)).transpose(back)
        kernels.layer_norm(x, gamma, beta, out=out)
        assert_same(out, y)
    assert_same(kernels.layer_norm(x[::2, ::-1], gamma, beta), y[::2, ::-1])
    wide = np.broadcast_to(x[:, :1], x.shape)
    assert_same(kernels.layer_norm(wide, gamma, beta), np.broadcast_to(y[:, :1], y.shape))


def test_parameters_of_any_layout(kernels, dtype):
    x, gamma, beta = case(31, dtype)
    y = kernels.layer_norm(x, gamma, beta)
    spread = np.zeros((31, 2), dtype)
    spread[:, 0], spread[:, 1] = gamma, beta[::-1]
    assert_same(kernels.layer_norm(x, spread[:, 0], spread[::-1, 1]), y)


@pytest.mark.parametrize("width", [1, 3, 40, 768, 5000])
def test_threads(kernels, dtype, width):
    x, gamma, beta = case(width, dtype, 80000 // width)
    y = kernels.layer_norm(x, gamma, beta, threads=1)
    for threads in (2, 3, 4, 7, None):
        assert_same(kernels.layer_norm(x, gamma, beta, threads=threads), y)
    assert_same(kernels.rms_norm(x, gamma, threads=3), kernels.rms_norm(x, gamma, threads=1))


@pytest.mark.parametrize("width", WIDTHS)
def test_in_place(kernels, dtype, width):
    x, gamma, beta = case(width, dtype, 50)
    y = kernels.layer_norm(x, gamma, beta)
    z = kernels.rms_norm(x, gamma)
    for make in (np.copy, np.asfortranarray, lambda x: np.repeat(x, 2, axis=-1)[:, ::2]):
        same = make(x).copy(order="K")
        assert kernels.layer_norm(same, gamma, beta, out=same) is same
        assert_same(same, y)
    assert_same(kernels.rms_norm(x, gamma, out=x), z)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("shift", [-40, -1, 1, 2, 40])
def test_an_output_that_overlaps_x_elsewhere(kernels, dtype, shift, threads):
    """Rows of one buffer, the output some rows or some cells off."""
    x, gamma, beta = case(48, dtype, 5000 if shift > 2 else 60)
    y = kernels.layer_norm(x, gamma, beta)
    for unit in (1, 48):
        room = np.zeros(x.size + 2 * 48 * 48, dtype)
        source = room[48 * 48 : 48 * 48 + x.size].reshape(x.shape)
        target = room[48 * 48 + shift * unit :][: x.size].reshape(x.shape)
        source[...] = x
        kernels.layer_norm(source, gamma, beta, out=target, threads=threads)
        assert_same(target, y)


def test_an_output_that_is_x_turned_round(kernels, dtype):
    x, gamma, beta = case(20, dtype, 20)
    y = kernels.layer_norm(x, gamma, beta)
    for turn in (lambda x: x.T, lambda x: x[::-1], lambda x: x[:, ::-1]):
        room = x.copy()
        kernels.layer_norm(room, gamma, beta, out=turn(room))
        assert_same(turn(room), y)


def test_an_output_over_gamma_or_beta(kernels):
    x, gamma, beta = case(64, FLOAT32, 1)
    y = kernels.layer_norm(x, gamma, beta)
    for place in (0, 1):
        given = [gamma.copy(), beta.copy()]
        kernels.layer_norm(x, *given, out=given[place].reshape(1, 64))
        assert_same(given[place].reshape(1, 64), y)


def test_gamma_over_many_rows_of_the_output(kernels):
    """The output holds gamma in its third row: it must be read before that row is written."""
    x, gamma, beta = case(16, FLOAT32, 9)
    y = kernels.layer_norm(x, gamma, beta)
    room = np.zeros_like(x)
    room[2] = gamma
    kernels.layer_norm(x, room[2], beta, out=room)
    assert_same(room, y)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_sum_and_the_norm_of_the_rounded_sum(kernels, dtype, width):
    x, gamma, beta = case(width, dtype, 23)
    residual = case(width, dtype, 23, mean=-1.5)[0][::-1]
    total = (x.astype(np.float64) + residual.astype(np.float64)).astype(np.float32).astype(dtype)
    if dtype.itemsize == 8:
        total = x + residual
    for threads in (1, 2):
        y, made = kernels.add_layer_norm(x, residual, gamma, beta, threads=threads)
        assert_same(made, total)
        assert_same(y, kernels.layer_norm(total, gamma, beta))
        y, made = kernels.add_rms_norm(x, residual, gamma, threads=threads)
        assert_same(made, total)
        assert_same(y, kernels.rms_norm(total, gamma))


def test_the_sum_in_place(kernels, dtype):
    x, gamma, beta = case(100, dtype, 21)
    residual = case(100, dtype, 21, mean=-4.0)[0][::-1].copy()
    y, total = kernels.add_layer_norm(x, residual, gamma, beta)
    own, stream = x.copy(), residual.copy()
    made = kernels.add_layer_norm(own, stream, gamma, beta, out=own, sum_out=stream)
    assert made[0] is own and made[1] is stream
    assert_same(own, y)
    assert_same(stream, total)
    own, stream = x.copy(), residual.copy()
    kernels.add_layer_norm(own, stream, gamma, beta, out=stream, sum_out=own)
    assert_same(stream, y)
    assert_same(own, total)
