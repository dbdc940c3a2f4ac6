"""What ordinary probes leave unseen, and what is said of it."""

import numpy as np
import pytest

import normscope as ns
from normscope.diagnosis.judge import judge
from tests.diagnosis.asking import Local


def norm(x, gamma, beta, eps, ddof=0):
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True, ddof=ddof)
    return (x - mean) / np.sqrt(var + eps) * gamma + beta


def half(values):
    return values.astype(np.float16).astype(values.dtype)


def bf16(values):
    bits = np.asarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)).view(np.float32).astype(values.dtype)


def gamma_in_half(x, gamma, beta, eps):
    return norm(x, half(gamma), beta, eps)


def beta_in_bf16(x, gamma, beta, eps):
    return norm(x, gamma, bf16(beta), eps)


def affine_in_bf16(x, gamma, beta, eps):
    return norm(x, bf16(gamma), bf16(beta), eps)


def y_in_bf16(x, gamma, beta, eps):
    return bf16(norm(x, gamma, beta, eps))


def eps_in_half(x, gamma, beta, eps):
    return norm(x, gamma, beta, np.float64(np.float16(eps)))


def half_inside(x, gamma, beta, eps):
    short = x.astype(np.float16)
    c = short - short.mean(-1, keepdims=True)
    xhat = c / np.sqrt((c * c).mean(-1, keepdims=True) + np.float16(eps))
    return xhat.astype(x.dtype) * gamma + beta


def xhat_cut(x, gamma, beta, eps):
    return np.clip(norm(x, 1, 0, eps), -3, 3) * gamma + beta


def xhat_cut_low(x, gamma, beta, eps):
    return np.clip(norm(x, 1, 0, eps), -2, 2) * gamma + beta


def y_cut(x, gamma, beta, eps):
    return np.clip(norm(x, gamma, beta, eps), -10, 10)


def relu6(x, gamma, beta, eps):
    return np.minimum(norm(x, gamma, beta, eps), 6)


def rows_as_they_are(x, gamma, beta, eps):
    flat = x.reshape(-1, x.shape[-1])
    y = flat.copy()
    y[:64] = norm(flat[:64], gamma, beta, eps)
    return y.reshape(x.shape)


def rows_share(x, gamma, beta, eps):
    flat = x.reshape(-1, x.shape[-1])
    mean, var = flat.mean(-1, keepdims=True), flat.var(-1, keepdims=True)
    var[16:] = var[:1]
    return ((flat - mean) / np.sqrt(var + eps) * gamma + beta).reshape(x.shape)


def lost_in_copy(x, gamma, beta, eps):
    y = np.zeros_like(x)
    rows, flat = y.reshape(-1, x.shape[-1]), x.reshape(-1, x.shape[-1])
    rows[...] = norm(flat, gamma, beta, eps)
    return y


def lost_cells(x, gamma, beta, eps):
    y = np.zeros_like(x)
    y.reshape(-1)[:] = norm(x, gamma, beta, eps).ravel()
    return y


def variance_twice(x, gamma, beta, eps):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(2 * x.var(-1, keepdims=True) + eps) * gamma + beta


def own_variance_of_all(x, gamma, beta, eps):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var() + eps) * gamma + beta


def mean_of_columns(x, gamma, beta, eps):
    mean = x.mean(tuple(range(x.ndim - 1)), keepdims=True)
    return (x - mean) / np.sqrt(x.var(-1, keepdims=True) + eps) * gamma + beta


def residual(x, gamma, beta, eps):
    return x + norm(x, gamma, beta, eps)


