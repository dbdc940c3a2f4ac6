"""The museum's exhibits: both sides against plain loops, ids that check reports, inputs that separate."""

import math
import random
from fractions import Fraction
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

import normscope as ns
from normscope.lessons.museum.catalogue import EXHIBITS
from normscope.lessons.museum.fingerprint import INSTRUMENTS, effective_eps, figures, probe
from normscope.lessons.museum.formulas import formulas
from normscope.lessons.museum.outcome import alike, outcome, ran, read
from normscope.lessons.museum.side import floats
from normscope.lessons.museum.slips import KINDS
from normscope.lessons.museum.usual import findings, usual_of
from normscope.views import exact
from normscope.views.cells import FLOATS
from tests.diagnosis.test_cases import EXPECTED
from tests.lessons.museum_oracles import WRONG, right

FORMULAS = Path(__file__).resolve().parent.parent / "golden" / "mistakes.txt"
ids = pytest.mark.parametrize("id", EXHIBITS)
WIDTHS = (3, 4, 5, 6, 7, 8)


def own(id):
    return read(id, tuple(EXHIBITS[id].given.items()))


def drawn(id, rows, columns, draw):
    """A table of whole numbers, and gamma, beta and eps that are not trivial."""

    def row():
        return [Fraction(draw.randint(-9, 9)) for _ in range(columns)]

    values = {"x": [row() for _ in range(rows)], "dy": [row() for _ in range(rows)]}
    values |= {"gamma": row(), "beta": row(), "eps": Fraction(draw.choice((1, 3)), 2), "momentum": Fraction(1, 4)}
    return {name: values[name] for name in EXHIBITS[id].given}


def assert_close(made, wanted, near=1e-9):
    assert len(made) == len(wanted)
    for a, b in zip(made, wanted, strict=True):
        assert len(a) == len(b) and all(alike(p, q, near) for p, q in zip(a, b, strict=True)), (made, wanted)


def test_there_are_enough_of_every_kind():
    assert len(EXHIBITS) >= 24 and set(WRONG) == set(EXHIBITS)
    assert {exhibit.kind for exhibit in EXHIBITS.values()} == set(KINDS)
    assert {exhibit.instrument for exhibit in EXHIBITS.values()} == set(INSTRUMENTS)


@ids
def test_both_outputs_are_those_of_plain_loops(id):
    exhibit, draw = EXHIBITS[id], random.Random(id)
    near = 1e-5 if exhibit.is_rounded else 1e-9
    tables = [own(id)]
    if not exhibit.is_rounded:
        shapes = [(4, width) for width in WIDTHS if not exhibit.fits(4, width)]
        tables += [drawn(id, *shape, draw) for shape in shapes for _ in range(2)]
    for given in tables:
        made, plain = ran(exhibit, given), {name: floats(value) for name, value in given.items()}
        assert_close(made.right, right(id, exhibit.function)(plain), near)
        assert_close(made.wrong, WRONG[id](plain), near)


@ids
def test_the_input_is_small_and_separates(id):
    made, given = outcome(id, tuple(EXHIBITS[id].given.items())), own(id)
    assert made.count >= 1
    assert len(given["x"]) <= 2 and len(given["x"][0]) <= 6


@ids
def test_the_exact_numbers_are_those_of_the_floats(id):
    made = outcome(id, tuple(EXHIBITS[id].given.items()))
    for rows, exact_rows in ((made.right, made.exact_right), (made.wrong, made.exact_wrong)):
        if EXHIBITS[id].is_rounded:
            assert exact_rows is None
            continue
        for value, number in zip(chain(*rows), chain(*exact_rows), strict=True):
            text = exact.digits(number, 12)
            assert math.isnan(value) if "undefined" in text else abs(float(text) - value) < 1e-9


def as_function(exhibit):
    """The wrong side as a function of arrays of any rank."""

    def called(x, **given):
        rows = x.reshape(-1, x.shape[-1]).tolist()
        inputs = {name: np.asarray(value).tolist() for name, value in given.items()} | {"x": rows}
        return np.asarray(exhibit.wrong.run(inputs, FLOATS)).reshape(x.shape).astype(x.dtype)

    def layer_norm(x, gamma, beta, eps):
        return called(x, gamma=gamma, beta=beta, eps=eps)

    def rms_norm(x, gamma, eps):
        return called(x, gamma=gamma, eps=eps)

    return {"layer_norm": layer_norm, "rms_norm": rms_norm}[exhibit.function]


