"""`make test`: Chromium, models, linter, type checker and all tests; stops at the first stage that fails."""

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools import chromium, models  # noqa: E402

STAGES = {
    "linter": ["ruff", "check", "."],
    "format": ["ruff", "format", "--check", "."],
    "type checker": ["mypy"],
    # A file's tests stay together: what a module sets up, it sets up once.
    "tests": ["pytest", "--numprocesses=auto", "--maxprocesses=4", "--dist=loadfile"],
}


def provide_chromium() -> None:
    """Put the browser's path where the tests read it."""
    try:
        os.environ[chromium.VARIABLE] = chromium.provide()
    except chromium.ChromiumMissing as missing:
        sys.exit(f"make test: {missing}")
    print(f"== Chromium: {os.environ[chromium.VARIABLE]}", flush=True)


def provide_models() -> None:
    """Get the models that tests look into, or say that these tests are left out."""
    there = models.provide()
    told = (
        models.FOLDER.name if there else "not to be had without a network; the tests that look into them are left out"
    )
    print(f"== models: {told}", flush=True)


def run_stage(name: str, arguments: list[str]) -> None:
    """Run one tool of the environment; leave with its exit code when it fails."""
    print(f"== {name}: {' '.join(arguments)}", flush=True)
    code = subprocess.run([sys.executable, "-m", *arguments], cwd=ROOT, check=False).returncode
    if code:
        print(f"make test: {name} failed (exit code {code})", file=sys.stderr)
        sys.exit(code if code > 0 else 1)


def main() -> None:
    """Run every stage."""
    started = time.monotonic()
    provide_chromium()
    provide_models()
    for name, arguments in STAGES.items():
        run_stage(name, arguments)
    print(f"make test: all passed in {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\nmake test: interrupted")
