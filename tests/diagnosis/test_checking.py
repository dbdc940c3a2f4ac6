"""ns.check: in a child process or in this one, and what it adds to a judgement."""

import subprocess
import sys

import numpy as np
import pytest

import normscope as ns
from normscope.diagnosis import isolation
from normscope.diagnosis.dtypes import Watched, with_dtypes
from normscope.diagnosis.samples import sample
from normscope.diagnosis.verdict import Finding, Verdict
from normscope.errors import ImplementationError

HERE = "run in this process, without limits of time and memory."


def layer_norm(x, gamma, beta, eps):
    c = x - x.mean(-1, keepdims=True)
    return c / np.sqrt((c * c).mean(-1, keepdims=True) + eps) * gamma + beta


def kills(x, gamma, beta, eps):
    import os

    os._exit(1)


def layer_norm_backward(dy, x, gamma, eps):
    c = x - x.mean(-1, keepdims=True)
    r = 1 / np.sqrt((c * c).mean(-1, keepdims=True) + eps)
    h, g = c * r, dy * gamma
    dx = r * (g - g.mean(-1, keepdims=True) - h * (g * h).mean(-1, keepdims=True))
    lead = tuple(range(x.ndim - 1))
    return dx, (dy * h).sum(lead), dy.sum(lead)


def test_what_can_be_imported_runs_in_a_child():
    verdict = ns.check(layer_norm)
    assert verdict.verdict == "correct"
    assert HERE not in verdict.notes
    assert ns.check(kills).ids == ("crash",)


def test_what_is_made_here_runs_here_and_says_so():
    verdict = ns.check(lambda x, gamma, beta, eps: layer_norm(x, gamma, beta, eps))
    assert verdict.verdict == "correct"
    assert verdict.notes[-1] == HERE
    assert HERE in ns.check(layer_norm, isolate=False).notes


def test_what_a_child_cannot_import_runs_here_too(monkeypatch):
    def broken(*arguments, **options):
        raise ImplementationError("no")

    monkeypatch.setattr("normscope.diagnosis.checking.in_child", broken)
    assert ns.check(layer_norm).notes[-1] == f"a child process could not import it (no), so it was {HERE}"
    with pytest.raises(ImplementationError, match="no"):
        ns.check(layer_norm, isolate=True)


def test_a_backward_alone_and_beside_a_forward():
    assert ns.check(layer_norm_backward, isolate=False).verdict == "correct"
    assert ns.check(None, backward=layer_norm_backward, isolate=False).verdict == "correct"
    assert ns.check(layer_norm, backward=layer_norm_backward, isolate=False).verdict == "correct"


def test_a_script_is_not_run_again_by_its_own_check(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import normscope as ns\nprint('once')\ndef f(x): return x\nprint(ns.check(f).verdict)")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env={"PYTHONPATH": _source()})
    assert done.stdout.splitlines() == ["once", "mistake"]


def _source() -> str:
    from pathlib import Path

    return str(Path(ns.__file__).parents[1])


def answered(dtype: str) -> Watched:
    class Answers:
        name, accepts = "f", frozenset({"x"})

        def run(self, probes):
            return [{"y": probe.x.astype(dtype)} for probe in probes]

    watched = Watched(Answers())
    watched.run([sample(ns.layer_norm(), 2)])
    return watched


def test_a_foreign_dtype_is_a_mistake_of_its_own():
    found = with_dtypes(Verdict("correct"), [answered("float32")])
    assert (found.verdict, found.ids) == ("mistake", ("wrong-dtype",))
    assert found.findings[0].name == "y has dtype float32 where x has float64"
    assert with_dtypes(Verdict("correct"), [answered("float64")]) == Verdict("correct")


def test_a_foreign_dtype_beside_other_findings():
    unknown = Verdict("unrecognised", (Finding("unrecognised", "?", "?"),))
    assert with_dtypes(unknown, [answered("float16")]).ids == ("wrong-dtype",)  # which explains it
    known = with_dtypes(Verdict("mistake", (Finding("eps-outside-root", "a", "b"),)), [answered("float32")])
    assert known.ids == ("eps-outside-root",)
    assert known.notes[0].startswith("y has dtype float32 where x has float64; return y in the dtype of x")


def test_arrays_of_several_dtypes_leave_it_open():
    watched = answered("float64")
    probe = sample(ns.layer_norm(), 2)
    watched.run([probe.but(x=probe.x.astype("float32"))])
    assert watched.foreign is None


def test_what_was_printed_is_said_in_one_note():
    assert isolation.printed(0, "") == ()
    (note,) = isolation.printed(1234, "first line\nsecond")
    assert note == "it printed 1,234 characters, which were kept from view; they begin 'first line'."
