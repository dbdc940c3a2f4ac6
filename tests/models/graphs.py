"""Small ONNX models for tests: nodes as lines, written as ONNX's text format, and what they hold."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from normscope.models.found import Found, Report
from normscope.models.onnx_file import inspect_onnx

D = 8
GAMMA = np.linspace(0.5, 1.5, D, dtype=np.float32)
BETA = np.linspace(-1.0, 1.0, D, dtype=np.float32)
EPS = {"eps": np.array(1e-5, np.float32), "gamma": GAMMA, "beta": BETA}
CENTERED = """
    mu = ReduceMean <axes = [-1]> (x)
    c = Sub (x, mu)
    q = Mul (c, c)
    var = ReduceMean <axes = [-1]> (q)
"""
XHAT = f"{CENTERED} v = Add (var, eps)\n s = Sqrt (v)\n xhat = Div (c, s)"
RMS = """
    q = Mul (x, x)
    m = ReduceMean <axes = [-1]> (q)
    v = Add (m, eps)
    s = Sqrt (v)
    xhat = Div (x, s)
"""
AFFINE = "scaled = Mul (xhat, gamma)\n y = Add (scaled, beta)"
RUN = "ONNX Runtime gives what the norm gives, on random numbers"


def model(
    body: str, *, opset: int = 17, x: str = "float[B,S,8] x", y: str = "float[B,S,8] y", given: str = "", **arrays: Any
) -> onnx.ModelProto:
    """A model from the text of its nodes; `arrays` are its initializers."""
    inputs = ", ".join(filter(None, [x, given]))
    text = f'<ir_version: 8, opset_import: ["" : {opset}, "com.microsoft" : 1]>\ng ({inputs}) => ({y}) {{\n{body}\n}}'
    made = onnx.parser.parse_model(text)
    made.graph.initializer.extend(numpy_helper.from_array(np.asarray(cells), name) for name, cells in arrays.items())
    for at, node in enumerate(made.graph.node):
        node.name = f"{node.op_type}_{at}"
    return made


def inspected(made: onnx.ModelProto, folder: Path, **options: Any) -> Report:
    """What is found in a model, written to a file."""
    path = folder / "model.onnx"
    path.write_bytes(made.SerializeToString())
    return inspect_onnx(path, **options)


def only(report: Report) -> Found:
    """The one norm of a report."""
    (found,) = report.norms
    assert report.warnings == ()
    return found


def scalar(value: float) -> np.ndarray:
    """A float32 of no dimensions."""
    return np.array(value, np.float32)


def node(op: str, inputs: list[str], outputs: list[str], **attributes: Any) -> onnx.NodeProto:
    """A node; what helper.make_node gives."""
    return helper.make_node(op, inputs, outputs, **attributes)
