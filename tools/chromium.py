"""Find a Chromium for the browser tests, or get one.

`find()` is what a test's fixture calls; `provide()` is what `make test` calls.
"""

import os
import platform
import shutil
import signal
import subprocess
import sys
from pathlib import Path

VARIABLE = "NORMSCOPE_CHROMIUM"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SWITCHES = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
DOWNLOAD_SECONDS = 60
APT_SECONDS = 600

ASK_PLAYWRIGHT = """
from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    print(playwright.chromium.executable_path)
"""


class ChromiumMissing(RuntimeError):
    """No Chromium, and none could be got; the message says what to run."""


def find() -> str | None:
    """The path of a Chromium that starts: the one named by NORMSCOPE_CHROMIUM, on PATH, or Playwright's."""
    named = os.environ.get(VARIABLE)
    if named:
        return named if starts(named) else None
    on_path = (shutil.which(name) for name in NAMES)
    return next((path for path in on_path if path and starts(path)), None) or downloaded()


def switches() -> list[str]:
    """How tests and benchmarks start it: quiet, and without its sandbox where root runs it."""
    is_root = os.name == "posix" and os.geteuid() == 0
    return [*SWITCHES, *(["--no-sandbox"] if is_root else [])]


def starts(path: str) -> bool:
    """Whether the program runs: some systems have a stub of that name that only prints advice."""
    try:
        command = [path, "--version"]
        return subprocess.run(command, capture_output=True, timeout=30, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def downloaded() -> str | None:
    """The browser that Playwright downloaded earlier, if it is there and starts."""
    answer = subprocess.run([sys.executable, "-c", ASK_PLAYWRIGHT], capture_output=True, text=True, check=False)
    path = answer.stdout.strip()
    return path if path and Path(path).is_file() and starts(path) else None


def provide() -> str:
    """A working Chromium, got by the first way that succeeds; else ChromiumMissing."""
    found = find()
    if found:
        return found
    if os.environ.get(VARIABLE):
        raise ChromiumMissing(f"{VARIABLE} is {os.environ[VARIABLE]!r}, which does not start; correct or unset it")
    for get in (download, install_with_apt):
        get()
        found = find()
        if found:
            return found
    raise ChromiumMissing(f"Chromium is missing; install it, then run make test again: {advice()}")


def download() -> None:
    """Let Playwright download its browser, but not for ever."""
    print(f"normscope: downloading Chromium (at most {DOWNLOAD_SECONDS} s) ...", flush=True)
    # --no-shell: find() wants the browser itself, so the second, smaller one would be dead weight.
    run_limited([sys.executable, "-m", "playwright", "install", "--no-shell", "chromium"], DOWNLOAD_SECONDS)


def install_with_apt() -> None:
    """Install the distribution's browser where that needs no password."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    print("normscope: installing Chromium with apt-get ...", flush=True)
    run_limited(["apt-get", "update", "-qq"], APT_SECONDS)
    packages = ["chromium", "fonts-liberation"]
    run_limited(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages], APT_SECONDS)


def run_limited(command: list[str], seconds: float) -> bool:
    """Run a command quietly; when its time is up, end it with all that it started."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, start_new_session=True, env=environment, **quiet)
    try:
        return process.wait(timeout=seconds) == 0
    except BaseException as stopped:  # a timeout, or Ctrl-C, which a session of its own does not see
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if isinstance(stopped, subprocess.TimeoutExpired):
            return False
        raise


def advice() -> str:
    """The exact command that gets a Chromium on this machine."""
    if distribution() == "debian":
        return "sudo apt-get install -y chromium"
    return ".venv/bin/python -m playwright install --with-deps --no-shell chromium"


def distribution() -> str:
    """The distribution's short name; Ubuntu has no chromium package, only a stub."""
    try:
        return platform.freedesktop_os_release()["ID"]
    except OSError:
        return ""
