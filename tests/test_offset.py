"""gamma + offset: what Gemma's norms multiply by, in every reading."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import normscope as ns
from normscope.errors import NormError
from normscope.gradients import GRADIENTS
from normscope.run import run
from normscope.steps import is_statistic, output
from normscope.views import arrays as arrays_view
from normscope.views import formula, notation
from normscope.views.policies import find
from normscope.views.staged import staged
from normscope.views.training import training_ledger
from tests.test_properties import full, lists, norms

GEMMA = ns.rms_norm(eps=0, offset=1)
CHANNELS = ns.Norm("[N] C", "C", offset=1)


def test_the_offset_is_a_step_before_the_scale():
    steps = {step.name: step.call for step in ns.forward(GEMMA.fit(2))}
    assert list(steps)[-3:] == ["xhat", "gain", "y"]
    assert (steps["gain"], steps["y"]) == ("add(gamma, 1)", "mul(xhat, gain)")
    assert ns.forward(ns.layer_norm(offset=1).fit(2)).by_name["scaled"].args == ("xhat", "gain")


def test_without_an_offset_nothing_is_added():
    assert ns.forward(ns.layer_norm(offset=0)) == ns.forward(ns.layer_norm())
    assert "gain" not in ns.forward(ns.layer_norm()).values


def test_a_gemma_norm_by_hand():
    """A mean square of 12.5 and an eps of 3.5: the root is 4."""
    made = ns.trace([[3, 4]], replace(GEMMA, eps="7/2"), gamma=[0, 1])
    assert made["gain"] == [[1.0, 2.0]] and made["y"] == [[0.75, 2.0]]


def test_gemma_is_exact_too():
    made = ns.exact([1, 7], GEMMA, ["1/2", "-1"])
    assert made["y"] == [Fraction(3, 10), 0]
    gradients = ns.exact([1, 7], GEMMA, [0, 0], dy=[1, 0])
    assert gradients["dgamma"] == [Fraction(1, 5), 0]
    assert gradients["dx"] == [Fraction(49, 250), Fraction(-7, 250)]  # (1 - xhat²/2) / 5 and -xhat₀ xhat₁/2 / 5


@given(norms(), st.integers(0, 99))
@settings(max_examples=60)
def test_an_offset_moves_gamma_and_nothing_else(drawn, seed):
    """The norm with gamma is the norm without an offset given gamma + offset; in bits, where the sum is exact."""
    norm, sizes = drawn
    given_ = full(norm, sizes, seed)
    dy = np.ones(given_["x"].shape)
    made = ns.trace(**given_, norm=norm, dy=dy)
    if norm.scale:
        given_["gamma"] = given_["gamma"] + norm.offset
    plain = ns.trace(**given_, norm=replace(norm, offset=0), dy=dy)
    assert set(made) - set(plain) == ({"gain"} if norm.offset else set())
    for name in plain:
        np.testing.assert_array_equal(made[name], plain[name], err_msg=name)


@given(norms(), st.integers(0, 99))
@settings(max_examples=30)
def test_lists_and_arrays_agree_on_the_factor(drawn, seed):
    norm, sizes = drawn
    given_ = full(replace(norm, affine=" ".join(norm.axes), scale=True, offset=1), sizes, seed)
    norm = replace(norm, affine=" ".join(norm.axes), scale=True, offset=1)
    cells, array = ns.trace(**lists(given_), norm=norm), ns.trace(**given_, norm=norm)
    np.testing.assert_array_equal(np.array(cells["gain"]), array["gain"])


@given(norms(), st.integers(0, 99))
@settings(max_examples=30)
def test_the_textbooks_gradients_are_the_derived_ones(drawn, seed):
    norm, sizes = drawn
    norm = replace(norm, correction=0, offset=norm.offset)
    program, given_ = ns.forward(norm), full(norm, sizes, seed)
    dy = np.random.default_rng(seed).normal(size=given_["x"].shape)
    textbook = ns.trace(**given_, norm=norm, dy=dy)
    wanted = [name for name in ("x", "gamma", "beta") if name in program.values]
    derived = ns.derive(program, output(program), wanted)
    values = {name: textbook.inputs[name] for name in textbook.inputs} | {
        step.name: textbook[step.name] for step in program
    }
    with np.errstate(all="ignore"):
        found = run(derived, arrays_view.rules(derived, textbook.sizes, np), values)
    for name in GRADIENTS:
        if name in textbook and name in found:
            np.testing.assert_allclose(found[name], textbook[name], rtol=1e-9, atol=1e-9, err_msg=name)


def test_gamma_starts_where_the_factor_is_one():
    made = ns.trace([[1.0, 7.0]], GEMMA)
    assert made["gain"] == [[1.0, 1.0]] and made.inputs["gamma"] == [[0.0, 0.0]]
    assert made.notes == ("gamma is not given: zeros, its initial value.",)
    assert ns.trace(np.float32([[1, 7]]), replace(GEMMA, offset=-1)).notes == (
        "gamma is not given: 2 everywhere, its initial value.",
    )
    assert ns.trace([[1.0, 7.0]], ns.rms_norm(eps=0)).notes == ("gamma is not given: ones, its initial value.",)


def test_json_and_repr_have_the_offset():
    data = json.loads(json.dumps(GEMMA.to_json()))
    assert data["offset"] == 1 and ns.Norm.from_json(data) == GEMMA != ns.rms_norm(eps=0)
    del data["offset"]  # as an older file has it
    assert ns.Norm.from_json(data) == ns.rms_norm(eps=0)
    assert "offset=1" in repr(GEMMA)
    program = ns.forward(GEMMA.fit(2))
    assert ns.Program.from_json(json.loads(json.dumps(program.to_json()))) == program


@pytest.mark.parametrize("offset", [0.5, "1", True, None])
def test_an_offset_is_a_whole_number(offset):
    with pytest.raises(NormError) as error:
        ns.rms_norm(offset=offset)
    assert str(error.value) == f"offset is {offset!r}; it must be a whole number, added to gamma: 1 for Gemma."


def test_without_a_gamma_there_is_nothing_to_add_to():
    assert replace(GEMMA, affine=None).offset == 0
    assert ns.Norm("S [d]", "d", scale=False, offset=1).offset == 0
    assert list(ns.compare([[1.0, 7.0]], [GEMMA])[0].trace) == ["q", "var", "v", "r", "xhat", "y"]


def test_the_factor_is_no_statistic():
    """Of a BatchNorm it has the axes of one, but is a parameter's: stored as cells are."""
    assert not is_statistic(CHANNELS, "gain", ("C",)) and is_statistic(CHANNELS, "var", ("C",))
    kept = find("statistics-bf16").kept(CHANNELS)
    assert kept["gain"].name == "bfloat16" and kept["var"].name == "float32"


