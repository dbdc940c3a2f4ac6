"""What is seen before any search: two answers to one input, stubs, and gradients that never arrive."""

import warnings

import numpy as np
import pytest

import normscope as ns
from normscope.diagnosis.first_look import BITS
from normscope.diagnosis.judge import judge
from tests.diagnosis.asking import Local
from tests.diagnosis.rights import two_pass

LAYER = ns.layer_norm()


def layer_norm(x, gamma, beta, eps):
    return two_pass(x, gamma, beta, eps)


def gradients(dy, x, gamma, eps):
    c = x - x.mean(-1, keepdims=True)
    r = 1 / np.sqrt((c * c).mean(-1, keepdims=True) + eps)
    h, g = c * r, dy * gamma
    dx = r * (g - g.mean(-1, keepdims=True) - h * (g * h).mean(-1, keepdims=True))
    lead = tuple(range(x.ndim - 1))
    return dx, (dy * h).sum(lead), dy.sum(lead)


def noisy(size):
    rng = np.random.default_rng()
    return lambda x, gamma, beta, eps: layer_norm(x, gamma, beta, eps) * (1 + size * rng.normal(size=x.shape))


def dropping():
    rng = np.random.default_rng()
    return lambda x, gamma, beta, eps: layer_norm(x, gamma, beta, eps) * (rng.random(x.shape) > 0.1) / 0.9


def counting():
    calls = []

    def counts(x, gamma, beta, eps):
        calls.append(1)
        return layer_norm(x, gamma, beta, eps) + 1e-3 * len(calls)

    return counts


def of_the_call_before():
    kept = {}

    def remembers(x, gamma, beta, eps):
        mean = x.mean(-1, keepdims=True)
        old = kept.get("mean", mean)
        kept["mean"] = mean
        return (x - (old if old.shape == mean.shape else mean)) / np.sqrt(x.var(-1, keepdims=True) + eps) * gamma + beta

    return remembers


@pytest.mark.parametrize(
    "function", [noisy(1e-3), dropping(), counting(), of_the_call_before()], ids=["noise", "dropout", "count", "before"]
)
def test_two_answers_to_one_input_are_the_whole_finding(function):
    verdict = judge(Local(function), LAYER)
    (finding,) = verdict.findings
    assert (verdict.verdict, finding.id) == ("mistake", "not-deterministic")
    assert finding.input["got first"] != finding.input["got second"]
    assert "called twice with the same x" in finding.evidence


def test_other_last_bits_are_a_note():
    verdict = judge(Local(noisy(1e-12)), LAYER, dtype="float32")
    assert (verdict.verdict, BITS in verdict.notes) == ("correct", True)
    assert BITS not in judge(Local(layer_norm), LAYER).notes


def test_a_nondeterministic_function_has_no_backward_judged():
    asked = Local(lambda dy, x, gamma, eps: x * 0, ("dx",))
    assert judge(Local(noisy(1e-3)), LAYER, backward=asked).ids == ("not-deterministic",)


STUBS = {
    "constant-output": [lambda x, gamma, beta, eps: x * 0, lambda x, gamma, beta, eps: x * 0 + beta,
                        lambda x: np.arange(x.size).reshape(x.shape) * 1.0],
    "nan-output": [lambda x, gamma, beta, eps: x * np.nan],
    "returns-x": [lambda x, gamma, beta, eps: x, lambda x: x.copy()],
}  # fmt: skip


@pytest.mark.parametrize(("id", "function"), [(id, each) for id, several in STUBS.items() for each in several])
def test_a_stub_is_the_whole_finding(id, function):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        verdict = judge(Local(function), LAYER)
    assert verdict.ids == (id,)
    assert {"x", "expected", "got"} <= verdict.findings[0].input.keys()


def test_what_a_constant_is_made_of_is_said():
    said = [judge(Local(each), LAYER).findings[0].evidence for each in STUBS["constant-output"]]
    assert [each.partition(" on all")[0] for each in said] == [
        "y is 0 in every cell", "y is beta", "y is one array for each shape"
    ]  # fmt: skip


def test_a_wrong_function_of_x_is_no_stub():
    assert judge(Local(lambda x, gamma, beta, eps: x * gamma + beta), LAYER).ids != ("constant-output",)
    assert judge(Local(lambda x, gamma, beta, eps: x + 1), LAYER).ids[0] not in STUBS


def test_all_nan_says_nothing_to_stderr(recwarn):
    judge(Local(lambda x, gamma, beta, eps: np.where(x > 0, np.nan, np.nan)), LAYER)
    judge(Local(lambda x, gamma, beta, eps: np.where(gamma > 9, x, np.nan)), LAYER)
    assert [str(each.message) for each in recwarn] == []


BACK = {
    "constant-output": lambda dy, x, gamma, eps: dy * 0,
    "nan-output": lambda dy, x, gamma, eps: dy * np.nan,
    "returns-dy": lambda dy, x, gamma, eps: dy,
    "not-deterministic": lambda dy, x, gamma, eps: gradients(dy, x, gamma, eps)[0] * np.random.default_rng().random(),
}


@pytest.mark.parametrize("id", BACK)
def test_a_backward_has_the_same_first_look(id):
    assert judge(None, LAYER, backward=Local(BACK[id], ("dx",))).ids == (id,)


def missing(*names):
    asked = Local(gradients, ("dx", "dgamma", "dbeta"))
    asked.missing = names
    return judge(None, LAYER, backward=asked)


def test_a_gradient_that_never_arrives_is_a_mistake():
    assert missing().verdict == "correct"
    verdict = missing("dgamma")
    assert (verdict.verdict, verdict.ids) == ("mistake", ("missing-dgamma",))
    assert len(verdict.findings[0].input["expected dgamma"]) == 2
    assert missing("dx", "dbeta").ids == ("missing-dx", "missing-dbeta")
