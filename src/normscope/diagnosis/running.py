"""The running statistics that a BatchNorm in training returns: each is a * old + b * batch; a and b are measured."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from ..steps import STATISTICS
from .bounds import UNIT
from .definition import evaluate, places, right
from .probes import Failure, Implementation, Probe
from .questions import NEAR, WIDTHS, Maker
from .shrink import SEEN, candidates, digits
from .verdict import Finding

SMALL = 24  # small updates that are tried
MOMENTA = (0.25, 0.125)
LINK = "axes"
WEIGHTS: Mapping[str, Callable[[float], float]] = {
    "1 - m": lambda m: 1 - m,
    "m": lambda m: m,
    "1": lambda m: 1.0,
    "0": lambda m: 0.0,
}
FIXES = {
    "running_mean": "new = (1 - momentum) * old + momentum * mean",
    "running_var": "new = (1 - momentum) * old + momentum * var * n / (n - 1)",
}


@dataclass(frozen=True)
class Update:
    """One asked update: momentum, the old value, the batch's statistics by name, and what came back."""

    probe: Probe
    momentum: float
    old: Any
    batch: Mapping[str, Any]
    new: Any


def judge_running(implementation: Implementation, maker: Maker, tolerance: float) -> list[Finding]:
    """Findings on the statistics that a training BatchNorm returns beside y; none where it returns none."""
    if maker.norm.name != "BatchNorm" or maker.norm.running or not set(STATISTICS) <= implementation.accepts:
        return []
    norm = maker.fitted[0]
    probes = []
    for width in WIDTHS[:2]:
        at = maker.sizes(norm, width)
        first = maker.probe(at, maker.x(at), NEAR)
        for momentum in MOMENTA:
            probes.append(first.but(momentum=momentum))
            old = {name: maker.cast(getattr(first, name) * 2 + 0.5) for name in STATISTICS}
            probes.append(first.but(momentum=momentum, **old))
    answers = implementation.run(probes)
    if any(isinstance(answer, Failure) or not set(STATISTICS) <= answer.keys() for answer in answers):
        return []
    found: dict[str, Finding] = {}
    for name in STATISTICS:
        updates = [_update(norm, probe, answer, name) for probe, answer in zip(probes, answers, strict=True)]  # type: ignore[arg-type]
        judged = _judged(name, updates, tolerance)
        small = _smallest(implementation, maker, name) if judged else {}
        for finding in judged:
            found.setdefault(finding.id, replace(finding, input=small or finding.input))
    return list(found.values())


def _smallest(implementation: Implementation, maker: Maker, name: str) -> dict[str, Any]:
    """The first small update that is off; empty where none is."""
    import numpy as np

    norm = maker.fitted[0]
    probes = list(islice(candidates(maker, len(norm.layout.dims)), SMALL))
    for probe, answer in zip(probes, implementation.run(probes), strict=True):
        if isinstance(answer, Failure) or name not in answer:
            continue
        update = _update(norm, probe, answer, name)
        there = _right(update, next(iter(update.batch)))
        if update.new.shape == there.shape and np.any(np.abs(update.new - there) > SEEN * np.max(np.abs(there))):
            return _shown(update, name)
    return {}


def _update(norm: Any, probe: Probe, answer: Mapping[str, Any], name: str) -> Update:
    import numpy as np

    values = evaluate(right(norm), probe)
    x = np.reshape(np.asarray(probe.x, np.float64), values.full)
    n = values.cells
    mean = np.ravel(x.mean(axis=places(norm, norm.over)))
    var = np.ravel(values.v)
    unbiased = var * n / (n - 1)
    eps = float(probe.eps or 0)
    batch = {
        "running_mean": {"mean": mean, "n mean": mean * n, "var": var},
        "running_var": {
            "var n-1": unbiased, "var": var, "std": np.sqrt(var), "std n-1": np.sqrt(unbiased), "var + eps": var + eps,
            "var n-1 + eps": unbiased + eps, "(var + eps) n-1": (var + eps) * n / (n - 1),
            "mean square": var + mean**2, "1/sqrt(var + eps)": 1 / np.sqrt(var + eps),
            "var n+1": var * n / (n + 1), "mean": mean, "n var": var * n,
        },
    }[name]  # fmt: skip
    old = np.ravel(np.asarray(getattr(probe, name), np.float64))
    return Update(probe, float(probe.momentum or 0), old, batch, np.ravel(np.asarray(answer[name], np.float64)))


WRITTEN: Mapping[str, str] = {
    "var n-1": "var_{n-1}",
    "std n-1": "std_{n-1}",
    "var n+1": "var_{n+1}",
    "var + eps": "(var + eps)",
    "var n-1 + eps": "(var_{n-1} + eps)",
    "mean square": "mean(x^2)",
    "n mean": "n * mean",
    "n var": "n * var",
}
WORDS: Mapping[str, tuple[str, str]] = {
    "var": ("running-variance-biased", "the running variance takes the variance that is divided by n, not by n - 1"),
    "std": ("running-std-stored", "the running variance takes the standard deviation"),
    "std n-1": ("running-std-stored", "the running variance takes the standard deviation"),
    "var + eps": ("running-variance-includes-eps", "the running variance takes the variance with eps, divided by n"),
    "var n-1 + eps": ("running-variance-includes-eps", "the running variance takes the variance with eps"),
    "(var + eps) n-1": ("running-variance-includes-eps", "the running variance takes the variance with eps"),
    "mean square": ("running-mean-square-stored", "the running variance takes the mean square"),
    "1/sqrt(var + eps)": ("running-rstd-stored", "the running variance takes the reciprocal root"),
    "var n+1": ("running-variance-n-plus-1", "the running variance takes the variance divided by n + 1"),
    "mean": ("running-statistics-swapped", "the running variance takes the mean"),
    "n var": ("running-variance-summed", "the running variance takes the sum of squares"),
    "n mean": ("running-mean-summed", "the running mean takes the sum"),
}


