"""The guided tasks of the axes lab: a prediction first, then an ordinary edit, and figures of the table at hand."""

import random
import re
from dataclasses import replace
from itertools import chain
from statistics import fmean

import pytest

from normscope.errors import StateError
from normscope.lessons.axes_lab import actions, tasks
from normscope.lessons.axes_lab.questions import TASKS
from normscope.lessons.axes_lab.state import CODECS, State
from normscope.lessons.state import act, complaint, read, split, write
from normscope.page.controls import Complaint
from tests.lessons.dom import Node, parse

DONE = actions.done(tasks.ACTIONS)
LESSON = State()
RIGHT = {
    "shift": "stays",
    "scale": "near",
    "constant": "0.1",
    "outlier": "squeeze",
    "gamma": "column",
    "swap": "x",
    "mean": "both",
}


def after(state: State, *does: str) -> State:
    for do in does:
        field, _, value = do.partition(":")
        state = DONE(state, field, value)
    return state


def answered(key: str, answer: str, state: State = LESSON) -> State:
    return after(state, f"task:{key}", f"guess.{key}:{answer}", f"try.{key}:1")


def drawn(state: State) -> Node:
    return parse(str(tasks.draw(state, Complaint()))).one(id="task")


def feedback(state: State) -> str:
    (said,) = drawn(state).all(class_="right") + drawn(state).all(class_="wrong")
    return " ".join(node.text for node in said.all("p"))


def numbers(text: str) -> list[float]:
    """Every number of six and more decimals in a text."""
    found = re.findall(r"(?<![\w.])[−-]?\d+\.\d{6,}(?:e-?\d+)?", text)
    return [float(number.replace("−", "-")) for number in found]


# ---- an oracle: LayerNorm in plain loops


def norm(row, eps=1e-5):
    mean = sum(row) / len(row)
    variance = sum((cell - mean) ** 2 for cell in row) / len(row)
    return mean, variance, [(cell - mean) / (variance + eps) ** 0.5 if variance + eps else float("nan") for cell in row]


def outputs(state, eps=1e-5):
    rows = (norm(row, eps)[2] for row in state.x)
    return [[g * z + b for g, z, b in zip(state.gamma, row, state.beta, strict=True)] for row in rows]


def tables(count):
    draw = random.Random(7)
    for _ in range(count):
        size = draw.randint(2, 5), draw.randint(3, 6)

        def numbers(length):
            return tuple(round(draw.uniform(-4, 4), 2) for _ in range(length))

        yield State(
            x=tuple(numbers(size[1]) for _ in range(size[0])),
            tokens=tuple(f"t{i}" for i in range(size[0])),
            gamma=numbers(size[1]),
            beta=numbers(size[1]),
            sel=(draw.randrange(size[0]), draw.randrange(size[1])),
        )


TABLES = [LESSON, *tables(12)]


# ---- predict, then look


@pytest.mark.parametrize("key", TASKS)
def test_nothing_is_done_before_a_prediction(key):
    state = after(LESSON, f"task:{key}")
    tree = drawn(state)
    (deed,) = tree.all("button", data_do=f"try.{key}:1")
    assert deed.attributes["aria-disabled"] == "true" and not tree.all(class_="right") + tree.all(class_="wrong")
    refused = act(state, f"try.{key}", "1", DONE)
    assert replace(refused, bad=None) == state and complaint(refused, DONE).startswith("commit a prediction first")
    committed = after(state, f"guess.{key}:{RIGHT[key]}")
    assert committed.x == LESSON.x and committed.gamma == LESSON.gamma
    tree = drawn(committed)
    assert "aria-disabled" not in tree.one("button", data_do=f"try.{key}:1").attributes
    assert [node.text for node in tree.all("button", aria_pressed="true")] == (
        [TASKS[key].options[RIGHT[key]]] if TASKS[key].options else []
    )
    assert "prediction is committed" in tasks.said(committed) and not tree.all(class_="right")


@pytest.mark.parametrize("key", TASKS)
def test_the_right_answer_of_the_lesson(key):
    state = answered(key, RIGHT[key])
    assert feedback(state).startswith("Right.") and tasks.said(state) == feedback(state)
    assert tasks.said(state) not in tasks.said(LESSON) + tasks.said(replace(state, task=""))


@pytest.mark.parametrize("key", [key for key, task in TASKS.items() if task.options])
def test_every_wrong_choice_is_answered_with_what_would_give_it(key):
    told = set()
    for option, words in TASKS[key].options.items():
        state = answered(key, option)
        if option == RIGHT[key]:
            continue
        first = drawn(state).one(class_="wrong").all("p")[0].text
        assert first.startswith(f"“{words}” is not it. That ") and "Nothing known" not in first
        assert f"The answer is “{TASKS[key].options[RIGHT[key]]}”." in feedback(state)
        told.add(first.partition("is not it.")[2])
    assert len(told) == len(TASKS[key].options) - 1 or key == "swap"


