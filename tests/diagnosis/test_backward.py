"""Gradients: each term that may be dropped or altered is named; the right ones are those of the textbook program."""

import numpy as np
import pytest

import normscope as ns
from normscope.diagnosis.definition import Definition, evaluate, right
from normscope.diagnosis.gradients_of import Gradient, evaluated, textbook
from normscope.diagnosis.judge import judge
from normscope.diagnosis.questions import Maker
from tests.diagnosis.asking import Local

LAYER = ns.layer_norm()


def gradient(
    mean=1.0,
    along=1.0,
    root=lambda v, eps: (v + eps) ** -0.5,
    over=-1,
    scale=True,
    after=False,
    less=0,
    gather="sum",
    gamma="xhat",
    beta="dy",
    recovered=False,
    total=False,
):
    def layer_norm_backward(dy, x, gamma_, beta_, eps):
        cells = x.astype(np.float64)
        n = x.shape[-1]
        c = cells - cells.mean(-1, keepdims=True)
        v = (c * c).mean(-1, keepdims=True)
        xhat = c / np.sqrt(v + eps)
        used = ((xhat * gamma_ + beta_) - beta_) / gamma_ if recovered else xhat
        g = dy * gamma_ if scale and not after else dy.astype(np.float64)
        average = lambda a: a.sum(over, keepdims=True) if total else a.mean(over, keepdims=True) * n / (n - less)  # noqa: E731
        dx = root(v, eps) * (g - mean * average(g) - along * used * average(g * used))
        rest = tuple(range(x.ndim - 1))
        collect = {"sum": np.sum, "mean": np.mean}[gather]
        of = {"xhat": used, "x": cells, "c": c, "y": xhat * gamma_ + beta_}[gamma]
        ones = {"dy": 1.0, "dy gamma": gamma_}[beta]
        return dx * gamma_ if after else dx, collect(dy * of, axis=rest), collect(dy * ones, axis=rest)

    def named(dy, x, gamma, beta, eps):
        return layer_norm_backward(dy, x, gamma, beta, eps)

    return Local(named, ("dx", "dgamma", "dbeta"))


WRONG = {
    "mean-term-missing": {"mean": 0.0},
    "xhat-term-missing": {"along": 0.0},
    "statistics-held-fixed": {"mean": 0.0, "along": 0.0},
    "xhat-term-added": {"along": -1.0},
    "gamma-missing-in-gradient": {"scale": False},
    "gamma-applied-after-means": {"after": True},
    "root-missing-in-gradient": {"root": lambda v, eps: 1.0},
    "root-squared-in-gradient": {"root": lambda v, eps: 1 / (v + eps)},
    "root-cubed-in-gradient": {"root": lambda v, eps: (v + eps) ** -1.5},
    "eps-missing-in-gradient": {"root": lambda v, eps: v**-0.5},
    "eps-outside-root-in-gradient": {"root": lambda v, eps: 1 / (v**0.5 + eps)},
    "gradient-sign-flipped": {"root": lambda v, eps: -((v + eps) ** -0.5)},
    "gradient-over-wrong-axes": {"over": 0},
    "gradient-correction-1": {"less": 1},
    "gradient-sum-not-mean": {"total": True},
    "xhat-from-output": {"recovered": True},
    "dgamma-of-x": {"gamma": "x"},
    "dgamma-of-c": {"gamma": "c"},
    "dgamma-of-y": {"gamma": "y"},
    "dbeta-of-dy-gamma": {"beta": "dy gamma"},
}


@pytest.mark.parametrize("id", WRONG)
def test_every_altered_term_is_named(id):
    made = judge(None, LAYER, backward=gradient(**WRONG[id]))
    assert made.ids == (id,), made
    assert made.findings[0].input and made.findings[0].formula


def test_mistakes_of_two_gradients_are_two_findings():
    made = judge(None, LAYER, backward=gradient(mean=0.0, gather="mean"))
    assert set(made.ids) == {"mean-term-missing", "dgamma-mean-not-sum", "dbeta-mean-not-sum"}


@pytest.mark.parametrize(
    ("field", "id"),
    [
        ({"division": "sqrt(v) + eps"}, "eps-outside-root"),
        ({"count": "n - 1"}, "correction-1"),
        ({"center": "neither"}, "rms-instead-of-layer-norm"),
    ],
)
def test_the_gradient_of_another_forward_pass_is_named(field, id):
    from dataclasses import replace

    def backward(dy, x, gamma, beta, eps):
        from normscope.diagnosis.probes import Probe

        norm = LAYER.fit(x.ndim)
        definition = replace(right(norm), **field)
        base = replace(textbook(norm, frozenset({"gamma"})), forward=definition)
        made = evaluated(base, Probe(x=x, gamma=gamma, beta=beta, eps=eps, dy=dy), definition)
        return made["dx"], made["dgamma"], made["dbeta"]

    made = judge(None, LAYER, backward=Local(backward, ("dx", "dgamma", "dbeta")))
    assert id in made.ids, made


@pytest.mark.parametrize(
    "norm",
    [LAYER, ns.rms_norm(), ns.batch_norm(), ns.group_norm(2), ns.batch_norm(training=False)],
    ids=lambda norm: norm.name,
)
def test_the_right_gradient_is_the_traces(norm):
    maker = Maker(norm, "float64", frozenset({"x", "gamma", "beta", "eps"}))
    probe = maker.core()[0]
    probe = probe.but(dy=maker.cells(probe.x.shape) + 0.125)
    fitted = norm.fit(probe.x.ndim)
    made = evaluated(textbook(fitted, frozenset({"gamma", "beta"})), probe, right(fitted))
    given = {"running_mean": probe.running_mean, "running_var": probe.running_var} if norm.running else {}
    from dataclasses import replace

    there = ns.trace(probe.x, replace(fitted, eps=probe.eps), probe.gamma, probe.beta, dy=probe.dy, **given).gradients
    for name, value in there.items():
        assert np.allclose(made[name], value, rtol=1e-12, atol=1e-12), name


def test_a_forward_and_a_backward_pass_are_judged_together():
    def forward(x, gamma, beta, eps):
        mean = x.mean(-1, keepdims=True)
        return (x - mean) / np.sqrt(x.var(-1, keepdims=True) + eps) * gamma

    made = judge(Local(forward), LAYER, backward=gradient(mean=0.0))
    assert made.ids == ("shift-missing", "mean-term-missing")


def test_an_unknown_gradient_says_what_a_right_one_sums_to():
    def backward(dy, x, gamma, eps):
        return np.tanh(dy * gamma)

    made = judge(None, LAYER, backward=Local(backward, ("dx",)))
    assert made.ids == ("unrecognised",) and "the sum of a row of dx" in made.findings[0].evidence


def test_gradients_and_definitions_start_right():
    norm = LAYER.fit(2)
    assert textbook(norm, frozenset({"gamma"})) == Gradient(norm, True, ("d",))
    assert right(norm) == Definition(norm, ("d",))
    assert evaluate(right(norm), Maker(LAYER, "float64", frozenset()).core()[0]).y.shape == (4, 6)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_gradient_that_takes_no_eps_is_judged_by_the_norms(dtype):
    function = gradient().function

    def layer_norm_backward(dy, x, gamma, beta):
        return function(dy, x, gamma, beta, 1e-5)

    made = judge(None, LAYER, backward=Local(layer_norm_backward, ("dx", "dgamma", "dbeta")), dtype=dtype)
    assert (made.verdict, made.findings) == ("correct", ()), made
