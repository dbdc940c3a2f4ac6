"""Formulas are what was computed: each is read by Python's own arithmetic and gives the definition's numbers."""

import re
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import normscope as ns
from normscope.diagnosis import changes
from normscope.diagnosis.definition import evaluate, right
from normscope.diagnosis.formula import formula
from normscope.diagnosis.judge import judge
from normscope.diagnosis.probes import Probe
from tests.diagnosis.asking import Local
from tests.diagnosis.test_running import BATCH, WRONG, training

READ = (
    (r"mean\(", "mean_of("),
    (r"sum\(", "sum_of("),
    (r"max\|([^|]*)\|", r"max_of(abs(\1))"),
    (r"\|([^|]*)\|", r"abs(\1)"),
    (r"max\(", "np.maximum("),
    (r"sqrt\(", "np.sqrt("),
    (r"_\{n-1\}", "_less"),
    (r"\^", "**"),
    (r"\(min \+ max\)/2", "(low + high)/2"),
    (r"max - min", "high - low"),
    (r"- min\b", "- low"),
)
X = np.array([[1.0, 2.5, -3.0, 4.25], [0.5, 0.25, 2.0, -1.0], [3.0, 1.0, 1.5, 8.0]])
GIVEN = Probe(X, np.array([0.5, -1.25, 2.0, 0.75]), np.array([0.25, 1.0, -0.5, 2.0]), 0.375)


def read(text, **names):
    for pattern, put in READ:
        text = re.sub(pattern, put, text)
    return eval(text, {"np": np, "abs": np.abs, **names})


def over(function):
    return lambda cells: function(cells, axis=-1, keepdims=True)


NAMES = {
    "x": X, "mean": over(np.mean)(X), "var": over(np.var)(X), "var_less": np.var(X, -1, ddof=1, keepdims=True),
    "n": 4, "rows": 3, "eps": GIVEN.eps, "gamma": GIVEN.gamma, "beta": GIVEN.beta, "mean_of": over(np.mean),
    "sum_of": over(np.sum), "max_of": over(np.max), "low": over(np.min)(X), "high": over(np.max)(X),
    "median": over(np.median),
}  # fmt: skip


def altered(base):
    tables = [*changes.statistics_changes(base), *changes.division_changes(base), changes.solved_eps(2.5, -0.5)]
    single = [change.fields for change in tables if not {"twice", "before", "mean_over"} & change.key]
    single += [{"block": key} for key in ("median", "range", "midrange", "min-max")] if base.norm.center else []
    pairs = ({**one, **other} for one, other in product(single, single) if not one.keys() & other.keys())
    affine = [{"division": "xhat + eps", "scale": scale} for scale in ("1/gamma", "1", "1 + gamma", "gamma beta")]
    for fields in (*single, *pairs, *affine):
        made = replace(base, **fields)
        if not (made.block and (made.spread != "square" or made.count != "n")) and made.division[:3] not in (
            "x /",
            "c /",
        ):
            yield made


@pytest.mark.parametrize("norm", [ns.layer_norm(), ns.rms_norm()], ids=lambda norm: norm.name)
def test_a_formula_computes_what_it_stands_for(norm):
    base = right(norm.fit(2))
    made = list(altered(base))
    assert len(made) > 1000
    with np.errstate(all="ignore"):
        for each in made:
            assert np.allclose(read(formula(each), **NAMES), evaluate(each, GIVEN).y, equal_nan=True), formula(each)


def test_min_max_scaling_is_one_formula():
    made = replace(right(ns.layer_norm().fit(2)), block="min-max", division="sqrt(v) + eps")
    assert formula(made) == "(x - min) / (max - min + eps) * gamma + beta"


@pytest.mark.parametrize("id", WRONG)
def test_a_running_statistic_is_what_its_formula_says(id):
    (finding,) = judge(training(**WRONG[id]), BATCH).findings
    name, _, text = finding.formula.partition(" = ")
    given = {key: np.array(value) for key, value in finding.input.items()}
    x, n = given["x"], len(given["x"])
    names = {"var": x.var(0), "var_less": x.var(0, ddof=1), "std": x.std(0), "mean": x.mean(0), "m": 0.25, "n": n}
    names |= {"running_mean": given["running_mean"], "running_var": given["running_var"]}
    names["mean_of"] = lambda cells: cells.mean(0)
    assert np.allclose(read(text, x=x, **names), given[f"got {name}"], rtol=1e-4), finding.formula


@pytest.mark.parametrize(
    "change, text",
    [
        (lambda dy, xhat, x, gamma: ((dy * xhat).mean(0), dy.sum(0)), "dgamma = mean(dy * xhat)"),
        (lambda dy, xhat, x, gamma: ((dy * x).sum(0), dy.sum(0)), "dgamma = sum(dy * x)"),
        (lambda dy, xhat, x, gamma: ((dy * xhat).sum(0), (dy * gamma).sum(0)), "dbeta = sum(dy * gamma)"),
        (lambda dy, xhat, x, gamma: ((dy * xhat).sum(0), -dy.sum(0)), "dbeta = -sum(dy)"),
    ],
)
def test_a_parameters_gradient_has_its_own_formula(change, text):
    def backward(dy, x, gamma, eps):
        c = x - x.mean(-1, keepdims=True)
        r = 1 / np.sqrt((c * c).mean(-1, keepdims=True) + eps)
        xhat, g = c * r, dy * gamma
        dx = r * (g - g.mean(-1, keepdims=True) - xhat * (g * xhat).mean(-1, keepdims=True))
        flat = [each.reshape(-1, x.shape[-1]) for each in (dy, xhat, x)]
        return dx, *change(*flat, gamma)

    (finding,) = judge(None, ns.layer_norm(), backward=Local(backward, ("dx", "dgamma", "dbeta"))).findings
    assert finding.formula == text


def test_infinity_is_no_measure():
    def layer_norm(x, gamma, beta):
        return (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True) * gamma + beta

    def without_eps(x, gamma, beta, eps):
        return layer_norm(x, gamma, beta)

    (finding,) = judge(Local(without_eps), ns.layer_norm()).findings
    assert "e+308" not in finding.evidence and "inf" not in finding.evidence
    assert "is not finite where the norm is on 1 of 15 probes" in finding.evidence
