"""A model run on one input, and what enters and leaves each of its norms.

An ONNX model runs in ONNX Runtime as its file says, with more outputs added to a copy of the graph in memory; a
PyTorch module with hooks; of weights alone a person gives what was recorded elsewhere. Each call of a norm is handed
on as soon as it is there, and not kept.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from ..errors import FileError
from .feeding import cast, check_names, check_shape, first_line, shape_text
from .found import Found
from .fused import ADDED
from .graph import Graph, graphs
from .hooks import WIDE, Each, of_module
from .inlining import written_out
from .passing import Passage
from .skeleton import skeleton
from .tensors import tensors

NEEDED = "running a model needs the library onnxruntime; install it: pip install 'normscope[inspect]'."
ROOM = 1 << 30  # bytes of activations that are taken out of one run
FOLDER = "session.model_external_initializers_file_folder_path"
PARAMETERS = ("gamma", "beta", "running_mean", "running_var")


class RuntimeMissing(FileError):
    """The library onnxruntime is not installed."""

    exit_code = 4


def captured(source: Any, feeds: Mapping[str, Any], norms: Sequence[Found], each: Each) -> list[str]:
    """Run a model and call `each` with every passage through a norm; what could not be had, in words.

    source  an .onnx file, a PyTorch module, or weights
    feeds   the model's inputs by name; of weights, what entered a norm by the name of the norm
    norms   those that are wanted, as `inspect` found them

    Raises FileError for feeds that are not the model's, and for a model that cannot be run.
    """
    if hasattr(source, "register_forward_hook"):
        return of_module(source, feeds, norms, each)
    if Path(source).suffix.lower() == ".onnx":
        return _of_onnx(Path(source), feeds, norms, each)
    return _of_records(Path(source), feeds, norms, each)


# ---- ONNX


def _of_onnx(path: Path, feeds: Mapping[str, Any], norms: Sequence[Found], each: Each) -> list[str]:
    graph = next(graphs(path))
    there = {*graph.maker, *graph.inputs, *graph.tensors}
    notes = [f"{found.where}: it stands in a branch or a loop, whose tensors a run does not give." for found in norms
             if found.tensors.get("y") not in there]  # fmt: skip
    norms = [found for found in norms if found.tensors.get("y") in there]
    wanted = {found.where: _names(graph, found) for found in norms}
    notes += [f"{found.where}: its x is made inside the operator." for found in norms if not wanted[found.where][0]]
    norms = [found for found in norms if wanted[found.where][0]]
    run = _Run(path, graph, [name for xs, others in wanted.values() for name in (*xs, *others.values())])
    given = run.fitted(feeds, notes)
    for made, found in run.through(given, norms, wanted):
        xs, others = wanted[found.where]
        first, *added = (_constant_or(graph, name, made) for name in xs)
        x = sum(added, first)
        tensors = {role: _constant_or(graph, name, made) for role, name in others.items()}
        y = tensors.pop("y")
        each(Passage(found, x, y, {role: tensors[role] for role in PARAMETERS if role in tensors}))
    return notes


def _names(graph: Graph, found: Found) -> tuple[list[str], dict[str, str]]:
    """The tensors whose sum is x, and those of y and the parameters by their role."""
    node = graph.nodes[graph.maker[found.tensors["y"]]] if found.tensors["y"] in graph.maker else None
    others = {role: name for role, name in found.tensors.items() if role == "y" or role in PARAMETERS}
    if node is not None and node.op_type == "EmbedLayerNormalization":
        return [], others
    places = ADDED.get(node.op_type, ()) if node is not None else ()
    if node is not None and places:
        return [node.input[at] for at in places if at < len(node.input) and node.input[at]], others
    return [found.tensors["x"]], others


def _constant_or(graph: Graph, name: str, made: Mapping[str, Any]) -> Any:
    cells = graph.array(name)
    return made[name] if cells is None else cells


class _Run:
    """A session of ONNX Runtime that gives the tensors `names` too."""

    def __init__(self, path: Path, graph: Graph, names: Sequence[str]) -> None:
        try:
            import onnxruntime
        except ImportError:
            raise RuntimeMissing(NEEDED) from None
        self.name = path.name
        self.alias, model = _with_outputs(path, graph, names)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL  # as the file says
        options.add_session_config_entry(FOLDER, str(path.parent.resolve()))
        try:
            self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # its errors have no class in common
            raise FileError(f"{path.name}: ONNX Runtime cannot load it: {first_line(error)}") from None

    def fitted(self, feeds: Mapping[str, Any], notes: list[str]) -> dict[str, Any]:
        """The feeds that the model has, each in its own dtype. FileError for those of another shape."""
        inputs = {each.name: each for each in self.session.get_inputs()}
        check_names(self.name, {name: _kind(each) for name, each in inputs.items()}, feeds, notes)
        for name, each in inputs.items():
            check_shape(name, feeds[name].shape, each.shape)
        return {name: cast(name, feeds[name], _numpy_name(each.type), notes) for name, each in inputs.items()}

    def through(
        self, feeds: Mapping[str, Any], norms: Sequence[Found], wanted: Mapping[str, tuple[list[str], dict[str, str]]]
    ) -> Iterator[tuple[dict[str, Any], Found]]:
        """For every norm its tensors; as many norms from one run as there is room for."""
        waiting, count = iter(norms), 1
        while several := list(islice(waiting, count)):
            names = {name for found in several for name in (*wanted[found.where][0], *wanted[found.where][1].values())}
            asked = [name for name in names if name in self.alias]
            try:
                made = dict(
                    zip(asked, self.session.run([self.alias[name] for name in asked], dict(feeds)), strict=True)
                )
            except Exception as error:
                raise FileError(f"{self.name}: ONNX Runtime cannot run it on this input: {first_line(error)}") from None
            made |= {name: feeds[name] for name in names if name in feeds}
            yield from ((made, found) for found in several)
            largest = sum(cells.nbytes for cells in made.values()) / len(several)
            count = max(1, int(ROOM / max(largest, 1)))


def _with_outputs(path: Path, graph: Graph, names: Sequence[str]) -> tuple[dict[str, str], bytes]:
    """The model, its large tensors left in the file, with these tensors as outputs; the output that gives each."""
    import onnx
    from onnx import helper

    model = onnx.ModelProto()
    model.ParseFromString(skeleton(path))
    model = written_out(model)
    there = {output.name for output in model.graph.output}
    alias: dict[str, str] = {}
    for name in dict.fromkeys(names):
        if name in graph.inputs or graph.array(name) is not None:
            continue
        alias[name] = name
        if graph.dtype(name) not in ("", *WIDE):
            alias[name] = f"normscope/{name}"
            model.graph.node.append(helper.make_node("Cast", [name], [alias[name]], to=onnx.TensorProto.FLOAT))
        if alias[name] not in there:
            model.graph.output.append(helper.make_empty_tensor_value_info(alias[name]))
    written: bytes = model.SerializeToString()
    return alias, written


def _kind(each: Any) -> str:
    return f"{_numpy_name(each.type)} {shape_text(each.shape)}"


def _numpy_name(kind: str) -> str:
    """ONNX Runtime's `tensor(float)` as NumPy spells it."""
    inner = kind.removeprefix("tensor(").removesuffix(")")
    return {"float": "float32", "double": "float64"}.get(inner, inner)