def no_tail(x, gamma, beta, eps):
    whole = x[..., : x.shape[-1] // 4 * 4]
    mean, var = whole.mean(-1, keepdims=True), whole.var(-1, keepdims=True)
    return (x - mean) / np.sqrt(var + eps) * gamma + beta


def guarded(x, gamma, beta, eps):
    std = x.std(-1, keepdims=True)
    return (x - x.mean(-1, keepdims=True)) / np.where(std == 0, 1, std) * gamma + beta


def beta_alone(x, gamma, beta, eps):
    return np.zeros_like(x) + beta


def own_eps(x, gamma, beta):
    return norm(x, gamma, beta, 1e-3)


def own_tiny_eps(x, gamma, beta):
    return norm(x, gamma, beta, 1e-12)


def own_eps_outside(x, gamma, beta):
    return (x - x.mean(-1, keepdims=True)) / (x.std(-1, keepdims=True, ddof=1) + 1e-6) * gamma + beta


def one_pass(x, ddof):
    n, mean = x.shape[-1], x.mean(-1, keepdims=True)
    return mean, ((x * x).mean(-1, keepdims=True) - mean * mean) * n / (n - ddof)


def one_pass_of_rest(x, gamma, beta, eps):
    mean, var = one_pass(x, 1)
    return (x - mean) / np.sqrt(var + eps) * gamma + beta


def one_pass_outside(x, gamma, beta, eps):
    mean, var = one_pass(x, 0)
    return (x - mean) / (np.sqrt(var) + eps) * gamma + beta


NAMED = {
    gamma_in_half: {"gamma-in-half"},
    beta_in_bf16: {"beta-in-bf16"},
    affine_in_bf16: {"affine-in-bf16"},
    y_in_bf16: {"y-in-bf16"},
    eps_in_half: {"eps-in-half"},
    half_inside: {"everything-in-half"},
    xhat_cut: {"xhat-clipped"},
    xhat_cut_low: {"xhat-clipped"},
    y_cut: {"output-clipped"},
    relu6: {"output-clipped"},
    rows_as_they_are: {"rows-beyond-block"},
    rows_share: {"rows-beyond-block"},
    lost_in_copy: {"wrong-on-permuted-view"},
    lost_cells: {"wrong-for-strided"},
    variance_twice: {"variance-scaled"},
    own_variance_of_all: {"variance-over-wrong-axes"},
    mean_of_columns: {"mean-over-wrong-axes"},
    residual: {"residual-added"},
    no_tail: {"tail-ignored"},
    guarded: {"eps-missing"},
    beta_alone: {"constant-output"},
    own_eps: {"eps-fixed"},
    own_tiny_eps: {"eps-fixed"},
    own_eps_outside: {"correction-1", "eps-outside-root", "eps-fixed"},
    one_pass_of_rest: {"correction-1", "one-pass-variance"},
    one_pass_outside: {"eps-outside-root", "one-pass-variance"},
}


WITHOUT_FORMULA = {"constant-output", "wrong-for-strided"}  # what is computed is not claimed


@pytest.mark.parametrize("function", NAMED, ids=lambda function: function.__name__)
def test_what_is_seen_on_few_inputs_alone_is_named(function):
    made = judge(Local(function), ns.layer_norm())
    assert (made.verdict, set(made.ids)) == ("mistake", NAMED[function]), made
    assert all(finding.evidence and finding.fix and finding.input for finding in made.findings)
    assert all(finding.formula for finding in made.findings if finding.id not in WITHOUT_FORMULA)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (xhat_cut, "-3 and 3"),
        (xhat_cut_low, "-2 and 2"),
        (y_cut, "-10 and 10"),
        (relu6, "above 6"),
        (rows_as_they_are, "first 64 rows"),
        (rows_share, "first 16 rows"),
        (own_eps, "eps = 0.001"),
        (own_tiny_eps, "eps = 1e-12"),
        (variance_twice, "counts 2 times"),
    ],
)
def test_the_number_is_solved_for(function, text):
    assert text in judge(Local(function), ns.layer_norm()).findings[0].name


def weights_in_float32(x, gamma, beta, eps):
    return norm(x, gamma.astype(np.float32), beta.astype(np.float32), eps)


def test_weights_held_in_float32_are_a_note():
    made = judge(Local(weights_in_float32), ns.layer_norm())
    assert made.verdict == "correct"
    assert any("rounded to float32" in note for note in made.notes)


def only_in_one_piece(x, gamma, beta, eps):
    if x.ndim > 2 and not x.flags.c_contiguous:
        raise ValueError("view size is not compatible")
    return norm(x, gamma, beta, eps)


def test_a_call_that_fails_on_a_permuted_view_is_a_note():
    made = judge(Local(only_in_one_piece), ns.layer_norm())
    assert made.verdict == "correct"
    assert any("permuted view" in note for note in made.notes)


def odd_widths_fail(x, gamma, beta, eps):
    if x.shape[-1] % 2:
        raise ValueError("odd")
    return norm(x, gamma, beta, eps)


def test_what_fails_at_ordinary_size_is_no_range_limit():
    made = judge(Local(odd_widths_fail), ns.layer_norm())
    assert made.ids == ("raises",)
    assert not any("range limit" in note for note in made.notes)


