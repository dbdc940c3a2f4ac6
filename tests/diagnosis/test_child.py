"""The child process: its limits, how it ends, and that nothing is left running. Real processes, short limits."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import normscope as ns
from normscope.diagnosis import loading, wire
from normscope.diagnosis.child import Child, Died, Limits
from normscope.diagnosis.probes import Failure
from normscope.diagnosis.samples import sample
from normscope.diagnosis.session import Session
from normscope.errors import ImplementationError

pytestmark = pytest.mark.skipif(os.name != "posix", reason="process groups")
NORM = ns.layer_norm()
SHORT = Limits(time=1.0, memory=512)
CODE = """
import os, signal, subprocess, sys, time
import numpy as np

def layer_norm(x, gamma, beta, eps):
    c = x - x.mean(-1, keepdims=True)
    return c / np.sqrt((c * c).mean(-1, keepdims=True) + eps) * gamma + beta

def sleeps(x):
    time.sleep(1000)

def crashes_on_fives(x):
    if x.shape[-1] == 5:
        os.kill(os.getpid(), signal.SIGSEGV)
    return x * 1

def leaves(x):
    os._exit(7)

def allocates(x):
    kept = []
    while True:
        kept.append(np.ones(1 << 22))

def hoards(x):
    kept = np.ones(50 << 20)
    time.sleep(1000)

def prints(x):
    print("line" * 20)
    os.write(1, b"raw" * 100_000)
    os.write(2, b"raw" * 100_000)
    return x * 1

def talks(x):
    return x * len(sys.stdin.read()), sys.stdout.write("{}")

def starts(x):
    subprocess.Popen([sys.executable, "-c", MARK], start_new_session=True)
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(1000)
        os._exit(0)
    time.sleep(1000)

def kills_its_parent(x):
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(1000)
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("stranger") / "layers.py"
    mark = f"import time; time.sleep(1000)  # {path}"
    path.write_text(f"MARK = {mark!r}\n{CODE}")
    return path


def session(child, file, name, **more):
    place = ["", str(file), name]
    load = {"do": "load", "functions": {"forward": place}}
    prepare = {"do": "prepare", "norm": NORM.to_json(), "framework": None, "names": {"forward": name}}
    return Session(child, load, prepare)


def asked(file, name, probes=None, limits=SHORT):
    """What a function in the child answers, and its session."""
    with Child(limits) as child:
        talk = session(child, file, name)
        assert talk.load() == {"loaded": True}
        remote = talk.prepare({"forward": name})["forward"]
        return remote, remote.run(probes or [sample(NORM, 2)]), talk


def test_answers_are_those_of_a_call_here(file):
    probes = [sample(NORM, 3), sample(NORM, 2).but(layout="transposed", eps=0.5)]
    remote, answers, _ = asked(file, "layer_norm", probes)
    assert (remote.name, remote.ranks) == ("layer_norm", (2, 3, 4))
    assert remote.accepts == {"x", "gamma", "beta", "eps"}
    for probe, answer in zip(probes, answers, strict=True):
        right = ns.trace(probe.x, ns.layer_norm(eps=probe.eps), probe.gamma, probe.beta).output
        np.testing.assert_allclose(answer["y"], right)


def test_a_call_that_never_ends_is_ended(file):
    started = time.monotonic()
    _, (failure,), _ = asked(file, "sleeps")
    assert failure.kind == "timeout"
    assert failure.text == "a call of sleeps took longer than 1 s."
    assert failure.probe is not None
    assert time.monotonic() - started < 8


def test_a_crash_is_the_answer_of_its_probe_and_the_rest_is_asked_again(file):
    five, four = sample(NORM, 2).but(x=np.ones((2, 5))), sample(NORM, 2).but(x=np.ones((2, 4)))
    _, answers, _ = asked(file, "crashes_on_fives", [four, five, four])
    assert [isinstance(answer, Failure) for answer in answers] == [False, True, False]
    assert answers[1].kind == "crash"
    assert "SIGSEGV" in answers[1].text
    assert answers[1].probe is five


def test_an_exit_is_a_crash(file):
    _, (failure,), _ = asked(file, "leaves")
    assert (failure.kind, failure.text) == ("crash", "the process ended with exit code 7.")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="RLIMIT_DATA counts all memory on Linux alone")
def test_memory_has_a_limit(file):
    _, (failure,), _ = asked(file, "allocates", limits=Limits(20, 512))
    assert failure.kind == "memory"
    assert failure.text.endswith("The limit is 512 MB.")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads memory as Linux tells it")
