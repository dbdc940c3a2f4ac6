"""What a user installs: the wheel in an empty environment, light imports, lessons without NumPy."""

import html
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import urllib.request
import venv
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urljoin

import pytest

ROOT = Path(__file__).resolve().parent.parent
LIBRARIES = ("numpy", "ml_dtypes", "onnx", "torch", "rich", "click", "starlette", "uvicorn")
PAGES = ("/", "/axes", "/inside", "/precision", "/mistakes", "/named", "/exercises")
START_SECONDS = 15
STOP_SECONDS = 5


def run(*command: str | Path, cwd: Path, **variables: str) -> str:
    """Run a command with nothing of this checkout in its way; its output, or a failed test that shows it."""
    environment = clean_environment() | variables
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{command} gave {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def clean_environment() -> dict[str, str]:
    """The environment variables, without those that lead a Python to this checkout."""
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if name not in hidden}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of an empty environment, outside the tree, that the built wheel was installed in."""
    place = tmp_path_factory.mktemp("installed")
    wheel = built_wheel(place)
    venv.create(place / "empty", with_pip=True)
    programs = place / "empty" / "bin"
    # The pins are only a constraint here: the wheel must name all that it needs.
    pins = ("--constraint", ROOT / "requirements-dev.txt")
    run(programs / "python", "-m", "pip", "install", "--quiet", *pins, wheel, cwd=place)
    return programs


def built_wheel(place: Path, **variables: str) -> Path:
    """The wheel, built from a copy of the tree, for builds in one folder disturb each other."""
    leave = shutil.ignore_patterns(".*", "build", "dist", "tests", "__pycache__", "*.so", "*.egg-info")
    shutil.copytree(ROOT, place / "source", ignore=leave)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", place, place / "source"]
    run(*command, cwd=place, **variables)
    (wheel,) = place.glob("normscope-*.whl")
    return wheel


@contextmanager
def serving(programs: Path, cwd: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The installed lab on a free port: its process and its address."""
    command = [programs / "normscope", "--port", "0", "--no-browser"]
    pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    process = subprocess.Popen(command, cwd=cwd, env=clean_environment(), **pipe)
    too_late = threading.Timer(START_SECONDS, process.kill)
    too_late.start()
    try:
        yield process, printed_address(process)
    finally:
        too_late.cancel()
        process.kill()
        process.communicate()


def printed_address(process: subprocess.Popen[str]) -> str:
    """The address in the first line that has one."""
    lines = []
    for line in process.stdout:
        lines.append(line)
        found = re.search(r"http://127\.0\.0\.1:[1-9]\d*", line)
        if found:
            return found[0]
    pytest.fail(f"the lab printed no address: {''.join(lines)}")


def fetch(address: str) -> str:
    """The text at an address, which must be there."""
    with urllib.request.urlopen(address, timeout=5) as answer:
        assert answer.status == 200
        return answer.read().decode()


def link_to_real_activations(page: str) -> str:
    """The target of the page's link to the preset of real activations."""
    links = re.findall(r"<a\b[^>]*?href=[\"']?([^\"' >]+)[^>]*>(.*?)</a>", page, re.DOTALL)
    named = [target for target, text in links if "minilm" in (target + text).lower()]
    assert named, "no link to the MiniLM preset"
    return html.unescape(named[0])


@pytest.mark.slow
def test_the_wheel_has_a_command_that_works_elsewhere(installed, tmp_path):
    assert "Usage" in run(installed / "normscope", "--help", cwd=tmp_path)


@pytest.mark.slow
def test_the_wheel_serves_the_lab_with_its_data_and_style(installed, tmp_path):
    with serving(installed, tmp_path) as (process, address):
        for path in (*PAGES, "/static/lab.css", "/static/lab.js"):
            assert fetch(address + path).strip()
        pages = fetch(address + "/") + fetch(address + "/inside")
        assert "<table" in fetch(urljoin(address + "/inside", link_to_real_activations(pages)))
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=STOP_SECONDS) == 0
        assert "Traceback" not in process.stdout.read()


PATH = """
import numpy as np
from normscope.kernels import explain, layer_norm
x = np.ones((2, 3), np.float32)
print(explain(x).path, layer_norm(x)[0])
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler: the next test is about that")
def test_the_wheel_has_the_compiled_kernels(installed, tmp_path):
    assert run(installed / "python", "-c", PATH, cwd=tmp_path) == "native [0. 0. 0.]\n"


@pytest.mark.slow
def test_without_a_compiler_the_package_is_built_and_numpy_serves(tmp_path):
    wheel = built_wheel(tmp_path, CC="false")
    zipfile.ZipFile(wheel).extractall(tmp_path / "wheel")
    assert list((tmp_path / "wheel").rglob("fallback.py")) and not list((tmp_path / "wheel").rglob("*.so"))
    assert run(sys.executable, "-c", PATH, cwd=tmp_path, PYTHONPATH=str(tmp_path / "wheel")) == "numpy [0. 0. 0.]\n"


def test_importing_normscope_loads_no_library(tmp_path):
    code = f"import sys, normscope; print([name for name in {LIBRARIES} if name in sys.modules])"
    assert run(sys.executable, "-c", code, cwd=tmp_path) == "[]\n"


@pytest.mark.parametrize("path", PAGES)
def test_pages_are_drawn_where_numpy_cannot_be_imported(path, tmp_path):
    code = f"""
import sys
sys.modules.update(dict.fromkeys({LIBRARIES}))  # None: each import of one raises ImportError
from normscope.lessons.site import respond
status, content_type, body = respond({path!r}, "")
assert status == 200 and content_type.startswith("text/html") and body, status
try:
    import numpy
except ImportError:
    print("drawn without")
"""
    assert run(sys.executable, "-c", code, cwd=tmp_path) == "drawn without\n"
