"""What a table cannot show in a guided task is not asked, with the reason; a row at rest is explained."""

import re
from dataclasses import replace

import pytest

from normscope.errors import StateError
from tests.lessons.guided import LESSON, RIGHT, after, answered, drawn, feedback, table

FLAT = after(LESSON, "constant:1")
NAUGHT = after(replace(LESSON, eps="0"), "constant:1")  # 0 / 0
COLUMN = table(((1.0,), (2.0,)))
IDLE = (
    ("shift", NAUGHT, "z of cat is no number (NaN)."),
    ("scale", NAUGHT, "z of cat is no number (NaN)."),
    ("scale", FLAT, "z of cat is 0 at feature 1, and stays 0 whatever multiplies its row."),
    ("scale", table(((0.1, 0.2, 0.3),), sel=(0, 1)), "z of a is 0 at feature 2"),
    ("constant", replace(LESSON, eps="0"), "With eps = 0 that is 0 / 0, no number, and so no prediction can be right."),
    ("outlier", COLUMN, "The other z of a have no range"),
    ("outlier", table(((1.0, 2.0),)), "The other z of a have no range"),
    ("outlier", table(((1.0, 2.0, 2.0),)), "The other z of a have no range"),
    ("outlier", table(((1e155, 2e155, 3e155),)), "The other z of a have no range"),
    ("gamma", COLUMN, "No output would move: z of feature 1 is 0 in every row, and 0 times any gamma is 0."),
    ("gamma", replace(LESSON, gamma=(1e300,) * 4), "No output would move: z of feature 1 is too small, beside its"),
    ("mean", NAUGHT, "The mean of y in the row of cat is not finite."),
)


def test_a_row_at_rest_is_told_with_its_reason():
    text = feedback(answered("gamma", "column", FLAT))
    assert text.startswith("Right. 2 of 12 outputs moved: feature 1 of The and sat.")
    assert text.endswith("No z moved. z of cat is 0 there; 0 times any gamma is 0.")
    assert "times any" not in feedback(answered("gamma", "column"))
    assert feedback(answered("gamma", "column", NAUGHT)).endswith("z of cat is no number there (NaN).")
    tiny = replace(LESSON, x=(*LESSON.x[:2], (1e-12, 0.0, 0.0, 0.0)))
    assert feedback(answered("gamma", "column", tiny)).endswith("z of sat is too near 0 there for six decimals.")


@pytest.mark.parametrize(("key", "state", "why"), IDLE)
def test_what_a_table_cannot_show_is_not_asked(key, state, why):
    tree = drawn(replace(state, task=key))
    (reason,) = tree.all("p", class_="notice")
    assert reason.text.startswith(why)
    assert tree.one("button", data_do=f"try.{key}:1").attributes["aria-disabled"] == "true"
    assert not tree.all("input") and not [node for node in tree.all("button") if "aria-pressed" in node.attributes]
    with pytest.raises(StateError, match=re.escape(why)):
        after(state, f"guess.{key}:{RIGHT[key]}")
    committed = replace(state, guesses=((key, f"{RIGHT[key]}@{state.sel[0]}.{state.sel[1]}"),))
    with pytest.raises(StateError, match=re.escape(why)):
        after(committed, f"try.{key}:1")
    assert not drawn(replace(LESSON, task=key)).all("p", class_="notice")