def _judged(name: str, updates: Sequence[Update], tolerance: float) -> list[Finding]:
    import numpy as np

    if any(update.new.shape != update.old.shape for update in updates):
        first = updates[0]
        return [
            Finding(
                "wrong-shape",
                f"{name} comes back with {first.new.size} values, not {first.old.size}",
                "",
                "",
                FIXES[name],
                _shown(first, name),
                LINK,
            )
        ]
    keep, stat = next(iter(updates[0].batch)), ""
    for old_weight, new_weight in _weights(updates):
        for stat in updates[0].batch:
            expected = [old_weight(u.momentum) * u.old + new_weight(u.momentum) * u.batch[stat] for u in updates]
            if all(_near(u, there, tolerance) for u, there in zip(updates, expected, strict=True)):
                return _named(name, updates, old_weight, new_weight, stat, keep)
    worst = max(float(np.max(np.abs(u.new - _right(u, keep)))) for u in updates)
    return [
        Finding(
            "unrecognised",
            f"{name} is not the norm's, and no known mistake",
            f"it is off by up to {worst:.3g}",
            "",
            FIXES[name],
            _shown(updates[0], name),
            LINK,
        )
    ]


def _right(update: Update, keep: str) -> Any:
    return (1 - update.momentum) * update.old + update.momentum * update.batch[keep]


def _near(update: Update, there: Any, tolerance: float) -> bool:
    import numpy as np

    return bool(
        np.all(
            np.abs(update.new - there)
            <= tolerance * (np.abs(update.old) + max(map(np.max, map(np.abs, update.batch.values()))))
        )
    )


@dataclass(frozen=True)
class Weight:
    """A weight as a function of the momentum, and how it is written."""

    text: str
    fixed: float = 0.0

    def __call__(self, m: float) -> float:
        return WEIGHTS[self.text](m) if self.text in WEIGHTS else self.fixed

    def times(self, what: str) -> str:
        """The product as it is written; nothing where the weight is 0."""
        factor = f"({self.text})" if " " in self.text else self.text
        return {"0": "", "1": what}.get(self.text, f"{factor} * {what}")


def _sum(*terms: str) -> str:
    """The terms that are there, joined; 0 of none."""
    return " + ".join(filter(None, terms)) or "0"


def _weights(updates: Sequence[Update]) -> list[tuple[Weight, Weight]]:
    """Pairs of weights to try, the right one first; then a foreign momentum, read off the weight of the old value."""
    import numpy as np

    named = [Weight(text) for text in WEIGHTS]
    pairs = [(named[0], named[1]), (named[1], named[0])]
    pairs += [(old, new) for old in named for new in named if (old, new) not in pairs]
    one, other = updates[0], updates[1]
    with np.errstate(all="ignore"):
        kept = (other.new - one.new) / (other.old - one.old)
    kept = float(np.median(kept[np.isfinite(kept)])) if np.isfinite(kept).any() else 1.0
    foreign = float(f"{kept:.5g}")
    return [*pairs, (Weight(f"{foreign:g}", foreign), Weight(f"{1 - foreign:g}", 1 - foreign))]


def _named(name: str, updates: Sequence[Update], old: Weight, new: Weight, stat: str, keep: str) -> list[Finding]:
    text = f"{name} = {_sum(old.times(name), new.times(WRITTEN.get(stat, stat)))}"
    evidence = f"holds for {len(updates)} updates with momentum {MOMENTA[0]} and {MOMENTA[1]} and two old values each"
    small = _shown(updates[0], name)
    found = []
    if (old.text, new.text) != ("1 - m", "m"):
        id, words = _weight_words(old, new)
        found.append(Finding(id, words, evidence, text, FIXES[name], small, LINK))
    if stat != keep:
        id, words = WORDS[stat]
        if name == "running_mean" and stat == "var":
            id, words = "running-statistics-swapped", "the running mean takes the variance"
        found.append(Finding(id, words, evidence, text, FIXES[name], small, LINK))
    return found


def _weight_words(old: Weight, new: Weight) -> tuple[str, str]:
    match old.text, new.text:
        case "m", "1 - m":
            return (
                "momentum-inverted",
                "the momentum weighs the old value, not the new one: the other framework's convention",
            )
        case "1", "0":
            return "running-statistics-not-updated", "the running statistics come back as they were"
        case "0", "1":
            return "running-statistics-replaced", "the batch's statistics replace the running ones"
        case "1", _:
            return "running-statistics-not-decayed", "the old value keeps its full weight"
    if old.text in WEIGHTS and new.text in WEIGHTS:
        return "momentum-weights", f"the old value weighs {old.text}, the new one {new.text}"
    return "momentum-fixed", f"the momentum argument is ignored; it behaves as momentum = {new.fixed:g}"


def _shown(update: Update, name: str) -> dict[str, Any]:
    import numpy as np

    keep = next(iter(update.batch))
    probe = update.probe
    given = {key: np.asarray(getattr(probe, key), np.float64).tolist() for key in ("x", *STATISTICS)}
    return given | {
        "momentum": probe.momentum,
        "eps": probe.eps,
        f"expected {name}": digits(_right(update, keep)),
        f"got {name}": digits(update.new),
    }


def tolerance(level: str, dtype: str) -> float:
    """How far a running statistic may be off, of its size."""
    return 256 * UNIT[level] + 2 * UNIT[dtype]
