"""Norms recognised by calling them: written here in plain NumPy, right and wrong."""

from fractions import Fraction

import numpy as np
import pytest

from normscope.models.black_box import Box, seen

D, C = (8,), (6,)
TOKENS, IMAGE = (3, 5, 8), (3, 6, 4, 5)


def mean(x):
    return x.mean(-1, keepdims=True)


def var(x):
    return mean((x - mean(x)) ** 2)


def layer_norm(x, w, b):
    return (x - mean(x)) / np.sqrt(var(x) + 1e-5) * w + b


def beta_first(x, b, w):
    return layer_norm(x, w, b)


def in_float32(x, w):
    x = x.astype(np.float32)
    return (x / np.sqrt(mean(x * x) + np.float32(1e-6))).astype(float) * (1 + w)


def tutorial(x, w, b):
    return (x - mean(x)) / (x.std(-1, keepdims=True, ddof=1) + 1e-6) * w + b


def floor(x):
    return (x - mean(x)) / np.sqrt(np.maximum(var(x), 1e-3))


def one_pass(x, w):
    return (x - mean(x)) / np.sqrt(mean(x * x) - mean(x) ** 2 + 1e-12) * w


def raw_square(x):
    return (x - mean(x)) / np.sqrt(mean(x * x) + 1e-5)


def machine(x, w):
    return x / np.sqrt(mean(x * x) + np.finfo(x.dtype).eps) * w


def group_norm(x, w, b):
    z = x.reshape(3, 2, -1)
    return layer_norm(z, 1, 0).reshape(x.shape) * w[:, None, None] + b[:, None, None]


def normalize(x, g):  # PyTorch's F.normalize, times the root of the width
    length = np.sqrt((x * x).sum(-1, keepdims=True))
    return x / np.maximum(length, 1e-12) * 64**0.5 * g


def guarded(x, w):
    length = np.sqrt(mean(x * x))
    return x / np.where(length == 0, 1, length) * w


def unguarded(x, w):
    with np.errstate(all="ignore"):
        return x / np.sqrt(mean(x * x)) * w


def no_root(x, w):
    return (x - mean(x)) / (var(x) + 1e-5) * w


def channels_first(x, w):
    return layer_norm(np.moveaxis(x, 1, -1), w, 0).transpose(0, 3, 1, 2)


def batch_norm(x, m, v, w, b):
    m, v, w, b = (each[:, None, None] for each in (m, v, w, b))
    return (x - m) / np.sqrt(v + 1e-3) * w + b


def box(function, shape, *params):
    names = function.__code__.co_varnames[1 : 1 + len(params)]
    return Box(
        lambda x, given: function(x, *(given[name] for name in names)), [shape], dict(zip(names, params, strict=True))
    )


@pytest.mark.parametrize(
    ("made", "pattern", "affine", "eps", "offset", "fault"),
    [
        (box(layer_norm, TOKENS, D, D), "a0 a1 [a2]", "a2", "1e-5", 0, ""),
        (box(in_float32, TOKENS, D), "a0 a1 [a2]", "a2", "1e-6", 1, ""),
        (box(tutorial, TOKENS, D, D), "a0 a1 [a2]", "a2", "1e-6", 0, "outside"),
        (box(floor, TOKENS), "a0 a1 [a2]", None, "1e-3", 0, "floor"),
        (box(normalize, (3, 5, 64), (64,)), "a0 a1 [a2]", "a2", "1.25e-13", 0, "root-floor"),
        (box(guarded, TOKENS, D), "a0 a1 [a2]", "a2", "0", 0, "unseen-floor"),
        (box(unguarded, TOKENS, D), "a0 a1 [a2]", "a2", "0", 0, ""),
        (box(no_root, TOKENS, D), "a0 a1 [a2]", "a2", "1e-5", 0, "no-root"),
        (box(raw_square, TOKENS), "a0 a1 [a2]", None, "1e-5", 0, "raw-square"),
        (box(machine, TOKENS, D), "a0 a1 [a2]", "a2", None, 0, ""),
        (box(one_pass, TOKENS, D), "a0 a1 [a2]", "a2", "1e-12", 0, ""),
        (box(group_norm, IMAGE, C, C), "a0 a1x0 [a1x1 a2 a3]", "a1x0 a1x1", "1e-5", 0, ""),
        (box(channels_first, IMAGE, C), "a0 [a1] a2 a3", "a1", "1e-5", 0, ""),
        (box(batch_norm, IMAGE, C, C, C, C), "[a0] a1 [a2 a3]", "a1", "1e-3", 0, ""),
    ],
    ids=[
        "layer",
        "float32",
        "tutorial",
        "floor",
        "normalize",
        "guarded",
        "unguarded",
        "no_root",
        "raw",
        "machine",
        "one_pass",
        "group",
        "channels",
        "batch",
    ],
)
def test_a_norm_is_what_it_computes(made, pattern, affine, eps, offset, fault):
    found = seen(made)
    norm = found.norm
    assert (norm.pattern, norm.affine, norm.offset, found.fault) == (pattern, affine, offset, fault)
    assert norm.eps == (None if eps is None else Fraction(eps))


def test_what_only_values_tell():
    assert seen(box(tutorial, TOKENS, D, D)).norm.correction == 1
    assert not seen(box(in_float32, TOKENS, D)).norm.center
    assert seen(box(layer_norm, TOKENS, D, D)).form == "two-pass"
    assert seen(box(one_pass, TOKENS, D)).form == "one-pass"
    assert seen(box(beta_first, TOKENS, D, D)).roles == {"gamma": "w", "beta": "b"}
    roles = {"gamma": "w", "beta": "b", "running_mean": "m", "running_var": "v"}
    assert seen(box(batch_norm, IMAGE, C, C, C, C)).roles == roles
    assert seen(box(batch_norm, IMAGE, C, C, C, C)).norm.running


def added_first(x, w, b):
    return (layer_norm(x, 1, 0) + b) * (1 + w)


def test_a_beta_that_is_added_before_gamma_multiplies():
    found = seen(box(added_first, TOKENS, D, D))
    assert (found.fault, found.norm.offset, found.roles) == ("beta-first", 1, {"gamma": "w", "beta": "b"})


def softmax(x):
    return np.exp(x) / np.exp(x).sum(-1, keepdims=True)


def shifted(x, w):
    return np.maximum(x, 0) * w


def matrix(x, w):
    return x @ w


def unit_length(x):
    return x / np.sqrt((x * x).sum(-1, keepdims=True) + 1e-6)


def raising(x):
    raise RuntimeError("no")


@pytest.mark.parametrize(
    "made",
    [box(softmax, TOKENS), box(shifted, TOKENS, D), box(matrix, TOKENS, (8, 8)), box(unit_length, TOKENS),
     box(raising, TOKENS)],
    ids=["softmax", "relu", "matrix", "length", "raises"],
)  # fmt: skip
def test_what_is_no_norm(made):
    assert seen(made) is None


def test_the_largest_rows_have_no_cell_that_happens_to_stay():
    def narrow(x, w):
        return layer_norm(x.astype(np.float32), w.astype(np.float32), np.float32(0)).astype(float)

    found = seen(box(narrow, (3, 5, 8192), (8192,)))
    assert found.norm.pattern == "a0 a1 [a2]"


def test_shapes_are_tried_until_one_is_taken():
    def picky(x, w):
        if x.ndim != 4:
            raise ValueError("four, please")
        return channels_first(x, w)

    made = Box(lambda x, given: picky(x, given["w"]), [TOKENS, IMAGE], {"w": C})
    assert seen(made).norm.pattern == "a0 [a1] a2 a3"
