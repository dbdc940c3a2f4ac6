"""The norms of saved weights (.safetensors), and of a folder that has a config.json beside them.

Weights say where a norm is, how wide, and whether it has a beta. They never say its eps: config.json does, by what its
model_type means, or it stays unknown.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import FileError
from ..norm import Norm, batch_norm, layer_norm, rms_norm
from .configs import Config, Told
from .found import Found, Progress, Report
from .summary import Summary, summary
from .tensors import DTYPES, Tensor, tensors

CONFIG = "config.json"
PICKLES = (".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".bin", ".joblib")
NAME = re.compile(r"norm|layrnorm|(^|_)(ln|bn|gn)(\d|_|$)", re.IGNORECASE)  # the last part of a norm's path
ROLES = {
    "weight": "gamma", "gamma": "gamma", "scale": "gamma", "bias": "beta", "beta": "beta",
    "running_mean": "running_mean", "running_var": "running_var",
    "moving_mean": "running_mean", "moving_variance": "running_var",
}  # fmt: skip
READ = {name for name, _ in DTYPES.values()}
NEAR_ZERO = 0.3  # a gamma whose mean is nearer to 0 than this is likely to be w of 1 + w


@dataclass(frozen=True)
class _Site:
    """A module that may be a norm: its path, and its tensors by role."""

    where: str
    roles: Mapping[str, Tensor]


def inspect_weights(path: str | Path, *, progress: Progress | None = None) -> Report:
    """The norms of a .safetensors file by the names and shapes of its tensors; their eps stays unknown.

    Raises FileError for a file that cannot be read.
    """
    return _report([Path(path)], None, progress)


def inspect_folder(path: str | Path, *, progress: Progress | None = None) -> Report:
    """The norms of a folder with a config.json, and with .safetensors files where it has them.

    Raises FileError for a folder without a config.json, and for files that cannot be read.
    """
    folder = Path(path)
    weights = sorted(folder.glob("*.safetensors"))
    pickles = sorted(each.name for each in folder.iterdir() if each.suffix in PICKLES)
    if not (folder / CONFIG).is_file():
        if not weights:
            raise FileError(f"{folder} has no config.json and no .safetensors file; give a folder that has one.")
        return _report(weights, None, progress)
    config = Config.read(folder / CONFIG)
    if weights:
        return _report(weights, config, progress)
    norms = tuple(config.norms())
    missing = f"{pickles[0]} can run code when it is loaded, so it is never read" if pickles else "there are no weights"
    warnings = [f"{missing}: these are the norms that config.json tells of."]
    warnings += [] if norms else [_unknown_type(config)]
    return Report(norms, (*warnings, *config.doubts()))


def _unknown_type(config: Config) -> str:
    kind = f"model_type '{config.model_type[:60]}'" if config.model_type else "no model_type"
    return f"config.json has {kind}, whose norms are not known."


def _report(paths: list[Path], config: Config | None, progress: Progress | None) -> Report:
    every: dict[str, Tensor] = {}
    for path in paths:
        every |= tensors(path)
    sites = [each for each in _sites(every) if _is_norm(each, config)]
    norms = []
    for at, site in enumerate(sites):
        norms.append(_found(site, config))
        if progress is not None:
            progress(at + 1, len(sites))
    unknown = config is not None and config.family is None and norms and not all(each.place for each in norms)
    warnings = [_unknown_type(config)] if config is not None and unknown else []
    return Report(tuple(norms), (*warnings, *(config.doubts() if config is not None else ())))


def _sites(every: Mapping[str, Tensor]) -> Iterator[_Site]:
    """The modules that have a tensor named as a norm's, by number of layer where that is in the name."""
    modules: dict[str, dict[str, Tensor]] = {}
    for name, tensor in every.items():
        where, _, last = name.rpartition(".")
        if last in ROLES:
            modules.setdefault(where, {})[ROLES[last]] = tensor
    for where in sorted(modules, key=in_order):
        roles = modules[where]
        yield _Site(where, {role: roles[role] for role in dict.fromkeys(ROLES.values()) if role in roles})


def in_order(where: str) -> list[tuple[int, int, str]]:
    """A key that sorts layer 10 behind layer 2, embeddings before the layers and the final norm behind them."""
    words = where.split(".")
    edge = 0 if "embed" in where.lower() else 1
    return [(edge, 0, ""), *((0, int(word), "") if word.isdigit() else (1, 0, word) for word in words)]


