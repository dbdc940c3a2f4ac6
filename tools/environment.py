"""Set up the virtual environment that a make target needs: environment.py runtime|dev|oracle.

Packages are installed again only when what they depend on has changed: a stamp inside the
environment holds a digest, and is written last, so that an interrupted install is repeated.
"""

import hashlib
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EDITABLE = ["-e", str(ROOT)]
# What is compiled at installation, so that a change is.
COMPILED = ["setup.py", *sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("src/normscope/kernels/native/*"))]

# purpose: (environment, files that decide its packages, pip's arguments)
PURPOSES = {
    "runtime": (".venv", ["pyproject.toml", *COMPILED], EDITABLE),
    "dev": (
        ".venv",
        ["pyproject.toml", "requirements-dev.txt", *COMPILED],
        ["-r", str(ROOT / "requirements-dev.txt"), *EDITABLE],
    ),
    "oracle": (
        ".venv-oracle",
        ["pyproject.toml", "requirements-dev.txt", "requirements-oracle.txt", *COMPILED],
        ["-r", str(ROOT / "requirements-oracle.txt"), *EDITABLE],
    ),
}
# A newer purpose covers an older one: after `make test`, `make run` has nothing to install.
COVERED_BY = {"runtime": ("runtime", "dev"), "dev": ("dev",), "oracle": ("oracle",)}

OFFLINE = ("NewConnectionError", "name resolution", "ConnectTimeout", "ProxyError", "Network is unreachable")

# Looks for the package without running it: a bug in its code is no reason to install it again.
INSTALLED = "import importlib.util, sys; sys.exit(importlib.util.find_spec('normscope') is None)"


def digest(purpose: str) -> str:
    """What the installed packages depend on; the folder counts, for an editable install points to it."""
    _, files, _ = PURPOSES[purpose]
    parts = [str(ROOT).encode(), *((ROOT / name).read_bytes() for name in files)]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def stamp(purpose: str) -> Path:
    """The file that says which digest was installed for this purpose."""
    return ROOT / PURPOSES[purpose][0] / f"normscope-{purpose}.stamp"


def is_current(purpose: str) -> bool:
    """Whether the environment works and a stamp that covers this purpose is up to date."""
    environment = ROOT / PURPOSES[purpose][0]
    stamps = [(stamp(name), digest(name)) for name in COVERED_BY[purpose]]
    fresh = any(path.is_file() and path.read_text() == wanted for path, wanted in stamps)
    return fresh and works(environment, INSTALLED)


def works(environment: Path, statement: str) -> bool:
    """Whether the environment's Python runs a statement (its base may have been removed or updated)."""
    try:
        command = [environment / "bin" / "python", "-I", "-c", statement]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def install(purpose: str) -> None:
    """Install the packages for a purpose; a half-made environment is made again first."""
    name, _, arguments = PURPOSES[purpose]
    environment = ROOT / name
    print(f"normscope: installing packages in {name} (this takes a minute) ...", flush=True)
    if not works(environment, "import pip"):
        venv.create(environment, clear=True, with_pip=True)
    for covering in COVERED_BY[purpose]:
        stamp(covering).unlink(missing_ok=True)
    pip(environment, arguments)
    stamp(purpose).write_text(digest(purpose))


def pip(environment: Path, arguments: list[str]) -> None:
    """Run pip install quietly; its output goes to a log that a failure names."""
    python = environment / "bin" / "python"
    options = ["--disable-pip-version-check", "--no-input", "--retries", "2", "--timeout", "20"]
    log = environment / "install.log"
    with log.open("w") as output:
        command = [python, "-I", "-m", "pip", "install", *options, *arguments]
        code = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=ROOT)
    if code.returncode:
        sys.exit(f"normscope: {reason(log.read_text(errors='replace'))} (details: {log.relative_to(ROOT)})")


def reason(log: str) -> str:
    """One line from pip's output that says what went wrong."""
    if any(sign in log for sign in OFFLINE):
        return "packages cannot be downloaded: no network, or no way to the package index"
    errors = [line for line in log.splitlines() if line.startswith("ERROR")]
    return f"pip could not install the packages: {errors[-1] if errors else 'no reason given'}"


def main(purpose: str) -> None:
    """Install what is missing, or do nothing."""
    try:
        if not is_current(purpose):
            install(purpose)
    except KeyboardInterrupt:
        sys.exit("\nnormscope: interrupted; the next run takes up the installation again")
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"normscope: the environment cannot be made: {error}")


if __name__ == "__main__":
    main(sys.argv[1])
