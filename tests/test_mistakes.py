"""Mistakes, each made by hand here and found by its number there."""

from fractions import Fraction
from math import isqrt

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import normscope as ns
from normscope.errors import ExactError
from normscope.mistakes import ASKED, LABELS, MISTAKES, check, explain

X, UPDATE = [1, 2, 4, 9], [3, -1, 5, 5]
ROW = [4, 1, 9, 14]  # mean 7, centered -3 -6 2 7, variance 98/4
N = 4
MADE = ns.exact(X, update=UPDATE)


def F(top: int, bottom: int = 1) -> Fraction:
    return Fraction(top, bottom)


def mean(row, n=N):
    return F(sum(row), n)


# step, answer by hand, what must be among the explanations
CASES = [
    ("residual", [-2, 3, -1, 4], "subtract the update instead of adding it"),
    ("residual", X, "leave the update out and go on with x"),
    ("residual", UPDATE, "go on with the update alone"),
    ("residual", [3, -2, 20, 45], "multiply by the update instead of adding it"),
    ("mu", 28, "leave out the division by n = 4 in the mean"),
    ("mu", F(28, 3), "divide by n - 1 = 3 instead of n = 4 in the mean"),
    ("mu", 4, "take the mean of x, not of x + update"),
    ("mu", 4, "leave the update out and go on with x"),
    ("mu", -7, "swap the sign of the mean"),
    ("mu", 3, "go on with the update alone"),
    ("mu", 1, "subtract the update instead of adding it"),
    ("mu", F(49, 2), "give the variance instead"),
    ("c", ROW, "forget to subtract the mean"),
    ("c", [3, 6, -2, -7], "subtract the values from the mean, with the sign swapped"),
    ("c", [11, 8, 16, 21], "add the mean instead of subtracting it"),
    ("c", [-6, -5, -3, 2], "subtract the mean from x, not from x + update"),
    ("c", [3, 6, 2, 7], "drop the signs of the centered values"),
    ("c", [-3, -2, 0, 5], "leave the update out and go on with x"),
    ("c", [-24, -27, -19, -14], "leave out the division by n = 4 in the mean"),
    ("c", [9, 36, 4, 49], "give the squares instead"),
    ("var", F(98, 3), "divide by n - 1 = 3 instead of n = 4 in the variance"),
    ("var", 98, "leave out the division by n = 4 in the variance"),
    ("var", F(16 + 1 + 81 + 196, 4), "forget to center before squaring"),
    ("var", 0, "forget to square"),
    ("var", F(18, 4), "drop the signs instead of squaring"),
    ("var", 0, "double instead of squaring"),
    ("var", F(9 + 4 + 0 + 25, 4), "leave the update out and go on with x"),
    ("var", F(294, 4) - 7, "subtract the mean from the mean of the squares, without squaring it"),
    ("var", F(-49, 2), "swap the sign of the variance"),
    ("var", 7, "give the mean instead"),
    ("var", sum((F(v) - F(28, 3)) ** 2 for v in ROW) / 4, "divide by n - 1 = 3 instead of n = 4 in the mean"),
]  # fmt: skip


@pytest.mark.parametrize(("step", "answer", "text"), CASES)
def test_a_mistake_is_found_by_its_number(step, answer, text):
    verdict = check(MADE, step, answer)
    assert not verdict.is_right and text in verdict.mistakes
    assert explain(MADE, step, answer).startswith("That comes out when you ")


def test_roots_taken_too_early():
    made = ns.exact([1, 5])  # variance 4
    assert "take the root of the variance already" in check(made, "var", 2).mistakes
    made = ns.exact([1, 2, 3])  # 2/3; with n - 1: 1
    assert check(made, "var", 1).mistakes == (
        "divide by n - 1 = 2 instead of n = 3 in the variance",
        "divide by n - 1 = 2 instead of n = 3 in the variance and take its root already",
    )


def test_the_variance_plus_eps_is_told_apart_only_where_eps_is_not_0():
    assert check(MADE, "mu", F(49, 2)).mistakes == ("give the variance instead",)


