"""Wrong definitions drawn from the field space, singly and in pairs, beyond the public faults."""

import random

import pytest

import normscope as ns
from normscope.diagnosis.judge import judge
from tests.diagnosis.asking import Local
from tests.diagnosis.definitions import drawn, ids, written

PARTS = 8


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_random_wrong_definitions_are_recognised(part):
    rng = random.Random(part)
    missed, misnamed = [], []
    count = 26
    for at in range(count):
        definition, foreign = drawn(rng, 1 + at % 2)
        made = judge(Local(written(definition, foreign)), ns.layer_norm(), seed=part)
        if made.verdict != "mistake":
            missed.append((definition, foreign, made.verdict))
        elif not ids(definition) <= set(made.ids):
            misnamed.append((definition, foreign, made.ids))
    assert len(missed) <= 0.05 * count, missed
    assert len(missed) + len(misnamed) <= 0.2 * count, (missed, misnamed)


@pytest.mark.parametrize(
    "mistakes", [("correction-1", "eps-outside-root"), ("rms-instead-of-layer-norm", "gamma-plus-one")]
)
def test_two_mistakes_are_two_findings(mistakes):
    definition = {
        "correction-1": {"count": "n-1", "divisor": "outside"},
        "rms-instead-of-layer-norm": {"center": "neither", "affine": ("1+g", "b")},
    }[mistakes[0]]
    from tests.diagnosis.definitions import RIGHT

    made = judge(Local(written(RIGHT | definition, 0.0)), ns.layer_norm())
    assert set(made.ids) == set(mistakes)
    inputs = [finding.input for finding in made.findings]
    assert all(entry["expected"] != entry["got"] for entry in inputs)
    assert all(len(entry["x"]) <= 2 and len(entry["x"][0]) <= 4 for entry in inputs)
