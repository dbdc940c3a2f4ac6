"""All norms of a model in one ledger, against closed forms and against the ledgers of its norms one by one."""

import json
from html.parser import HTMLParser

import numpy as np
import pytest

import normscope as ns
from normscope.errors import DtypeError, NormError, ShapeError
from normscope.presets import PRESETS, Preset, pre
from normscope.views.staged import staged
from normscope.views.training import training_ledger

WIDTHS = {"float64": 8, "float32": 4, "bfloat16": 2, "float8_e5m2": 1}


@pytest.mark.parametrize("storage", WIDTHS)
@pytest.mark.parametrize("batch, seq", [(1, 8192), (3, 7)])
def test_llama_in_closed_form(storage, batch, seq):
    """65 RMSNorms of 4,096: N cells and R rows each; x, q, var, v, r, xhat and y by hand."""
    cost, w, d = ns.model_ledger("llama-3-8b", batch, seq, storage), WIDTHS[storage], 4096
    r = batch * seq
    n = r * d
    assert cost.forward.flops == 65 * (4 * n + r) and cost.forward.roots == 65 * r
    assert cost.forward.fused == 65 * (2 * n + d) * w
    # q: x in, q out; var: q in; v: var in and out; r: v in and out; xhat: x and r in; y: xhat and gamma in
    assert cost.forward.staged == 65 * ((2 * n + n + 2 * n + 2 * n + d) * w + (1 + 2 + 2 + 1) * 4 * r)
    assert cost.training.saved == {"x": 65 * (n * w + 4 * r), "xhat": 65 * (n * w + 4 * r)}
    # forward, and r written; backward: dy, x, r and gamma in; dx and dgamma out
    assert cost.training.fused == 65 * ((2 * n + d) * w + 4 * r + (3 * n + 2 * d) * w + 4 * r)


def test_gpt2_saves_the_mean_too():
    cost = ns.model_ledger("gpt2-small", 8, 1024)
    n, r, d = 8 * 1024 * 768, 8 * 1024, 768
    assert cost.training.saved == {"x": 25 * (n + 2 * r) * 4, "xhat": 25 * (n + r) * 4}
    assert cost.forward.flops == 25 * (7 * n + r) and cost.forward.fused == 25 * (2 * n + 2 * d) * 4
    assert cost.notes[0].startswith("Saved: x, mu and r, as PyTorch does; r and xhat would be ")


@pytest.mark.parametrize("key", PRESETS)
def test_the_total_is_that_of_every_norm_by_itself(key):
    model, cost = PRESETS[key], ns.model_ledger(key, 2, None, "bfloat16")
    every = [
        training_ledger(model.norm_of(norms), model.shape_of(norms, 2, model.positions), "bfloat16")
        for norms in model.norms
        for _ in range(norms.count)
    ]
    assert len(every) == cost.calls == model.calls
    assert cost.forward.flops == sum(each.forward.flops for each in every)
    assert cost.forward.fused == sum(each.forward.fused_bytes for each in every)
    assert cost.training.flops == sum(each.flops for each in every)
    assert cost.training.fused == sum(each.fused_bytes for each in every)
    assert cost.training.saved["x"] == sum(sum(each.saved["x"].values()) for each in every)
    assert cost.training.roots == cost.forward.roots == sum(each.forward.reciprocal_roots for each in every)


@pytest.mark.parametrize("norm", [ns.rms_norm(offset=1), ns.layer_norm(), ns.batch_norm()])
def test_staged_traffic_is_what_the_steps_of_a_run_read_and_write(norm):
    """Counted on the arrays of a staged run: each step's arguments, each once, and its result."""
    kind = norm.name
    model = Preset("mine", 1, kind, "pre", "1e-5", 5, "me", pre(8, 1)[:1], offset=norm.offset)
    (row,) = ns.model_ledger(model, 2, 5, "float16").rows
    fitted = model.norm_of(model.norms[0])
    rng = np.random.default_rng(0)
    x, dy = (rng.normal(size=row.shape).astype("float16") for _ in range(2))
    gamma, beta = (rng.normal(size=8).astype("float16") for _ in range(2))
    kept = staged(x, fitted, gamma, beta if fitted.shift else None, "float16", dy)
    program = ns.training(fitted)

    def size(name):
        into = program.by_name[name].into if name in program.by_name else name
        return 0 if name == "eps" else kept[into].nbytes

    def traffic(steps):
        return sum(size(step.name) + sum({arg: size(arg) for arg in step.args if isinstance(arg, str)}.values())
                   for step in steps)  # fmt: skip

    assert row.forward.staged == traffic(ns.forward(fitted))
    assert row.training.staged == traffic(program)


