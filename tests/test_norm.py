"""A Norm's own fields: what it is called, its eps at the ends of the range, the order of its parameters."""

import json
from fractions import Fraction

import numpy as np
import pytest

import normscope as ns


@pytest.mark.parametrize(
    "pattern, affine, name",
    [
        ("B S [d]", "d", "LayerNorm"),
        ("B S [d]", None, "LayerNorm"),
        ("[d]", "d", "LayerNorm"),
        ("B [S d]", "S d", "LayerNorm"),
        ("N C [H W]", "H W", "LayerNorm"),
        ("B S (h [d])", "d", "LayerNorm"),
        ("[N] C", "C", "BatchNorm"),
        ("[N] C [H W]", None, "BatchNorm"),
        ("[N] C [...]", "C", "BatchNorm"),
        ("[B S] d", "d", "BatchNorm"),
        ("N C [H W]", "C", "InstanceNorm"),
        ("N C [H W]", None, "InstanceNorm"),
        ("N C [...]", "C", "InstanceNorm"),
        ("batch channel [x y]", "channel", "InstanceNorm"),
        ("N (g [c]) [H W]", "(g c)", "GroupNorm"),
        ("N (g [c]) [...]", None, "GroupNorm"),
        ("N (g [c])", "g", "GroupNorm"),
        ("[B S d]", None, "norm"),
        ("[B] S d", None, "norm"),
        ("B [S] d", "d", "norm"),
        ("[N C] H W", None, "norm"),
    ],
)
def test_a_norm_is_called_what_people_call_it(pattern, affine, name):
    norm = ns.Norm(pattern, affine)
    assert norm.name == name
    assert ns.Norm(pattern, affine, name="mine").name == "mine"


@pytest.mark.parametrize("pattern, name", [("B S [d]", "RMSNorm"), ("N C [L]", "RMSNorm"), ("[N] C", "norm")])
def test_without_centering_it_is_an_rms_norm_or_has_no_name(pattern, name):
    assert ns.Norm(pattern, center=False).name == name


@pytest.mark.parametrize(
    "norm, rank",
    [
        *((norm, 4) for norm in (ns.batch_norm(), ns.instance_norm(), ns.instance_norm(affine=True), ns.group_norm(2))),
        *((norm, 3) for norm in (ns.layer_norm(), ns.rms_norm(), ns.layer_norm([2, 3]))),
    ],
)
def test_the_five_kinds_are_called_so_from_their_patterns_too(norm, rank):
    fitted = norm.fit(rank)
    again = ns.Norm(fitted.pattern, fitted.affine, center=fitted.center, shift=fitted.shift)
    assert again.name == norm.name == fitted.name


@pytest.mark.parametrize(
    "eps",
    [0, 5e-324, "5e-324", "1e-299", 2.2e-308, 1e300, 1.7976931348623157e308, 10**300, "1/3", Fraction(1, 3**600)],
)
def test_any_eps_of_float64s_range_can_be_used_and_read_back(eps):
    norm = ns.layer_norm(eps=eps)
    assert norm.eps == Fraction(str(eps))
    assert norm.fit(2).eps == norm.eps
    assert ns.Norm.from_json(json.loads(json.dumps(norm.to_json()))) == norm
    for x in ([[1.0, 3.0]], np.array([[1.0, 3.0]]), np.array([[1.0, 3.0]], np.float32)):
        assert float(np.asarray(ns.trace(x, norm)["v"])[0, 0]) >= 1
