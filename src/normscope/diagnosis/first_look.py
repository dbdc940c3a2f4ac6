"""What is seen before any search: answers that differ from call to call, and stubs that compute nothing of x.

Each of these is the whole finding: what else would be searched for, noise or a constant would answer.
"""

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from .bounds import UNIT, bound
from .definition import Values
from .examination import LEVELS
from .probes import Failure, Probe
from .shrink import candidates, digits, shown
from .verdict import Finding

if TYPE_CHECKING:
    from .examination import Examination, Row

ALONE = ("not-deterministic", "constant-output", "nan-output", "returns-x")
CALLS, SEEN = 4, 1e-3  # of one small input, until a reader sees that the answers differ by this share
BITS = "The same input gives other last bits from call to call."
DIFFERS = "the same input gives another answer each time"
CHANGES = "take out what changes between calls: random numbers, dropout, values kept from before, unwritten memory"
NAN = "find the first step that gives nan: the root of a negative number, 0 / 0 or inf - inf"
NORMALIZE = "compute y from x: its mean and variance, then y = gamma * (x - mean) / sqrt(var + eps) + beta"
FORMULAS = {"RMSNorm": "compute y from x: its mean square, then y = gamma * x / sqrt(mean(x^2) + eps)"}


def unsteady(asked: "Examination", rows: Sequence["Row"]) -> Finding | None:
    """A finding where the same input has two answers; a note where they differ in the last bits alone.

    The second calls come in another order, so that what is kept of the call before is seen too.
    """
    import numpy as np

    again = [rows[1], rows[0], rows[-1]] if len(rows) > 1 else list(rows)
    answers = asked.implementation.run([row[0] for row in again])
    pairs = [(row, answer["y"]) for row, answer in zip(again, answers, strict=True) if not isinstance(answer, Failure)]
    for (probe, values, first), second in pairs:
        if apart(values, first, second, asked.dtype):
            return _two_answers(asked, probe, values, first, second)
    if any(not np.array_equal(first, second, equal_nan=True) for (_, _, first), second in pairs):
        asked.notes.append(BITS)
    return None


def apart(values: Values, first: Any, second: Any, dtype: str) -> bool:
    """Whether two answers differ by more than arithmetic in the coarsest format that it may compute in."""
    import numpy as np

    one, other = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if one.shape != other.shape or np.any(np.isfinite(one) != np.isfinite(other)):
        return True
    level = LEVELS[dtype][-1]
    known = np.isfinite(one)
    largest = np.max(np.abs(one[known]), initial=0.0)
    room = bound(values, level, dtype) + UNIT[level] * values.cells * largest
    with np.errstate(all="ignore"):
        return bool(np.any((np.abs(one - other) > room) & known))


def _two_answers(asked: "Examination", probe: Probe, values: Values, first: Any, second: Any) -> Finding:
    """The two answers to the smallest input that has two."""
    import numpy as np

    for small in islice(candidates(asked.maker, probe.x.ndim), 0, 24, 8):
        answers = [each["y"] for each in asked.implementation.run([small] * CALLS) if not isinstance(each, Failure)]
        others = [each for each in answers[1:] if not np.allclose(answers[0], each, rtol=SEEN, equal_nan=True)]
        if others:
            probe, first, second = small, answers[0], others[0]
            break
    says, given = shown_twice("y", probe, first, second)
    return Finding("not-deterministic", DIFFERS, says, fix=CHANGES, input=given)


def shown_twice(name: str, probe: Probe, first: Any, second: Any) -> tuple[str, dict[str, Any]]:
    """Two answers to one probe: the evidence in words, and the input with both."""
    import numpy as np

    cells = np.asarray(first, np.float64), np.asarray(second, np.float64)
    differ = np.argwhere(~np.isclose(*cells, rtol=0, atol=0, equal_nan=True))
    place = tuple(int(i) for i in max(differ, key=lambda at: _gap(cells, tuple(at))))
    says = (
        f"called twice with the same x of shape {probe.x.shape}, {len(differ)} of {cells[0].size} cells of {name} "
        f"differ: {name}[{', '.join(map(str, place))}] is {cells[0][place]:.6g}, and then {cells[1][place]:.6g}"
    )
    given = {key: value for key, value in shown(probe, 0, 0).items() if key not in ("expected", "got")}
    return says, given | {"got first": digits(first), "got second": digits(second)}


def _gap(cells: tuple[Any, Any], place: tuple[int, ...]) -> float:
    gap = abs(float(cells[0][place]) - float(cells[1][place]))
    return gap if gap == gap else float("inf")


def stub(asked: "Examination", rows: Sequence["Row"]) -> Finding | None:
    """A finding for answers that are nan alone, x itself, or the same whatever x is; None where they depend on x."""
    import numpy as np

    answers = [np.asarray(y, np.float64) for _, _, y in rows]
    on_all = f"on all {len(rows)} probes"
    if all(np.isnan(y).all() for y in answers):
        return _stub(asked, rows, "nan-output", "every cell of y is nan", on_all, NAN)
    if all(np.array_equal(y, np.asarray(probe.x, np.float64)) for y, (probe, _, _) in zip(answers, rows, strict=True)):
        return _stub(asked, rows, "returns-x", "it returns x as it came", f"y equals x {on_all}", _fix(asked))
    if not _depends(asked, rows):
        says = _constant(rows, answers)
        evidence = f"{says} {on_all}, and stays so when every cell of x is changed"
        return _stub(asked, rows, "constant-output", "y does not depend on x", evidence, _fix(asked))
    return None


def _fix(asked: "Examination") -> str:
    return FORMULAS.get(asked.norm.name, NORMALIZE)


def _depends(asked: "Examination", rows: Sequence["Row"]) -> bool:
    """Whether some answer changes with x, or cannot be had for another."""
    import numpy as np

    other = [probe.but(x=asked.maker.cast(np.asarray(probe.x, np.float64)[..., ::-1] * 2 + 1)) for probe, _, _ in rows]
    answers = asked.implementation.run(other)
    return any(
        isinstance(answer, Failure) or not np.array_equal(answer["y"], y, equal_nan=True)
        for answer, (_, _, y) in zip(answers, rows, strict=True)
    )


def _constant(rows: Sequence["Row"], answers: Sequence[Any]) -> str:
    """What y is."""
    import numpy as np

    values = np.unique(np.concatenate([y.ravel() for y in answers]))
    if len(values) == 1:
        return f"y is {values[0]:g} in every cell"
    shifts = (np.broadcast_to(values.shift, values.full) for _, values, _ in rows)
    is_beta = all(np.array_equal(shift.reshape(y.shape), y) for shift, y in zip(shifts, answers, strict=True))
    return "y is beta" if is_beta else "y is one array for each shape"


def _stub(asked: "Examination", rows: Sequence["Row"], id: str, name: str, evidence: str, fix: str) -> Finding:
    """The finding, on the smallest input."""
    probe = next(islice(candidates(asked.maker, rows[0][0].x.ndim), 1))
    made = asked.ask([probe])
    small, values, y = made[0] if made else rows[0]
    return Finding(id, name, evidence, "", fix, shown(small, values.y, y))
