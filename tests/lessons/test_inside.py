"""The lesson "Inside LayerNorm", requirement by requirement, as a person sees it on the page."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from normscope.lessons.site import respond
from normscope.lessons.sources import MODELS, minilm, preset, symbolic
from normscope.page.numbers import short
from normscope.presets import PRESETS
from tests.lessons.dom import Node, parse

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "lessons.json").read_text())["A"]["ledger"]
STEPS = ["x", "mu", "c", "q", "var", "r", "xhat", "scaled", "y"]


def page(query: str = "") -> Node:
    """The lesson's page for a state."""
    status, _, body = respond("/inside", query)
    assert status == 200, body
    return parse(body)


def figure(td: Node) -> str:
    """The exact number in a cell of the ledger, without the unit beside it."""
    return td.children[0].words[0] if td.children else ""


def strip(tree: Node, name: str) -> Node:
    """A tensor in the strip of all steps."""
    return tree.one("section", class_="all").one("table", data_t=name)


def cells(table: Node) -> list[list[str]]:
    """What stands in the cells of a tensor."""
    return [[td.text for td in tr.all("td")] for tr in table.one("tbody").all("tr")]


def textbook(x, gamma, beta, eps: float) -> dict[str, np.ndarray]:
    """LayerNorm over the last axis by plain NumPy: the oracle of these tests."""
    mu = x.mean(-1, keepdims=True)
    var = x.var(-1, keepdims=True)
    r = 1 / np.sqrt(var + eps)
    steps = {"x": x, "mu": mu, "c": x - mu, "q": (x - mu) ** 2, "var": var, "r": r, "xhat": (x - mu) * r}
    return steps | {"scaled": steps["xhat"] * gamma, "y": steps["xhat"] * gamma + beta}


def symbolic_steps() -> dict[str, np.ndarray]:
    source = symbolic((2, 4, 8), 0)
    x = np.array(source.rows(range(2), range(4)))
    return textbook(x, np.array(source.gamma), np.array(source.beta), 1e-5)


def test_lesson_A1_one_statistic_a_row():
    tree = page("step=var")
    assert len(cells(strip(tree, "x"))) == 8 and all(len(row) == 8 for row in cells(strip(tree, "x")))
    for name in ("mu", "var", "r"):
        assert [len(row) for row in cells(strip(tree, name))] == [1] * 8
        assert "B S 1 = 2 × 4 × 1" in tree.one("figcaption", id=f"{name}-caption").text
    assert "divided by d, not by d − 1 (PyTorch's correction = 0)" in tree.one(id="formula").text


@pytest.mark.parametrize("name", STEPS)
def test_lesson_A2_every_step_has_its_formula_shape_and_values(name):
    tree = page(f"step={name}")
    stage = tree.one(id="stage").all("table", data_t=name)
    wanted = symbolic_steps()[name].reshape(8, -1)
    shown = [[short(value) for value in row] for row in wanted]
    assert cells(strip(tree, name)) == shown
    assert cells(stage[-1]) == shown
    assert ("math" in {node.tag for node in tree.one(id="formula").walk()}) == (name != "x")
    assert " × ".join(map(str, symbolic_steps()[name].shape)) in tree.one(id=f"{name}-caption").text


FORMULAS = {
    "mu": "μb,s=∑ixb,s,id",
    "c": "cb,s,i=xb,s,i−μb,s",
    "q": "qb,s,i=cb,s,i2",
    "var": "σ²b,s=∑iqb,s,id",
    "r": "rb,s=1σ²b,s+ε",
    "xhat": "x̂b,s,i=cb,s,i·rb,s=cb,s,iσ²b,s+ε",
    "scaled": "sb,s,i=x̂b,s,i·γi",
    "y": "yb,s,i=sb,s,i+βi",
}


