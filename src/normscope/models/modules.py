"""The norms of a PyTorch module: every module in it is run on random numbers and recognised by what it computes.

What runs is a copy of one small module at a time, in float64 and in evaluation, without hooks; the model itself is
neither run nor changed. Its class's name decides nothing, and is held against what was found.
"""

import copy
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from ..norm import Norm, group_norm, instance_norm
from .black_box import Box, Seen, seen
from .called import calls
from .canonical import canonical
from .configs import Config
from .forms import words
from .found import Found, Progress, Report
from .summary import Summary, summary

MOST_CELLS = 1 << 20  # of a module's parameters together
CALLED = re.compile(r"norm|(^|_)(ln|bn|gn)", re.IGNORECASE)
CHANNELS = ("num_features", "num_channels", "num_groups", "running_mean")
EPS_NAMES = ("eps", "epsilon", "variance_epsilon", "layer_norm_eps", "norm_eps")
SPARE = (5, 7, 3, 11, 9)  # sizes for the axes that a module leaves open
FREE = 13  # features, where nothing says how many
ONLY_MODULES = "only modules are tried: a norm that a module computes amid other things, in its forward, is not seen."


@dataclass(frozen=True)
class _Tried:
    """What came of a module; why not, in words, where it could not be run."""

    seen: Seen | None
    why: str = ""


def is_module(source: Any) -> bool:
    """Whether it is a PyTorch module, as far as it is used here."""
    return all(hasattr(source, name) for name in ("named_modules", "named_parameters", "named_buffers", "forward"))


def inspect_module(module: Any, *, progress: Progress | None = None) -> Report:
    """Every norm in a PyTorch module that is a module of its own, in their order, by what each computes."""
    config = _config(module)
    every = dict(module.named_modules())
    tried: dict[object, _Tried] = {}
    norms: list[Found] = []
    others: dict[str, Any] = {}
    told: list[str] = []
    for at, (path, each) in enumerate(every.items()):
        if not any(path.startswith(f"{found.where}.") for found in norms):
            result = _outcome(each, tried)
            if result.seen is not None:
                norms.append(_found(path, each, result.seen, config))
            else:
                others[path] = each
                told += _disappointed(path, each, result)
        if progress is not None:
            progress(at + 1, len(every))
    return Report(tuple(norms), (*told, *(_unseen(others) or ([] if norms else [ONLY_MODULES]))))


def _outcome(module: Any, before: dict[object, _Tried]) -> _Tried:
    """What came of a module, or of one before it that computes the same."""
    if not _is_candidate(module):
        return _Tried(None)
    key = _signature(module)
    if key not in before:
        before[key] = _try(module)
    return before[key]


def _disappointed(path: str, module: Any, result: _Tried) -> Iterator[str]:
    """A module that was tried, is called a norm, and is none."""
    if CALLED.search(type(module).__name__) and _is_candidate(module):
        why = result.why or "it computes none that is known"
        yield f"{path or 'the module'} is called {type(module).__name__}, but {why}."


def _unseen(modules: Mapping[str, Any]) -> list[str]:
    """The norms that the code of these modules calls as functions: once for each class."""
    callers: dict[tuple[str, str], list[str]] = {}
    for path, module in modules.items():
        for name in calls(module):
            callers.setdefault((name, type(module).__name__), []).append(path or "the module")
    return [
        f"{paths[0]}{f' and {len(paths) - 1:,} more' * (len(paths) > 1)}: {kind} names {name}, a function that is a "
        "norm: it is no module, and is seen only in a run of the model, as with --run."
        for (name, kind), paths in callers.items()
    ]


def _is_candidate(module: Any) -> bool:
    """A module to try: one that holds no other, or is called a norm; with little in it."""
    own = _own(module)
    if any(True for _ in module.children()) and not (own and CALLED.search(type(module).__name__)):
        return False
    cells: int = sum(prod(tensor.shape) for tensor in own.values())
    return cells <= MOST_CELLS


def _own(module: Any) -> dict[str, Any]:
    """The module's own parameters and buffers that hold real numbers, by name."""
    both = [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]
    return {name: tensor for name, tensor in both if tensor.is_floating_point()}


def _signature(module: Any) -> object:
    """Modules of equal signature compute the same, but for the values of their parameters."""
    plain = tuple((name, repr(value)) for name, value in vars(module).items() if not name.startswith("_"))
    return type(module), plain, tuple((name, tuple(each.shape)) for name, each in _own(module).items())


def _config(module: Any) -> Config | None:
    """The configuration that a Hugging Face model carries."""
    made = getattr(getattr(module, "config", None), "to_dict", None)
    fields = made() if callable(made) else None
    return Config(fields) if isinstance(fields, dict) else None


