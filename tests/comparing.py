"""Comparisons, for tests: tables of many shapes, and every name over them."""

import json
from pathlib import Path

import numpy as np
import pytest

import normscope as ns
from normscope.kinds import NAMES

GOLDEN = json.loads((Path(__file__).parent / "golden" / "lessons.json").read_text())["C"]
X = [[float(cell) for cell in row] for row in GOLDEN["x"].values()]
SHAPES = {"tokens": [(3, 4), (2, 3, 4), (2, 2, 3, 4)], "channels": [(5, 4), (2, 4, 3), (2, 4, 2, 3), (1, 4, 2, 1, 3)]}
EVERY = [
    pytest.param(name, layout, shape, id=f"{name}-{'x'.join(map(str, shape))}-{layout}")
    for name in NAMES
    for layout, shapes in SHAPES.items()
    for shape in shapes
    if (name, shape) != ("instance_norm", (5, 4))
]


def random(shape, seed=1):
    return np.random.default_rng(seed).normal(2, 3, shape)


def one(x, norm, **options):
    return ns.compare(x, norm, num_groups=2, **options)[0]