def last_untouched(x, gamma, beta, eps):
    y = norm(x, gamma, beta, eps)
    y[..., -1] = x[..., -1]
    return y


def first_row_untouched(x, gamma, beta, eps):
    flat = x.reshape(-1, x.shape[-1])
    y = flat.copy()
    y[1:] = norm(flat[1:], gamma, beta, eps)
    return y.reshape(x.shape)


def sine_of_many(x, gamma, beta, eps):
    xhat = norm(x, 1, 0, eps)
    return np.where(abs(xhat) > 1, np.sin(xhat), xhat) * gamma + beta


def odd_widths(x, gamma, beta, eps):
    return norm(x, gamma, beta, eps, x.shape[-1] % 2)


def cube_root(x, gamma, beta, eps):
    return (x - x.mean(-1, keepdims=True)) / np.cbrt(x.var(-1, keepdims=True) + eps) * gamma + beta


def small_eps_lost(x, gamma, beta, eps):
    return norm(x, gamma, beta, eps if eps > 1e-4 else 3 * eps + 1e-3)


@pytest.mark.parametrize(
    ("function", "texts"),
    [
        (last_untouched, ("only these are wrong: the last cell of every row", "do not reach 4 of 24 cells")),
        (first_row_untouched, ("only these are wrong: the cells of the first row", "do not reach 6 of 24 cells")),
        (sine_of_many, ("only these are wrong: cells whose |xhat| is 1 or more",)),
        (odd_widths, ("rows of 6, 130, 1030 cells are right, those of 5, 7, 37 are wrong",)),
        (cube_root, ("with eps = 0.5 it is", "with eps = 32 it is")),
        (small_eps_lost, ("probes with eps = 2.27374e-13, 7.62939e-06 are wrong, whatever the rows",)),
    ],
)
def test_an_unknown_mistake_is_localised(function, texts):
    made = judge(Local(function), ns.layer_norm())
    assert made.ids == ("unrecognised",), made
    assert all(text in made.findings[0].evidence for text in texts), made


def second_axis(x, gamma, beta, eps):
    return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + eps) * gamma + beta


def test_the_ranks_at_which_wrong_axes_are_right_are_said():
    finding = judge(Local(second_axis), ns.layer_norm()).findings[0]
    assert finding.id == "wrong-axes"
    assert "on x of 2 dimensions it is right" in finding.evidence


def groups_swap_parameters(x, num_groups, gamma, beta, eps):
    rows = x.reshape(x.shape[0], num_groups, -1)
    shape = (1, -1) + (1,) * (x.ndim - 2)
    return norm(rows, 1, 0, eps).reshape(x.shape) * beta.reshape(shape) + gamma.reshape(shape)


def running(x, gamma, beta, running_mean, running_var, momentum, eps):
    mean, var = x.mean(0), x.var(0)
    old = 1 - momentum
    y = (x - mean) / np.sqrt(var + eps) * gamma + beta
    many = len(x) / (len(x) - 1)
    return y, old * running_mean + momentum * mean, old * running_var + momentum * (var + eps) * many


def wide_rows(x, gamma, beta, eps):
    return norm(x, gamma, beta, eps if x.shape[-1] < 64 else eps / 2)


@pytest.mark.parametrize(
    ("function", "kind", "cells"),
    [
        (groups_swap_parameters, ns.group_norm(2), 4),
        (running, ns.batch_norm(), 4),
        (wide_rows, ns.layer_norm(), 64),
        (xhat_cut_low, ns.layer_norm(), 8),
    ],
)
def test_the_input_is_the_smallest(function, kind, cells):
    made = judge(Local(function, ("y", "running_mean", "running_var")), kind)
    assert np.size(made.findings[0].input["x"]) <= cells, made


def test_a_function_without_eps_is_shown_with_the_norms_own():
    finding = judge(Local(own_eps), ns.layer_norm()).findings[0]
    given = {name: np.array(finding.input[name]) for name in ("x", "gamma", "beta", "expected")}
    there = norm(given["x"], given["gamma"], given["beta"], 1e-5)
    assert "eps" not in finding.input
    assert np.allclose(given["expected"], there, rtol=1e-4)


def test_running_variance_with_eps_before_the_correction():
    made = judge(Local(running, ("y", "running_mean", "running_var")), ns.batch_norm())
    assert made.ids == ("running-variance-includes-eps",)
