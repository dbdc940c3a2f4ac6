"""What tells a mistake: one of six instruments, and the figures that it shows, computed from both sides.

The instruments are those that `check` uses, in its order. Each asks the two sides a question on a probe of its own.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from math import isfinite, sqrt
from operator import mul
from typing import NamedTuple

from ...page.numbers import fixed, general, short
from ...views.cells import FLOATS
from .catalogue import EXHIBITS
from .outcome import NEAR, alike, ran, read, sides
from .side import Given, Rows, Side, floats
from .slips import Exhibit

ROWS = 4
WIDTHS = (4, 6, 5)
PROBE = ((3, -1, 4, 1, -5, 9), (2, 6, -5, 3, 5, 8), (97, 93, 92, 98, 94, 96), (-7, 2, 8, -18, 2, 8))
EPS = Fraction(1, 2)


class Figure(NamedTuple):
    """What was asked, and the answers of the two sides."""

    asked: str
    right: str
    wrong: str


class Instrument(NamedTuple):
    """Its name, what it does in a sentence, and its figures for an exhibit."""

    name: str
    about: str
    read: Callable[[Exhibit], tuple[Figure, ...]]


def probe(exhibit: Exhibit) -> Given:
    """An ordinary table that this mistake can be run on and shows on."""
    for width in WIDTHS:
        if not exhibit.fits(ROWS, width):
            x = [list(row[:width]) for row in PROBE]
            given: Given = {"x": x, "gamma": list(range(1, width + 1)), "beta": list(range(2, width + 2)), "eps": EPS}
            if ran(exhibit, given).count:
                return given
    raise LookupError(exhibit.id)


def _apart(a: Rows, b: Rows) -> float:
    """The largest difference of two outputs."""
    pairs = [(p, q) for one, other in zip(a, b, strict=True) for p, q in zip(one, other, strict=True)]
    return max(abs(p - q) if isfinite(p - q) else float("nan") for p, q in pairs)


def _layout(exhibit: Exhibit) -> tuple[Figure, ...]:
    given = read(exhibit.id, exhibit.texts)
    right, wrong = sides(exhibit, given)  # the right one is run on a copy
    apart = (_apart(rows, right) for rows in (right, wrong))
    return (Figure("largest difference of y between a slice and a copy of it", *map(short, apart)),)


def _reacting(before: Rows, after: Rows) -> list[tuple[int, int]]:
    size = range(len(before)), range(len(before[0]))
    return [(r, c) for r in size[0] for c in size[1] if not alike(before[r][c], after[r][c], NEAR)]


def _moved(given: Given, row: int, column: int) -> Given:
    """The same with one cell of x larger by 1."""
    x = [list(cells) for cells in given["x"]]
    x[row][column] += 1
    return {**given, "x": x}


def _influence(exhibit: Exhibit) -> tuple[Figure, ...]:
    given = probe(exhibit)
    before = sides(exhibit, given)
    places = [(r, c) for r in range(ROWS) for c in range(len(given["x"][0]))]
    for row, column in places:
        sets = list(map(_reacting, before, sides(exhibit, _moved(given, row, column))))
        if sets[0] != sets[1]:
            asked = f"cells of y that react to x in row {row + 1}, column {column + 1}, of {len(places)}"
            return (Figure(asked, *(_places(cells, len(given["x"][0])) for cells in sets)),)
    raise LookupError(exhibit.id)


def _places(cells: list[tuple[int, int]], width: int) -> str:
    """Which cells, as whole rows and columns where they are."""
    rows, columns = sorted({r for r, _ in cells}), sorted({c for _, c in cells})
    if len(cells) != len(rows) * len(columns):
        return f"{len(cells)} cells, in {_span('row', rows, ROWS)} and {_span('column', columns, width)}"
    return f"{_span('row', rows, ROWS)}, {_span('column', columns, width)}: {len(cells)} cells"


def _span(what: str, numbers: list[int], count: int) -> str:
    if len(numbers) == count:
        return f"every {what}"
    return f"{what}{'s' if len(numbers) > 1 else ''} {', '.join(str(number + 1) for number in numbers) or 'none'}"


def _affine(exhibit: Exhibit) -> tuple[Figure, ...]:
    given = probe(exhibit)
    width = len(given["x"][0])
    asked = {"gamma": "the first row of y where gamma = 0", "beta": "the first row of y where beta = 0"}
    made = []
    for name, text in asked.items():
        probed = {**given, name: [0] * width}
        made.append(Figure(text, *(", ".join(map(short, rows[0])) for rows in sides(exhibit, probed))))
    return tuple(made)


def _shift(exhibit: Exhibit) -> tuple[Figure, ...]:
    given = probe(exhibit)
    moved = {**given, "x": [[cell + 1 for cell in row] for row in given["x"]]}
    apart = map(_apart, sides(exhibit, moved), sides(exhibit, given))
    return (Figure("largest |y(x + 1) − y(x)|", *(short(value if value > NEAR else 0.0) for value in apart)),)


def effective_eps(exhibit: Exhibit, side: Side, given: Given, row: int) -> list[float]:
    """(c gamma / (y − beta))² − v for every cell of a row: what the divisor adds to the right variance."""
    values = exhibit.right.values(given)
    width = len(given["x"][0])
    beta = given["beta"] if "beta" in exhibit.given else [0] * width
    spread = values["var"].flat[row]
    made = []
    for at, y in enumerate(side.run(given, FLOATS)[row]):
        c = (values["c"] if "c" in values else values["x"]).flat[row * width + at]
        top, bottom = c * float(given["gamma"][at]), y - float(beta[at])
        made.append((top / bottom) ** 2 - spread if bottom else float("nan"))
    return made


def _eps(exhibit: Exhibit) -> tuple[Figure, ...]:
    given = probe(exhibit)
    spreads = exhibit.right.values(given)["var"].flat
    figures = []
    for row in range(ROWS - 1):
        texts = (_row_eps(effective_eps(exhibit, side, given, row)) for side in (exhibit.right, exhibit.wrong))
        figures.append(Figure(f"effective eps of a row with variance {general(spreads[row])}, where eps = 0.5", *texts))
    return tuple(figures)


def _row_eps(cells: list[float]) -> str:
    if max(cells) - min(cells) > 1e-6 * max(map(abs, cells)) + 1e-9:
        return f"not one number: {general(min(cells))} to {general(max(cells))}"
    return general(round(cells[0], 6))


def _numerics(exhibit: Exhibit) -> tuple[Figure, ...]:
    given = read(exhibit.id, exhibit.texts)
    exact = floats(exhibit.right.run(given, FLOATS))
    both = sides(exhibit, given)
    errors = (_apart(rows, exact) for rows in both)
    bound = sqrt(len(given["x"][0]) - 1)
    largest = (max(map(abs, rows[0]), key=lambda size: (size != size, size)) for rows in both)
    return (
        Figure("largest difference from y in exact numbers", *map(short, errors)),
        Figure(f"largest |xhat|, which is at most √(d − 1) = {general(bound)}", *map(_six, largest)),
    )


def _six(value: float) -> str:
    return fixed(value) if isfinite(value) else short(value)


def _gradient(exhibit: Exhibit) -> tuple[Figure, ...]:
    given = read(exhibit.id, exhibit.texts)
    doubled = {**given, "gamma": [2 * cell for cell in given["gamma"]]}
    xhat = exhibit.right.values(given)["xhat"].flat
    both = [rows[0] for rows in sides(exhibit, given)]
    sums = (_zero(sum(dx)) for dx in both)
    along = (_zero(sum(map(mul, dx, xhat))) for dx in both)
    twice = (rows[0][0] / dx[0] for rows, dx in zip(sides(exhibit, doubled), both, strict=True))
    return (
        Figure("sum of a row of dx, 0 of every LayerNorm", *map(short, sums)),
        Figure("sum of dx · xhat, 0 where eps = 0", *map(short, along)),
        Figure("dx with gamma doubled, over dx", *map(general, twice)),
    )


def _zero(value: float) -> float:
    return value if abs(value) > NEAR else 0.0


def _running(exhibit: Exhibit) -> tuple[Figure, ...]:
    both = sides(exhibit, read(exhibit.id, exhibit.texts))
    what = exhibit.right.output.removeprefix("new_")
    asked = f"{what} after one batch, momentum {exhibit.given['momentum']}"
    return (Figure(asked, *(general(rows[0][0]) for rows in both)),)


INSTRUMENTS: Mapping[str, Instrument] = {
    "layout": Instrument(
        "Layout", "The same cells as a copy, as a slice, with other rows beside them: y must not care.", _layout
    ),
    "influence": Instrument(
        "Influence", "One cell of x is changed; which cells of y react shows what shares a statistic.", _influence
    ),
    "affine": Instrument("Affine", "y is probed with gamma = 0 and with beta = 0: so each shows alone.", _affine),
    "shift": Instrument("Shift", "1 is added to every x. LayerNorm does not notice; an RMSNorm does.", _shift),
    "eps": Instrument(
        "Effective eps",
        "(c · gamma / (y − beta))² − variance, with c = x − mean: what the divisor adds to the variance. "
        "It is eps on every row, or its pattern names the formula.",
        _eps,
    ),
    "numerics": Instrument(
        "Numerics", "Asked last: constant rows, large means, narrow formats, against y in exact numbers.", _numerics
    ),
    "gradient": Instrument("Gradient sums", "Sums that vanish for every right dx need no reference.", _gradient),
    "running": Instrument("Running statistics", "One batch, from mean 0 and variance 1.", _running),
}


@lru_cache(maxsize=128)
def figures(id: str) -> tuple[Figure, ...]:
    """What the instrument shows for an exhibit, on a probe of its own."""
    exhibit = EXHIBITS[id]
    return INSTRUMENTS[exhibit.instrument].read(exhibit)
