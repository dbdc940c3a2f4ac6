"""What comes of the tasks about one row: the right answer, the figures, and what would give another answer.

No answer is written here. The table before and after the edit is run by the one program; the right answer is read
off the two, and what would give a wrong one is computed as well.
"""

from math import sqrt

from ...page.numbers import fixed, general
from ...page.text import printable
from .actions import written
from .predictions import Change, Outcome, Place, numbered, over, went
from .rounding import beside
from .state import State, eps_of
from .view import Numbered, differs

BY, TIMES, FAR = 2.0, 3.0, 30.0  # what is added to a row, what multiplies one, an outlier
CLOSE = 0.01  # what still nearly stays


def shift(change: Change) -> Outcome:
    """The same number added to a whole row."""
    (old, new), (variance, _), (root, _) = change.cells("xhat"), change.variances(), change.roots()
    truth = "stays" if not differs(old, new) else "shrinks" if abs(new) < abs(old) else "rises"
    facts = (
        f"{went('z', (old, new))}. The mean moves as x does: {went('it', change.means())}. So x − mean is what it was, "
        f"and {went('the variance', change.variances())}."
    )
    x, x_now = (cell / root if root else cell for cell in change.cells("x"))
    wider = fixed(_ratio(change.centered, 4 * variance + _eps(change.was)))
    larger = f"That takes a larger variance: with 4 times this one and the same x − mean, z is {wider}."
    would = (
        ("rises", f"That is z with its mean left in: {went('x / sqrt(variance + eps)', (x, x_now))}."),
        ("shrinks", larger if old else "That takes a z other than 0: x is its row’s mean here."),
        ("stays", "That takes an x − mean that stays; next to numbers as large as these, the sum is rounded."),
    )
    return Outcome(truth, facts, would)


def scale(change: Change) -> Outcome:
    """A whole row multiplied."""
    (old, new), (variance, _) = change.cells("xhat"), change.variances()

    def with_eps(eps: float) -> str:
        was, now = (_ratio(change.centered * by, variance * by**2 + eps) for by in (1.0, TIMES))
        return went("z", (was, now), 8)

    share = went("variance / (variance + eps)", (_share(change, 0), _share(change, 1)), 8)
    facts = (
        f"{went('z', (old, new), 8)}. x − mean and the standard deviation grow {general(TIMES)} times, which would "
        f"leave z as it was; but eps does not grow: {share}."
    )
    centered, small = (change.centered, change.centered * TIMES), variance * 1e-4
    would = (
        ("times", f"That is z without its division: {went('x − mean', centered)}."),
        ("same", f"That is z with eps = 0: {with_eps(0)}."),
        ("near", f"That takes an eps small beside the variance: with {general(small)}, {with_eps(small)}."),
        ("more", f"That takes a large eps: with {general(variance)}, the variance itself, {with_eps(variance)}."),
    )
    return Outcome(_scaled(old, new), facts, would)


def _scaled(old: float, new: float) -> str:
    """Which option a change of z is."""
    moved = abs(new - old)
    if not beside(moved, (1.0, old)):
        return "same"
    if abs(new - TIMES * old) < CLOSE * abs(old):
        return "times"
    return "near" if moved < CLOSE else "more"


def _share(change: Change, at: int) -> float:
    variance = change.variances()[at]
    return variance / whole if (whole := variance + _eps(change.was)) else 0.0


def _ratio(centered: float, square: float) -> float:
    return centered / sqrt(square) if square else 0.0


def _eps(state: State) -> float:
    return eps_of(state.eps)


