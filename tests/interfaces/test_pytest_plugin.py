"""The fixture norm_check, in a pytest of its own."""

import os
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src"
CODE = """
import numpy as np
import normscope as ns

def layer_norm(x, gamma, beta, eps):
    c = x - x.mean(-1, keepdims=True)
    return c / np.sqrt((c * c).mean(-1, keepdims=True) + eps) * gamma + beta

def test_right(norm_check):
    verdict = norm_check(layer_norm, ns.layer_norm())
    assert verdict.verdict == "correct"

def test_wrong(norm_check):
    norm_check(lambda x, gamma, beta, eps: x, ns.layer_norm())
"""


def test_a_failure_is_the_diagnosis(tmp_path):
    (tmp_path / "test_mine.py").write_text(CODE)
    plugin = ("-p", "normscope.interfaces.pytest_plugin", "-p", "no:cacheprovider")
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-m", "pytest", "-q", *plugin, str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert "1 failed, 1 passed" in done.stdout
    assert ": mistake" in done.stdout
    assert "  evidence  " in done.stdout
    assert "pytest_plugin.py" not in done.stdout
