"""docs/diagnosis.md: what the judgement says of every case, `python tools/diagnosis_doc.py`, or `--check` it."""

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.generated import settle  # noqa: E402

PAGE = ROOT / "docs" / "diagnosis.md"
CASES = ROOT / "tests" / "cases"
HEAD = """# What check says of public faults

Made by `python tools/diagnosis_doc.py` from the files in tests/cases, each an illustration of a fault that was reported
in public; a test checks it. Every right implementation there is correct. The verdicts are those of float64; in float32
they are the same.

| case | stated cause | verdict | findings |
|---|---|---|---|
"""


def page() -> str:
    """The table, one line a case."""
    cases = importlib.import_module("tests.diagnosis.test_cases")
    lines = []
    for path in (*cases.cases("mistakes"), *cases.cases("correct")):
        lines.append(_line(path, cases.verdict(path)))
    return HEAD + "\n".join(lines) + "\n" + _totals(lines)


def _line(path: Path, made: Any) -> str:
    text = path.read_text(encoding="utf-8")
    cause = re.search(r"^Mistake : (.*)$", text, re.MULTILINE)
    source = re.search(r"^Source  : (https?://\S+)", text, re.MULTILINE)
    name = path.stem.partition("_")[0]
    case = f"[{name}]({source[1]})" if source else name
    ids = ", ".join(f"`{finding}`" for finding in made.ids)
    noted = next((note.partition(":")[0] for note in made.notes if re.match(r"^[a-z-]+: ", note)), "")
    stated = cause[1] if cause else text.partition("_")[2].partition(":")[2].partition("\n")[0].strip()
    return (
        f"| {case} | {stated.replace('|', '&#124;')} | {made.verdict} | {ids or (f'note `{noted}`' if noted else '')} |"
    )


def _totals(lines: list[str]) -> str:
    named = sum("| mistake |" in line for line in lines)
    return f"\n{named} mistakes named, {len(lines) - named} right or within the bound, none unrecognised.\n"


def main(arguments: list[str]) -> str:
    """Write the page, or say why it is not current."""
    return settle(PAGE, page(), "diagnosis_doc.py", arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) or None)
