"""The engines that every test of the kernels runs under."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.kernels.engines import ENGINES, forced


@pytest.fixture(params=ENGINES)
def kernels(request: Any) -> Iterator[Any]:
    """The functions of normscope.kernels, computing in one way."""
    with forced(request.param) as functions:
        yield functions
