"""What can be called: a function, or a class or an object with `forward` or `__call__`."""

import inspect
from collections.abc import Callable, Mapping
from math import prod
from typing import TYPE_CHECKING, Any, Protocol

from ..norm import Norm
from .binding import Binding, bind

if TYPE_CHECKING:
    from .frames import Frame

Given = Mapping[str, Any]  # values by role, in the framework's arrays


class Wrong(Exception):
    """Why something cannot be called as a norm; one clause."""


class Target(Protocol):
    """Something that can be called with values by role.

    size     the number of gammas that an object was made for; None: it is made for every call, or has none
    guessed  the parameters that were bound by position
    """

    @property
    def accepts(self) -> frozenset[str]:
        """The roles that it takes."""

    @property
    def size(self) -> int | None:
        """See above."""

    @property
    def guessed(self) -> tuple[str, ...]:
        """See above."""

    def call(self, frame: "Frame", given: Given) -> Any:
        """What it returns."""

    def leaves(self, given: Given) -> dict[str, Any]:
        """The arrays of the last call whose gradients a framework keeps, by role."""

    def kept(self, given: Given) -> dict[str, Any]:
        """The running statistics after the last call, where it changed them."""


def resolve(function: Any, norm: Norm, is_backward: bool, forward: Any = None) -> Target:
    """The target behind what a person gave; Wrong where it cannot be called as this norm.

    forward  the function whose cache a backward of the form f(dy, cache) takes
    """
    from .objects import Object, has_forward

    if inspect.isclass(function) and inspect.ismethod(getattr(function, "apply", None)):  # torch.autograd.Function
        own: Any = function
        return Function(own.apply, bind(own.forward, norm, is_backward, skip=1), norm, None)
    if has_forward(function):
        return Object(function, norm, is_backward)
    if not callable(function):
        raise Wrong(f"it is a {type(function).__name__}, not a function")
    source = None if forward is None else resolve(forward, norm, False)
    return Function(function, bind(function, norm, is_backward), norm, source)


class Function:
    """A function whose parameters have roles."""

    size: int | None = None

    def __init__(self, function: Callable[..., Any], binding: Binding, norm: Norm, forward: Target | None) -> None:
        if binding.problem:
            raise Wrong(binding.problem)
        roles = {each.role for each in binding.arguments}
        if "cache" in roles and forward is None:
            raise Wrong("it takes the cache of a forward function; give that function too")
        self.function, self.binding, self.norm, self.forward = function, binding, norm, forward
        self.accepts = binding.accepts | ({"eps"} if "options" in roles else set())
        if "cache" in roles and forward is not None:
            self.accepts |= forward.accepts
        self.guessed = binding.guessed

    def call(self, frame: "Frame", given: Given) -> Any:
        """What the function returns; a cache is that of its forward function, called first."""
        made = by_hand(self.norm, given)
        if self.forward is not None and any(each.role == "cache" for each in self.binding.arguments):
            made["cache"] = _cache(self.forward.call(frame, given))
        args, kwargs = self.binding.arguments_for(
            {**given, **made}, lambda role: neutral(role, self.norm, given, frame)
        )
        return self.function(*args, **kwargs)

    def leaves(self, given: Given) -> dict[str, Any]:
        """What it was given."""
        return dict(given)

    def kept(self, given: Given) -> dict[str, Any]:
        """What it was given, which it may have updated."""
        return {role: given[role] for role in ("running_mean", "running_var") if role in given and role in self.accepts}


def _cache(result: Any) -> Any:
    """What a forward function returns beside y."""
    if not isinstance(result, tuple) or len(result) < 2:
        raise TypeError("the forward function returns no cache")
    return result[1] if len(result) == 2 else result[1:]


def by_hand(norm: Norm, given: Given) -> dict[str, Any]:
    """The values that follow from the norm and the shape of x: normalized_shape, axis, a dictionary of options."""
    shape = tuple(given["x"].shape) if "x" in given else tuple(given["dy"].shape)
    layout = norm.fit(len(shape)).layout
    places = [place for place, dim in enumerate(layout.dims) if set(dim) & set(layout.over)]
    options = {"eps": given.get("eps", 1e-5), "mode": "test" if norm.running else "train"}
    running = {role: given[role] for role in ("running_mean", "running_var") if role in given}
    return {
        "shape": tuple(shape[place] for place in places),
        "axis": places[0] if len(places) == 1 else tuple(places),
        "options": options | running,
    }


def param_shape(norm: Norm, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of gamma for an x of this shape; that of a norm without one as if it had one."""
    fitted = norm.fit(len(shape))
    sizes = fitted.sizes_for(shape)
    if fitted.affine:
        return fitted.param_shape(sizes)
    if fitted.layout.axes[-len(fitted.over) :] == fitted.over and fitted.name in ("LayerNorm", "RMSNorm"):
        return tuple(sizes[axis] for axis in fitted.over)
    return shape[1:2] if len(shape) > 1 else shape


def neutral(role: str, norm: Norm, given: Given, frame: "Frame") -> Any:
    """A value that changes nothing, for a required role that the probe leaves out."""
    x = given["x"] if "x" in given else given["dy"]
    shape = tuple(x.shape)
    plain = {"eps": 1e-5, "num_groups": 1, "momentum": 0.1, "training": not norm.running, "default": None}
    if role in plain:
        return plain[role]
    ones = frame.ones(x)
    if role == "mask":
        return ones[..., 0] > 0 if x.ndim > 1 else ones > 0
    flat = ones.reshape(-1)[:1].repeat(prod(param_shape(norm, shape))).reshape(param_shape(norm, shape))
    return flat if role in ("gamma", "running_var") else flat * 0 if role != "x" else x
