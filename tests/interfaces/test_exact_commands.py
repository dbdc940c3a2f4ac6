"""normscope exact and normscope exercises, as a person runs them: stdout, stderr and the exit code."""

import json
from pathlib import Path

import pytest

import normscope as ns
from normscope import exercises as nice

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "lessons.json").read_text())["B"]
LESSON = ("exact", ",".join(GOLDEN["x"]), "--residual", ",".join(GOLDEN["update"]))


@pytest.fixture
def data(run):
    """The JSON that a command prints, alone on stdout."""

    def command(*arguments: str) -> dict:
        code, out, err = run(*arguments, "--json")
        assert (code, err, out.count("\n")) == (0, "", 1)
        return json.loads(out, parse_constant=pytest.fail)

    return command


# --- exact


def test_lesson_B1_B2_B3_the_json_of_the_lesson(data):
    assert data(*LESSON) == {
        "eps": "0",
        "steps": [
            {"name": "residual", "values": GOLDEN["residual"]},
            {"name": "mu", "values": [GOLDEN["mean"]]},
            {"name": "c", "values": GOLDEN["centered"]},
            {"name": "q", "values": ["1/4", "1/4"]},
            {"name": "var", "values": [GOLDEN["variance"]]},
            {"name": "v", "values": ["1/4"]},
            {"name": "r", "named": "1/sqrt(1/4)"},
            {"name": "xhat", "named": GOLDEN["named"]},
        ],
    }


def test_lesson_B6_open_adds_closed_forms_and_digits(data):
    closed, opened = data(*LESSON), data(*LESSON, "--open", "--digits", "3")
    extra = {"r": (["2"], ["2.000"]), "xhat": (GOLDEN["opened_eps_0"], ["1.000", "-1.000"])}
    for step in closed["steps"]:
        if step["name"] in extra:
            step["closed"], step["digits"] = extra[step["name"]]
    assert opened == closed
    last = data(*LESSON, "--open")["steps"][-1]
    assert last["digits"] == ["1." + "0" * 30, "-1." + "0" * 30]


@pytest.mark.parametrize("case", GOLDEN["more"])
def test_lesson_B6_closed_forms(data, case):
    steps = {s["name"]: s for s in data("exact", ",".join(case["x"]), "--eps", case["eps"], "--open")["steps"]}
    assert steps["mu"]["values"] == [case["mean"]] and steps["var"]["values"] == [case["variance"]]
    assert steps["xhat"]["closed"] == case["xhat_closed"]


@pytest.mark.parametrize(
    ("arguments", "norm", "options"),
    [
        (("1,2,4",), ns.layer_norm(elementwise_affine=False), {}),
        (("-1/2,.5,1e1", "--eps", "1e-5"), ns.layer_norm(elementwise_affine=False), {"eps": "1e-5"}),
        (("1, 2", "--gamma", "-2,3", "--beta", "-0.5,0"), ns.layer_norm(), {"gamma": [-2, 3], "beta": [-0.5, 0]}),
        (("1,2", "--beta", "1,1"), ns.layer_norm(), {"beta": [1, 1]}),
        (("1,2", "--gamma", "2,3"), ns.layer_norm(bias=False), {"gamma": [2, 3]}),
        (
            ("3,4", "--norm", "rms_norm", "--gamma", "1,2", "--eps", "eps"),
            ns.rms_norm(),
            {"gamma": [1, 2], "eps": "eps"},
        ),
        (
            ("1,2", "--residual", "-1,1/3", "--wiring", "pre"),
            ns.layer_norm(elementwise_affine=False),
            {"update": [-1, "1/3"], "wiring": "pre"},
        ),
    ],
)  # fmt: skip
def test_options_reach_the_exact_view(data, run, arguments, norm, options):
    x = arguments[0].split(",")
    made = ns.exact(x, norm, **options)
    assert data("exact", *arguments, "--open") == made.to_json(opened=True)
    code, out, _ = run("exact", *arguments, "--open", "--no-color")
    assert code == 0
    for step in made.program:
        assert ", ".join(made.written(step.name, named=True)) in out
        for text in made.written(step.name) if step.name in made.behind else ():
            assert text in out


def test_tables_for_people(run):
    code, out, err = run(*LESSON)
    assert (code, err) == (0, "") and out.startswith("LayerNorm of x + update (post-norm) in exact numbers, eps = 0\n")
    lines = {line.split()[0]: line.split("  ")[-1].strip() for line in out.splitlines() if "  " in line}
    assert lines["residual"] == "3, 2" and lines["mu"] == "5/2" and lines["r"] == "1/sqrt(1/4)"
    assert out.endswith("sqrt(1/4) is named, not computed; --open opens it.\n") and "." not in lines["xhat"]
    assert "var (mean square)" in run("exact", "1,2", "--norm", "rms_norm")[1]
    assert "1.000000000000000000000000000000" in run(*LESSON, "--open")[1]


def test_a_constant_row_is_said_to_be_undefined(run, data):
    steps = {step["name"]: step for step in data("exact", "5,5", "--open")["steps"]}
    assert steps["xhat"]["closed"] == steps["xhat"]["digits"] == ["undefined: 0/0"] * 2
    code, out, _ = run("exact", "5,5")
    assert code == 0 and "undefined: 0/0, undefined: 0/0" in out and "--eps 1/100000 defines it." in out


