"""Norms that a PyTorch module does not hold but calls, as in `F.layer_norm(x, ...)`: what such a call computes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import CodeType, FunctionType
from typing import Any

from ..norm import Norm, batch_norm, group_norm, instance_norm, layer_norm, rms_norm

Tensors = Mapping[str, Any]


@dataclass(frozen=True)
class Call:
    """A call of a function that is a norm: of x, with the parameters that were given, by their role."""

    norm: Norm
    x: Any
    parameters: Tensors


def _layer_norm(
    input: Any, normalized_shape: Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-5, *_: Any
) -> Call:
    return _call(layer_norm(list(normalized_shape), eps), input, gamma=weight, beta=bias)


def _rms_norm(input: Any, normalized_shape: Sequence[int], weight: Any = None, eps: float | None = None) -> Call:
    return _call(rms_norm(list(normalized_shape), eps), input, gamma=weight)


def _group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5, *_: Any) -> Call:
    return _call(group_norm(num_groups, input.shape[1], eps), input, gamma=weight, beta=bias)


def _batch_norm(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Call:
    running = {} if training else {"running_mean": running_mean, "running_var": running_var}
    return _call(batch_norm(input.shape[1], eps, training=training), input, gamma=weight, beta=bias, **running)


def _instance_norm(
    input: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Call | None:
    if not use_input_stats:
        return None
    return _call(instance_norm(input.shape[1], eps, affine=True), input, gamma=weight, beta=bias)


def _call(norm: Norm, x: Any, **parameters: Any) -> Call:
    given = {role: tensor for role, tensor in parameters.items() if tensor is not None}
    own = replace(norm, scale="gamma" in given, shift="beta" in given, name="")
    return Call(replace(own, name=norm.name), x, given)


READ: Mapping[str, Callable[..., Call | None]] = {
    "torch.nn.functional.layer_norm": _layer_norm,
    "torch.nn.functional.rms_norm": _rms_norm,
    "torch.nn.functional.group_norm": _group_norm,
    "torch.nn.functional.batch_norm": _batch_norm,
    "torch.nn.functional.instance_norm": _instance_norm,
    "torch.layer_norm": _layer_norm,
    "torch.rms_norm": _rms_norm,
    "torch.group_norm": _group_norm,
}
NAMES = tuple(dict.fromkeys(name.rpartition(".")[2] for name in READ))


def read(name: str, args: Sequence[Any], named: Mapping[str, Any]) -> Call | None:
    """What a call of a function of PyTorch computes, by the function's whole name; None for what is no norm."""
    return READ[name](*args, **named) if name in READ else None


def calls(module: Any) -> list[str]:
    """The functions that are norms and that the code of a module's class names; a part of that name is no function."""
    own = [kind for kind in type(module).__mro__ if not kind.__module__.startswith(("torch.", "builtins"))]
    code = [value.__code__ for kind in own for value in vars(kind).values() if isinstance(value, FunctionType)]
    there = {name for each in code for name in _names(each)}
    return [name for name in NAMES if name in there and not hasattr(module, name)]


def _names(code: CodeType) -> Iterator[str]:
    """What code names, with the functions that stand in it."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)
