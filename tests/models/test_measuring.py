"""The figures of a passage: beside NumPy's own, for every kind of norm; and what they warn of."""

import json

import numpy as np
import pytest

import normscope as ns
from normscope.errors import ShapeError
from normscope.lessons.sources import minilm
from normscope.models import measuring
from normscope.models.found import Found
from normscope.models.measuring import POLICIES, measured
from normscope.models.passing import Passage

RNG = np.random.default_rng(5)


def figures(x, norm, y=None, unknown=(), **parameters):
    return measured(Passage(Found("n", norm, dtype=x.dtype.name, unknown=unknown), x, y, parameters))


def shipped():
    """The sentence's activations that ship with Normscope: x, gamma, beta, y."""
    source = minilm()
    x, y = (np.array(cells, np.float32).reshape(source.shape) for cells in (source.x, source.y))
    return x, np.array(source.gamma, np.float32), np.array(source.beta, np.float32), y


def test_minilm():
    x, gamma, beta, y = shipped()
    made = figures(x, ns.layer_norm(384, 1e-12), y, gamma=gamma, beta=beta)
    assert (made.rows, made.cells, made.feature, made.row) == (14, 384, 99, 0)
    assert made.var.most == pytest.approx(128.34, abs=0.005)
    assert made.largest == pytest.approx(222.15, abs=0.005)
    assert [at for at, _ in made.outliers[:2]] == [99, 63]
    assert made.apart < 1e-6
    assert (made.parameters["gamma"].least, made.parameters["gamma"].most) == (gamma.min(), gamma.max())
    assert made.parameters["beta"].median == pytest.approx(np.median(beta))
    assert made.warnings == ()


def test_a_rows_figures_are_numpys():
    x = RNG.normal(1.0, 2.0, (3, 5, 7)) * np.linspace(0.01, 3, 5)[:, None]
    made = figures(x, ns.layer_norm(7, 1e-3))
    var = x.var(-1)
    assert made.mean.to_json() == pytest.approx(quantiles(x.mean(-1)))
    assert made.var.to_json() == pytest.approx(quantiles(var))
    assert made.eps_share.to_json() == pytest.approx(quantiles(1e-3 / (var + 1e-3)))
    assert made.largest == np.abs(x).max()
    assert made.feature == np.unravel_index(np.abs(x).argmax(), x.shape)[2]
    assert made.row == np.abs(x).max(-1).argmax()


def quantiles(cells):
    names = ("least", "low", "median", "high", "most")
    return dict(zip(names, np.quantile(cells, (0, 0.05, 0.5, 0.95, 1)).tolist(), strict=True))


def test_of_an_rms_norm_the_variance_is_the_mean_square():
    x = RNG.normal(3.0, 1.0, (4, 6))
    made = figures(x, ns.rms_norm(6, 1e-6))
    assert made.var.most == pytest.approx((x**2).mean(-1).max())
    assert made.mean.most == pytest.approx(x.mean(-1).max())


CASES = {
    "batch": (ns.batch_norm(4), (5, 4, 3, 2), (0, 2, 3), (4,)),
    "instance": (ns.instance_norm(4, affine=True), (5, 4, 3, 2), (2, 3), (4,)),
    "channels first": (ns.Norm("N [C] L", "C"), (5, 4, 3), (1,), (4,)),
    "two axes": (ns.layer_norm([4, 3]), (5, 4, 3), (1, 2), (4, 3)),
}


@pytest.mark.parametrize("name", CASES)
def test_whatever_the_norm_reduces(name):
    norm, shape, over, affine = CASES[name]
    x, gamma, beta = RNG.normal(size=shape), RNG.normal(size=affine), RNG.normal(size=affine)
    gamma_, beta_ = (each if len(affine) > 1 else each.reshape(-1, *(1,) * (len(shape) - 2)) for each in (gamma, beta))
    var = x.var(over, keepdims=True)
    y = (x - x.mean(over, keepdims=True)) / np.sqrt(var + 1e-5) * gamma_ + beta_
    made = figures(x, norm, y, gamma=gamma, beta=beta)
    assert made.apart < 1e-12
    assert made.rows == var.size
    assert made.var.most == pytest.approx(var.max())
    assert figures(x, norm, y + 0.1, gamma=gamma, beta=beta).apart > 1e-3


def test_group_norm_and_its_gamma_of_every_channel():
    x, gamma = RNG.normal(size=(2, 6, 5)), RNG.normal(size=6)
    grouped = x.reshape(2, 3, 2 * 5)
    z = (grouped - grouped.mean(-1, keepdims=True)) / np.sqrt(grouped.var(-1, keepdims=True) + 1e-5)
    made = figures(x, ns.group_norm(3, 6), z.reshape(x.shape) * gamma[:, None], gamma=gamma, beta=np.zeros(6))
    assert (made.rows, made.cells) == (6, 10)
    assert made.apart < 1e-12
    assert made.feature == np.abs(x).max((0, 2)).argmax()


def test_running_statistics_are_what_the_norm_divides_by():
    x, mean, var = RNG.normal(size=(5, 3, 4)), RNG.normal(size=3), np.array([1.0, 2.0, 1e-5])
    y = (x - mean[:, None]) / np.sqrt(var[:, None] + 1e-5)
    norm = ns.batch_norm(3, affine=False, training=False)
    made = figures(x, norm, y, running_mean=mean, running_var=var)
    assert made.apart < 1e-12
    assert made.eps_share.most == pytest.approx(0.5)
    assert made.var.most == pytest.approx(x.var((0, 2)).max())


