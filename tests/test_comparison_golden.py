"""PyTorch 2.13's layers against the comparison: recorded vectors, and live (`oracle`)."""

from functools import cache

import numpy as np
import pytest

import normscope as ns
from normscope.kinds import NAMES
from tests.bounds import ulps_apart
from tests.golden.record_comparison import BATCHES, CASES, FILE, GROUPS, batches, key, outputs

ULPS = 4  # as in test_torch_golden.py
EVERY = pytest.mark.parametrize("case", CASES, ids=key)


@cache
def golden():
    with np.load(FILE) as file:
        return dict(file)


def of_case(case):
    prefix = f"{key(case)}/"
    return {name.removeprefix(prefix): value for name, value in golden().items() if name.startswith(prefix)}


def check_names(case, given, expected):
    """xhat of every norm on the first batch."""
    names = [name for name in NAMES if name in expected and name != "batch_norm_eval"]
    made = ns.compare(given[0], [*names, "batch_norm"], layout=case[0], num_groups=GROUPS)
    for each in made:
        theirs = expected["batch_norm_1" if each.name == "batch_norm" else each.name]
        assert each.xhat.shape == theirs.shape and each.xhat.dtype == theirs.dtype
        assert ulps_apart(each.trace, theirs) <= ULPS, each.name


def check_running(case, given, expected):
    """The running statistics after each of several batches, and the evaluation with the last of them."""
    start, x = {}, given[0]
    for at, batch in enumerate(given, 1):
        made = ns.compare(batch, "batch_norm", layout=case[0], batches=1, **start)[0]
        assert ulps_apart(made.trace, expected[f"batch_norm_{at}"]) <= ULPS
        close(made.running, expected, f"after_{at}", batch)
        start = {"running_mean": made.running.mean, "running_var": made.running.var}
    evaluated = ns.compare(x, "batch_norm_eval", layout=case[0], **start)[0]
    assert evaluated.running.batches == 0
    assert ulps_apart(evaluated.trace, expected["batch_norm_eval"]) <= ULPS


def check_repeated(case, given, expected):
    """The same batch three times: one number says it all."""
    running = ns.compare(given[0], "batch_norm", layout=case[0], batches=BATCHES)[0].running
    close(running, expected, "repeated", given[0])
    assert running.batches == expected["repeated_num_batches_tracked"] == BATCHES


def close(running, expected, name, x):
    digit = np.finfo(x.dtype).eps
    for ours, theirs in ((running.mean, "running_mean"), (running.var, "running_var")):
        recorded = expected[f"{name}_{theirs}"]
        np.testing.assert_allclose(ours, recorded, rtol=2 * ULPS * digit, atol=2 * ULPS * digit * np.abs(x).max())


def test_what_was_recorded():
    assert str(golden()["torch_version"]) == "2.13.0"
    assert FILE.stat().st_size < 100_000
    counts = [int(of_case(CASES[0])[f"after_{at}_num_batches_tracked"]) for at in (1, 2, 3)]
    assert counts == [1, 2, 3]
    assert {name for case in CASES for name in NAMES if name in of_case(case)} == set(NAMES) - {"batch_norm"}


@EVERY
def test_every_norm_is_pytorchs(case):
    vectors = of_case(case)
    check_names(case, [vectors["x_1"]], vectors)


@EVERY
def test_running_statistics_over_several_batches_are_pytorchs(case):
    vectors = of_case(case)
    check_running(case, [vectors[f"x_{at}"] for at in (1, 2, 3)], vectors)


@EVERY
def test_running_statistics_of_one_batch_seen_often_are_pytorchs(case):
    vectors = of_case(case)
    check_repeated(case, [vectors["x_1"]], vectors)


@EVERY
def test_the_running_variance_is_the_unbiased_one(case):
    vectors = of_case(case)
    x, layout = vectors["x_1"].astype(float), case[0]
    rows = np.moveaxis(x, -1 if layout == "tokens" else 1, 0).reshape(4, -1)
    np.testing.assert_allclose(vectors["after_1_running_var"], 0.9 + 0.1 * rows.var(axis=1, ddof=1), rtol=1e-5)


@pytest.mark.oracle
@pytest.mark.parametrize("seed", range(1, 6))
@EVERY
def test_live(case, seed):
    given = batches(case, seed)
    expected = outputs(case, given)
    check_names(case, given, expected)
    check_running(case, given, expected)
    check_repeated(case, given, expected)


@pytest.mark.oracle
@EVERY
def test_the_recorded_inputs_are_those_of_the_case(case):
    vectors = of_case(case)
    assert all(np.array_equal(vectors[f"x_{at}"], batch) for at, batch in enumerate(batches(case), 1))
