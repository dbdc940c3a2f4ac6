"""Each instrument alone: what it measures, and that the judgement needs it."""

import numpy as np
import pytest

import normscope as ns
from normscope.diagnosis import forward, rounded
from normscope.diagnosis.definition import evaluate, right
from normscope.diagnosis.effective import solve_divisor
from normscope.diagnosis.forward import Forward
from normscope.diagnosis.instruments import influence, moves_with_shift
from normscope.diagnosis.judge import judge
from normscope.diagnosis.probes import Probe, laid_out
from normscope.diagnosis.questions import Maker
from normscope.diagnosis.search import affine_forms
from tests.diagnosis.asking import Local
from tests.diagnosis.definitions import RIGHT, written
from tests.diagnosis.rights import two_pass

LAYER = ns.layer_norm()
ALL = frozenset({"x", "gamma", "beta", "eps"})


def wrong(**fields):
    return Local(written(RIGHT | fields, 0.01))


def test_layouts_hold_the_same_cells_in_other_places():
    x = np.arange(12.0).reshape(3, 4)
    views = {layout: laid_out(x, layout) for layout in ("contiguous", "offset", "step", "transposed")}
    assert all(np.array_equal(view, x) for view in views.values())
    assert views["offset"].base.size == 24 and views["step"].strides == (64, 16)
    assert views["transposed"].flags.f_contiguous and not views["transposed"].flags.c_contiguous


def test_probes_are_never_what_hides_a_mistake():
    maker = Maker(LAYER, "float64", ALL)
    core = maker.core()
    assert {probe.x.ndim for probe in core} == {2, 3}
    assert {5, 6, 7} <= {probe.x.shape[-1] for probe in core}
    assert any(probe.x.shape == (5, 5) for probe in core)
    for probe in core:
        assert len(np.unique(probe.gamma)) == probe.gamma.size > 1 and not np.any(probe.gamma == 0)
        assert probe.beta.any() and abs(probe.x.mean()) > 0
    variances = [probe.x.var(-1).max() for probe in core]
    assert min(variances) < 1e-10 and any(probe.eps > 8 for probe in core)
    assert any((probe.x.var(-1) == 0).any() for probe in core)


@pytest.mark.parametrize("over", ["last", "all", "rest"])
def test_influence_names_the_axes(over):
    maker = Maker(LAYER, "float64", ALL)
    probes, places = maker.influence()
    answers = [each["y"] for each in wrong(over=over).run(probes)]
    found = influence(LAYER.fit(3), probes, places, answers)
    assert found.axes == {"last": ("d",), "all": ("B", "S", "d"), "rest": ("B", "S")}[over]


def test_a_finding_about_axes_shows_which_cells_react():
    def over_rows(x, gamma, beta, eps):
        mean = x.mean(tuple(range(x.ndim - 1)), keepdims=True)
        return (x - mean) / np.sqrt(x.var(tuple(range(x.ndim - 1)), keepdims=True) + eps) * gamma + beta

    (finding,) = judge(Local(over_rows), LAYER).findings
    should, does = finding.reaction.should, finding.reaction.does
    assert finding.id == "wrong-axes" and finding.reaction.place == (0, 0, 0)
    assert should[0, 0].all() and should.sum() == should.shape[-1]
    assert does[:, :, 0].all() and does.sum() == should.size // should.shape[-1]
    assert finding.to_json()["reaction"]["does"] == does.tolist()
    assert not judge(wrong(divisor="fixed"), LAYER).findings[0].reaction


def test_influence_of_half_a_row_fills_no_axis():
    def halves(x, gamma, beta, eps):
        h = x.shape[-1] // 2
        parts = [two_pass(part, 1.0, 0.0, eps) for part in (x[..., :h], x[..., h:])]
        return np.concatenate(parts, -1) * gamma + beta

    probes, places = Maker(LAYER, "float64", ALL).influence()
    answers = [each["y"] for each in Local(halves).run(probes)]
    assert influence(LAYER.fit(3), probes, places, answers).axes is None


