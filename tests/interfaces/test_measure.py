"""`normscope measure`: its JSON, its table, its plot, what it refuses; and how a measurement is written."""

import json
from xml.etree import ElementTree

import pytest

import normscope as ns
from normscope.interfaces import machine, measure_command, measured, memory
from normscope.kernels import limits, measure
from tests.interfaces.test_json import strict
from tests.lessons.dom import parse

QUICK = ("--time", "0.01")


def row(engine, predicted, seen, share, seconds=0.002):
    figures = {"predicted_bytes": predicted, "measured_bytes": seen, "moved_bytes": predicted}
    return {"engine": engine, **figures, "seconds": seconds, "of_copy_limit": share}


DATA = {
    "machine": {"cpu": "A <processor>", "cores": 1, "system": "Linux x86_64", "python": "3.11.7"},
    "norm": {"name": "LayerNorm"},
    "shape": [2, 4, 8],
    "storage": "float32",
    "x_bytes": 256,
    "threads": 1,
    "copy_gbps": 21.5,
    "yardstick": "streaming copy",
    "kernel": "the C extension, avx2, 1 thread, plain stores",
    "rows": [row("staged", 1408, 1408, 0.05), row("fused out", 576, 580, 0.8), row("onnxruntime", 576, None, 0.4)],
    "missing": {"pytorch": "PyTorch is not installed"},
}


def test_the_json_is_alone_on_stdout_and_is_the_ledgers(run):
    code, out, _ = run("measure", "--shape", "2,4,8", "--json", *QUICK)
    made = strict(out)
    assert code == 0 and {"machine", "copy_gbps", "rows"} <= made.keys()
    kept = {each["engine"]: (each["predicted_bytes"], each["measured_bytes"]) for each in made["rows"]}
    cost = ns.ledger(ns.layer_norm(), (2, 4, 8))
    assert kept["staged"] == (cost.peak_bytes,) * 2 and kept["fused"] == kept["fused out"] == (cost.fused_bytes,) * 2
    assert all(each["seconds"] > 0 and each["of_copy_limit"] > 0 for each in made["rows"])
    assert made["machine"]["cores"] == machine.cores() and "numpy" in made["machine"]["packages"]


def test_the_table_has_a_line_for_each_engine_and_says_what_is_missing(run):
    code, out, _ = run("measure", "--shape", "3,16", "--dtype", "bfloat16", "--norm", "rms_norm", *QUICK)
    assert code == 0 and out.startswith("RMSNorm of x 3 x 16, bfloat16, on ")
    assert all(f"\n{measured.NAMES[name]}  " in out for name in ("staged", "numpy", "fused", "fused out"))
    assert "The limit is a " in out and "Machine: " in out and "x is small" in out


@pytest.mark.parametrize(
    ("options", "norm"),
    [
        ((), ns.layer_norm()),
        (("--no-bias",), ns.layer_norm(bias=False)),
        (("--no-affine", "--eps", "1e-3"), ns.layer_norm(elementwise_affine=False, eps="1e-3")),
        (("--norm", "rms_norm", "--eps", "1e-6"), ns.rms_norm(eps="1e-6")),
    ],
)
def test_the_options_say_what_the_norm_is(run, options, norm):
    made = json.loads(run("measure", "--shape", "2,8", *options, "--json", *QUICK)[1])
    assert made["norm"] == norm.fit(2).to_json()


def test_a_preset_is_its_norm_at_its_longest_sequence(run):
    made = json.loads(run("measure", "--preset", "clip-vit-b32", "--json", *QUICK)[1])
    assert made["shape"] == [1, 50, 768] and made["norm"]["eps"] == "1/100000"


