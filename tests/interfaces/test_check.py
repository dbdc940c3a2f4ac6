"""normscope check: exit codes, what is said, and in which form. Real child processes."""

import json
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest

from normscope.diagnosis import checking, frames, naming
from normscope.diagnosis.child import Limits
from normscope.diagnosis.verdict import Finding, Verdict
from normscope.interfaces import check_command, junit, verdicts

CODE = """
import time
import numpy as np

def layer_norm(x, gamma, beta, eps):
    c = x - x.mean(-1, keepdims=True)
    return c / np.sqrt((c * c).mean(-1, keepdims=True) + eps) * gamma + beta

def eps_outside(x, gamma, beta, eps):
    c = x - x.mean(-1, keepdims=True)
    return c / (np.sqrt((c * c).mean(-1, keepdims=True)) + eps) * gamma + beta

def rms_norm(x, weight, eps):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * weight

def layer_norm_backward(dy, x, gamma, eps):
    c = x - x.mean(-1, keepdims=True)
    r = 1 / np.sqrt((c * c).mean(-1, keepdims=True) + eps)
    h, g = c * r, dy * gamma
    dx = r * (g - g.mean(-1, keepdims=True) - h * (g * h).mean(-1, keepdims=True))
    lead = tuple(range(x.ndim - 1))
    return dx, (dy * h).sum(lead), dy.sum(lead)

def loud(x, gamma, beta, eps):
    print("line\\n" * 100_000)
    return layer_norm(x, gamma, beta, eps)

def fails(x):
    raise ValueError("<no> \\x07 & more")

def sleeps(x):
    time.sleep(1000)

def nothing(x):
    pass
"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "layers.py").write_text(CODE)
    return "layers.py"


def said(err):
    """What stands on stderr, without the progress that a slow machine sees."""
    return [line for line in err.splitlines() if not line.startswith("normscope: ")]


def test_a_right_function_is_correct(run, file):
    code, out, err = run("check", f"{file}:layer_norm")
    assert (code, said(err)) == (0, [])
    assert out.startswith(
        "layers.py:layer_norm: correct\n\nnote: checked as LayerNorm '... [d]', by the function's name."
    )


def test_a_mistake_is_named_with_its_evidence_and_the_fix(run, file):
    code, out, _ = run("check", f"{file}:eps_outside")
    assert code == 1
    assert out.startswith("layers.py:eps_outside: mistake\n\neps-outside-root: ")
    for label in ("  evidence  ", "  formula   ", "  fix       ", "  input     x ", "  expected  ", "  got       "):
        assert label in out
    assert "since its name says no kind" in out
    assert max(map(len, out.splitlines())) <= 80


def test_json_is_alone_on_stdout(run, file):
    for options in (("--json",), ("--format", "json")):
        code, out, _ = run("check", f"{file}:eps_outside", *options)
        said = json.loads(out)
        assert (code, said["verdict"]) == (1, "mistake")
        assert said["findings"][0].keys() >= {"id", "name", "evidence", "formula", "fix", "input"}
        assert any("checked as LayerNorm" in note for note in said["notes"])


def test_the_kind_comes_from_the_name_or_from_an_option(run, file):
    assert "checked as RMSNorm '... [d]', by the function's name." in run("check", f"{file}:rms_norm")[1]
    code, out, _ = run("check", f"{file}:layer_norm", "--norm", "rms_norm")
    assert code == 1
    assert "checked as RMSNorm '... [d]', as --norm says." in " ".join(out.split())
    code, out, _ = run("check", f"{file}:layer_norm", "--pattern", "B S [d]")
    assert code == 0
    assert "checked as LayerNorm 'B S [d]', as --pattern says." in out


def test_a_backward_alone_and_beside_its_forward(run, file):
    assert run("check", f"{file}:layer_norm_backward")[0] == 0
    assert run("check", f"{file}:layer_norm", "--backward", "layer_norm_backward")[0] == 0
    assert run("check", f"{file}:layer_norm", "--backward", f"{file}:layer_norm_backward")[0] == 0


def test_output_is_kept_from_view(run, file):
    code, out, err = run("check", f"{file}:loud", "--norm", "layer_norm")
    assert (code, said(err)) == (0, [])
    assert "note: it printed " in out
    assert len(out) < 2000


@pytest.mark.parametrize("function, finding", [("fails", "raises"), ("nothing", "returns-none"), ("sleeps", "timeout")])
def test_a_function_that_gives_no_answer(run, file, function, finding):
    code, out, err = run("check", f"{file}:{function}", "--format", "junit", "--time", "1.5")
    assert code == 1
    suite = ElementTree.fromstring(out).find("testsuite")
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    assert (suite.find("testcase").get("classname"), suite.find("testcase").get("name")) == ("layers.py", function)
    assert suite.find("testcase/failure").get("type") == finding
    assert "normscope: layers.py:sleeps: " in err or function != "sleeps"


@pytest.mark.parametrize(
    "target, code, message",
    [
        ("nowhere.py:f", 2, "there is no file nowhere.py; write FILE.py:FUNCTION or package.module:function."),
        ("layers.py", 2, "'layers.py' names no function; write FILE.py:FUNCTION or package.module:function."),
        ("no.such.module:f", 2, "there is no module 'no.such.module' here."),
        ("layers.py:np", 2, "'np' of layers.py is a module, not a function."),
        ("broken.py:f", 3, "broken.py cannot be imported: ZeroDivisionError: division by zero (line 1 of broken.py)."),
        ("stalls.py:f", 3, "stalls.py cannot be imported: the import took longer than 1 s; --time allows more."),
    ],
)
def test_what_cannot_be_had(run, file, tmp_path, target, code, message):
    (tmp_path / "broken.py").write_text("1 / 0")
    (tmp_path / "stalls.py").write_text("while True: pass")
    got, out, err = run("check", target, "--time", "1")
    assert (got, out) == (code, "")
    assert said(err) == [f"Error: {message}"]


def test_a_function_that_is_not_there(run, file):
    code, _, err = run("check", f"{file}:nope")
    assert code == 2
    assert said(err)[0].startswith("Error: layers.py has no 'nope'; it has layer_norm, eps_outside, rms_norm, ")


def test_options_that_contradict_each_other(run, file):
    for options in (("--norm", "rms_norm", "--pattern", "[d]"), ("--affine", "d"), ("--groups", "3")):
        assert run("check", f"{file}:layer_norm", *options)[0] == 2


def test_the_lists_of_the_command_are_those_of_the_diagnosis():
    assert set(check_command.NORMS) == set(naming.KINDS)
    assert check_command.DTYPES == checking.DTYPES
    assert check_command.FRAMEWORKS == frames.NAMES
    assert Limits(check_command.SECONDS, check_command.MEMORY) == Limits()


FOUND = Finding("a-b", "one & <two>", "0.5\x00", "f(x)", "mend it", {"x": [[1.0, 2.0]], "expected": 1.0, "got": 2.0})


def test_junit_has_one_case_of_one_name_whatever_the_verdict():
    other = replace(FOUND, id="c-d", name="three")
    for verdict in (Verdict("mistake", (FOUND, other)), Verdict("unrecognised", title="f"), Verdict("correct")):
        (case,) = ElementTree.fromstring(junit.of_verdict(verdict, "f.py:f", 0.25)).iter("testcase")
        assert (case.get("classname"), case.get("name")) == ("f.py", "f")
    root = ElementTree.fromstring(junit.of_verdict(Verdict("mistake", (FOUND, other)), "f.py:f", 0.25))
    (failure,) = root.iter("failure")
    assert (failure.get("type"), failure.get("message")) == ("a-b, c-d", "one & <two>; three")
    assert "a-b: one & <two>" in failure.text and "c-d: three" in failure.text
    root = ElementTree.fromstring(junit.of_verdict(Verdict("unrecognised", title="f"), "f.py:f", 0.25))
    assert root.find("testsuite/testcase/failure").get("type") == "unrecognised"
    root = ElementTree.fromstring(junit.of_verdict(Verdict("correct", (), ("a note",)), "f.py:f", 0.25))
    assert root.attrib == {"name": "normscope check", "tests": "1", "failures": "0", "errors": "0", "time": "0.250"}
    assert root.findtext("testsuite/system-out") == "a note"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("nowhere.py:f",), 2, "there is no file nowhere.py"),
        (("broken.py:f",), 3, "broken.py cannot be imported: ZeroDivisionError"),
        (("broken.py:f", "--norm", "rms_norm", "--pattern", "[d]"), 2, "--norm and --pattern both say"),
        (("broken.py:f", "--norm", "no_norm"), 2, "Invalid value for '--norm'"),
        (("broken.py:f", "--no-such"), 2, "No such option"),
        ((), 2, "Missing argument"),
    ],
)
@pytest.mark.parametrize("form", ["--json", "--format=json", "--format=junit"])
def test_an_error_too_is_a_document_where_one_was_asked_for(run, tmp_path, arguments, code, message, form):
    (tmp_path / "broken.py").write_text("1 / 0")
    got, out, err = run("check", *arguments, form)
    assert (got, len(said(err))) == (code, 1)
    if form == "--format=junit":
        root = ElementTree.fromstring(out)
        assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("1", "0", "1")
        assert message in root.find("testsuite/testcase/error").get("message")
        return
    made = json.loads(out)
    assert (made["verdict"], made["findings"], made["exit_code"]) == ("error", [], code)
    assert message in made["error"]


def test_an_error_in_text_leaves_stdout_empty(run, file):
    assert run("check", f"{file}:nope", "--format", "text")[1] == ""
    assert run("check", "--help", "--json")[1].startswith("Usage: ")


@pytest.mark.parametrize("form", ["text", "json", "junit"])
@pytest.mark.parametrize("where", ["isolation.judged", "session.Session.prepare", "loading.parse", "child.Child.start"])
def test_a_fault_that_nobody_foresaw_is_one_line(run, file, monkeypatch, form, where):
    def fails(*given, **more):
        raise ValueError("two\nlines")

    monkeypatch.setattr(f"normscope.diagnosis.{where}", fails)
    code, out, err = run("check", f"{file}:layer_norm", "--format", form)
    (line,) = said(err)
    assert code == 70
    assert line.startswith("Error: Normscope failed by a fault of its own (ValueError: two lines, at line ")
    assert bool(out) == (form != "text")


def test_a_text_marks_the_cells_that_are_wrong():
    given = {"x": [[1.0, 2.0], [3.0, 4.0]], "expected": [[0.0, 1.0], [0.0, 1.0]], "got": [[0.0, 1.0], [0.5, 1.0]]}
    text = verdicts.text(Verdict("mistake", (Finding("a", "b", "c", input=given),)), "f: mistake", color=False)
    assert text.splitlines()[-6:] == [
        "  input     x = 1  2", "                3  4", "  expected  0  1", "            0  1", "  got       0     1",
        "            0.5*  1",
    ]  # fmt: skip
    assert "\x1b[1m" in verdicts.text(Verdict("correct"), "f: correct", color=True)
