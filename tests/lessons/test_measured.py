"""Beside the ledger: what the button asks for, where it is missing, and when its place is drawn anew."""

import pytest

import normscope as ns
from normscope.kernels import limits
from normscope.lessons import site
from normscope.lessons.inside import measured
from tests.lessons.dom import parse


def place(query=""):
    return parse(site.respond("/inside", query)[2]).one(id="measured")


def fields(query=""):
    return {node.attributes["name"]: node.attributes["value"] for node in place(query).all("input", type="hidden")}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", {"shape": "2,4,8", "norm": "layer_norm", "affine": "both", "storage": "float32", "eps": "1/100000"}),
        ("v=1&affine=scale&storage=bfloat16", {"affine": "scale", "storage": "bfloat16"}),
        ("v=1&affine=none&sizes=3,5,7", {"affine": "none", "shape": "3,5,7"}),
        ("v=1&norm=rms_norm&eps=1e-6", {"norm": "rms_norm", "affine": "scale", "eps": "1/1000000"}),
        ("v=1&source=llama-3-8b", {"norm": "rms_norm", "shape": "1,8192,4096"}),
    ],
)
def test_the_button_asks_for_what_the_ledger_counts(query, expected):
    assert fields(query).items() >= expected.items()
    (form,) = place(query).all("form")
    assert form.attributes == {"action": "/measured", "data-into": "measured"} and form.one("button").text == "Measure"


def test_eight_bits_have_no_kernel():
    told = place("v=1&storage=float8_e4m3fn")
    assert not told.all("form") and measured.NARROW in told.text
    assert measured.STORAGES == limits.STORAGES


def test_its_place_stays_while_the_same_is_counted():
    def redrawn(action, was="v=1"):
        return 'id="measured"' in site.respond("/inside", f"{was}&do={action}&patch=v%3D1")[2]

    assert not redrawn("step:q") and not redrawn("x.0.0.0:3") and not redrawn("seed:4")
    assert redrawn("affine:none") and redrawn("storage:float16") and redrawn("norm:rms_norm")


def test_what_other_tools_say_stands_beside():
    tree = parse(site.respond("/inside", "")[2]).one(id="elsewhere")
    assert "beside 456 FLOPs here" in tree.one("h2").text
    said = [row.all("td")[0].text for row in tree.one("tbody").all("tr")]
    assert said == ["0 FLOPs", "32 multiply-adds", "256 operations", "320 FLOPs", "320 FLOPs"]
    assert not parse(site.respond("/inside", "v=1&norm=rms_norm")[2]).one(id="elsewhere").text


def test_the_way_back_says_what_each_implementation_saves():
    text = parse(site.respond("/inside", "v=1&back=1")[2]).one(id="ledger").text
    kept = ns.training_ledger(ns.layer_norm(), (2, 4, 8)).savings[-1].bytes
    assert f"left to autograd, the forward pass saves c, r, xhat ({kept} B)" in text
