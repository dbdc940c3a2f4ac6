"""Addresses: written, read, refused; and what actions do to a state."""

import random
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from normscope.errors import StateError
from normscope.lessons import state as addresses
from normscope.lessons.inside.actions import LOOKING, MOST_EDITS, done
from normscope.lessons.inside.page import LESSON
from normscope.lessons.inside.state import State
from normscope.lessons.site import respond
from normscope.lessons.sources import MODELS
from normscope.lessons.state import LONGEST, split


def state(query: str = "") -> State:
    return LESSON.state_of(split(query), {})


def act(made: State, field: str, value: str, sources: dict) -> State:
    return addresses.act(made, field, value, partial(done, sources=sources), LOOKING)


def complaint(made: State, sources: dict) -> str:
    return addresses.complaint(made, partial(done, sources=sources))


def after(query: str, *actions: str) -> State:
    """The state of an address after some actions."""
    made = state(query)
    for action in actions:
        field, _, value = action.partition(":")
        made = act(made, field, value, {})
    return made


ACTIONS = st.one_of(
    st.tuples(st.just("source"), st.sampled_from(["symbolic", "minilm", "gpt2-small", "t5-small", "nowhere"])),
    st.tuples(st.just("norm"), st.sampled_from(["layer_norm", "rms_norm", "x"])),
    st.tuples(st.just("affine"), st.sampled_from(["both", "scale", "none"])),
    st.tuples(st.just("storage"), st.sampled_from(["float32", "bfloat16", "float7"])),
    st.tuples(st.just("eps"), st.sampled_from(["1e-5", "0", "1/3", "-1", "inf", "abc", "1e-999999999", ""])),
    st.tuples(st.just("seed"), st.sampled_from(["0", "7", "-1", "1.5"])),
    st.tuples(st.just("step"), st.sampled_from(["0", "3", "8", "99", "var", "mu", "nope"])),
    st.tuples(st.just("sel"), st.sampled_from(["", "x.0.1.2", "mu.0.1", "gamma.3", "beta.1", "q.9.9.9", "eps"])),
    st.tuples(
        st.sampled_from(["x.0.0.0", "x.0.1.2", "gamma.2", "beta.7", "x.5.5.5"]), st.sampled_from(["1", "-2.5e3", "nan"])
    ),
    st.tuples(st.sampled_from(["size.B", "size.S", "size.d"]), st.sampled_from(["1", "3", "16", "0", "x"])),
    st.tuples(st.sampled_from(["at.B", "at.S", "at.d"]), st.sampled_from(["0", "5", "999999", "-1", "q"])),
    st.tuples(st.sampled_from(["undo", "reset", "copy", "wrong"]), st.sampled_from(["1", "numpy", ""])),
)


@given(st.lists(ACTIONS, max_size=12))
def test_whatever_is_done_the_address_reads_back_as_the_same_state(actions):
    made = State()
    for field, value in actions:
        made = act(made, field, value, {})
    again = state(LESSON.canonical(made))
    assert again == made
    assert LESSON.canonical(again) == LESSON.canonical(made)
    assert bool(complaint(made, {})) == bool(made.bad)


@given(st.lists(ACTIONS, max_size=5))
def test_a_mistaken_action_changes_nothing_but_its_message(actions):
    made = State()
    for field, value in actions:
        before, made = made, act(made, field, value, {})
        if made.bad == (field, value):
            assert replace(made, bad=None) == replace(before, bad=None)


BAD_ADDRESSES = {
    "v=2": "the address has state version '2'; this Normscope reads version 1.",
    "v=1&colour=red": "the address has 'colour', which this page does not know.",
    "v=1&step=mu&step=q": "the address gives 'step' twice.",
    "v=1&step=nope": "there is no step 'nope'; the steps are x mu c q var r xhat scaled y.",
    "v=1&norm=rms_norm&step=mu": "there is no step 'mu'; the steps are x q var r xhat y.",
    "v=1&norm=loud": "the address has norm='loud', which cannot be read.",
    "v=1&sizes=2,4": "the address has sizes='2,4', which cannot be read.",
    "v=1&sizes=2,4,17": "d is 17; here it goes from 1 to 16.",
    "v=1&sizes=-1,4,8": "the address has sizes='-1,4,8', which cannot be read.",
    "v=1&source=nowhere": "there is no source 'nowhere' here; there are symbolic, minilm and the model presets.",
    "v=1&eps=-1": "eps is -1; it must not be negative: it keeps variance + eps above zero.",
    "v=1&eps=abc": "eps is abc; it must be 0 or a number from 5e-324 to 1.8e308, such as 1e-5.",
    "v=1&edits=x.0.0.0": "the address has edits='x.0.0.0', which cannot be read.",
    "v=1&edits=x.0.0.0:inf": "'inf' is no finite number; type one such as 1.25.",
    "v=1&edits=q.0.0.0:1": "there is no cell 'q.0.0.0' here.",
    "v=1&edits=x.2.0.0:1": "there is no cell 'x.2.0.0' in a tensor of 2 × 4 × 8.",
    "v=1&sel=mu.0": "there is no cell 'mu.0' in a tensor of 2 × 4 × 8.",
    "v=1&sel=x.a.b.c": "there is no cell 'x.a.b.c' here.",
    "v=1&source=minilm&at=0,11,0": "at gives S = 11; the window of 4 ends at 10.",
    "v=1&source=minilm&at=0,1": "the address has at='0,1', which cannot be read.",
    "v=1&source=gpt2-small&sizes=1,2,4096": "d is 4,096; GPT-2 small has d = 768.",
    "v=1&source=minilm&sizes=1,2,3": "source 'minilm' has sizes of its own, 1 × 14 × 384; leave sizes out.",
}