@pytest.mark.parametrize(
    ("affine", "form"),
    [(("b", "g"), ("beta", "gamma")), (("1+g", "b"), ("1 + gamma", "beta")), (("g", "gb"), ("gamma", "gamma beta"))],
)
@pytest.mark.parametrize("center", ["both", "neither"])
def test_the_affine_is_known_whatever_xhat_is(affine, form, center):
    maker, asked = Maker(LAYER, "float64", ALL), wrong(affine=affine, center=center, divisor="variance")
    base = right(LAYER.fit(2))
    sets = [
        [(probe, each["y"]) for probe, each in zip(probes, asked.run(probes), strict=True)]
        for probes in maker.affine(base.norm)
    ]
    assert affine_forms(base, sets, "float64")[0] == form


def test_a_shift_moves_what_is_not_centered():
    probes = Maker(LAYER, "float64", ALL).shifts()
    for center, moves in {"both": False, "neither": True, "numerator": True, "spread": True}.items():
        assert moves_with_shift(*(each["y"] for each in wrong(center=center).run(probes))) is moves


@pytest.mark.parametrize(
    ("fields", "solved"),
    [
        ({"divisor": "fixed"}, (1, 0, 0.01)),
        ({"divisor": "plus"}, (1, 1, 0.01)),
        ({"divisor": "doubled"}, (1, 2, 0)),
        ({"factor": 0.7}, (0.7, 1, 0)),
        ({"factor": 3.0, "divisor": "plus"}, (3, 1, 0.01)),
        ({"factor": -1.0}, (-1, 1, 0)),
    ],
)
def test_foreign_numbers_are_solved_for(fields, solved):
    maker = Maker(LAYER, "float64", ALL)
    probes = [probe for probe in maker.core() if probe.x.ndim == 2]
    asked = [(probe, each["y"]) for probe, each in zip(probes, wrong(**fields).run(probes), strict=True)]
    found = solve_divisor(right(LAYER.fit(2)), asked, 2.0**-53).rounded()
    assert (found.factor, found.times, found.plus) == pytest.approx(solved, rel=1e-9)


def test_no_divisor_is_solved_for_where_there_is_none():
    maker = Maker(LAYER, "float64", ALL)
    probes = [probe for probe in maker.core() if probe.x.ndim == 2]
    asked = [(probe, np.tanh(each["y"])) for probe, each in zip(probes, wrong().run(probes), strict=True)]
    assert solve_divisor(right(LAYER.fit(2)), asked, 2.0**-53) is None


def test_a_definition_is_the_trace():
    probe = Maker(LAYER, "float64", ALL).core()[0]
    made = ns.trace(probe.x, ns.layer_norm(eps=probe.eps), probe.gamma, probe.beta)
    assert np.allclose(evaluate(right(LAYER.fit(2)), probe).y, made.output, rtol=1e-14, atol=1e-15)


def test_the_bound_grows_with_the_condition():
    from normscope.diagnosis.bounds import bound

    x = np.array([[1.0, 2.0, 4.0]])
    given = {"gamma": np.ones(3), "beta": np.zeros(3), "eps": 1e-5}
    base = right(LAYER.fit(2))
    rooms = [bound(evaluate(base, Probe(x + offset, **given)), "float32", "float32").max() for offset in (0, 1e3, 1e6)]
    assert rooms[1] > 100 * rooms[0] and rooms[2] > 900 * rooms[1]
    assert rooms[0] < 1e-4


CASES = {
    "_layout": ("ignores-offset-and-strides", lambda self, level: []),
    "numerics": ("one-pass-variance", lambda examination, level: []),
    "_influence": ("wrong-axes", lambda self: None),
    "_forms": ("gamma-beta-swapped", lambda self, rows, level: None),
}


