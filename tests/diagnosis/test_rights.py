"""No right implementation is accused: over a thousand runs of them, in every dtype."""

import numpy as np
import pytest

import normscope as ns
from normscope.diagnosis.judge import judge
from tests.diagnosis.asking import Local
from tests.diagnosis.rights import BACKWARD, LAYER, RIGHTS

DTYPES = ("float64", "float32", "bfloat16", "float16")
OVERFLOWING = {(name, "float16") for name in ("own_dtype", "rms_own_dtype", "batch_training")}  # they square in half
SEEDS = 12


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", RIGHTS)
def test_right_implementations_are_correct(name, dtype):
    function, norm = RIGHTS[name]
    for seed in range(SEEDS):
        made = judge(Local(function, ("y", "running_mean", "running_var")), norm, dtype=dtype, seed=seed)
        if (name, dtype) in OVERFLOWING:
            assert made.ids in ((), ("squares-in-half",)), (seed, made)
        else:
            assert made.verdict == "correct", (seed, made)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BACKWARD)
def test_right_gradients_are_correct(name, dtype):
    function, norm = BACKWARD[name]
    for seed in range(3):
        made = judge(None, norm, backward=Local(function, ("dx", "dgamma", "dbeta")), dtype=dtype, seed=seed)
        assert made.verdict == "correct", (seed, made)


def test_there_are_a_thousand_runs():
    assert len(RIGHTS) * len(DTYPES) * SEEDS + len(BACKWARD) * len(DTYPES) * 3 >= 1000


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_pytorch_is_correct(dtype):
    import torch
    from torch.nn import functional as F

    def numpy(function):
        return lambda *given: function(
            *(torch.from_numpy(np.array(each)) if hasattr(each, "shape") else each for each in given)
        ).numpy()

    layer = numpy(lambda x, g, b, eps: F.layer_norm(x, x.shape[-1:], g, b, eps))
    group = numpy(lambda x, n, g, b, eps: F.group_norm(x, n, g, b, eps))
    batch = numpy(lambda x, g, b, eps: F.batch_norm(x, None, None, g, b, True, 0.1, eps))
    rms = numpy(lambda x, g, eps: F.rms_norm(x, x.shape[-1:], g, eps))
    functions = {
        LAYER: lambda x, gamma, beta, eps: layer(x, gamma, beta, eps),
        ns.group_norm(2): lambda x, num_groups, gamma, beta, eps: group(x, num_groups, gamma, beta, eps),
        ns.batch_norm(): lambda x, gamma, beta, eps: batch(x, gamma, beta, eps),
        ns.rms_norm(): lambda x, gamma, eps: rms(x, gamma, eps),
    }
    for norm, function in functions.items():
        for seed in range(5):
            made = judge(Local(function), norm, dtype=dtype, seed=seed)
            assert made.verdict == "correct", (norm, seed, made)


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_onnx_runtime_is_correct(dtype):
    import onnxruntime
    from onnx import TensorProto, helper

    kind = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16}[dtype]
    sessions = {}

    def session(eps, rank):
        if (eps, rank) not in sessions:
            node = helper.make_node("LayerNormalization", ["x", "g", "b"], ["y"], axis=-1, epsilon=eps)
            shapes = {"x": [None] * rank, "g": [None], "b": [None], "y": [None] * rank}
            infos = {name: helper.make_tensor_value_info(name, kind, shape) for name, shape in shapes.items()}
            graph = helper.make_graph([node], "g", [infos["x"], infos["g"], infos["b"]], [infos["y"]])
            model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
            sessions[eps, rank] = onnxruntime.InferenceSession(model.SerializeToString())
        return sessions[eps, rank]

    def layer_norm(x, gamma, beta, eps):
        return session(eps, x.ndim).run(None, {"x": np.ascontiguousarray(x), "g": gamma, "b": beta})[0]

    for seed in range(3):
        made = judge(Local(layer_norm), LAYER, dtype=dtype, seed=seed)
        assert made.verdict == "correct", (seed, made)
