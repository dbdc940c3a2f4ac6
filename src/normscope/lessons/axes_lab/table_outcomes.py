"""What comes of the tasks about the whole table: one gamma, swapped axes, the mean of the output."""

from collections.abc import Mapping
from dataclasses import replace
from math import isfinite

from ...page.numbers import fixed, general
from ...page.text import printable
from ...views.cells import float_mean
from .actions import written
from .predictions import Change, Outcome, Place, numbered, over, went
from .rounding import beside
from .state import State
from .view import SHOWN, differs

MORE = 0.5  # what is added to a gamma
BALANCED = ((1.0, -1.0), (-1.0, 1.0))
CURES = {
    "none": "do nothing",
    "eps": "set eps to 0",
    "beta": "set every beta to 0",
    "gamma": "set every gamma to 1",
    "both": "set every gamma to 1 and every beta to 0",
}


def one_gamma(change: Change) -> Outcome:
    """The scale of one feature."""
    moved, place, sets = _moved(change), change.place, _sets(change)
    fitting = [name for name, cells in sets.items() if moved <= cells]
    truth = min(fitting, key=lambda name: (len(sets[name]), name != "column"))
    facts = (
        f"{len(moved)} of {len(sets['all'])} outputs moved: feature {place.feature + 1} of "
        f"{_listed(change.now, sorted(moved))}. gamma has one number a feature, and every token shares it. No z "
        f"moved.{_at_rest(change, sorted(sets['column'] - moved))}"
    )
    further = written(change.now, {f"x.{place.token}.{place.feature}": change.cells("x")[1] + MORE})
    row, every = (len(_moved(Change(change.now, state, place))) for state in (further, replace(change.now, eps="1")))
    would = (
        ("cell", f"That takes a gamma for {change.name} alone; this one is shared by {len(sets['column'])} tokens."),
        (
            "row",
            f"That is a change of x: with {general(MORE)} more at this place, {row} outputs of {change.name} move.",
        ),
        ("all", f"That is a change of what every row takes: with eps = 1, {every} outputs move."),
        ("column", "That takes a z other than 0 in every row; 0 times any gamma is 0."),
    )
    return Outcome(truth, facts, would)


def _sets(change: Change) -> Mapping[str, set[Place]]:
    """The outputs that an answer names."""
    place, (tokens, features) = change.place, map(range, change.now.size)
    return {
        "cell": {place},
        "column": {Place(token, place.feature) for token in tokens},
        "row": {Place(place.token, feature) for feature in features},
        "all": {Place(token, feature) for token in tokens for feature in features},
    }


def _moved(change: Change) -> set[Place]:
    """Where y differs."""
    was, now = ([made.row("y", token) for token in range(change.now.size[0])] for made in change.numbers)
    return {at for at in _sets(change)["all"] if differs(was[at.token][at.feature], now[at.token][at.feature])}


def _listed(state: State, places: list[Place]) -> str:
    """The tokens of some places, by name."""
    words = [printable(state.tokens[at.token]) for at in places]
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)


def _at_rest(change: Change, places: list[Place]) -> str:
    """Why an output of that feature stayed."""
    z = {at: change.numbers[1].row("xhat", at.token)[at.feature] for at in places}
    zero = [at for at in places if z[at] == 0]
    none = [at for at in places if z[at] != z[at]]
    small = [at for at in places if at not in (*zero, *none)]
    told = (
        (zero, "is 0 there; 0 times any gamma is 0"),
        (none, "is no number there (NaN)"),
        (small, "is too near 0 there for six decimals"),
    )
    return "".join(f" z of {_listed(change.now, which)} {why}." for which, why in told if which)


def more_gamma(state: State, place: Place) -> dict[str, float]:
    """The edit: one gamma, somewhat larger."""
    return {f"gamma.{place.feature}": state.gamma[place.feature] + MORE}


def no_step(state: State, place: Place) -> str:
    """No output would move."""
    if _moved(Change(state, written(state, more_gamma(state, place)), place)):
        return ""
    z = [numbered(state).row("xhat", token)[place.feature] for token in range(state.size[0])]
    why = "is too small, beside its gamma" if any(z) else "is 0 in every row, and 0 times any gamma is 0"
    return f"No output would move: z of feature {place.feature + 1} {why}. Choose another feature."


