"""Norms that add 1 to gamma, as Gemma's: the right code is right, and the mistakes of ports have names."""

import numpy as np
import pytest

import normscope as ns
from normscope.errors import NormError

GEMMA = ns.rms_norm(eps=1e-6, offset=1)


def xhat(x, eps):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps)


def gemma(x, weight, eps=1e-6):
    return xhat(x, eps) * (1 + weight)


def forgotten(x, weight, eps=1e-6):
    return xhat(x, eps) * weight


def twice(x, weight, eps=1e-6):
    return xhat(x, eps) * (1 + (1 + weight))


def outside(x, weight, eps=1e-6):
    return x / (np.sqrt((x * x).mean(-1, keepdims=True)) + eps) * (1 + weight)


def unscaled(x, eps=1e-6):
    return xhat(x, eps)


def one_plus(x, weight, bias, eps=1e-5):
    c = x - x.mean(-1, keepdims=True)
    return c / np.sqrt((c * c).mean(-1, keepdims=True) + eps) * (weight + 1) + bias


def back(dy, x, weight, eps=1e-6):
    r, z = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + eps), xhat(x, eps)
    g = dy * (1 + weight)
    dgamma = (dy * z).reshape(-1, x.shape[-1]).sum(0)
    return r * (g - z * (g * z).mean(-1, keepdims=True)), dgamma


def back_without_one(dy, x, weight, eps=1e-6):
    return back(dy, x, weight - 1, eps)


@pytest.mark.parametrize("function, norm", [(gemma, GEMMA), (one_plus, ns.layer_norm(offset=1)), (unscaled, GEMMA)])
def test_code_that_adds_the_one_is_right(function, norm):
    assert ns.check(function, norm, isolate=False).verdict == "correct"


@pytest.mark.parametrize("function, ids", [(forgotten, ("offset-missing",)), (outside, ("eps-outside-root",))])
def test_a_mistake_has_its_name_and_no_other(function, ids):
    assert ns.check(function, GEMMA, isolate=False).ids == ids


def test_a_forgotten_one_says_what_to_write():
    (finding,) = ns.check(forgotten, GEMMA, isolate=False).findings
    assert finding.fix == "y = (1 + gamma) * xhat" and finding.formula.endswith("* gamma")
    plain = ns.check(gemma, ns.rms_norm(eps=1e-6), isolate=False)
    assert plain.ids == ("gamma-plus-one",) and plain.findings[0].fix == "y = gamma * xhat"


def test_a_one_too_many_is_no_right_code():
    assert ns.check(twice, GEMMA, isolate=False).verdict != "correct"


def test_the_gradients_go_through_the_factor():
    assert ns.check(gemma, GEMMA, backward=back, isolate=False).verdict == "correct"
    made = ns.check(gemma, GEMMA, backward=back_without_one, isolate=False)
    assert made.verdict != "correct" and all(finding.id != "offset-missing" for finding in made.findings)


def test_another_offset_is_refused():
    with pytest.raises(NormError) as error:
        ns.check(gemma, ns.rms_norm(offset=2))
    assert str(error.value) == "norm adds an offset of 2 to gamma; check knows norms that add 0 or 1."


def test_a_backward_that_is_right_for_a_wrong_forward_is_known_by_the_factor():
    def back_of_outside(dy, x, weight, eps=1e-6):
        s = np.sqrt((x * x).mean(-1, keepdims=True))
        g = dy * (1 + weight)
        dx = g / (s + eps) - x * (g * x).mean(-1, keepdims=True) / (s * (s + eps) ** 2)
        return dx, (dy * x / (s + eps)).reshape(-1, x.shape[-1]).sum(0)

    made = ns.check(outside, GEMMA, backward=back_of_outside, isolate=False)
    plain = ns.check(_plain(outside), ns.rms_norm(eps=1e-6), backward=_plain(back_of_outside), isolate=False)
    assert made.ids == plain.ids and "unrecognised" not in made.ids


def _plain(function):
    """The same function of a gamma that is not kept less 1."""
    if function is outside:
        return lambda x, weight, eps=1e-6: function(x, weight - 1, eps)
    return lambda dy, x, weight, eps=1e-6: function(dy, x, weight - 1, eps)
