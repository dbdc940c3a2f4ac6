"""The pytest plugin: the fixture `norm_check`, whose failure is the diagnosis.

def test_layer_norm(norm_check):
    norm_check(layer_norm)
    norm_check(rms_norm, ns.rms_norm())
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ..diagnosis.verdict import Verdict
    from ..norm import Norm


@pytest.fixture(scope="session")
def norm_check() -> "Callable[..., Verdict]":
    """`norm_check(fn, norm)`: as `normscope.check`; the test fails with the diagnosis unless the verdict is correct."""

    def run(fn: Any, norm: "Norm | None" = None, **options: Any) -> "Verdict":
        __tracebackhide__ = True
        import normscope

        from .verdicts import text

        verdict = normscope.check(fn, norm or normscope.layer_norm(), **options)
        if verdict.verdict != "correct":
            pytest.fail(text(verdict, f"{verdict.title}: {verdict.verdict}"), pytrace=False)
        return verdict

    return run
