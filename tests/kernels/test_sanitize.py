"""The C code under AddressSanitizer and UndefinedBehaviorSanitizer: odd sizes, misaligned and strided views."""

import os
import subprocess
import sys

import pytest

from tools import sanitize


@pytest.mark.slow
def test_the_sanitizers_find_nothing():
    try:
        sanitize.runtime()
    except sanitize.NoSanitizer as missing:
        pytest.skip(str(missing))
    command = [sys.executable, sanitize.__file__]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "portable, plain stores" in ended.stdout


def test_a_compiler_that_is_not_there_is_said(monkeypatch):
    monkeypatch.setenv("CC", os.devnull)
    with pytest.raises(sanitize.NoSanitizer, match="no C compiler"):
        sanitize.runtime()
