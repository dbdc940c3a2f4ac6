"""Gradients that may be wrong: the textbook's with a term dropped or altered, and those of a wrong forward pass."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from math import prod
from typing import Any

from ..axes import Axes
from ..norm import Norm
from ..program import Builder, Program
from ..run import run
from ..views import arrays
from ..views.derive import derive
from .changes import Change, merged
from .definition import (
    Definition,
    Values,
    count_factor,
    division_program,
    evaluate,
    full_shape,
    number,
    sizes_of,
    statistics_program,
)
from .probes import Probe


@dataclass(frozen=True)
class Gradient:
    """dx = r * (g - mean(g) - xhat * mean(g * xhat)), dgamma = sum(dy * xhat), dbeta = sum(dy): or something else.

    cells    g: "dy * gamma", "dy", or "dy" with gamma multiplied "after" the rest
    mean     the term mean(g) is taken away; along likewise xhat * mean(g * xhat), "added" or left out
    over     the axes of both means; mean_count and along_count what they divide by
    root     what the rest is multiplied by
    xhat     what stands for xhat: itself, "c", "x", "y", or "recovered" as (y - beta) / gamma
    gamma    what dgamma sums: "xhat", "c", "x", "y", "recovered"; beta_cells what dbeta sums
    rows     how dgamma and dbeta are gathered: "sum", "mean" or, over the wrong axes, "last"
    forward  a wrong definition whose gradient this is
    """

    norm: Norm
    takes_gamma: bool
    over: Axes
    cells: str = "dy * gamma"
    mean: bool = True
    along: str = "subtracted"
    mean_count: str = "n"
    along_count: str = "n"
    root: str = "r"
    xhat: str = "xhat"
    gamma: str = "xhat"
    beta_cells: str = "dy"
    gamma_rows: str = "sum"
    beta_rows: str = "sum"
    forward: Definition | None = None


def textbook(norm: Norm, takes: frozenset[str]) -> Gradient:
    """The right gradient of a norm."""
    moves = not norm.running
    along_count = "n - 1" if norm.correction else "n"
    has_gamma = norm.scale and "gamma" in takes
    return Gradient(
        norm, has_gamma, norm.over, "dy * gamma" if has_gamma else "dy", norm.center and moves,
        "subtracted" if moves else "missing", along_count=along_count,
    )  # fmt: skip


def dx_changes(base: Gradient) -> Iterator[Change]:
    """What may be wrong in dx."""
    if base.takes_gamma:
        for cells, (id, name, fix) in GAMMAS.items():
            yield Change(id, name, fix, "scaled", {"cells": cells})
    yield from _terms(base)
    if base.along == "subtracted":
        yield from _means(base)
    for root, (id, name) in ROOTS.items():
        yield Change(id, name, "multiply by r = 1/sqrt(var + eps) once", "r", {"root": root})
    for xhat, (id, name) in XHATS.items():
        more = {"gamma": xhat} if xhat == "recovered" else {}
        yield Change(id, name, "use xhat", "xhat", {"xhat": xhat} | more)


GAMMAS: Mapping[str, tuple[str, str, str]] = {
    "dy": ("gamma-missing-in-gradient", "gamma does not enter dx", "start from dy * gamma"),
    "after": (
        "gamma-applied-after-means",
        "gamma multiplies the end of dx: the means are those of dy",
        "take the means of dy * gamma",
    ),
}


def _terms(base: Gradient) -> Iterator[Change]:
    """A term left out, or one too many."""
    mean, xhat = "mean(g), g = dy * gamma", "xhat * mean(g * xhat)"
    if base.mean:
        name = f"the term {mean}, is missing: mu is taken for a constant"
        yield Change("mean-term-missing", name, "subtract mean(g)", "mu", {"mean": False})
    elif not base.norm.center and base.along == "subtracted":
        name = "mean(g) is subtracted, though RMSNorm has no mean"
        yield Change("mean-term-added", name, "leave the term out", "mu", {"mean": True})
    if base.along != "subtracted":
        return
    name = f"the term {xhat} is missing: r is taken for a constant"
    yield Change("xhat-term-missing", name, f"subtract {xhat}", "var", {"along": "missing"})
    yield Change("xhat-term-added", f"the term {xhat} is added", "subtract it", "var", {"along": "added"})
    if base.mean:
        name = "both terms are missing: the statistics are taken for constants"
        fields = {"mean": False, "along": "missing"}
        yield Change("statistics-held-fixed", name, f"subtract mean(g) and {xhat}", "var", fields)


def _means(base: Gradient) -> Iterator[Change]:
    """Means over other axes, or of another count."""
    right = " ".join(base.over)
    for count in range(1, len(base.norm.axes) + 1):
        for over in combinations(base.norm.axes, count):
            if over != base.over:
                name = f"the means of the gradient are taken over {' '.join(over)}, not over {right}"
                yield Change("gradient-over-wrong-axes", name, f"take both means over {right}", "axes", {"over": over})
    for by, (id, name) in DIVISORS.items():
        fix = "divide both sums by n"
        yield Change(id, name, fix, "var", {"mean_count": by, "along_count": by})
        yield Change(f"{id}-of-xhat-term", f"{name} in the xhat term", fix, "var", {"along_count": by})
        if base.mean:
            yield Change(f"{id}-of-mean-term", f"{name} in the mean term", fix, "mu", {"mean_count": by})


DIVISORS: Mapping[str, tuple[str, str]] = {
    "1": ("gradient-sum-not-mean", "sums stand where means are due"),
    "n - 1": ("gradient-correction-1", "the means divide by n - 1"),
}
ROOTS: Mapping[str, tuple[str, str]] = {
    "1": ("root-missing-in-gradient", "the factor r is missing"),
    "r^2": ("root-squared-in-gradient", "r is squared"),
    "r^3": ("root-cubed-in-gradient", "r stands in the third power"),
    "1/r": ("root-inverted-in-gradient", "dx is divided by r"),
    "no eps": ("eps-missing-in-gradient", "eps is missing: r is 1/sqrt(var)"),
    "eps outside": ("eps-outside-root-in-gradient", "eps stands outside the root: r is 1/(sqrt(var) + eps)"),
    "-r": ("gradient-sign-flipped", "the sign of dx is flipped"),
}
XHATS: Mapping[str, tuple[str, str]] = {
    "recovered": ("xhat-from-output", "xhat is recovered from the output as (y - beta) / gamma, 0/0 where gamma is 0"),
    "c": ("centered-for-xhat", "x - mean stands in place of xhat: it is not divided"),
    "x": ("x-for-xhat", "x stands in place of xhat"),
    "y": ("y-for-xhat", "y stands in place of xhat"),
}


def parameter_changes(which: str) -> Iterator[Change]:
    """What may be wrong in dgamma or dbeta."""
    if which == "dgamma":
        for cells, words in {
            "c": "x - mean",
            "x": "x",
            "y": "y",
            "recovered": "(y - beta) / gamma",
            "dy": "1 (this is dbeta)",
            "xhat gamma": "xhat * gamma",
        }.items():
            id = {"dy": "dgamma-is-dbeta", "recovered": "xhat-from-output"}.get(
                cells, f"dgamma-of-{cells.replace(' ', '-')}"
            )
            yield Change(id, f"dgamma sums dy times {words}, not dy * xhat", "sum dy * xhat", "xhat", {"gamma": cells})
    else:
        for cells, words in {"dy gamma": "dy * gamma", "dy xhat": "dy * xhat (this is dgamma)"}.items():
            yield Change(
                "dbeta-is-dgamma" if "xhat" in cells else "dbeta-of-dy-gamma",
                f"dbeta sums {words}, not dy",
                "sum dy",
                "y",
                {"beta_cells": cells},
            )
    name = f"{which[1:]}_rows"
    yield Change(
        f"{which}-mean-not-sum", f"{which} is a mean over the rows, not a sum", "sum over the rows", "y", {name: "mean"}
    )
    yield Change(f"{which}-of-first-row", f"{which} counts one row alone", "sum over every row", "y", {name: "first"})
    yield Change(f"{which}-sign-flipped", f"the sign of {which} is flipped", "sum with a plus", "y", {name: "minus"})


def forward_changes(changes: Iterator[Change]) -> Iterator[Change]:
    """Wrong forward passes whose right gradient it may be."""
    for change in changes:
        if not change.key & {"block", "twice", "before", "groups", "running"}:
            yield Change(
                change.id,
                f"it is the gradient of another forward pass: {change.name}",
                change.fix,
                change.step,
                {"forward": change},
            )


def evaluated(gradient: Gradient, probe: Probe, right: Definition) -> dict[str, Any]:
    """dx, dgamma and dbeta on a probe, in the shapes of x, gamma and beta."""
    import numpy as np

    norm = gradient.norm
    sizes = sizes_of(norm, probe)
    with np.errstate(all="ignore"):
        if gradient.forward is not None:
            made = _derived(gradient.forward, probe, sizes)
        else:
            made = _textbook(gradient, probe, evaluate(right, probe), sizes)
    shape = norm.param_shape(sizes)
    return {name: np.reshape(value, probe.x.shape if name == "dx" else shape) for name, value in made.items()}


def attempt(gradient: Gradient, probe: Probe, right: Definition) -> dict[str, Any] | None:
    """What `evaluated` gives; None where the gradient cannot be derived, or not for this shape."""
    try:
        return evaluated(gradient, probe, right)
    except ValueError:  # ProgramError is one
        return None


def _textbook(gradient: Gradient, probe: Probe, values: Values, sizes: Mapping[str, int]) -> dict[str, Any]:
    import numpy as np

    norm = gradient.norm
    dy = np.reshape(np.asarray(probe.dy, np.float64), values.full)
    y = np.reshape(values.y, values.full)
    x = np.reshape(np.asarray(probe.x, np.float64), values.full)
    named = {
        "xhat": values.xhat, "c": values.c, "x": x, "y": y, "recovered": (y - values.shift) / values.scale,
    }  # fmt: skip
    eps = float(probe.eps or 0)
    r = 1 / np.sqrt(values.v + eps)
    roots = {
        "r": r, "1": 1.0, "r^2": r**2, "r^3": r**3, "1/r": 1 / r, "no eps": 1 / np.sqrt(values.v),
        "eps outside": 1 / (np.sqrt(values.v) + eps), "-r": -r,
    }  # fmt: skip
    n = prod(sizes[axis] for axis in gradient.over)
    counts = {"n": 1.0, "1": float(n), "n - 1": n / (n - 1) if n > 1 else float("inf")}
    given = {
        "g": dy * values.scale if gradient.cells == "dy * gamma" else dy,
        "xhat": named[gradient.xhat], "root": np.asarray(roots[gradient.root], np.float64),
        "mean_factor": counts[gradient.mean_count], "along_factor": counts[gradient.along_count],
    }  # fmt: skip
    program = textbook_program(norm.axes, gradient.over, gradient.mean, gradient.along)
    dx = run(program, arrays.rules(program, sizes, np), given)["dx"]
    made = {"dx": dx * values.scale if gradient.cells == "after" else dx}
    if norm.scale:
        cells = {**named, "dy": 1.0, "xhat gamma": values.xhat * values.scale}[gradient.gamma]
        made["dgamma"] = gathered(dy * cells, norm, gradient.gamma_rows)
    if norm.shift:
        cells = {"dy": 1.0, "dy gamma": values.scale, "dy xhat": values.xhat}[gradient.beta_cells]
        made["dbeta"] = gathered(dy * cells, norm, gradient.beta_rows)
    return made


@lru_cache(maxsize=256)
def textbook_program(axes: Axes, over: Axes, mean: bool, along: str) -> Program:
    """g, xhat and r to dx, as `gradients.backward` has it, with a term left out or added.

    >>> print(textbook_program(("d",), ("d",), True, "missing"))
    inputs g[d] xhat[d] root[d] mean_factor[] along_factor[]
    mean_g[] = mean(g) over d
    mean_term[] = mul(mean_g, mean_factor)
    centered[d] = sub(g, mean_term)
    dx[d] = mul(root, centered)
    """
    build = Builder(axes, {"g": axes, "xhat": axes, "root": axes, "mean_factor": (), "along_factor": ()})
    left = "g"
    if mean:
        build.let("mean_g", "mean", "g", over=over)
        left = build.let("centered", "sub", left, build.let("mean_term", "mul", "mean_g", "mean_factor"))
    if along != "missing":
        build.let("mean_g_xhat", "mean", build.let("g_xhat", "mul", "g", "xhat"), over=over)
        build.let("along", "mul", "xhat", build.let("along_term", "mul", "mean_g_xhat", "along_factor"))
        left = build.let("across", "sub" if along == "subtracted" else "add", left, "along")
    build.let("dx", "mul", "root", left)
    return build.program()


def gathered(cells: Any, norm: Norm, rows: str) -> Any:
    """Cells of a parameter's gradient, gathered over the axes that it lacks."""
    at = tuple(place for place, axis in enumerate(norm.axes) if axis not in norm.param_axes)
    if rows == "first":
        for place in at:
            cells = cells.take([0], axis=place)
        return cells
    total = cells.sum(axis=at, keepdims=True)
    count = prod(cells.shape[place] for place in at)
    return {"sum": total, "mean": total / count, "minus": -total}[rows]