@pytest.mark.parametrize("name", FORMULAS)
def test_lesson_A2_the_formula_in_letters_and_in_numbers(name):
    formula = page(f"step={name}&sel={name}.0.1.2").one(id="formula")
    assert formula.all("math")[0].text == FORMULAS[name]
    value = symbolic_steps()[name][0, 1].flat[2 if name in ("c", "q", "xhat", "scaled", "y") else 0]
    assert formula.all("math")[1].text.endswith(f"={value:.6f}".replace("-", "−"))


def test_lesson_A3_parameters_are_shared_and_output_addresses_are_input_addresses():
    tree = page("step=scaled&sel=gamma.2")
    assert [len(row) for row in cells(strip(tree, "gamma"))] == [8]
    fed = {
        (tr.attributes["data-row"], at)
        for tr in strip(tree, "y").one("tbody").all("tr")
        for at, td in enumerate(tr.all("td"))
        if "feeds" in td.attributes.get("class", "")
    }
    assert fed == {(f"{b}.{s}", 2) for b in range(2) for s in range(4)}
    rows = [[tr.attributes["data-row"] for tr in strip(tree, name).one("tbody").all("tr")] for name in ("x", "y")]
    assert rows[0] == rows[1]


def test_lesson_A4_says_which_definition_it_follows():
    text = page().one("section", class_="notes").text
    assert "PyTorch's LayerNorm, and GPT-2's original one" in text


def test_lesson_A5_every_entry_of_every_step_is_visible():
    tree = page()
    for name in STEPS:
        wanted = symbolic_steps()[name].reshape(8, -1)
        assert cells(strip(tree, name)) == [[short(value) for value in row] for row in wanted]


@pytest.mark.parametrize("key", MODELS)
def test_lesson_A6_presets_speak_of_the_full_sizes(key):
    model = MODELS[key]
    tree = page(f"source={key}")
    positions = {"clip-vit-b32": 50, "whisper-tiny": 1500}.get(key, model.positions)  # an image's, a sound's
    shape = f"1 × {positions:,} × {model.d:,}"
    assert shape in tree.one(id="x-caption").text
    assert f"S = {positions:,}, d = {model.d:,}" in tree.one(id="ledger").text
    assert "A window of the tensor" in tree.one(class_="paging").text
    lead = tree.one("p", class_="source").text
    assert model.source.split(";")[0] in lead and "synthetic" in lead
    assert f"eps {model.eps}" in lead


def test_a_model_of_batch_norms_has_no_rows_to_show():
    assert set(PRESETS) - set(MODELS) == {"resnet-50"}
    assert 'value="resnet-50"' not in respond("/inside", "")[2]
    status, _, body = respond("/inside", "source=resnet-50")
    assert status == 400 and "there is no source 'resnet-50' here" in body


def test_gemmas_gamma_is_near_0_and_its_factor_near_1():
    tree = page("source=gemma-3-1b&step=gain")
    assert "RMSNorm that multiplies by 1 + gamma, pre- and post-norm" in tree.one("p", class_="source").text
    assert "LitGPT has eps 1e-5" in tree.one("p", class_="source").text
    gamma, gain = (
        np.array([float(cell.replace("−", "-")) for cell in cells(strip(tree, name))[0]]) for name in ("gamma", "gain")
    )
    assert np.abs(gamma).max() < 0.9 and np.allclose(gain, 1 + gamma, atol=1e-3)
    assert "keeps gamma less 1, as Gemma does" in tree.one(id="formula").text
    assert "1 + gamma" not in page("source=llama-3-8b").one("p", class_="source").text


def test_gemmas_factor_stands_in_every_copy_and_in_the_ledger():
    query = "source=gemma-2-2b&step=gain"
    assert "gain = gamma + 1 # d y" in page(f"{query}&copy=numpy").one(id="copied").text
    assert "F.rms_norm(x, (2304,), gamma + 1, eps=1e-06)" in page(f"{query}&copy=pytorch").one(id="copied").text
    latex = page(f"{query}&copy=latex").one(id="copied").text
    assert r"\left(\gamma_{i} + 1\right)" in latex
    assert "4Nw + 4R + 2dw bytes and 4N + R + d FLOPs" in page(query).one(id="ledger").text


