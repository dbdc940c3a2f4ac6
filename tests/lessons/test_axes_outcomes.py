"""What the guided tasks say: figures of the table at hand, checked by LayerNorm in plain loops."""

import re
from dataclasses import replace
from itertools import chain
from statistics import fmean

import pytest

from normscope.lessons.axes_lab.predictions import Place
from normscope.lessons.axes_lab.questions import TASKS
from tests.lessons.guided import (
    LESSON,
    TABLES,
    after,
    answered,
    drawn,
    feedback,
    norm,
    numbers,
    outputs,
    table,
)


@pytest.mark.parametrize("x", [(1.0, 2.0, 3.0), (1e6, 0.0, 1.0), (5.0, -400.0, 400.0)])
def test_how_far_out_a_value_squeezes_the_others(x):
    def spread(value):
        rest = norm([value, *x[1:]])[2][1:]
        return max(rest) - min(rest)

    text = feedback(answered("outlier", "squeeze", table((x,))))
    if spread(30.0) < spread(x[0]):
        assert text.startswith("Right.")
    else:
        value, told = re.search(r"with (\S+) it is (\S+)\. ", text).groups()
        assert float(told) == pytest.approx(spread(float(value)), abs=0.6e-6) and float(told) < spread(x[0])


def test_a_mean_that_gamma_leaves_0_is_told_as_it_is():
    facts = feedback(answered("mean", "both", replace(LESSON, gamma=(2.0,) * 4)))
    assert "these gammas leave it 0 in every row. And beta adds a mean of its own to every row." in facts
    assert "And beta" not in feedback(answered("mean", "gamma", replace(LESSON, beta=(0.0,) * 4)))


def test_lesson_cats_mean_is_explained_by_a_row_that_shows_it():
    facts = feedback(answered("mean", "both"))
    assert "not once gammas that differ weigh it: for The mean(gamma · z) was 0.108623." in facts


def test_counts_of_means_are_told_in_plain_words():
    text = feedback(answered("swap", "x", table(((1.0, 2.0),))))
    assert "One mean and variance a token, 1 of each, are now one a feature, 2 of each." in text


@pytest.mark.parametrize("state", TABLES)
def test_shift_says_what_becomes_of_the_row(state):
    token, feature = state.sel
    told = answered("shift", "rises", state)
    row, moved = state.x[token], told.x[token]
    assert moved == tuple(cell + 2 for cell in row)
    (mean, variance, z), (mean2, _, z2) = norm(row), norm(moved)
    facts = drawn(told).one(class_="wrong").all("p")[1].text
    assert "The answer is “It stays”." in facts
    expected = [z[feature], mean, mean2, variance]
    assert numbers(facts) == pytest.approx(expected, abs=0.6e-6) and abs(z[feature] - z2[feature]) < 1e-9
    root = (variance + 1e-5) ** 0.5
    would = drawn(told).one(class_="wrong").all("p")[0].text
    assert numbers(would) == pytest.approx([row[feature] / root, moved[feature] / root], abs=0.6e-6)
    shrinks = drawn(answered("shift", "shrinks", state)).one(class_="wrong").all("p")[0].text
    wider = (row[feature] - mean) / (4 * variance + 1e-5) ** 0.5
    assert numbers(shrinks) == pytest.approx([wider], abs=0.6e-6)


@pytest.mark.parametrize("eps", [1e-5, 0.5, 0.0])
@pytest.mark.parametrize("state", TABLES)
def test_scale_says_what_eps_does(state, eps):
    token, feature = state.sel
    state = replace(state, eps=repr(eps))
    row = state.x[token]
    (mean, variance, z), (_, variance9, z3) = norm(row, eps), norm([3 * cell for cell in row], eps)
    moved = abs(z3[feature] - z[feature])
    truth = (
        "same"
        if moved < 1e-12
        else "times"
        if abs(z3[feature] / z[feature] - 3) < 0.01
        else "near"
        if moved < 0.01
        else "more"
    )
    told = answered("scale", truth, state)
    assert feedback(told).startswith("Right.") and truth == {0.0: "same"}.get(eps, truth)
    figures = [z[feature]] * (truth == "same") or [z[feature], z3[feature]]
    shares = [variance / (variance + eps), variance9 / (variance9 + eps)]
    assert numbers(feedback(told))[: len(figures)] == pytest.approx(figures, abs=0.6e-8)
    assert numbers(feedback(told))[-1] == pytest.approx(shares[-1], abs=0.6e-8)
    for answer, other in (("near", 1e-4 * variance), ("more", variance), ("same", 0.0)):
        if answer != truth:
            would = drawn(answered("scale", answer, state)).one(class_="wrong").all("p")[0].text
            ways = [norm([by * cell for cell in row], other)[2][feature] for by in (1, 3)]
            assert numbers(would)[-1] == pytest.approx(ways[1], abs=0.6e-8)
    if truth != "times":
        would = drawn(answered("scale", "times", state)).one(class_="wrong").all("p")[0].text
        assert numbers(would) == pytest.approx([row[feature] - mean, 3 * (row[feature] - mean)], abs=0.6e-6)


