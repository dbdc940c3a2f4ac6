"""Gradients that a framework leaves empty, though the forward pass uses what they are of."""

from typing import TYPE_CHECKING

from .probes import Probe
from .shrink import digits, shown
from .verdict import Finding

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def empty(gradient: str, probe: Probe, right: "Mapping[str, Any]") -> Finding:
    """The finding for "dx", "dgamma" or "dbeta"; `right` has what it should be on the probe."""
    of = gradient.removeprefix("d")
    evidence = f"y changes with {of}, {of} asks for a gradient, and after y.backward(dy) {of}.grad is None"
    given = {name: value for name, value in shown(probe, 0, 0).items() if name not in ("expected", "got")}
    there = {f"expected {gradient}": digits(right[gradient])} if gradient in right else {}
    return Finding(
        f"missing-{gradient}",
        f"no gradient reaches {of}",
        evidence,
        fix=f"use {of} itself: detach(), .data, no_grad() and numpy() cut it off, as does None from a backward",
        input=given | there,
        link=gradient,
    )