def test_lesson_A7_values_are_synthetic_seeded_and_say_so():
    assert "Synthetic numbers from a seed" in page().one("p", class_="source").text
    assert cells(strip(page("seed=1"), "x")) == cells(strip(page("seed=1"), "x"))
    assert cells(strip(page("seed=1"), "x")) != cells(strip(page("seed=2"), "x"))
    steps = symbolic_steps()
    levels, spreads = steps["mu"].ravel(), np.sqrt(steps["var"].ravel())
    assert np.ptp(levels) > 3 and spreads.max() > 5 * spreads.min()
    normalized = steps["xhat"].reshape(8, 8)
    assert np.allclose(normalized.mean(-1), 0) and np.allclose(normalized.std(-1), 1, atol=1e-3)


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: f"{case['B']}x{case['S']}x{case['d']}w{case['w']}")
def test_lesson_A8_A9_the_ledgers_totals(case):
    storage = {4: "float32", 2: "bfloat16"}[case["w"]]
    source = f"sizes={case['B']},{case['S']},{case['d']}"
    if case["d"] == 768:
        source = f"source=gpt2-small&sizes={case['B']},{case['S']},768"
    elif case["d"] == 4096:
        source = f"source=llama-3-8b&norm=layer_norm&eps=1e-5&sizes={case['B']},{case['S']},4096"
    affine = "both" if case["affine"] else "none"
    total = page(f"{source}&storage={storage}&affine={affine}").one(id="ledger").one("tfoot")
    shown = [int(figure(td).replace(",", "")) for td in total.all("td")[1:]]
    assert [shown[0], *shown[2:]] == [case["peak_bytes"], case["flops"], case["reciprocal_roots"]]
    n, d = case["B"] * case["S"] * case["d"], case["d"]
    assert shown[1] == (2 * n + (2 * d if case["affine"] else 0)) * case["w"]


def test_lesson_A8_the_closed_forms_stand_beside_the_totals():
    assert "5Nw + 8R + 2dw bytes and 7N + R FLOPs" in page().one(id="ledger").text
    assert "4Nw + 8R bytes and 5N + R FLOPs" in page("affine=none").one(id="ledger").text
    assert "4Nw + 4R + dw bytes and 4N + R FLOPs" in page("norm=rms_norm").one(id="ledger").text
    assert "5Nw + 8R + 2dw bytes and 7N + R FLOPs" in page("sizes=1,1,1").one(id="ledger").text


def test_lesson_A9_the_ledgers_rows():
    lines = page().one(id="ledger").one("tbody").all("tr")
    rows = {tr.one("th").text: [figure(td) for td in tr.all("td")] for tr in lines}
    flops = {name: row[3] for name, row in rows.items() if row[3]}
    assert flops == {
        "mu": "64", "c": "64", "q": "64", "var": "64", "xhat (with v, r)": "72", "scaled": "64", "y": "64",
    }  # fmt: skip
    assert {name: row[4] for name, row in rows.items() if row[4]} == {"xhat (with v, r)": "8"}
    assert {name: row[1] for name, row in rows.items() if row[1]} == {
        "x": "256", "gamma": "32", "beta": "32", "mu": "32", "c": "256", "q": "256", "var": "32",
        "xhat (with v, r)": "256", "scaled": "256",
    }  # fmt: skip
    assert {name: row[2] for name, row in rows.items() if row[2]} == {
        "x": "256", "gamma": "32", "beta": "32", "y": "256",
    }  # fmt: skip


def test_large_figures_stand_exactly_and_in_a_unit():
    total = page("source=gpt2-small&storage=bfloat16").one(id="ledger").one("tfoot").all("td")
    assert [td.text for td in total[1:]] == ["7,875,5847.51 MiB", "3,148,8003 MiB", "5,506,0485.51 M", "1,024"]


