"""The same data under several norms: groups, what moves, names as patterns, running statistics."""

import re

import numpy as np
import pytest

import normscope as ns
from normscope.kinds import NAMES
from tests.comparing import EVERY, GOLDEN, X, one, random

PATTERNS = [("[B S d]", (2, 3, 4)), ("[B] S d", (2, 3, 4)), ("B S [d]", (2, 3, 1)), ("N [C] H W", (2, 4, 2, 3)),
            ("N ([g] c) L", (2, 6, 3)), ("B [S] (g [c])", (2, 3, 4)), ("... [d]", (2, 2, 2, 2, 2, 3))]  # fmt: skip


# --- which cells share a statistic


def by_plain_loops(each, x):
    """The cells of every group, found by the pattern's letters alone."""
    dims = [
        re.findall(r"\w+", word)
        for word in re.findall(r"\([^)]*\)|\w+", each.pattern.replace("[", "").replace("]", ""))
    ]
    groups = {}
    for index in np.ndindex(x.shape):
        at = {}
        for names, i in zip(dims, index, strict=True):
            if len(names) == 2:
                i, at[names[1]] = divmod(i, each.trace.sizes[names[1]])
            at[names[0]] = i
        groups.setdefault(tuple(at[axis] for axis in each.kept), []).append(index)
    return [groups[place] for place in sorted(groups)]


def check_groups(each, x):
    groups = by_plain_loops(each, x)
    assert (each.groups, each.cells) == (len(groups), len(groups[0]))
    numbered = np.reshape(each.group_of, x.shape)
    for number, cells in enumerate(groups):
        assert all(numbered[index] == number for index in cells)
    return groups


@pytest.mark.parametrize(("name", "layout", "shape"), EVERY)
def test_groups_and_statistics_of_every_name(name, layout, shape):
    x = random(shape)
    each = one(x, name, layout=layout)
    groups = check_groups(each, x)
    if name == "batch_norm_eval":
        return
    values = [np.array([x[index] for index in cells]) for cells in groups]
    if name == "rms_norm":
        assert each.mean is None
        np.testing.assert_allclose(np.ravel(each.variance), [np.mean(cells**2) for cells in values], rtol=1e-13)
    else:
        np.testing.assert_allclose(np.ravel(each.mean), [cells.mean() for cells in values], rtol=1e-13)
        np.testing.assert_allclose(np.ravel(each.variance), [cells.var() for cells in values], rtol=1e-13)


@pytest.mark.parametrize(("pattern", "shape"), PATTERNS)
def test_groups_of_a_typed_pattern(pattern, shape):
    x = random(shape)
    check_groups(one(x, pattern), x)


@pytest.mark.parametrize(("name", "layout", "shape"), EVERY)
def test_the_outputs_that_move_are_those_said(name, layout, shape):
    check_moves(random(shape), name, layout)


@pytest.mark.parametrize(("pattern", "shape"), PATTERNS)
def test_the_outputs_that_move_under_a_typed_pattern(pattern, shape):
    check_moves(random(shape), pattern, "tokens")


def check_moves(x, norm, layout):
    """Change one cell, run again, and look. Evaluation keeps the statistics it was given."""
    channels = x.shape[-1 if layout == "tokens" else 1]
    start = {"running_mean": np.zeros(channels), "running_var": np.ones(channels)} if norm == "batch_norm_eval" else {}
    before = one(x, norm, layout=layout, **start)
    for index in [(0,) * x.ndim, tuple(size - 1 for size in x.shape)]:
        changed = x.copy()
        changed[index] += 0.7
        after = one(changed, norm, layout=layout, **start)
        moved = {tuple(map(int, at)) for at in np.argwhere(before.xhat != after.xhat)}
        assert set(before.moved_by(*index)) == moved
        assert len(before.moved_by(*index)) == before.moves == len(moved)


def test_a_cell_that_is_a_group_of_its_own_moves_nothing():
    each = one([[5.0], [7.0]], "layer_norm")
    assert (each.xhat, each.moves, each.moved_by(0, 0)) == ([[0.0], [0.0]], 0, [])
    assert one([[5.0], [7.0]], "rms_norm").moves == 1


# --- names as patterns


@pytest.mark.parametrize(
    ("layout", "shape", "patterns"),
    [
        ("tokens", (3, 4), "S [d]|S [d]|[S] d|[S] d|[S] d|[S] (g [c])"),
        ("tokens", (1, 3, 4), "B S [d]|B S [d]|[B S] d|[B S] d|B [S] d|B [S] (g [c])"),
        ("tokens", (1, 2, 3, 4), "B H S [d]|B H S [d]|[B H S] d|[B H S] d|B [H S] d|B [H S] (g [c])"),
        ("channels", (1, 4, 3), "N [C L]|N [C L]|[N] C [L]|[N] C [L]|N C [L]|N (g [c]) [L]"),
        (
            "channels",
            (1, 4, 2, 3),
            "N [C H W]|N [C H W]|[N] C [H W]|[N] C [H W]|N C [H W]|N (g [c]) [H W]",
        ),
    ],
)
def test_names_are_patterns_over_the_axes_of_x(layout, shape, patterns):
    made = ns.compare(random(shape), NAMES, layout=layout, num_groups=2)
    assert [each.pattern for each in made] == patterns.split("|")
    assert [each.name for each in made] == list(NAMES)


