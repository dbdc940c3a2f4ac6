"""Classes and objects with `forward` or `__call__`: made or resized for each call, their gamma and beta set."""

import copy
import inspect
from collections.abc import Iterator, Mapping
from math import prod
from typing import TYPE_CHECKING, Any

from ..norm import Norm
from .binding import NAMES, bind
from .targets import Given, Wrong, by_hand, neutral, param_shape

if TYPE_CHECKING:
    from .frames import Frame

ATTRIBUTES = {  # a role: what people call it in an object
    "gamma": (*NAMES["gamma"], "w", "g", "a_2"),
    "beta": (*NAMES["beta"], "b", "b_2"),
    "eps": NAMES["eps"],
    "running_mean": ("running_mean", "moving_mean"),
    "running_var": ("running_var", "moving_var", "running_variance", "moving_variance"),
    "momentum": ("momentum",),
    "num_groups": NAMES["num_groups"],
}
ARRAYS = ("gamma", "beta", "running_mean", "running_var")
COUNTS = (
    "num_features", "num_channels", "features", "dim", "d", "d_model", "hidden_size", "hidden_dim", "size", "width",
    "n_features", "channels", "c", "embed_dim", "feature_size", "ndim", "n_embd", "emb_dim", "num_hiddens",
    "in_features",
)  # fmt: skip
SHAPES = ("normalized_shape", "shape", "param_shape", "feature_shape")
FLAGS = ("bias", "affine", "elementwise_affine", "track_running_stats")
GRADIENTS = {
    "dgamma": ("dgamma", "grad_gamma", "gamma_grad", "dweight", "grad_weight", "weight_grad", "dg", "dw"),
    "dbeta": ("dbeta", "grad_beta", "beta_grad", "dbias", "grad_bias", "bias_grad", "db"),
}
Place = tuple[Any, str]  # an object and the name of its attribute


def has_forward(thing: Any) -> bool:
    """Whether it is a class or an object to be called, and no function."""
    if inspect.isclass(thing):
        return _method(thing) is not None
    plain = inspect.isroutine(thing) or hasattr(thing, "func") or hasattr(thing, "__wrapped__")
    return not plain and _method(type(thing)) is not None


def _method(kind: type) -> Any:
    """`forward`, or a `__call__` of its own."""
    return getattr(kind, "forward", None) or next(
        (vars(each)["__call__"] for each in kind.__mro__ if "__call__" in vars(each)), None
    )


class Object:
    """A class, of which one is made for each call, or an object, of which each call has a copy."""

    def __init__(self, thing: Any, norm: Norm, is_backward: bool) -> None:
        self.thing, self.norm, self.is_backward = thing, norm, is_backward
        self.is_class = inspect.isclass(thing)
        kind = thing if self.is_class else type(thing)
        self.binding = bind(_method(kind), norm, False, skip=1)
        if self.binding.problem:
            raise Wrong(self.binding.problem)
        self.guessed = self.binding.guessed
        self.size: int | None = None
        self.made: Any = None
        self.accepts = self.binding.accepts | self._settable() | ({"dy"} if is_backward else set())

    def _settable(self) -> frozenset[str]:
        """The roles that attributes or the constructor take."""
        if self.is_class:
            named = {_role(each.name) for each in _parameters(self.thing)}
            return frozenset(named - {""}) | frozenset(self._of_an_instance())
        places = found(self.thing)
        if "gamma" in places:
            self.size = prod(getattr(*places["gamma"]).shape)
        return frozenset(places)

    def _of_an_instance(self) -> set[str]:
        """The roles of the attributes of an instance, made for a small x; none where that raises."""
        import numpy as np

        from .samples import sample

        rank = max(2, len(self.norm.layout.dims))
        try:
            probe = sample(self.norm, rank)
            given = {"x": np.ones(probe.x.shape), "num_groups": probe.num_groups, "eps": 1e-5}
            return set(found(self._construct(given)))
        except Exception:  # the call itself will say it
            return set()

    def call(self, frame: "Frame", given: Given) -> Any:
        """What forward returns; of a backward what `backward(dy)` does, after it."""
        self.made = self._construct(given) if self.is_class else copy.deepcopy(self.thing)
        self._set(frame, given)
        made = by_hand(self.norm, given)
        args, kwargs = self.binding.arguments_for(
            {**given, **made}, lambda role: neutral(role, self.norm, given, frame)
        )
        call = self.made if frame.differentiates or not hasattr(self.made, "forward") else self.made.forward
        result = call(*args, **kwargs)
        return result if not self.is_backward else self._gradients(self.made.backward(given["dy"]))

    def _gradients(self, result: Any) -> Any:
        """dx alone, with the gradients of gamma and beta that the object keeps."""
        if isinstance(result, tuple):
            return result
        kept = (next((getattr(self.made, name) for name in names if hasattr(self.made, name)), None)
                for names in GRADIENTS.values())  # fmt: skip
        return (result, *kept)

    def leaves(self, given: Given) -> dict[str, Any]:
        """x as given, and the parameters of the object."""
        return {**given, **{role: getattr(*place) for role, place in found(self.made).items()}}

    def kept(self, given: Given) -> dict[str, Any]:
        """The running statistics that the object has now."""
        places = found(self.made)
        return {role: getattr(*places[role]) for role in ("running_mean", "running_var") if role in places}

    def _construct(self, given: Given) -> Any:
        shape = param_shape(self.norm, tuple(given["x"].shape))
        plain = shape[0] if len(shape) == 1 else shape
        try:
            return self.thing(**self._arguments(given, plain))
        except TypeError:
            if not isinstance(plain, int):
                raise
            return self.thing(**self._arguments(given, shape))  # one that takes a tuple alone

    def _arguments(self, given: Given, shape: int | tuple[int, ...]) -> dict[str, Any]:
        """The arguments of the constructor by name."""
        made: dict[str, Any] = {}
        has_size = False
        for each in _parameters(self.thing):
            role, name = _role(each.name), each.name.lower()
            if given.get(role) is not None:
                made[each.name] = given[role]
            elif name in SHAPES or name in COUNTS:
                made[each.name] = shape
                has_size = True
            elif name == "num_dims":
                made[each.name] = given["x"].ndim
            elif each.default is each.empty:
                made[each.name] = self._unknown(each.name, shape, has_size or name in FLAGS)
                has_size = True
        return made

    def _unknown(self, name: str, shape: int | tuple[int, ...], has_size: bool) -> Any:
        """A required argument without a known name: the size, unless there is one; then a flag."""
        if name.lower() in FLAGS:
            return True
        if has_size:
            raise TypeError(f"{self.thing.__name__} needs '{name}', which is no size and has no default")
        return shape

    def _set(self, frame: "Frame", given: Given) -> None:
        """gamma, beta, eps and the rest into the attributes that hold them."""
        if hasattr(self.made, "train") and frame.differentiates:
            self.made.train(not self.norm.running)
        elif hasattr(self.made, "training"):
            self.made.training = not self.norm.running
        if frame.differentiates and hasattr(self.made, "to"):
            self.made.to(given["x"].dtype)
        for role, place in found(self.made).items():
            value = given.get(role)
            if value is None:
                continue
            if hasattr(value, "shape"):
                old = getattr(*place)
                value = frame.parameter(value.reshape(_fitting(tuple(old.shape), tuple(value.shape))), old)
            setattr(*place, value)
        if not self.is_class and self.size is not None and given.get("gamma") is not None:
            _resize(self.made, self.size, tuple(given["gamma"].shape))


