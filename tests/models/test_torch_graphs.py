"""Graphs that PyTorch's two exporters wrote (recorded by `make oracle`): what they are, at every opset."""

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

import normscope as ns
from normscope.models.found import Found, Report
from normscope.models.onnx_file import inspect_onnx

FILE = Path(__file__).parent / "files" / "torch_graphs.zip"
NORMS = {
    "layer_norm": ns.layer_norm(8),
    "layer_norm_plain": ns.layer_norm(8, elementwise_affine=False),
    "layer_norm_no_bias": ns.layer_norm(8, bias=False),
    "layer_norm_axes": ns.layer_norm([4, 6]),
    "layer_norm_half": ns.layer_norm(8),
    "layer_norm_1e-12": ns.layer_norm(8, 1e-12),
    "layer_norm_channels_first": ns.layer_norm(8),
    "rms_norm": ns.rms_norm(8, 1e-6),
    "hf_rms_norm": ns.rms_norm(8, 1e-6),
    "hf_rms_norm_half": ns.rms_norm(8, 1e-6),
    "gemma_rms_norm": ns.rms_norm(8, 1e-6, offset=1),
    "group_norm": ns.group_norm(2, 6),
    "batch_norm": ns.batch_norm(4, training=False),
    "instance_norm": ns.instance_norm(4),
    "tutorial": ns.Norm("... [d]", "d", 1e-6, correction=1, sizes={"d": 8}, name="LayerNorm"),
    "dropped_keepdims": ns.layer_norm(4, elementwise_affine=False),
    "one_pass": ns.layer_norm(8, elementwise_affine=False),
}
WARNINGS = {
    "tutorial": ["eps is added to the standard deviation", "the variance divides by n - 1"],
    "dropped_keepdims": ["a statistic lost its reduced axis", "ONNX Runtime gives another result"],
    "one_pass": ["the variance is one-pass"],
}


def graphs() -> dict[str, bytes]:
    """Every recorded graph by its name."""
    with zipfile.ZipFile(FILE) as file:
        return {name: file.read(name) for name in file.namelist() if name.endswith(".onnx")}


GRAPHS = graphs()


def test_as_many_graphs_are_recorded_as_the_file_says():
    with zipfile.ZipFile(FILE) as file:
        assert json.loads(file.read("about.json"))["graphs"] == len(GRAPHS) > 200
    assert {name.partition("/")[0] for name in GRAPHS} == set(NORMS)


@pytest.mark.parametrize("name", GRAPHS)
def test_an_exported_layer_is_found_as_what_it_is(name, tmp_path):
    path = tmp_path / "layer.onnx"
    path.write_bytes(GRAPHS[name])
    (found,) = inspect_onnx(path).norms
    layer = name.partition("/")[0]
    folded = layer == "gemma_rms_norm" and "dynamo" in name  # that exporter stores 1 + w, so nothing tells the offset
    assert found.norm == (replace(NORMS[layer], offset=0) if folded else NORMS[layer])
    assert found.unknown == (("offset",) if folded or (layer != "gemma_rms_norm" and "rms_norm" in layer) else ())
    assert found.norm.name == NORMS[layer].name
    assert [warning[: len(start)] for warning, start in zip(found.warnings, WARNINGS.get(layer, []), strict=True)] == (
        WARNINGS.get(layer, [])
    )
    assert (found.form == "one-pass") == (layer == "one_pass")
    assert found.dtype == ("float16" if layer.endswith("half") else "float32")


@pytest.mark.parametrize("name", [name for name in GRAPHS if name.startswith("gemma_rms_norm")])
def test_a_faithful_export_of_gemma_has_no_other_offset(name, tmp_path):
    path = tmp_path / "layer.onnx"
    path.write_bytes(GRAPHS[name])
    original = Report((Found("norm", NORMS["gemma_rms_norm"], {"d": 8}, offset=1),))
    assert ns.diff(original, inspect_onnx(path)).different == ()


def test_an_operator_is_called_fused_and_its_parts_are_not(tmp_path):
    forms = {}
    for opset in (16, 17):
        path = tmp_path / "layer.onnx"
        path.write_bytes(GRAPHS[f"layer_norm/script-{opset}.onnx"])
        forms[opset] = inspect_onnx(path).norms[0].form
    assert forms == {16: "two-pass", 17: "fused"}


def test_the_format_of_the_statistics_is_evidence(tmp_path):
    path = tmp_path / "layer.onnx"
    path.write_bytes(GRAPHS["hf_rms_norm_half/script-14.onnx"])
    evidence = inspect_onnx(path).norms[0].evidence
    assert "statistics in float32, x in float16" in evidence
    assert "gamma multiplies in float16" in evidence
