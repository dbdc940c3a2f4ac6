"""How long a verdict takes: of a right function, a mistaken one, two that no explanation fits, and as a command."""

import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import dedent
from typing import Any

from .core import command, seconds
from .table import Figure

IN_PROCESS, AS_COMMAND = 1.0, 2.0  # seconds
ROUNDS = 3

FUNCTIONS = dedent("""
    import numpy as np

    def layer_norm(x, gamma, beta, eps):
        mu = x.mean(-1, keepdims=True)
        return (x - mu) / np.sqrt(x.var(-1, keepdims=True) + eps) * gamma + beta

    def eps_outside(x, gamma, beta, eps):
        mu = x.mean(-1, keepdims=True)
        return (x - mu) / (np.sqrt(x.var(-1, keepdims=True)) + eps) * gamma + beta

    def sine(x, gamma, beta, eps):
        mu = x.mean(-1, keepdims=True)
        return np.sin((x - mu) / np.sqrt(x.var(-1, keepdims=True) + eps)) * gamma + beta

    def layer_norm_backward(dy, x, gamma, eps):
        xhat = layer_norm(x, 1, 0, eps)
        g = dy * gamma
        dx = g - g.mean(-1, keepdims=True) - xhat * (g * xhat).mean(-1, keepdims=True)
        r = 1 / np.sqrt(x.var(-1, keepdims=True) + eps)
        rows = tuple(range(x.ndim - 1))
        return r * dx, (dy * xhat).sum(rows), dy.sum(rows)

    def sine_backward(dy, x, gamma, eps):
        dx, dgamma, dbeta = layer_norm_backward(dy, x, gamma, eps)
        return np.sin(dx), dgamma, dbeta
""")


def figures() -> Iterator[Figure]:
    import normscope as ns

    made: dict[str, Any] = {}
    exec(compile(FUNCTIONS, "functions", "exec"), made)
    right, back = made["layer_norm"], made["layer_norm_backward"]
    asked = {
        "a right function": lambda: ns.check(right, isolate=False),
        "eps after the root": lambda: ns.check(made["eps_outside"], isolate=False),
        "a function that nothing explains": lambda: ns.check(made["sine"], isolate=False),
        "a right backward": lambda: ns.check(None, backward=back, isolate=False),
        "a backward that nothing explains": lambda: ns.check(None, backward=made["sine_backward"], isolate=False),
    }
    for what, ask in asked.items():
        yield Figure(f"check of {what}", min(seconds(ask) for _ in range(ROUNDS)), "s", IN_PROCESS, IN_PROCESS)
    with TemporaryDirectory() as folder:
        file = Path(folder, "functions.py")
        file.write_text(FUNCTIONS)
        run = command(Path(sys.executable).with_name("normscope"), "check", f"{file}:layer_norm")
        took = min(seconds(run) for _ in range(ROUNDS))
    yield Figure("normscope check of a right function", took, "s", AS_COMMAND, AS_COMMAND)