@pytest.mark.parametrize("key", TASKS)
def test_the_edit_is_an_ordinary_one(key):
    state = answered(key, RIGHT[key])
    assert bool(state.last) == (key != "swap")
    undone = after(state, "undo:1")
    assert (undone.x, undone.gamma, undone.beta) == (LESSON.x, LESSON.gamma, LESSON.beta)
    if key != "swap":
        assert "has changed since" in drawn(undone).text and tasks.said(undone) == ""
        again = after(undone, f"try.{key}:1")
        assert (again.x, again.gamma, feedback(again)) == (state.x, state.gamma, feedback(state))
        later = after(state, "x.2.3:4.5")
        assert "has changed since" in drawn(later).text and not drawn(later).all(class_="right")


@pytest.mark.parametrize("key", TASKS)
def test_it_is_about_the_place_where_it_was_committed(key):
    state = after(LESSON, f"task:{key}", "sel:x.2.1", f"guess.{key}:{RIGHT[key]}", "sel:x.0.3", f"try.{key}:1")
    other = answered(key, RIGHT[key], replace(LESSON, sel=(2, 1)))
    assert (state.x, state.gamma, state.beta) == (other.x, other.gamma, other.beta)
    assert (tasks.said(state), drawn(state).one(id="question").text) == (
        tasks.said(other), drawn(other).one(id="question").text
    )  # fmt: skip
    fresh = after(state, f"again.{key}:1")
    assert tasks.guess_of(fresh, key) is None and fresh.x == state.x


def test_a_prediction_stands_fast_once_its_task_was_done():
    state = answered("shift", "rises")
    chosen = [node for node in drawn(state).all("button") if "aria-pressed" in node.attributes]
    assert len(chosen) == 3 and all(node.attributes["aria-disabled"] == "true" for node in chosen)
    assert complaint(act(state, "guess.shift", "stays", DONE), DONE).endswith("press Predict again first.")
    assert "You predicted 0.1." in drawn(answered("constant", "0.1")).text
    assert drawn(after(LESSON, "task:constant")).all("input", data_do="guess.constant")


@pytest.mark.parametrize("key", TASKS)
def test_every_stage_stands_in_the_address(key):
    for state in (after(LESSON, f"task:{key}", f"guess.{key}:{RIGHT[key]}"), answered(key, RIGHT[key])):
        query = write(state, CODECS)
        assert read(State, CODECS, split(query).fields) == state == tasks.check(state)


STRANGE = (
    "task=juggle",
    "guesses=juggle:1@0.0",
    "guesses=shift:sideways@0.0",
    "guesses=shift:stays",
    "guesses=shift:stays@a.b",
    "guesses=constant:much@0.0",
    "guesses=constant:nan@0.0",
)


@pytest.mark.parametrize("query", STRANGE)
def test_an_address_with_a_task_that_is_none_is_refused(query):
    with pytest.raises(StateError):
        tasks.check(read(State, CODECS, split(query).fields))


def test_a_number_that_is_none_is_complained_of_at_its_field():
    state = act(after(LESSON, "task:constant"), "guess.constant", "much", DONE)
    text = complaint(state, DONE)
    tree = parse(str(tasks.draw(state, Complaint("guess.constant", "much", text)))).one(id="task")
    assert tree.one("input").attributes["aria-invalid"] == "true" and "no finite number" in tree.one(class_="bad").text


def test_a_place_that_a_new_table_lacks_is_no_prediction():
    state = after(LESSON, "task:shift", "sel:x.2.3", "guess.shift:stays")
    small = replace(state, x=((1.0, 2.0),), tokens=("a",), gamma=(1.0, 1.0), beta=(0.0, 0.0), sel=(0, 0))
    assert tasks.guess_of(small, "shift") is None and "Add 2 to every feature of a." in drawn(small).text


# ---- the figures


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


def test_a_constant_row_without_eps_is_no_number():
    state = answered("constant", "0.1", replace(LESSON, eps="0"))
    assert "z = 0 / sqrt(0 + 0) = NaN" in feedback(state) and "0 / 0, which is no number" in feedback(state)


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
    assert numbers(facts) == pytest.approx([weighed, fmean(state.beta), means[token], 0.0], abs=0.6e-6)
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
    d = len(x[0])
    state = State(x=x, tokens=tuple("ab"[: len(x)]), gamma=(1.0,) * d, beta=(0.0,) * d, eps=eps, sel=(0, 0))
    for key, task in TASKS.items():
        told = [feedback(answered(key, answer, state)) for answer in task.options or ("0", "1")]
        assert not task.options or sum(text.startswith("Right.") for text in told) <= 1
