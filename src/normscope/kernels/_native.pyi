"""The C extension: native/module.c says what each does."""

from typing import Any

def norm(
    x: Any,
    residual: Any,
    gamma: Any,
    beta: Any,
    eps: float,
    out: Any,
    sum_out: Any,
    threads: int | None,
    center: bool,
    bfloat16: bool,
    /,
) -> Any: ...
def plan(
    x: Any,
    residual: Any,
    gamma: Any,
    beta: Any,
    eps: float,
    out: Any,
    sum_out: Any,
    threads: int | None,
    center: bool,
    bfloat16: bool,
    /,
) -> Any: ...
def force(instructions: str | None, stores: str | None, /) -> None: ...
def copy(to: Any, source: Any, threads: int, stream: bool, /) -> None: ...
def cores() -> int: ...
