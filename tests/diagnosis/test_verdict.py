"""What a verdict says, and in what form."""

import json

import numpy as np
import pytest

import normscope as ns
from normscope.diagnosis.judge import judge
from normscope.diagnosis.verdict import Finding, Verdict
from normscope.interfaces import verdicts
from tests.diagnosis.asking import Local
from tests.diagnosis.definitions import RIGHT, written
from tools import diagnosis_doc


def made():
    return judge(Local(written(RIGHT | {"divisor": "outside"}, 0.0)), ns.layer_norm())


def test_json_is_as_the_contract_says():
    data = json.loads(json.dumps(made().to_json(), allow_nan=False))
    assert set(data) == {"verdict", "findings", "notes"}
    assert data["verdict"] == "mistake"
    (finding,) = data["findings"]
    assert {"id", "name", "evidence", "formula", "fix", "input"} <= set(finding)
    assert finding["formula"] == "(x - mean) / (sqrt(var) + eps) * gamma + beta"
    assert finding["link"] == "/mistakes?v=1&show=eps-outside-root"


def test_the_smallest_input_shows_the_mistake():
    given = made().findings[0].input
    x, gamma, beta = (np.array(given[name]) for name in ("x", "gamma", "beta"))
    assert x.size <= 4 and np.array_equal(x, x.round())
    centered = x - x.mean(-1, keepdims=True)
    root = np.sqrt(x.var(-1, keepdims=True))
    assert np.allclose(given["got"], centered / (root + given["eps"]) * gamma + beta, rtol=1e-4)
    assert np.allclose(given["expected"], centered / np.sqrt(root**2 + given["eps"]) * gamma + beta, rtol=1e-4)


def test_text_and_html():
    verdict = made()
    text = repr(verdict)
    assert text.splitlines()[0] == "layer_norm as LayerNorm '... [d]': mistake"
    assert "  eps-outside-root: eps is added after the square root" in text
    assert "<code>eps-outside-root</code>" in verdict._repr_html_()


def test_numbers_that_json_lacks_are_strings():
    finding = Finding("a", "b", "c", input={"x": np.array([[1.0, np.nan], [np.inf, -np.inf]])})
    written = json.loads(json.dumps(Verdict("mistake", (finding,)).to_json(), allow_nan=False))
    assert written["findings"][0]["input"] == {"x": [[1.0, "NaN"], ["Infinity", "-Infinity"]]}


def test_two_explanations_that_no_answer_tells_apart_are_both_named():
    def layer_norm(x, gamma, beta, eps):  # two zeros more: the next power of two, or always two
        if x.shape[-1] != 6:
            raise ValueError("x must have 6 features")
        padded = np.concatenate([x, np.zeros_like(x[..., :2])], -1)
        root = np.sqrt(padded.var(-1, keepdims=True) + eps)
        return (x - padded.mean(-1, keepdims=True)) / root * gamma + beta

    verdict = judge(Local(layer_norm), ns.layer_norm())
    (finding,) = [each for each in verdict.findings if each.id != "raises"]
    named = {"padded-lanes-counted", "padding-counted"}
    assert finding.id in named and (named - {finding.id}).pop() in finding.evidence
    assert "would decide" in finding.evidence


@pytest.mark.slow
def test_the_page_of_cases_is_current():
    assert diagnosis_doc.main(["--check"]) == ""


def test_what_findings_share_is_said_once_and_json_keeps_it():
    def layer_norm(x, gamma, beta, eps):
        c = x - x.mean(-1, keepdims=True)
        return c / (x.std(-1, keepdims=True, ddof=1) + eps) * (1 + gamma) - beta

    verdict = judge(Local(layer_norm), ns.layer_norm())
    assert len(verdict.findings) == 4 and len({each["formula"] for each in verdict.to_json()["findings"]}) == 1
    report = verdicts.text(verdict, "f: mistake", width=200)
    for text in (repr(verdict), report, verdict._repr_html_()):
        assert text.count("times the error bound") == text.count("* (1 + gamma) - beta") == 1
        assert text.count("with correction-1, whose evidence, formula and input are the same") == 3
        assert all(each.id in text and each.fix in text for each in verdict.findings)
    assert report.count("  input     x ") == report.count("  expected  ") == 1
