"""PyTorch's functions, modules and classes, and strangers' in its style. Run by `make oracle`."""

import ml_dtypes
import numpy as np
import pytest

import normscope as ns
from normscope.diagnosis.autograd import Autograd
from normscope.diagnosis.calls import Called
from normscope.diagnosis.pair import Pair
from normscope.diagnosis.probes import Failure
from normscope.diagnosis.samples import sample

pytestmark = pytest.mark.oracle
torch = pytest.importorskip("torch")
nn, F = torch.nn, torch.nn.functional
LAYER, BATCH = ns.layer_norm(), ns.batch_norm()


def by_hand(x, w, b, eps=1e-5):
    centred = x - x.mean(-1, keepdim=True)
    return centred * torch.rsqrt(x.var(-1, keepdim=True, unbiased=False) + eps) * w + b


class Annotated(nn.Module):
    def __init__(self, features, eps=1e-6):
        super().__init__()
        self.a_2, self.b_2, self.eps = nn.Parameter(torch.ones(features)), nn.Parameter(torch.zeros(features)), eps

    def forward(self, x):
        return by_hand(x, self.a_2, self.b_2, self.eps)


class Flagged(nn.Module):
    def __init__(self, ndim, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(ndim))
        self.bias = nn.Parameter(torch.zeros(ndim)) if bias else None

    def forward(self, input):
        return F.layer_norm(input, self.weight.shape, self.weight, self.bias, 1e-5)


class Dived(nn.Module):
    """Parameters of four dimensions, running statistics that are no buffers."""

    def __init__(self, num_features, num_dims):
        super().__init__()
        shape = (1, num_features) if num_dims == 2 else (1, num_features, 1, 1)
        self.gamma, self.beta = nn.Parameter(torch.ones(shape)), nn.Parameter(torch.zeros(shape))
        self.moving_mean, self.moving_var = torch.zeros(shape), torch.ones(shape)

    def forward(self, X):
        over = [axis for axis in range(X.ndim) if axis != 1]
        mean, var = X.mean(over, keepdim=True), X.var(over, keepdim=True, unbiased=False)
        self.moving_mean = 0.9 * self.moving_mean + 0.1 * mean
        return self.gamma * (X - mean) / torch.sqrt(var + 1e-5) + self.beta


class Function(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, b, eps):
        ctx.save_for_backward(w)
        return by_hand(x, w, b, eps)

    @staticmethod
    def backward(ctx, dy):
        return dy * ctx.saved_tensors[0], None, None, None


CASES = [
    (by_hand, LAYER), (F.layer_norm, LAYER), (nn.LayerNorm, LAYER), (nn.LayerNorm(8), LAYER), (Annotated, LAYER),
    (Annotated(7), LAYER), (Flagged, LAYER), (Function, LAYER), (nn.RMSNorm, ns.rms_norm(eps=1e-5)),
    (nn.BatchNorm1d, BATCH), (nn.BatchNorm2d(6), BATCH), (F.batch_norm, BATCH), (Dived, BATCH),
    (nn.BatchNorm2d, ns.batch_norm(training=False)), (nn.GroupNorm, ns.group_norm(2)),
    (nn.GroupNorm(2, 6), ns.group_norm(2)), (F.group_norm, ns.group_norm(2)), (nn.InstanceNorm2d, ns.instance_norm()),
]  # fmt: skip


@pytest.mark.parametrize("thing, norm", CASES, ids=lambda value: getattr(value, "__name__", type(value).__name__))
def test_every_form_of_a_norm_is_called_as_meant(thing, norm):
    called = Called(thing, norm)
    probe = sample(norm, called.ranks[-1], features=called.features)
    running = {"running_mean": probe.running_mean, "running_var": probe.running_var} if norm.running else {}
    right = ns.trace(probe.x, norm, probe.gamma, probe.beta, **running).output
    (answer,) = called.run([probe])
    np.testing.assert_allclose(answer["y"], right, rtol=1e-12, atol=1e-12)
    assert called.frame.name == "torch"


def test_running_statistics_are_read_back():
    (answer,) = Called(nn.BatchNorm2d, BATCH).run([sample(BATCH, 4)])
    assert sorted(answer) == ["running_mean", "running_var", "y"]
    (answer,) = Called(Dived, BATCH).run([sample(BATCH, 4)])
    assert answer["running_mean"].shape == (4,)


