"""Views: the order in which a buffer is read or written is claimed only where it gives the answers."""

import numpy as np
import pytest

import normscope as ns
from normscope.diagnosis.judge import judge
from tests.diagnosis.asking import Local


def layer_norm(x, gamma, beta, eps):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps) * gamma + beta


def flat(x, at_view):
    base = x
    while isinstance(base.base, np.ndarray):
        base = base.base
    start = (address(x) - address(base)) // x.itemsize
    cells = base.ravel(order="K")[start if at_view else 0 :]
    return cells[: x.size].reshape(x.shape)


def address(x):
    return x.__array_interface__["data"][0]


def from_the_buffers_start(x, gamma, beta, eps):
    return layer_norm(flat(x, False), gamma, beta, eps)


def from_the_views_start(x, gamma, beta, eps):
    return layer_norm(flat(x, True), gamma, beta, eps)


def into_the_buffer(x, gamma, beta, eps):
    y = np.empty_like(x)
    np.lib.stride_tricks.as_strided(y, (y.size,), (y.itemsize,))[:] = layer_norm(x, gamma, beta, eps).ravel()
    return y


def into_a_copy(x, gamma, beta, eps):
    y = np.zeros_like(x)
    y.reshape(-1)[:] = layer_norm(x, gamma, beta, eps).ravel()
    return y


FOUND = {
    from_the_buffers_start: ("ignores-offset-and-strides", "norm(buffer[:x.size].reshape(x.shape))"),
    from_the_views_start: ("ignores-offset-and-strides", "norm(buffer[offset:][:x.size].reshape(x.shape))"),
    into_the_buffer: ("ignores-strides-of-output", "norm(x), written in the order of x's buffer"),
    into_a_copy: ("wrong-for-strided", ""),
}


@pytest.mark.parametrize("function", FOUND)
def test_what_a_view_does_is_claimed_only_where_it_was_tried(function):
    (finding,) = judge(Local(function), ns.layer_norm()).findings
    assert (finding.id, finding.formula) == FOUND[function]
    assert ("gives every answer" in finding.evidence) == bool(finding.formula)


def test_where_nothing_was_written_zeros_are_seen():
    (finding,) = judge(Local(into_a_copy), ns.layer_norm()).findings
    assert "28 of 28 cells are wrong, 28 of them 0, as where nothing was written" in finding.evidence
    assert "as every second cell of a buffer it is right" in finding.evidence
    assert "strides" in finding.name and "buffer is read" not in finding.name
