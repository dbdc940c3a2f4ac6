"""docs/performance.md and its plot: `python tools/performance_doc.py` measures on this machine and writes both.

It takes some minutes, on a machine that does nothing else. No test compares the figures; one reads the page's form.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.kernels import ORACLE, figures  # noqa: E402
from benchmarks.table import Figure, Missing  # noqa: E402

PAGE = ROOT / "docs" / "performance.md"
PLOT = ROOT / "docs" / "performance.svg"
MEASURE = "import sys; from normscope.interfaces.cli import main; sys.exit(main(sys.argv[1:]))"
HEAD = """# Performance

Written by `python tools/performance_doc.py`, which measured all of it on one machine:
{machine}

A fused norm reads x once and writes y once, and so does a copy of x. The yardstick is a streaming copy (non-temporal
stores) by the same threads in the same run; in cache, which such stores would leave, the faster of a streaming and a
plain copy. Every ratio is of medians of samples taken in turn; those in which the system took the processor away are
dropped. Under "reached", "goal" means the goal, "floor" only the floor, and MISSED neither.

Where nothing else is said, y is written into an array that is there already, and PyTorch's memory is kept between
calls, so that no engine waits for fresh pages; "as called" leaves PyTorch as it comes: it allocates y in each call.
Shapes are rows and d.
"""
SECTIONS = {
    "Beside a copy (time over time; 1 is the limit)": r"layer_norm / copy",
    "Beside PyTorch (its time over ours)": r"PyTorch",
    "Beside ONNX Runtime and NumPy (their time over ours)": r"ONNX Runtime|NumPy",
    "A call": r"layer_norm with out=",
}
LIMITS = {
    r"copy: 512 x 12288": "a row with gamma and beta is 144 KiB, beyond the first level of cache, and is read twice.",
    r"copy: .*, 1 thread$": "one core cannot hide all of the arithmetic behind its waiting for memory.",
    r"copy: 96 x": "in cache nothing waits for memory: a row is read twice where a copy reads it once, and a call has "
    "its overhead.",
    r"copy: ": "the arithmetic that waiting for memory does not hide.",
    r"layer_norm_backward": "dy and x are read twice, and three results written; PyTorch waits for the same memory.",
    r"float16|bfloat16": "half the bytes a cell and as much arithmetic: widening and rounding take the time.",
    r"one row": "what is left is Python's own cost of a call with keywords.",
    r"as called": "PyTorch's time is that of the system's fresh pages, and depends on the system.",
    r"PyTorch|ONNX Runtime": "the other engine is that near to the copy, beyond which nothing goes.",
}

Row = Figure | Missing


def page(rows: Sequence[Row], measured: dict[str, Any]) -> str:
    """The whole page, from the rows of the benchmark and the JSON of `normscope measure`."""
    from normscope.interfaces import machine

    parts = [HEAD.format(machine=machine.written(measured["machine"]))]
    for title, pattern in SECTIONS.items():
        chosen = [row for row in rows if re.match(pattern, row.what)]
        parts.append(f"## {title}\n\n{_table(chosen)}")
    return "\n".join([*parts, _limits(rows), _measured(measured)])


def _table(rows: Iterable[Row]) -> str:
    lines = ["| what | measured | floor | goal | reached |", "|---|---:|---:|---:|---|"]
    for row in rows:
        if isinstance(row, Missing):
            lines.append(f"| {row.what} | not measured | | | {row.why} |")
            continue
        sign = "≥" if row.more else "≤"
        marks = ["" if mark is None else f"{sign} {mark:g}" for mark in (row.floor, row.goal)]
        lines.append(f"| {row.what} | {row.measured:.3g} {row.unit} | {marks[0]} | {marks[1]} | {row.verdict} |")
    return "\n".join(lines) + "\n"


def _limits(rows: Sequence[Row]) -> str:
    """A line for every goal that is not reached: what limits it."""
    short = [row for row in rows if isinstance(row, Figure) and not row.reaches(row.goal)]
    lines = [f"* {row.what}: {limit(row.what)}" for row in short] or ["Every goal is reached."]
    return "## Goals not reached, and what limits them\n\n" + "\n".join(lines) + "\n"


def limit(what: str) -> str:
    """What limits a row."""
    return next(text for pattern, text in LIMITS.items() if re.search(pattern, what))


def _measured(data: dict[str, Any]) -> str:
    """The table of `normscope measure`."""
    from normscope.interfaces import measured

    head, *lines = measured.cells(data)
    rows = [head, ["---", *["---:"] * (len(head) - 1)], *lines]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    plot = f"![Times beside a copy's, and bytes kept]({PLOT.name})"
    notes = "\n".join([measured.told(data), *measured.absent(data), *measured.remarks(data)[:-1]])
    return (
        f"## Predicted and measured\n\n`normscope measure`: {measured.title(data)}.\n\n{plot}\n\n{table}\n\n{notes}\n"
    )


def main() -> None:
    """Measure and write."""
    python = str(ORACLE) if ORACLE.exists() else sys.executable
    command = [python, "-c", MEASURE, "measure", "--shape", "16,1024,768", "--json", "--plot", str(PLOT)]
    measured = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout)
    rows = []
    for row in figures():
        print(row, flush=True)
        rows.append(row)
    PAGE.write_text(page(rows, measured), encoding="utf-8")


if __name__ == "__main__":
    main()
