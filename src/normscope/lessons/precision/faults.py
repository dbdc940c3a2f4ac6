"""Rows that broke real code: each with the report that it was seen in."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any


@dataclass(frozen=True)
class Fault:
    """A preset.

    title, told  what it is called, and what was seen, in our words
    url          the issue or pull request
    sets         fields of the state; the others are the page's first ones
    asks         whether the one-pass variance is to be predicted before it is shown
    """

    title: str
    told: str
    url: str
    sets: Mapping[str, Any]
    asks: bool = False

    @property
    def source(self) -> str:
        """The report by its repository and number: `pytorch/pytorch #40302`."""
        owner, name, _, number = self.url.removeprefix("https://github.com/").split("/")
        return f"{owner}/{name} #{number}"


GITHUB = "https://github.com"
FAULTS: Mapping[str, Fault] = {
    "ort-40000": Fault(
        "40000 to 40003",
        "ONNX Runtime’s LayerNormalization gave NaN for this row of four in float32.",
        f"{GITHUB}/microsoft/onnxruntime/issues/28463",
        {"mean": 40001.5, "spread": sqrt(5) / 2, "d": 4, "shape": "even", "policy": "float32"},
        asks=True,
    ),
    "pytorch-naive": Fault(
        "Mean 100, spread 0.01",
        "PyTorch’s LayerNorm and GroupNorm took the variance in one pass; for rows like this one it was 0.",
        f"{GITHUB}/pytorch/pytorch/issues/40302",
        {"mean": 100.0, "spread": 0.01, "d": 64, "policy": "float32"},
        asks=True,
    ),
    "ten-thousand": Fault(
        "Mean 10,000, spread 1",
        "The same ratio of mean and spread, and so the same loss: what counts is the ratio.",
        f"{GITHUB}/pytorch/pytorch/issues/40302",
        {"mean": 1e4, "spread": 1.0, "d": 64, "policy": "float32"},
        asks=True,
    ),
    "burn-fused": Fault(
        "1000 in steps of 0.001",
        "burn’s fused float32 kernel computed E[x²] − E[x]² and put y off by more than 1; its scalar fallback did not.",
        f"{GITHUB}/tracel-ai/burn/issues/5607",
        {"mean": 1000.0075, "spread": sqrt(255 / 12) / 1000, "d": 16, "shape": "even", "policy": "float32"},
        asks=True,
    ),
    "jax-negative": Fault(
        "A constant row, variance below 0",
        "jax.nn.standardize gave NaN for three equal numbers near −11: the one-pass variance was below −eps.",
        f"{GITHUB}/jax-ml/jax/issues/30426",
        {"mean": -11.000002, "spread": 0.0, "d": 3, "policy": "float32"},
        asks=True,
    ),
    "llama-squares": Fault(
        "x² beyond 65,504",
        "PyTorch’s RMSNorm squared float16 in float16: Llama’s activations overflowed, and the answers were wrong.",
        f"{GITHUB}/pytorch/pytorch/pull/133085",
        {"mean": 0.0, "spread": 300.0, "eps": "1e-6", "norm": "rms_norm", "policy": "statistics-fp16"},
    ),
    "tensorrt-pow": Fault(
        "One outlier squared",
        "BERT, DeBERTa and ViT lost accuracy in TensorRT’s float16 since the square in LayerNorm overflowed.",
        f"{GITHUB}/microsoft/onnxruntime/pull/13639",
        {"mean": 0.0, "spread": 60.0, "d": 64, "shape": "outlier", "policy": "statistics-fp16"},
    ),
    "bert-eps": Fault(
        "eps 1e-12 in float16",
        "1e-12, as in BERT, is 0 in float16: where the variance is 0 there too, 1/√0 makes y infinite, and NaN "
        "follows. TensorFlow raised it.",
        f"{GITHUB}/tensorflow/tensorflow/pull/24979",
        {"mean": 0.0, "spread": 1e-4, "eps": "1e-12", "policy": "steps-fp16"},
    ),
    "padding": Fault(
        "A row of padding",
        "DeepSpeed’s kernel rounded var + 1e-12 to float16: a padded row has 0 under the root, and NaN follows.",
        f"{GITHUB}/deepspeedai/DeepSpeed/issues/581",
        {"mean": 0.0, "spread": 0.0, "eps": "1e-12", "policy": "steps-fp16"},
    ),
    "gemma-deep": Fault(
        "A mean square in bfloat16",
        "A fused RMSNorm reduced in bfloat16; it was reported that outliers in Gemma’s deep layers made its hidden "
        "states diverge.",
        f"{GITHUB}/sgl-project/sglang/pull/27540",
        {"mean": 0.0, "spread": 10.0, "d": 64, "shape": "outlier", "norm": "rms_norm", "policy": "naive-bf16"},
    ),
    "cast-order": Fault(
        "Cast, then scale",
        "Llama’s code casts before it multiplies by the weight, which is llama-bf16 here; Transformer Engine casts "
        "after it, as pytorch-bf16 does. Their bfloat16 outputs differ: compare the worst errors of the two.",
        f"{GITHUB}/NVIDIA/TransformerEngine/issues/1132",
        {"mean": 0.0, "norm": "rms_norm", "affine": "seeded", "seed": 40, "policy": "llama-bf16"},
    ),
}
