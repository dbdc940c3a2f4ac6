"""What a tensor loses: figures worked out by loops, and rows that are known to break."""

import json
import math

import numpy as np
import pytest

import normscope as ns
from normscope import losses
from normscope.errors import DtypeError
from normscope.page.json import dumps
from normscope.views.formats import FORMATS
from normscope.views.policies import find

RNG = np.random.default_rng(4)
X = RNG.normal(size=(2, 5, 16)).astype(np.float32)
NORM = ns.layer_norm()


def one(x, policy, norm=NORM, **given):
    (loss,) = ns.precision(x, norm, policies=[policy], **given)
    return loss


def by_loops(x, policy):
    """Worst ulp and share of eps of every row of a LayerNorm, in plain Python: the reference by math.fsum."""
    """The share of eps is 0 where the policy's own var + eps is var."""
    made, found = ns.trace(x.tolist(), NORM, policy=policy), []
    storage = FORMATS[made.policy.storage]
    rows = x.reshape(-1, x.shape[-1])
    for row, y, var, v in zip(
        rows, np.reshape(made["y"], rows.shape), np.ravel(made["var"]), np.ravel(made["v"]), strict=True
    ):
        cells = [float(cell) for cell in row]
        mean = math.fsum(cells) / len(cells)
        r = 1 / math.sqrt(math.fsum((cell - mean) ** 2 for cell in cells) / len(cells) + 1e-5)
        wanted = [(cell - mean) * r for cell in cells]
        ulp = float(storage.ulp(max(map(abs, wanted))))
        worst = max(abs(a - b) for a, b in zip(y.tolist(), wanted, strict=True)) / ulp
        found.append((worst, 0 if v == var else 1e-5 / (var + 1e-5)))
    return np.array(found).T


@pytest.mark.parametrize("policy", ["float32", "pytorch-bf16", "steps-fp16", "naive-e5m2"])
def test_the_figures_of_every_row(policy):
    loss = one(X, policy)
    worst, share = by_loops(X, policy)
    np.testing.assert_allclose(loss.worst_ulp.ravel(), worst, rtol=1e-6)
    np.testing.assert_allclose(loss.eps_share.ravel(), share, rtol=1e-6)
    assert loss.worst_ulp.shape == loss.eps_share.shape == loss.overflow.shape == (2, 5)


def test_the_first_value_that_overflows():
    x = X.copy()
    x[0, 1] *= 1e6  # beyond float16 itself
    x[1, 2] *= 1e3  # its squares are
    loss = one(x, "steps-fp16")
    broken = {at: loss.first_overflow(at) for at in np.ndindex(2, 5) if loss.first_overflow(at)}
    assert broken == {(0, 1): "x", (1, 2): "q"}
    assert loss.worst_ulp[0, 1] == math.inf
    assert one(x, "pytorch-fp16").first_overflow((1, 2)) is None


def test_float8_e4m3fn_overflows_where_it_saturates():
    x = X.copy()
    x[0, 3, 2] = 500
    loss = one(x, "pytorch-e4m3fn")
    assert [at for at in np.ndindex(2, 5) if loss.first_overflow(at)] == [(0, 3)]
    assert loss.first_overflow((0, 3)) == "x"
    assert one(x, "pytorch-e5m2").first_overflow((0, 3)) is None


@pytest.mark.parametrize(
    ("value", "breaks"), [(448, None), (-448, None), (464, None), (465, "x"), (-500, "x"), (1e30, "x"), (math.inf, "x")]
)
def test_the_largest_number_itself_is_no_overflow(value, breaks):
    """464 lies half way between 448 and 480, which float8_e4m3fn lacks, and rounds to the even 448."""
    x = np.full((2, 8), 1.0)
    x[1, ::2] = value
    loss = one(x, "pytorch-e4m3fn")
    assert (loss.first_overflow((0,)), loss.first_overflow((1,))) == (None, breaks)


def test_a_step_that_comes_to_the_largest_number_is_no_overflow():
    """y is 1 * 448 in the first row, and 1.26 * 448 in the second."""
    loss = one(np.array([[1.0, -1.0], [2.0, -1.0]]), "pytorch-e4m3fn", ns.rms_norm(eps=0), gamma=[448.0, 448.0])
    assert [loss.first_overflow((at,)) for at in range(2)] == [None, "y"]


def test_an_eps_that_is_lost_has_no_share():
    """In float16 var + 1e-12 is 0; beside a variance of 1 an eps of 1e-5 changes nothing; float32 keeps both."""
    x = np.array([[1.0, 1.0], [1.0, 3.0]])
    for eps, policy, shares in [
        ("1e-12", "steps-fp16", [math.nan, 0]),
        ("1e-5", "steps-fp16", [1, 0]),
        ("1e-5", "float32", [1, 1e-5]),
        ("1e-12", "float32", [1, 0]),
        (0, "float32", [math.nan, 0]),
    ]:
        found = one(x, policy, ns.layer_norm(eps=eps)).eps_share
        np.testing.assert_allclose(found, shares, rtol=1e-4, err_msg=f"{eps} {policy}")


