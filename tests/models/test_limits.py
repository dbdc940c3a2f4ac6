"""Small files that ask for much: memory and time stay bounded, and what is not tried is said."""

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

import normscope as ns
from normscope.errors import FileError
from normscope.models import capture, inferring, inlining, sizing
from normscope.models.capture import captured
from normscope.models.graph import graphs
from tests.models.graphs import inspected, model, only, scalar

ROW = """
    mu = ReduceMean <axes = [-1]> (h)
    c = Sub (h, mu)
    q = Mul (c, c)
    var = ReduceMean <axes = [-1]> (q)
    v = Add (var, eps)
    s = Sqrt (v)
    y = Div (c, s)
"""


def calling(bodies: dict[str, list[str]], top: str) -> ModelProto:
    """A model of one call; each function applies these operators or functions one after another."""
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    functions = []
    for name, calls in bodies.items():
        tensors = ["a", *(f"t{at}" for at in range(len(calls) - 1)), "b"]
        nodes = [
            helper.make_node(op, [before], [after], domain="own" if op in bodies else "")
            for op, before, after in zip(calls, tensors, tensors[1:], strict=False)
        ]
        functions.append(helper.make_function("own", name, ["a"], ["b"], nodes, opsets))
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["B", 8]) for name in "xy"]
    graph = helper.make_graph([helper.make_node(top, ["x"], ["y"], domain="own")], "g", ends[:1], ends[1:])
    return helper.make_model(graph, functions=functions, opset_imports=opsets, ir_version=8)


def laughing(times: int) -> ModelProto:
    """Eight functions, each of which calls the one before it so many times."""
    bodies = {"f0": ["Identity"] * times}
    return calling(bodies | {f"f{at}": [f"f{at - 1}"] * times for at in range(1, 8)}, "f7")


def test_functions_that_would_fill_the_memory_are_refused_before_they_are_written_out(tmp_path):
    with pytest.raises(FileError, match="larger than 256 MB with all of them written out"):
        inspected(laughing(10), tmp_path)
    assert inspected(laughing(2), tmp_path).norms == ()


def test_a_run_is_refused_as_well(tmp_path, monkeypatch):
    path = tmp_path / "model.onnx"
    path.write_bytes(laughing(2).SerializeToString())
    captured(path, {"x": np.ones((2, 8), np.float32)}, [], print)
    (graph,) = graphs(path)
    monkeypatch.setattr(capture, "graphs", lambda path: iter([graph]))
    monkeypatch.setattr(inlining, "MOST_WRITTEN", 1 << 10)
    with pytest.raises(FileError, match="written out"):
        captured(path, {"x": np.ones((2, 8), np.float32)}, [], print)


def test_calls_in_a_branch_count_too(tmp_path):
    made = laughing(10)
    call = made.graph.node.pop()
    info = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    branch = helper.make_graph([call], "then", [], info)
    other = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "else", [], info)
    made.graph.input.append(helper.make_tensor_value_info("flag", TensorProto.BOOL, []))
    made.graph.node.append(helper.make_node("If", ["flag"], ["y"], then_branch=branch, else_branch=other))
    with pytest.raises(FileError, match="written out"):
        inspected(made, tmp_path)


def test_functions_within_functions_have_a_limit(tmp_path):
    def nested(depth):
        return calling({"f0": ["Identity"]} | {f"f{at}": [f"f{at - 1}"] for at in range(1, depth)}, f"f{depth - 1}")

    assert inspected(nested(100), tmp_path).norms == ()
    with pytest.raises(FileError, match="more than 100 functions within functions"):
        inspected(nested(102), tmp_path)


@pytest.mark.parametrize("calls", [["f"], ["g", "f"], ["g", "g"]])
def test_functions_that_call_themselves_are_left_as_they_are(calls, tmp_path):
    assert inspected(calling({"f": calls, "g": ["f", "Identity"]}, "f"), tmp_path).norms == ()


