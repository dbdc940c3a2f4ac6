"""A region read again and again, until the axes and sizes of x are such that every node has a meaning."""

from collections.abc import Mapping

from .graph import Dim, Graph
from .meaning import Meaning, Reading, Rule, Tensor
from .regions import FREE, Again, Layout, Unreadable

OPEN = (13, 17, 19, 23, 29, 31)  # sizes for the dimensions that a model leaves open: rare in its own numbers
MOST_TRIES = 24


class Attempts:
    """Reads what begins at x, anew whenever an axis has to be split or has another size."""

    def __init__(self, graph: Graph, x: str, shape: tuple[Dim, ...], rules: Mapping[str, Rule]) -> None:
        self._graph, self.x, self._rules = graph, x, rules
        self._dims: list[list[str]] = [[f"a{at}"] for at in range(len(shape))]
        spare = iter(OPEN * len(shape))
        self._sizes = {
            f"a{at}": dim if isinstance(dim, int) and dim > 0 else next(spare) for at, dim in enumerate(shape)
        }
        self._fixed = {f"a{at}" for at, dim in enumerate(shape) if isinstance(dim, int) and dim > 0}
        self._reading = self._fresh()

    def _fresh(self) -> Reading:
        dims = tuple(map(tuple, self._dims))
        made = Reading(self._graph, self.x, self._rules, dims, Layout(dict(self._sizes), set(self._fixed)))
        made.values[self.x] = Tensor("x", dims)
        made.from_x.add(self.x)
        return made

    def meaning(self, name: str) -> Meaning | None:
        """The program from x to this tensor; None where it has no such meaning."""
        for _ in range(MOST_TRIES):
            try:
                return self._reading.meaning(name)
            except Unreadable:
                return None
            except Again as again:
                if again.axis.startswith(FREE):
                    return None
                self._change(again.axis, again.sizes, again.told)
                self._reading = self._fresh()
        return None

    def _change(self, axis: str, sizes: tuple[int, ...], told: bool) -> None:
        if told:
            self._fixed.add(axis)
        if len(sizes) == 1:
            self._sizes[axis] = sizes[0]
            return
        names = [f"{axis}x{at}" for at in range(len(sizes))]
        is_fixed = axis in self._fixed
        for dim in self._dims:
            if axis in dim:
                at = dim.index(axis)
                dim[at : at + 1] = names
        for name, size in zip(names, sizes, strict=True):
            self._sizes[name] = size
            if is_fixed:
                self._fixed.add(name)