@pytest.mark.parametrize("state", TABLES)
def test_a_constant_row_gives_beta(state):
    token, feature = state.sel
    before = outputs(state)[token][feature]
    gamma, beta = state.gamma[feature], state.beta[feature]
    assert set(answered("constant", "7.5", state).x[token]) == {0.0}
    for answer in (repr(beta), f"{beta:.1f}" if abs(beta - round(beta, 1)) < 0.005 else repr(beta)):
        assert feedback(answered("constant", answer, state)).startswith("Right.")
    assert numbers(feedback(answered("constant", repr(beta), state)))[-1] == pytest.approx(beta)
    others = [other for at, other in enumerate(state.beta) if at != feature]
    for answer, told in (
        (0.0, "That is z"),
        (gamma, "That is gamma;"),
        (gamma + beta, "it takes z = 1"),
        (before, "y before"),
    ):
        if abs(answer - beta) > 0.01:
            assert told in feedback(answered("constant", f"{answer:.6f}", state)) or answer in (0.0, gamma, *others)
    assert "That is beta of feature" in feedback(answered("constant", repr(others[0]), state)) or others[0] in (
        0.0,
        gamma,
        beta,
    )
    assert "Nothing known here gives that number." in feedback(answered("constant", "123.25", state))


def test_a_number_may_be_rounded_as_it_was_typed_but_no_further():
    state = replace(LESSON, beta=(0.12343, 0.0, 0.0, 0.0))
    right = {
        answer: feedback(answered("constant", answer, state)).startswith("Right.")
        for answer in ("0.12343", "0.1234", "0.123", "0.12", "0.1", "0.124", "0")
    }
    assert right == {
        "0.12343": True,
        "0.1234": True,
        "0.123": True,
        "0.12": True,
        "0.1": False,
        "0.124": False,
        "0": False,
    }


@pytest.mark.parametrize("state", TABLES)
def test_an_outlier_squeezes_the_others(state):
    token, feature = state.sel

    def spread(row):
        rest = [z for at, z in enumerate(norm(row)[2]) if at != feature]
        return max(rest) - min(rest)

    told = answered("outlier", "stay", state)
    row, far = state.x[token], told.x[token]
    assert far[feature] == 30 and far[:feature] + far[feature + 1 :] == row[:feature] + row[feature + 1 :]
    assert "The answer is “They are squeezed together”." in feedback(told)
    (_, variance, _), (_, variance2, z) = norm(row), norm(far)
    roots = [(each + 1e-5) ** 0.5 for each in (variance, variance2)]
    most = (len(row) - 1) ** 0.5
    facts = drawn(told).one(class_="wrong").all("p")[1].text
    assert numbers(facts) == pytest.approx([spread(row), spread(far), *roots, z[feature], most], abs=0.6e-6)
    other = 1 if feature == 0 else 0
    own = norm([each[other] for each in state.x])[2][token]
    assert numbers(drawn(told).one(class_="wrong").all("p")[0].text) == pytest.approx([own], abs=0.6e-6)


@pytest.mark.parametrize("state", TABLES)
def test_one_gamma_moves_one_feature_of_every_token(state):
    token, feature = state.sel
    told = answered("gamma", "row", state)
    assert told.gamma[feature] == state.gamma[feature] + 0.5
    pairs = list(zip(outputs(state), outputs(told), strict=True))
    moved = [state.tokens[t] for t, (old, new) in enumerate(pairs) if abs(old[feature] - new[feature]) > 1e-6]
    count = sum(abs(a - b) > 1e-6 for old, new in pairs for a, b in zip(old, new, strict=True))
    assert f"{count} of {len(state.x) * len(state.gamma)} outputs moved" in feedback(told)
    assert all(word in feedback(told) for word in moved) and count == len(moved)
    further = replace(
        told, x=tuple(tuple(c + 0.5 * ((t, k) == state.sel) for k, c in enumerate(row)) for t, row in enumerate(told.x))
    )
    row = sum(abs(a - b) > 1e-6 for a, b in zip(outputs(told)[token], outputs(further)[token], strict=True))
    assert f"{row} outputs of {state.tokens[token]} move" in feedback(told)
    every = zip(chain(*outputs(told)), chain(*outputs(told, 1.0)), strict=True)
    assert f"{sum(abs(a - b) > 1e-6 for a, b in every)} outputs move." in feedback(answered("gamma", "all", state))


