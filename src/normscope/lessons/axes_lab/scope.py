"""The axes panel: which cells share a statistic, under which norm, in which layout."""

from collections.abc import Callable, Mapping
from functools import lru_cache

from ...comparison import NAMES, Comparison, compare
from ...page.controls import Complaint, entry, select
from ...page.html import Html, el, region
from . import actions, scene
from .column import column
from .running import running
from .scene import TYPED, Scene
from .sharing import every, sharing
from .state import LAYOUTS, Numbers, State

LEAD = (
    "A norm is told by its axes: cells along the reduced ones share a statistic, each position of the kept ones has "
    "its own. Beware of the word axis: in one framework’s layer it is the reduced one, in another’s the kept one."
)


def draw(state: State, wrong: Complaint) -> Html:
    """The panel of a state that has been checked, in regions."""
    seen = scene.scene(state)
    lesson = seen.norms if state.layout == "tokens" else _lesson(state.x, state.eps)
    return el(
        "section",
        el("h2", "The axes: which cells share a statistic"),
        el("p", LEAD, class_="notice wide"),
        column(seen, lesson["layer_norm"], lesson["batch_norm"]),
        el("h3", "Any norm, any layout"),
        _controls(seen, wrong),
        sharing(seen),
        el("div", every(seen), running(seen, wrong), class_="sides"),
        class_="below scope",
        id="axes",
    )


@lru_cache(maxsize=16)
def _lesson(x: tuple[Numbers, ...], eps: str) -> Comparison:
    """The two norms of the lesson, on the tokens as they stand whatever the layout."""
    return compare([list(map(list, x))], ("layer_norm", "batch_norm"), eps=eps)


def _controls(seen: Scene, wrong: Complaint) -> Html:
    state, axes = seen.state, " ".join(seen.arranged.axes)
    norms = {**NAMES, TYPED: "your pattern"}
    groups, features = scene.divided(state.groups, state.size[1]), state.size[1]
    odd = f"{features} features do not divide into {state.groups} groups; g is 1 here."
    drawn = el(
        "div",
        select("layout", "Layout", LAYOUTS, state.layout),
        select("norm", "Norm", norms, state.norm),
        entry("pattern", f"Your pattern over {axes}, reduced axes in brackets", state.pattern, wrong, 24, "text"),
        entry("groups", "groups g", str(groups), wrong, 3),
        el("p", odd, class_="hint") if groups != state.groups else None,
        id="scope-set",
        class_="row",
    )
    return region(drawn, "scope-set")


def _select(state: State, value: str) -> State:
    """Select a cell of the panel: where it is transposed, a row is a feature and a column a token."""
    name, _, at = value.partition(".")
    if name == "turned":
        feature, _, token = at.partition(".")
        value = f"x.{token}.{feature}"
    return actions.ACTIONS["sel"](state, value)


ACTIONS: Mapping[str, Callable[[State, str], State]] = {**scene.ACTIONS, "sel": _select}
check = scene.check
