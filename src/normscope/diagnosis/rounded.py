"""Numerical mistakes: a right definition with a statistic kept in too few digits, or with a variance that cancels.

Each is the norm's own program in another order, run in the rounding reading with one value kept in a narrow format;
a one-pass variance, whose error depends on the order of the sum, is known by the size of its error.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..norm import Norm
from ..program import Program, Step
from ..steps import forward
from ..tracing import initial
from ..views.policies import Policy
from ..views.rounding import evaluate as rounded
from .bounds import UNIT, shares
from .changes import Change
from .definition import Definition, Values, full_shape, sizes_of
from .probes import Probe

NARROW = {"float16": "half", "bfloat16": "bf16", "float32": "float32"}
ENOUGH = 0.85  # of the cells that are off: a mean's last bit may round the other way
LEAST = 3  # cells
WIDE = ("float32", "float64")
FEW = 3  # probes that are tried first
Form = Callable[[Norm], Program]


def _with_root(norm: Norm) -> Program:
    """r as the reciprocal of a root that is kept."""
    program = forward(norm)
    root = replace(program.by_name["r"], name="std", op="sqrt", into="std")
    recip = replace(program.by_name["r"], op="recip", args=("std",), into="r")
    steps = ((root, recip) if step.name == "r" else (replace(step, into=step.name),) for step in program)
    return replace(program, steps=tuple(step for several in steps for step in several))


def _one_pass(norm: Norm) -> Program:
    """The variance as the mean square less the squared mean."""
    program = forward(norm)
    mean = program.by_name["mu"]
    first = (
        Step("x2", "mul", ("x", "x"), norm.axes, into="x2"),
        replace(program.by_name["var"], name="mean_x2", args=("x2",), into="mean_x2"),
        Step("mu2", "mul", ("mu", "mu"), mean.axes, into="mu2"),
        Step("var", "sub", ("mean_x2", "mu2"), mean.axes, into="var"),
    )
    steps = (first if step.name == "var" else (replace(step, into=step.name),) for step in program if step.name != "q")
    return replace(program, steps=tuple(step for several in steps for step in several))


@dataclass(frozen=True)
class Kept:
    """Values kept in a narrow format; `form` is the order of the steps."""

    id: str
    name: str
    step: str
    form: Callable[[Norm], Program]
    values: tuple[str, ...]

    @property
    def fix(self) -> str:
        """One line."""
        if self.form is _one_pass:
            return "subtract the mean before squaring, in float32"
        return "compute it in float32, and round only what is stored"


ONE_PASS = ("mu", "x2", "mean_x2", "mu2", "var")
EVERY = ("x", "gamma", "beta", "eps", "mu", "c", "q", "var", "v", "r", "xhat", "scaled", "y")
BEFORE_GAMMA = ("x", "eps", "mu", "c", "q", "var", "v", "std", "xhat")
KEPT: Sequence[Kept] = (
    Kept("variance-in-{0}", "the variance is rounded to {1}", "var", forward, ("var",)),
    Kept("eps-in-{0}", "eps is rounded to {1}", "v", forward, ("eps",)),
    Kept("eps-in-{0}", "variance + eps is rounded to {1} before the root", "v", forward, ("v",)),
    Kept("eps-in-{0}", "eps and the variance are rounded to {1} before the root", "v", _with_root, ("v", "std")),
    Kept("eps-in-{0}", "the variance, eps and the sum are rounded to {1}", "v", forward, ("var", "v", "eps")),
    Kept("eps-in-{0}", "variance, eps and root are rounded to {1}", "v", _with_root, ("var", "v", "eps", "std")),
    Kept("std-in-{0}", "the standard deviation is rounded to {1}", "r", _with_root, ("std",)),
    Kept("rstd-in-{0}", "the reciprocal root is rounded to {1}: one error for the whole row", "r", forward, ("r",)),
    Kept("mean-in-{0}", "the mean is rounded to {1}", "mu", forward, ("mu",)),
    Kept("statistics-in-{0}", "mean and variance are rounded to {1}", "var", forward, ("mu", "var")),
    Kept("statistics-in-{0}", "every statistic is rounded to {1}", "var", forward, ("mu", "var", "v", "r")),
    Kept("squares-in-{0}", "the squares are rounded to {1}, where large ones overflow", "q", forward, ("q",)),
    Kept("squares-in-{0}", "centered values and squares are rounded to {1}", "q", forward, ("c", "q")),
    Kept("squares-in-{0}", "squares and variance are rounded to {1}", "q", forward, ("q", "var")),
    Kept("one-pass-in-{0}", "the variance is E[x^2] - E[x]^2, every step in {1}", "var", _one_pass, ONE_PASS),
    Kept("one-pass-in-{0}", "the variance is E[x^2] - E[x]^2, both terms in {1}", "var", _one_pass, ONE_PASS[2:]),
    Kept("one-pass-in-{0}", "the variance is E[x^2] - E[x]^2 in {1}", "var", _one_pass, ("mu", *ONE_PASS[2:])),
    Kept("xhat-in-{0}", "the normalized value is rounded to {1}", "xhat", forward, ("xhat",)),
    Kept("gamma-in-{0}", "gamma is rounded to {1}", "scaled", forward, ("gamma",)),
    Kept("beta-in-{0}", "beta is rounded to {1}", "y", forward, ("beta",)),
    Kept("affine-in-{0}", "gamma and beta are rounded to {1}", "scaled", forward, ("gamma", "beta")),
    Kept("y-in-{0}", "the output is rounded to {1}", "y", forward, ("y",)),
    Kept("x-in-{0}", "x is rounded to {1} first", "x", forward, ("x",)),
    Kept("everything-in-{0}", "every step before gamma is rounded to {1}", "x", _with_root, BEFORE_GAMMA),
    Kept("everything-in-{0}", "every step is rounded to {1}", "x", forward, EVERY),
)


def kept_changes(base: Definition, computed: str, stored: str) -> Iterator[tuple[Change, Policy, Form]]:
    """Every such mistake for a function that computes and stores in these formats."""
    names = {step.name for step in forward(base.norm)} | {"std", "x2", "mean_x2", "mu2", "x", "eps", "gamma", "beta"}
    for each in KEPT:
        centered = base.norm.center and not base.norm.running
        if not set(each.values) <= names or (each.form is _one_pass and not centered):
            continue
        for narrow, short in NARROW.items():
            everywhere = computed == narrow and each.values == ("q",)
            if not everywhere and (computed not in WIDE or UNIT[narrow] <= UNIT[computed] or narrow == stored):
                continue
            keep = tuple((value, narrow) for value in each.values)
            first = computed if computed in WIDE else "float32"
            policy = Policy(each.id, computed, computed, computed, keep, first)
            change = Change(
                each.id.format(short),
                each.name.format(short, narrow),
                each.fix,
                each.step,
                {"kept": (each.values, narrow)},
            )
            yield change, policy, each.form


def run_rounded(base: Definition, probe: Probe, policy: Policy, form: Form) -> Any:
    """y of a probe with values kept so."""
    import numpy as np

    norm = base.norm
    sizes = sizes_of(norm, probe)
    given: dict[str, Any] = {"x": probe.x.astype(np.float64), "eps": float(probe.eps or 0)}
    for name in ("gamma", "beta", "running_mean", "running_var"):
        value = getattr(probe, name)
        given[name] = None if value is None else np.asarray(value, np.float64)
    program = form(norm)
    count = norm.param_shape(sizes)
    if not base.takes_gamma and norm.scale:
        given["gamma"] = np.full(count, initial("gamma", norm))
    if base.shift != "beta" and norm.shift:
        given["beta"] = np.zeros(count)
    full = full_shape(norm, probe)
    given["x"] = given["x"].reshape(full)
    made = rounded(program, sizes, given, policy, norm.over)
    last = program.steps[-1].name
    return np.broadcast_to(np.asarray(made[last], np.float64), full).reshape(probe.x.shape)


def explain(
    base: Definition, asked: Sequence[tuple[Probe, Values, Any]], computed: str, stored: str
) -> tuple[Change, str] | None:
    """The mistake that gives the cells that are off, and how many of them it gives."""
    off = [shares(values, y, computed, stored) > 1 for _, values, y in asked]
    total = sum(int(each.sum()) for each in off)
    if total < LEAST:
        return None
    few = sorted((place for place in range(len(asked)) if off[place].any()), key=lambda place: off[place].size)[:FEW]
    best: tuple[float, Change] | None = None
    for change, policy, form in kept_changes(base, computed, stored):

        def given(places: Sequence[int], policy: Policy = policy, form: Form = form) -> float:
            return _given(
                base, [asked[at] for at in places], [off[at] for at in places], policy, form, (computed, stored)
            )

        if given(few) < ENOUGH / 2:
            continue
        part = given(range(len(asked)))
        if best is None or part > best[0]:
            best = part, change
    if best and best[0] >= ENOUGH:
        return best[1], f"gives {best[0]:.0%} of the {total} cells that are off"
    return cancelling(base, asked, computed, off)


def _given(
    base: Definition, asked: Sequence[Any], off: Sequence[Any], policy: Policy, form: Form, formats: tuple[str, str]
) -> float:
    """The part of the cells that are off which the rounded program gives, less those that it spoils."""
    given = total = 0
    for (probe, values, y), cells in zip(asked, off, strict=True):
        there = run_rounded(base, probe, policy, form)
        near = shares(replace(values, y=there), y, *formats) <= 1
        given += int((near & cells).sum()) - 3 * int((~near & ~cells).sum())
        total += int(cells.sum())
    return given / max(total, 1)


def cancelling(
    base: Definition, asked: Sequence[tuple[Probe, Values, Any]], computed: str, off: Sequence[Any]
) -> tuple[Change, str] | None:
    """A one-pass variance: off only where the mean is large, and by no more than its cancellation allows."""
    import numpy as np

    if not base.norm.center or base.running:
        return None
    worst = 0.0
    from .effective import added

    for (probe, values, y), cells in zip(asked, off, strict=True):
        if not cells.any():
            continue
        room = 4 * UNIT[computed] * (values.cells + 10) * values.size**2
        with np.errstate(all="ignore"):
            measured = added(values, y) - added(values, values.y)
        full = np.reshape(cells, values.full)
        lost = ~np.isfinite(np.reshape(np.asarray(y, np.float64), values.full))
        could_be_lost = np.broadcast_to(values.v + float(probe.eps or 0) <= room, values.full)
        allowed = np.broadcast_to(room, values.full)
        fine = np.where(lost, could_be_lost, ~(np.abs(measured) > allowed))
        if np.any(full & ~fine):
            return None
        ratio = np.broadcast_to(values.size / np.sqrt(values.v + 1e-300), values.full)
        worst = max(worst, float(np.max(np.where(full, ratio, 0), initial=0)))
        if np.min(np.where(full, ratio, np.inf)) < 4:
            return None
    change = Change(
        "one-pass-variance", f"the variance is E[x^2] - E[x]^2 in {computed}, which cancels where the mean is large",
        "subtract the mean before squaring (two passes), or use Welford's update", "var", {"kept": "one pass"},
    )  # fmt: skip
    return change, f"off only on rows with |x| / std from about {worst:.3g} on, by what cancellation loses there"


FORMULAS: Mapping[str, str] = {"one pass": "var = mean(x^2) - mean(x)^2"}


def formula(change: Change) -> str:
    """What is computed, in a line."""
    kept = change.fields["kept"]
    if isinstance(kept, str):
        return FORMULAS[kept]
    values, narrow = kept
    return ", ".join(f"{narrow}({value})" for value in values)
