"""From the options of a command to a norm: which kind, over which axes, of which sizes; and to what it runs on."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import click

from .. import norm as norms
from ..norm import Norm
from .files import Tensor, given


class Layer(NamedTuple):
    """A tensor, the norm that is run on it, and its parameters."""

    tensor: Tensor
    norm: Norm
    gamma: Any
    beta: Any


def make_layer(
    file: str,
    *,
    norm: str | None,
    pattern: str | None,
    affine: str | None,
    no_affine: bool,
    groups: int | None,
    eps: str | None,
    gamma: str | None,
    beta: str | None,
    decimal_comma: bool,
    array: str | None,
    offset: int,
) -> Layer:
    """What `norm_choice` and `parameters` of options.py ask for; the arguments have their options' names."""
    tensor, eps, scale, shift = given(file, eps, gamma, beta, decimal_comma, array)
    is_given = scale is not None or shift is not None
    chosen = make_norm(norm, pattern, affine, no_affine, groups, eps, has_parameters=is_given, offset=offset)
    # What only stands beside x is left out where the norm has no such parameter; what is asked for is refused.
    return Layer(tensor, chosen, scale if gamma or chosen.scale else None, shift if beta or chosen.shift else None)


def make_norm(
    kind: str | None,
    pattern: str | None = None,
    affine: str | None = None,
    no_affine: bool = False,
    groups: int | None = None,
    eps: str | None = None,
    has_parameters: bool = False,
    offset: int = 0,
) -> Norm:
    """The norm that the options ask for; UsageError where they contradict each other."""
    if affine and no_affine:
        raise click.UsageError("--affine and --no-affine contradict each other; leave one out.")
    made = _made(kind, pattern, affine, no_affine, groups, {} if eps is None else {"eps": eps}, has_parameters)
    if offset and not made.scale:
        raise click.UsageError("--offset is added to gamma, and the norm has none; leave it out.")
    return replace(made, offset=offset)


def _made(
    kind: str | None,
    pattern: str | None,
    affine: str | None,
    no_affine: bool,
    groups: int | None,
    eps: dict[str, Any],
    has_parameters: bool,
) -> Norm:
    if pattern is not None:
        if kind:
            raise click.UsageError("--norm and --pattern both say what the norm is; leave one out.")
        return Norm(pattern, affine, sizes={} if groups is None else {"g": groups}, **eps)
    if affine:
        raise click.UsageError("--affine belongs to --pattern; a --norm knows the axes of its gamma and beta.")
    kind = kind or "layer_norm"
    if (kind == "group_norm") != (groups is not None):
        wrong = "group_norm needs --groups, as in --groups 32" if groups is None else f"{kind} takes no --groups"
        raise click.UsageError(f"{wrong}.")
    switch = "elementwise_affine" if kind in ("layer_norm", "rms_norm") else "affine"
    # InstanceNorm has no affine unless asked for; a gamma asks for it.
    wanted = not no_affine and (has_parameters or kind != "instance_norm")
    positional = () if groups is None else (groups,)
    made: Norm = getattr(norms, kind)(*positional, **{switch: wanted}, **eps)
    return made


def named(norm: Norm, rank: int, names: Sequence[str]) -> Norm:
    """The norm with the person's names for the dimensions of x; a dimension split into groups keeps its own.

    >>> from normscope.norm import layer_norm
    >>> named(layer_norm(), 3, ["batch", "time", "model"]).pattern
    'batch time [model]'
    """
    norm = norm.fit(rank)
    dims = norm.layout.dims
    if len(names) != len(dims):
        counts = f"--axes has {len(names)} of {len(dims)} names"
        raise click.UsageError(f"{counts}; give one for each size of --shape, as in B,S,d.")
    new = {dim[0]: name.strip() for dim, name in zip(dims, names, strict=True) if len(dim) == 1}

    def renamed(text: str) -> str:
        return re.sub(r"[^\W\d_]\w*", lambda word: new.get(word[0], word[0]), text)

    sizes = {new.get(axis, axis): size for axis, size in norm.sizes}
    return replace(norm, pattern=renamed(norm.pattern), affine=norm.affine and renamed(norm.affine), sizes=sizes)


def sizes(text: str) -> tuple[int, ...]:
    """The sizes in `2,4,8`."""
    try:
        return tuple(int(word) for word in text.split(","))
    except ValueError:
        raise click.UsageError(f"--shape is '{text}'; write whole numbers, as in 2,4,8.") from None
