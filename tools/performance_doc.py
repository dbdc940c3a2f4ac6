"""docs/performance.md and its plot: `python tools/performance_doc.py` measures on this machine and writes both.

It takes some minutes, on a machine that does nothing else: everything is measured RUNS times over, and a figure is the
median of them. No test compares the figures; one reads the page's form.
"""

import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.kernels import ORACLE, figures  # noqa: E402
from benchmarks.table import Figure, Missing  # noqa: E402

RUNS = 5
PAGE = ROOT / "docs" / "performance.md"
PLOT = ROOT / "docs" / "performance.svg"
MEASURE = "import sys; from normscope.interfaces.cli import main; sys.exit(main(sys.argv[1:]))"
HEAD = """# Performance

Written by `python tools/performance_doc.py`, which measured all of it on one machine:
{machine}

A fused norm reads x once and writes y once, and so does a copy of x. The yardstick is a streaming copy (non-temporal
stores) by the same threads in the same run; in cache, which such stores leave, a plain copy is faster, and stands in a
row of its own. Every ratio is of medians of samples taken in turn; those in which the system took the processor away
are dropped. The whole table was measured {runs} times: "measured" is the median, "between" the lowest and the highest.
Under "reached", "goal" means the goal, "floor" only the floor, and MISSED neither.

Where nothing else is said, y is written into an array that is there already, and PyTorch's memory is kept between
calls, so that no engine waits for fresh pages; "as called" leaves PyTorch as it comes: it allocates y in each call.
Shapes are rows and d.
"""
SECTIONS = {
    "Beside a copy (time over time; 1 is the limit)": r"layer_norm / (plain )?copy",
    "Beside PyTorch (its time over ours)": r"PyTorch",
    "Beside ONNX Runtime and NumPy (their time over ours)": r"ONNX Runtime|NumPy",
    "A call": r"layer_norm with out=",
}
LIMITS = {
    r"copy: 96 x": "In cache nothing waits for memory: a row is read twice where a copy reads it once, gamma and beta "
    "with it, and a call has its overhead.",
    r"copy: .*, 1 thread$": "One thread cannot hide all of the arithmetic behind its waiting for memory: a cell is "
    "read from memory and once more from cache, and some eight operations are done on it.",
    r"copy: ": "What waiting for memory does not hide: the arithmetic, and gamma and beta, which are read from cache.",
    r"layer_norm_backward": "dy and x are read twice, and dx, dgamma and dbeta written; PyTorch waits for the same "
    "memory.",
    r"float16|bfloat16": "Half the bytes of a cell and as much arithmetic: widening and rounding take the time.",
    r"one row": "What is left is Python's own cost of a call with keywords.",
    r"as called": "PyTorch's time is that of the system's fresh pages, and depends on the system.",
    r"PyTorch|ONNX Runtime": "Both wait for the same memory: what can be gained on the other ends at the copy (see the "
    "first table).",
}

Row = Figure | Missing


def page(runs: Sequence[Sequence[Row]], measured: dict[str, Any]) -> str:
    """The whole page, from the rows of each run of the benchmark and the JSON of `normscope measure`."""
    from normscope.interfaces import machine

    told = [Told.of(rows) for rows in zip(*runs, strict=True)]
    parts = [HEAD.format(machine=machine.written(measured["machine"]), runs=len(runs))]
    for title, pattern in SECTIONS.items():
        chosen = [each for each in told if re.match(pattern, each.row.what)]
        parts.append(f"## {title}\n\n{_table(chosen)}")
    rows = [each.row for each in told if isinstance(each.row, Figure)]
    return "\n".join([*parts, *_missed(rows), _limits(rows), _measured(measured)])


class Told(NamedTuple):
    """A row of the page: the median of several runs, and the figures between which they were."""

    row: Row
    between: str

    @classmethod
    def of(cls, rows: Sequence[Row]) -> "Told":
        """From the same row of every run."""
        figures = [row for row in rows if isinstance(row, Figure)]
        if not figures:
            return cls(rows[0], "")
        values = [row.measured for row in figures]
        return cls(replace(figures[0], measured=median(values)), f"{min(values):.3g} – {max(values):.3g}")


def _table(rows: Iterable[Told]) -> str:
    lines = ["| what | measured | between | floor | goal | reached |", "|---|---:|---:|---:|---:|---|"]
    for row, between in rows:
        if isinstance(row, Missing):
            lines.append(f"| {row.what} | not measured | | | | {row.why} |")
            continue
        sign = "≥" if row.more else "≤"
        marks = ["" if mark is None else f"{sign} {mark:g}" for mark in (row.floor, row.goal)]
        figure = f"{row.measured:.3g} {row.unit}"
        lines.append(f"| {row.what} | {figure} | {between} | {marks[0]} | {marks[1]} | {row.verdict} |")
    return "\n".join(lines) + "\n"


def _missed(rows: Sequence[Figure]) -> list[str]:
    """The rows whose floor is not reached; of another engine's, what a norm of the copy's goal would reach."""
    copies = {row.what.removeprefix("layer_norm / copy: "): row for row in rows}
    lines = []
    for row in rows:
        if not row.missed:
            continue
        line = f"* {row.what}: {row.measured:.3g} {row.unit}."
        engine, _, about = row.what.partition(" / layer_norm: ")
        if (copy := copies.get(about)) and copy.goal:
            taken = row.measured * copy.measured
            line += f" {engine} takes {taken:.3g} copies there; a norm that took {copy.goal:g}, the goal beside a copy,"
            line += f" would be {taken / copy.goal:.3g} times as fast."
        lines.append(line)
    return ["## Floors missed\n\n" + "\n".join(lines) + "\n"] if lines else []


def _limits(rows: Sequence[Figure]) -> str:
    """What limits the rows whose goal is not reached, each reason with its rows."""
    short = defaultdict(list)
    for row in rows:
        if not row.reaches(row.goal):
            short[limit(row.what)].append(row.what)
    lines = [f"* {why} ({'; '.join(names)})" for why, names in short.items()] or ["Every goal is reached."]
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
    runs: list[list[Row]] = []
    for _ in range(RUNS):
        runs.append([])
        for row in figures():
            print(row, flush=True)
            runs[-1].append(row)
    PAGE.write_text(page(runs, measured), encoding="utf-8")


if __name__ == "__main__":
    main()
