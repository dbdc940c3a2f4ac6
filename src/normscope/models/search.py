"""Where the norms of a graph are: from each root back to the x that it is taken of, and on to the last affine step."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from .attempts import Attempts
from .graph import Graph
from .meaning import Meaning, Rule, is_given
from .recognise import Recognised, recognised
from .walks import DIVISORS, cuts, is_of_means, is_root, only_shaped, shapes

FURTHER = 5  # tensors further back that are tried once a norm is found: from x - mean to x, say
AHEAD = 40  # nodes that are looked at behind the root
SOON = 4  # tensors behind a root, where the division by it is looked for
MOST_NORMS = 16  # of one root
FRUITLESS = 32  # tensors that are no norm of any x, before the first that is one
MISSES = 4  # tensors of x's shape that are none, behind one that is a norm


@dataclass(frozen=True)
class Region:
    """A part of a graph that is a norm: its tensors x and y, and what it means."""

    root: int
    x: str
    y: str
    meaning: Meaning
    what: Recognised

    @property
    def says(self) -> tuple[int, int, int, int]:
        """How much of a norm it is: one that is centered, scaled and shifted holds the others; then, how right."""
        norm = self.what.norm
        return int(norm.center), int(norm.scale), int(norm.shift), -len(self.what.faults)

    @property
    def is_whole(self) -> bool:
        """Whether there is nothing more to find."""
        return self.says == (1, 1, 1, 0)


class Search:
    """The norms that have their root (or their fused node) at a place.

    start    the tensor from which to go back: what the root is taken of
    """

    def __init__(self, graph: Graph, root: int, start: str, rules: Mapping[str, Rule]) -> None:
        self.graph, self.root, self.start, self.rules = graph, root, start, rules
        self._has_mean = False
        self._fruitless = 0

    @property
    def is_near(self) -> bool:
        """Whether a tensor is divided by the root of a mean over itself, where `regions` finds nothing."""
        if not is_root(self.graph, self.graph.nodes[self.root]):
            return False
        divides = (self.graph.nodes[self.graph.maker[name]].op_type in DIVISORS for name in self._ahead())
        return self._has_mean or (is_of_means(self.graph, self.start) and any(islice(divides, SOON)))

    def regions(self) -> list[Region]:
        """One norm, or several where they share their statistics; none where nothing has a meaning of one."""
        best, further = None, 0
        for x in self._candidates():
            if best is None and self._fruitless > FRUITLESS:
                break
            if best is not None and (best.is_whole or further >= FURTHER) and not only_shaped(self.graph, x, best.x):
                break
            further += best is not None
            found = next(filter(None, map(self._furthest, self._attempts(x))), None)
            if found is not None and (best is None or _is_better(self.graph, found, best)):
                best = found
        return [] if best is None else self._with_others(best)

    def _attempts(self, x: str) -> Iterator[Attempts]:
        return (Attempts(self.graph, x, shape, self.rules) for shape in shapes(self.graph, x))

    def _with_others(self, best: Region) -> list[Region]:
        """The norms of the same x and root, with other parameters: an exporter computes equal statistics once."""
        made = [best]
        if not self._branches(best):
            return made
        attempts = next(self._attempts(best.x))
        while len(made) < MOST_NORMS and (other := self._furthest(attempts, made)) is not None:
            made.append(other)
        return made

    def _branches(self, best: Region) -> bool:
        """Whether a tensor between the root and y is read by a node that is no part of the norm."""
        nodes = set(best.meaning.nodes)
        inner = (name for name in self._ahead() if self.graph.maker[name] in nodes and name != best.y)
        return any(not nodes.issuperset(self.graph.readers.get(name, ())) for name in inner)

    def _furthest(self, attempts: Attempts, beside: Sequence[Region] = ()) -> Region | None:
        """The norm from this x whose y says most; of several that say the same, the first."""
        best: Region | None = None
        missed = 0
        for y in self._ahead():
            meaning = attempts.meaning(y)
            if meaning is None or self.root not in meaning.nodes or not self._is_apart(y, meaning, beside):
                continue
            if best is not None and best.says[1:3] == (1, 1) and not self._goes_on(best, meaning):
                continue
            found = self._region(attempts.x, y, meaning)
            if found is None:
                missed += best is not None
                self._fruitless += best is None
                if missed > MISSES or (best is None and self._fruitless > FRUITLESS):
                    break
            elif best is None or found.says > best.says or self._is_fuller(best, found):
                best, missed = found, 0
        return best

    def _region(self, x: str, y: str, meaning: Meaning) -> Region | None:
        what = recognised(meaning)
        if what is not None and _is_layer(meaning, what):
            return Region(self.root, x, y, meaning, what)
        self._has_mean |= what is None and any(step.op == "mean" for step in meaning.program)
        return None

    def _is_apart(self, y: str, meaning: Meaning, beside: Sequence[Region]) -> bool:
        """Whether a tensor is none of the norms that there are, and made of none of them."""
        maker = self.graph.maker
        return all(
            maker[y] not in other.meaning.nodes
            and maker[other.y] not in meaning.nodes
            and not _parameters(meaning) <= _parameters(other.meaning)
            for other in beside
        )

    def _goes_on(self, best: Region, meaning: Meaning) -> bool:
        """Whether a tensor is made of the y that there is, and of no further parameter."""
        at = self.graph.maker[best.y]
        return at in meaning.nodes and _parameters(meaning) == _parameters(best.meaning)

    def _is_fuller(self, best: Region, found: Region) -> bool:
        """Whether a later y is the same norm, cast back to x's dtype, or another one: h + h * w after h * w."""
        if found.says != best.says or not self._goes_on(best, found.meaning):
            return False
        return found.what.norm != best.what.norm or _casts_back(self.graph, best.y, found.y, best.x)

    def _candidates(self) -> Iterator[str]:
        """The tensors that may be x: behind the root, or, where that is of given numbers, behind what these meet."""
        if not is_given(self.graph, self.start):
            yield from cuts(self.graph, self.start, self.rules)
            return
        shape = self.graph.shape(self.start)
        if shape is not None and all(dim == 1 for dim in shape):  # a single number, such as the root of a head's width
            return
        for tensor in self._ahead():
            met = [
                name
                for name in self.graph.nodes[self.graph.maker[tensor]].input
                if name and not is_given(self.graph, name)
            ]
            if met:
                yield from cuts(self.graph, met[0], self.rules)
                return

    def _ahead(self) -> Iterator[str]:
        """The tensors that depend on the root, in the order in which they are made."""
        seen = {self.root}
        front = [self.root]
        for _ in range(AHEAD):
            if not front:
                return
            at = min(front)
            front.remove(at)
            node = self.graph.nodes[at]
            for name in node.output:
                if name:
                    yield name
                    later = [each for each in self.graph.readers.get(name, ()) if each not in seen]
                    front += [each for each in later if self.graph.nodes[each].op_type in self.rules]
                    seen.update(later)


def _parameters(meaning: Meaning) -> frozenset[str]:
    return frozenset(tensor for _, tensor in meaning.given)


def _is_better(graph: Graph, found: Region, best: Region) -> bool:
    """Whether a region with its x further back says more, or is the same in the shape that x had before."""
    return found.says > best.says or (found.says == best.says and only_shaped(graph, found.x, best.x))


def _casts_back(graph: Graph, before: str, y: str, x: str) -> bool:
    """Whether y is the tensor before it, cast from another dtype to x's."""
    node = graph.nodes[graph.maker[y]]
    is_cast = node.op_type == "Cast" and node.input[0] == before
    return is_cast and graph.dtype(before) != graph.dtype(y) == graph.dtype(x)


def _is_layer(meaning: Meaning, what: Recognised) -> bool:
    """Whether the parameters are those of a layer: of the reduced axes, or of one kept dimension, never the first."""
    norm = what.norm
    first = set(meaning.dims[0]) if meaning.dims else set()
    kept = set(norm.param_axes) - set(norm.over)
    if kept & first and len(meaning.dims) > 1:
        return False
    return sum(bool(kept & set(dim)) for dim in meaning.dims) <= 1
