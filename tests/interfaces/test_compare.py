"""normscope compare, as a person runs it: stdout, stderr and the exit code."""

import json

import numpy as np
import pytest

import normscope as ns
from normscope import conventions, kinds
from normscope.interfaces import compare_command, memory
from normscope.kinds import NAMES

TABLE = "token,1,2,3,4\nThe,0.2,-0.8,0.4,0.1\ncat,-1,-1,1,1\nsat,0.3,0.5,-0.7,-0.1\n"


@pytest.fixture
def words(tmp_path):
    (tmp_path / "words.csv").write_text(TABLE)
    return np.array([[0.2, -0.8, 0.4, 0.1], [-1, -1, 1, 1], [0.3, 0.5, -0.7, -0.1]])


@pytest.fixture
def data(run):
    """The JSON that a command prints, alone on stdout."""

    def command(*arguments):
        code, out, err = run("compare", *arguments, "--json")
        assert (code, err, out.count("\n")) == (0, "", 1)
        return json.loads(out, parse_constant=pytest.fail)

    return command


def test_json_is_the_comparison_in_full_precision(words, data):
    made = data("words.csv", "--norms", "layer_norm,batch_norm")
    assert list(made) == ["tokens", "norms"] and made["tokens"] == ["The", "cat", "sat"]
    assert [each["name"] for each in made["norms"]] == ["layer_norm", "batch_norm"]
    expected = ns.compare(words, ["layer_norm", "batch_norm"])
    for ours, each in zip(made["norms"], expected, strict=True):
        assert ours["xhat"] == each.xhat.tolist() and ours["variance"] == each.variance.tolist()
        assert (ours["pattern"], ours["reduced"], ours["kept"]) == (each.pattern, list(each.reduced), list(each.kept))
        assert ours["groups"] == each.groups
    assert made == data("words.csv")


def test_every_name_and_a_pattern(words, data):
    made = data("words.csv", "--norms", f"{', '.join(NAMES)},[S d]", "--groups", "2", "--eps", "1/4")
    assert [each["name"] for each in made["norms"]] == [*NAMES, "[S d]"]
    assert {each["eps"] for each in made["norms"]} == {0.25}
    assert made["norms"][-1]["kept"] == [] and made["norms"][-1]["groups"] == 1


def test_channels_first(tmp_path, data):
    x = np.random.default_rng(0).normal(size=(2, 4, 3, 3)).astype("float32")
    np.save(tmp_path / "image.npy", x)
    options = ("--layout", "channels", "--norms", "batch_norm,instance_norm,group_norm", "--groups", "2")
    made = data("image.npy", *options)
    assert [each["pattern"] for each in made["norms"]] == ["[N] C [H W]", "N C [H W]", "N (g [c]) [H W]"]
    assert "tokens" not in made
    expected = ns.compare(x, "group_norm", layout="channels", num_groups=2)[0]
    assert np.array_equal(np.array(made["norms"][2]["xhat"], "float32"), expected.xhat)


def test_running_statistics_from_files_and_both_conventions(words, tmp_path, data):
    np.save(tmp_path / "mean.npy", np.array([1.0, 2, 3, 4]))
    (tmp_path / "var.csv").write_text("4,4,1,1\n")
    start = ("--running-mean", "mean.npy", "--running-var", "var.csv", "--norms", "batch_norm_eval")
    made = data("words.csv", *start)["norms"][0]
    assert made["running"]["batches"] == 0 and made["mean"] == [1, 2, 3, 4]
    np.testing.assert_allclose(made["xhat"], (words - [1, 2, 3, 4]) / np.sqrt([4.00001, 4.00001, 1.00001, 1.00001]))
    once = data("words.csv", *start, "--batches", "2", "--momentum", "0.9", "--convention", "keras")["norms"][0]
    assert once["running"]["convention"] == "keras" and once["running"]["momentum"] == 0.9
    np.testing.assert_allclose(once["running"]["var"], 0.81 * np.array([4, 4, 1, 1]) + 0.19 * words.var(0))


def test_decimal_commas_and_numbers_that_are_none(tmp_path, data):
    (tmp_path / "comma.csv").write_text("0,5;inf\n1,5;2,5\n")
    made = data("comma.csv", "--decimal-comma", "--norms", "rms_norm")["norms"][0]
    assert made["variance"][0] == "Infinity" and made["xhat"][0][1] == "NaN"


