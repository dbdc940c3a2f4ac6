"""Every error message is an output: tests/golden/errors.txt has a call and the whole text for each.

`python -m tests.test_errors` writes the texts of the file again from its calls, to be read before a commit.
"""

import inspect
import math
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import array_api_strict as strict
import ml_dtypes
import numpy as np
import pytest

import normscope as ns
from normscope import errors
from normscope.axes import parse

FILE = Path(__file__).with_name("golden") / "errors.txt"
ELSEWHERE = {"NormscopeError", "FileError", "StateError"}  # the base; files and page addresses have tests of their own


class Tensor:
    """What a PyTorch tensor looks like from here: it has a shape, but follows no Array API."""

    shape = (2, 3)

    def detach(self) -> "Tensor":
        return self


def program(**changes: Any) -> ns.Program:
    """The program `y = x + x`, its only step changed."""
    step = {"name": "y", "op": "add", "args": ["x", "x"], "axes": ["d"], "over": [], "less": 0, "into": "y"}
    return ns.Program.from_json({"axes": ["d"], "inputs": {"x": ["d"]}, "steps": [step | changes]})


X = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
NAMES = {
    "ns": ns, "np": np, "ml_dtypes": ml_dtypes, "math": math, "Fraction": Fraction, "parse": parse,
    "strict": strict, "program": program, "Tensor": Tensor, "x": X, "a": np.array(X), "norm": ns.Norm("B S [d]", "d"),
    "evaluation": ns.batch_norm(training=False), "three": [0.0] * 3,
}  # fmt: skip


def table() -> list[tuple[str, str]]:
    """Calls and what each must raise: `ShapeError: gamma has ...`; a call without a text must fail its test."""
    calls = [block for block in blocks() if not block.startswith("#")]
    return [(call, text.strip()) for call, _, text in (block.partition("\n") for block in calls)]


def blocks() -> list[str]:
    """A heading, or a call and its text."""
    return FILE.read_text().rstrip("\n").split("\n\n")


def raised(call: str) -> str:
    """The class and the text of what a call raises."""
    try:
        eval(call, dict(NAMES))
    except (errors.NormscopeError, KeyError) as error:
        return f"{type(error).__name__}: {error.args[0]}"
    return "nothing"


TABLE = table()


@pytest.mark.parametrize("call, text", TABLE, ids=[call for call, _ in TABLE])
def test_message(call, text):
    assert raised(call) == text


def test_every_error_class_is_in_the_table():
    classes = {name for name, value in vars(errors).items() if inspect.isclass(value)}
    assert classes - ELSEWHERE == {text.partition(":")[0] for _, text in TABLE} - {"KeyError"}


@pytest.mark.parametrize(
    "function",
    [
        *(ns.Norm, ns.layer_norm, ns.rms_norm, ns.batch_norm, ns.instance_norm, ns.group_norm),
        *(ns.trace, ns.running_statistics, ns.ledger, ns.exact, ns.compare, ns.variances, ns.precision, ns.ladder),
        *(ns.derive, ns.training_ledger, ns.model_ledger, ns.check),
    ],
    ids=lambda function: function.__name__,
)
def test_every_argument_is_named_by_a_message(function):
    free = {"name", "elementwise_affine", "bias", "affine", "training"}  # a text, and what takes any truth
    texts = " ".join(text for _, text in TABLE)
    for argument in inspect.signature(function).parameters.keys() - free:
        assert re.search(rf"\b{argument}\b", texts), argument


def test_a_message_is_a_sentence():
    for _, text in TABLE:
        assert text.endswith((".", "...")), text
        assert "  " not in text


def test_errors_are_of_the_builtin_kinds_too():
    assert issubclass(errors.ShapeError, ValueError)
    assert issubclass(errors.NormError, ValueError)
    assert issubclass(errors.PatternError, ValueError)
    assert issubclass(errors.ProgramError, ValueError)
    assert issubclass(errors.DtypeError, TypeError)
    assert {errors.NormscopeError.exit_code, errors.ShapeError.exit_code, errors.FileError.exit_code} == {2, 3}


if __name__ == "__main__":
    calls = [block.partition("\n")[0] for block in blocks()]
    FILE.write_text("\n\n".join(c if c.startswith("#") else f"{c}\n    {raised(c)}" for c in calls) + "\n")