def test_one_axis_is_a_row_of_features():
    assert [each.pattern for each in ns.compare([1.0, 2.0], "layer_norm, group_norm", num_groups=1)] == [
        "[d]",
        "(g [c])",
    ]


def test_norms_come_as_text_as_patterns_and_as_norms():
    made = ns.compare(X, ["layer_norm", "[S] d", ns.rms_norm(), ns.layer_norm()])
    assert [each.name for each in made] == ["layer_norm", "[S] d", "RMSNorm", "LayerNorm"]
    assert [each.title for each in made] == ["LayerNorm", "BatchNorm", "RMSNorm", "LayerNorm"]
    assert made["[S] d"] is made[1] and len(made) == 4
    assert ns.compare(X, ns.rms_norm())[0].title == "RMSNorm"


def test_affine_is_left_out_and_eps_is_shared_where_it_is_given():
    made = ns.compare(X, [ns.layer_norm(), ns.rms_norm(), "batch_norm"], eps="1/4")
    assert all(each.norm.affine is None and each.norm.eps.denominator == 4 for each in made)
    own = ns.compare(X, [ns.layer_norm(eps=0.5), "batch_norm"])
    assert [float(each.norm.eps) for each in own] == [0.5, 1e-5]


# --- the figures of the lesson


def test_lesson_C9_the_selected_column_under_batch_norm():
    made = ns.compare([X], eps=GOLDEN["eps"])
    column = GOLDEN["batch_norm_feature_1"]
    assert [f"{row[0]:.6f}" for row in made["batch_norm"].xhat[0]] == list(column["z"].values())
    assert f"{made['batch_norm'].mean[0]:.6f}" == column["mean"]
    assert f"{made['batch_norm'].variance[0]:.6f}" == column["variance"]
    assert [f"{value[0][1]:.6f}" for value in (made["layer_norm"].mean, made["layer_norm"].variance)] == [
        "0.000000",
        "1.000000",
    ]
    for row, token in zip(made["layer_norm"].xhat[0], GOLDEN["layer_norm"].values(), strict=True):
        assert [f"{cell:.12f}" for cell in row] == token["z"]


def test_lesson_C9_the_transpose_keeps_batch_norm_and_changes_what_layer_norm_reduces():
    flipped = [[list(column) for column in zip(*X, strict=True)]]
    tokens, channels = ns.compare([X]), ns.compare(flipped, layout="channels")
    assert np.transpose(channels["batch_norm"].xhat, (0, 2, 1)).tolist() == tokens["batch_norm"].xhat
    assert (channels["layer_norm"].groups, tokens["layer_norm"].groups) == (1, 3)
    typed = ns.compare(flipped, "N [C] L")[0]
    assert np.transpose(typed.xhat, (0, 2, 1)).tolist() == tokens["layer_norm"].xhat


# --- running statistics


@pytest.mark.parametrize("convention", ["pytorch", "keras"])
@pytest.mark.parametrize("batches", [0, 1, 2, 7])
def test_running_statistics_of_both_conventions_by_plain_arithmetic(convention, batches):
    x, momentum = random((2, 3, 4)), 0.3
    mean, var = np.zeros(4), np.ones(4)
    for _ in range(batches):
        if convention == "pytorch":
            mean = (1 - momentum) * mean + momentum * x.mean((0, 1))
            var = (1 - momentum) * var + momentum * x.var((0, 1), ddof=1)
        else:
            mean = momentum * mean + (1 - momentum) * x.mean((0, 1))
            var = momentum * var + (1 - momentum) * x.var((0, 1))
    made = ns.compare(x, ["batch_norm", "batch_norm_eval"], momentum=momentum, convention=convention, batches=batches)
    for each in made:
        np.testing.assert_allclose(each.running.mean, mean, rtol=1e-13)
        np.testing.assert_allclose(each.running.var, var, rtol=1e-13)
        assert each.running[2:] == (batches, 0.3, convention)
    evaluated = made["batch_norm_eval"]
    np.testing.assert_allclose(evaluated.xhat, (x - mean) / np.sqrt(var + 1e-5), rtol=1e-12)
    np.testing.assert_array_equal(evaluated.mean, evaluated.running.mean)
    np.testing.assert_array_equal(evaluated.variance, evaluated.running.var)


def test_default_momentum_and_count_of_batches():
    assert ns.compare(X, "batch_norm")[0].running[2:] == (1, 0.1, "pytorch")
    assert ns.compare(X, "batch_norm", convention="keras")[0].running[2:] == (1, 0.99, "keras")
    given = ns.compare(X, "batch_norm_eval", running_mean=[1.0] * 4, running_var=[4.0] * 4, eps=0)[0]
    assert given.running.batches == 0
    assert given.xhat == [[(cell - 1) / 2 for cell in row] for row in X]


def test_zero_batches_leave_the_statistics_as_they_were_given_even_beside_nan():
    made = ns.compare([[float("nan"), 1.0], [1.0, 1.0]], "batch_norm_eval", batches=0)[0]
    assert (made.running.mean, made.running.var) == ([0.0, 0.0], [1.0, 1.0])


def test_norms_that_keep_no_running_statistics_have_none():
    running = {each.name: each.running is not None for each in ns.compare([X], NAMES, num_groups=2)}
    assert [name for name, has in running.items() if has] == ["batch_norm", "batch_norm_eval"]
    assert ns.compare(X, ns.batch_norm())[0].running is not None
    assert [each.running is None for each in ns.compare(X, "batch_norm,instance_norm")] == [False, True]  # one pattern
