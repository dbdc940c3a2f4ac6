"""The lab in a process of its own, as a person starts it, and addresses of random states."""

import random
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlencode

SERVE = "import sys; from normscope.interfaces.web import serve; sys.exit(serve({}, 0, False))"
STEPS = ("x", "mu", "c", "q", "var", "r", "xhat", "scaled", "y")
STORAGES = ("float32", "bfloat16", "float16")


@contextmanager
def served() -> Iterator[str]:
    """The address of a server process."""
    process = subprocess.Popen([sys.executable, "-c", SERVE], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield re.findall(r"http://[\d.:]+", process.stdout.readline())[0]
    finally:
        process.terminate()
        process.communicate()


def random_paths(count: int, seed: int = 0) -> list[str]:
    """Addresses of the lesson, each of another state, most of them edited."""
    draw = random.Random(seed)
    paths = []
    for _ in range(count):
        edits = (
            f"x.{draw.randrange(2)}.{draw.randrange(4)}.{draw.randrange(8)}:{draw.uniform(-5, 5):.3f}"
            for _ in range(draw.randrange(1, 6))
        )
        state = {"v": 1, "seed": draw.randrange(10**6), "storage": draw.choice(STORAGES), "step": draw.choice(STEPS)}
        paths.append("/inside?" + urlencode(state | {"edits": ",".join(edits)}))
    return paths