def test_a_large_tensor_is_cut_to_a_window_unless_all_is_asked_for(tmp_path, data):
    x = np.random.default_rng(0).normal(size=(40, 600))
    np.save(tmp_path / "x.npy", x)
    cut, whole = data("x.npy"), data("x.npy", "--all")
    first = cut["norms"][0]
    assert first["window"] == {"xhat": [[[0, 3], [37, 40]], [[0, 3], [597, 600]]]}
    assert np.shape(first["xhat"]) == (6, 6) and np.shape(first["mean"]) == (40,)
    assert np.shape(whole["norms"][0]["xhat"]) == (40, 600) and "window" not in whole["norms"][0]
    assert first["xhat"][5][5] == whole["norms"][0]["xhat"][-1][-1]


def test_the_tables(words, run):
    code, out, err = run("compare", "words.csv", "--norms", "layer_norm,batch_norm_eval")
    assert (code, err) == (0, "")
    assert out.startswith(
        "x of shape (3, 4) under 2 norms\n"
        "  norm                   pattern  reduced  kept  statistics  cells each  one cell moves\n"
        "  LayerNorm              S [d]    d        S              3           4               4\n"
        "  BatchNorm, evaluation  [S] d    S        d              4           3               1\n"
        "\nLayerNorm 'S [d]'\n"
        "  PyTorch  LayerNorm([4]): normalized_shape lists the sizes of the reduced axes, d\n"
    )
    assert "  1 cat       -1       -1        1         1\n" in out
    assert (
        "running_mean after 1 batch; PyTorch, momentum 0.1: new = (1 − momentum) × old + momentum × batch  d=4\n" in out
    )
    assert (
        "running_var after 1 batch; PyTorch, momentum 0.1: new = (1 − momentum) × old + momentum × batch  d=4\n" in out
    )
    assert "\x1b" not in out and "\x1b" in run("compare", "words.csv", "--color")[1]


def test_one_row_is_noted(tmp_path, run):
    (tmp_path / "one.csv").write_text("1,2\n")
    code, out, err = run("compare", "one.csv")
    assert (code, err) == (0, "") and out.count("BatchNorm: a statistic has one cell here: PyTorch refuses") == 1
    made = json.loads(run("compare", "one.csv", "--json")[1])["norms"]
    assert [len(each["notes"]) for each in made] == [0, 1]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--norms", "layernorm"), 2, "norms holds 'layernorm'; give layer_norm, rms_norm, "),
        (("--norms", "batch_norm,"), 2, "norms has an empty place: 'batch_norm,'; "),
        (("--norms", "B [S] d"), 2, "x has 2 dimensions; the pattern 'B [S] d' needs 3."),
        (("--norms", "group_norm"), 2, "group_norm needs the number of groups; give num_groups=2 (--groups 2), "),
        (("--norms", "group_norm", "--groups", "3"), 2, "4 channels do not divide into g=3 groups; "),
        (("--layout", "images"), 2, "Invalid value for '--layout': 'images' is not one of 'tokens', 'channels'. "),
        (("--momentum", "2"), 2, "momentum is '2'; it must be a number from 0 to 1."),
        (("--batches", "-1"), 2, "batches is -1; it must be a whole number from 0 to 1,000."),
        (("--eps", "-1"), 2, "eps is -1; it must not be negative: "),
        (("--running-mean", "none.npy"), 2, "running_mean from none.npy: there is no such file; "),
        (("--running-mean", "words.csv"), 2, "running_mean has shape (3, 4); BatchNorm over S of x (S=3, d=4) needs "),
    ],
)  # fmt: skip
def test_an_error_is_one_line(words, run, arguments, code, message):
    assert run("compare", "words.csv", *arguments)[:2] == (code, "")
    err = run("compare", "words.csv", *arguments)[2]
    assert err.startswith(f"Error: {message}") and err.count("\n") == 1


def test_a_file_that_is_not_there_or_cannot_be_read(tmp_path, run):
    (tmp_path / "x.pt").write_text("")
    assert run("compare", "none.csv")[0] == 2
    assert run("compare", "x.pt")[0] == 3


def test_what_does_not_fit_in_memory_is_refused_before_it_is_computed(words, run, monkeypatch):
    one = memory.needed(ns.layer_norm(elementwise_affine=False), (3, 4), 8)
    monkeypatch.setattr(memory, "available", lambda: 2 * one - 1)
    code, out, err = run("compare", "words.csv", "--norms", "layer_norm,layer_norm")
    assert (code, out) == (3, "") and f"{2 * one} bytes" in err


def test_the_options_know_every_name_layout_and_convention():
    assert tuple(kinds.NAMES) == compare_command.NAMES
    assert kinds.LAYOUTS == compare_command.LAYOUTS
    assert tuple(conventions.CONVENTIONS) == compare_command.CONVENTIONS