def test_the_plot_is_a_file_of_its_own(run, tmp_path):
    assert run("measure", "--shape", "2,8", "--plot", "made.svg", *QUICK)[0] == 0
    root = ElementTree.fromstring((tmp_path / "made.svg").read_text(encoding="utf-8"))
    assert root.tag == "{http://www.w3.org/2000/svg}svg" and "staged run" in "".join(root.itertext())


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        (("--shape", "2,8", "--preset", "gpt2-small"), 2, "leave one out"),
        (("--preset", "gpt-9"), 2, "--preset is 'gpt-9'; the presets are gpt2-small"),
        (("--preset", "gpt2-small", "--eps", "0"), 2, "--preset says what the norm is"),
        (("--no-affine", "--no-bias"), 2, "leave --no-bias out"),
        (("--shape", "2,8", "--plot", "a.png"), 2, "it is an .svg file"),
        (("--shape", "2,8", "--plot", "no/a.svg"), 3, "there is no folder no for a.svg"),
        (("--shape", "0,8"), 2, "which has no cells"),
        (("--shape", "64,1024", "--memory", "1"), 2, "and 1 MiB may be used; take a smaller x"),
        (("--shape", "2,8", "--dtype", "float8_e5m2"), 2, "is not one of"),
    ],
)
def test_what_is_refused_and_why(run, options, code, told):
    given, out, err = run("measure", *options)
    assert (given, out) == (code, "") and told in err


def test_what_is_free_is_the_limit_where_none_is_given(run, monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 1000)
    code, _, err = run("measure", "--shape", "2,8")
    assert code == 2 and "1000 B may be used" in err


def test_the_choices_are_those_of_the_measuring():
    assert measure_command.DTYPES == limits.STORAGES and measure_command.SECONDS == measure.SECONDS
    assert measured.NAMES.keys() == measure.ENGINES.keys()


def test_a_page_tells_what_a_table_tells():
    tree = parse(str(measured.drawing(DATA)))
    assert "takes 1.25× the time of a copy of x, the staged run 20×" in tree.one(class_="summary").text
    assert "keeps 1,408 bytes, as the ledger counts, to the byte" in tree.one(class_="summary").text
    cells = [[cell.text for cell in line.all("th") + line.all("td")] for line in tree.one("tbody").all("tr")]
    assert cells == measured.cells(DATA)[1:] and cells[2][4] == measured.UNKNOWN
    times, kept = tree.all("svg")
    assert "fused kernel, out=2 ms, 1.25×" in times.text and "580 B; predicted 576 B" in kept.text
    assert "576 B predicted" in kept.text and "A <processor>, 1 core" in tree.text
    assert "PyTorch was not measured: PyTorch is not installed." in tree.text


def test_a_staged_run_that_keeps_something_else_is_told():
    other = DATA | {"rows": [row("staged", 1408, 1500, 0.05), *DATA["rows"][1:]]}
    assert "keeps 1,500 bytes, and the ledger counts 1,408" in measured.summary(other)


def test_a_small_x_is_said_to_be_small():
    assert any("x is small" in line for line in measured.remarks(DATA))
    assert not any("x is small" in line for line in measured.remarks(DATA | {"x_bytes": 2**20}))


def test_the_machine_is_read_from_what_the_system_tells(tmp_path, monkeypatch):
    (tmp_path / "cpuinfo").write_text("model name\t: A 1\nflags\t: sse avx2 fma avx\n\nmodel name\t: A 2\n")
    for index, (kind, size) in enumerate((("Data", "32K"), ("Instruction", "64K"), ("Unified", "1280K"))):
        place = tmp_path / f"index{index}"
        place.mkdir()
        for name, value in (("type", kind), ("level", "12"[index > 1]), ("size", size)):
            (place / name).write_text(f"{value}\n")
    monkeypatch.setattr(machine, "CPUINFO", tmp_path / "cpuinfo")
    monkeypatch.setattr(machine, "CACHES", tmp_path)
    made = machine.describe()
    assert made["cpu"] == "A 1" and made["instruction_sets"] == ["avx2", "fma"]
    assert made["caches"] == {"L1": "32 KiB", "L2": "1.25 MiB"}
    monkeypatch.setattr(machine, "CPUINFO", tmp_path / "nothing")
    assert machine.describe()["cpu"] and "instruction_sets" not in machine.describe()
