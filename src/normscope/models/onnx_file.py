"""The norms of an ONNX file: its fused operators, and every region that means a norm."""

from ast import literal_eval
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from math import prod
from pathlib import Path
from typing import Any

from ..errors import NormscopeError
from ..norm import Norm
from ..tracing import trace
from .canonical import canonical
from .forms import words
from .found import Found, Progress, Report
from .fused import ADDED, RULES_WITH_FUSED, Fused, fused, parameter
from .graph import Graph, graphs, lost
from .meaning import is_given
from .recognise import made_by
from .regions import Unreadable
from .running import Part
from .search import Region, Search
from .sizing import ROWS, shortened
from .summary import Summary, summary
from .verify import Outcome, not_run, verified
from .walks import divisor

NEAR = "a tensor is divided by the root of a mean over itself, but as no norm that is known."


def inspect_onnx(path: str | Path, *, run: bool = True, progress: Progress | None = None) -> Report:
    """Every norm of an ONNX model, in the order of its nodes; branches and loops too.

    run       run the nodes of each find, to see that they give what the norm gives
    progress  is called with the count of nodes done and of all

    Raises FileError for a file that is no ONNX model or cannot be read, and where onnx is not installed.
    """
    every = list(graphs(path))
    total = sum(len(graph.nodes) for graph in every)
    norms: list[Found] = []
    warnings = list(_lost(every))
    done = 0
    for graph in every:
        for at, found in _norms(graph, warnings, run):
            norms += found
            if progress is not None:
                progress(done + at + 1, total)
        done += len(graph.nodes)
    return Report(tuple(_named_apart(norms)), tuple(warnings))


def _lost(every: Sequence[Graph]) -> Iterator[str]:
    """Tensors whose data is in a file from which it cannot be read, each such file once."""
    reasons = Counter(
        filter(None, (lost(tensor, graph.folder) for graph in every for tensor in graph.tensors.values()))
    )
    for reason, count in reasons.items():
        yield f"the data of {count} tensor{'s' * (count != 1)} stands in {reason}."


def _norms(graph: Graph, warnings: list[str], run: bool) -> Iterator[tuple[int, list[Found]]]:
    """For each node in order, the norms that it is or is the root of."""
    taken: set[int] = set()
    for at, node in enumerate(graph.nodes):
        found: list[Found] = []
        try:
            if at not in taken:
                found = _at(graph, at, node, taken, warnings, run)
        except Exception as error:  # a stranger's graph can be wrong in every way; the other nodes are still read
            reason = error if isinstance(error, Unreadable | NormscopeError) else f"{type(error).__name__}: {error}"
            warnings.append(f"{_node_name(graph, at)} ({node.op_type}) could not be read: {reason}.")
        yield at, found


def _at(graph: Graph, at: int, node: Any, taken: set[int], warnings: list[str], run: bool) -> list[Found]:
    operator = fused(graph, node)
    start = divisor(graph, node) if operator is None else node.input[0]
    if not start:
        return []
    if operator is None or not operator.norm.scale:
        search = Search(graph, at, start, RULES_WITH_FUSED)
        wider = [each for each in search.regions() if operator is None or len(each.meaning.nodes) > 1]
        taken.update(*(each.meaning.nodes for each in wider))
        if wider:
            return [_of_region(graph, each, operator is not None, run) for each in wider]
        if operator is None and search.is_near:
            warnings.append(f"{_node_name(graph, at)} ({node.op_type}): {NEAR}")
    return [] if operator is None else [_of_operator(graph, at, node, operator, run)]


def _of_region(graph: Graph, found: Region, is_fused: bool, run: bool) -> Found:
    """A find that several nodes make."""
    what, meaning = found.what, found.meaning
    norm = canonical(what.norm, meaning.dims, dict(meaning.sizes), meaning.fixed)
    given = dict(meaning.given)
    tensors = {role: given[name] for name, role in what.roles}
    outcome = verified(_part(graph, found)) if run else Outcome()
    faults = [words(key, norm) for key in (*what.faults, *meaning.faults)]
    ops = ", ".join(graph.nodes[at].op_type for at in meaning.nodes)
    evidence = [f"{len(meaning.nodes)} nodes: {ops}", "its program agrees with the norm's on random numbers"]
    evidence += ["the variance is clamped: it cannot be negative"] if what.clamped and what.form == "one-pass" else []
    return Found(
        where=_where(graph, found.root, graph.maker[found.y]),
        norm=norm,
        sizes=dict(norm.sizes),
        form="fused" if is_fused else what.form,
        offset=norm.offset,
        dtype=graph.dtype(found.x),
        parameters=_summaries(graph, tensors),
        evidence=(*evidence, *_formats(graph, found), *_modulation(graph, found), *outcome.evidence),
        unknown=_unknown(norm),
        warnings=(*faults, *outcome.warnings),
        tensors={"x": found.x, "y": found.y} | tensors,
        cast=_cast(graph, found),
        verified=outcome.verdict,
    )