@pytest.mark.parametrize(
    ("line", "arrays"),
    [
        ("z = ConstantOfShape (count)", {"count": np.array([1 << 40])}),
        ("z0 = Range (none, count, one)\n z = Cast <to = 1> (z0)", {"count": np.array(1 << 40)}),
    ],
)
def test_numbers_that_are_many_are_not_made(line, arrays, tmp_path):
    body = f"{line}\n m = ReduceMean <axes = [0], keepdims = 0> (z)\n h = Add (x, m)\n {ROW}"
    arrays |= {"eps": scalar(1e-5), "none": np.array(0), "one": np.array(1)}
    assert only(inspected(model(body, **arrays), tmp_path)).norm.name == "LayerNorm"


@pytest.mark.parametrize("in_branch", [False, True])
def test_numbers_that_double_again_and_again_are_not_made(in_branch, tmp_path, monkeypatch):
    asked, infer = [], inferring._inferred
    monkeypatch.setattr(inferring, "_inferred", lambda made, lists: asked.append(lists) or infer(made, False))
    lines = ["k0 = Concat <axis = 0> (start, start)"]
    lines += [f"k{at} = Concat <axis = 0> (k{at - 1}, k{at - 1})" for at in range(1, 60)]
    body = "\n".join([*lines, "m0 = Cast <to = 1> (k59)", "m = ReduceMean <axes = [0], keepdims = 0> (m0)"])
    made = model(f"{body}\n h = Add (x, m)\n {ROW}", eps=scalar(1e-5), start=np.array([1, 1]))
    if in_branch:
        nodes, info = list(made.graph.node[:62]), [helper.make_tensor_value_info("m", TensorProto.FLOAT, [])]
        del made.graph.node[:62]
        other = helper.make_graph([helper.make_node("Identity", ["eps"], ["m"])], "else", [], info)
        branches = {"then_branch": helper.make_graph(nodes, "then", [], info), "else_branch": other}
        made.graph.node.insert(0, helper.make_node("If", ["flag"], ["m"], **branches))
        made.graph.input.append(helper.make_tensor_value_info("flag", TensorProto.BOOL, []))
    assert only(inspected(made, tmp_path)).norm.name == "LayerNorm"
    assert asked == [False]


def test_a_long_list_that_is_given_is_no_list_of_numbers(tmp_path):
    body = f"h = Reshape (x, list)\n {ROW}"
    made = model(body, given=f"int64[{1 << 40}] list", eps=scalar(1e-5))
    assert inspected(made, tmp_path).warnings == ()


PLANE = ROW.replace("[-1]", "[2, 3]").replace("(h)", "(x)").replace("(h, ", "(x, ")


def test_a_plane_that_no_memory_holds_is_tried_smaller(tmp_path):
    shape = "float[1,3,1048576,1048576]"
    found = only(inspected(model(PLANE, x=f"{shape} x", y=f"{shape} y", eps=scalar(1e-5)), tmp_path))
    assert found.norm == ns.layer_norm([1 << 20, 1 << 20], elementwise_affine=False)
    assert found.verified == "agrees"


# n / (n - 1) of 40,000 cells tells only whole rows that the variance is unbiased.
def test_the_count_of_cells_as_a_number_keeps_a_row_whole(tmp_path):
    body = ROW.replace("v = Add (var, eps)", "u = Mul (var, n)\n w = Div (u, less)\n v = Add (w, eps)")
    made = model(
        body.replace("(h)", "(x)").replace("(h, ", "(x, "),
        x="float[7,7,40000] x",
        y="float[7,7,40000] y",
        eps=scalar(1e-5),
        n=scalar(40000),
        less=scalar(39999),
    )
    found = only(inspected(made, tmp_path))
    assert found.norm.correction == 1


def test_a_sum_over_more_cells_than_are_tried_is_said(tmp_path):
    shape = f"float[2,{sizing.MOST_CELLS}]"
    body = """
        p = ReduceSumSquare <axes = [-1]> (x)
        m = Mul (p, nth)
        v = Add (m, eps)
        s = Sqrt (v)
        y = Div (x, s)
    """
    nth = scalar(1 / sizing.MOST_CELLS)
    report = inspected(model(body, x=f"{shape} x", y=f"{shape} y", eps=scalar(1e-6), nth=nth), tmp_path)
    assert report.norms == ()
    (warning,) = report.warnings
    assert warning.startswith("Sqrt_3 (Sqrt) could not be read: 4194304 cells that share a statistic are too many")
