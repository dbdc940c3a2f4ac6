"""Calls without an answer as findings; what could not be given; on which sizes a function was tried."""

import numpy as np
import pytest

import normscope as ns
from normscope.diagnosis.failing import FIXES
from normscope.diagnosis.tried import tried
from tests.diagnosis.rights import two_pass

LAYER = ns.layer_norm()


def check(function, norm=LAYER):
    return ns.check(function, norm, isolate=False)


def writes(x, gamma):
    x -= x.mean(-1, keepdims=True)
    return x


def fails_on_threes(x, gamma, beta, eps):
    if x.shape[-1] >= 3:
        raise IndexError("3")
    return two_pass(x, gamma, beta, eps)


FAILING = {
    "modifies-input": (writes, [[0.0, 1.0]]),
    "returns-none": (lambda x: None, [[0.0, 1.0]]),
    "wrong-shape": (lambda x: x.mean(-1), [[0.0, 1.0]]),
    "wrong-dtype": (lambda x: x > 0, [[0.0, 1.0]]),
    "wrong-type": (lambda x: "y", [[0.0, 1.0]]),
    "raises": (fails_on_threes, [[0.0, 1.0, 4.0]]),
}


@pytest.mark.parametrize("kind", FAILING)
def test_a_failure_is_shown_on_the_fewest_cells_with_a_fix_of_its_own(kind):
    function, x = FAILING[kind]
    finding = check(function).findings[-1]
    assert (finding.id, finding.fix) == (kind, FIXES[kind])
    assert finding.input["x"] == x
    assert finding.evidence.startswith(f"called with x {np.shape(x)}")


def test_a_failure_that_no_small_input_shows_keeps_its_own():
    def fails_on_many(x, gamma, beta, eps):
        if x.shape[-1] > 6:
            raise ValueError("many")
        return two_pass(x, gamma, beta, eps)

    finding = check(fails_on_many).findings[-1]
    assert finding.id == "raises"
    assert len(finding.input["x"][0]) > 6


def test_every_failure_has_its_own_fix():
    assert len(set(FIXES.values())) == len(FIXES)
    assert {"timeout", "memory", "crash", "wrong-signature"} <= FIXES.keys()
    finding = check(lambda x, q, r, s, t, u: x).findings[0]
    assert (finding.id, finding.fix, finding.input) == ("wrong-signature", FIXES["wrong-signature"], {})


class Hidden:
    """Keeps its parameters in a dictionary."""

    def __init__(self, d):
        self.params = {"gamma": np.ones(d), "beta": np.zeros(d)}

    def forward(self, x):
        c = x - x.mean(-1, keepdims=True)
        r = 1 / np.sqrt(x.var(-1, keepdims=True, ddof=1) + 1e-5)
        return c * r * self.params["gamma"] + self.params["beta"]


def test_what_could_not_be_given_is_said_and_not_shown():
    verdict = check(Hidden)
    note = "gamma and beta could not be set: it was judged with its own, if any, as if 1 and 0."
    assert note in verdict.notes
    (finding,) = verdict.findings
    assert not {"gamma", "beta", "eps"} & finding.input.keys()
    assert finding.input["expected"] == [[-0.99998, 0.99998]]  # with the norm's own eps


def test_fewer_parameters_are_said():
    def scaled(x, gamma, eps):
        return two_pass(x, gamma, 0, eps)

    assert "It takes no beta, so it was judged without." in check(scaled).notes
    plain = check(lambda x, eps: two_pass(x, 1, 0, eps))
    assert "It takes no gamma and no beta, so it was judged without." in plain.notes
    assert plain.verdict == "correct"
    assert not any("takes no" in note for note in check(two_pass).notes)
    rms = check(lambda x, w, eps: x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * w, ns.rms_norm())
    assert not any("takes no" in note for note in rms.notes)


def test_the_sizes_that_were_tried_are_said_of_a_correct_function_alone():
    note = "Tried on x of 2 and 3 dimensions, with statistics over 5 to 1,030 cells."
    assert note in check(two_pass).notes
    assert not any("Tried on" in note for note in check(lambda x: x).notes)
    assert tried(LAYER, ()) == ()
    assert "of 2 to 4 dimensions, with statistics over 3 cells" in tried(LAYER, {(2, 3), (1, 1, 3), (1, 1, 1, 3)})[0]
    assert "statistics over 8 to 10 cells" in tried(ns.batch_norm(), {(8, 3), (2, 3, 5)})[0]
