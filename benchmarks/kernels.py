"""The kernels beside a copy, PyTorch, ONNX Runtime and NumPy: ratios of medians, taken in turn in one process.

It is a process of its own, in the environment of `make oracle` where that is installed, so that the other engines
are there; those that are not are said to be missing. `python -m benchmarks.kernels` prints each row as JSON.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .table import Figure, Missing

ROOT = Path(__file__).resolve().parent.parent
ORACLE = ROOT / ".venv-oracle" / "bin" / "python"


def figures() -> Iterator[Figure | Missing]:
    """Every row, as soon as it is measured."""
    python = str(ORACLE) if ORACLE.exists() else sys.executable
    with subprocess.Popen([python, "-m", "benchmarks.kernels"], cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for text in process.stdout:
            yield read(json.loads(text))
    if process.returncode:
        raise SystemExit(f"benchmarks.kernels broke off with exit code {process.returncode}")


def read(row: dict[str, Any]) -> Figure | Missing:
    """A row from its JSON."""
    return Missing(**row) if "why" in row else Figure(**row)


if __name__ == "__main__":
    from .kernel_runs import runs

    for each in runs():
        print(json.dumps(asdict(each)), flush=True)
