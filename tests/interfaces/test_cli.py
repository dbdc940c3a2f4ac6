"""The commands, run as a person runs them: what is on stdout, on stderr, and the exit code."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import normscope as ns
from normscope.interfaces import choice, cli, memory, options, web
from tools import commands_doc

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-c", "import sys; from normscope.interfaces.cli import main; sys.exit(main())"]


def save(name: str, shape: tuple[int, ...], dtype: str = "f4") -> np.ndarray:
    array = np.random.default_rng(0).normal(size=shape).astype(dtype)
    np.save(name, array)
    return array


def strict(text: str) -> dict:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


def values_of(step: dict, dtype: str = "f4") -> np.ndarray:
    return np.array(step["values"], dtype)


# --- trace


@pytest.mark.parametrize("dtype", ["f4", "f8", ">f4", "f2", "i4"])
@pytest.mark.parametrize(
    ("options", "norm"),
    [
        ((), ns.layer_norm()),
        (("--no-affine", "--eps", "1e-3"), ns.layer_norm(eps="1e-3", elementwise_affine=False)),
        (("--norm", "rms_norm"), ns.rms_norm()),
        (("--norm", "batch_norm"), ns.batch_norm()),
        (("--norm", "instance_norm"), ns.instance_norm()),
        (("--norm", "group_norm", "--groups", "2"), ns.group_norm(2)),
        (("--pattern", "B [S d]", "--affine", "d"), ns.Norm("B [S d]", "d")),
        (("--pattern", "N (g [c]) L", "--groups", "2"), ns.Norm("N (g [c]) L", sizes={"g": 2})),
    ],
)
def test_json_of_trace_is_bit_equal_to_the_trace(run, options, norm, dtype):
    x = save("x.npy", (2, 4, 8), dtype)
    code, out, err = run("trace", "x.npy", *options, "--json")
    made, wanted = strict(out), ns.trace(x, norm)
    assert (code, err) == (0, "")
    assert made["norm"] == wanted.norm.to_json() and made["sizes"] == wanted.sizes
    assert made["notes"] == list(wanted.notes)
    steps = {step["name"]: step for step in made["steps"]}
    assert list(steps) == list(wanted)
    for name, step in wanted.program.by_name.items():
        assert steps[name]["op"] == step.op and steps[name]["axes"] == list(step.axes)
        assert values_of(steps[name], wanted[name].dtype).tobytes() == np.ascontiguousarray(wanted[name]).tobytes()
        assert steps[name]["shape"] == list(wanted[name].shape)


def test_without_scale_and_shift_y_is_the_same_as_xhat(run):
    save("x.npy", (2, 3))
    steps = strict(run("trace", "x.npy", "--no-affine", "--json")[1])["steps"]
    assert steps[-1] == {"name": "y", "same_as": "xhat"} and steps[-2]["name"] == "xhat"


def test_gamma_and_beta_come_from_files(run):
    x, gamma = save("x.npy", (3, 4)), save("g.npy", (4,))
    Path("b.csv").write_text("1\n2\n3\n4\n")
    steps = strict(run("trace", "x.npy", "--gamma", "g.npy", "--beta", "b.csv", "--json")[1])["steps"]
    assert (values_of(steps[-1]) == ns.trace(x, ns.layer_norm(), gamma, np.float32([1, 2, 3, 4]))["y"]).all()


def test_instance_norm_has_an_affine_when_gamma_is_given(run):
    save("x.npy", (2, 3, 4)), save("g.npy", (3,))
    code, out, _ = run("trace", "x.npy", "--norm", "instance_norm", "--gamma", "g.npy", "--json")
    assert code == 0 and strict(out)["norm"]["affine"] == "C"


def test_nan_and_infinities_are_strings_and_stay_in_their_row(run):
    Path("x.csv").write_text("token,a,b\nThe,nan,1\ncat,inf,1\nsat,1,2\n")
    code, out, err = run("trace", "x.csv", "--json")
    made = strict(out)
    mu = made["steps"][0]["values"]
    assert (code, err) == (0, "") and mu == [["NaN"], ["Infinity"], [1.5]]
    assert made["tokens"] == ["The", "cat", "sat"]


def test_a_large_step_is_a_window_with_its_ranges_unless_all(run):
    x = save("x.npy", (2, 10, 600))
    made, whole = (strict(run("trace", "x.npy", "--json", *more)[1]) for more in ((), ("--all",)))
    wanted = ns.trace(x)
    for step, full in zip(made["steps"], whole["steps"], strict=True):
        assert step["shape"] == full["shape"] and "window" not in full
        assert (values_of(full) == wanted[step["name"]]).all()
        if step["name"] in ("mu", "var", "v", "r"):
            assert step == full
            continue
        assert step["window"] == [[[0, 2]], [[0, 3], [7, 10]], [[0, 3], [597, 600]]]
        at = np.ix_(range(2), [0, 1, 2, 7, 8, 9], [0, 1, 2, 597, 598, 599])
        assert (values_of(step) == wanted[step["name"]][at]).all()


def test_tables_show_every_step_and_no_wall_of_numbers(run):
    save("x.npy", (8, 128, 768))
    code, out, err = run("trace", "x.npy")
    assert (code, err) == (0, "")
    heads = [part.split("\n")[0].split(" ")[0] for part in out.split("\n\n")]
    assert heads == ["LayerNorm", "x", "mu", "c", "q", "var", "v", "r", "xhat", "scaled", "y"]
    assert len(out.splitlines()) < 120 and max(map(len, out.splitlines())) <= 80
    assert "\x1b" not in out


def test_tables_name_the_tokens(run):
    Path("x.csv").write_text("The,1,2\ncat,3,5\n")
    assert "\n  1 cat    3  5\n" in run("trace", "x.csv")[1]


def test_a_trace_that_would_not_fit_is_refused_before_it_starts(run, monkeypatch):
    save("x.npy", (2, 4, 8))
    monkeypatch.setattr(memory, "available", lambda: 1000)
    code, out, err = run("trace", "x.npy", "--json")
    assert (code, out) == (3, "")
    # x, c, q, xhat, scaled, y of 64 cells, gamma and beta of 8, mu, var, v, r of 8, at 4 bytes
    assert err == (
        "Error: x from x.npy: a trace keeps every step, 1,728 bytes (1.69 KiB), and 1,000 bytes (1000 B) are "
        "available; `normscope open x.npy` shows any window of it without reading the rest.\n"
    )


def test_what_a_trace_needs_is_what_it_keeps():
    x = np.random.default_rng(0).normal(size=(2, 6, 4, 4)).astype("f4")
    for norm in (ns.layer_norm(), ns.rms_norm(), ns.batch_norm(), ns.group_norm(3)):
        made = ns.trace(x, norm)
        kept = sum(np.asarray(made[name]).nbytes for name in made)
        inputs = sum(np.asarray(value).nbytes for name, value in made.inputs.items() if name != "eps")
        assert memory.needed(norm, x.shape, 4) == kept + inputs


def test_available_memory_is_within_the_machines_and_the_containers(tmp_path, monkeypatch):
    (tmp_path / "memory.max").write_text("5000\n")
    (tmp_path / "memory.current").write_text("2000\n")
    monkeypatch.setattr(memory, "GROUP", tmp_path)
    assert memory.available() == 3000
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:   7 kB\n")
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    assert memory.available() == 7 * 1024


# --- ledger


def test_json_of_ledger_is_the_ledger(run):
    code, out, err = run("ledger", "--shape", "2,4,8", "--json")
    made = strict(out)
    assert (code, err) == (0, "")
    assert made == ns.ledger(ns.layer_norm(), (2, 4, 8)).to_json()
    figures = ("N", "R", "peak_bytes", "flops", "reciprocal_roots")
    assert [made[name] for name in figures] == [64, 8, 1408, 456, 8]


@pytest.mark.parametrize(
    ("options", "pattern", "affine"),
    [
        ((), "batch time [model]", "model"),
        (("--norm", "rms_norm", "--no-affine"), "batch time [model]", None),
        (("--norm", "batch_norm"), "[batch] time [model]", "time"),
        (("--norm", "group_norm", "--groups", "2"), "batch (g [c]) [model]", "(g c)"),
    ],
)
def test_axes_can_be_named(run, options, pattern, affine):
    out = run("ledger", "--shape", "2,4,8", "--axes", "batch, time,model", *options, "--json")[1]
    norm = strict(out)["norm"]
    assert (norm["pattern"], norm["affine"]) == (pattern, affine)


def test_storage_and_pattern_reach_the_ledger(run):
    out = run("ledger", "--shape", "2,4,8", "--pattern", "B [S d]", "--storage", "bfloat16", "--json")[1]
    assert strict(out) == ns.ledger(ns.Norm("B [S d]"), (2, 4, 8), "bfloat16").to_json()


def test_the_ledgers_table_is_its_repr(run):
    assert run("ledger", "--shape", "2,4,8")[1] == f"{ns.ledger(ns.layer_norm(), (2, 4, 8))!r}\n"


def test_every_storage_is_in_the_help(run):
    from normscope.views.ledger import WIDTH

    out = run("ledger", "--help")[1]
    assert all(name in out for name in WIDTH)


# --- errors: one line on stderr, nothing on stdout

HELP = {name: f" See 'normscope {name} --help'." for name in ("trace", "ledger")}
REFUSED = [
    (("--foo",), 2, "No such option '--foo'. See 'normscope --help'."),
    (("trce",), 2, "No such command 'trce'. Did you mean 'trace'? See 'normscope --help'."),
    (("--port", "1", "trace", "x.npy"), 2, "--port and --no-browser stand after 'trace'. See 'normscope --help'."),
    (("trace",), 2, "Missing argument 'FILE'." + HELP["trace"]),
    (("trace", "none.npy"), 2, "x from none.npy: there is no such file; give a .npy, .npz, .safetensors or .csv file."),
    (
        ("trace", "x.npy", "--beta", "none.npy"),
        2,
        "beta from none.npy: there is no such file; give a .npy, .npz, .safetensors or .csv file.",
    ),
    (("open", "none.npy"), 2, "x from none.npy: there is no such file; give a .npy, .npz, .safetensors or .csv file."),
    (
        ("open", "x.pt"),
        3,
        "x from x.pt: a .pt file can run code when it is loaded, so it is never read; use numpy.save.",
    ),
    (
        ("trace", "x.pt"),
        3,
        "x from x.pt: a .pt file can run code when it is loaded, so it is never read; use numpy.save.",
    ),
    (
        ("open", "x.npy", "--eps", "-1"),
        2,
        "eps is -1; it must not be negative: it keeps variance + eps above zero.",
    ),
    (
        ("trace", "x.npy", "--eps", "nan"),
        2,
        "eps is nan; it must be 0 or a number from 5e-324 to 1.8e308, such as 1e-5.",
    ),
    (
        ("trace", "x.npy", "--gamma", "x.npy"),
        2,
        "gamma has shape (2, 4, 8); LayerNorm over d of x (B=2, S=4, d=8) needs (8,).",
    ),
    (
        ("trace", "x.npy", "--norm", "group_norm"),
        2,
        "group_norm needs --groups, as in --groups 32." + HELP["trace"],
    ),
    (("trace", "x.npy", "--groups", "2"), 2, "layer_norm takes no --groups." + HELP["trace"]),
    (
        ("trace", "x.npy", "--norm", "group_norm", "--groups", "3"),
        2,
        "4 channels do not divide into g=3 groups; pattern 'N (g [c]) [L]'.",
    ),
    (
        ("trace", "x.npy", "--norm", "rms_norm", "--pattern", "[d]"),
        2,
        "--norm and --pattern both say what the norm is; leave one out." + HELP["trace"],
    ),
    (
        ("trace", "x.npy", "--affine", "d"),
        2,
        "--affine belongs to --pattern; a --norm knows the axes of its gamma and beta." + HELP["trace"],
    ),
    (
        ("trace", "x.npy", "--pattern", "B S [d]", "--affine", "d", "--no-affine"),
        2,
        "--affine and --no-affine contradict each other; leave one out." + HELP["trace"],
    ),
    (("trace", "x.npy", "--pattern", "B [d]"), 2, "x has 3 dimensions; the pattern 'B [d]' needs 2."),
    (("trace", "x.npy", "--pattern", "B [d"), 2, "pattern 'B [d': '[' is never closed; add ']'."),
    (("ledger",), 2, "Missing option '--shape', or '--preset' for a whole model." + HELP["ledger"]),
    (
        ("ledger", "--shape", "2,a"),
        2,
        "--shape is '2,a'; write whole numbers, as in 2,4,8." + HELP["ledger"],
    ),
    (("ledger", "--shape", "2,-4"), 2, "sizes holds -4; a size is a whole number."),
    (
        ("ledger", "--shape", "2,4", "--axes", "B"),
        2,
        "--axes has 1 of 2 names; give one for each size of --shape, as in B,S,d." + HELP["ledger"],
    ),
    (
        ("ledger", "--shape", "2,4", "--axes", "d,d"),
        2,
        "pattern 'd [d]': axis 'd' stands twice; every axis has its own name.",
    ),
    (
        ("ledger", "--shape", "2,4", "--axes", "B,d", "--pattern", "B [d]"),
        2,
        "--axes names the axes of --norm; a --pattern names its own." + HELP["ledger"],
    ),
    (
        ("ledger", "--shape", "2,4", "--storage", "int8"),
        2,
        "storage is 'int8'; it must be one of float64, float32, bfloat16, float16, float8_e4m3fn, float8_e5m2.",
    ),
]


@pytest.mark.parametrize(("arguments", "code", "text"), REFUSED, ids=[" ".join(case[0]) for case in REFUSED])
def test_an_error_is_one_line_on_stderr(run, arguments, code, text):
    save("x.npy", (2, 4, 8))
    Path("x.pt").write_bytes(b"")
    assert run(*arguments) == (code, "", f"Error: {text}\n")


def test_an_error_of_the_system_and_too_little_memory_are_lines_too(run, monkeypatch):
    for error, code, line in (
        (PermissionError(13, "Permission denied"), 3, "Error: [Errno 13] Permission denied\n"),
        (MemoryError(), 3, "Error: there is not enough memory; `normscope open FILE` shows a window.\n"),
        (KeyboardInterrupt(), 130, "\n"),
    ):
        monkeypatch.setattr(web, "serve", lambda error=error, **options: (_ for _ in ()).throw(error))
        assert run() == (code, "", line)


# --- serving


@pytest.fixture
def served(monkeypatch):
    calls = []
    monkeypatch.setattr(web, "serve", lambda **options: calls.append(options) or 0)
    return calls


def test_the_bare_command_serves_the_lab(run, served):
    assert run() == (0, "", "")
    assert run("--port", "0", "--no-browser")[0] == 0
    usual = {"sources": {}, "path": "/"}
    assert served == [usual | {"port": None, "browser": True}, usual | {"port": 0, "browser": False}]


def test_open_serves_the_file_by_a_name_and_never_by_its_path(run, served):
    x = save("secret.npy", (2, 4, 8))
    np.save("g.npy", np.arange(8.0))
    assert run("open", "secret.npy", "--no-browser", "--gamma", "g.npy", "--eps", "1e-12") == (0, "", "")
    (call,) = served
    source = call["sources"]["file"]
    assert call["path"] == "/inside?v=1&source=file" and not call["browser"]
    assert (source.rows(range(2), range(4)) == x).all()
    assert (source.gamma, source.beta, source.eps) == (list(range(8)), None, "1e-12")


def test_the_exit_code_of_the_server_is_that_of_the_command(run, monkeypatch):
    monkeypatch.setattr(web, "serve", lambda **options: 3)
    assert run()[0] == 3


def test_the_port_in_the_help_is_the_servers():
    assert options.PORT == web.PORT


# --- colour, pipes, start


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("options", "environ", "wanted"),
    [
        ((), {}, True),
        ((), {"NO_COLOR": "1"}, False),
        (("--color",), {"NO_COLOR": "1"}, True),
        (("--no-color",), {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colour_follows_the_option_then_the_environment(run, monkeypatch, options, environ, wanted):
    save("x.npy", (2, 3))
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    for command in (("trace", "x.npy"), ("ledger", "--shape", "2,3")):
        monkeypatch.setattr(sys, "stdout", terminal := Terminal())
        assert cli.main([*command, *options]) == 0
        assert ("\x1b[" in terminal.getvalue()) is wanted


def test_json_is_never_coloured(run):
    assert "\x1b" not in run("ledger", "--shape", "2,4,8", "--json", "--color")[1]


def test_a_closed_pipe_is_no_traceback(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((2, 200, 200)))
    process = subprocess.Popen(
        [*COMMAND, "trace", "x.npy", "--json", "--all"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.read(10)
    process.stdout.close()
    assert (process.wait(timeout=30), process.stderr.read()) == (141, b"")
    process.stderr.close()


def test_a_terminal_without_unicode_still_gets_the_tables(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((20, 3)))
    environ = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run([*COMMAND, "trace", "x.npy"], cwd=tmp_path, env=environ, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"") and b"?" in done.stdout


def test_version_and_help(run):
    assert run("--version") == (0, f"normscope {ns.__version__}\n", "")
    for command in ("trace", "ledger", "open"):
        code, out, err = run(command, "-h")
        assert (code, err) == (0, "") and "Examples:" in out


def test_help_loads_nothing_heavy():
    heavy = ("numpy", "rich", "starlette", "uvicorn", "ml_dtypes")
    code = "import sys; sys.argv[1:] = ['--help']\nfrom normscope.interfaces.cli import main\nmain()\n"
    code += f"print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_docs_commands_md_is_current():
    assert commands_doc.main(["--check"]) == ""


def test_a_stale_page_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(commands_doc, "PAGE", tmp_path / "commands.md")
    assert commands_doc.main(["--check"]).endswith("is not current; run: python tools/commands_doc.py")
    assert commands_doc.main([]) == "" and commands_doc.main(["--check"]) == ""


def test_choice_defaults_to_layer_norm():
    assert choice.make_norm(None) == ns.layer_norm()
