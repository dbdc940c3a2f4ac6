"""The figures of the lessons, from tests/golden/lessons.json, as results of the core."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import normscope as ns
from normscope.lessons.sources import minilm
from normscope.steps import output

GOLDEN = json.loads(Path(__file__).with_name("golden").joinpath("lessons.json").read_text())
LEDGER = GOLDEN["A"]["ledger"]
LAB = GOLDEN["C"]
X = [[float(cell) for cell in LAB["x"][token]] for token in LAB["tokens"]]
WIDTH = {1: "float8_e4m3fn", 2: "bfloat16", 4: "float32", 8: "float64"}
STEPS = ["mu", "c", "q", "var", "v", "r", "xhat", "scaled", "y"]


def norm(affine=True):
    return ns.Norm("B S [d]", "d" if affine else None)


def lesson_a():
    """A 2 x 4 x 8 tensor whose rows have levels and spreads of their own."""
    x = [[[b + 10 * s + (s + 1) * ((3 * k + b) % 8) for k in range(8)] for s in range(4)] for b in range(2)]
    return x, ns.trace(x, norm(), gamma=[0.5 + k for k in range(8)], beta=[k / 4 for k in range(8)])


def shape(name):
    return lesson_a()[1].shape_of(name)


def ids(case):
    return "-".join(str(case[key]) for key in ("B", "S", "d", "w")) + ("-affine" if case["affine"] else "")


# A. Inside LayerNorm


def test_lesson_A1_one_statistic_a_row_over_the_last_axis():
    x, trace = lesson_a()
    assert trace.norm.over == ("d",)
    for name in ("mu", "var", "v", "r"):
        assert trace.shape_of(name) == (2, 4, 1)
        assert trace.axes(name) == ("B", "S")
    for b in range(2):
        for s in range(4):
            assert trace["mu"][b][s] == [float(Fraction(sum(x[b][s]), 8))]


def test_lesson_A1_the_variance_divides_by_d():
    x, trace = lesson_a()
    row = [Fraction(cell) for cell in x[1][2]]
    mean = sum(row) / 8
    assert trace["var"][1][2] == [float(sum((cell - mean) ** 2 for cell in row) / 8)]
    assert trace.norm.correction == 0


def test_lesson_A2_the_steps_by_hand():
    """Every step of one row, from its formula, with the 16 digits that a float has."""
    x, trace = lesson_a()
    assert list(trace) == STEPS
    row = [Fraction(cell) for cell in x[1][3]]
    mu = sum(row) / 8
    c = [cell - mu for cell in row]
    var = sum(cell * cell for cell in c) / 8
    v = var + Fraction(1, 100_000)
    r = float(v) ** -0.5
    xhat = [float(cell) * r for cell in c]
    scaled = [cell * (0.5 + k) for k, cell in enumerate(xhat)]
    hand = {
        "mu": [mu],
        "c": c,
        "q": [cell * cell for cell in c],
        "var": [var],
        "v": [v],
        "r": [r],
        "xhat": xhat,
    }
    hand |= {"scaled": scaled, "y": [cell + k / 4 for k, cell in enumerate(scaled)]}
    for name in STEPS:
        assert trace[name][1][3] == pytest.approx(list(map(float, hand[name])), rel=4e-16, abs=1e-15), name


def test_lesson_A2_shapes():
    statistics = {"mu", "var", "v", "r"}
    for name in STEPS:
        assert shape(name) == ((2, 4, 1) if name in statistics else (2, 4, 8)), name


def test_lesson_A3_parameters_are_shared_and_addresses_kept():
    """gamma of one feature changes that feature of every row; x of one cell changes its own row."""
    x, trace = lesson_a()
    assert [trace.axes(name) for name in ("gamma", "beta")] == [("d",), ("d",)]
    assert trace.shape_of("gamma") == (1, 1, 8)
    gamma = [0.5 + k for k in range(8)]
    gamma[5] = -3.0
    other = ns.trace(x, norm(), gamma=gamma, beta=[k / 4 for k in range(8)])
    assert changed(trace["y"], other["y"]) == {(b, s, 5) for b in range(2) for s in range(4)}
    x[1][2][4] += 0.5
    moved = ns.trace(x, norm(), gamma=[0.5 + k for k in range(8)], beta=[k / 4 for k in range(8)])
    assert changed(trace["y"], moved["y"]) == {(1, 2, k) for k in range(8)}
    assert changed(trace["c"], moved["c"]) == {(1, 2, k) for k in range(8)}


def changed(one, other):
    """The addresses (b, s, k) at which two tensors differ."""
    cells = ((b, s, k) for b in range(2) for s in range(4) for k in range(8))
    return {(b, s, k) for b, s, k in cells if one[b][s][k] != other[b][s][k]}


def test_lesson_A7_rows_come_to_one_scale():
    _, trace = lesson_a()
    for row in (row for item in trace["xhat"] for row in item):
        assert sum(row) / 8 == pytest.approx(0, abs=1e-14)
        assert sum(cell * cell for cell in row) / 8 == pytest.approx(1, rel=1e-5)


@pytest.mark.parametrize("case", LEDGER, ids=ids)
def test_lesson_A8_peak_bytes(case):
    cost = ns.ledger(norm(case["affine"]), (case["B"], case["S"], case["d"]), WIDTH[case["w"]])
    assert cost.peak_bytes == case["peak_bytes"]


@pytest.mark.parametrize("w", WIDTH)
@pytest.mark.parametrize("affine", [True, False])
def test_lesson_A8_every_storage_keeps_fp32_statistics(w, affine):
    B, S, d = 3, 5, 7
    N, R = B * S * d, B * S
    cost = ns.ledger(norm(affine), {"B": B, "S": S, "d": d}, WIDTH[w])
    assert (cost.cells, cost.statistics) == (N, R)
    assert cost.peak_bytes == (5 * N * w + 8 * R + 2 * d * w if affine else 4 * N * w + 8 * R)
    kept = {row.name: row.bytes for row in cost.rows}
    assert (kept["mu"], kept["var"], kept["c"], kept["q"]) == (4 * R, 4 * R, N * w, N * w)
    # The output's buffer is new where scaled is written into it.
    assert (kept.get("scaled"), kept.get("y")) == ((N * w, 0) if affine else (None, None))


def test_lesson_A8_the_buffers_that_are_written_again():
    places = {step.name: step.into for step in ns.forward(norm())}
    assert places == {name: name for name in STEPS} | {"v": "var", "r": "var", "scaled": "y"}


def test_lesson_A8_without_affine_y_is_xhat():
    cost = ns.ledger(norm(affine=False), (2, 4, 8))
    assert cost.same_as == "xhat" == output(ns.forward(norm(affine=False)))
    assert cost.to_json()["same_as"] == "xhat"
    assert ns.ledger(norm(), (2, 4, 8)).same_as == ""


@pytest.mark.parametrize("case", LEDGER, ids=ids)
def test_lesson_A9_flops(case):
    cost = ns.ledger(norm(case["affine"]), (case["B"], case["S"], case["d"]), WIDTH[case["w"]])
    assert cost.flops == case["flops"]
    assert cost.reciprocal_roots == case["reciprocal_roots"]


@pytest.mark.parametrize("affine", [True, False])
def test_lesson_A9_the_rows_of_the_ledger(affine):
    N, R = 3 * 5 * 7, 3 * 5
    rows = ns.ledger(norm(affine), (3, 5, 7)).rows
    expected = [("mu", N, 0), ("c", N, 0), ("q", N, 0), ("var", N, 0), ("xhat", N + R, R)]
    expected += [("scaled", N, 0), ("y", N, 0)] if affine else []
    assert [(row.name, row.flops, row.roots) for row in rows] == expected
    assert [row.steps for row in rows if row.name == "xhat"] == [("v", "r", "xhat")]


@pytest.mark.parametrize("w", WIDTH)
def test_rms_norm_costs(w):
    """4Nw + 4R + dw bytes, 4N + R FLOPs, R roots."""
    B, S, d = 3, 5, 7
    N, R = B * S * d, B * S
    cost = ns.ledger(ns.rms_norm(), (B, S, d), WIDTH[w])
    assert cost.peak_bytes == 4 * N * w + 4 * R + d * w
    assert (cost.flops, cost.reciprocal_roots) == (4 * N + R, R)


def test_lesson_A11_a_fused_kernel_moves_x_y_and_the_parameters():
    cost = ns.ledger(norm(), (2, 4, 8), "bfloat16")
    assert cost.fused_bytes == 2 * 64 * 2 + 2 * 8 * 2


@pytest.mark.parametrize("kind", ["plain cells", "float32", "float64"])
def test_lesson_A10_real_activations_give_the_recorded_output(kind):
    """All 14 x 384 cells, with the recorded gamma, beta and eps, to 1e-6."""
    source = minilm()
    x = source.rows(range(1), range(14))
    given = x if kind == "plain cells" else np.array(x, kind)
    trace = ns.trace(given, ns.layer_norm(384, source.eps), source.gamma, source.beta)
    y = np.array(source.y, float).reshape(1, 14, 384)
    assert np.shape(trace["y"]) == y.shape
    assert np.max(np.abs(np.array(trace["y"], float) - y)) <= 1e-6


# B. A named step: the exact view has its own tests; here its floats


def test_lesson_B2_floats():
    trace = ns.trace([[float(cell) for cell in GOLDEN["B"]["residual"]]], ns.layer_norm(eps=0))
    exact = GOLDEN["B"]
    assert Fraction(trace["mu"][0][0]) == Fraction(exact["mean"])
    assert list(map(Fraction, trace["c"][0])) == list(map(Fraction, exact["centered"]))
    assert Fraction(trace["var"][0][0]) == Fraction(exact["variance"])
    assert list(map(Fraction, trace["xhat"][0])) == list(map(Fraction, exact["opened_eps_0"]))


# C. The axes lab


def lab():
    return ns.trace(X, ns.layer_norm(eps=LAB["eps"]), LAB["gamma"], LAB["beta"])


def test_lesson_C_eps_is_exact():
    assert ns.layer_norm(eps=1e-5).eps == Fraction(LAB["eps"]) == ns.layer_norm(eps=LAB["eps"]).eps


@pytest.mark.parametrize("token", LAB["tokens"])
def test_lesson_C6_z_and_y_to_twelve_decimals(token):
    at, expected = LAB["tokens"].index(token), LAB["layer_norm"][token]
    trace = lab()
    assert [f"{cell:.12f}" for cell in trace["xhat"][at]] == expected["z"]
    assert [f"{cell:.12f}" for cell in trace["y"][at]] == expected["y"]
    assert f"{1 / trace['r'][at][0]:.12f}" == expected["denominator"]


@pytest.mark.parametrize("token", LAB["tokens"])
def test_lesson_C7_mean_and_variance(token):
    at, expected = LAB["tokens"].index(token), LAB["layer_norm"][token]
    trace = lab()
    assert trace["mu"][at][0] == pytest.approx(float(Fraction(expected["mean"])), abs=1e-17)
    assert trace["var"][at][0] == pytest.approx(float(Fraction(expected["variance"])), rel=1e-15)


def test_lesson_C7_cards():
    at, shown, trace = 1, LAB["shown"], lab()
    z, y = trace["xhat"][at], trace["y"][at]
    mean_y = sum(y) / 4
    assert f"{trace['mu'][at][0]:.4f}" == shown["row_mean"]
    assert f"{sum(z) / 4:.6f}" == shown["normalized_mean"]
    assert f"{mean_y:.6f}" == shown["output_mean"] == LAB["output_mean"]
    assert f"{trace['var'][at][0]:.4f}" == shown["variance"]
    assert f"{trace['var'][at][0]:.6f}" == shown["variance_live"]
    assert f"{trace['var'][at][0] ** 0.5:.6f}" == shown["raw_std"]
    assert f"{trace['v'][at][0] ** 0.5:.6f}" == shown["denominator"]
    assert f"{(sum((cell - mean_y) ** 2 for cell in y) / 4) ** 0.5:.4f}" == shown["output_std"]
    assert f"{trace['var'][at][0] / trace['v'][at][0]:.6f}" == shown["var_z"]


def test_lesson_C8_the_selected_row():
    trace, shown = lab(), LAB["shown"]
    assert [f"{cell:.6f}" for cell in trace["y"][1]] == shown["row_y"]
    assert (f"{trace['xhat'][1][0]:.6f}", f"{trace['y'][1][0]:.6f}") == (shown["z"], shown["y"])


@pytest.mark.parametrize("layout", ["[N] C", "transposed"])
def test_lesson_C9_batch_norm_of_feature_1(layout):
    """BatchNorm1d over the tokens, as rows of a table or transposed to [N=1, C=4, L=3]."""
    expected = LAB["batch_norm_feature_1"]
    if layout == "transposed":
        trace = ns.trace([[list(column) for column in zip(*X, strict=True)]], ns.batch_norm(4, affine=False))
        mean, var, z = trace["mu"][0][0][0], trace["var"][0][0][0], trace["xhat"][0][0]
    else:
        trace = ns.trace(X, ns.batch_norm(affine=False))
        mean, var, z = trace["mu"][0][0], trace["var"][0][0], [row[0] for row in trace["xhat"]]
    assert (f"{mean:.6f}", f"{var:.6f}") == (expected["mean"], expected["variance"])
    assert [f"{cell:.6f}" for cell in z] == [expected["z"][token] for token in LAB["tokens"]]


def test_lesson_C4_a_constant_row_gives_its_shift():
    trace = ns.trace([X[0], [0.0] * 4, X[2]], ns.layer_norm(), LAB["gamma"], LAB["beta"])
    assert trace["xhat"][1] == [0.0] * 4
    assert trace["y"][1] == LAB["beta"]
    assert trace["y"][0] == lab()["y"][0]
