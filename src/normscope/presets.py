"""Norms of real models, each with the source that its figures were read from. Data, no logic.

`d` is the width that is normalized, `positions` the longest sequence, `calls` the norms in one forward pass.
HF: transformers 5.24 defaults; LitGPT: litgpt 0.5.13 config.py; llm.c: train_gpt2.py. Where two sources
disagree, the note has both. Left out: models whose norm scales by 1 + w (Gemma) or that norm queries and keys
too (Qwen3, OLMo 2), norm their latents (DeepSeek-V3) or use BatchNorm (ResNet): a Norm says none of that yet.
"""

from dataclasses import dataclass

from .norm import Norm, layer_norm, rms_norm


@dataclass(frozen=True)
class Preset:
    """The norm of a model, by the figures of its configuration.

    >>> PRESETS["llama-3-8b"].norm().eps
    Fraction(1, 100000)
    """

    name: str
    d: int
    layers: int
    kind: str
    place: str
    eps: str
    calls: int
    positions: int
    source: str
    bias: bool = True
    note: str = ""

    def norm(self) -> Norm:
        """The norm itself, over an axis d of any size."""
        if self.kind == "RMSNorm":
            return rms_norm(eps=self.eps)
        return layer_norm(eps=self.eps, bias=self.bias)


GPT2 = "llm.c train_gpt2.py; HF GPT2Config"
LITGPT = "LitGPT config.py"

PRESETS: dict[str, Preset] = {
    "gpt2-small": Preset("GPT-2 small", 768, 12, "LayerNorm", "pre", "1e-5", 25, 1024, GPT2),
    "gpt2-medium": Preset("GPT-2 medium", 1024, 24, "LayerNorm", "pre", "1e-5", 49, 1024, GPT2),
    "gpt2-large": Preset("GPT-2 large", 1280, 36, "LayerNorm", "pre", "1e-5", 73, 1024, GPT2),
    "gpt2-xl": Preset("GPT-2 XL", 1600, 48, "LayerNorm", "pre", "1e-5", 97, 1024, GPT2),
    "bert-base": Preset(
        "BERT base", 768, 12, "LayerNorm", "post", "1e-12", 25, 512, "HF BertConfig", note="and 1 in the MLM head"
    ),
    "modernbert-base": Preset(
        "ModernBERT base", 768, 22, "LayerNorm", "pre", "1e-5", 45, 8192, "HF ModernBertConfig", bias=False,
        note="LayerNorm without beta; and 1 in the MLM head",
    ),
    "vit-base": Preset(
        "ViT-B/16", 768, 12, "LayerNorm", "pre", "1e-12", 25, 197, "HF ViTConfig", note="timm's ViT has eps 1e-6"
    ),
    "clip-vit-b32": Preset(
        "CLIP ViT-B/32, vision", 768, 12, "LayerNorm", "pre", "1e-5", 26, 50, "HF CLIPVisionConfig"
    ),
    "whisper-tiny": Preset("Whisper tiny", 384, 8, "LayerNorm", "pre", "1e-5", 22, 1500, "HF WhisperConfig"),
    "t5-small": Preset(
        "T5 small", 512, 12, "RMSNorm", "pre", "1e-6", 32, 512, "HF T5Config",
        note="T5's positions are relative; shown at length 512",
    ),
    "llama-2-7b": Preset("Llama-2 7B", 4096, 32, "RMSNorm", "pre", "1e-5", 65, 4096, LITGPT),
    "llama-2-70b": Preset("Llama-2 70B", 8192, 80, "RMSNorm", "pre", "1e-5", 161, 4096, LITGPT),
    "llama-3-8b": Preset("Llama-3 8B", 4096, 32, "RMSNorm", "pre", "1e-5", 65, 8192, LITGPT),
    "llama-3.1-405b": Preset("Llama-3.1 405B", 16384, 126, "RMSNorm", "pre", "1e-5", 253, 131072, LITGPT),
    "mistral-7b": Preset("Mistral 7B", 4096, 32, "RMSNorm", "pre", "1e-5", 65, 4096, LITGPT),
    "qwen2.5-7b": Preset("Qwen2.5 7B", 3584, 28, "RMSNorm", "pre", "1e-6", 57, 131072, LITGPT),
    "phi-3-mini": Preset("Phi-3 mini", 3072, 32, "RMSNorm", "pre", "1e-5", 65, 4096, "HF Phi3Config"),
}  # fmt: skip