def test_an_offset_is_added_to_gamma():
    x, gamma = RNG.normal(size=(4, 6)), RNG.normal(size=6)
    y = x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * (1 + gamma)
    assert figures(x, ns.rms_norm(6, 1e-6, offset=1), y, gamma=gamma).apart < 1e-12
    assert figures(x, ns.rms_norm(6, 1e-6), y, gamma=gamma).apart > 0.1


def test_what_is_lost_is_what_precision_says():
    x, gamma, beta, _ = shipped()
    made = figures(x, ns.layer_norm(384, 1e-12), gamma=gamma, beta=beta)
    assert tuple(each.policy for each in made.lost) == POLICIES
    for lost, loss in zip(
        made.lost, ns.precision(x, ns.layer_norm(384, 1e-12), gamma, beta, policies=POLICIES), strict=True
    ):
        assert lost.worst == pytest.approx(loss.worst_ulp.max())
        assert lost.median == pytest.approx(np.median(loss.worst_ulp))
    assert made.tried == 14


def test_a_row_that_breaks_in_half_precision_names_what_breaks():
    x = RNG.normal(size=(8, 16)).astype(np.float32)
    x[3, 2] = 1e5
    lost = {each.policy: each for each in figures(x, ns.layer_norm(16)).lost}
    assert (lost["pytorch-fp16"].not_finite, lost["pytorch-fp16"].breaks_at) == (1, "x")
    assert (lost["pytorch-bf16"].not_finite, lost["pytorch-bf16"].breaks_at) == (0, "")
    x[3, 2] = 6e3
    lost = {each.policy: each for each in figures(x, ns.layer_norm(16)).lost}
    assert (lost["steps-fp16"].breaks_at, lost["pytorch-fp16"].breaks_at) == ("q", "")


def test_of_many_rows_some_are_rounded_the_extreme_ones_among_them(monkeypatch):
    x = RNG.normal(size=(500, 16)).astype(np.float32)
    x[333, 2] = 1e5
    whole = figures(x, ns.layer_norm(16))
    monkeypatch.setattr(measuring, "TRIED", 160)
    monkeypatch.setattr(measuring, "PIECE", 160)
    some = figures(x, ns.layer_norm(16))
    assert whole.tried == 500
    assert 10 <= some.tried <= 13
    assert some.lost[2].not_finite == 1
    assert (some.var, some.mean, some.largest) == (whole.var, whole.mean, whole.largest)


def test_without_an_eps_nothing_that_needs_it_is_said():
    x = RNG.normal(size=(4, 6))
    made = figures(x, ns.layer_norm(6), x * 50, unknown=("eps",))
    assert (made.eps_share, made.lost, made.tried, made.apart) == (None, (), 0, None)
    assert made.var.most == pytest.approx(x.var(-1).max())


def test_a_y_of_another_norm_is_told():
    x = RNG.normal(size=(4, 6)).astype(np.float32)
    (warning,) = figures(x, ns.layer_norm(6), x).warnings
    assert warning.startswith("its y is not what this norm makes of x: off by ")


def test_cells_that_are_not_finite():
    x = RNG.normal(size=(4, 6))
    x[2, 5], x[3, 1] = np.nan, np.inf
    made = figures(x, ns.layer_norm(6))
    assert (made.strange, made.row) == (2, 2)
    assert made.warnings == ("2 cells of x are not finite.",)
    assert json.loads(ns_json(made))["var"]["most"] == "NaN"


def test_an_x_of_another_shape():
    with pytest.raises(ShapeError):
        figures(np.ones((4, 7)), ns.layer_norm(6))


def test_json_holds_every_figure():
    x, gamma, beta, y = shipped()
    data = json.loads(ns_json(figures(x, ns.layer_norm(384, 1e-12), y, gamma=gamma, beta=beta)))
    assert data["shape"] == [1, 14, 384]
    assert data["outliers"][0] == {"feature": 99, "largest": pytest.approx(222.154, abs=1e-3)}
    assert data["lost"][0]["policy"] == "pytorch-bf16"
    assert set(data["parameters"]) == {"gamma", "beta"}
    assert set(data["var"]) == {"least", "low", "median", "high", "most"}


def ns_json(made):
    from normscope.page.json import dumps

    return dumps(made.to_json())


def test_no_cell_is_no_x():
    with pytest.raises(ShapeError, match=r"x has shape \(2, 0, 8\): it holds no cell"):
        figures(np.zeros((2, 0, 8)), ns.layer_norm(8))


def test_a_y_that_is_not_finite_is_not_near():
    x = RNG.normal(size=(3, 8))
    good = figures(x, ns.layer_norm(8), x)
    y = x.copy()
    y[1, 2] = np.nan
    made = figures(x, ns.layer_norm(8), y)
    assert good.apart < 10 and made.apart == np.inf
    assert made.warnings == ("its y is not finite where what this norm makes of x is.",)
    x[:] = np.nan
    made = figures(x, ns.layer_norm(8), y)
    assert made.apart is None and made.warnings == ("24 cells of x are not finite.",)


def test_a_gamma_that_is_not_finite_is_told():
    gamma = np.array([1.0, np.inf, 1, 1, 1, 1, 1, 1])
    made = figures(RNG.normal(size=(3, 8)), ns.layer_norm(8), gamma=gamma)
    assert made.warnings == ("1 cell of gamma is not finite.",)