def test_a_call_that_is_ended_with_much_memory_says_so(file):
    _, (failure,), _ = asked(file, "hoards", limits=Limits(3, 600))
    assert failure.kind == "timeout"
    said = r"a call of hoards took longer than 3 s, and it held \d+ MB of the 600 MB that it may by then\."
    assert re.fullmatch(said, failure.text)


def test_output_is_captured_and_input_is_empty(file, capfd):
    _, (answer,), talk = asked(file, "prints")
    assert "y" in answer
    assert talk.printed[1].startswith("lineline")
    assert talk.child.output.count >= 600_000
    _, (answer,), _ = asked(file, "talks")
    assert (answer["y"] == 0).all()
    assert capfd.readouterr() == ("", "")


def running(mark: str) -> list[str]:
    """The processes whose command line holds a text."""
    found = []
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += [line.parent.name] * (mark in line.read_bytes().decode(errors="replace"))
        except OSError:
            continue
    return [pid for pid in found if state(pid) != "Z"]


def state(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


linux = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds processes as Linux does")


@linux
def test_nothing_is_left_running_whatever_was_started(file):
    _, (failure,), _ = asked(file, "starts")
    assert failure.kind == "timeout"
    assert running(str(file)) == []


@linux
def test_killing_the_supervisor_gains_nothing(file):
    _, (failure,), talk = asked(file, "kills_its_parent")
    assert failure.kind == "crash"
    assert _dies(talk.child.worker)


@linux
def test_when_normscope_is_killed_the_child_goes_too(file):
    code = f"""
import sys
from tests.diagnosis.test_child import Child, Limits, session
child = Child(Limits(600, 512))
talk = session(child, {str(file)!r}, "sleeps")
talk.load()
child.ask(talk._prepare)
child.answer(60, "the start of a first call")
print(child.worker, flush=True)
child.answer(600, "a call")
"""
    command = [sys.executable, "-c", code]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path])}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as parent:
        worker = int(parent.stdout.readline())
        assert _is_alive(worker)
        parent.send_signal(signal.SIGKILL)
    assert _dies(worker)


def _dies(pid: int) -> bool:
    """Whether a process ends within seconds, not at some later time."""
    latest = time.monotonic() + 10
    while _is_alive(pid) and time.monotonic() < latest:
        time.sleep(0.02)
    return not _is_alive(pid)


def _is_alive(pid: int) -> bool:
    return state(str(pid)) != "Z"


def test_what_is_missing_and_what_cannot_be_imported(tmp_path, monkeypatch):
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)

    def said(code, name="f"):
        (tmp_path / "mine.py").write_text(code)
        with Child(SHORT) as child:
            return session(child, tmp_path / "mine.py", name).load()

    assert said("def g(x): pass") == {"missing": "mine.py has no 'f'; it has g."}
    assert said("def f(x:") == {"broken": "SyntaxError: '(' was never closed (line 1 of mine.py)."}
    assert said("import no_such_thing") == {
        "broken": "ModuleNotFoundError: No module named 'no_such_thing' (line 1 of mine.py)."
    }
    assert said("import sys\nsys.exit(3)") == {"broken": "it ends the process (SystemExit: 3 (line 2 of mine.py))."}
    with pytest.raises(Died, match=r"the import took longer than 1 s"):
        said("while True: pass")
    with pytest.raises(Died, match=r"exit code 5"):
        said("import os\nos._exit(5)")
    assert not (tmp_path / "__pycache__").exists()


def test_a_fault_of_our_own_is_no_mistake_of_theirs(file, monkeypatch):
    monkeypatch.setattr("normscope.diagnosis.session.wire.from_probe", lambda probe: {"nonsense": 1})
    with pytest.raises(ImplementationError, match="could not be made: TypeError"):
        asked(file, "layer_norm")


def test_messages_keep_arrays_and_refuse_what_is_none(tmp_path):
    stream = (tmp_path / "wire").open("w+b")
    sent = {"a": [np.arange(6, dtype="float32").reshape(2, 3)], "b": {"c": None, "d": 1.5}}
    wire.write(stream, sent)
    stream.seek(0)
    got = wire.read(stream)
    assert got["b"] == sent["b"]
    assert got["a"][0].dtype == np.float32
    assert got["a"][0].tolist() == sent["a"][0].tolist()
    for bad in (b"\xff" * 64, wire.HEAD.pack(2, 0) + b"{]", wire.HEAD.pack(30, 0) + b'{"array": "object", "start":0}'):
        stream.seek(0)
        stream.truncate()
        stream.write(bad)
        stream.seek(0)
        with pytest.raises(wire.Garbled):
            wire.read(stream)
    stream.close()


def test_a_place_without_its_function_is_no_place():
    assert loading.parse("numpy:mean")[0].shown == "numpy"
