"""A framework's backward of a wrong forward is the same mistake: judged by the gradients of what was found."""

import numpy as np
import pytest

import normscope as ns
from normscope.diagnosis.definition import right
from normscope.diagnosis.following import differences
from normscope.diagnosis.gradients_of import evaluated, textbook
from normscope.diagnosis.judge import judge
from normscope.diagnosis.questions import Maker
from tests.diagnosis.asking import Local

LAYER = ns.layer_norm()


def parts(x):
    c = x - x.mean(-1, keepdims=True)
    return c, np.sqrt((c * c).mean(-1, keepdims=True))


def eps_outside(x, gamma, beta, eps):
    c, std = parts(x)
    return c / (std + eps) * gamma + beta


def backward(at_zero, of_dgamma=1.0, less=0.0):
    """Of eps_outside, as a framework has it: what it takes for the root's gradient on a constant row."""

    def layer_norm(dy, x, gamma, eps):
        (c, std), g, n = parts(x), dy * gamma, x.shape[-1]
        with np.errstate(all="ignore"):
            slope = np.where(std > 0, 1 / std, at_zero)
            dc = g / (std + eps) - (g * c).sum(-1, keepdims=True) / (std + eps) ** 2 * slope * c / n
        rest = tuple(range(x.ndim - 1))
        dx = dc - (1 - less) * dc.mean(-1, keepdims=True)
        return dx, of_dgamma * (dy * c / (std + eps)).sum(rest), dy.sum(rest)

    return layer_norm


def autograd(function):
    made = Local(function, ("dx", "dgamma", "dbeta"))
    made.name += " through autograd"
    return made


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_one_wrong_forward_is_one_finding(dtype):
    made = judge(Local(eps_outside), LAYER, backward=autograd(backward(0.0)), dtype=dtype)
    assert (made.verdict, made.ids) == ("mistake", ("eps-outside-root",))
    assert any("gradients are those of what the forward pass computes" in note for note in made.notes)


def test_a_gradient_lost_on_a_constant_row_is_a_finding_of_its_own():
    made = judge(Local(eps_outside), LAYER, backward=autograd(backward(np.inf)))
    assert made.ids == ("eps-outside-root", "root-gradient-at-zero")


@pytest.mark.parametrize("wrong", [{"of_dgamma": 1.0001}, {"less": 1e-4}])
def test_a_backward_that_follows_no_forward_is_not_passed_over(wrong):
    made = judge(Local(eps_outside), LAYER, backward=autograd(backward(0.0, **wrong)))
    assert made.ids[0] == "eps-outside-root" and len(made.ids) > 1


def test_a_written_backward_is_judged_by_itself():
    alone = judge(None, LAYER, backward=Local(backward(0.0), ("dx", "dgamma", "dbeta")))
    assert alone.ids == ("eps-outside-root",)  # where the root's gradient is undefined, any number will do
    both = judge(Local(eps_outside), LAYER, backward=Local(backward(0.0), ("dx", "dgamma", "dbeta")))
    assert both.ids == ("eps-outside-root", "eps-outside-root")


def test_the_gradients_of_an_unknown_forward_are_not_judged():
    def odd(x, gamma, beta, eps):
        return np.tanh(eps_outside(x, gamma, beta, eps)) + x

    made = judge(Local(odd), LAYER, backward=autograd(backward(0.0)))
    assert made.ids == ("unrecognised",) and any("not judged" in note for note in made.notes)


@pytest.mark.parametrize("norm", [LAYER, ns.rms_norm(), ns.batch_norm(), ns.group_norm(2)], ids=lambda norm: norm.name)
def test_differences_are_the_textbooks_gradients(norm):
    maker = Maker(norm, "float64", frozenset({"x", "gamma", "beta", "eps", "dy"}))
    fitted = maker.fitted[0]
    at = maker.sizes(fitted, 6)
    probe = maker.probe(at, maker.rng.normal(size=at.shape), 0.5).but(dy=maker.rng.normal(size=at.shape))
    there = evaluated(textbook(fitted, frozenset({"gamma", "beta"})), probe, right(fitted))
    for name, leaf in (("dx", "x"), ("dgamma", "gamma"), ("dbeta", "beta")):
        if name in there:
            assert np.allclose(differences(right(fitted), probe, leaf), there[name], atol=1e-8), name


def test_exchanged_gradients_are_one_finding_whose_fix_is_the_order():
    def layer_norm(dy, x, gamma, eps):
        c, std = parts(x)
        r = 1 / np.sqrt(std * std + eps)
        xhat, g = c * r, dy * gamma
        dx = r * (g - g.mean(-1, keepdims=True) - xhat * (g * xhat).mean(-1, keepdims=True))
        rest = tuple(range(x.ndim - 1))
        return dx, dy.sum(rest), (dy * xhat).sum(rest)

    (finding,) = judge(None, LAYER, backward=Local(layer_norm, ("dx", "dgamma", "dbeta"))).findings
    assert (finding.id, finding.fix) == ("gradients-swapped", "return dx, dgamma, dbeta")
    assert {"expected dgamma", "got dgamma", "expected dbeta", "got dbeta"} <= finding.input.keys()


def test_bfloat16_keeps_the_plainest_explanation():
    ml_dtypes = pytest.importorskip("ml_dtypes")

    def layer_norm(x, gamma, beta, eps):
        def rounded(value):
            return np.asarray(value, ml_dtypes.bfloat16).astype(np.float32)

        x, gamma, beta = (each.astype(np.float32) for each in (x, gamma, beta))
        c = rounded(x - rounded(x.mean(-1, keepdims=True)))
        std = rounded(x.std(-1, keepdims=True))
        scaled = rounded(rounded(c / rounded(std + eps)) * gamma)
        return (scaled + beta).astype(ml_dtypes.bfloat16)

    made = judge(Local(layer_norm), LAYER, dtype="bfloat16")
    assert made.ids == ("eps-outside-root",) and "the same as" not in made.findings[0].evidence


TORCH = """
import torch
class LayerNorm(torch.nn.Module):
    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.weight, self.bias, self.eps = torch.nn.Parameter(torch.ones(d)), torch.nn.Parameter(torch.zeros(d)), eps
    def forward(self, x):
        std = x.std(-1, keepdim=True, unbiased=False)
        return (x - x.mean(-1, keepdim=True)) / (std + self.eps) * self.weight + self.bias
"""


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_pytorchs_autograd_of_a_wrong_module(dtype):
    pytest.importorskip("torch")
    scope = {}
    exec(TORCH, scope)
    assert ns.check(scope["LayerNorm"], LAYER, dtype=dtype, isolate=False).ids == ("eps-outside-root",)
