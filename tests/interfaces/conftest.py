"""What the tests of every command share."""

import pytest

from normscope.interfaces import cli


@pytest.fixture
def run(tmp_path, monkeypatch, capfd):
    """Run a command in an empty folder: its exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def command(*arguments: str) -> tuple[int, str, str]:
        code = cli.main(arguments)
        return code, *capfd.readouterr()

    return command