@lru_cache(maxsize=2048)
def whole_program(definition: Definition) -> Program:
    """A definition whose statistics are a program, from x to y, as one program."""
    norm = definition.norm
    mean_over = definition.mean_over or definition.over
    named = (definition.center, definition.spread, definition.count, definition.mean_count)
    first = statistics_program(norm.axes, definition.over, mean_over, *named)
    then = division_program(norm.axes, definition.over, definition.division)
    numerator = "c" if definition.centered else "x"
    renamed = (replace(step, args=tuple(numerator if arg == "c" else arg for arg in step.args)) for step in then)
    inputs = {"x": norm.axes, "eps": (), "n": (), "factor": (), "mean_factor": ()}
    build = Builder(norm.axes, inputs | {"gamma": norm.param_axes, "beta": norm.param_axes})
    for step in (*first.steps, *renamed):
        build.let(step.name, step.op, *step.args, over=step.over, less=step.less, per=step.per)
    build.let("y", "add", build.let("scaled", "mul", "xhat", "gamma"), "beta")
    return build.program()


@lru_cache(maxsize=2048)
def _way_back(definition: Definition) -> Program:
    return derive(whole_program(definition), "y", ("x", "gamma", "beta"))


def _derived(definition: Definition, probe: Probe, sizes: Mapping[str, int]) -> dict[str, Any]:
    """The right gradients of a definition that may be wrong."""
    import numpy as np

    norm = definition.norm
    # No program holds these fields: definitions that differ in them alone share one.
    plain = replace(definition, eps_times=1.0, eps_plus=0.0, factor=1.0, scale="gamma", shift="beta")
    there, back = whole_program(plain), _way_back(plain)
    n = float(prod(sizes[axis] for axis in definition.over))
    mean_n = float(prod(sizes[axis] for axis in definition.mean_over or definition.over))
    full = full_shape(norm, probe)
    param = tuple(sizes[axis] if axis in norm.param_axes else 1 for axis in norm.axes)
    given = {
        "x": np.reshape(np.asarray(probe.x, np.float64), full),
        "eps": np.float64(number(definition.eps_times, n) * float(probe.eps or 0) + definition.eps_plus),
        "n": n,
        "factor": count_factor(definition.count, n, probe.x.shape[0]),
        "mean_factor": count_factor(definition.mean_count, mean_n, probe.x.shape[0]),
        "gamma": np.ones(param) if probe.gamma is None else _factor(definition, probe, param),
        "beta": np.zeros(param) if probe.beta is None else np.reshape(np.asarray(probe.beta, np.float64), param),
    }  # fmt: skip
    values = run(there, arrays.rules(there, sizes, np), given)
    values["dy"] = np.reshape(np.asarray(probe.dy, np.float64), full)
    made = run(back, arrays.rules(back, sizes, np), {name: values[name] for name, _ in back.inputs})
    wanted = {"dx": full} | ({"dgamma": param} if norm.scale else {}) | ({"dbeta": param} if norm.shift else {})
    return {name: np.broadcast_to(made[name], shape) for name, shape in wanted.items()}


