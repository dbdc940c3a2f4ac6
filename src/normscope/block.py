"""A block's arithmetic in exact numbers: the residual add and the norm, up to the root and beyond it.

The square root is the boundary. Up to it every value is a Fraction; it is named, `sqrt(1/4)`, and whoever
opens it gets the closed form and as many decimals as asked for.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from .errors import DtypeError, NormError, ShapeError
from .gradients import training
from .norm import Norm, a_norm, exact_eps, layer_norm
from .program import PARAMETERS
from .run import run
from .steps import forward, residual
from .tracing import Trace, parameter, plain
from .views import cells
from .views import exact as reading
from .views.opaque import Exact, Undefined, symbol
from .views.roots import Surd
from .views.writing import ratio

SYMBOL = "eps"
BOUNDARY = ("sqrt", "rsqrt")


class ExactTrace(Trace):
    """The exact value of every named step, nested as x is: fractions up to the root, beyond it closed forms.

    eps     as text: "0", "1/100000", or "eps" for the symbol
    wiring  "post" or "pre" where the block's update was given, else ""

    >>> t = exact(["2", "3"], update=["1", "-1"])
    >>> t["residual"], t["mu"], t["xhat"]
    ([Fraction(3, 1), Fraction(2, 1)], [Fraction(5, 2)], [Surd('1'), Surd('-1')])
    >>> t.written("xhat", named=True), t.roots
    (['(1/2)/sqrt(1/4)', '-(1/2)/sqrt(1/4)'], ['sqrt(1/4)'])
    """

    eps: str = "0"
    wiring: str = ""

    @cached_property
    def behind(self) -> frozenset[str]:
        """The steps behind the boundary: the root and what depends on it."""
        roots = [step.name for step in self.program if step.op in BOUNDARY]
        return frozenset(roots).union(*(self.program.feeds[name] for name in roots))

    def named(self, name: str) -> Any:
        """A step's exact values with the root not opened: `(1/2)/sqrt(1/4)` is an Opaque, not 1."""
        return plain(self._named[self._step(name)])

    @cached_property
    def _named(self) -> dict[str, Any]:
        given = {name: self._values[name] for name, _ in self.program.inputs}
        return run(self.program, cells.rules(self.program, self.sizes, reading.NAMED), given)

    @property
    def roots(self) -> Any:
        """The roots that are named, as text, nested as the statistics are: `sqrt(1/4)`."""
        return _each(self["v"], lambda value: f"sqrt({reading.text(value)})")

    @property
    def is_reduced(self) -> bool:
        """Whether every root in a closed form is known to be as small as can be."""
        cells_of = (value.flat for value in self._values.values())
        return all(cell.is_reduced for flat in cells_of for cell in flat if isinstance(cell, Surd))

    def written(self, name: str, *, named: bool = False, form: Callable[[Exact], Any] = reading.text) -> Any:
        """A step's values written one by one: as text, or by `reading.latex` or `reading.mathml`."""
        return _each(self.named(name) if named else self[name], form)

    def digits(self, name: str, count: int = 30) -> Any:
        """A step's values with `count` decimals each, correctly rounded.

        Raises ExactError for more than 1,000 decimals, and where eps is a symbol.
        """
        return _each(self[name], lambda value: reading.digits(value, count))

    def to_json(self, opened: bool = False, count: int = 30) -> dict[str, Any]:
        """eps and the steps as JSON values; behind the boundary the root's name, and what it is only if opened.

        The norm must have one row: the vector that the steps are lists of.
        """
        return {"eps": self.eps, "steps": [self._step_json(step.name, opened, count) for step in self.program]}

    def _step_json(self, name: str, opened: bool, count: int) -> dict[str, Any]:
        if name not in self.behind:
            return {"name": name, "values": self.written(name)}
        (of,) = self["v"]
        undefined = next((value for value in self[name] if isinstance(value, Undefined)), None)
        root = f"sqrt({reading.text(of)})" if undefined is None else str(undefined)
        one_over = "1/" if self.program.by_name[name].op == "rsqrt" and undefined is None else ""
        data = {"name": name, "named": one_over + root}
        if opened:
            data["closed"] = self.written(name)
            data |= {} if self.eps == SYMBOL else {"digits": self.digits(name, count)}
        return data


