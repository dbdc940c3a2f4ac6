"""The running statistics of a BatchNorm in training: momentum, divisor, what is stored."""

import numpy as np
import pytest

import normscope as ns
from normscope.diagnosis.judge import judge
from tests.diagnosis.asking import Local

BATCH = ns.batch_norm()


def training(keep=lambda m: 1 - m, take=lambda m: m, stored=lambda x: x.var(0, ddof=1), mean=lambda x: x.mean(0)):
    def batch_norm(x, running_mean, running_var, momentum, eps):
        y = (x - x.mean(0)) / np.sqrt(x.var(0) + eps)
        new_mean = keep(momentum) * running_mean + take(momentum) * mean(x)
        return y, new_mean, keep(momentum) * running_var + take(momentum) * stored(x)

    return Local(batch_norm, ("y", "running_mean", "running_var"))


WRONG = {
    "momentum-inverted": {"keep": lambda m: m, "take": lambda m: 1 - m},
    "momentum-fixed": {"keep": lambda m: 0.9, "take": lambda m: 0.1},
    "running-statistics-not-updated": {"keep": lambda m: 1.0, "take": lambda m: 0.0},
    "running-statistics-replaced": {"keep": lambda m: 0.0, "take": lambda m: 1.0},
    "running-statistics-not-decayed": {"keep": lambda m: 1.0},
    "running-variance-biased": {"stored": lambda x: x.var(0)},
    "running-std-stored": {"stored": lambda x: x.std(0)},
    "running-mean-square-stored": {"stored": lambda x: (x * x).mean(0)},
    "running-mean-summed": {"mean": lambda x: x.sum(0)},
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("id", WRONG)
def test_every_wrong_update_is_named(id, dtype):
    made = judge(training(**WRONG[id]), BATCH, dtype=dtype)
    assert made.ids == (id,), made


def test_momentum_and_divisor_are_two_findings():
    made = judge(training(**WRONG["momentum-inverted"], **WRONG["running-variance-biased"]), BATCH)
    assert set(made.ids) == {"momentum-inverted", "running-variance-biased"}


def test_the_right_update_is_correct():
    assert judge(training(), BATCH).verdict == "correct"


def test_statistics_from_the_wrong_place():
    def evaluation(x, gamma, beta, running_mean, running_var, eps):
        return (x - x.mean(0)) / np.sqrt(x.var(0) + eps) * gamma + beta

    def train(x, gamma, beta, running_mean, running_var, eps):
        return (x - running_mean) / np.sqrt(running_var + eps) * gamma + beta

    assert "batch-statistics-in-evaluation" in judge(Local(evaluation), ns.batch_norm(training=False)).ids
    assert "running-statistics-in-training" in judge(Local(train), BATCH).ids
