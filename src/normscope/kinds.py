"""The norms that people name, over the axes that x has: `batch_norm` of tokens is `[B S] d`."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

from .axes import Axes, Pattern, dimensions, parse, whole
from .errors import NormError, NormscopeError, ShapeError
from .norm import Norm, Number, batch_norm, exact_eps, group_norm, instance_norm, layer_norm, rms_norm

NAMES: Mapping[str, str] = {
    "layer_norm": "LayerNorm",
    "rms_norm": "RMSNorm",
    "batch_norm": "BatchNorm",
    "batch_norm_eval": "BatchNorm, evaluation",
    "instance_norm": "InstanceNorm",
    "group_norm": "GroupNorm",
}
PLAIN: Mapping[str, Norm] = {  # without gamma and beta; the patterns are still the constructors'
    "layer_norm": layer_norm(elementwise_affine=False),
    "rms_norm": rms_norm(elementwise_affine=False),
    "batch_norm": batch_norm(affine=False),
    "batch_norm_eval": batch_norm(affine=False, training=False),
    "instance_norm": instance_norm(),
}
KIND = {"batch_norm_eval": "batch_norm"}  # of which kind a name is, if not of its own
LAYOUTS = ("tokens", "channels")
MOST_DIMENSIONS = 5  # torch.nn has BatchNorm1d to BatchNorm3d, for an x of 2 to 5

Norms = Norm | str | Iterable[Norm | str]


def pattern(name: str, rank: int, layout: str = "tokens") -> str:
    """The pattern of a norm of `NAMES` over an x of so many dimensions.

    >>> pattern("batch_norm", 3), pattern("batch_norm", 4, "channels"), pattern("layer_norm", 4, "channels")
    ('[B S] d', '[N] C [H W]', 'N [C H W]')

    LayerNorm reduces the features and what stands behind them, as PyTorch's does for images. Of the tokens `S d`
    S are the positions of one item. Raises ShapeError if x has nothing that such a norm reduces.
    """
    axes, item, feature = _axes(rank, layout)
    positions = tuple(axis for axis in axes if axis not in (*item, feature))
    kind = KIND.get(name, name)
    over = {
        "batch_norm": item + positions,
        "instance_norm": positions,
        "group_norm": (*positions, "c"),
    }.get(kind, axes[axes.index(feature) :])
    if not over:
        needed = "positions to reduce" if kind == "instance_norm" else "a batch or positions to reduce"
        raise ShapeError(f"x has {dimensions(rank)} ({' '.join(axes)} as {layout}); {NAMES[name]} needs {needed}.")
    split = {feature: ("g", "c")} if kind == "group_norm" else {}
    return str(Pattern(tuple(split.get(axis, (axis,)) for axis in axes), over))


def kind_of(norm: Norm) -> str:
    """Which of `NAMES` a norm (fitted to x) is called; nothing where no such name has its pattern over these axes.

    >>> kind_of(layer_norm().fit(2)), kind_of(Norm("[S d]"))
    ('layer_norm', '')
    """
    rank = len(norm.layout.dims)
    called = next((name for name, title in NAMES.items() if title == norm.name), "")
    return called if called and norm.pattern in _patterns(called, rank) else ""


@lru_cache(maxsize=64)
def _patterns(name: str, rank: int) -> frozenset[str]:
    """The patterns of a name in every layout that x can have."""
    made = set()
    for layout in LAYOUTS:
        with suppress(NormscopeError):
            made.add(pattern(name, rank, layout))
    return frozenset(made)


def _axes(rank: int, layout: str) -> tuple[Axes, Axes, str]:
    """Every axis of x, that of its items (none: x is one item), and that of its features."""
    if rank > MOST_DIMENSIONS:
        raise ShapeError(f"x has {dimensions(rank)}; a name is for up to {MOST_DIMENSIONS}, a pattern for any.")
    if layout == "channels":
        axes = parse("N C ...").fit(rank).axes
        return axes, axes[:1], axes[1]
    axes = parse("... d").fit(rank).axes
    return axes, axes[:-2][:1], axes[-1]


def asked(
    norms: Norms, rank: int, layout: str, eps: Number | None, num_groups: int | None
) -> Iterator[tuple[str, Norm]]:
    """Each norm that is asked for, with the name it goes by: fitted to the rank of x, without gamma and beta."""
    if layout not in LAYOUTS:
        raise NormError(f"layout is {layout!r}; it must be one of {', '.join(LAYOUTS)}.")
    if num_groups is not None and (whole(num_groups) or 0) < 1:
        raise NormError(f"num_groups is {num_groups!r}; it must be a whole number from 1.")
    exact = None if eps is None else exact_eps(eps)
    for each in _listed(norms):
        yield each if isinstance(each, str) else each.name, _norm(each, rank, layout, exact, num_groups)


def _listed(norms: Norms) -> list[Norm | str]:
    """The norms one by one; a text may hold several, with commas."""
    if isinstance(norms, Norm):
        return [norms]
    given = norms.split(",") if isinstance(norms, str) else norms
    if not isinstance(given, Iterable) or not all(isinstance(each, (Norm, str)) for each in given):
        raise NormError(f"norms is {norms!r}; give names, patterns and Norms, as in ('layer_norm', 'B [S] d').")
    listed = [each if isinstance(each, Norm) else each.strip() for each in given]
    if not listed or "" in listed:
        raise NormError(f"norms has an empty place: {norms!r}; give names, as in 'layer_norm,batch_norm'.")
    return listed


@lru_cache(maxsize=64)
def _norm(each: Norm | str, rank: int, layout: str, eps: Fraction | None, num_groups: int | None) -> Norm:
    if isinstance(each, Norm):
        norm = each
    elif each in NAMES:
        plain = group_norm(_groups(num_groups, each), affine=False) if each == "group_norm" else PLAIN[each]
        norm = replace(plain, pattern=pattern(each, rank, layout))
    elif "[" in each:
        is_split = any("g" in dim and len(dim) > 1 for dim in parse(each).dims)
        norm = Norm(each, sizes={"g": _groups(num_groups, f"the pattern '{each}'")} if is_split else {})
    else:
        raise NormError(f"norms holds '{each}'; give {', '.join(NAMES)}, a pattern such as 'B [S] d', or a Norm.")
    return replace(norm, affine=None, eps=norm.eps if eps is None else eps).fit(rank)


def _groups(num_groups: int | None, what: str) -> int:
    if num_groups is None:
        raise NormError(f"{what} needs the number of groups; give num_groups=2 (--groups 2), for example.")
    return num_groups
