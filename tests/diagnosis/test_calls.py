"""Strangers' functions, classes and objects, called in this process."""

import functools

import numpy as np
import pytest

import normscope as ns
from normscope.diagnosis import calls
from normscope.diagnosis.calls import Called
from normscope.diagnosis.frames import NumPy
from normscope.diagnosis.pair import Pair
from normscope.diagnosis.probes import Failure, Probe
from normscope.diagnosis.samples import sample

LAYER, BATCH = ns.layer_norm(), ns.batch_norm()


def layer_norm(x, gamma, beta, eps):
    c = x - x.mean(-1, keepdims=True)
    return c / np.sqrt((c * c).mean(-1, keepdims=True) + eps) * gamma + beta


def one(function, norm=LAYER, backward=False, probe=None):
    called = Called(function, norm, backward=backward)
    (answer,) = called.run([probe or sample(norm, 2, backward)])
    return answer


def kind(function, norm=LAYER):
    answer = one(function, norm)
    assert isinstance(answer, Failure)
    assert answer.probe is not None
    return answer.kind


def test_a_function_gets_what_it_asks_for_and_its_answer_is_an_array():
    probe = sample(LAYER, 3)
    right = ns.trace(probe.x, LAYER, probe.gamma, probe.beta).output
    np.testing.assert_allclose(one(layer_norm, probe=probe)["y"], right)