def test_several_mistakes_are_all_told():
    made = ns.exact([2, 3], update=[1, -1])
    assert explain(made, "var", "1/2") == (
        "That comes out when you drop the signs instead of squaring, or when you divide by n - 1 = 1 instead of n = 2 "
        "in the variance, or when you leave out the division by n = 2 in the variance, or when you take the root of "
        "the variance already."
    )


def test_every_mistake_of_the_table_is_made_here():
    texts = {mistake.text.format(n=N, less=N - 1) for mistake in MISTAKES}
    tested = {text for _, _, text in CASES} | {
        "take the root of the variance already",
        "divide by n - 1 = 3 instead of n = 4 in the variance and take its root already",
        "center, which RMSNorm does not",
    }
    assert texts <= tested


@pytest.mark.parametrize("step", ASKED)
def test_a_right_answer_needs_no_explanation(step):
    answer = MADE.written(step)
    assert check(MADE, step, answer).is_right and explain(MADE, step, answer) is None


def test_an_answer_that_nothing_gives_is_not_explained():
    verdict = check(MADE, "var", "12345/678")
    assert (verdict.is_right, verdict.mistakes, explain(MADE, "var", "12345/678")) == (False, (), None)


def test_without_an_update_no_mistake_speaks_of_one():
    made = ns.exact(ROW)
    for mistake in check(made, "mu", 4).mistakes + check(made, "c", ROW).mistakes + check(made, "var", 0).mistakes:
        assert "update" not in mistake and "residual" not in mistake
    assert "give x itself instead" in check(made, "c", ROW).mistakes
    with pytest.raises(ExactError, match=r"step is 'residual'; answers are checked of mu, c, var\.$"):
        check(made, "residual", ROW)


def test_pre_norm_takes_statistics_of_x():
    made = ns.exact(X, update=UPDATE, wiring="pre")
    assert check(made, "mu", 4).is_right and check(made, "residual", X).mistakes
    assert "not of x + update" not in str(check(made, "mu", 16).mistakes)
    assert "leave out the division by n = 4 in the mean" in check(made, "mu", 16).mistakes


def test_rms_norm_has_its_own_mistake():
    made = ns.exact([3, 4], ns.rms_norm())
    assert check(made, "var", "25/2").is_right
    assert check(made, "var", "1/4").mistakes == ("center, which RMSNorm does not",)
    assert check(made, "var", 25).mistakes == (
        "divide by n - 1 = 1 instead of n = 2 in the mean square",
        "leave out the division by n = 2 in the mean square",
    )


def test_eps_added_too_early():
    made = ns.exact([1, 3], eps="1/100000")
    assert "give the variance plus eps instead" in check(made, "var", "100001/100000").mistakes


@pytest.mark.parametrize(
    ("step", "answer", "message"),
    [
        ("mu", "a", "answer holds 'a'; give a whole number, a fraction such as 2/3 or a decimal such as 0.1."),
        ("mu", [1, 2], "answer has length 2; mu, the mean, has length 1."),
        ("c", 1, "answer has length 1; c, the centered values, has length 4."),
        ("q", 1, "step is 'q'; answers are checked of residual, mu, c, var."),
    ],
)
def test_an_answer_that_cannot_be_read(step, answer, message):
    with pytest.raises(ExactError) as caught:
        check(MADE, step, answer)
    assert str(caught.value) == message


@given(st.lists(st.integers(-9, 9), min_size=2, max_size=6), st.integers(-30, 30))
def test_division_by_n_less_one_is_named_exactly_where_it_fits(row, answer):
    made = ns.exact(row)
    n, squares = len(row), sum((F(v) - mean(row, len(row))) ** 2 for v in row)
    assume(squares / n != answer)
    named = any(
        text.endswith("in the variance") and text.startswith("divide") for text in check(made, "var", answer).mistakes
    )
    assert named == (squares / (n - 1) == answer)
    root = F(isqrt(answer * answer))
    taken = "take the root of the variance already" in check(made, "var", answer).mistakes
    assert taken == (answer >= 0 and squares / n == root * root)


def test_every_label_names_a_value():
    names = set(MADE.program.values) | {"gamma", "beta"}
    assert set(LABELS) <= names
