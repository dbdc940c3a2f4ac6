"""What a model_type of Hugging Face's config.json says of the model's norms. Data, read from transformers 5.24.

For each family: the kind of its norms, the field that has their eps (with the configuration's default, or the number
that the code has where no field does), what is added to gamma, whether there is a beta, and by the end of a module's
path where in the block each stands. `*` is the number of a layer. torch.nn.LayerNorm casts back after gamma and beta.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

BEFORE_ATTENTION, BEFORE_MLP, FINAL = "before attention", "before the MLP", "final"
AFTER_ATTENTION, AFTER_MLP, EMBEDDINGS = "after attention", "after the MLP", "embeddings"
BEFORE_CROSS, AFTER_CROSS, HEAD = "before cross-attention", "after cross-attention", "MLM head"
QUERIES, KEYS = "queries", "keys"
LATENT_QUERIES, LATENT_KEYS = "latent queries", "latent keys and values"
BEFORE_BOTH, BEFORE_MIXER = "before attention and the MLP", "before the mixer"
BEFORE, AFTER = "before gamma", "after gamma"  # where a narrow value is cast back to x's dtype


@dataclass(frozen=True)
class Family:
    """The norms of a model_type.

    kind    of all of them
    eps     the field that has it; empty: the code has `default` as a number
    sites   by the end of a module's path, where it stands
    bias    there is a beta; or the field that says so
    needs   by site, the field that must be true (or not 0 or null) for it to be there
    fixed   by site, an eps that no field changes
    first   by site, the first layer that has it
    layers  the field that counts them, where it is an unusual one
    width   of queries and keys: "head" for a head's, "full" for all heads in one, "heads" for each head's own gamma
    """

    kind: str
    eps: str
    default: str
    sites: Mapping[str, str]
    offset: int = 0
    bias: bool | str = True
    cast: str = AFTER
    needs: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, str] = field(default_factory=dict)
    first: Mapping[str, int] = field(default_factory=dict)
    layers: str = ""
    width: str = "head"


BERT_SITES = {
    "embeddings.LayerNorm": EMBEDDINGS,
    "encoder.layer.*.attention.output.LayerNorm": AFTER_ATTENTION,
    "encoder.layer.*.output.LayerNorm": AFTER_MLP,
    "encoder.layer.*.crossattention.output.LayerNorm": AFTER_CROSS,
    "cls.predictions.transform.LayerNorm": HEAD,
    "lm_head.layer_norm": HEAD,
}
BERT_NEEDS = {
    "encoder.layer.*.crossattention.output.LayerNorm": "add_cross_attention",
    "cls.predictions.transform.LayerNorm": "",  # only weights tell whether there is one
    "lm_head.layer_norm": "",
}
BERT = Family("LayerNorm", "layer_norm_eps", "1e-12", BERT_SITES, needs=BERT_NEEDS)
LLAMA_SITES = {
    "layers.*.input_layernorm": BEFORE_ATTENTION,
    "layers.*.post_attention_layernorm": BEFORE_MLP,
    "norm": FINAL,
}
QK_SITES = {"layers.*.self_attn.q_norm": QUERIES, "layers.*.self_attn.k_norm": KEYS}
LLAMA = Family("RMSNorm", "rms_norm_eps", "1e-6", LLAMA_SITES, bias=False, cast=BEFORE)
QWEN3 = replace(LLAMA, sites=LLAMA_SITES | QK_SITES)
GEMMA = replace(LLAMA, offset=1, cast=AFTER)
GEMMA2_SITES = {
    "layers.*.input_layernorm": BEFORE_ATTENTION,
    "layers.*.post_attention_layernorm": AFTER_ATTENTION,
    "layers.*.pre_feedforward_layernorm": BEFORE_MLP,
    "layers.*.post_feedforward_layernorm": AFTER_MLP,
    "norm": FINAL,
}
GEMMA2 = replace(GEMMA, sites=GEMMA2_SITES)
GEMMA3 = replace(GEMMA, sites=GEMMA2_SITES | QK_SITES)
OLMO2_SITES = {
    "layers.*.post_attention_layernorm": AFTER_ATTENTION,
    "layers.*.post_feedforward_layernorm": AFTER_MLP,
    "norm": FINAL,
}
OLMO2 = Family("RMSNorm", "rms_norm_eps", "1e-5", OLMO2_SITES | QK_SITES, bias=False, width="full")
LATENTS = {"layers.*.self_attn.q_a_layernorm": LATENT_QUERIES, "layers.*.self_attn.kv_a_layernorm": LATENT_KEYS}
DEEPSEEK = replace(
    LLAMA,
    sites=LLAMA_SITES | LATENTS,
    needs={"layers.*.self_attn.q_a_layernorm": "q_lora_rank"},
    fixed=dict.fromkeys(LATENTS, "1e-6"),  # their constructor is given no eps
)
GPT2 = Family(
    "LayerNorm", "layer_norm_epsilon", "1e-5",
    {"h.*.ln_1": BEFORE_ATTENTION, "h.*.ln_2": BEFORE_MLP, "h.*.ln_cross_attn": BEFORE_CROSS, "ln_f": FINAL},
    needs={"h.*.ln_cross_attn": "add_cross_attention"},
)  # fmt: skip
VIT_SITES = {"layernorm_before": BEFORE_ATTENTION, "layernorm_after": BEFORE_MLP}
VIT = Family(
    "LayerNorm",
    "layer_norm_eps",
    "1e-12",
    {f"encoder.layer.*.{name}": place for name, place in VIT_SITES.items()}
    | {f"layers.*.{name}": place for name, place in VIT_SITES.items()}
    | {"layernorm": FINAL},
    needs={f"layers.*.{name}": "" for name in VIT_SITES},  # as transformers 5 calls them in memory
)
CLIP_SITES = {"encoder.layers.*.layer_norm1": BEFORE_ATTENTION, "encoder.layers.*.layer_norm2": BEFORE_MLP}
CLIP_TEXT = Family("LayerNorm", "layer_norm_eps", "1e-5", CLIP_SITES | {"final_layer_norm": FINAL})
CLIP_VISION = replace(CLIP_TEXT, sites=CLIP_SITES | {"pre_layrnorm": EMBEDDINGS, "post_layernorm": FINAL})
SIGLIP_TEXT = replace(CLIP_TEXT, default="1e-6")
SIGLIP_VISION = replace(
    SIGLIP_TEXT,
    sites=CLIP_SITES | {"post_layernorm": FINAL, "head.layernorm": "pooling"},
    needs={"head.layernorm": "vision_use_head"},
)
T5 = Family(
    "RMSNorm", "layer_norm_epsilon", "1e-6",
    {
        "encoder.block.*.layer.0.layer_norm": "encoder, before attention",
        "encoder.block.*.layer.1.layer_norm": "encoder, before the MLP",
        "encoder.final_layer_norm": "encoder, final",
        "decoder.block.*.layer.0.layer_norm": "decoder, before attention",
        "decoder.block.*.layer.1.layer_norm": "decoder, before cross-attention",
        "decoder.block.*.layer.2.layer_norm": "decoder, before the MLP",
        "decoder.final_layer_norm": "decoder, final",
    },
    bias=False, cast=BEFORE,
)  # fmt: skip
WHISPER = Family(
    "LayerNorm", "", "1e-5",
    {
        "encoder.layers.*.self_attn_layer_norm": "encoder, before attention",
        "encoder.layers.*.final_layer_norm": "encoder, before the MLP",
        "encoder.layer_norm": "encoder, final",
        "decoder.layers.*.self_attn_layer_norm": "decoder, before attention",
        "decoder.layers.*.encoder_attn_layer_norm": "decoder, before cross-attention",
        "decoder.layers.*.final_layer_norm": "decoder, before the MLP",
        "decoder.layer_norm": "decoder, final",
    },
)  # fmt: skip
BART = Family(
    "LayerNorm", "", "1e-5",
    {
        "encoder.layernorm_embedding": "encoder, embeddings",
        "encoder.layers.*.self_attn_layer_norm": "encoder, after attention",
        "encoder.layers.*.final_layer_norm": "encoder, after the MLP",
        "decoder.layernorm_embedding": "decoder, embeddings",
        "decoder.layers.*.self_attn_layer_norm": "decoder, after attention",
        "decoder.layers.*.encoder_attn_layer_norm": "decoder, after cross-attention",
        "decoder.layers.*.final_layer_norm": "decoder, after the MLP",
    },
)  # fmt: skip

FAMILIES: Mapping[str, Family] = {
    "albert": replace(
        BERT,
        sites={
            "embeddings.LayerNorm": EMBEDDINGS,
            "albert_layers.*.attention.LayerNorm": AFTER_ATTENTION,
            "albert_layers.*.full_layer_layer_norm": AFTER_MLP,
        },
        needs={},
        layers="inner_group_num",  # that all layers share
    ),
    "bart": BART,
    "bert": BERT,
    "bloom": Family(
        "LayerNorm", "layer_norm_epsilon", "1e-5",
        {
            "word_embeddings_layernorm": EMBEDDINGS,
            "h.*.input_layernorm": BEFORE_ATTENTION,
            "h.*.post_attention_layernorm": BEFORE_MLP,
            "ln_f": FINAL,
        },
    ),
    "camembert": BERT,
    "clip_text_model": CLIP_TEXT,
    "clip_vision_model": CLIP_VISION,
    "cohere": Family(
        "LayerNorm", "layer_norm_eps", "1e-5",
        {"layers.*.input_layernorm": BEFORE_BOTH, "norm": FINAL} | QK_SITES,
        bias=False, needs=dict.fromkeys(QK_SITES, "use_qk_norm"), width="heads",
    ),
    "cohere2": Family(
        "LayerNorm", "layer_norm_eps", "1e-5", {"layers.*.input_layernorm": BEFORE_BOTH, "norm": FINAL},
        bias=False,
    ),
    "deberta-v2": replace(BERT, default="1e-7", sites=BERT_SITES | {"encoder.LayerNorm": "relative positions"},
                          needs=BERT_NEEDS | {"encoder.LayerNorm": ""}),
    "deepseek_v2": DEEPSEEK,
    "deepseek_v3": DEEPSEEK,
    "deit": VIT,
    "dinov2": Family(
        "LayerNorm", "layer_norm_eps", "1e-6",
        {"layer.*.norm1": BEFORE_ATTENTION, "layer.*.norm2": BEFORE_MLP, "layernorm": FINAL},
    ),
    "distilbert": Family(
        "LayerNorm", "", "1e-12",
        {
            "embeddings.LayerNorm": EMBEDDINGS,
            "transformer.layer.*.sa_layer_norm": AFTER_ATTENTION,
            "transformer.layer.*.output_layer_norm": AFTER_MLP,
            "vocab_layer_norm": HEAD,
        },
        needs={"vocab_layer_norm": ""},
    ),
    "electra": BERT,
    "gemma": GEMMA,
    "gemma2": GEMMA2,
    "gemma3_text": GEMMA3,
    "glm": replace(LLAMA, default="1.5625e-7"),
    "glm4": replace(
        LLAMA,
        default="1.5625e-7",
        sites=LLAMA_SITES
        | {
            "layers.*.post_self_attn_layernorm": AFTER_ATTENTION,
            "layers.*.post_mlp_layernorm": AFTER_MLP,
        },
    ),
    "gpt2": GPT2,
    "gpt_neo": GPT2,
    "gpt_neox": Family(
        "LayerNorm", "layer_norm_eps", "1e-5",
        {
            "layers.*.input_layernorm": BEFORE_ATTENTION,
            "layers.*.post_attention_layernorm": BEFORE_MLP,
            "final_layer_norm": FINAL,
        },
    ),
    "gpt_oss": replace(LLAMA, default="1e-5", cast=AFTER),
    "gptj": Family(
        "LayerNorm", "layer_norm_epsilon", "1e-5", {"h.*.ln_1": BEFORE_BOTH, "ln_f": FINAL},
    ),
    "granite": LLAMA,
    "llama": LLAMA,
    "mamba": Family(
        "RMSNorm", "layer_norm_epsilon", "1e-5", {"layers.*.norm": BEFORE_MIXER, "norm_f": FINAL},
        bias=False, cast=BEFORE,
    ),
    "mistral": LLAMA,
    "mixtral": replace(LLAMA, default="1e-5"),
    "modernbert": Family(
        "LayerNorm", "norm_eps", "1e-5",
        {
            "embeddings.norm": EMBEDDINGS,
            "layers.*.attn_norm": BEFORE_ATTENTION,
            "layers.*.mlp_norm": BEFORE_MLP,
            "final_norm": FINAL,
            "head.norm": HEAD,
        },
        bias="norm_bias", needs={"head.norm": ""}, first={"layers.*.attn_norm": 1},
    ),
    "mpnet": replace(
        BERT,
        sites={
            "embeddings.LayerNorm": EMBEDDINGS,
            "encoder.layer.*.attention.LayerNorm": AFTER_ATTENTION,
            "encoder.layer.*.output.LayerNorm": AFTER_MLP,
            "lm_head.layer_norm": HEAD,
        },
        needs={"lm_head.layer_norm": ""},
    ),
    "mpt": Family(
        "LayerNorm", "layer_norm_epsilon", "1e-5",
        {"blocks.*.norm_1": BEFORE_ATTENTION, "blocks.*.norm_2": BEFORE_MLP, "norm_f": FINAL}, bias=False,
    ),
    "mt5": T5,
    "nemotron": Family("LayerNorm", "norm_eps", "1e-5", LLAMA_SITES, offset=1),
    "olmo2": OLMO2,
    "olmo3": OLMO2,
    "olmoe": replace(LLAMA, default="1e-5", sites=LLAMA_SITES | QK_SITES, width="full"),
    "phi": Family(
        "LayerNorm", "layer_norm_eps", "1e-5",
        {
            "layers.*.input_layernorm": BEFORE_BOTH,
            "layers.*.self_attn.q_layernorm": QUERIES,
            "layers.*.self_attn.k_layernorm": KEYS,
            "final_layernorm": FINAL,
        },
        needs={
            "layers.*.self_attn.q_layernorm": "qk_layernorm",
            "layers.*.self_attn.k_layernorm": "qk_layernorm",
        },
    ),
    "phi3": replace(LLAMA, default="1e-5"),
    "qwen2": LLAMA,
    "qwen2_moe": LLAMA,
    "qwen3": QWEN3,
    "qwen3_moe": QWEN3,
    "roberta": BERT,
    "siglip_text_model": SIGLIP_TEXT,
    "siglip_vision_model": SIGLIP_VISION,
    "smollm3": LLAMA,
    "starcoder2": Family("LayerNorm", "norm_epsilon", "1e-5", LLAMA_SITES),
    "t5": T5,
    "vit": VIT,
    "whisper": WHISPER,
    "xlm-roberta": BERT,
}  # fmt: skip