@pytest.mark.parametrize(
    "function, expected",
    [
        (lambda x: None, "returns-none"),
        (lambda x: x.mean(-1), "wrong-shape"),
        (lambda x: x.astype(int), "wrong-dtype"),
        (lambda x: x.astype(complex), "wrong-dtype"),
        (lambda x: "y", "wrong-type"),
        (lambda x: {"y": x}, "wrong-type"),
        (lambda x: 1 / 0, "raises"),
        (lambda x: exit(), "raises"),
        (lambda: 0, "wrong-signature"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_wrong_in_form_has_a_kind_of_its_own(function, expected):
    assert kind(function) == expected


def test_the_message_of_an_exception_has_its_line():
    def fails(x):
        raise ValueError("first\nsecond")

    text = one(fails).text
    line = fails.__code__.co_firstlineno + 1
    assert text == f"ValueError: first (line {line} of test_calls.py)"


def test_a_changed_input_is_seen_also_behind_a_view():
    def writes_x(x):
        x -= x.mean(-1, keepdims=True)
        return x

    def writes_gamma(x, gamma):
        gamma *= 2
        return x * gamma

    def writes_behind(x):
        x.base[0] += 1
        return x * 1

    assert [kind(writes_x), kind(writes_gamma)] == ["modifies-input"] * 2
    offset = sample(LAYER, 2).but(layout="offset")
    assert one(writes_behind, probe=offset).kind == "modifies-input"
    assert not isinstance(one(layer_norm, probe=offset), Failure)


class Copying(NumPy):
    """Hands out copies, as PyTorch's frame does of bfloat16."""

    def give(self, array):
        return array.copy()

    def cells_of(self, given, own):
        return given.tobytes()


@pytest.mark.parametrize("layout", ["offset", "step", "transposed"])
def test_a_copy_of_a_view_is_compared_with_itself(layout, monkeypatch):
    monkeypatch.setattr(calls, "frames", lambda *given: (Copying(),))
    probe = sample(LAYER, 2).but(layout=layout)
    assert not isinstance(one(layer_norm, probe=probe), Failure)

    def writes(x):
        x -= x.mean(-1, keepdims=True)
        return x

    assert one(writes, probe=probe).kind == "modifies-input"


def test_out_of_memory_is_not_tried_again():
    calls = []

    def allocates(x):
        calls.append(1)
        raise MemoryError("no room")

    called = Called(allocates, LAYER)
    answers = called.run([sample(LAYER, 2)] * 5)
    assert {answer.kind for answer in answers} == {"memory"}
    assert len(calls) == 1


def test_output_is_swallowed_and_warnings_are_ignored(capsys):
    def loud(x):
        print("hello\n" * 1000)
        return x / np.zeros_like(x)

    called = Called(loud, LAYER)
    called.run([sample(LAYER, 2)])
    assert capsys.readouterr() == ("", "")
    assert called.printed.count > 6000
    assert called.printed.start.startswith("hello")


def test_the_ranks_that_go_well_are_known():
    def matrix(x):
        (rows, _) = x.shape
        return x * float(rows)

    assert Called(matrix, LAYER).ranks == (2,)
    assert Called(layer_norm, LAYER).ranks == (2, 3, 4)


def test_a_tuple_with_a_cache_and_nested_lists_are_read():
    assert list(one(lambda x: (x * 1, {"cache": 1}))) == ["y"]
    assert one(lambda x: (x * 1).tolist())["y"].dtype == np.float64


def test_batch_norms_return_or_update_their_running_statistics():
    def returns(x, running_mean, running_var, momentum, eps):
        return x * 1, running_mean * 2, running_var * 2

    def updates(x, gamma, beta, running_mean, running_var):
        running_mean *= 2
        return x * 1

    probe = sample(BATCH, 2)
    np.testing.assert_allclose(one(returns, BATCH)["running_var"], probe.running_var * 2)
    assert sorted(one(updates, BATCH)) == ["running_mean", "y"]
    assert sorted(one(lambda x, running_mean, running_var: x * 1, BATCH)) == ["y"]


class Statistics:
    """Reassigns its running statistics, in the shape that a mean over the first axis alone has."""

    def __init__(self, c):
        self.gamma, self.beta, self.eps = np.ones(c), np.zeros(c), 1e-5
        self.running_mean, self.running_var = np.zeros(c), np.ones(c)

    def forward(self, x):
        self.running_mean = 0.75 * self.running_mean + 0.25 * x.mean(0)
        return (x - x.mean(0)) / np.sqrt(x.var(0) + self.eps) * self.gamma + self.beta


def test_running_statistics_of_another_shape_are_no_error_of_ours():
    assert one(Statistics, BATCH, probe=sample(BATCH, 4))["running_mean"].shape == (4, 3, 4)
    verdict = ns.check(Statistics, BATCH, isolate=False)
    assert verdict.verdict == "correct"
    assert "not judged on x of 4 dimensions" in " ".join(verdict.notes)


class Layer:
    """NumPy's way of a layer, as courses teach it."""

    def __init__(self, features, eps=1e-5):
        self.a_2, self.b_2, self.eps = np.ones((1, features)), np.zeros((1, features)), eps

    def forward(self, x):
        c = x - x.mean(-1, keepdims=True)
        self.r = 1 / np.sqrt((c * c).mean(-1, keepdims=True) + self.eps)
        self.xhat = c * self.r
        return self.xhat * self.a_2 + self.b_2

    def backward(self, dy):
        g = dy * self.a_2
        self.dgamma = (dy * self.xhat).reshape(-1, dy.shape[-1]).sum(0)
        self.dbeta = dy.reshape(-1, dy.shape[-1]).sum(0)
        return self.r * (g - g.mean(-1, keepdims=True) - self.xhat * (g * self.xhat).mean(-1, keepdims=True))


class Strict:
    """An object that takes one size alone."""

    def __init__(self):
        self.gamma = np.ones(5)

    def __call__(self, x):
        if x.shape[-1] != 5:
            raise ValueError("five features")
        return layer_norm(x, self.gamma, 0, 1e-5)


@pytest.mark.parametrize("thing", [Layer, Layer(7), functools.partial(layer_norm)])
def test_classes_objects_and_partials(thing):
    probe = sample(LAYER, 3)
    right = ns.trace(probe.x, LAYER, probe.gamma, probe.beta).output
    np.testing.assert_allclose(one(thing, probe=probe)["y"], right)
    assert Called(thing, LAYER).accepts >= {"x", "gamma", "beta", "eps"}


def test_an_object_that_takes_one_size_says_so():
    assert Called(Strict(), LAYER).features == 5
    assert Called(Layer(5), LAYER).features is None


def test_the_objects_of_a_person_are_left_as_they_are():
    layer = Layer(4)
    one(layer)
    assert (layer.a_2 == 1).all()
    assert not hasattr(layer, "r")


def test_a_class_with_a_backward_is_checked_both_ways():
    pair = Pair.of(Layer, None, LAYER)
    probe = sample(LAYER, 3, True)
    right = ns.trace(probe.x, LAYER, probe.gamma, probe.beta, dy=probe.dy).gradients
    (answer,) = pair.backward.run([probe])
    for name in ("dx", "dgamma", "dbeta"):
        np.testing.assert_allclose(answer[name], right[name], err_msg=name)


def test_a_function_whose_first_parameter_is_dy_is_a_backward():
    pair = Pair.of(lambda dy, x: dy, None, LAYER)
    assert pair.forward is None
    assert pair.backward.accepts == {"dy", "x"}


def test_a_backward_gets_the_cache_of_its_forward():
    def forward(x, gamma, beta, ln_param):
        return layer_norm(x, gamma, beta, ln_param["eps"]), ("cache", gamma)

    def backward(dout, cache):
        assert cache[0] == "cache"
        return dout * cache[1], dout.sum(0), dout.sum(0)

    pair = Pair.of(forward, backward, LAYER)
    assert "eps" in pair.forward.accepts
    assert sorted(pair.backward.run([sample(LAYER, 2, True)])[0]) == ["dbeta", "dgamma", "dx"]
    alone = Called(backward, LAYER, backward=True)
    assert alone.run([sample(LAYER, 2, True)])[0].text.endswith("give that function too.")


@pytest.mark.parametrize(
    "norm",
    [LAYER, ns.rms_norm(), BATCH, ns.batch_norm(training=False), ns.group_norm(2), ns.instance_norm(affine=True),
     ns.layer_norm((4, 6)), ns.Norm("B [S] d", "d"), ns.Norm("[A B]"),
     ns.Norm("N (g [c]) [H W]", "(g c)", sizes={"g": 3})],
    ids=lambda norm: norm.pattern,
)  # fmt: skip
def test_a_sample_fits_every_norm(norm):
    rank = max(2, len(norm.layout.dims))
    probe = sample(norm, 4 if "..." in norm.pattern else rank, True)
    running = {"running_mean": probe.running_mean, "running_var": probe.running_var} if norm.running else {}
    assert isinstance(probe, Probe)
    assert ns.trace(probe.x, norm, probe.gamma, probe.beta, **running).output.shape == probe.dy.shape
