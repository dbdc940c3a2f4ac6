"""normscope precision and normscope trace --policy, as a person runs them."""

import json

import numpy as np
import pytest

import normscope as ns
from normscope.losses import POLICIES

X = np.random.default_rng(6).normal(size=(2, 3, 8)).astype(np.float32)
X[1, 2] *= 1e6


@pytest.fixture
def file(tmp_path):
    np.save(tmp_path / "x.npy", X)
    return "x.npy"


def test_the_json(run, file):
    code, out, err = run("precision", file, "--json")
    assert (code, err, out.count("\n")) == (0, "", 1)
    data = json.loads(out, parse_constant=pytest.fail)
    assert [each["name"] for each in data["policies"]] == list(POLICIES)
    for each, loss in zip(data["policies"], ns.precision(X), strict=True):
        assert each.keys() == {"name", "storage", "statistics", "rows"}
        assert [row["overflow"] for row in each["rows"]] == [loss.first_overflow(at) for at in np.ndindex(2, 3)]
        assert [row["index"] for row in each["rows"]] == [list(at) for at in np.ndindex(2, 3)]
        assert [float(row["eps_share"]) for row in each["rows"]][:5] == loss.eps_share.ravel().tolist()[:5]
        assert [float(row["worst_ulp"]) for row in each["rows"]] == loss.worst_ulp.ravel().tolist()


def test_the_options(run, tmp_path, file):
    np.save(tmp_path / "gamma.npy", np.full(8, 2.0))
    options = ("--norm", "rms_norm", "--eps", "1e-6", "--gamma", "gamma.npy", "--policy", "llama-bf16")
    _, out, _ = run("precision", file, *options, "--policy", "gemma-bf16", "--json")
    wanted = ns.precision(X, ns.rms_norm(eps="1e-6"), np.full(8, 2.0), policies=["llama-bf16", "gemma-bf16"])
    assert json.loads(out)["policies"] == json.loads(ns_json(wanted))


def ns_json(losses):
    from normscope.page.json import dumps

    return dumps([loss.to_json() for loss in losses])


def test_many_rows_are_the_worst_hundred_unless_all_are_asked_for(run, tmp_path):
    np.save(tmp_path / "many.npy", np.random.default_rng(0).normal(size=(150, 4)))
    arguments = ("precision", "many.npy", "--policy", "steps-bf16", "--json")
    (few,), (every,) = (json.loads(run(*arguments, *more)[1])["policies"] for more in ((), ("--all",)))
    assert (len(few["rows"]), few["of"], len(every["rows"]), "of" in every) == (100, 150, 150, False)
    left_out = [row["worst_ulp"] for row in every["rows"] if row not in few["rows"]]
    assert max(left_out) <= min(row["worst_ulp"] for row in few["rows"])


def test_the_tables(run, file):
    code, out, err = run("precision", file, "--policy", "float32", "--policy", "steps-fp16")
    assert (code, err) == (0, "")
    head, summary, title, rows = out.rstrip("\n").split("\n\n")
    assert head == "x.npy: 6 rows; errors in ulps of the storage format"
    assert title == "The rows that lose most: worst ulp, and the value that each breaks at"
    assert [line.split()[:3] for line in summary.splitlines()] == [
        ["policy", "storage", "statistics"], ["float32", "float32", "float32"], ["steps-fp16", "float16", "float16"],
    ]  # fmt: skip
    assert [line.split()[-1] for line in summary.splitlines()[1:]] == ["nothing", "row"]
    assert summary.splitlines()[2].split()[4:7] == ["1", "inf", "1,2"]
    assert summary.splitlines()[2].endswith("x in 1 row")
    assert rows.splitlines()[0].split()[:3] == ["policy", "row", "1,2"]
    assert rows.splitlines()[2].split()[:3] == ["steps-fp16", "inf", "x"]


def test_rows_without_an_error_are_counted_beside_the_median(run, tmp_path):
    """One nan makes one row nan, and not the median of all."""
    x = np.array([[1.0, 2.0, 4.0]] * 3 + [[np.nan, 2.0, 4.0], [1e6, 2.0, 4.0]])
    np.save(tmp_path / "bad.npy", x)
    _, out, _ = run("precision", "bad.npy", "--policy", "steps-fp16")
    head, line = out.split("\n\n")[1].splitlines()
    median = float(np.median(ns.precision(x, policies="steps-fp16")[0].worst_ulp[:3]))
    assert head.rstrip().endswith("breaks at") and line.rstrip().endswith("x in 2 rows")
    assert float(line.split()[3]) == pytest.approx(median, rel=1e-3) and line.split()[4] == "2"
    np.save(tmp_path / "bad.npy", x[3:])
    _, out, _ = run("precision", "bad.npy", "--policy", "steps-fp16")
    assert out.split("\n\n")[1].splitlines()[1].split()[3] == "none"


def test_a_single_row(run, tmp_path):
    np.save(tmp_path / "row.npy", X[0, 0])
    _, out, _ = run("precision", "row.npy", "--policy", "pytorch-bf16")
    assert out.startswith("row.npy: 1 row; ") and " all " in out


def test_no_row(run, tmp_path):
    np.save(tmp_path / "none.npy", np.zeros((0, 3)))
    assert run("precision", "none.npy")[:2] == (0, "none.npy: 0 rows; errors in ulps of the storage format\n")


@pytest.mark.parametrize("command", ["precision", "trace"])
def test_a_policy_that_is_none(run, file, command):
    code, out, err = run(command, file, "--policy", "bf16")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("Error: policy is 'bf16'; it must be float64, float32, pytorch-fp32, onnxruntime-fp16, or")


def test_a_file_that_is_not_there(run):
    assert run("precision", "no.npy")[0] == 2


def test_the_help_has_examples(run):
    code, out, _ = run("precision", "--help")
    assert code == 0 and "normscope precision hidden.npy" in out and "llama" in out


def test_trace_with_a_policy(run, file):
    code, out, err = run("trace", file, "--policy", "steps-fp16", "--json")
    assert (code, err) == (0, "")
    data, wanted = json.loads(out), ns.trace(X, policy="steps-fp16")
    assert data["notes"][0] == wanted.notes[0] and data["notes"][0].startswith("policy steps-fp16: ")
    steps = {step["name"]: step for step in data["steps"]}
    assert steps["xhat"]["values"][0] == wanted["xhat"].tolist()[0]
    assert steps["var"]["values"][1][2] == ["NaN"]


def test_trace_shows_the_steps_of_the_policys_order(run, file):
    _, out, _ = run("trace", file, "--policy", "pytorch-bf16")
    assert "mr = mul(mu, r)" in out and "xhat = sub(xr, mr)" in out
