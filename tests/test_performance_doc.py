"""The page of figures: its form, not its figures, which are of the machine that wrote it."""

import json
from dataclasses import replace

import pytest

from benchmarks.kernels import read
from benchmarks.table import Figure, Missing
from tools import performance_doc

MACHINE = {"cpu": "A processor", "cores": 2, "system": "Linux x86_64", "python": "3.11.7"}
ROW = {"engine": "staged", "predicted_bytes": 1408, "measured_bytes": 1408, "moved_bytes": None}
MEASURED = {
    "machine": MACHINE,
    "norm": {"name": "LayerNorm"},
    "shape": [2, 4, 8],
    "storage": "float32",
    "x_bytes": 256,
    "threads": 2,
    "copy_gbps": 20.0,
    "yardstick": "streaming copy",
    "kernel": "the C extension",
    "rows": [ROW | {"seconds": 0.001, "of_copy_limit": 0.5}],
    "missing": {"pytorch": "PyTorch is not installed"},
}
ROWS = (
    Figure("layer_norm / copy: 8192 x 768 float32, 2 threads", 1.02, "x", 1.15, 1.03),
    Figure("layer_norm / copy: 512 x 12288 float32, 2 threads", 1.4, "x", 1.5, 1.2),
    Figure("PyTorch / layer_norm: 8192 x 768 float32, 2 threads", 1.7, "x", 1.8, 2.5, more=True),
    Missing("ONNX Runtime / layer_norm: 8192 x 768 float32, 2 threads", "ONNX Runtime is not installed"),
)


def again(factor: float) -> list[Figure | Missing]:
    """Another run."""
    return [replace(row, measured=row.measured * factor) if isinstance(row, Figure) else row for row in ROWS]


def test_every_row_stands_with_its_marks_and_what_it_reached():
    text = performance_doc.page([again(1.1), ROWS, again(0.5)], MEASURED)
    assert (
        "| layer_norm / copy: 8192 x 768 float32, 2 threads | 1.02 x | 0.51 – 1.12 | ≤ 1.15 | ≤ 1.03 | goal |" in text
    )
    assert "| 1.4 x | 0.7 – 1.54 | ≤ 1.5 | ≤ 1.2 | floor |" in text
    assert "| 1.7 x | 0.85 – 1.87 | ≥ 1.8 | ≥ 2.5 | MISSED |" in text
    assert "| not measured | | | | ONNX Runtime is not installed |" in text
    assert "A processor, 2 cores; Linux x86_64, Python 3.11.7." in text and "measured 3 times" in text
    assert "| staged run | 1 ms | 50 % | 1,408 | 1,408 | – |" in text


def test_goals_not_reached_have_their_reason():
    limits = performance_doc.page([ROWS], MEASURED).partition("what limits them")[2].partition("##")[0]
    assert limits.count("\n* ") == 2
    for row in ROWS[1:3]:
        assert f"({row.what})" in limits
    assert "Every goal is reached." in performance_doc.page([ROWS[:1]], MEASURED)


def test_a_missed_floor_is_told_with_what_a_norm_at_the_copys_goal_would_reach():
    text = performance_doc.page([ROWS], MEASURED)
    assert (
        "PyTorch takes 1.73 copies there; a norm that took 1.03, the goal beside a copy, would be 1.68 times as fast."
        in text.partition("## Floors missed")[2]
    )
    assert "Floors missed" not in performance_doc.page([ROWS[:2]], MEASURED)


def test_the_page_was_written_by_this_tool():
    text = performance_doc.PAGE.read_text(encoding="utf-8")
    before, after = performance_doc.HEAD.replace("{runs}", str(performance_doc.RUNS)).split("{machine}")
    assert text.startswith(before) and after in text
    assert all(f"## {title}" in text for title in performance_doc.SECTIONS)
    assert performance_doc.PLOT.read_text(encoding="utf-8").startswith("<svg ")


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_row_survives_its_way_between_two_processes(row):
    assert read(json.loads(json.dumps(vars(row)))) == row