def test_json_has_every_figure_and_can_be_written():
    cost = ns.model_ledger("qwen3-0.6b", 2, 16, "float16")
    data = json.loads(json.dumps(cost.to_json()))
    assert (data["model"], data["batch"], data["seq"], data["storage"], data["count"]) == (
        "Qwen3 0.6B", 2, 16, "float16", 113,
    )  # fmt: skip
    assert [(each["where"], each["count"], each["shape"]) for each in data["norms"]] == [
        ("before attention", 28, [2, 16, 1024]),
        ("before the MLP", 28, [2, 16, 1024]),
        ("final", 1, [2, 16, 1024]),
        ("queries", 28, [2, 16, 16, 128]),
        ("keys", 28, [2, 16, 8, 128]),
    ]
    for way in ("forward", "training"):
        for figure in ("flops", "reciprocal_roots"):
            assert data[way][figure] == sum(each[way][figure] for each in data["norms"])
        for figure in ("staged", "fused"):
            assert data[way]["moved_bytes"][figure] == sum(each[way]["moved_bytes"][figure] for each in data["norms"])
    assert data["training"]["saved_bytes"]["x"] == sum(e["training"]["saved_bytes"]["x"] for e in data["norms"])
    assert "saved_bytes" not in data["forward"]
    assert ns.Norm.from_json(data["norms"][-1]["norm"]).pattern == "B S h [d]"


def test_tables_have_a_line_for_norms_that_are_alike_and_a_total():
    lines = ns.model_ledger("gemma-2-2b", 1, 8192, "bfloat16").text().splitlines()
    assert lines[0] == "Gemma 2 2B: 105 RMSNorms with gamma + 1; B = 1, S = 8,192, bfloat16, statistics in float32"
    places = ["before attention", "after attention", "before the MLP", "after the MLP", "final", "total"]
    assert [line.split("  ")[0] for line in lines[3:9]] == places == [line.split("  ")[0] for line in lines[11:17]]
    assert lines[8].split()[1] == "105" and "LitGPT has eps 1e-5" in lines[-1]


def test_a_notebook_shows_the_same_tables():
    found: list[str] = []

    class Cells(HTMLParser):
        def handle_data(self, data):
            found.append(data)

    cost = ns.model_ledger("t5-small", 1, 8)
    Cells().feed(cost._repr_html_())
    for row in cost.rows:
        assert row.norms.where in found and f"{row.training.fused:,}" in found
    assert repr(cost) == cost.text()


def test_without_a_length_the_models_own_is_taken_and_a_longer_one_is_said_to_be():
    assert ns.model_ledger("gpt2-small").seq == 1024
    assert not any("longest" in note for note in ns.model_ledger("gpt2-small").notes)
    assert ns.model_ledger("gpt2-small", seq=1025).notes[0] == "The model's longest sequence is 1,024."
    assert ns.model_ledger("resnet-50", 4).rows[0].shape == (4, 64, 112 * 112)


@pytest.mark.parametrize(
    "arguments, error, text",
    [
        (("gpt5",), NormError, "model is 'gpt5'; it must be a Preset or the name of one: gpt2-small, "),
        ((3,), NormError, "model is 3; it must be a Preset or the name of one: gpt2-small, "),
        (("gpt2-small", 0), ShapeError, "batch is 0; it must be a whole number from 1."),
        (("gpt2-small", True), ShapeError, "batch is True; it must be a whole number from 1."),
        (("gpt2-small", 1, 2.5), ShapeError, "seq is 2.5; it must be a whole number from 1."),
        (("resnet-50", 1, 8), ShapeError, "seq is 8; ResNet-50 reads no sequence, "),
        (("gpt2-small", 1, 8, "int8"), DtypeError, "storage is 'int8'; "),
    ],
)  # fmt: skip
def test_what_is_no_model_and_no_size_is_refused(arguments, error, text):
    with pytest.raises(error) as caught:
        ns.model_ledger(*arguments)
    assert str(caught.value).startswith(text)