@pytest.mark.parametrize(("step", "name", "solid"), [("c", "mu", 8), ("xhat", "r", 8), ("scaled", "gamma", 8)])
def test_lesson_A10_broadcast_cells_are_repeats_and_said_to_be_no_copies(step, name, solid):
    repeated = page(f"step={step}").one(id="stage").one("table", data_t=name)
    hollow = [td for td in repeated.all("td") if "hollow" in td.attributes.get("class", "")]
    assert len(repeated.all("td")) == 64 and len(hollow) == 64 - solid
    figure = next(f for f in page(f"step={step}").one(id="stage").all("figure") if f.all("table", data_t=name))
    assert "hollow cells are not stored" in figure.text
    assert "not copies in memory" in page("step=c").one(id="formula").text


def test_lesson_A11_states_its_limits():
    text = page().one("section", class_="notes").text
    for limit in ("gradients", "optimizer state", "allocator's overhead", "kernel workspace", "implementation"):
        assert limit in text
    assert "A fused kernel keeps the steps out of memory" in text
    assert "fused bytes" in page().one(id="ledger").text


def test_lesson_A12_forward_back_play_pause_and_jump():
    tree = page("step=c")
    bumps = [node.attributes["data-by"] for node in tree.all("button", data_bump="step")]
    assert bumps == ["min", "-1", "1", "max"] and tree.one("button", data_play="step")
    jumps = tree.one(id="scrub").all("button")
    assert [jump.attributes["data-do"] for jump in jumps] == [f"step:{i}" for i in range(9)]
    assert [jump.attributes.get("aria-current") for jump in jumps].index("step") == 2
    assert tree.one("input", id="step").attributes["aria-valuetext"] == "step 3 of 9: centered"
    for at, name in enumerate(STEPS):
        line = respond("/inside", f"v=1&step=c&do=step:{at}&patch=")[2].splitlines()[0]
        assert line == ("v=1" if name == "x" else f"v=1&step={name}")


def test_lesson_A13_affine_and_precision():
    tree = page("affine=none&storage=float8_e4m3fn")
    assert not tree.all("table", data_t="gamma") and not tree.all("table", data_t="y")
    assert len(tree.one(id="scrub").all("button")) == 7
    assert "w = 1 bytes" in tree.one(id="ledger").text
    assert "Every value is really rounded" in tree.one("section", class_="notes").text
    assert "not rounded to the chosen precision" in page().one("section", class_="notes").text
    assert [option.attributes["value"] for option in tree.one(id="set-storage").all("option")] == [
        "float64", "float32", "bfloat16", "float16", "float8_e4m3fn", "float8_e5m2",
    ]  # fmt: skip


def test_rms_norm_has_no_mean_and_no_beta():
    tree = page("norm=rms_norm&step=var")
    assert [node.attributes["data-t"] for node in tree.one("section", class_="all").all("table")] == [
        "x", "q", "var", "r", "xhat", "y", "gamma",
    ]  # fmt: skip
    assert "mean square" in tree.one(id="heading").text
    source = symbolic((2, 4, 8), 0)
    x = np.array(source.rows(range(2), range(4))).reshape(8, 8)
    wanted = x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * np.array(source.gamma)
    assert cells(strip(tree, "y")) == [[short(value) for value in row] for row in wanted]


def test_real_activations_are_pytorchs_to_a_millionth():
    source = minilm()
    tree = page("source=minilm&step=y&at=0,2,96")
    recorded = np.array(source.y).reshape(14, 384)[2:6, 96:104]
    assert cells(strip(tree, "y")) == [[short(value) for value in row] for row in recorded.tolist()]
    assert [tr.one("th").text for tr in strip(tree, "y").one("tbody").all("tr")] == ["cat", "sat", "on", "the"]
    assert "Feature 99 of [CLS] is an outlier" in tree.one("p", class_="source").text


def test_a_windows_statistics_are_those_of_the_whole_row():
    x = np.array(preset("gpt2-small", (1, 1024, 768), 0).rows(range(1), range(4)))[0]
    tree = page("source=gpt2-small")
    assert cells(strip(tree, "var")) == [[short(value)] for value in x.var(-1)]


