"""What other tools count and what implementations save, held against what they answered (`make oracle` records it)."""

import json

import pytest

import normscope as ns
from normscope.program import Builder
from normscope.views.elsewhere import TOOLS, elsewhere
from normscope.views.saving import AUTOGRAD, WAYS, kept_by_autograd, savings
from tests.golden.record_counts import AFFINES, FILE, counts, saved

GOLDEN = json.loads(FILE.read_text())


def asked(case):
    shape, affine = case.split()
    norm = ns.layer_norm(**AFFINES[affine])
    sizes = tuple(map(int, shape.split(",")))
    return norm.fit(len(sizes)), norm.fit(len(sizes)).sizes_for(sizes)


@pytest.mark.parametrize("case", GOLDEN["counts"])
def test_the_formulas_give_what_the_tools_answered(case):
    answered = {tool: count for tool, count in GOLDEN["counts"][case].items() if count is not None}
    said = {each.tool: each.says for each in elsewhere(*asked(case))}
    assert {tool: said[tool] for tool in answered} == answered and said.keys() == GOLDEN["counts"][case].keys()


def test_layer_norm_on_2_4_8_beside_our_456():
    cost = ns.ledger(ns.layer_norm(), (2, 4, 8))
    assert cost.flops == 456
    assert [each.says for each in cost.elsewhere] == [0, 32, 256, 320, 320]
    assert [each["says"] for each in cost.to_json()["elsewhere"]] == [0, 32, 256, 320, 320]
    text = cost.text()
    assert all(f"{tool} says" in text and why in text for tool, _, _, why in TOOLS)
    assert "torchinfo says 32 multiply-adds" in cost._repr_html_()


@pytest.mark.parametrize(
    "norm", [ns.rms_norm(), ns.group_norm(2), ns.batch_norm(), ns.Norm("B S [d]", correction=1), ns.Norm("B [S] d")]
)
def test_nothing_is_said_of_what_is_no_layer_norm(norm):
    cost = ns.ledger(norm, (2, 4, 8))
    assert cost.elsewhere == () and "elsewhere" not in cost.to_json() and "torchinfo" not in cost.text()


def test_a_layer_norm_over_two_axes_is_one():
    assert [each.says for each in ns.ledger(ns.layer_norm([4, 8]), (2, 4, 8)).elsewhere][1] == 2 * 64


def test_what_autograd_keeps_is_what_pytorch_kept():
    kernel, written_out = (by_name(ns.layer_norm())[name] for name in (list(WAYS)[1], AUTOGRAD))
    assert kernel == GOLDEN["saved"]["layer_norm, a kernel"]
    assert written_out == GOLDEN["saved"]["layer_norm, written out"]
    assert by_name(ns.rms_norm())[AUTOGRAD] == GOLDEN["saved"]["rms_norm, written out"]


def test_an_op_keeps_what_its_gradient_reads():
    build = Builder(("S", "d"), {"x": ("S", "d"), "z": ("S", "d")})
    build.let("s", "sqrt", "x")
    build.let("p", "recip", "s")
    build.let("q", "add", "p", "z")
    build.let("t", "sub", "q", "z")
    build.let("r", "rsqrt", "t")
    build.let("m", "mean", "r", over=("d",))
    build.let("a", "abs", "m")
    assert kept_by_autograd(build.program()) == ("s", "p", "r", "m")


def by_name(norm):
    norm = norm.fit(3)
    return {each.implementation: each.bytes for each in savings(norm, norm.sizes_for((2, 4, 8)))}


def test_the_training_ledger_tells_every_way():
    cost = ns.training_ledger(ns.layer_norm(), (2, 4, 8), "bfloat16")
    told = cost.to_json()["backward"]["saved_by"]
    assert told["the formula"] == dict(cost.saved["xhat"]) and told["a fused kernel, as PyTorch's"] == cost.saved["x"]
    assert told[AUTOGRAD] == {"c": 128, "r": 32, "xhat": 128}
    assert "saves c, r, xhat (288 bytes)" in cost.text()


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")  # the tools' own
def test_the_tools_still_answer_so():
    assert counts() == GOLDEN["counts"] and saved() == GOLDEN["saved"]