def _factor(definition: Definition, probe: Probe, shape: tuple[int, ...]) -> Any:
    """gamma, with the 1 that a definition adds to it."""
    import numpy as np

    one = 1.0 if definition.scale == "1 + gamma" else 0.0
    return np.reshape(np.asarray(probe.gamma, np.float64), shape) + one


def altered(base: Gradient, several: tuple[Change, ...]) -> Gradient | None:
    """The gradient with these mistakes; None where two set one field."""
    fields = merged(several)
    if fields is None:
        return None
    made = replace(base, **fields)
    return None if made == base else made


def formula(gradient: Gradient, name: str = "dx") -> str:
    """One of the gradients in one line."""
    if name == "dx":
        return _formula_of_dx(gradient)
    is_gamma = name == "dgamma"
    cells = gradient.gamma if is_gamma else {"dy": "", "dy gamma": "gamma", "dy xhat": "xhat"}[gradient.beta_cells]
    cells = {"dy": "", "c": "(x - mean)", "recovered": "(y - beta)/gamma", "xhat gamma": "xhat * gamma"}.get(
        cells, cells
    )
    text = f"dy * {cells}" if cells else "dy"
    rows = gradient.gamma_rows if is_gamma else gradient.beta_rows
    form = {"sum": "sum({})", "mean": "mean({})", "minus": "-sum({})", "first": "({})[0]"}[rows]
    return f"{name} = {form.format(text)}"


def _formula_of_dx(gradient: Gradient) -> str:
    g = "dy * gamma" if gradient.cells == "dy * gamma" else "dy"
    x = {"recovered": "(y - beta)/gamma", "c": "(x - mean)"}.get(gradient.xhat, gradient.xhat)
    count = {"n": "mean", "1": "sum", "n - 1": "1/(n-1) sum"}
    over = f"_{{{' '.join(gradient.over)}}}" if gradient.over != gradient.norm.over else ""
    text = f"{g}"
    if gradient.mean:
        text += f" - {count[gradient.mean_count]}{over}({g})"
    if gradient.along != "missing":
        sign = "-" if gradient.along == "subtracted" else "+"
        text += f" {sign} {x} * {count[gradient.along_count]}{over}({g} * {x})"
    after = " * gamma" if gradient.cells == "after" else ""
    root = {"no eps": "1/sqrt(var)", "eps outside": "1/(sqrt(var) + eps)"}.get(gradient.root, gradient.root)
    return f"dx = {root} * ({text}){after}"