def kinds_of_mistakes():
    def base_buffer(x, gamma, beta, eps):
        base = x
        while isinstance(base.base, np.ndarray):
            base = base.base
        return two_pass(np.ascontiguousarray(base).ravel()[: x.size].reshape(x.shape), gamma, beta, eps)

    def one_pass(x, gamma, beta, eps):
        cells = x.astype(np.float32)
        mean = cells.mean(-1, keepdims=True)
        var = (cells * cells).mean(-1, keepdims=True) - mean * mean
        return (cells - mean) / np.sqrt(var + np.float32(eps)) * gamma + beta

    return {
        "_layout": Local(base_buffer),
        "numerics": Local(one_pass),
        "_influence": wrong(over="rest"),
        "_forms": wrong(affine=("b", "g")),
    }


@pytest.mark.parametrize("instrument", CASES)
def test_the_judgement_needs_every_instrument(instrument, monkeypatch):
    named, without = CASES[instrument]
    asked = kinds_of_mistakes()[instrument]
    assert named in judge(asked, LAYER).ids
    owner = Forward if instrument.startswith("_") else forward
    monkeypatch.setattr(owner, instrument, without)
    if instrument == "_influence":  # without it a search goes on at a rank that cannot tell the axes' names
        assert "B S" not in str(judge(asked, LAYER))
    else:
        assert named not in judge(asked, LAYER).ids


def test_the_judgement_needs_the_solver(monkeypatch):
    assert judge(wrong(divisor="fixed"), LAYER).ids == ("eps-fixed",)
    monkeypatch.setattr("normscope.diagnosis.search.solve_divisor", lambda *given: None)
    assert judge(wrong(divisor="fixed"), LAYER).verdict == "unrecognised"


def test_the_judgement_needs_the_rounded_programs(monkeypatch):
    def half_variance(x, gamma, beta, eps):
        mean = x.mean(-1, keepdims=True)
        var = ((x - mean) ** 2).mean(-1, keepdims=True).astype(np.float16).astype(np.float64)
        return (x - mean) / np.sqrt(var + eps) * gamma + beta

    assert judge(Local(half_variance), LAYER).ids == ("variance-in-half",)
    monkeypatch.setattr(rounded, "kept_changes", lambda *given: iter(()))
    assert "variance-in-half" not in judge(Local(half_variance), LAYER).ids


def test_an_unknown_mistake_is_localised():
    def from_a_hundred_on(x, gamma, beta, eps):
        return two_pass(x, gamma, beta, eps) + (x if x.shape[-1] > 100 else 0)

    def cubes(x, gamma, beta, eps):
        return np.tanh(two_pass(x, 1.0, 0.0, eps)) * gamma + beta

    first, second = (judge(Local(each), LAYER) for each in (from_a_hundred_on, cubes))
    assert first.ids == second.ids == ("unrecognised",)
    assert "the first wrong ones have 130" in first.findings[0].evidence
    assert "moves y along d" in second.findings[0].evidence
    assert "gamma and beta enter as they should" in second.findings[0].evidence
    assert "differs within a row" in second.findings[0].evidence


def test_calls_that_fail():
    def raises(x, gamma, beta, eps):
        raise RuntimeError("no")

    def powers_of_two(x, gamma, beta, eps):
        if x.shape[-1] & (x.shape[-1] - 1):
            raise RuntimeError("d must be a power of two")
        return two_pass(x, gamma, beta, eps)

    def two_axes(x, gamma, beta, eps):
        _rows, _n = x.shape
        return two_pass(x, gamma, beta, eps)

    assert judge(Local(raises), LAYER).ids == ("raises",)
    assert judge(Local(powers_of_two), LAYER).ids == ("raises",)
    made = judge(Local(two_axes), LAYER)
    assert made.verdict == "correct" and "3 dimensions" in made.notes[0]


def test_a_fixed_block_is_found_where_it_begins():
    def block(x, gamma, beta, eps):
        y = np.zeros(x.shape)
        part = x[..., :1024]
        y[..., :1024] = two_pass(part, gamma[:1024], beta[:1024], eps)
        return y

    made = judge(Local(block), LAYER)
    assert made.ids == ("columns-beyond-block-ignored",) and "1024" in made.findings[0].formula