def test_one_policy_need_not_stand_in_a_list():
    for policy in ("pytorch-bf16", find("pytorch-bf16")):
        (loss,) = ns.precision(X, policies=policy)
        assert loss.policy.name == "pytorch-bf16"


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.array(["a"]), "x has dtype str"),
        ([["a"]], "x has dtype str"),
        (np.array([1j]), "x has dtype complex128"),
        (np.array([None]), "x has dtype object"),
        ([[1.0], [1.0, 2.0]], "x is no array: its rows differ in length"),
    ],
)
def test_what_holds_no_numbers_is_refused(x, message):
    with pytest.raises(DtypeError, match=message):
        ns.precision(x)


def test_a_gamma_that_overflows_breaks_every_row():
    loss = one(X, "pytorch-fp16", gamma=np.full(16, 1e5))
    assert {loss.first_overflow(at) for at in np.ndindex(2, 5)} == {"gamma"}


def test_a_large_mean_costs_bfloat16_the_row():
    """At 10,000 bfloat16's numbers lie 64 apart: a spread of 1 is gone, and eps is all there is under the root."""
    loss = one(X + 1e4, "pytorch-bf16")
    assert loss.eps_share.min() == 1 and loss.worst_ulp.min() > 100
    assert one(X + 1e4, "float32").eps_share.max() < 1e-4


def test_the_reference_is_float64_of_x_as_it_is_given():
    """The float64 policy loses nothing; float32 loses what rounding x to it loses."""
    x = X.astype(float) + 1e-9
    assert one(x, "float64").worst_ulp.max() == 0
    assert one(x, "float32").worst_ulp.max() > 0


def test_what_is_infinite_in_x_is_nan_in_the_figures():
    x = X.copy()
    x[1, 1, 1] = np.inf
    loss = one(x, "float32")
    assert math.isnan(loss.worst_ulp[1, 1]) and loss.first_overflow((1, 1)) == "x"
    assert loss.worst_rows(1) == [(1, 1)]


@pytest.mark.parametrize(
    "norm, shape, rows",
    [
        (ns.layer_norm(), (7,), ()),
        (ns.rms_norm(), (3, 4, 6), (3, 4)),
        (ns.group_norm(2), (2, 4, 3), (2, 2)),
        (ns.batch_norm(), (5, 3), (3,)),
        (ns.instance_norm(affine=True), (2, 3, 4, 5), (2, 3)),
        (ns.Norm("A [d] B"), (3, 4, 5), (3, 5)),
    ],
)
def test_pieces_are_as_the_whole(norm, shape, rows, monkeypatch):
    x = RNG.normal(size=shape).astype(np.float32)
    whole = ns.precision(x, norm)
    monkeypatch.setattr(losses, "PIECE", 1)
    for one_piece, pieces in zip(whole, ns.precision(x, norm), strict=True):
        assert one_piece.worst_ulp.shape == rows
        for name in ("worst_ulp", "eps_share", "overflow"):
            np.testing.assert_array_equal(getattr(one_piece, name), getattr(pieces, name))


def test_pieces_are_cut_along_the_longest_axis_of_independent_rows():
    cut = [
        (ns.Norm("B S [d]"), (2, 3, 4), "S"),
        (ns.Norm("[N] C"), (2, 3), "C"),
        (ns.Norm("[N] C", "C"), (2, 3), ""),
        (ns.Norm("[N] C", running=True), (2, 3), ""),
        (ns.group_norm(2).fit(3), (3, 4, 5), "N"),
        (ns.Norm("[a] (g [c]) B", sizes={"g": 2}), (2, 4, 1), "B"),
        (ns.Norm("[d]"), (4,), ""),
    ]
    assert [losses._free(norm, shape) for norm, shape, _ in cut] == [axis for *_, axis in cut]


def test_running_statistics():
    x, mean, var = RNG.normal(size=(4, 3)), np.zeros(3), np.array([1.0, 1e-5, 0.0])
    loss = one(x, "pytorch-bf16", ns.batch_norm(training=False), running_mean=mean, running_var=var)
    np.testing.assert_allclose(loss.eps_share, [1e-5, 0.5, 1], rtol=1e-4)


def test_eps_left_to_the_dtype_is_float32s_for_all():
    x = X * 1e-3
    assert one(x, "float64", ns.rms_norm()).worst_ulp.max() == 0
    assert one(x, "float32", ns.rms_norm()).worst_ulp.max() < 4


def test_an_x_without_rows():
    loss = one(np.zeros((0, 3)), "float32")
    assert loss.worst_ulp.shape == (0,) and loss.to_json()["rows"] == []


def test_the_json():
    x = X.copy()
    x[0, 4] *= 1e6
    data = json.loads(dumps(one(x, "steps-fp16").to_json()))
    assert {name: data[name] for name in ("name", "storage", "statistics")} == {
        "name": "steps-fp16", "storage": "float16", "statistics": "float16",
    }  # fmt: skip
    assert [row["index"] for row in data["rows"]] == [[b, s] for b in range(2) for s in range(5)]
    assert data["rows"][4] == {"index": [0, 4], "worst_ulp": "Infinity", "eps_share": "NaN", "overflow": "x"}
    assert data["rows"][0]["overflow"] is None and "of" not in data


def test_the_json_of_the_rows_that_lose_most():
    loss = one(X, "steps-bf16")
    data = loss.to_json(3)
    assert data["of"] == 10
    assert sorted(row["worst_ulp"] for row in data["rows"]) == sorted(loss.worst_ulp.ravel())[-3:]
    assert [row["index"] for row in data["rows"]] == sorted(row["index"] for row in data["rows"])