@pytest.mark.parametrize("norm", [GEMMA.fit(3), ns.layer_norm(offset=1).fit(3), ns.Norm("[N S] C", "C", offset=1)])
@pytest.mark.parametrize("storage", ["float32", "float16"])
def test_the_ledger_counts_the_factor_and_a_staged_run_allocates_it(norm, storage):
    sizes = (2, 3, 8)
    with_, without = (training_ledger(each, sizes, storage) for each in (norm, replace(norm, offset=0)))
    width = {"float32": 4, "float16": 2}[storage]
    assert with_.forward.flops - without.forward.flops == 8
    assert with_.forward.peak_bytes - without.forward.peak_bytes == 8 * width
    assert with_.forward.fused_bytes == without.forward.fused_bytes  # a kernel adds it on the way
    assert (with_.backward_flops, with_.saved) == (without.backward_flops, without.saved)
    rng = np.random.default_rng(0)
    x, dy, gamma, beta = (rng.normal(size=shape).astype(storage) for shape in (sizes, sizes, (8,), (8,)))
    buffers = staged(x, norm, gamma, beta if norm.shift else None, storage, dy)
    assert sum(buffer.nbytes for buffer in buffers.values()) == with_.peak_bytes
    assert buffers["gain"].dtype == storage


def test_formulas_write_the_sum_where_it_multiplies():
    program = ns.training(ns.rms_norm(offset=1).fit(2))
    assert notation.text(formula.expression(program, "y")) == "xhat[s,i] * (gamma[i] + 1)"
    assert notation.text(formula.expression(program, "dxhat")) == "dy[s,i] * (gamma[i] + 1)"
    assert notation.latex(formula.expression(program, "y", frozenset())) == r"\hat{x}_{s,i} \cdot g_{i}"


def test_llamas_order_casts_before_the_scale_and_gemmas_after():
    x, w = [[1.0, 7.0]], [1 / 256, 0.5]
    llama = ns.trace(x, ns.rms_norm(eps=0), [1 + 1 / 256, 1.5], policy="llama-bf16")
    gemma = ns.trace(x, GEMMA, w, policy="gemma-bf16")
    assert llama["xhat"] == [[0.2001953125, 1.3984375]]
    assert gemma["xhat"][0][0] == np.float32(0.2) and gemma["gain"] == [[1 + 1 / 256, 1.5]]
    assert llama.inputs["gamma"] == [[1.0, 1.5]]  # 1 + 1/256 is no bfloat16, 1/256 is
    assert list(gemma) == ["q", "var", "v", "r", "xhat", "gain", "y"]
