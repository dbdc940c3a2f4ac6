"""What a notebook shows of a Trace and a Ledger."""

import numpy as np

import normscope as ns
from tests.lessons.dom import parse


def test_a_trace_has_every_step_under_its_title():
    x = np.arange(64.0).reshape(2, 4, 8)
    made = ns.trace(x, ns.layer_norm())
    tree = parse(made._repr_html_())
    titles = [node.text for node in tree.all("summary")]
    assert titles[:3] == ["x", "mu = mean(x) over d", "c = sub(x, mu)"] and len(titles) == 10
    assert [node.attributes.get("open") is not None for node in tree.all("details")] == [False] * 9 + [True]
    mu = tree.all("details")[1].one("table")
    assert [td.text for td in mu.all("td")] == [f"{value:g}" for value in x.mean(-1).ravel()]
    assert "gamma is not given: ones, its initial value." in tree.text


def test_a_large_trace_shows_windows():
    made = ns.trace(np.zeros((8, 64, 768), "f4"), ns.layer_norm())
    assert len(made._repr_html_()) < 30_000


def test_a_ledger_is_its_table():
    tree = parse(ns.ledger(ns.layer_norm(), (2, 4, 8))._repr_html_())
    assert [td.text for td in tree.all("tr")[-1].all("td")] == ["", "1,408", "1.38 KiB", "576", "", "456", "8"]
    assert "LayerNorm 'B S [d]' of x (B=2, S=4, d=8), float32" in tree.text


def test_text_is_escaped():
    made = ns.trace([[1.0, 2.0]], ns.Norm("S [d]", name="<b>"))
    assert "<b>" not in made._repr_html_()
