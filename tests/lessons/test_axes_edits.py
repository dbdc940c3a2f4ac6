"""Edits in the axes lab: what they move, how they are taken back, and what is refused."""

from decimal import Decimal
from urllib.parse import quote

import pytest

from normscope.lessons.site import respond
from tests.lessons.axes import after, marks, numbers, page, percent, plain, signals, state
from tests.lessons.dom import parse

OUTPUTS = ("-1.099994", "-0.999996", "0.999995", "1.399995")  # of cat, before any edit


def test_every_output_of_the_row_moves_and_no_other_row_does():
    tree = after("x.1.0:0.5")
    said = plain(tree.one(id="moved").text)
    assert said.startswith(
        "Every output of this row moved; no other row did. Outputs that moved: 4 of 12 (cat 4 of 4)."
    )
    was, now = Decimal(OUTPUTS[0]), Decimal(numbers(tree)[0][2])
    assert said.endswith(f"from {was} to {now}, by +{now - was}.")
    ghosts = [percent(float(v)) for v in OUTPUTS]
    assert marks(tree, "y", "ghost") == pytest.approx(ghosts, abs=0.01)
    assert marks(tree, "x", "ghost") == [pytest.approx(percent(-1), abs=0.01), -100, -100, -100]


def test_a_scale_moves_one_feature_of_every_token():
    said = after("gamma.0:0.5").one(id="moved").text
    assert said.startswith(
        "Feature 1 of every token moved; no other feature did. Outputs that moved: 3 of 12 "
        "(The 1 of 4; cat 1 of 4; sat 1 of 4)."
    )


def test_what_moved_elsewhere_or_nowhere_is_said_as_it_is():
    assert after("x.2.0:0.5").one(id="moved").text.startswith("Every output of the row of sat moved; no other row did.")
    assert after("rowshift.1:2").one(id="moved").text.startswith("No output moved. Outputs that moved: 0 of 12.")
    symmetric = after("table:1,2,3", "x.0.0:-3").one(id="moved").text
    assert symmetric.startswith("Every output of this row moved. Outputs that moved: 3 of 3")
    assert after("table:0,0", "x.0.0:0").one(id="moved").text.startswith("No output moved.")
    assert page().one(id="moved").text.startswith("Change a number")


def test_a_selection_keeps_the_ghosts():
    edited = state("x.1.0:0.5")
    ghosts = marks(page(edited), "y", "ghost")
    assert -100 not in ghosts and marks(after("sel:x.1.2", query=edited), "y", "ghost") == ghosts


# Edits and their undoing


def test_undo_takes_back_the_last_edit():
    assert state("x.1.0:2", "undo:1") == "v=1"
    assert state("x.1.0:2", "gamma.1:3", "undo:1").startswith(state("x.1.0:2").partition("&last")[0])
    assert state("undo:1") == "v=1"
    undo = {node.text: node for node in page().all("button")}["Undo"]
    assert undo.attributes["aria-disabled"] == "true"


def test_eps_is_an_edit_as_any_other():
    both = state("x.1.0:3", "eps:1")
    assert "last=eps:1e-5" in both
    undone = state("undo:1", query=both)
    assert "eps" not in undone and undone == state("x.1.0:3").partition("&last")[0]
    assert state("eps:0.5", "x.1.0:3", "undo:1") == "v=1&eps=0.5" and state("eps:1", "undo:1") == "v=1"
    tree = after("eps:1")
    assert tree.one(id="moved").text.startswith("Every output moved. Outputs that moved: 12 of 12")
    ghosts = [percent(float(v)) for v in OUTPUTS]
    assert marks(tree, "y", "ghost") == pytest.approx(ghosts, abs=0.01)
    undo = {node.text: node for node in tree.all("button")}["Undo"]
    assert "aria-disabled" not in undo.attributes
    dragged = state("drag.x.1.0:0", "eps:1", "drag.x.1.0:1")
    assert "last=x.1.0:0" in dragged  # not the drag before eps


def test_a_new_table_says_how_to_go_back():
    assert "Undo begins anew with it; your browser's Back brings the old one." in page().one(id="own").text
    assert state("table:1,2", "undo:1") == state("table:1,2")


def test_the_colours_are_told_what_they_are_scaled_to():
    assert "scaled apart, each to its own largest number" in page().one("main").text


def test_a_drag_is_one_edit():
    dragged = state("drag.x.1.0:0", "drag.x.1.0:1", "drag.x.1.0:2")
    assert "last=x.1.0:-1" in dragged
    assert state("undo:1", query=dragged) == "v=1"
    two = state("drag.gamma.0:1.5", "drag.gamma.0:1.6", query=dragged)
    assert state("undo:1", query=two).startswith(dragged.partition("&last")[0])
    apart = state("drag.x.1.0:1", "sel:x.1.1", "sel:x.1.0", "drag.x.1.0:2")
    assert "last=x.1.0:1" in apart