def _parameters(kind: type) -> list[inspect.Parameter]:
    """The constructor's parameters that can be given by name."""
    try:
        parameters = inspect.signature(kind).parameters.values()
    except (TypeError, ValueError):
        return []
    return [each for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]


def _role(name: str) -> str:
    """The number that a constructor's argument is: eps, momentum or num_groups."""
    roles = ("eps", "momentum", "num_groups")
    return next((role for role in roles if name.lower() in ATTRIBUTES[role]), "")


def found(thing: Any) -> dict[str, Place]:
    """Where an object keeps what has a role: by the names of attributes, then by ones and zeros."""
    places = dict(_attributes(thing))
    made = {}
    for role, names in ATTRIBUTES.items():
        for name, place in places.items():
            value = getattr(*place)
            fits = hasattr(value, "shape") if role in ARRAYS else _number(value)
            if name.lower() in names and fits and role not in made:
                made[role] = place
    taken = list(made.values())
    for role, filling in (("gamma", 1), ("beta", 0)):
        if role not in made:
            same = [place for place in places.values() if place not in taken and _filled(getattr(*place), filling)]
            made |= {role: same[0]} if len(same) == 1 else {}
    return made


def _attributes(thing: Any) -> Iterator[tuple[str, Place]]:
    """The attributes of an object, a module's parameters and buffers too, with those of its only part."""
    own = dict(getattr(thing, "__dict__", {}))
    for store in ("_parameters", "_buffers"):
        own |= own.get(store) or {}
    yield from ((name, (thing, name)) for name in own if not name.startswith("_"))
    parts: Mapping[str, Any] = own.get("_modules") or {}
    if len(parts) == 1:
        yield from _attributes(next(iter(parts.values())))


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _filled(value: Any, filling: int) -> bool:
    """Whether it is a floating array all of one number, as a fresh parameter is."""
    is_array = hasattr(value, "shape") and hasattr(value, "reshape") and "float" in str(value.dtype)
    return is_array and prod(value.shape) > 0 and bool((value == filling).all())


def _fitting(old: tuple[int, ...], new: tuple[int, ...]) -> tuple[int, ...]:
    """The shape for as many cells as `new`, with the sizes of 1 that the old one had around its cells."""
    count = prod(new)
    if prod(old) == count:
        return old
    wide = [place for place, size in enumerate(old) if size > 1]
    return tuple(count if place == wide[0] else size for place, size in enumerate(old)) if len(wide) == 1 else new


def _resize(thing: Any, was: int, shape: tuple[int, ...]) -> None:
    """Attributes such as normalized_shape and num_features, for another number of gammas."""
    for name, (owner, attribute) in _attributes(thing):
        value = getattr(owner, attribute)
        if name.lower() in COUNTS and value == was:
            setattr(owner, attribute, prod(shape))
        elif name.lower() in SHAPES and isinstance(value, tuple):
            setattr(owner, attribute, shape)
        elif name.lower() in SHAPES and value == was:
            setattr(owner, attribute, prod(shape))