@pytest.mark.parametrize("state", TABLES)
def test_swapped_axes_keep_x_alone(state):
    token, feature = state.sel
    told = answered("swap", "mean", state)
    column = [row[feature] for row in state.x]
    (mean, variance, z), (mean2, variance2, z2) = norm(state.x[token]), norm(column)
    facts = drawn(told).one(class_="wrong").all("p")[1].text
    assert "The answer is “x alone”." in facts
    expected = [mean, mean2, variance, variance2, z[feature], z2[token]]
    assert numbers(facts) == pytest.approx(expected, abs=0.6e-6)
    whole = fmean(chain(*state.x))
    assert numbers(drawn(told).one(class_="wrong").all("p")[0].text) == pytest.approx([whole], abs=0.6e-6)
    assert (told.x, told.last) == (state.x, state.last)


def test_lesson_C9_swapped_axes_give_the_columns_figures():
    assert numbers(feedback(answered("swap", "x")))[1::2] == [-0.166667, 0.348889, -1.410811]


def test_a_table_that_is_alike_both_ways_keeps_everything():
    state = replace(
        LESSON, x=((1.0, -1.0), (-1.0, 1.0)), tokens=("a", "b"), gamma=(1.0, 1.0), beta=(0.0, 0.0), sel=(0, 0)
    )
    assert feedback(answered("swap", "all", state)).startswith("Right.")
    assert "z in 4 of them" in feedback(answered("swap", "x", state))


@pytest.mark.parametrize("state", TABLES)
def test_the_mean_of_the_output(state):
    token = state.sel[0]
    means = [fmean(row) for row in outputs(state)]
    told = answered("mean", "beta", state)
    assert (set(told.gamma), set(told.beta)) == ({1.0}, {0.0})
    z = norm(state.x[token])[2]
    weighed = fmean(g * each for g, each in zip(state.gamma, z, strict=True))
    facts = drawn(told).one(class_="wrong").all("p")[1].text
    assert "The answer is “Set every gamma to 1 and every beta to 0”." in facts
    told_of = [fmean(g * each for g, each in zip(state.gamma, norm(row)[2], strict=True)) for row in state.x]
    other = [] if abs(weighed) > 1e-6 else [next(mean for mean in told_of if abs(mean) > 1e-6)]
    expected = [weighed, fmean(state.beta), means[token], 0.0, *other]
    assert numbers(facts) == pytest.approx(expected, abs=0.6e-6)
    bare = [fmean(row) for row in outputs(replace(state, beta=(0.0,) * len(state.beta)))]
    (left,) = numbers(drawn(told).one(class_="wrong").all("p")[0].text)
    assert abs(left) == pytest.approx(max(map(abs, bare)), abs=0.6e-6)
    assert numbers(drawn(after(state, "task:mean")).one(id="question").text) == pytest.approx(
        [means[token]], abs=0.6e-6
    )


LEAST = (
    ((2.0,) * 4, (1.0, 2.0, 3.0, 4.0), "beta"),
    ((2.0,) * 4, (1.0, -1.0, 0.5, -0.5), "none"),
    ((1.0, 2.0, 3.0, 4.0), (0.0,) * 4, "gamma"),
)


@pytest.mark.parametrize(("gamma", "beta", "right"), LEAST)
def test_the_least_that_makes_the_means_0_is_found_on_the_table(gamma, beta, right):
    state = replace(LESSON, gamma=gamma, beta=beta)
    assert feedback(answered("mean", right, state)).startswith("Right.")
    assert "less is enough" in feedback(answered("mean", "both", state))


ODD = (
    ((0.0,),),
    ((5.0, 5.0),),
    ((1e300, -1e300, 1e300),),
    ((1e17, 1e17 + 64.0, 0.0), (1.0, 2.0, 3.0)),
    ((1e-200, 0.0, 0.0),),
)


@pytest.mark.parametrize("x", ODD)
@pytest.mark.parametrize("eps", ["1e-5", "0"])
def test_odd_tables_are_answered_too(x, eps):
    state = table(x, eps=eps)
    for key, task in TASKS.items():
        if task.refuse(state, Place(0, 0)):
            continue
        told = [feedback(answered(key, answer, state)) for answer in task.options or ("0", "1")]
        assert not task.options or sum(text.startswith("Right.") for text in told) <= 1