def test_a_whole_row_is_shifted_or_scaled_as_one_edit():
    assert signals(after("rowshift.1:2"))[1] == ["1", "1", "3", "3"]
    assert signals(after("rowscale.1:-3"))[1] == ["3", "3", "-3", "-3"]
    assert state("rowscale.1:-3", "undo:1") == "v=1"
    assert [row[1] for row in numbers(after("rowshift.0:1"))] == [row[1] for row in numbers(page())]


def test_reset_brings_back_the_lessons_numbers_and_keeps_the_view():
    changed = state("table:1,2", "eps:1", "zoom:fit", "gamma.1:3")
    assert state("reset:1", query=changed) == "v=1&zoom=fit"


@pytest.mark.parametrize(
    ("action", "complaint"),
    [
        ("x.1.0:cat", "'cat' is no finite number; type one such as 1.25."),
        ("x.1.0:inf", "'inf' is no finite number; type one such as 1.25."),
        ("x.9.0:1", "there is no cell 'x.9.0' in a table of 3 tokens and 4 features."),
        ("x.1:1", "there is no cell 'x.1' in a table of 3 tokens and 4 features."),
        ("gamma.4:1", "there is no cell 'gamma.4' in a table of 3 tokens and 4 features."),
        ("drag.y.0:1", "there is no cell 'y.0' in a table of 3 tokens and 4 features."),
        ("drag.x.1.0:1,5", "'1,5' is no finite number; type one such as 1.25."),
        ("sel:x.0.7", "there is no cell 'x.0.7' in a table of 3 tokens and 4 features."),
        ("constant:3", "there is no cell 'x.3.0' in a table of 3 tokens and 4 features."),
        ("rowshift.1:", "'' is no finite number; type one such as 1.25."),
        ("rowscale.1:1e309", "'1e309' is no finite number; type one such as 1.25."),
        ("eps:-1", "eps is -1; it must not be negative: it keeps variance + eps above zero."),
        ("zoom:wide", "'wide' is none of fixed, fit."),
        ("first:3", "first is 3; the lanes start at a multiple of 8 below 4."),
        ("first:x", "'x' is no whole number from 0; type one such as 3."),
        ("layout:odd", "'odd' is none of tokens, ncl, nchw."),
        ("convention:odd", "'odd' is none of pytorch, keras."),
        ("nothing:1", "there is no field 'nothing' here."),
        ("toString:1", "there is no field 'toString' here."),
    ],
)
def test_an_action_that_cannot_be_done_says_why(action, complaint):
    address = state(action)
    assert address == f"v=1&bad={quote(action, safe=':,.-')}"
    tree = page(address)
    assert tree.one("p", class_="bad").text == complaint == tree.one("p", id="say").text
    assert numbers(tree) == numbers(page())


def test_a_row_that_would_leave_float64_stays():
    tree = page(state("rowscale.1:1e300", query=state("rowscale.1:1e300")))
    assert "x, gamma and beta hold finite numbers alone." in tree.one("div", id="complaint").text


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("x=1,2;3", "row 2 of x has 1 numbers, row 1 has 2."),
        ("x=1,x", "the address has x='1,x', which cannot be read."),
        ("x=", "the address has x='', which cannot be read."),
        ("x=1,2;3,4", "tokens has 3 entries; a table of 2 tokens and 2 features needs 2."),
        ("x=1,2;3,4&tokens=a,b", "gamma has 4 entries; a table of 2 tokens and 2 features needs 2."),
        ("gamma=1,2,3,nan", "x, gamma and beta hold finite numbers alone."),
        ("beta=1,2", "beta has 2 entries; a table of 3 tokens and 4 features needs 4."),
        ("x=" + ",".join("1" * 33), "a table of 1 token and 33 features is too large; 32 x 32 are shown."),
        ("tokens=a,b," + "c" * 25, "a token's name has at most 24 characters."),
        ("eps=-1", "eps is -1; it must not be negative: it keeps variance + eps above zero."),
        ("sel=3,0", "sel is token 3, feature 0; a table of 3 tokens and 4 features is here."),
        ("sel=1", "the address has sel='1', which cannot be read."),
        ("first=8", "first is 8; the lanes start at a multiple of 8 below 4."),
        ("last=x.9.9:1", "there is no cell 'x.9.9' in a table of 3 tokens and 4 features."),
        ("last=x.1.0:nan", "'nan' is no finite number; type one such as 1.25."),
        ("last=eps:-1", "eps is -1; it must not be negative: it keeps variance + eps above zero."),
        ("last=x", "the address has last='x', which cannot be read."),
        ("dragged=x.5.5", "there is no cell 'x.5.5' in a table of 3 tokens and 4 features."),
        ("zoom=wide", "the address has zoom='wide', which cannot be read."),
        ("colour=red", "the address has 'colour', which this page does not know."),
    ],
)
def test_an_address_that_cannot_be_read_is_answered_with_the_reason(query, reason):
    status, _, body = respond("/axes", quote(query, safe="=&,:"))
    assert status == 400
    assert f"It was not changed: {reason}" in parse(body).one("main").text