@pytest.mark.parametrize("thing", [by_hand, nn.LayerNorm, Annotated(7)])
def test_autograd_gives_every_gradient(thing):
    probe = sample(LAYER, 3, True)
    right = ns.trace(probe.x, LAYER, probe.gamma, probe.beta, dy=probe.dy).gradients
    (answer,) = Autograd(Called(thing, LAYER)).run([probe])
    for name in ("dx", "dgamma", "dbeta"):
        np.testing.assert_allclose(answer[name], right[name], rtol=1e-10, atol=1e-12)


def test_a_pair_has_autograds_backward_where_y_is_connected():
    assert isinstance(Pair.of(by_hand, None, LAYER).backward, Autograd)
    detached = Pair.of(lambda x, w, b, eps: by_hand(x, w, b, eps).detach(), None, LAYER)
    assert detached.backward is None
    assert "y carries no gradient, so no backward pass was checked." in detached.notes


def test_bfloat16_goes_in_and_out():
    probe = sample(LAYER, 2)
    narrow = {name: getattr(probe, name).astype(ml_dtypes.bfloat16) for name in ("x", "gamma", "beta")}
    for thing in (F.layer_norm, nn.LayerNorm):
        (answer,) = Called(thing, LAYER).run([probe.but(**narrow)])
        assert answer["y"].dtype == ml_dtypes.bfloat16


@pytest.mark.parametrize("layout", ["contiguous", "offset", "step", "transposed"])
def test_a_view_of_bfloat16_is_not_taken_for_modified(layout):
    probe = sample(LAYER, 2)
    narrow = {name: getattr(probe, name).astype(ml_dtypes.bfloat16) for name in ("x", "gamma", "beta")}
    called = Called(F.layer_norm, LAYER)
    assert not isinstance(called.run([probe.but(**narrow, layout=layout)])[0], Failure)
    in_place = Called(lambda x: x.sub_(x.mean(-1, keepdim=True)), LAYER, framework="torch")
    assert in_place.run([probe.but(**narrow, layout=layout)])[0].kind == "modifies-input"


class Cut(Annotated):
    """Its scale takes no part in autograd."""

    def forward(self, x):
        return by_hand(x, self.a_2.detach(), self.b_2, self.eps)


class Frozen(Annotated):
    """Its scale is not trained, as its owner wants."""

    def __init__(self, features):
        super().__init__(features)
        self.a_2.requires_grad_(False)


class Buffered(nn.Module):
    """Its scale is no parameter."""

    def __init__(self, features):
        super().__init__()
        self.register_buffer("weight", torch.ones(features))
        self.bias, self.eps = nn.Parameter(torch.zeros(features)), 1e-5

    def forward(self, x):
        return by_hand(x, self.weight, self.bias, self.eps)


@pytest.mark.parametrize(
    ("thing", "missing"),
    [(by_hand, ()), (Annotated, ()), (Frozen, ()), (Frozen(5), ()), (Buffered, ()), (Cut, ("dgamma",)),
     (lambda x, w, b, eps: by_hand(x, w.detach(), b, eps), ("dgamma",)), (Function, ("dgamma", "dbeta")),
     (lambda x, w, b, eps: by_hand(x.detach(), w, b, eps), ("dx",)), (lambda x, w, b, eps: by_hand(x, w, 0, eps), ())],
)  # fmt: skip
def test_a_gradient_that_never_arrives_is_missed(thing, missing):
    assert Pair.of(thing, None, LAYER).backward.missing == missing


@pytest.mark.parametrize("layout", ["offset", "step", "transposed"])
def test_a_layout_reaches_the_tensor(layout):
    seen = []

    def looks(x):
        seen.append((x.stride(), x.storage_offset(), x.is_contiguous()))
        return torch.clone(x)

    called = Called(looks, LAYER, framework="torch")
    (answer,) = called.run([sample(LAYER, 2).but(layout=layout)])
    strides, offset, is_contiguous = seen[-1]
    expected = {"offset": ((4, 1), 12, True), "step": ((8, 2), 0, False), "transposed": ((1, 3), 0, False)}
    assert (strides, offset, is_contiguous) == expected[layout]
    np.testing.assert_array_equal(answer["y"], sample(LAYER, 2).x)


def test_a_tensor_that_is_written_to_is_seen():
    def writes(x):
        return x.sub_(x.mean(-1, keepdim=True))

    (failure,) = Called(writes, LAYER, framework="torch").run([sample(LAYER, 2)])
    assert isinstance(failure, Failure)
    assert failure.kind == "modifies-input"