def _is_norm(site: _Site, config: Config | None) -> bool:
    """Whether a module is a norm: it keeps running statistics, or the family has one there, or its name says so."""
    if {"running_mean", "running_var"} <= site.roles.keys():
        return True
    if "gamma" not in site.roles:
        return False
    gamma, beta = site.roles["gamma"], site.roles.get("beta")
    if beta is not None and beta.shape != gamma.shape:
        return False
    if config is not None and config.part(site.where).site(site.where):
        return True
    return len(gamma.shape) == 1 and bool(NAME.search(site.where.rpartition(".")[2]))


def _found(site: _Site, config: Config | None) -> Found:
    part = config.part(site.where) if config is not None else None
    told = _told(site, part)
    gamma = next(iter(site.roles.values()))
    norm, sizes = _sized(told.norm, site)
    parameters = {role: made for role, tensor in site.roles.items() if (made := _summary(tensor)) is not None}
    return Found(
        where=site.where,
        norm=norm,
        sizes=sizes,
        offset=norm.offset,
        dtype=gamma.dtype,
        parameters=parameters,
        evidence=(f"tensors {', '.join(each.name for each in site.roles.values())}", *told.evidence),
        unknown=told.unknown,
        warnings=tuple(_warnings(told, parameters, site)),
        tensors={role: each.name for role, each in site.roles.items()},
        place=told.place,
        cast=told.cast,
    )


def _told(site: _Site, part: Config | None) -> Told:
    """What the configuration says, else what the names and shapes say."""
    if part is not None and (where := part.site(site.where)):
        told = part.told(where)
        assert told is not None
        return told
    eps, field, words = part.guessed() if part is not None else (None, "", "")
    norm, unknown = _by_weights(site, field)
    if eps is None or norm.running:
        return Told(replace(norm, eps=None), "", "", (), ("eps", *unknown))
    return Told(replace(norm, eps=eps), "", "", (words,), unknown)


def _by_weights(site: _Site, field: str) -> tuple[Norm, tuple[str, ...]]:
    """The norm that tensors (and the name of an eps's field) make likely, and what they leave open."""
    name = site.where.rpartition(".")[2].lower()
    if "running_var" in site.roles:
        return batch_norm(affine="gamma" in site.roles, training=False), ()
    if "beta" in site.roles:
        return layer_norm(), () if re.search(r"layer_?norm|layrnorm|^ln", name) else ("kind",)
    if "rms" in name or field == "rms_norm_eps":
        return rms_norm(), ("offset",)
    return rms_norm(), ("kind", "offset")  # LayerNorm without a beta has the same tensors


def _sized(norm: Norm, site: _Site) -> tuple[Norm, dict[str, int]]:
    """The norm with its width, which is that of gamma."""
    shape = next(iter(site.roles.values())).shape
    if norm.name == "BatchNorm":
        sized = {"C": shape[0]} if shape else {}
        return replace(norm, sizes=sized), sized
    if "beta" not in site.roles and norm.shift:
        norm = replace(norm, shift=False)
    if len(shape) == 2:  # a gamma for each head
        named = {"h": shape[0], "d": shape[1]}
        return replace(norm, pattern="... h [d]", affine="h d", sizes=named), named
    sized = {"d": shape[-1]} if shape and shape[-1] else {}
    return replace(norm, sizes=sized), sized


def _summary(tensor: Tensor) -> Summary | None:
    if tensor.dtype not in READ or 0 in tensor.shape:
        return None
    return summary(tensor.array().astype("float32"))


def _warnings(told: Told, parameters: Mapping[str, Any], site: _Site) -> Iterator[str]:
    for role, tensor in site.roles.items():
        if tensor.dtype not in READ:
            yield f"{role} is of dtype {tensor.dtype[:20]}, which cannot be read: nothing is told of its cells."
    gamma = parameters.get("gamma")
    if gamma is not None and "offset" in told.unknown and abs(gamma.mean) < NEAR_ZERO:
        yield f"gamma's mean is {gamma.mean:.3g}, near 0: its weights may be gamma - 1, as Gemma's are."
    if told.place and told.norm.shift != ("beta" in site.roles) and not told.norm.running:
        yield (
            "it has no beta, though its model_type's has one." if told.norm.shift else "it has a beta, which is unused."
        )