def test_an_edit_moves_its_row_and_no_other():
    before, after = page("step=xhat"), page("step=xhat&edits=x.0.1.2:4")
    changed = [
        at for at, (a, b) in enumerate(zip(cells(strip(before, "y")), cells(strip(after, "y")), strict=True)) if a != b
    ]
    assert changed == [1]
    assert cells(strip(after, "x"))[1][2] == "4.00"


def test_the_pinned_cell_lights_its_row_and_what_it_feeds():
    tree = page("step=xhat&sel=c.0.1.2")
    lit = {
        name: [
            (at, k)
            for at, tr in enumerate(strip(tree, name).one("tbody").all("tr"))
            for k, td in enumerate(tr.all("td"))
            if {"feeds", "reads"} & set(td.attributes.get("class", "").split())
        ]
        for name in STEPS
    }
    assert lit["q"] == [(1, 2)] and lit["var"] == [(1, 0)]
    assert lit["xhat"] == lit["y"] == lit["x"] == [(1, k) for k in range(8)]
    assert lit["c"] == [] and lit["mu"] == [(1, 0)]
    assert len(tree.one(id="stage").all("td", aria_selected="true")) == 1


def test_every_tensor_is_one_tab_stop():
    for query in ("", "step=scaled&sel=gamma.3", "source=minilm&step=xhat&sel=x.0.1.99", "norm=rms_norm&step=y"):
        for table in page(query).all("table", role="grid"):
            assert len(table.all("td", tabindex="0")) == 1


@pytest.mark.parametrize("form", ["link", "numpy", "pytorch", "latex", "csv"])
def test_copies(form):
    tree = page(f"edits=x.0.1.2:4&copy={form}")
    assert tree.one("button", data_copy="copied") and tree.one(id="copied").text


def test_the_numpy_copy_computes_the_pages_numbers():
    scope: dict = {}
    exec("".join(node.words[0] for node in page("copy=numpy&edits=x.0.1.2:4").one("pre").children), scope)
    source = symbolic((2, 4, 8), 0)
    x = np.array(source.rows(range(2), range(4)))
    x[0, 1, 2] = 4
    wanted = textbook(x, np.array(source.gamma), np.array(source.beta), 1e-5)
    for name in STEPS:
        assert np.allclose(scope[name], wanted[name], rtol=1e-12, atol=1e-12)


def test_the_csv_copy_has_every_cell_of_every_step():
    lines = "".join(node.words[0] for node in page("copy=csv").one("pre").children).splitlines()
    assert lines[0] == "b,s,feature," + ",".join(STEPS)
    assert len(lines) == 65
    wanted = symbolic_steps()
    first = [float(cell) for cell in lines[11].split(",")]
    assert first[:3] == [0, 1, 2]
    assert np.allclose(first[3:], [np.broadcast_to(wanted[name], (2, 4, 8))[0, 1, 2] for name in STEPS])


def test_the_pytorch_copy_calls_the_right_function():
    def code(query: str) -> str:
        return page(query + "&copy=pytorch").one("pre").text

    assert "F.layer_norm(x, (8,), gamma, beta, eps=1e-05)" in code("")
    assert "F.layer_norm(x, (8,), gamma, None, eps=1e-05)" in code("affine=scale")
    assert "F.layer_norm(x, (8,), eps=1e-05)" in code("affine=none")
    assert "F.rms_norm(x, (8,), gamma, eps=1e-05)" in code("norm=rms_norm")


def test_marks_for_what_is_no_number():
    constant_row = "eps=0&edits=" + ",".join(f"x.0.0.{k}:1" for k in range(8))
    tree = page(constant_row)
    assert cells(strip(tree, "r"))[0] == ["∞"]
    assert cells(strip(tree, "xhat"))[0] == ["NaN"] * 8
    assert re.search(r'class="inf[ "]', respond("/inside", constant_row)[2])