def _modulation(graph: Graph, found: Region) -> Iterator[str]:
    """What stands in gamma's place but is no parameter of the model."""
    for name, role in found.what.roles:
        if (tensor := dict(found.meaning.given)[name]) in graph.inputs:
            yield f"{role} is an input of the model, {tensor}"
    if found.what.norm.scale:
        return
    for node in (graph.nodes[at] for at in graph.readers.get(found.y, ())):
        others = [name for name in node.input if name != found.y and not is_given(graph, name)]
        if node.op_type == "Mul" and others:
            yield f"{others[0]}, which is computed, multiplies y next: a modulation, no gamma"


def _unknown(norm: Norm) -> tuple[str, ...]:
    """A gamma as it stands may be 1 + w, computed when the model was exported; only RMSNorms are written so."""
    return ("offset",) if norm.scale and norm.affine and not norm.center and not norm.offset else ()


def _formats(graph: Graph, found: Region) -> Iterator[str]:
    """In which format the statistics are computed and gamma multiplies, where that is not x's."""
    own, root = graph.dtype(found.x), graph.dtype(graph.nodes[found.root].input[0])
    if root and own and root != own:
        yield f"statistics in {root}, x in {own}"
    for name, role in found.what.roles:
        if role != "gamma":
            continue
        tensor = dict(found.meaning.given)[name]
        for at in graph.readers.get(tensor, ()):
            dtype = graph.dtype(graph.nodes[at].output[0])
            if dtype and root and own and root != own:
                yield f"gamma multiplies in {dtype}"


def _cast(graph: Graph, found: Region) -> str:
    """Whether narrow values are cast back to x's dtype before gamma multiplies; empty where there is no cast."""
    own, root = graph.dtype(found.x), graph.dtype(graph.nodes[found.root].input[0])
    if not own or not root or own == root:
        return ""
    wide = f"gamma multiplies in {root}"
    told = [each for each in _formats(graph, found) if each.startswith("gamma")]
    return "" if not told else "after gamma" if wide in told else "before gamma"


def _of_operator(graph: Graph, at: int, node: Any, operator: Fused, run: bool) -> Found:
    """A find that is one node."""
    sources = {role: parameter(graph, name) for role, name in operator.given.items()}
    tensors = {role: name for role, (name, _) in sources.items()}
    norm = replace(operator.norm, offset=sources["gamma"][1]) if "gamma" in sources else operator.norm
    outcome = _operator_outcome(graph, at, node, operator) if run else Outcome()
    return Found(
        where=_where(graph, at, at),
        norm=norm,
        sizes=dict(norm.sizes),
        form="one-pass" if "one-pass" in operator.faults else "fused",
        offset=norm.offset,
        dtype=graph.dtype(node.input[0]),
        parameters=_summaries(graph, tensors),
        evidence=(f"operator {node.op_type}", *operator.evidence, *outcome.evidence),
        unknown=_unknown(norm),
        warnings=(*(words(key, norm) for key in operator.faults), *outcome.warnings),
        tensors={"x": node.input[0], "y": node.output[0]} | tensors,
        verified=outcome.verdict,
    )


def _part(graph: Graph, found: Region) -> Part:
    """A region to run: at the sizes in which it was read, less where they are large."""
    meaning, what = found.meaning, found.what
    program, sizes = meaning.program, dict(meaning.sizes)
    if not meaning.faults:  # a statistic that lost an axis meets another of the same size
        given_axes = {axis for name, axes in program.inputs if name != "x" for axis in axes}
        sizes = shortened(program, sizes, [axis for axis in program.axes if axis not in given_axes])
    feeds = {found.x: tuple(prod(sizes[axis] for axis in dim) for dim in meaning.dims)}
    for _, tensor in meaning.given:
        feeds[tensor] = tuple(dim for dim in graph.shape(tensor) or () if isinstance(dim, int))
    shapes = {
        at: tuple(number * prod(sizes[axis] for axis in axes) for number, axes in dims) for at, dims in meaning.shapes
    }

    def expected(cells: Mapping[str, Any]) -> Any:
        given = {"x": cells[found.x].reshape(program.shape("x", sizes))}
        given |= {name: cells[tensor].reshape(program.shape(name, sizes)) for name, tensor in meaning.given}
        return made_by(what, sizes, given).reshape(feeds[found.x])

    given = dict(meaning.given)
    powers = {found.x: 1} | {given[name]: POWERS.get(role, 0) for name, role in what.roles}
    cells = prod(sizes[axis] for axis in what.norm.over)
    spread = _spread(what.norm, what.faults)
    one_pass = what.form == "one-pass"
    return Part(graph, meaning.nodes, found.y, feeds, shapes, expected, cells, spread, powers, one_pass)