# ---- running one


def _try(module: Any) -> _Tried:
    try:
        return _Tried(seen(_box(module)))
    except Exception as error:  # a stranger's module may raise anything, at any time
        return _Tried(None, f"it cannot be run alone: {type(error).__name__}: {str(error).strip()[:80]}")


def _box(module: Any) -> Box:
    made = _alone(module, "float64")
    params = {name: tuple(tensor.shape) for name, tensor in _own(made).items()}
    return Box(lambda x, given: _call(made, x, given), tuple(_shapes(module, params)), params, tuple(_hints(module)))


def _alone(module: Any, dtype: str) -> Any:
    """A copy in evaluation, on the CPU and in a dtype; of a module without cells (on meta), one with cells."""
    import torch

    made = copy.deepcopy(module)
    if any(tensor.is_meta for tensor in (*made.parameters(), *made.buffers())):
        made = made.to_empty(device="cpu")
    return made.to(device="cpu", dtype=getattr(torch, dtype)).eval()


def _call(module: Any, x: Any, given: Mapping[str, Any]) -> Any:
    """What the copy makes of x with these parameters; `forward` itself, past every hook."""
    import torch

    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, tensor in _own(module).items():
            if name in given:
                tensor.copy_(torch.from_numpy(given[name]))
        return module.forward(torch.from_numpy(x)).double().numpy()


def _hints(module: Any) -> Iterator[float]:
    """The numbers from 0 to 1 that it holds: one may be its eps."""
    for value in vars(module).values():
        if isinstance(value, float) and 0 < value < 1:
            yield value


