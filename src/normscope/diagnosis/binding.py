"""Which argument of a stranger's function is which: by its name, then by its position."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..norm import Norm
from ..program import PARAMETERS
from ..steps import STATISTICS

Parameter = inspect.Parameter
NAMES: Mapping[str, tuple[str, ...]] = {  # a role: what people call it, in lower case
    "x": ("x", "input", "inputs", "hidden_states", "hidden", "tensor", "inp", "data"),
    "gamma": ("gamma", "weight", "scale", "gain", "weights"),
    "beta": ("beta", "bias", "shift", "offset"),
    "eps": ("eps", "epsilon", "variance_epsilon", "norm_eps", "layer_norm_eps", "rms_norm_eps"),
    "num_groups": ("num_groups", "groups", "n_groups", "ngroups", "group_count"),
    "running_mean": ("running_mean", "moving_mean", "mean"),
    "running_var": ("running_var", "moving_var", "running_variance", "moving_variance", "var", "variance"),
    "momentum": ("momentum",),
    "dy": ("dy", "grad_output", "grad_out", "dout", "d_out", "grad_y", "upstream", "upstream_grad", "grad_outputs"),
    "mask": ("mask",),
    "training": ("training", "train", "is_training"),
    "shape": ("normalized_shape",),
    "axis": ("axis", "axes", "dim", "dims"),
    "options": ("ln_param", "bn_param", "gn_param", "in_param", "rms_param"),
    "cache": ("cache",),
}
SHORT: Mapping[str, str] = {"w": "gamma", "g": "gamma", "b": "beta", "e": "eps"}  # where nothing contradicts them
BY_HAND = ("shape", "axis", "options", "cache")  # made here from the norm, not by a probe


@dataclass(frozen=True)
class Argument:
    """A parameter of the function, and the role that it has."""

    name: str
    role: str
    is_required: bool
    kind: Any = Parameter.POSITIONAL_OR_KEYWORD


@dataclass(frozen=True)
class Binding:
    """The parameters of a function in order, those without a role left out; `problem` says why it cannot be called."""

    arguments: tuple[Argument, ...]
    problem: str = ""
    guessed: tuple[str, ...] = ()  # bound by position alone, as "w2 as gamma"

    @property
    def accepts(self) -> frozenset[str]:
        """The roles that a probe fills."""
        return frozenset(each.role for each in self.arguments) - {*BY_HAND, "default"}

    def arguments_for(
        self, values: Mapping[str, Any], neutral: Callable[[str], Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """What to call the function with; `neutral` gives a required role that has no value."""
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        in_order = True
        for each in self.arguments:
            value = values.get(each.role)
            if value is None and not each.is_required:
                in_order = False  # the default stays, and what follows is given by name
                continue
            value = neutral(each.role) if value is None else value
            in_order = in_order and each.kind is not Parameter.KEYWORD_ONLY
            if in_order or each.kind is Parameter.POSITIONAL_ONLY:
                args.append(value)
            else:
                kwargs[each.name] = value
        return args, kwargs


def order(norm: Norm, is_backward: bool) -> tuple[str, ...]:
    """The roles in the order in which functions of this kind usually take them."""
    affine = PARAMETERS if norm.center else ("gamma",)
    groups = ("num_groups",) if norm.name == "GroupNorm" else ()
    if norm.running:
        forward = ("x", *STATISTICS, *affine, "eps")
    elif norm.name == "BatchNorm":
        forward = ("x", *affine, "eps", *STATISTICS, "momentum")
    else:
        forward = ("x", *groups, *affine, "eps")
    if not is_backward:
        return forward
    return ("dy", "x", *groups, *(STATISTICS if norm.running else ()), "gamma", "eps")


def role_of(name: str, index: int, roles: Sequence[str], has_x: bool) -> str:
    """The role that a parameter's name says; empty where it says none.

    A single letter counts only where x is named or the letter stands at its role's usual place.
    """
    lower = name.lower()
    for role, names in NAMES.items():
        if lower in names:
            return role
    role = "num_groups" if name == "G" and "num_groups" in roles else SHORT.get(lower, "")
    in_place = role in roles and roles.index(role) == index
    return role if role and (has_x or in_place) else ""


def bind(function: Callable[..., Any], norm: Norm, is_backward: bool = False, skip: int = 0) -> Binding:
    """The roles of a function's parameters, the first `skip` of which it is not given."""
    try:
        parameters = list(inspect.signature(function).parameters.values())[skip:]
    except (TypeError, ValueError):  # of C, without a signature: x and the affine by position
        plain = tuple(
            Argument(role, role, role == "x", Parameter.POSITIONAL_ONLY) for role in order(norm, is_backward)[:4]
        )
        return Binding(plain)
    return bound([each for each in parameters if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)],
                 order(norm, is_backward), any(each.kind is each.VAR_POSITIONAL for each in parameters))  # fmt: skip


def bound(parameters: Sequence[inspect.Parameter], roles: Sequence[str], is_open: bool = False) -> Binding:
    """By name, then by position; the roles are those that a position may mean."""
    named = _named(parameters, roles)
    if is_open and not parameters:  # def f(*args)
        return Binding(tuple(Argument(role, role, True, Parameter.POSITIONAL_ONLY) for role in roles))
    left = [role for role in roles if role not in named.values()]
    arguments, guessed = [], []
    for each in parameters:
        is_required = each.default is each.empty
        role = named.get(each.name, "")
        if not role and is_required:
            if not left:
                wanted = ", ".join(roles)
                return Binding((), f"parameter '{each.name}' is none of {wanted}, and has no default")
            role = left.pop(0)
            guessed.append(f"{each.name} as {role}")
        if role and not (role in ("axis", "cache", "options") and not is_required):
            arguments.append(Argument(each.name, role, is_required, each.kind))
        elif arguments and each.kind is not each.KEYWORD_ONLY:
            arguments.append(Argument(each.name, "default", False))  # a gap in the order
    problem = "" if {"x", "dy"} & {each.role for each in arguments} else "it takes no x"
    return Binding(tuple(arguments), problem, tuple(guessed))


def _named(parameters: Iterable[inspect.Parameter], roles: Sequence[str]) -> dict[str, str]:
    """The roles that names say, each once: the first parameter has it."""
    listed = list(parameters)
    has_x = any(each.name.lower() in NAMES["x"] for each in listed)
    found: dict[str, str] = {}
    for index, each in enumerate(listed):
        role = role_of(each.name, index, roles, has_x)
        if role and role not in found.values():
            found[each.name] = role
    return found


def is_backward(function: Any) -> bool:
    """Whether the first parameter of a function is the gradient of y."""
    try:
        first = next(iter(inspect.signature(function).parameters), "")
    except (TypeError, ValueError):
        return False
    return first.lower() in NAMES["dy"]
