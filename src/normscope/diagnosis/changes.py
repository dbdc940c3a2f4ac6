"""The wrong values that a field of a definition may have: what they are called, and how they are mended."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from ..axes import Axes
from .affine import SCALES, SHIFTS
from .block_table import BLOCKS
from .definition import Definition
from .division import DIVISIONS

EPS_OUTSIDE = "sqrt(v) + eps"
SAME = 1e-6  # of two numbers that were solved for
STATISTICS = {"over", "mean_over", "center", "spread", "count", "mean_count", "block", "groups", "running"}


@dataclass(frozen=True)
class Change:
    """One mistake: fields with wrong values, and what a finding says of it.

    step  that is wrong; "axes": the cells that share a statistic
    """

    id: str
    name: str
    fix: str
    step: str
    fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> frozenset[str]:
        """The fields that it sets."""
        return frozenset(self.fields)

    @property
    def moves_cells(self) -> bool:
        """Whether other cells than those of the norm share a statistic."""
        return bool(self.key & {"over", "mean_over", "groups", "block"})


def merged(several: Sequence[Change]) -> dict[str, Any] | None:
    """The fields of all these mistakes; None where two set one field."""
    fields: dict[str, Any] = {}
    for change in several:
        if fields.keys() & change.fields.keys():
            return None
        fields |= change.fields
    return fields


def axes_changes(base: Definition, reacting: Axes | None) -> Iterator[Change]:
    """Statistics over other axes; only those along which a cell was seen to react, where that is known."""
    norm = base.norm
    right = " ".join(base.over)
    for count in range(1, len(norm.axes) + 1):
        for over in combinations(norm.axes, count):
            if over == base.over:
                continue
            axes, fits = " ".join(over), reacting is None or set(over) == set(reacting)
            if fits:
                yield Change(
                    "wrong-axes",
                    f"the statistics are taken over {axes}, not over {right}",
                    f"reduce {right} alone",
                    "axes",
                    {"over": over},
                )
                yield from _apart(base, over)
                yield Change(
                    "mean-over-wrong-axes",
                    f"the mean is taken over {axes}, not over {right}",
                    f"take the mean over {right}",
                    "axes",
                    {"mean_over": over},
                )
                if base.centered:
                    yield Change(
                        "variance-over-wrong-axes",
                        f"the variance is taken over {axes}, not over {right}",
                        f"take the variance over {right}",
                        "axes",
                        {"over": over, "mean_over": base.over},
                    )
    if "g" in norm.axes:
        yield Change(
            "groups-interleaved",
            "the channels of a group are every g-th one, not neighbours",
            "split the channels into g groups of c neighbours: reshape to (N, g, c, ...)",
            "axes",
            {"groups": "interleaved"},
        )
        yield Change(
            "groups-swapped",
            "the number of groups is taken for the channels of a group",
            "reshape to (N, num_groups, C / num_groups, ...)",
            "axes",
            {"groups": "swapped"},
        )


def _apart(base: Definition, over: Axes) -> Iterator[Change]:
    """The mean over some axes, the variance over others, each about its own mean."""
    if base.centered and base.norm.center:
        fields = {"center": "apart", "over": over, "mean_over": base.over}
        axes, right = " ".join(over), " ".join(base.over)
        name, fix = f"the variance is taken over {axes}, not over {right}", f"take the variance over {right}"
        yield Change("variance-over-wrong-axes", name, fix, "axes", fields)
        name, fix = f"the mean is taken over {axes}, not over {right}", f"take the mean over {right}"
        yield Change("mean-over-wrong-axes", name, fix, "axes", {"center": "apart", "mean_over": over})


CENTERS: Mapping[tuple[str, str], tuple[str, str, str]] = {
    ("both", "neither"): (
        "rms-instead-of-layer-norm",
        "this is RMSNorm: the mean is neither subtracted nor removed from the second moment",
        "subtract the mean before squaring",
    ),
    ("both", "numerator"): (
        "variance-not-centered",
        "the divisor uses the mean square of x, not the variance",
        "square x - mean, not x",
    ),
    ("both", "spread"): (
        "mean-not-subtracted",
        "x itself is divided: the mean is only taken out of the variance",
        "divide x - mean, not x",
    ),
    ("neither", "both"): (
        "layer-norm-instead-of-rms",
        "this is LayerNorm: the mean is subtracted, which RMSNorm does not do",
        "leave the mean in: x / sqrt(mean(x^2) + eps)",
    ),
    ("neither", "spread"): (
        "variance-instead-of-mean-square",
        "the divisor uses the variance (mean removed), not the mean square of x",
        "use mean(x^2), not var(x)",
    ),
    ("neither", "numerator"): (
        "mean-subtracted-from-numerator",
        "the mean is subtracted before the division, which RMSNorm does not do",
        "divide x itself",
    ),
}


def statistics_changes(base: Definition) -> Iterator[Change]:
    """Other centering, spreads, counts and where statistics come from."""
    if base.running:
        yield Change(
            "mean-not-subtracted",
            "running_mean is not subtracted",
            "divide x - running_mean",
            "c",
            {"center": "spread"},
        )
        yield Change(
            "running-statistics-swapped",
            "running_mean and running_var are exchanged",
            "subtract the mean, divide by the root of the variance",
            "axes",
            {"swapped": True},
        )
    for (was, center), (id, name, fix) in CENTERS.items() if not base.running else ():
        if was == base.center:
            yield Change(id, name, fix, "c", {"center": center})
    if base.norm.name == "BatchNorm":
        name = (
            "batch statistics are used where the running ones are due"
            if base.running
            else "running statistics are used where those of the batch are due"
        )
        yield Change(
            "batch-statistics-in-evaluation" if base.running else "running-statistics-in-training",
            name,
            "use running_mean and running_var in evaluation alone",
            "axes",
            {"running": not base.running},
        )
    if base.running:
        return
    what = "variance" if base.norm.center else "mean square"
    counts = {
        "n": ("n", "divided by n"),
        "n - 1": ("correction-1", "divided by n - 1 (Bessel's correction)"),
        "1": ("sum-not-mean", "not divided by n"),
        "n + 1": ("divided-by-n-plus-1", "divided by n + 1"),
        "n^2": ("divided-twice", "divided by n twice"),
        "rows": ("divided-by-rows", "divided by the size of the first axis"),
    }
    for count, (id, name) in counts.items():
        if count != base.count:
            yield Change(
                id if id != "n" else "correction-0",
                f"the {what} is {name}",
                f"divide the sum of squares by {base.count}",
                "var",
                {"count": count},
            )
            if base.centered and count != "n":
                yield Change(f"mean-{id}", f"the mean is {name}", "divide the sum by n", "mu", {"mean_count": count})
    yield Change(
        "mean-absolute-deviation",
        "the mean absolute value stands in place of the mean square",
        "square before the mean",
        "q",
        {"spread": "abs", "division": "v + eps"},
    )
    yield Change(
        "squares-missing",
        "absolute values are averaged where squares are due",
        "square before the mean",
        "q",
        {"spread": "abs"},
    )
    yield Change(
        "max-instead-of-mean-square",
        "the divisor is the largest magnitude",
        "divide by sqrt(mean square + eps)",
        "var",
        {"spread": "max", "division": "v + eps"},
    )
    if base.norm.center:
        yield Change(
            "mean-not-squared",
            "the variance is E[x^2] - E[x]: the mean is not squared",
            "subtract the square of the mean",
            "var",
            {"spread": "less mean"},
        )
        yield Change(
            "squared-mean-added",
            "the variance is E[x^2] + E[x]^2",
            "subtract the square of the mean",
            "var",
            {"spread": "plus mean"},
        )
        yield Change(
            "variance-negated", "the variance is E[x]^2 - E[x^2]", "swap the two terms", "var", {"spread": "reversed"}
        )
    else:
        yield Change(
            "scale-inverted",
            "the unit vector is multiplied by n^-0.5 where n^0.5 is due: off by the factor n",
            "multiply by sqrt(n), or divide the sum of squares by n",
            "var",
            {"count": "1", "factor": "1/sqrt(n)"},
        )


def block_changes(base: Definition) -> Iterator[Change]:
    """Blocks, chunks, padded lanes, wrong cells in memory, bad accumulation."""
    if base.running:
        return
    for key, block in BLOCKS.items():
        if base.norm.center or not key.startswith(("dropped axis mean", "equal mean", "padded mean count", "median")):
            yield Change(block.id, block.name, block.fix.replace("{n}", "n"), "var", {"block": key})


DIVISION_WORDS: Mapping[str, tuple[str, str]] = {
    "sqrt(v) + eps": ("eps-outside-root", "eps is added after the square root"),
    "sqrt(v)": ("eps-missing", "eps has no effect: it never reaches the divisor"),
    "v + eps": ("root-missing", "the square root is missing: the variance itself divides"),
    "v": ("root-and-eps-missing", "the variance itself divides, without root and eps"),
    "sqrt(sqrt(v) + eps)": ("root-of-std", "the square root is taken of the standard deviation: a root too many"),
    "sqrt(sqrt(v + eps))": ("root-twice", "the square root is taken twice"),
    "sqrt(v + eps) + eps": ("eps-inside-and-outside", "eps is added twice: inside the root and after it"),
    "sqrt(v) + sqrt(eps)": ("eps-root-added", "the root of eps is added to the standard deviation"),
    "sqrt(v + eps^2)": ("eps-squared", "eps is squared before it is added"),
    "sqrt(v + sqrt(eps))": ("eps-rooted", "the root of eps is added to the variance"),
    "sqrt(max(v, eps))": ("eps-as-floor", "eps is a floor of the variance, not added to it"),
    "max(sqrt(v), eps)": ("eps-as-floor-of-std", "eps is a floor of the standard deviation, not added to the variance"),
    "sqrt(v) max sqrt(v + eps)": ("eps-as-floor-too", "eps is added to the variance and is a floor of the divisor too"),
    "xhat + eps": ("eps-added-to-xhat", "eps is added to the normalized value, not to the variance"),
    "xhat + eps, inside too": ("eps-added-to-xhat-too", "eps is added to the normalized value too"),
    "x / max|x| first": (
        "eps-after-rescale",
        "the row is divided by its largest magnitude before eps is added: eps counts max|x|^2 times",
    ),
    "c / max|c| first": (
        "eps-after-rescale",
        "the row is divided by its largest magnitude before eps is added: eps counts max|c|^2 times",
    ),
    "times sqrt(v + eps)": ("multiplied-by-std", "the row is multiplied by the standard deviation, not divided by it"),
    "none": ("not-divided", "the row is not divided by its standard deviation"),
}
FACTOR_WORDS = {
    "1/n": ("scaled-by-1-over-n", "the output is 1/n of the right one"),
    "1/sqrt(n)": ("scaled-by-1-over-root-n", "the output is 1/sqrt(n) of the right one"),
    "sqrt(n)": ("scaled-by-root-n", "the output is sqrt(n) times the right one"),
    "n": ("scaled-by-n", "the output is n times the right one"),
    "-1": ("sign-flipped", "the sign is flipped: mean - x"),
}


def division_changes(base: Definition) -> Iterator[Change]:
    """Other divisors, factors, and normalizing twice."""
    for key, (id, name) in DIVISION_WORDS.items():
        if base.norm.center or key != "c / max|c| first":
            step = "r" if "root" in id and "eps" not in id else "v"
            right = DIVISIONS[base.division].text.format(c="c", v="var", eps="eps")
            yield Change(id, name, f"divide by the root of the sum: {right}", step, {"division": key})
    yield Change("eps-twice", "eps is added twice", "add eps once", "v", {"eps_times": 2.0})
    yield Change("eps-subtracted", "eps is subtracted from the variance", "add eps", "v", {"eps_times": -1.0})
    yield Change(
        "eps-divided-by-n",
        "eps is added to the sum of squares, before it is divided by n: only eps/n counts",
        "add eps after dividing by n",
        "v",
        {"eps_times": "1/n"},
    )
    yield Change("eps-times-n", "eps is counted once for every cell", "add eps once", "v", {"eps_times": "n"})
    for key, (id, name) in FACTOR_WORDS.items():
        yield Change(id, name, "leave the factor out", "xhat", {"factor": key})
    yield Change(
        "normalized-twice", "the normalized row is normalized again", "normalize once", "xhat", {"twice": True}
    )
    yield Change(
        "affine-before-norm",
        "gamma and beta are applied to x, before the statistics",
        "apply gamma and beta to xhat",
        "scaled",
        {"before": True},
    )


def solved_eps(times: str | float, plus: float) -> Change:
    """An eps that was found from what the function returns."""
    if times == 0 and plus == 0:
        return Change(
            "eps-missing",
            "eps has no effect: it never reaches the divisor",
            "add eps to the variance",
            "v",
            {"eps_times": 0.0},
        )
    if times == 0:
        axis = "; -1 looks like an axis" if plus == -1 else ""
        return Change(
            "eps-fixed",
            f"it behaves as eps = {plus:g}, whatever eps is due{axis}",
            "use the eps that is given",
            "v",
            {"eps_times": 0.0, "eps_plus": plus},
        )
    if plus == 0:
        return Change("eps-scaled", f"eps counts {times:g} times", "add eps once", "v", {"eps_times": times})
    fields: dict[str, Any] = {"eps_plus": plus} | ({} if times == 1 else {"eps_times": times})
    many = "" if times == 1 else f"eps counts {times:g} times, and "
    return Change(
        "eps-plus-constant", f"{many}{plus:g} is added to the variance beside eps", "add eps alone", "v", fields
    )


def solved(factor: float, times: float, plus: float) -> tuple[Change, ...]:
    """The mistakes that a solved divisor is made of."""
    made: list[Change] = []
    variance = factor**-2
    if times and abs(factor - 1) > 1e-4 and factor > 0 and plus == 0 and abs(times * variance - 1) < SAME:
        text = f"{variance:.6g}"
        return (
            Change(
                "variance-scaled",
                f"the variance counts {text} times: sqrt({text} * var + eps)",
                "add eps to the variance as it is",
                "var",
                {"v_times": float(text)},
            ),
        )
    if (times, plus) != (1.0, 0.0):
        made.append(solved_eps(times, plus))
    if abs(factor - 1) > 1e-4:
        made.append(
            Change(
                "scaled-by-constant",
                f"the output is {factor:g} times the right one",
                "leave the factor out",
                "xhat",
                {"factor": factor},
            )
        )
    return tuple(made)


AFFINE_WORDS: Mapping[tuple[str, str], tuple[str, str]] = {
    ("beta", "gamma"): ("gamma-beta-swapped", "gamma and beta are exchanged"),
    ("1", "0"): ("affine-ignored", "gamma and beta are never applied"),
    ("gamma[0]", "beta[0]"): ("affine-scalar", "one scale and one shift serve all features: the first entries"),
    ("gamma[-1]", "beta[-1]"): ("affine-scalar", "one scale and one shift serve all features: the last entries"),
    ("mean gamma", "mean beta"): ("affine-scalar", "one scale and one shift serve all features: the means"),
    ("gamma reversed", "beta reversed"): ("affine-reversed", "gamma and beta are read backwards"),
    ("gamma per group", "beta per group"): ("affine-per-group", "scale and shift are per group, not per channel"),
    ("gamma along positions", "beta along positions"): (
        "affine-on-wrong-axis",
        "gamma and beta lie along the positions, not along the features",
    ),
    ("gamma along the first axis", "beta along the first axis"): (
        "affine-on-wrong-axis",
        "gamma and beta lie along the first axis",
    ),
    ("gamma", "gamma beta"): ("shift-inside-scale", "the shift is added before the scale: (xhat + beta) * gamma"),
    ("1 + gamma", "(1 + gamma) beta"): (
        "shift-inside-scale",
        "the shift is added before the scale, which is 1 + gamma",
    ),
    ("gamma^2", "gamma beta + beta"): ("affine-twice", "gamma and beta are applied twice"),
    ("gamma + beta", "0"): ("shift-multiplied", "xhat is multiplied by gamma + beta"),
}
SCALE_WORDS: Mapping[str, tuple[str, str]] = {
    "1": ("scale-missing", "gamma is never applied"),
    "1 + gamma": ("gamma-plus-one", "the scale is 1 + gamma, though gamma already is the full scale"),
    "gamma - 1": ("gamma-minus-one", "the scale is gamma - 1"),
    "beta": ("scale-is-beta", "beta scales"),
    "1 + beta": ("scale-is-beta-plus-one", "1 + beta scales"),
    "gamma[0]": ("scale-scalar", "one scale serves all features: the first entry of gamma"),
    "gamma[-1]": ("scale-scalar", "one scale serves all features: the last entry of gamma"),
    "mean gamma": ("scale-scalar", "one scale serves all features: the mean of gamma"),
    "gamma reversed": ("scale-reversed", "gamma is read backwards"),
    "gamma per group": ("scale-per-group", "the scale is per group, not per channel"),
    "gamma along positions": ("scale-on-wrong-axis", "gamma lies along the positions"),
    "gamma along the first axis": ("scale-on-wrong-axis", "gamma lies along the first axis"),
    "gamma^2": ("scale-twice", "gamma is applied twice"),
    "1/gamma": ("scale-divides", "xhat is divided by gamma"),
    "|gamma|": ("scale-absolute", "the sign of gamma is lost"),
    "sqrt(gamma)": ("scale-rooted", "the root of gamma scales"),
    "exp(gamma)": ("scale-exponential", "exp(gamma) scales"),
    "gamma + beta": ("scale-plus-beta", "gamma + beta scales"),
    "gamma beta": ("scale-times-beta", "gamma * beta scales"),
}
SHIFT_WORDS: Mapping[str, tuple[str, str]] = {
    "0": ("shift-missing", "beta is never added"),
    "-beta": ("shift-subtracted", "beta is subtracted"),
    "gamma": ("shift-is-gamma", "gamma shifts"),
    "-gamma": ("shift-is-minus-gamma", "gamma is subtracted"),
    "gamma beta": ("shift-inside-scale", "the shift is added before the scale"),
    "1 + beta": ("shift-plus-one", "1 + beta is added"),
    "beta - 1": ("shift-minus-one", "beta - 1 is added"),
    "2 beta": ("shift-twice", "beta is added twice"),
    "beta/2": ("shift-halved", "half of beta is added"),
    "beta^2": ("shift-squared", "beta^2 is added"),
    "gamma beta + beta": ("shift-twice", "beta is added before and after the scale"),
    "(1 + gamma) beta": ("shift-inside-scale", "the shift is added before the scale, as (1 + gamma) beta"),
    "gamma + beta": ("gamma-added", "gamma is added beside beta"),
    "beta[0]": ("shift-scalar", "one shift serves all features: the first entry of beta"),
    "beta[-1]": ("shift-scalar", "one shift serves all features: the last entry of beta"),
    "mean beta": ("shift-scalar", "one shift serves all features: the mean of beta"),
    "beta reversed": ("shift-reversed", "beta is read backwards"),
    "beta per group": ("shift-per-group", "the shift is per group, not per channel"),
    "beta along positions": ("shift-on-wrong-axis", "beta lies along the positions"),
    "beta along the first axis": ("shift-on-wrong-axis", "beta lies along the first axis"),
    "gamma[0] along": ("shift-is-gamma", "the first entry of gamma shifts"),
}


ONE_FORGOTTEN = (
    "offset-missing",
    "the scale is gamma alone, though this norm's gamma is kept less 1: 1 + gamma scales",
)
APPLIED = ("scale-applied", "gamma is applied")


def affine_changes(scale: str, shift: str, base: Definition) -> list[Change]:
    """What is wrong with a factor and a summand; two findings where no one mistake makes both."""
    fix = f"y = {SCALES[base.scale].text or 'gamma'} * xhat{' + beta' * (base.shift == 'beta')}"
    both = {} if scale == base.scale and shift == base.shift else {"scale": scale, "shift": shift}
    if both and (scale, shift) in AFFINE_WORDS and "beta" in (base.shift,):
        id, name = AFFINE_WORDS[scale, shift]
        return [Change(id, name, fix, "scaled", both)]
    made = []
    if scale != base.scale:
        id, name = SCALE_WORDS.get(scale, ONE_FORGOTTEN if base.takes_gamma else APPLIED)
        made.append(Change(id, name, fix, "scaled", {"scale": scale}))
    if shift != base.shift:
        id, name = SHIFT_WORDS.get(shift, ("shift-applied", "beta is added"))
        made.append(Change(id, name, fix, "y", {"shift": shift}))
    return made


def weight(scale: str, shift: str, base: Definition) -> int:
    """How far a form of the affine is from the right one, so that the plainest explanation comes first."""
    place = list(SCALES).index(scale) + list(SHIFTS).index(shift)
    return 100 * len(affine_changes(scale, shift, base)) + place
