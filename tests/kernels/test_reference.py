"""The two references agree, and the bounds are those of the promise."""

import numpy as np
import pytest

from tests.kernels.reference import BFLOAT16, FLOAT16, FLOAT32, bound, exact, rounded, ulp, wide


@pytest.mark.parametrize("center", [True, False])
def test_fractions_and_long_double_agree(center):
    random = np.random.default_rng(1)
    x = (random.normal(size=(3, 21)) * 1e3 + 1e6).astype(np.float32)
    gamma, beta = random.normal(size=(2, 21)).astype(np.float32)
    mine, theirs = (norm(x, gamma, beta, center=center) for norm in (exact, wide))
    for name in ("y", "xhat", "r", "spread"):
        assert np.allclose(getattr(mine, name).astype(float), getattr(theirs, name).astype(float), rtol=1e-13, atol=0)


def test_a_row_worked_by_hand():
    right = exact(np.array([[1.0, 3.0]]), np.array([2.0, 4.0]), np.array([0.5, -1.0]), 0.0)
    assert right.y.astype(float).tolist() == [[-1.5, 3.0]]
    assert bound(right, np.array([2.0, 4.0]), FLOAT32).tolist() == [[4e-6 + 4 * 2**-23, 8e-6 + 8 * 2**-23]]


def test_ulps_and_rounding_are_those_of_the_formats():
    assert ulp(np.array([1.0, 1.9, 2.0, 0.0]), BFLOAT16).tolist() == [2**-7, 2**-7, 2**-6, 2.0**-133]
    assert ulp(np.array([65504.0, 1e9, 1e-9]), FLOAT16).tolist() == [32, 32, 2**-24]
    assert ulp(np.float64(1e38), FLOAT32) == np.spacing(np.float32(1e38))
    right = exact(np.array([[1.0, 2.0, 7.0]]), eps=0.0)
    assert rounded(right, FLOAT16).tolist() == right.y.astype(float).astype(np.float16).astype(float).tolist()
