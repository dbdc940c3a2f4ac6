"""From the options of a command to a norm: which kind, over which axes, of which sizes; and to what it runs on."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import click

from .. import norm as norms
from ..norm import Norm
from .files import Tensor, parameter, read


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
) -> Layer:
    """What `norm_choice` and `parameters` of options.py ask for; the arguments have their options' names."""
    tensor = read(file, decimal_comma=decimal_comma)
    chosen = make_norm(norm, pattern, affine, no_affine, groups, eps, has_parameters=bool(gamma or beta))
    scale, shift = (f and parameter(f, what, decimal_comma) for f, what in ((gamma, "gamma"), (beta, "beta")))
    return Layer(tensor, chosen, scale, shift)


def make_norm(
    kind: str | None,
    pattern: str | None = None,
    affine: str | None = None,
    no_affine: bool = False,
    groups: int | None = None,
    eps: str | None = None,
    has_parameters: bool = False,
) -> Norm:
    """The norm that the options ask for; UsageError where they contradict each other."""
    if affine and no_affine:
        raise click.UsageError("--affine and --no-affine contradict each other; leave one out.")
    given: dict[str, Any] = {} if eps is None else {"eps": eps}
    if pattern is not None:
        if kind:
            raise click.UsageError("--norm and --pattern both say what the norm is; leave one out.")
        return Norm(pattern, affine, sizes={} if groups is None else {"g": groups}, **given)
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
    made: Norm = getattr(norms, kind)(*positional, **{switch: wanted}, **given)
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