def test_a_symbolic_eps_has_formulas_and_asks_for_a_value(run, data):
    steps = {step["name"]: step for step in data("exact", "3,2", "--eps", "eps", "--open")["steps"]}
    assert steps["v"]["values"] == ["1/4 + eps"] and steps["xhat"]["named"] == "sqrt(1/4 + eps)"
    assert (
        steps["xhat"]["closed"] == ["(1/2)/sqrt(1/4 + eps)", "-(1/2)/sqrt(1/4 + eps)"] and "digits" not in steps["xhat"]
    )
    code, out, _ = run("exact", "3,2", "--eps", "eps", "--open")
    assert code == 0 and out.endswith("Decimals need a value for eps, as in --eps 1/100000.\n")


def test_a_root_that_stays_unreduced_is_said_to_be(run):
    code, out, _ = run("exact", f"{10**199 + 7},1,2", "--open", "--digits", "5")
    assert code == 0 and "may not be reduced" in out
    assert "may not be reduced" not in run("exact", "1,2,4", "--open")[1]


def test_a_thousand_digits(data):
    last = data("exact", "1,2,4", "--open", "--digits", "1000")["steps"][-1]
    assert [len(text.partition(".")[2]) for text in last["digits"]] == [1000] * 3
    assert last["digits"][0].startswith("-1.06904496764969753873821392351")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a,b",), "x holds 'a'; give a whole number, a fraction such as 2/3 or a decimal such as 0.1."),
        (("1/0,2",), "x holds '1/0', which divides by 0; give a whole number"),
        (("",), "x is empty; give numbers with commas between them, as in 2,3."),
        ((" ",), "x is empty; give numbers with commas between them, as in 2,3."),
        (("1,,2",), "x holds ''; give a whole number"),
        (("nan,1",), "x holds 'nan'; give a whole number"),
        (("1_0,1",), "x holds '1_0'; give a whole number"),
        (("1" * 10**6,), "the vectors have 1,000,000 characters; together they may have 5,000."),
        (("1" * 3000,), "a number of 3,000 characters; a numerator and a denominator may have 1,000 digits each."),
        (("1" * 1001 + ",2",), "x holds a number of more than 1,000 digits; a numerator and"),
        (("1e1000000,2",), "x holds '1e1000000'; a numerator and a denominator may have 1,000 digits each."),
        (("1e99999999999,2",), "x holds '1e99999999999'; a numerator and"),
        (("1," * 64 + "1",), "x has 65 numbers; the exact view takes up to 64."),
        ((",".join(["9" * 999] * 6),), "the vectors have 5,999 characters; together they may have 5,000."),
        (("1,2", "--residual", "1"), "update has shape (1,); the residual add x + update needs that of x, (2,)."),
        (("1,2", "--residual", "b,1"), "update holds 'b'; give a whole number"),
        (("1,2", "--gamma", "1"), "gamma has shape (1,); LayerNorm over d of x (d=2) needs (2,)."),
        (("1,2", "--beta", ""), "beta is empty; give numbers with commas between them, as in 2,3."),
        (("1,2", "--norm", "rms_norm", "--beta", "1,2"), "beta is given, but RMSNorm '[d]' has none; leave it out."),
        (("1,2", "--eps", "-1"), "eps is -1; it must not be negative: it keeps variance + eps above zero."),
        (("1,2", "--eps", "x"), "eps holds 'x'; give a whole number"),
        (("1,2", "--wiring", "pre"), "--wiring says where the norm stands to the residual add; give --residual."),
        (("1,2", "--digits", "1001", "--open"), "1001 is not in the range 0<=x<=1000."),
        (("1,2", "--eps", "eps", "--open", "--digits", "3"), "--digits needs a value for eps, as in --eps 1/100000."),
        (("--opne",), "No such option: --opne."),
        (("1,2", "3,4"), "unexpected extra argument"),
        ((), "Missing argument 'X'."),
    ],
    ids=lambda value: str(value)[:30],
)  # fmt: skip
def test_bad_input_is_one_line_and_exit_code_2(run, arguments, message):
    for more in ((), ("--json",)):
        code, out, err = run("exact", *arguments, *more)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert err.startswith("Error: ") and message in err and len(err) < 250


# --- exercises


def test_exercises_are_printed_and_answers_stand_after_them(run):
    code, plain, err = run("exercises", "--seed", "1", "--count", "10")
    assert (code, err) == (0, "") and plain == nice.sheet(nice.exercises(1, 10)) + "\n"
    full = run("exercises", "--seed", "1", "--count", "10", "--answers")[1]
    assert full == nice.sheet(nice.exercises(1, 10), with_answers=True) + "\n" and full.startswith(plain.rstrip())


def test_exercises_as_json(data):
    bare, full = data("exercises", "--seed", "4"), data("exercises", "--seed", "4", "--answers")
    assert (full["seed"], full["count"], len(full["exercises"])) == (4, 10, 10)
    for each in full["exercises"]:
        made = ns.exact(each["x"], update=each["update"])
        answers = each.pop("answers")
        assert answers.pop("named") == made.roots[0]
        assert answers == {name: made.written(name) for name in ("residual", "mu", "c", "var", "xhat")}
    assert bare == full


def test_options_of_exercises(data):
    made = data("exercises", "--cells", "4", "--rational-root", "--count", "3", "--answers")["exercises"]
    assert all(len(each["x"]) == 4 and "sqrt" not in str(each["answers"]["xhat"]) for each in made)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--count", "0"), "0 is not in the range 1<=x<=200."),
        (("--seed", "a"), "'a' is not a valid integer range."),
        (("--seed", "9" * 30), "it must be a whole number from 0 to 1,000,000,000,000,000,000."),
        (("--cells", "3", "--rational-root"), "cells is 3; the root of the variance of three rationals"),
    ],
)
def test_bad_options_of_exercises(run, arguments, message):
    code, out, err = run("exercises", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1) and message in err
