"""A verdict as JUnit's XML, which CI systems read.

A target is one test case, whose name never changes with the verdict: CI systems follow a test by its classname and
name, so that a test case for each finding would seem to vanish when it is mended, and another to appear. It holds
one failure, whose type lists the ids of all findings: readers show the first failure of a test case alone.
https://github.com/testmoapp/junitxml describes the format, which has no standard.
"""

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree

if TYPE_CHECKING:
    from ..diagnosis.verdict import Verdict

SUITE = "normscope check"
UNWRITABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # in XML 1.0


def of_verdict(verdict: "Verdict", target: str, seconds: float) -> str:
    """A test case that passes, or fails with every finding; notes are the suite's output."""
    from .verdicts import finding_text

    if verdict.verdict == "correct":
        return _written(target, seconds, verdict.notes)
    ids = ", ".join(dict.fromkeys(verdict.ids)) or verdict.verdict
    message = "; ".join(dict.fromkeys(finding.name for finding in verdict.findings)) or verdict.title
    failure = ElementTree.Element("failure", {"type": ids, "message": clean(message)})
    failure.text = clean("\n\n".join(finding_text(finding) for finding in verdict.findings))
    return _written(target, seconds, verdict.notes, failure)


def of_error(message: str, target: str, seconds: float) -> str:
    """A test case that could not be run."""
    return _written(target, seconds, (), ElementTree.Element("error", {"type": "error", "message": clean(message)}))


def _written(target: str, seconds: float, notes: "tuple[str, ...]", wrong: ElementTree.Element | None = None) -> str:
    kind = "" if wrong is None else wrong.tag
    counts = {"tests": "1", "failures": str(int(kind == "failure")), "errors": str(int(kind == "error"))}
    took = {"time": f"{seconds:.3f}"}
    root = ElementTree.Element("testsuites", {"name": SUITE, **counts, **took})
    suite = ElementTree.SubElement(root, "testsuite", {"name": clean(target), **counts, **took})
    where, _, function = target.rpartition(":")
    named = {"classname": clean(where) or SUITE, "name": clean(function) or SUITE}
    case = ElementTree.SubElement(suite, "testcase", {**named, **took})
    if wrong is not None:
        case.append(wrong)
    if notes:
        ElementTree.SubElement(suite, "system-out").text = clean("\n".join(notes))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=False)


def clean(words: str) -> str:
    """Text without the characters that XML has no form for."""
    return UNWRITABLE.sub("\ufffd", words)
