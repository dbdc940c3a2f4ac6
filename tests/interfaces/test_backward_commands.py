"""trace --backward and ledger --backward."""

import json

import numpy as np
import pytest

import normscope as ns
from normscope.interfaces import memory

RNG = np.random.default_rng(5)
X, DY = RNG.normal(size=(2, 6, 3)), RNG.normal(size=(2, 6, 3))


@pytest.fixture
def files(run):
    """A folder with x, dy and a gamma; returns the command."""
    for name, array in {"x": X, "dy": DY, "gamma": RNG.normal(size=3)}.items():
        np.save(f"{name}.npy", array)
    return run


def steps_of(out: str) -> dict[str, dict]:
    return {step["name"]: step for step in json.loads(out)["steps"]}


def test_json_has_the_steps_back_and_the_gradients(files):
    code, out, err = files("trace", "x.npy", "--gamma", "gamma.npy", "--backward", "dy.npy", "--json")
    assert (code, err) == (0, "")
    made = ns.trace(X, gamma=np.load("gamma.npy"), dy=DY)
    steps = steps_of(out)
    assert list(steps) == list(made)
    for name in made:
        assert np.array_equal(steps[name]["values"], made[name]), name
    back = [name for name, step in steps.items() if step.get("pass") == "backward"]
    assert back == [step.name for step in ns.backward(made.norm)]
    assert {"dx", "dgamma", "dbeta"} <= set(back)


def test_json_says_which_gradient_is_dy(files):
    _, out, _ = files("trace", "x.npy", "--no-affine", "--backward", "dy.npy", "--json")
    steps = steps_of(out)
    assert steps["dxhat"] == {"name": "dxhat", "same_as": "dy"} and steps["y"] == {"name": "y", "same_as": "xhat"}


def test_without_backward_no_step_has_a_pass(files):
    _, out, _ = files("trace", "x.npy", "--json")
    assert all("pass" not in step for step in steps_of(out).values())


def test_tables_of_the_steps_back_follow_dy(files):
    _, out, _ = files("trace", "x.npy", "--norm", "group_norm", "--groups", "2", "--no-affine", "--backward", "dy.npy")
    heads = [part.split()[0] for part in out.strip().split("\n\n")]
    assert heads == [
        "GroupNorm", "x", "mu", "c", "q", "var", "v", "r", "xhat", "dy", "mean_dxhat", "dxhat_xhat", "mean_dxhat_xhat",
        "centered", "along", "across", "dx", "y", "dxhat",
    ]  # fmt: skip
    assert out.endswith("y is xhat: the norm has no gamma and beta.\n\ndxhat is dy: the norm has no gamma.\n")


def test_dbeta_is_dy_where_beta_has_every_axis(files):
    np.save("row.npy", X[0, 0])
    _, out, _ = files("trace", "row.npy", "--backward", "row.npy")
    assert out.endswith("dbeta is dy: beta has every axis of x.\n")


def test_a_csv_is_a_dy_too(files):
    with open("x.csv", "w") as file:
        file.write("token,a,b\nThe,1,3\ncat,2,2\n")
    with open("dy.csv", "w") as file:
        file.write("1;0\n0,5;0\n")
    code, out, _ = files(
        "trace", "x.csv", "--eps", "3", "--backward", "dy.csv", "--json", "--no-affine", "--decimal-comma"
    )
    assert code == 0 and steps_of(out)["dx"]["values"][0] == [0.1875, -0.1875]


@pytest.mark.parametrize(
    ("dy", "code", "message"),
    [
        ("gamma.npy", 2, "dy has shape (3,); the gradient of y needs that of x, (2, 6, 3)."),
        ("none.npy", 2, "dy from none.npy: there is no such file; give a .npy, .npz, .safetensors or .csv file."),
        ("dy.pt", 3, "dy from dy.pt: a .pt file can run code when it is loaded, so it is never read; use numpy.save."),
    ],
)
def test_a_dy_that_cannot_be(files, dy, code, message):
    open("dy.pt", "w").close()
    assert files("trace", "x.npy", "--backward", dy) == (code, "", f"Error: {message}\n")


def test_memory_is_checked_for_both_ways(files, monkeypatch):
    there, both = (memory.needed(ns.layer_norm(), X.shape, 8, backward) for backward in (False, True))
    assert both == ns.trace(X, dy=DY).bytes > there == ns.trace(X).bytes
    monkeypatch.setattr(memory, "available", lambda: both - 1)
    assert files("trace", "x.npy", "--json")[0] == 0
    code, _, err = files("trace", "x.npy", "--backward", "dy.npy")
    assert code == 3 and f"{both:,} bytes" in err


def test_ledger_backward(run):
    code, out, err = run("ledger", "--shape", "2,4,8", "--backward", "--json", "--storage", "bfloat16")
    assert (code, err) == (0, "")
    assert json.loads(out) == ns.training_ledger(ns.layer_norm(), (2, 4, 8), "bfloat16").to_json()
    _, text, _ = run("ledger", "--shape", "2,4,8", "--backward", "--storage", "bfloat16", "--no-color")
    assert text == ns.training_ledger(ns.layer_norm(), (2, 4, 8), "bfloat16").text() + "\n"
