"""The ladder of a cell in the lesson: folded, then exact, rounded, each with its error."""

from fractions import Fraction

import numpy as np
import pytest

from normscope.lessons.site import respond
from tests.lessons.dom import Node
from tests.lessons.test_inside import page

TWO = "sizes=1,1,2&edits=x.0.0.0:1,x.0.0.1:3,gamma.0:2,gamma.1:1,beta.0:0,beta.1:0&eps=0"


def rungs(query: str) -> dict[str, list[str]]:
    lines = page(f"{query}&ladder=1").one(id="ladder").one("tbody").all("tr")
    return {tr.one("th").text: [td.text for td in tr.all("td")] for tr in lines}


def switch(query: str) -> Node:
    return page(query).one("button", id="ladder-switch")


def test_it_is_folded_until_it_is_asked_for():
    assert switch("").attributes["aria-expanded"] == "false" and not page().one(id="ladder").all("table")
    assert switch("sel=xhat.0.1.2").text == "Ladder of xhat[0, 1, 2]"
    assert respond("/inside", "v=1&do=ladder:1&patch=")[2].splitlines()[0] == "v=1&ladder=1"
    assert switch("ladder=1").attributes["data-do"] == "ladder:0"


def test_every_rung_with_its_root_by_name():
    found = rungs("step=xhat&sel=xhat.0.1.2")
    assert list(found) == [
        "named root", "closed form", "decimals", "float64", "float32", "steps-bf16", "steps-fp16", "steps-e4m3fn",
        "steps-e5m2",
    ]  # fmt: skip
    x = [Fraction(str(value)) for value in (-2.81, -2.63, -2.10, -0.69, -2.56, -0.47, -0.83, -0.33)]
    c = [value - sum(x) / 8 for value in x]
    v = sum(value**2 for value in c) / 8 + Fraction(1, 100000)
    root = found["named root"][0].replace("−", "-")
    assert root == f"-({-c[2]})/sqrt({v})"
    assert float(found["decimals"][0].replace("−", "-")) == pytest.approx(float(c[2]) / float(v) ** 0.5, rel=1e-15)
    assert found["named root"][1] == "" and float(found["steps-bf16"][1]) < 10


def test_a_rational_step_is_a_fraction():
    assert rungs(f"{TWO}&sel=mu.0.0&step=mu")["fraction"][0] == "2"


def test_the_rounded_rungs_follow_the_pages_order():
    exact = Fraction(1, 10)
    found = rungs("sel=x.0.1.2&edits=x.0.1.2:0.1")
    assert found["fraction"][0] == "1/10"
    ulp = Fraction(1, 2**11)  # of bfloat16 at 0.1
    error = abs(Fraction(float(np.float32(205 / 2048))) - exact) / ulp
    assert found["steps-bf16"] == ["0.10009765625", f"{float(error):.3g}", "0011110111001101"]
    assert "Llama's order" in page("ladder=1&storage=bfloat16&rounding=llama").one(id="ladder").text


def test_the_way_back_has_a_ladder_too():
    found = rungs(f"{TWO.replace('eps=0', 'eps=3')}&back=1&step=dx&sel=dx.0.0.0&dy=ones")
    # x̂ = −1/2, 1/2 and r = 1/2; dx̂ = 2, 1, its mean 3/2, that with x̂ −1/4: (2 − 3/2 − 1/8)/2
    assert found["closed form"][0] == "3/16" and found["float64"][:2] == ["0.1875", "0"]
    assert "steps-fp16" in rungs("back=1&step=dgamma&sel=dgamma.3")


def test_long_rows_and_steps_of_one_order_say_why_there_is_none():
    assert "at most 16 features" in page("source=minilm&ladder=1").one(id="ladder").text
    own = page("storage=bfloat16&rounding=pytorch&step=xr&sel=xr.0.0.0&ladder=1").one(id="ladder")
    assert "belongs to one order of rounding" in own.text


def test_exact_forms_of_hundreds_of_digits_are_cut_as_on_the_page_precision():
    for step, sel in (("xhat", "xhat.0.0.0"), ("var", "var.0.0")):
        found = rungs(f"edits=x.0.0.0:1e300&step={step}&sel={sel}")
        assert max(len(cell) for cells in found.values() for cell in cells) < 90
        assert any(" signs)" in cells[0] for cells in found.values())
