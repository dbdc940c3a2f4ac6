"""The norms of the ONNX standard, written out into the nodes that its own functions are."""

import importlib
from typing import Any

import onnx
import pytest

import normscope as ns
from tests.models.graphs import inspected, only

NODE = "onnx.backend.test.case.node"
MODULES = ("layernormalization", "rmsnormalization", "groupnormalization", "meanvariancenormalization")
ONE_PASS = "the variance is one-pass"


def cases() -> list[Any]:
    """Every case that is written out; importing a module appends its cases to a private list."""
    node = importlib.import_module(NODE)
    for module in MODULES:
        importlib.import_module(f"{NODE}.{module}")
    names = ("test_layer_norm", "test_rms_norm", "test_group_norm", "test_mvn")
    return [case for case in node._NodeTestCases if "_expanded" in case.name and case.name.startswith(names)]


CASES = cases()
EVERY = [pytest.param(case, id=case.name) for case in CASES]


def as_norm(case: Any) -> ns.Norm:
    """What the case is named after: its operator's attributes are constants in the nodes, so the name tells."""
    name = case.name
    eps = 0.1 if "epsilon" in name else 1e-5
    shape = [dim.dim_value for dim in case.model.graph.input[0].type.tensor_type.shape.dim]
    if "group" in name:
        return ns.group_norm(2, 4, 0.01 if "epsilon" in name else 1e-5)
    if "mvn" in name:
        return ns.batch_norm(3, 1e-9, affine=False)
    digits = name.partition("axis")[2].partition("_expanded")[0].removesuffix("_epsilon")
    axis = -1 if not digits else -int(digits[-1]) if "negative" in digits else int(digits[-1])
    return (ns.rms_norm if "rms" in name else ns.layer_norm)(shape[axis:], eps)


def test_the_wheel_has_59_norms_written_out_and_mean_variance_twice():
    assert [sum(word in case.name for case in CASES) for word in ("layer", "rms", "group", "mvn")] == [38, 19, 2, 2]


@pytest.mark.parametrize("case", EVERY)
def test_what_the_standard_writes_out_is_found_as_what_it_is(case, tmp_path):
    found = only(inspected(case.model, tmp_path))
    assert found.norm == as_norm(case)
    assert (found.form == "one-pass") == ("rms" not in case.name)
    assert any(ONE_PASS in warning for warning in found.warnings) == ("rms" not in case.name)
    assert any("eps is added to the standard deviation" in each for each in found.warnings) == ("mvn" in case.name)
    assert "ONNX Runtime gives what the norm gives, on random numbers" in found.evidence
    assert found.tensors["x"].lower() == "x"


def test_names_of_nodes_and_tensors_decide_nothing(tmp_path):
    case = next(case for case in CASES if case.name == "test_layer_normalization_4d_axis2_expanded")
    text = onnx.ModelProto()
    text.CopyFrom(case.model)
    names: dict[str, str] = {}
    for node in text.graph.node:
        node.input[:] = [names.setdefault(name, f"n{len(names)}") if name else "" for name in node.input]
        node.output[:] = [names.setdefault(name, f"n{len(names)}") if name else "" for name in node.output]
        node.name = ""
    for info in [*text.graph.input, *text.graph.output]:
        info.name = names[info.name]
    assert only(inspected(text, tmp_path)).norm == ns.layer_norm([4, 5])
