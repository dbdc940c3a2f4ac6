"""What a part of a graph means: the program over our own ops that leads from one tensor to another.

A tensor is a value of the program with its dimensions as axes of x; so Cast, Identity, Transpose, Reshape and the
like add no step. Numbers and shapes that the graph computes are computed here (`Known`), where a size that comes
from elsewhere is nan.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod
from typing import Any

from ..axes import Axes, order
from ..errors import NormscopeError
from ..program import Arg, Builder, Program
from .graph import Graph
from .plain import plain_names
from .regions import FREE, Clash, Dims, Layout, Unreadable

MOST_NODES = 300  # of one region
FEW = 64  # cells of a constant that is computed with here


@dataclass(frozen=True)
class Known:
    """Numbers that do not depend on x, as float64; nan where one is not known. `whole`: they are integers."""

    cells: Any
    whole: bool


@dataclass(frozen=True)
class Tensor:
    """A value of the program, or a number, and which axes its dimensions are.

    full  the dimensions as they were before keepdims=0 took the reduced ones away
    """

    term: Arg
    dims: Dims
    full: Dims | None = None


Meant = Known | Tensor
Rule = Callable[["Reading", Any], Sequence[Meant]]


@dataclass(frozen=True)
class Meaning:
    """A program from x to y.

    program  its inputs are x and the parameters, `p0`, `p1` and so on
    y        the value that is y
    dims     the dimensions of x (and of y) as axes of the program
    sizes    the size of every axis
    fixed    the axes whose size is the model's, not chosen here
    given    the tensor of each parameter
    faults   what is wrong with the graph as it stands, by key of `forms.WORDS`
    nodes    the places of the nodes that say it
    shapes   by place of a node that gives a shape, the dimensions that come out of it: each a number times axes
    """

    program: Program
    y: str
    dims: Dims
    sizes: tuple[tuple[str, int], ...]
    fixed: frozenset[str]
    given: tuple[tuple[str, str], ...] = field(compare=False)
    faults: tuple[str, ...]
    nodes: tuple[int, ...] = field(compare=False)
    shapes: tuple[tuple[int, tuple[tuple[int, Axes], ...]], ...] = field(compare=False)


@dataclass
class Reading:
    """One attempt to read a region that begins at x, with one choice of axes and sizes."""

    graph: Graph
    x: str
    rules: Mapping[str, Rule]
    dims: Dims
    layout: Layout
    values: dict[str, Meant | None] = field(default_factory=dict)
    steps: list[tuple[str, str, tuple[Arg, ...], Axes, int]] = field(default_factory=list)
    given: dict[str, tuple[str, Dims]] = field(default_factory=dict)
    from_x: set[str] = field(default_factory=set)
    faults: dict[str, None] = field(default_factory=dict)
    used: dict[str, set[int]] = field(default_factory=dict)

    def meant(self, name: str) -> Meant:
        """What a tensor of the graph means. Raises Unreadable where it means nothing that is known."""
        if name not in self.values:
            self.values[name] = None  # in a cycle, which no valid graph has
            self.values[name] = self._found(name)
        value = self.values[name]
        if value is None:
            raise Unreadable(name)
        return value

    def _found(self, name: str) -> Meant | None:
        at = self.graph.maker.get(name)
        tensor = self.graph.constant(name)
        if tensor is not None:
            return self._constant(name, tensor)
        if at is None:
            return self._parameter(name)
        node = self.graph.nodes[at]
        rule = self.rules.get(node.op_type)
        if rule is None or len(self.values) > MOST_NODES:
            return self._parameter(name) if is_given(self.graph, name) else self._size(name)
        try:
            made = rule(self, node)
        except (Unreadable, ArithmeticError, LookupError, TypeError, ValueError):  # a node that is not as ONNX has it
            return None
        if any(isinstance(value, Known) and value.cells.size > FEW for value in made):
            return None  # numbers that are joined again and again would fill the memory
        self.note(at, node)
        for output, value in zip(node.output, made, strict=False):
            self.values[output] = in_format(value, self.graph.dtype(output))
        return self.values[name]

    def note(self, at: int, node: Any) -> None:
        """Remember which nodes a tensor is made by, and whether it depends on x."""
        reads = [name for name in node.input if name]
        nodes = {at}.union(*(self.used.get(name, set()) for name in reads))
        for output in node.output:
            self.used[output] = nodes
            if any(name == self.x or name in self.from_x for name in reads):
                self.from_x.add(output)

    def _constant(self, name: str, tensor: Any) -> Meant | None:
        import numpy as np

        dtype = self.graph.dtype(name)
        size = int(np.prod(tensor.dims)) if len(tensor.dims) else 1
        if "float" in dtype and size > 1:
            return self._parameter(name)
        array = self.graph.array(name) if size <= FEW else None
        if array is None or (array.dtype.kind not in "biuf" and "float" not in dtype):
            return None
        return Known(np.asarray(array, np.float64), "float" not in dtype)

    def _parameter(self, name: str) -> Meant | None:
        """A tensor that is given: an input of the program."""
        if "float" not in self.graph.dtype(name):
            return self._size(name)
        shape = self.graph.shape(name)
        if shape is None or not all(isinstance(dim, int) and dim > 0 for dim in shape):
            return None
        return self.parameter(name, tuple(self.layout.free(int(dim or 1)) for dim in shape))

    def parameter(self, name: str, dims: Dims) -> Tensor:
        """An input of the program for a tensor of these dimensions."""
        term = f"p{len(self.given)}"
        self.given[term] = name, dims
        return Tensor(term, dims)

    def _size(self, name: str) -> Known | None:
        """A number or a list of them that comes from elsewhere: how many, but not which."""
        import numpy as np

        shape = self.graph.shape(name)
        if shape is None or len(shape) > 1 or not all(isinstance(dim, int) and dim <= FEW for dim in shape):
            return None
        if not self.graph.dtype(name).startswith(("int", "uint")):
            return None
        return Known(np.full([int(dim or 0) for dim in shape], np.nan), True)

    def let(self, op: str, *args: Meant, over: Axes = (), dims: Dims | None = None, less: int = 0) -> Tensor:
        """Add a step to the program; elementwise ones broadcast."""
        tensors = [arg if isinstance(arg, Tensor) else number(arg) for arg in args]
        name = f"s{len(self.steps)}"
        full: Dims | None = None
        if dims is None:
            dims, full = self._broadcast(tensors)
        self.steps.append((name, op, tuple(tensor.term for tensor in tensors), over, less))
        return Tensor(name, dims, full)

    def _broadcast(self, tensors: Sequence[Tensor]) -> tuple[Dims, Dims | None]:
        """The dimensions of an elementwise result, and those that it would have had with keepdims."""
        lost = [tensor.full for tensor in tensors if tensor.full is not None]
        try:
            if lost and all(tensor.full is not None or not any(tensor.dims) for tensor in tensors):
                full = self._all_aligned([tensor.full or tensor.dims for tensor in tensors])
                return self._all_aligned([tensor.dims for tensor in tensors]), full
            return self._all_aligned([tensor.dims for tensor in tensors]), None
        except Clash:
            if not lost:
                raise
        dims = self._all_aligned([tensor.dims if tensor.full is None else tensor.full for tensor in tensors])
        self.faults["keepdims"] = None
        return dims, None

    def _all_aligned(self, dims: Sequence[Dims]) -> Dims:
        made = dims[0]
        for each in dims[1:]:
            made = self.layout.aligned(made, each)
        return made

    def meaning(self, name: str) -> Meaning:
        """The program that makes a tensor of x's own dimensions. Raises Unreadable where there is none."""
        value = self.meant(name)
        dims = tuple(self.layout.axes(dim) for dim in self.dims)
        if not isinstance(value, Tensor) or not isinstance(value.term, str) or name not in self.from_x - {self.x}:
            raise Unreadable(name)
        if tuple(self.layout.axes(dim) for dim in value.dims) != dims:
            raise Unreadable(f"{name} has other dimensions than {self.x}")
        return self._written(value.term, dims, self.used[name])

    def _written(self, y: str, dims: Dims, nodes: set[int]) -> Meaning:
        axes = tuple(axis for dim in dims for axis in dim)
        needed = self._needed(y)
        inputs = {"x": axes}
        for term, (_, given) in self.given.items():
            if term in needed:
                named = {axis for dim in given for axis in self.layout.axes(dim)}
                if any(axis.startswith(FREE) for axis in named):
                    raise Unreadable(f"{term} has an axis that x lacks")
                inputs[term] = order(named, axes)
        build = Builder(axes, inputs)
        for name, op, args, over, less in self.steps:
            if name in needed:
                build.let(name, op, *args, over=order(self.layout.axes(over), axes), less=less)
        try:
            program = build.program()
        except NormscopeError as error:
            raise Unreadable(str(error)) from None
        program, y = plain_names(program, y)
        names = [name for name, _ in program.inputs]
        sources = tuple((name, self.given[old][0]) for name, old in zip(names, inputs, strict=True) if old != "x")
        sizes = tuple((axis, self.layout.sizes[axis]) for axis in axes)
        fixed = frozenset(axis for axis in axes if axis in self.layout.fixed)
        places = tuple(sorted(nodes))
        return Meaning(program, y, dims, sizes, fixed, sources, tuple(self.faults), places, tuple(self._shapes(places)))

    def _shapes(self, places: Sequence[int]) -> Iterator[tuple[int, tuple[tuple[int, Axes], ...]]]:
        """What the shape inputs of reshapes come to: they may be made of tensors outside the region."""
        for at in places:
            node = self.graph.nodes[at]
            value = self.values.get(node.output[0])
            if node.op_type in ("Reshape", "Expand") and isinstance(value, Tensor):
                yield at, tuple(self._factors(dim) for dim in value.dims)

    def _factors(self, dim: Axes) -> tuple[int, Axes]:
        """A dimension as a number times axes of x."""
        axes = self.layout.axes(dim)
        own = tuple(axis for axis in axes if not axis.startswith(FREE))
        return prod(self.layout.sizes[axis] for axis in axes if axis.startswith(FREE)), own

    def _needed(self, y: str) -> set[str]:
        needed = {y}
        for name, _, args, _, _ in reversed(self.steps):
            if name in needed:
                needed |= {arg for arg in args if isinstance(arg, str)}
        return needed


def in_format(value: Meant, dtype: str) -> Meant:
    """Known numbers as a tensor of this dtype holds them: 1e-12 is 0 in float16."""
    if not isinstance(value, Known) or value.whole or dtype not in NARROW:
        return value
    import ml_dtypes
    import numpy as np

    with np.errstate(all="ignore"):
        narrow = value.cells.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    return Known(narrow.astype(np.float64), False)


NARROW = ("float16", "bfloat16", "float32")


def is_given(graph: Graph, name: str, depth: int = 0) -> bool:
    """Whether a tensor is a constant or made of constants and shapes alone."""
    if graph.constant(name) is not None:
        return True
    at = graph.maker.get(name)
    if at is None or depth > 12:
        return False
    node = graph.nodes[at]
    return node.op_type in ("Shape", "Size") or (
        bool(node.input) and all(is_given(graph, each, depth + 1) for each in node.input if each)
    )


def number(known: Known) -> Tensor:
    """A single known number as a constant of the program."""
    if known.cells.size != 1 or known.cells.flat[0] - known.cells.flat[0] != 0:
        raise Unreadable("not a single known number")
    return Tensor(Fraction(float(known.cells.flat[0])), ((),) * known.cells.ndim)
