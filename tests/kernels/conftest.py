"""The engines that every test of the kernels runs under."""

from typing import Any

import pytest

from tests.kernels.engines import ENGINES


@pytest.fixture(params=ENGINES)
def kernels(request: Any) -> Any:
    """One way to compute, with the functions of normscope.kernels."""
    return ENGINES[request.param]