def swap(change: Change) -> Outcome:
    """The statistics over the other axis: nothing is edited."""
    (tokens, features), names = change.now.size, {"mu": "the mean", "var": "the variance", "xhat": "z"}
    along, across = (over(pattern, change.now) for pattern in ("S [d]", "[S] d"))
    here = [went(word, (along[name][change.place], across[name][change.place])) for name, word in names.items()]
    stays = {name: sum(not differs(along[name][at], across[name][at]) for at in along[name]) for name in names}
    cells = tokens * features
    facts = (
        f"One mean and variance a token, {tokens} of each, are now one a feature, {features} of each. At "
        f"{change.name}, feature {change.place.feature + 1}, {', '.join(here)}. x stays in all {cells} cells, z in "
        f"{stays['xhat']} of them."
    )
    whole = went("the mean of all means", (_mean_of(along["mu"]), _mean_of(across["mu"])))
    alike = f"That takes rows and columns that all have one mean and one variance, {_balanced(change.now.eps)}."
    would = (
        ("mean", f"That takes rows and columns that all have one mean. Here {whole}, but no more."),
        ("z", alike),
        ("all", alike),
        ("x", "That takes rows and columns that differ."),
    )
    truth = {(True, True): "all", (True, False): "mean", (False, True): "z"}
    return Outcome(truth.get((stays["mu"] == cells, stays["xhat"] == cells), "x"), facts, would)


def _mean_of(cells: dict[Place, float]) -> float:
    return _mean(tuple(cells.values()))


def _balanced(eps: str) -> str:
    """A table whose z are the same over either axis."""
    table = State(x=BALANCED, tokens=("", ""), gamma=(1.0, 1.0), beta=(0.0, 0.0), sel=(0, 0), eps=eps)
    ways = (over(pattern, table)["xhat"][Place(0, 0)] for pattern in ("S [d]", "[S] d"))
    return f"as in 1, −1 over −1, 1, where the first z is {' and '.join(map(fixed, ways))}"


def output_mean(change: Change) -> Outcome:
    """What keeps the mean of y from 0: every answer is tried on the table as it was."""
    tried = {name: row_means(state) for name, state in _cured(change.was).items()}
    cures = [name for name, means in tried.items() if all(abs(value) < SHOWN for value in means)]
    token, weighed, shift = change.place.token, _weighed(change), _mean(change.was.beta)
    was, now = fixed(tried["none"][token]), fixed(row_means(change.now)[token])
    facts = (
        f"mean(y) = mean(gamma · z) + mean(beta). For {change.name} that was {fixed(weighed[token])} + "
        f"({fixed(shift)}) = {was}, and is {now} now. {_weighing(change, weighed)}"
        f"{' And beta adds a mean of its own to every row.' if shift else ''}"
    )
    enough = f"It does that, but less is enough: {CURES[cures[0]]}." if cures else ""
    would = tuple((name, enough if name in cures else _left(means, change.was)) for name, means in tried.items())
    return Outcome(cures[0] if cures else "", facts, would)


def _weighed(change: Change) -> list[float]:
    """mean(gamma · z) of every row, before."""
    rows = (change.numbers[0].row("xhat", token) for token in range(change.was.size[0]))
    return [_mean(tuple(scale * z for scale, z in zip(change.was.gamma, row, strict=True))) for row in rows]


def _weighing(change: Change, weighed: list[float]) -> str:
    """What gamma does to the mean of z, told of a row that shows it."""
    shows = [token for token in (change.place.token, *range(len(weighed))) if abs(weighed[token]) >= SHOWN]
    if not shows:
        return "The mean of z is 0, and these gammas leave it 0 in every row."
    told = "The mean of z is 0, but not once gammas that differ weigh it"
    if shows[0] == change.place.token:
        return f"{told}."
    return f"{told}: for {printable(change.was.tokens[shows[0]])} mean(gamma · z) was {fixed(weighed[shows[0]])}."


def no_mean(state: State, place: Place) -> str:
    """A mean of y that is no number cannot be made 0."""
    lost = [token for token, mean in enumerate(row_means(state)) if not isfinite(mean)]
    reason = "The mean of y in the row of {} is not finite. Change x or eps first."
    return reason.format(printable(state.tokens[lost[0]])) if lost else ""


def _cured(state: State) -> dict[str, State]:
    """The table with each answer carried out, the least first."""
    ones, zeros = (1.0,) * len(state.gamma), (0.0,) * len(state.beta)
    return {
        "none": state,
        "eps": replace(state, eps="0"),
        "beta": replace(state, beta=zeros),
        "gamma": replace(state, gamma=ones),
        "both": replace(state, gamma=ones, beta=zeros),
    }


def _left(means: list[float], state: State) -> str:
    """The mean that is farthest from 0, and whose it is."""
    at = max(range(len(means)), key=lambda token: abs(means[token]))
    return f"That leaves a mean of {fixed(means[at])} in the row of {printable(state.tokens[at])}."


def row_means(state: State) -> list[float]:
    """The mean of y in every row."""
    made = numbered(state)
    return [_mean(made.row("y", token)) for token in range(state.size[0])]


def _mean(row: tuple[float, ...]) -> float:
    return beside(float_mean(row, len(row)), row)
