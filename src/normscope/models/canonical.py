"""The norm as people would write it: by its constructor where one has this pattern, else with plain axis names."""

from collections.abc import Iterator, Mapping, Set
from dataclasses import replace
from itertools import groupby

from ..axes import Axes, Pattern
from ..errors import NormscopeError
from ..norm import Norm, batch_norm, group_norm, instance_norm, layer_norm, rms_norm
from .regions import Dims

KEPT = ("B", "S", "T", "U", "V", "W")
IMAGE = {3: ("N", "C", "L"), 4: ("N", "C", "H", "W"), 5: ("N", "C", "D", "H", "W")}

Spots = frozenset[tuple[int, int]]  # a dimension's place, and an axis's in it
Structure = tuple[tuple[int, ...], Spots, Spots]  # how many axes each dimension has; which are reduced; gamma's


def canonical(norm: Norm, dims: Dims, sizes: Mapping[str, int], fixed: Set[str]) -> Norm:
    """A norm over a program's axes, by the names that people use.

    dims   the axes of each dimension of x
    fixed  the axes whose size is the model's

    >>> canonical(Norm("a0 a1 [a2]", "a2"), (("a0",), ("a1",), ("a2",)), {"a0": 2, "a1": 3, "a2": 8}, {"a2"})
    Norm(pattern='... [d]', affine='d', eps=Fraction(1, 100000), correction=0, center=True, scale=True, shift=True, \
offset=0, running=False, sizes=(('d', 8),), name='LayerNorm')
    """
    dims, sizes, norm, known = _joined(norm, dims, sizes, set(fixed))
    for named in _constructed(norm, dims, sizes, known):
        if _structure(named, len(dims)) == _places(dims, norm.over, norm.param_axes):
            return _like(named, norm)
    return _written(norm, dims, sizes, known)


def _like(named: Norm, norm: Norm) -> Norm:
    """The constructor's norm with every other field of the one that was found."""
    return replace(
        named,
        eps=norm.eps,
        correction=norm.correction,
        center=norm.center,
        scale=norm.scale,
        shift=norm.shift,
        offset=norm.offset,
        running=norm.running,
    )


def _joined(
    norm: Norm, dims: Dims, sizes: Mapping[str, int], known: set[str]
) -> tuple[Dims, dict[str, int], Norm, set[str]]:
    """Neighbouring axes of a dimension that are used alike, as one axis: an attention head's split is none here."""
    made: list[Axes] = []
    joined_sizes: dict[str, int] = {}
    joined_known: set[str] = set()
    first: dict[str, str] = {}
    for dim in dims:
        names = []
        for _, alike in groupby(dim, lambda axis: (axis in norm.over, axis in norm.param_axes)):
            group = list(alike)
            names.append(group[0])
            first |= dict.fromkeys(group, group[0])
            joined_sizes[group[0]] = 1
            for axis in group:
                joined_sizes[group[0]] *= sizes[axis]
            joined_known |= {group[0]} if known.issuperset(group) else set()
        made.append(tuple(names))
    over = tuple(dict.fromkeys(first[axis] for axis in norm.over))
    affine = " ".join(dict.fromkeys(first[axis] for axis in norm.param_axes)) or None
    joined = replace(norm, pattern=str(Pattern(tuple((axis,) for dim in made for axis in dim), over)), affine=affine)
    return tuple(made), joined_sizes, joined, joined_known


def _constructed(norm: Norm, dims: Dims, sizes: Mapping[str, int], known: set[str]) -> Iterator[Norm]:
    """The norms that have a constructor, for these sizes."""
    has_affine = norm.affine is not None
    over = [axis for dim in dims for axis in dim if axis in norm.over]
    counts = [sizes[axis] for axis in over] if known.issuperset(over) else None
    if counts or len(over) == 1:
        trailing = layer_norm if norm.center else rms_norm
        yield trailing(counts, elementwise_affine=has_affine)
    if norm.center and len(dims) > 1 and len(dims[1]) == 1:
        channels = sizes[dims[1][0]] if dims[1][0] in known else None
        yield instance_norm(channels, affine=has_affine)
        yield batch_norm(channels, affine=has_affine, training=not norm.running)
    if norm.center and len(dims) > 1 and len(dims[1]) == 2:
        groups, cells = dims[1]
        channels = sizes[groups] * sizes[cells] if cells in known else None
        yield group_norm(sizes[groups], channels, affine=has_affine)


def _structure(norm: Norm, rank: int) -> Structure | None:
    try:
        fitted = norm.fit(rank)
    except NormscopeError:
        return None
    return _places(fitted.layout.dims, fitted.over, fitted.param_axes)


def _places(dims: Dims, over: Axes, affine: Axes) -> Structure:
    """Where the axes stand, whatever they are called."""
    at = {axis: (place, inner) for place, dim in enumerate(dims) for inner, axis in enumerate(dim)}
    shape = tuple(map(len, dims))
    return shape, frozenset(at[axis] for axis in over), frozenset(at[axis] for axis in affine)


def _written(norm: Norm, dims: Dims, sizes: Mapping[str, int], known: set[str]) -> Norm:
    """The norm by a pattern of its own."""
    names = _names(norm, dims)
    over = tuple(names[axis] for axis in norm.over)
    named = Pattern(tuple(tuple(names[axis] for axis in dim) for dim in dims if dim), over)
    affine = " ".join(names[axis] for axis in norm.param_axes) or None
    given = {names[axis]: sizes[axis] for axis in (*norm.over, *norm.param_axes) if axis in known}
    return replace(norm, pattern=str(named), affine=affine, sizes=given, name=_kind(norm))


def _kind(norm: Norm) -> str:
    """What a norm is called by what its parameters are given for; "norm" where that tells nothing."""
    if not norm.kept:
        return "norm"
    if set(norm.param_axes) <= set(norm.over) and norm.affine:
        return "LayerNorm" if norm.center else "RMSNorm"
    if norm.center and norm.affine and set(norm.param_axes) == set(norm.kept):
        return "BatchNorm"
    return "LayerNorm" if norm.center and len(norm.over) == 1 else "RMSNorm" if not norm.center else "norm"


def _names(norm: Norm, dims: Dims) -> dict[str, str]:
    """A name for every axis: the letters of images where other axes than the last are reduced, else those of tokens."""
    flat = [axis for dim in dims for axis in dim]
    split = [dim for dim in dims if len(dim) == 2]
    if len(dims) in IMAGE and len(flat) == len(dims) and norm.over != (flat[-1],):
        return dict(zip(flat, IMAGE[len(dims)], strict=True))
    names = {axis: letter for dim in split[:1] for axis, letter in zip(dim, ("g", "c"), strict=True)}
    reduced = [axis for axis in flat if axis in norm.over and axis not in names]
    kept = [axis for axis in flat if axis not in norm.over and axis not in names]
    names |= {axis: "d" if len(reduced) == 1 else f"d{at}" for at, axis in enumerate(reduced, 1)}
    return names | {axis: KEPT[at] if at < len(KEPT) else f"b{at}" for at, axis in enumerate(kept)}