# ---- weights


def _of_records(path: Path, feeds: Mapping[str, Any], norms: Sequence[Found], each: Each) -> list[str]:
    """Weights do not run: what entered a norm is given by its name, what left it by that name and `.y`."""
    known = {found.where: found for found in norms}
    recorded = [name for name in feeds if name in known]
    if not recorded:
        names = ", ".join(islice(known, 3))
        raise FileError(
            f"{path.name} holds weights, which do not run; give what entered a norm as an array named like it, as in "
            f"numpy.savez('input.npz', **{{'{next(iter(known), 'encoder.norm')}': x}}). Its norms: {names or 'none'}."
        )
    notes = [
        f"{name} is the name of no norm, and is left out." for name in feeds if name.removesuffix(".y") not in known
    ]
    for found in norms:
        if found.where in feeds:
            each(Passage(found, feeds[found.where], feeds.get(f"{found.where}.y"), _stored(path, found)))
    return notes


def _stored(path: Path, found: Found) -> dict[str, Any]:
    """The parameters of a norm, from the file of weights or from those of its folder."""
    files = sorted(path.glob("*.safetensors")) if path.is_dir() else [path]
    there = {name: tensor for file in files for name, tensor in tensors(file).items()}
    names = {role: found.tensors[role] for role in PARAMETERS if found.tensors.get(role) in there}
    stored = {role: there[name].array() for role, name in names.items()}
    return {role: cells if cells.dtype.name in WIDE else cells.astype("float32") for role, cells in stored.items()}