UNASKED = {  # what a function of rows cannot show, or is checked with other arguments
    "ignores-offset-and-strides", "affine-on-wrong-axis", "keepdims-dropped", "affine-per-group",
    "block-bleeds-into-next-row", "one-pass-variance", "variance-in-half", "eps-in-half", "rstd-in-bf16",
    "mean-term-missing", "xhat-term-missing", "gamma-missing-in-gradient", "running-variance-biased",
    "momentum-inverted",
}  # fmt: skip


@pytest.mark.parametrize("id", [id for id in EXHIBITS if id not in UNASKED])
def test_check_reports_exactly_this_id(id):
    exhibit = EXHIBITS[id]
    norm = ns.rms_norm(eps=1e-5) if exhibit.function == "rms_norm" else ns.layer_norm()
    verdict = ns.check(as_function(exhibit), norm, isolate=False)
    assert verdict.ids == (id,), verdict


BACKWARD = {id for id in UNASKED if EXHIBITS[id].function == "layer_norm_backward"}


@pytest.mark.parametrize("id", sorted(BACKWARD))
def test_check_reports_exactly_this_id_of_a_backward(id):
    def layer_norm_backward(dy, x, gamma, eps):
        fields = {"x": x.reshape(-1, x.shape[-1]), "dy": dy.reshape(-1, x.shape[-1]), "gamma": gamma}
        return np.asarray(WRONG[id]({name: each.tolist() for name, each in fields.items()} | {"eps": eps})).reshape(
            x.shape
        )

    verdict = ns.check(None, ns.layer_norm(), backward=layer_norm_backward, isolate=False)
    assert verdict.ids == (id,), verdict


def test_the_other_ids_are_those_of_public_cases():
    assert set().union(*EXPECTED.values()) >= UNASKED - BACKWARD


def test_the_formulas_are_those_that_were_read_and_approved():
    lines = []
    for id, exhibit in EXHIBITS.items():
        lines += [id, *(f"    {line}" for line in formulas(exhibit, exhibit.wrong))]
    assert "\n".join(lines) + "\n" == FORMULAS.read_text(encoding="utf-8")


@ids
def test_the_fingerprint_tells_the_two_apart(id):
    assert any(each.right != each.wrong for each in figures(id))


@pytest.mark.parametrize(
    ("id", "pattern"),
    [
        ("correction-1", lambda v, eps, d: v / (d - 1) + eps),
        ("eps-outside-root", lambda v, eps, d: 2 * eps * math.sqrt(v) + eps**2),
        ("eps-twice", lambda v, eps, d: 2 * eps),
        ("eps-missing", lambda v, eps, d: 0),
        ("eps-fixed", lambda v, eps, d: 1e-3),
        ("eps-squared", lambda v, eps, d: eps**2),
        ("eps-as-floor", lambda v, eps, d: max(eps - v, 0)),
        ("normalized-twice", lambda v, eps, d: (v + eps) * (v / (v + eps) + eps) - v),
    ],
)
def test_the_effective_eps_has_the_known_pattern(id, pattern):
    exhibit = EXHIBITS[id]
    given = probe(exhibit)
    for row, cells in enumerate(given["x"]):
        v, d = float(np.var(np.asarray(cells, float))), len(cells)
        found = effective_eps(exhibit, exhibit.wrong, given, row)
        assert found == pytest.approx([pattern(v, 0.5, d)] * d, rel=1e-6, abs=1e-9)


def assert_verdict(id, test, finding):
    """The usual test once more, by NumPy on what the oracles return."""
    exhibit, given = EXHIBITS[id], {name: floats(value) for name, value in test.given(EXHIBITS[id]).items()}
    wanted, made = np.asarray(right(id, exhibit.function)(given)), np.asarray(WRONG[id](given))
    if "NaN" in test.about:
        passes = bool(np.isfinite(made).all())
    elif "mean and std" in test.about:
        passes = bool(abs(made.mean()) < 0.05 and abs(made.std() - 1) < 0.05)
    else:
        near = 1e-2 if "1 %" in test.about else 1e-4
        passes = bool(np.allclose(made, wanted, rtol=near, atol=near / 10))
    assert finding.passes == passes, (test.about, passes)


@ids
def test_a_usual_test_really_misses_it_where_the_page_says_so(id):
    found = findings(id)
    assert any(each.passes for each in found)
    for test, finding in zip(usual_of(EXHIBITS[id]), found, strict=True):
        if finding.passes is None:
            given = test.given(EXHIBITS[id])
            assert EXHIBITS[id].fits(len(given["x"]), len(given["x"][0]))
        else:
            assert_verdict(id, test, finding)


def test_only_addresses_are_claimed_as_seen():
    seen = [exhibit.seen for exhibit in EXHIBITS.values() if exhibit.seen]
    assert len(seen) == len(set(seen)) >= 24 and all(address.startswith("https://") for address in seen)