def _shapes(module: Any, params: Mapping[str, tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
    """Shapes of x that it may take, the likeliest first."""
    by_size = sorted((shape for shape in params.values() if shape), key=len, reverse=True)
    trailing = by_size[0] if by_size else _trailing(module)
    count = prod(trailing) if len(trailing) == 1 else trailing[0]
    spare = [size for size in SPARE if size not in trailing]
    features = [(spare[2], spare[0], *trailing)]
    channels = [(spare[2], count, *(spare[0], spare[1], spare[3])[:rank]) for rank in (2, 1, 3, 0)]
    own_rank = re.search(r"([123])d", type(module).__name__)
    if own_rank:
        channels.sort(key=lambda shape: len(shape) != int(own_rank[1]) + 2)
    has_channels = own_rank is not None or any(hasattr(module, name) for name in CHANNELS)
    yield from (*channels, *features) if has_channels else (*features, *channels)


def _trailing(module: Any) -> tuple[int, ...]:
    """The features of a module without parameters, by the sizes that it holds."""
    values = [value for name, value in vars(module).items() if not name.startswith("_")]
    for value in values:
        if isinstance(value, (tuple, list)) and value and all(type(each) is int and each > 1 for each in value):
            return tuple(value)
    whole = [value for value in values if type(value) is int and 1 < value <= MOST_CELLS]
    return (max(whole),) if whole else (FREE,)


# ---- what was found


def _found(path: str, module: Any, what: Seen, config: Config | None) -> Found:
    own = _own(module)
    fixed = {axis for axis in what.sizes if axis in (*what.norm.param_axes, *_held(module, what))}
    norm = _as_called(module, canonical(what.norm, what.dims, what.sizes, fixed), what)
    return Found(
        where=path,
        norm=norm,
        sizes=dict(norm.sizes),
        form=what.form,
        offset=norm.offset,
        dtype=next((str(each.dtype).removeprefix("torch.") for each in own.values()), ""),
        parameters={role: made for role, name in what.roles.items() if (made := _summary(own[name])) is not None},
        evidence=(f"class {_whole_name(type(module))}", "run on random numbers, it gives what the norm gives"),
        warnings=(*_faults(what, norm), *_contradictions(module, norm)),
        tensors={role: f"{path}.{name}".lstrip(".") for role, name in what.roles.items()},
        place=_place(config, path),
        cast=_cast(module, what),
    )


def _whole_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _faults(what: Seen, norm: Norm) -> Iterator[str]:
    """What is wrong about it, in words."""
    there = {what.fault: True, "correction": norm.correction, "one-pass": what.form == "one-pass",
             "no-eps": norm.eps == 0 and what.fault != "unseen-floor"}  # fmt: skip
    yield from (words(fault, norm) for fault, is_there in there.items() if fault and is_there)


def _held(module: Any, what: Seen) -> Iterator[str]:
    """The reduced axes whose size the module holds, and the count of its groups."""
    numbers = {value for value in vars(module).values() if type(value) is int}
    for value in vars(module).values():
        numbers |= set(value) if isinstance(value, tuple) and all(type(each) is int for each in value) else set()
    split = {dim[0] for dim in what.dims if len(dim) > 1}
    by_channel = set(what.norm.kept) if what.norm.running else set()
    for axis, size in what.sizes.items():
        if axis in split or axis in by_channel or (axis in what.norm.over and size in numbers):
            yield axis


def _as_called(module: Any, norm: Norm, what: Seen) -> Norm:
    """The same norm by the name of its class: one group of all channels, or an instance's channel without gamma, is a
    LayerNorm by its values too."""
    name, channels = type(module).__name__, what.sizes[what.dims[1][0]] if len(what.dims) > 1 else 0
    if not norm.center or norm.running or norm.correction or norm.name != "LayerNorm":
        return norm
    behind = tuple(axis for dim in what.dims[1:] for axis in dim)
    if "GroupNorm" in name and what.norm.over == behind and (not norm.affine or len(norm.param_axes) == 1):
        made = group_norm(1, channels if norm.affine else None, affine=norm.affine is not None)
    elif "InstanceNorm" in name and what.norm.over == behind[1:] and not norm.affine:
        made = instance_norm()
    else:
        return norm
    return replace(made, eps=norm.eps, scale=norm.scale, shift=norm.shift, offset=norm.offset)


def _summary(tensor: Any) -> Summary | None:
    if tensor.is_meta or not tensor.numel():
        return None
    return summary(tensor.detach().cpu().double().numpy())


def _place(config: Config | None, path: str) -> str:
    if config is None:
        return ""
    part = config.part(path)
    told = part.told(site) if (site := part.site(path)) else None
    return told.place if told is not None else ""


def _contradictions(module: Any, norm: Norm) -> Iterator[str]:
    """Where the class's name or its attributes say something else than its values."""
    name = type(module).__name__
    if "rms" in name.lower() and norm.center:
        yield f"its class is called {name}, but it subtracts the mean."
    if norm.eps is None:
        return
    for attribute in EPS_NAMES:
        value = getattr(module, attribute, None)
        if isinstance(value, float) and value > 0 and abs(value - float(norm.eps)) > 1e-3 * value:
            yield f"its {attribute} is {value:g}, but what it adds is {float(norm.eps):g}."


def _cast(module: Any, what: Seen) -> str:
    """Whether bfloat16 values are rounded before gamma multiplies, or only after: seen in which one gives its bits."""
    import torch

    if "gamma" not in what.roles or "running_var" in what.roles:
        return ""
    try:
        made = _alone(module, "bfloat16")
        shape = [prod(what.sizes[axis] for axis in dim) for dim in what.dims]
        random = torch.Generator().manual_seed(0)
        x = torch.randn(shape, generator=random).bfloat16()
        with torch.no_grad():
            for name, tensor in _own(made).items():
                is_gamma = name == what.roles["gamma"]
                tensor.copy_(
                    torch.rand(tensor.shape, generator=random) + 0.5 if is_gamma else torch.zeros(tensor.shape)
                )
            y = made.forward(x)
            w = (_own(made)[what.roles["gamma"]].float() + what.norm.offset).reshape(_broadcast(what, shape))
        xhat = _normalized(x.float(), what, shape)
        before, after = (xhat.bfloat16().float() * w).bfloat16(), (xhat * w).bfloat16()
        shares = [float((y == each).double().mean()) for each in (before, after)]
    except Exception:  # a module that does not take bfloat16 has no such rounding
        return ""
    return "before gamma" if shares[0] > max(shares[1], 0.9) else "after gamma" if shares[1] > 0.9 else ""


def _broadcast(what: Seen, shape: list[int]) -> list[int]:
    """The shape of gamma beside x."""
    axes = what.norm.param_axes
    return [size if set(dim) & set(axes) else 1 for dim, size in zip(what.dims, shape, strict=True)]


def _normalized(x: Any, what: Seen, shape: list[int]) -> Any:
    """xhat in float64, rounded to float32."""
    axes = [axis for dim in what.dims for axis in dim]
    over = [at for at, axis in enumerate(axes) if axis in what.norm.over]
    cells = x.double().reshape([what.sizes[axis] for axis in axes])
    cells = cells - cells.mean(over, keepdim=True) if what.norm.center else cells
    eps = float(what.norm.eps) if what.norm.eps is not None else 2.0**-23
    return (cells / ((cells * cells).mean(over, keepdim=True) + eps).sqrt()).reshape(shape).float()