@pytest.mark.parametrize("query", BAD_ADDRESSES)
def test_a_bad_address_says_what_is_wrong(query):
    with pytest.raises(StateError) as error:
        state(query)
    assert str(error.value) == BAD_ADDRESSES[query]
    status, _, body = respond("/inside", query)
    assert status == 400 and 'href="/inside"' in body


def test_an_address_has_a_length():
    with pytest.raises(StateError, match=f"{LONGEST:,} are read"):
        state("v=1&edits=" + "x" * LONGEST)


MISTAKES = {
    "eps:-1": "eps is -1; it must not be negative: it keeps variance + eps above zero.",
    "eps:": "eps is ; it must be 0 or a number from 5e-324 to 1.8e308, such as 1e-5.",
    "size.B:5": "B is 5; here it goes from 1 to 4.",
    "size.d:many": "'many' is no whole number from 0; type one such as 3.",
    "seed:1.5": "'1.5' is no whole number from 0; type one such as 3.",
    "seed:-1": "'-1' is no whole number from 0; type one such as 3.",
    "seed:9999999999999999": "'9999999999999999' is no whole number from 0; type one such as 3.",
    "at.S:x": "'x' is no whole number from 0; type one such as 3.",
    "norm:odd": "'odd' is none of layer_norm, rms_norm.",
    "x.0.0.0:1,5": "'1,5' is no finite number; type one such as 1.25.",
    "x.0.0.0:1e999": "'1e999' is no finite number; type one such as 1.25.",
    "x.7.0.0:1": "there is no cell 'x.7.0.0' in a tensor of 2 × 4 × 8.",
    "wrong:1": "there is no cell 'wrong' here.",
}


@pytest.mark.parametrize("action", MISTAKES)
def test_a_mistaken_action_gets_a_message(action):
    made = after("", action)
    assert made.bad and complaint(made, {}) == MISTAKES[action]
    assert MISTAKES[action] in respond("/inside", LESSON.canonical(made))[2].replace("&#x27;", "'")


def test_undo_takes_back_the_last_edit_and_reset_all():
    made = after("", "x.0.0.0:1", "gamma.2:3", "x.0.0.0:2")
    assert made.edits == (("x.0.0.0", "1"), ("gamma.2", "3"), ("x.0.0.0", "2"))
    assert after(LESSON.canonical(made), "undo:1").edits == (("x.0.0.0", "1"), ("gamma.2", "3"))
    assert after(LESSON.canonical(made), "reset:1").edits == ()


def test_a_drag_is_one_edit():
    drags = [f"drag.x.0.0.0:{value}" for value in (1, 2, 3)]
    assert after("", *drags).edits == (("x.0.0.0", "~3"),)
    assert after("", *drags, "x.0.0.0:7", "x.0.0.0:8", "undo:1").edits == (("x.0.0.0", "~3"), ("x.0.0.0", "7"))
    assert after("", *drags, "drag.gamma.1:2", *drags, "undo:1").edits == (("x.0.0.0", "~3"), ("gamma.1", "~2"))


def test_looking_about_leaves_a_complaint_where_it_is():
    made = after("", "eps:abc", "step:3", "sel:q.0.1.2", "copy:csv")
    assert made.bad == ("eps", "abc") and (made.step, made.sel, made.copy) == ("q", "q.0.1.2", "csv")
    assert after(LESSON.canonical(made), "eps:1e-3").bad is None


def test_a_refused_value_stays_in_its_field():
    body = respond("/inside", LESSON.canonical(after("", "eps:1e-5x")))[2]
    assert 'value="1e-5x" data-do="eps" aria-invalid="true" aria-describedby="bad-eps"' in body


def test_equal_states_have_one_address():
    assert (
        LESSON.canonical(state("sel=mu.0.1.7&edits=x.0.0.0:1.0,gamma.2:~2e0"))
        == "v=1&sel=mu.0.1&edits=x.0.0.0:1,gamma.2:~2"
    )


def test_many_edits_are_folded_before_they_are_refused():
    draw = random.Random(0)
    made = state("sizes=4,8,16")
    for _ in range(MOST_EDITS + 10):
        cell = f"x.0.{draw.randrange(8)}.{draw.randrange(16)}"
        made = act(made, cell, str(draw.randrange(100)), {})
    assert made.bad is None and len(made.edits) <= MOST_EDITS


def test_places_are_counted_in_the_window():
    made = after("v=1&source=minilm&at=0,4,96", "sel:x.0.1.3", "x.0.1.3:7")
    assert made.sel == "x.0.5.99" and made.edits == (("x.0.5.99", "7"),)


def test_paging_stops_at_the_end_and_keeps_the_edits():
    made = after("v=1&source=minilm", "x.0.0.0:7", "at.S:999", "at.d:0")
    assert made.at == (0, 10, 0) and made.edits == (("x.0.0.96", "7"),)


def test_another_norm_keeps_what_fits():
    made = after("", "beta.1:2", "gamma.1:2", "step:mu", "norm:rms_norm")
    assert (made.step, made.edits) == ("x", (("gamma.1", "2"),))
    assert after("step=y", "affine:none").step == "xhat"


@pytest.mark.parametrize("key", MODELS)
def test_a_preset_brings_its_own_norm(key):
    body = respond("/inside", f"source={key}")[2]
    assert f'value="{MODELS[key].eps}"' in body
    assert ('data-t="beta"' in body) == (MODELS[key].kind == "LayerNorm" and MODELS[key].bias)