def exact(
    x: Any,
    norm: Norm | None = None,
    gamma: Any = None,
    beta: Any = None,
    *,
    update: Any = None,
    wiring: str = "post",
    eps: Any = 0,
    dy: Any = None,
) -> ExactTrace:
    """Run a norm, or with `update` a block's residual add and norm, in exact numbers; with `dy` backward too.

    x, update  nested lists of the same shape; a number is taken as it is written: "2/3", "0.1" is 1/10, a
               float is its shortest decimal
    norm       one that takes its statistics from x; if not given, LayerNorm with a gamma and beta where they
               are. Its own eps does not count here
    gamma, beta  of the shape of the affine axes; ones and zeros where the norm has them and they are not given
    wiring     where the norm stands: "post", norm(x + update), or "pre", the norm of x (steps.residual)
    eps        any rational from 0, or "eps": then v, r and what follows are formulas of it
    dy         of the shape of x, the gradient of a loss with respect to y: the trace goes on to dbeta, dgamma and
               dx. Post-norm, dx is the gradient of x and of the update alike; pre-norm, what comes through the norm

    >>> exact([1, 2, 4])["xhat"]
    [Surd('-2/7*sqrt(14)'), Surd('-1/14*sqrt(14)'), Surd('5/14*sqrt(14)')]
    >>> exact([1, 3], eps=3, dy=[1, 0])["dx"]
    [Surd('3/16'), Surd('-3/16')]
    >>> str(exact([5, 5])["xhat"][0]), str(exact([3, 2], eps="eps")["r"][0])
    ('undefined: 0/0', '1/sqrt(1/4 + eps)')

    Raises ExactError, ShapeError or NormError; the message names the argument and the fix.
    """
    x = _numbers(x, "x")
    if norm is None:
        norm = layer_norm(elementwise_affine=not (gamma is None and beta is None), bias=beta is not None)
    norm, sizes = _fitted(norm, cells.shape_of(x))
    program = forward(norm) if dy is None else training(norm)
    values = {"x": x} | _parameters(norm, sizes, {"gamma": gamma, "beta": beta})
    if dy is not None:
        values["dy"] = _of_the_shape_of(x, dy, "dy", "the gradient of y")
    if update is not None:
        program = residual(program, wiring)
        values["update"] = _of_the_shape_of(x, update, "update", "the residual add x + update")
    elif wiring != "post":
        raise NormError(f"wiring is {wiring!r}, but there is no update; give update=..., of the shape of x.")
    values["eps"] = symbol(SYMBOL) if eps == SYMBOL else exact_eps(reading.rational(eps, "eps"))
    norm = norm if eps == SYMBOL else replace(norm, eps=values["eps"])
    made = cells.evaluate(program, sizes, values, reading.EXACT)
    trace = ExactTrace(norm, program, sizes, made, cells.shape_of(x))
    trace.eps = SYMBOL if eps == SYMBOL else ratio(values["eps"])
    trace.wiring = wiring if update is not None else ""
    return trace


def _fitted(norm: Norm, shape: tuple[int, ...]) -> tuple[Norm, dict[str, int]]:
    norm = a_norm(norm)
    if norm.running:
        raise NormError(f"norm is {norm.name} with running statistics; the exact view takes its own from x.")
    norm = norm.fit(len(shape))
    return norm, norm.sizes_for(shape)


def _numbers(nested: Any, name: str) -> Any:
    """Nested lists of anything that is read as a number, as lists of Fractions."""
    nested = nested.tolist() if hasattr(nested, "tolist") else nested
    if isinstance(nested, (str, bytes)) or not isinstance(nested, (list, tuple)):
        raise DtypeError(f"{name} is {str(nested)[:40]!r}; give a list of numbers, such as ['2', '2/3'].")
    cells.shape_of(nested, name)
    return _each(nested, lambda cell: reading.rational(cell, name))


def _each(nested: Any, function: Callable[[Any], Any]) -> Any:
    if isinstance(nested, (list, tuple)):
        return [_each(item, function) for item in nested]
    return function(nested)


def _of_the_shape_of(x: Any, given: Any, name: str, what: str) -> Any:
    given = _numbers(given, name)
    shape, wanted = cells.shape_of(given, name), cells.shape_of(x)
    if shape != wanted:
        raise ShapeError(f"{name} has shape {shape}; {what} needs that of x, {wanted}.")
    return given


def _parameters(norm: Norm, sizes: Mapping[str, int], given: Mapping[str, Any]) -> dict[str, Any]:
    """gamma and beta as far as the norm has them."""
    has = {"gamma": norm.scale, "beta": norm.shift}
    made = {}
    for name in PARAMETERS:
        value = given[name]
        if value is not None and not has[name]:
            raise NormError(f"{name} is given, but {norm.name} '{norm.pattern}' has none; leave it out.")
        if has[name]:
            made[name] = parameter(name, None if value is None else _numbers(value, name), norm, sizes, [])
    return made
