"""`normscope ledger --preset`: every norm of a model on the command line."""

import json

import pytest

import normscope as ns
from normscope.presets import PRESETS


def test_a_presets_ledger_is_that_of_the_library(run):
    asked = ("ledger", "--preset", "llama-3-8b", "--batch", "2", "--seq", "8192", "--storage", "bfloat16")
    wanted = ns.model_ledger("llama-3-8b", 2, 8192, "bfloat16")
    code, out, err = run(*asked, "--json")
    assert (code, err) == (0, "") and json.loads(out) == json.loads(json.dumps(wanted.to_json()))
    assert run(*asked) == (0, wanted.text() + "\n", "")


@pytest.mark.parametrize("key", PRESETS)
def test_every_preset_has_a_ledger_at_its_own_length(run, key):
    code, out, _ = run("ledger", "--preset", key, "--json")
    data = json.loads(out)
    assert code == 0 and (data["batch"], data["seq"], data["count"]) == (1, PRESETS[key].positions, PRESETS[key].calls)


def test_one_norm_may_have_an_offset(run):
    code, out, _ = run("ledger", "--shape", "2,3,8", "--norm", "rms_norm", "--offset", "1", "--json")
    assert code == 0 and json.loads(out) == ns.ledger(ns.rms_norm(offset=1), (2, 3, 8)).to_json()


@pytest.mark.parametrize(
    "arguments, text",
    [
        (("--preset", "gpt5"), "model is 'gpt5'; it must be a Preset or the name of one: gpt2-small, "),
        (("--preset", "gpt2-small", "--batch", "0"), "batch is 0; it must be a whole number from 1."),
        (("--preset", "gpt2-small", "--seq", "-1"), "seq is -1; it must be a whole number from 1."),
        (("--preset", "resnet-50", "--seq", "8"), "seq is 8; ResNet-50 reads no sequence, "),
        (("--preset", "gpt2-small", "--shape", "2,3"), "--shape is of one norm, --preset of a whole model; "),
        (("--preset", "gpt2-small", "--no-affine"), "--no-affine is of one norm, --preset of a whole model; "),
        (("--preset", "gpt2-small", "--backward"), "--backward is of one norm, --preset of a whole model; "),
        (("--shape", "2,3", "--batch", "0"), "--batch belongs to --preset; give the model too."),
        (("--shape", "2,3", "--seq", "8"), "--seq belongs to --preset; give the model too."),
        (("--shape", "2,3", "--no-affine", "--offset", "1"), "--offset is added to gamma, and the norm has none; "),
    ],
)
def test_what_does_not_fit_together_is_one_line(run, arguments, text):
    code, out, err = run("ledger", *arguments)
    assert code == 2 and out == "" and err.startswith(f"Error: {text}") and err.count("\n") == 1