POWERS = {"running_mean": 1, "running_var": 2}  # how a parameter grows with x


def _spread(norm: Norm, faults: Sequence[str]) -> float:
    """The spread of x beside which eps counts."""
    eps = float(norm.eps or 0)
    return eps if {"outside", "root-floor"} & set(faults) else eps**0.5


def _operator_outcome(graph: Graph, at: int, node: Any, operator: Fused) -> Outcome:
    if not operator.alone:
        return not_run("the operator does more than the norm")
    part = _operator_part(graph, at, node, operator)
    return not_run("the rank of x is not known") if part is None else verified(part)


def _operator_part(graph: Graph, at: int, node: Any, operator: Fused) -> Part | None:
    """One node to run: at its own sizes where the norm has them, at small ones elsewhere."""
    shape = graph.shape(node.input[0])
    try:
        norm = operator.norm.fit(len(shape) if shape is not None else 4 if "C" in operator.norm.pattern else 3)
    except NormscopeError:
        return None
    known = dict(norm.sizes)
    sizes = {axis: known.get(axis, ROWS) for axis in norm.axes}
    full = tuple(prod(sizes[axis] for axis in dim) for dim in norm.layout.dims)
    roles = {name: role for role, name in operator.given.items()}
    added = [node.input[at] for at in ADDED.get(node.op_type, (0,)) if at < len(node.input) and node.input[at]]
    feeds = {}
    for name in dict.fromkeys([*added, *roles]):
        own = graph.shape(name)
        if own is None or (name in added and len(own) != 1):
            own = full
        feeds[name] = tuple(dim if isinstance(dim, int) else ROWS for dim in own)

    def expected(cells: Mapping[str, Any]) -> Any:
        total = sum(cells[name] for name in added)
        given = {role: cells[name] for name, role in roles.items()}
        shaped = {role: each.reshape(_shape_of(norm, role, sizes)) for role, each in given.items()}
        return trace(total, norm, **shaped)["y"].reshape(full)

    powers = {name: POWERS.get(roles[name], 0) if name in roles else 1 for name in feeds}
    cells, spread = prod(sizes[axis] for axis in norm.over), _spread(norm, operator.faults)
    return Part(graph, (at,), node.output[0], feeds, {}, expected, cells, spread, powers)


def _shape_of(norm: Norm, role: str, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The shape in which a trace takes a parameter."""
    return tuple(sizes[axis] for axis in norm.kept) if role.startswith("running") else norm.param_shape(sizes)


def _summaries(graph: Graph, tensors: Mapping[str, str]) -> dict[str, Summary]:
    made = {}
    for role, name in tensors.items():
        cells = graph.array(name)
        if cells is not None and cells.size:
            made[role] = summary(cells)
    return made


def _node_name(graph: Graph, at: int) -> str:
    node = graph.nodes[at]
    return node.name or next(iter(node.output), "") or f"{node.op_type}_{at}"


def _module(node: Any) -> str:
    """The path of the module that PyTorch's exporter wrote a node for, as its metadata has it; empty without."""
    scopes = next((each.value for each in node.metadata_props if each.key == SCOPES), "")
    try:
        module = literal_eval(scopes)[-2] if len(scopes) < LONGEST else ""  # the last one is the operation
    except (SyntaxError, ValueError, TypeError, LookupError, RecursionError, MemoryError):
        module = ""
    return module if isinstance(module, str) else ""


SCOPES = "pkg.torch.onnx.name_scopes"
LONGEST = 4096  # characters of what is read of them


def _folder(node: Any) -> str:
    """The path that other exporters put before a node's name: `/encoder/norm/Sqrt` gives `encoder/norm`."""
    folder: str = node.name.rpartition("/")[0]
    return folder.strip("/")


def _where(graph: Graph, root: int, last: int) -> str:
    """The path that the modules of the root and of the last node share; else the root's name."""
    for path_of, mark in ((_module, "."), (_folder, "/")):
        paths = (path_of(graph.nodes[at]).split(mark) for at in (root, last))
        both = takewhile(lambda pair: pair[0] == pair[1], zip(*paths, strict=False))
        if shared := mark.join(part for part, _ in both):
            return graph.where + shared
    return graph.where + _node_name(graph, root)


def _named_apart(norms: list[Found]) -> Iterator[Found]:
    """The finds with a name each: one that another has too goes by its y."""
    names = [each.where for each in norms]
    for each in norms:
        yield each if names.count(each.where) == 1 else replace(each, where=f"{each.where}/{each.tensors['y']}")
