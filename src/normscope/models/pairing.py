"""Which norm of one model stands beside which of another."""

from collections.abc import Callable, Sequence

from .found import Found

Pair = tuple[str, Found | None, Found | None]  # where; None: the model has no such norm


def paired(one: Sequence[Found], other: Sequence[Found]) -> tuple[list[Pair], str]:
    """The norms of both models, each beside that of the other; and by what they are paired."""
    if all(each.place for each in (*one, *other)):
        return _by(lambda each: each.place, one, other), "by their place in the block"
    pairs = _by_paths(one, other)
    both = [pair for pair in pairs if None not in pair]
    if len(one) != len(other) or len(both) == len(one):
        return pairs, "by their paths"
    if 2 * len(both) < len(one):
        return _in_order(one, other), "in the order in which they stand"
    left = [a for _, a, b in pairs if a is not None and b is None]
    right = [b for _, a, b in pairs if b is not None and a is None]
    return [*both, *_in_order(left, right)], "by their paths, the rest in the order in which they stand"


def _in_order(one: Sequence[Found], other: Sequence[Found]) -> list[Pair]:
    return [(a.where, a, b) for a, b in zip(one, other, strict=True)]


def _by(key: Callable[[Found], str], one: Sequence[Found], other: Sequence[Found]) -> list[Pair]:
    """Norms of the same key, in order."""
    pairs: list[Pair] = []
    for where in dict.fromkeys(key(each) for each in (*one, *other)):
        left, right = ([each for each in side if key(each) == where] for side in (one, other))
        for at in range(max(len(left), len(right))):
            pairs.append((where, left[at] if at < len(left) else None, right[at] if at < len(right) else None))
    return pairs


def _by_paths(one: Sequence[Found], other: Sequence[Found]) -> list[Pair]:
    """Norms whose paths are the same, but for what stands before them in one: `model.norm` and `norm`."""
    rest = {_path(each): each for each in other}
    pairs: list[Pair] = []
    for each in one:
        path = _path(each)
        ends = [name for name in rest if _is_end(path, name) or _is_end(name, path)]
        beside = rest.pop(min(ends, key=lambda name: abs(len(name) - len(path)))) if ends else None
        pairs.append((each.where, each, beside))
    return pairs + [(each.where, None, each) for each in rest.values()]


def _is_end(end: str, path: str) -> bool:
    """Whether a path ends so, with nothing before it that has a number: `norm` is no layer's norm."""
    before = path.removesuffix(end)
    return path == end or (path.endswith(f".{end}") and not any(part.isdigit() for part in before.split(".")))


def _path(found: Found) -> str:
    return found.where.replace("/", ".").strip(".")