def constant(change: Change) -> Outcome:
    """A row of zeros."""
    feature, (old, new), z = change.place.feature, change.cells("y"), fixed(change.cells("xhat")[1])
    gamma, beta = change.now.gamma[feature], change.now.beta[feature]
    facts = (
        f"x − mean is 0 in a constant row: z = 0 / sqrt(0 + {change.now.eps}) = {z}, and y = gamma · z + beta = "
        f"{general(gamma)} · {z} + ({general(beta)}) = {fixed(new)}."
    )
    would = [
        (0.0, "That is z, before scale and shift."),
        (gamma, "That is gamma; here it multiplies 0."),
        (gamma + beta, "That is gamma + beta: it takes z = 1."),
        (old, "That is y before the row was made constant."),
        *((value, f"That is beta of feature {at}.") for at, value in enumerate(change.now.beta, 1)),
    ]
    return Outcome(repr(new), facts, tuple((repr(value), text) for value, text in would))


def outlier(change: Change) -> Outcome:
    """One feature far from the others of its row."""
    place, features = change.place, change.now.size[1]
    old, new = (_range(made, place) for made in change.numbers)
    truth = "stay" if not differs(old, new) else "squeeze" if new < old else "spread"
    own, most = fixed(change.cells("xhat")[1]), fixed(sqrt(features - 1))
    facts = (
        f"{went('The range of the other z', (old, new))}. One number divides them all: "
        f"{went('sqrt(variance + eps)', change.roots())}. The z of the outlier itself is {own}; however far out x is, "
        f"z stays within sqrt(d − 1) = {most}."
    )
    would = (
        ("stay", f"That takes statistics of each feature’s own, as in BatchNorm: there {_of_its_own(change)}."),
        ("spread", f"That is the way back: take the outlier away, and {went('the range', (new, old))}."),
        ("squeeze", _farther(change, old)),
    )
    return Outcome(truth, facts, would)


def _farther(change: Change, old: float) -> str:
    """How far out a value must be to squeeze the others."""
    token, feature = change.place
    far = max(FAR, *map(abs, change.was.x[token]))
    for at in (far * 10**power for power in range(1, 10)):
        new = _range(numbered(written(change.now, {f"x.{token}.{feature}": at})), change.place)
        if new < old and differs(new, old):
            return f"That takes a value farther out: with {general(at)} it is {fixed(new)}."
    return "That takes a value so far out that the variance outgrows eps."


def _range(made: Numbered, place: Place) -> float:
    """From the smallest to the largest of the row's other z."""
    rest = [z for at, z in enumerate(made.row("xhat", place.token)) if at != place.feature]
    return max(rest, default=0.0) - min(rest, default=0.0)


# ---- Why a table cannot show a task at a place


def no_number(state: State, place: Place) -> str:
    """z is not there to be looked at."""
    z = numbered(state).row("xhat", place.token)[place.feature]
    return "" if z == z else f"z of {printable(state.tokens[place.token])} is no number (NaN). Change x or eps first."


def no_multiple(state: State, place: Place) -> str:
    """z is 0, and so is every multiple of it."""
    z = numbered(state).row("xhat", place.token)[place.feature]
    name = printable(state.tokens[place.token])
    nothing = f"z of {name} is 0 at feature {place.feature + 1}, and stays 0 whatever multiplies its row."
    return no_number(state, place) or (f"{nothing} Select a cell whose z is not 0." if not z else "")


def no_eps(state: State, place: Place) -> str:
    """Without eps a constant row is 0 / 0."""
    reason = "With eps = 0 that is 0 / 0, no number, and so no prediction can be right. Set another eps first."
    return "" if _eps(state) else reason


def no_range(state: State, place: Place) -> str:
    """There is nothing to be squeezed."""
    name = printable(state.tokens[place.token])
    reason = f"The other z of {name} have no range: it takes two other features that differ. Choose another row."
    return "" if differs(_range(numbered(state), place), 0.0) else reason


def _of_its_own(change: Change) -> str:
    """What z of another feature does where statistics run over the tokens."""
    others = [at for at in range(change.now.size[1]) if at != change.place.feature] or [change.place.feature]
    was, now = (
        over("[S] d", state)["xhat"][Place(change.place.token, others[0])] for state in (change.was, change.now)
    )
    return went(f"z of feature {others[0] + 1}", (was, now))
