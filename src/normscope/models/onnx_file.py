"""The norms of an ONNX file: its fused operators, and every region that means a norm."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

from ..errors import NormscopeError
from ..norm import Norm
from ..tracing import trace
from .canonical import canonical
from .forms import words
from .found import Found, Progress, Report
from .fused import RULES_WITH_FUSED, Fused, fused, parameter
from .graph import Graph, graphs
from .meaning import is_given
from .recognise import made_by
from .regions import Unreadable
from .search import Region, Search
from .summary import Summary, summary
from .verify import Outcome, Part, verified
from .walks import divisor

ROWS = 3  # positions along a kept dimension, where a fused operator is run
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
    warnings: list[str] = []
    done = 0
    for graph in every:
        for at, found in _norms(graph, warnings, run):
            norms += found
            if progress is not None:
                progress(done + at + 1, total)
        done += len(graph.nodes)
    return Report(tuple(_named_apart(norms)), tuple(warnings))


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
    outcome = verified(_part(graph, found)) if run else Outcome("")
    faults = [words(key, norm) for key in (*what.faults, *meaning.faults)]
    ops = ", ".join(graph.nodes[at].op_type for at in meaning.nodes)
    evidence = [f"{len(meaning.nodes)} nodes: {ops}", "its program agrees with the norm's on random numbers"]
    evidence += ["the variance is clamped: it cannot be negative"] if what.clamped and what.form == "one-pass" else []
    return Found(
        where=_where(graph, found),
        norm=norm,
        sizes=dict(norm.sizes),
        form="fused" if is_fused else what.form,
        offset=norm.offset,
        dtype=graph.dtype(found.x),
        parameters=_summaries(graph, tensors),
        evidence=(*evidence, *_formats(graph, found), *_modulation(graph, found), *filter(None, [outcome.evidence])),
        unknown=_unknown(norm),
        warnings=(*faults, *filter(None, [outcome.warning])),
        tensors={"x": found.x, "y": found.y} | tensors,
        cast=_cast(graph, found),
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
    part = _operator_part(graph, at, node, operator) if run and operator.alone else None
    outcome = Outcome("") if part is None else verified(part)
    return Found(
        where=graph.where + (_folder(node.name) or _node_name(graph, at)),
        norm=norm,
        sizes=dict(norm.sizes),
        form="one-pass" if "one-pass" in operator.faults else "fused",
        offset=norm.offset,
        dtype=graph.dtype(node.input[0]),
        parameters=_summaries(graph, tensors),
        evidence=(f"operator {node.op_type}", *operator.evidence, *filter(None, [outcome.evidence])),
        unknown=_unknown(norm),
        warnings=(*(words(key, norm) for key in operator.faults), *filter(None, [outcome.warning])),
        tensors={"x": node.input[0], "y": node.output[0]} | tensors,
    )


def _part(graph: Graph, found: Region) -> Part:
    """A region to run: at the sizes in which it was read."""
    meaning = found.meaning
    sizes = dict(meaning.sizes)
    feeds = {found.x: tuple(prod(sizes[axis] for axis in dim) for dim in meaning.dims)}
    for _, tensor in meaning.given:
        feeds[tensor] = tuple(dim for dim in graph.shape(tensor) or () if isinstance(dim, int))

    def expected(cells: Mapping[str, Any]) -> Any:
        program = meaning.program
        given = {"x": cells[found.x].reshape(program.shape("x", sizes))}
        given |= {name: cells[tensor].reshape(program.shape(name, sizes)) for name, tensor in meaning.given}
        return made_by(found.what, sizes, given).reshape(feeds[found.x])

    cells = prod(sizes[axis] for axis in found.what.norm.over)
    return Part(graph, meaning.nodes, found.y, feeds, dict(meaning.shapes), expected, cells)


def _operator_part(graph: Graph, at: int, node: Any, operator: Fused) -> Part | None:
    """One node to run: at its own sizes where the norm has them, at small ones elsewhere."""
    x, *others = dict.fromkeys(filter(None, node.input))
    shape = graph.shape(x)
    try:
        norm = operator.norm.fit(len(shape) if shape is not None else 4 if "C" in operator.norm.pattern else 3)
    except NormscopeError:
        return None
    known = dict(norm.sizes)
    sizes = {axis: known.get(axis, ROWS) for axis in norm.axes}
    full = tuple(prod(sizes[axis] for axis in dim) for dim in norm.layout.dims)
    roles = {name: role for role, name in operator.given.items()}
    feeds = {x: full}
    for name in others:
        if name in roles or graph.constant(name) is None:
            own = graph.shape(name) if name in roles else full
            feeds[name] = tuple(dim if isinstance(dim, int) else ROWS for dim in (full if own is None else own))

    def expected(cells: Mapping[str, Any]) -> Any:
        total = sum(each for name, each in cells.items() if name not in roles)
        given = {role: cells[name] for name, role in roles.items()}
        shaped = {role: each.reshape(_shape_of(norm, role, sizes)) for role, each in given.items()}
        return trace(total, norm, **shaped)["y"].reshape(full)

    return Part(graph, (at,), node.output[0], feeds, {}, expected, prod(sizes[axis] for axis in norm.over))


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


def _folder(name: str) -> str:
    """The module's path that an exporter put before a node's name: `/encoder/norm/Sqrt` gives `encoder/norm`."""
    return name.rpartition("/")[0].strip("/")


def _where(graph: Graph, found: Region) -> str:
    """The path that the root's and the last node's names share; else the root's name."""
    root, last = (_folder(graph.nodes[at].name).split("/") for at in (found.root, graph.maker[found.y]))
    shared = [one for one, other in zip(root, last, strict=False) if one == other]
    return graph.where + ("/".join(shared) or _node_name(graph, found.root))


def _named_apart(norms: list[Found]) -> Iterator[Found]:
    """The finds with a name each: one that another has too goes by its y."""
    names = [each.where for each in norms]
    for each in norms:
        yield each if names.count(each.where) == 1 else replace(each, where=f"{each.where}/{each.tensors['y']}")
