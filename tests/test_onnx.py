"""The ONNX standard's own node cases, which the onnx wheel generates, against our trace.

Each case is an ONNX node, its inputs and the outputs of ONNX's reference. The cases named `*_expanded` hold
the same figures again for other opsets and are left out.
"""

import importlib
from typing import Any

import numpy as np
import onnx.helper
import pytest

import normscope as ns

NODE = "onnx.backend.test.case.node"
OPERATORS = {  # operator: its case module, and how many cases it has
    "LayerNormalization": ("layernormalization", 19),
    "RMSNormalization": ("rmsnormalization", 19),
    "GroupNormalization": ("groupnormalization", 2),
    "InstanceNormalization": ("instance_normalization", 2),
    "BatchNormalization": ("batch_normalization", 4),
}
# Their reference sums in float32 naively over at most 120 cells of spread near 1; ours pairwise.
BOUND = {"rtol": 4e-6, "atol": 4e-6}


def cases() -> dict[str, list[Any]]:
    """Every case of the five operators; importing a case module appends its cases to a private list."""
    node = importlib.import_module(NODE)
    for module, _ in OPERATORS.values():
        importlib.import_module(f"{NODE}.{module}")
    collected = getattr(node, "_NodeTestCases", None)
    if collected is None:
        pytest.fail(f"onnx {onnx.__version__}: {NODE} has no _NodeTestCases; find its new name for test_onnx.py")
    made: dict[str, list[Any]] = {operator: [] for operator in OPERATORS}
    for case in collected:
        operator = case.model.graph.node[0].op_type
        if operator in made and "_expanded" not in case.name:
            made[operator].append(case)
    return made


CASES = cases()
EVERY = [pytest.param(case, id=case.name) for operator in CASES.values() for case in operator]


def attributes(case: Any) -> dict[str, Any]:
    """The attributes of a case's only node."""
    (node,) = case.model.graph.node
    return {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}


def norm_of(case: Any, shape: tuple[int, ...]) -> ns.Norm:
    """What an ONNX node says, as a Norm. ONNX writes float32 attributes: 1e-5 arrives as 9.99999975e-06."""
    given = attributes(case)
    eps = float(np.format_float_positional(np.float32(given.get("epsilon", 1e-5))))
    normalized_shape = shape[given.get("axis", -1) :]
    return {
        "LayerNormalization": lambda: ns.layer_norm(normalized_shape, eps),
        "RMSNormalization": lambda: ns.rms_norm(normalized_shape, eps),
        "GroupNormalization": lambda: ns.group_norm(given["num_groups"], shape[1], eps),
        "InstanceNormalization": lambda: ns.instance_norm(shape[1], eps, affine=True),
        "BatchNormalization": lambda: ns.batch_norm(shape[1], eps, training=bool(given.get("training_mode"))),
    }[case.model.graph.node[0].op_type]()


@pytest.mark.parametrize("operator", OPERATORS)
def test_the_standard_has_as_many_cases_as_we_count(operator):
    assert len(CASES[operator]) == OPERATORS[operator][1]


def test_two_of_the_batch_norm_cases_train():
    assert sum(bool(attributes(case).get("training_mode")) for case in CASES["BatchNormalization"]) == 2


@pytest.mark.parametrize("case", EVERY)
def test_onnx_node(case):
    ((inputs, outputs),) = case.data_sets
    x, gamma, beta, *statistics = [*inputs, None][: max(3, len(inputs))]
    norm = norm_of(case, x.shape)
    given = dict(zip(("running_mean", "running_var"), statistics, strict=True)) if norm.running else {}
    trace = ns.trace(x, norm, gamma, beta, **given)
    assert trace.output.dtype == outputs[0].dtype
    np.testing.assert_allclose(trace.output, outputs[0], **BOUND)
    check_statistics(case, norm, trace, statistics, outputs[1:])


def check_statistics(case: Any, norm: ns.Norm, trace: ns.Trace, old: list[Any], outputs: list[Any]) -> None:
    """The node's other outputs: LayerNormalization's mean and root, or the running statistics."""
    wanted = len(case.model.graph.node[0].output) - 1
    assert len(outputs) == wanted
    if not wanted:
        return
    ours = [trace["mu"], trace["r"]]
    if norm.name == "BatchNorm":
        # ONNX's momentum weighs the old value, and its running variance is the population variance.
        update = ns.running_statistics(trace.inputs["x"], norm, *old, momentum=1 - 0.9, correction=0)
        ours = [update["new_running_mean"].reshape(-1), update["new_running_var"].reshape(-1)]
    for mine, theirs in zip(ours, outputs, strict=True):
        assert mine.shape == theirs.shape
        np.testing.assert_allclose(mine, theirs, **BOUND)
