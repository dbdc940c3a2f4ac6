"""The C code under sanitizers: odd sizes, misaligned and strided views; and threads that race for the pool."""

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


def stressed(folder, pool=sanitize.NATIVE / "pool.c"):
    try:
        return sanitize.stress(folder, pool)
    except sanitize.NoSanitizer as missing:
        pytest.skip(str(missing))


def test_threads_do_not_race(tmp_path):
    assert stressed(tmp_path) == 0


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("    atomic_ptrdiff_t next;", "    volatile ptrdiff_t next;"),
        ("    wait_for_helpers(&job);", ""),
        ("    withdraw(&job);", "    jobs = job.older;"),
    ],
)
def test_a_pool_whose_threads_race_is_found(tmp_path, right, wrong):
    text = (sanitize.NATIVE / "pool.c").read_text(encoding="utf-8")
    assert text.count(right) == 1
    pool = tmp_path / "pool.c"
    pool.write_text(text.replace(right, wrong), encoding="utf-8")
    assert stressed(tmp_path, pool) != 0


def test_a_compiler_that_is_not_there_is_said(monkeypatch):
    monkeypatch.setenv("CC", os.devnull)
    with pytest.raises(sanitize.NoSanitizer, match="no C compiler"):
        sanitize.runtime()
