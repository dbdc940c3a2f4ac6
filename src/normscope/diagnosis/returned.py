"""Two gradients that came back in each other's place: one mistake, not two."""

from collections.abc import Sequence
from dataclasses import replace

from .verdict import Finding

SWAPPED = ("dgamma-is-dbeta", "dbeta-is-dgamma")


def exchanged(findings: Sequence[Finding]) -> list[Finding]:
    """The findings, with dgamma and dbeta in each other's place as one, whose fix is the order of the return.

    >>> one, other = (Finding(id, "", "off", input={"x": 1, f"got {id.partition('-')[0]}": 2}) for id in SWAPPED)
    >>> [(each.id, sorted(each.input)) for each in exchanged([one, other])]
    [('gradients-swapped', ['got dbeta', 'got dgamma', 'x'])]
    >>> exchanged([one]) == [one]
    True
    """
    both = {each.id: each for each in findings if each.id in SWAPPED}
    if len(both) < len(SWAPPED):
        return list(findings)
    gamma, beta = (both[id] for id in SWAPPED)
    is_same = all(beta.input.get(name) == value for name, value in gamma.input.items() if " " not in name)
    one = replace(
        gamma,
        id="gradients-swapped",
        name="dgamma and dbeta come back in each other's place",
        evidence=f"{gamma.evidence}; {beta.evidence}",
        formula="return dx, dbeta, dgamma",
        fix="return dx, dgamma, dbeta",
        input={**gamma.input, **(beta.input if is_same else {})},
    )
    return [one if each is gamma else each for each in findings if each is not beta]
