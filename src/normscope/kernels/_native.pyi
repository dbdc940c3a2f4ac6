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
def backward(
    x: Any,
    dy: Any,
    gamma: Any,
    beta: None,
    eps: float,
    dx: Any,
    sum_out: None,
    threads: int | None,
    center: bool,
    bfloat16: bool,
    sums: Any,
    /,
) -> None: ...
def force(instructions: str | None, stores: str | None, /) -> None: ...
def copy(to: Any, source: Any, threads: int, stream: bool, /) -> None: ...
def cores() -> int: ...
