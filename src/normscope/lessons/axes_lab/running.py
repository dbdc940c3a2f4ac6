"""Running statistics: what BatchNorm keeps of the selected feature, told in both conventions of momentum."""

from fractions import Fraction
from functools import lru_cache

from ...conventions import CONVENTIONS
from ...page.controls import Complaint, entry, select
from ...page.frame import frame, head
from ...page.html import Html, el, region
from ...page.numbers import fixed, general
from .scene import Scene
from .state import State

HEADS = ("momentum", "one batch", "variance of the batch", "running mean", "running variance")


def running(scene: Scene, wrong: Complaint) -> Html:
    """The controls, the rule and the numbers of the selected feature."""
    title = el("h3", "What BatchNorm keeps for evaluation", id="running-title")
    parts = (title, _controls(scene.state, wrong), _table(scene), _words(scene))
    return el("section", *parts, aria_labelledby="running-title", class_="running")


def _controls(state: State, wrong: Complaint) -> Html:
    titles = {name: f"{each.title}: {'new' if each.weighs_new else 'old'} value" for name, each in CONVENTIONS.items()}
    drawn = el(
        "div",
        select("convention", "The momentum weighs", titles, state.convention),
        entry("momentum", "momentum", state.momentum, wrong, 5),
        entry("batches", "batches seen", str(state.batches), wrong, 4),
        id="running-set",
        class_="row",
    )
    return region(drawn, "running-set")


def _table(scene: Scene) -> Html:
    feature, count = scene.state.sel[1], cells_of_one(scene)
    lines = (
        _line(
            name,
            name == scene.state.convention,
            told.momentum,
            count,
            fixed(told.mean[feature]),
            fixed(told.var[feature]),
        )
        for name, told in scene.kept.items()
    )
    table = el("table", head("", *HEADS), el("tbody", *lines), class_="figures")
    framed = frame("Running statistics of the selected feature", table, "running-table", "region")
    return region(framed, "running-table")


@lru_cache(maxsize=64)
def _line(name: str, is_here: bool, momentum: float, count: int, mean: str, var: str) -> Html:
    """A convention: its own momentum for the same update, and what it has kept of the selected feature."""
    rule = CONVENTIONS[name]
    share = rule.share(momentum)
    update = f"{_number(1 - share)} × old + {_number(share)} × batch"
    divisor = f"over n − 1 = {count - 1}" if rule.correction else f"over n = {count}"
    head = el("th", rule.title, " ◂" if is_here else "", scope="row")
    numbers = (el("td", text) for text in (general(momentum), update, divisor, mean, var))
    return el("tr", head, *numbers, aria_current="true" if is_here else None)


def cells_of_one(scene: Scene) -> int:
    """How many cells a channel has in the batch."""
    return scene.norms["batch_norm"].cells


def _number(value: Fraction) -> str:
    return general(float(value))


def _words(scene: Scene) -> Html:
    return _told(scene.state.sel[1] + 1, scene.state.batches, cells_of_one(scene) == 1)


@lru_cache(maxsize=64)
def _told(feature: int, batches: int, is_alone: bool) -> Html:
    seen = {0: "before any batch", 1: "after 1 batch, which is this table"}
    when = seen.get(batches, f"after {batches} batches, each of them this table")
    lines = [
        f"Of feature {feature}, from mean 0 and variance 1, {when} (num_batches_tracked = {batches}). BatchNorm in "
        "evaluation uses the line marked ◂.",
        "The same update has two momenta: PyTorch’s is the share of the new value (0.1 unless you say otherwise), "
        "Keras’s that of the old one (0.99).",
        "Both normalize with the variance over n. PyTorch keeps the one over n − 1, Keras 3 the one over n.",
        "One cell a channel has no variance over n − 1: PyTorch refuses to train BatchNorm on it, and InstanceNorm too."
        if is_alone
        else "",
    ]
    drawn = el("ul", *(el("li", line) for line in lines if line), id="running-words", class_="told")
    return region(drawn, "running-words")
