"""The ladder: every rung against an oracle of its own."""

import math
from decimal import Decimal, getcontext
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import normscope as ns
from normscope.views.formats import FORMATS

NORM = ns.Norm("[d]", eps="1/100000")
X = ["1.1", "2", "4"]


def rungs(step, at=(2,), x=X, norm=NORM, **more):
    return {rung.name: rung for rung in ns.ladder(x, norm, step, at, **more)}


def oracle(at):
    """xhat by 60 decimals."""
    getcontext().prec = 60
    x = [Decimal(cell) for cell in X]
    mean = sum(x) / 3
    var = sum((cell - mean) ** 2 for cell in x) / 3
    return (x[at] - mean) / (var + Decimal("1e-5")).sqrt()


def test_the_exact_rungs_of_a_step_before_the_root():
    found = rungs("mu")
    assert found["fraction"].text == "71/30"
    assert found["decimals"].text == "2.36666666666666666667"
    assert not {"named root", "closed form"} & found.keys()


def test_the_exact_rungs_of_a_step_behind_it():
    found = rungs("xhat")
    assert found["named root"].text == "(49/30)/sqrt(1322009/900000)"
    assert found["closed form"].text == "490/1322009*sqrt(13220090)"
    assert found["decimals"].text == str(round(oracle(2), 20))
    assert all(rung.value is None and rung.ulps is None for rung in list(found.values())[:3])


def test_every_format_is_there_in_order():
    names = list(rungs("y"))[3:]
    assert names == ["float64", "float32", "steps-bf16", "steps-fp16", "steps-e4m3fn", "steps-e5m2"]
    assert [rungs("y")[name].format for name in names] == list(FORMATS)


@pytest.mark.parametrize("at", [0, 1, 2])
def test_an_error_is_in_ulps_of_its_own_format_at_the_exact_value(at):
    exact = oracle(at)
    for rung in list(rungs("xhat", (at,)).values())[3:]:
        info = ml_dtypes.finfo(getattr(ml_dtypes, rung.format, rung.format))
        ulp = Decimal(float(info.eps)) * Decimal(2) ** math.floor(math.log2(abs(exact)))
        assert rung.ulps == pytest.approx(float(abs(Decimal(rung.value) - exact) / ulp), rel=1e-9)


def test_a_rung_is_what_the_trace_gives():
    x = [float(cell) for cell in X]
    for name in ("float32", "steps-fp16"):
        assert rungs("xhat")[name].value == ns.trace(x, NORM, policy=name)["xhat"][2]


def test_its_bits_are_those_of_numpy():
    value = rungs("xhat")["float32"]
    assert int(value.bits, 2) == int(np.float32(value.value).view(np.uint32))
    assert [len(rung.bits) for rung in list(rungs("xhat").values())[3:]] == [64, 32, 16, 16, 8, 8]


def test_an_input_has_a_ladder_too():
    found = rungs("x", (0,))
    assert found["fraction"].text == "11/10"
    assert found["steps-bf16"].ulps == float((Fraction(141, 128) - Fraction("1.1")) * 128)
    assert rungs("gamma", (0, 1), [[1, 2]], ns.layer_norm(), gamma=[3, "1/3"])["fraction"].text == "1/3"


def test_another_order_of_the_narrow_formats():
    found = rungs("y", (0, 1), [X], ns.layer_norm(), gamma=[1, 2, 3], beta=[1, "1/3", 0], kind="llama")
    wanted = ns.trace([[1.1, 2, 4]], ns.layer_norm(), [1, 2, 3], [1, 1 / 3, 0], policy="llama-bf16")
    assert found["llama-bf16"].value == wanted["y"][0][1]
    assert rungs("r", (0, 1), [X], ns.layer_norm(), kind="pytorch")["pytorch-bf16"].format == "float32"


def test_a_grouped_norm_is_asked_along_the_axes_of_its_program():
    x = [[[1.0, 2.0], [3.0, 5.0], [0.5, 0.25], [9.0, 8.0]]]
    found = rungs("y", (0, 1, 0, 1), x, ns.group_norm(2), gamma=[1, 2, 3, 4])
    wanted = ns.trace(x, ns.group_norm(2), [1, 2, 3, 4], policy="float64")
    assert found["float64"].value == wanted["y"][0][1][0][1]


def test_what_is_undefined_has_no_error():
    found = rungs("y", (0, 1), [[5, 5]], ns.layer_norm(eps=0))
    assert found["undefined"].text == "undefined: 0/0"
    assert math.isnan(found["float32"].value) and found["float32"].ulps is None


def test_what_overflows_is_infinitely_wrong():
    found = rungs("q", (0, 1), [[1000, -1000]], ns.layer_norm())
    assert found["steps-fp16"].ulps == math.inf and found["steps-bf16"].ulps == 0.140625


def test_the_way_back_has_rungs_too():
    norm = ns.Norm("[d]", eps="3", affine="d")
    found = {rung.name: rung for rung in ns.ladder(["1", "3"], norm, "dx", (0,), ["2", "1"], dy=["1", "0"])}
    # xhat = -1/2, 1/2 and r = 1/2; dxhat = 2, 0, its mean 1, that with xhat -1/2: (2 - 1 - 1/4)/2
    assert found["closed form"].text == "3/8"
    assert found["float64"].value == found["steps-bf16"].value == 0.375 and found["steps-bf16"].ulps == 0
    assert found["steps-fp16"].format == "float16"


def test_a_sum_over_rows_has_rungs():
    norm = ns.Norm("S [d]", eps=0, affine="d")
    found = {
        rung.name: rung for rung in ns.ladder([["1", "3"], ["5", "9"]], norm, "dgamma", (0, 1), dy=[[1, 2], [3, 4]])
    }
    assert found["float64"].value == 6 and found["float64"].ulps == 0


def test_an_error_that_no_float_counts_is_infinite():
    found = rungs("y", (0,), [-1e30] * 3, ns.Norm("[d]", eps="1e-12"))
    assert found["closed form"].text == "0" and found["float64"].value != 0
    assert found["float64"].ulps == math.inf
