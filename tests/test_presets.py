"""The presets against figures that were counted by hooks on the models themselves, or read from their code."""

from fractions import Fraction

import pytest

import normscope as ns
from normscope.presets import PRESETS

# d, layers, kind, place, eps, norm calls of a forward pass, longest sequence: by hooks on models built from the
# configurations of transformers 5.24 and litgpt 0.5.13.
COUNTED = {
    "gpt2-small": (768, 12, "LayerNorm", "pre", "1e-5", 25, 1024),
    "gpt2-medium": (1024, 24, "LayerNorm", "pre", "1e-5", 49, 1024),
    "gpt2-large": (1280, 36, "LayerNorm", "pre", "1e-5", 73, 1024),
    "gpt2-xl": (1600, 48, "LayerNorm", "pre", "1e-5", 97, 1024),
    "bert-base": (768, 12, "LayerNorm", "post", "1e-12", 25, 512),
    "bert-large": (1024, 24, "LayerNorm", "post", "1e-12", 49, 512),
    "minilm-l6": (384, 6, "LayerNorm", "post", "1e-12", 13, 512),
    "modernbert-base": (768, 22, "LayerNorm", "pre", "1e-5", 45, 8192),
    "vit-base": (768, 12, "LayerNorm", "pre", "1e-12", 25, 197),
    "vit-large": (1024, 24, "LayerNorm", "pre", "1e-12", 49, 197),
    "clip-vit-b32": (768, 24, "LayerNorm", "pre", "1e-5", 26 + 25, 77),
    "t5-small": (512, 12, "RMSNorm", "pre", "1e-6", 32, 512),
    "t5-base": (768, 24, "RMSNorm", "pre", "1e-6", 62, 512),
    "whisper-tiny": (384, 8, "LayerNorm", "pre", "1e-5", 22, 448),
    "llama-2-7b": (4096, 32, "RMSNorm", "pre", "1e-5", 65, 4096),
    "llama-2-70b": (8192, 80, "RMSNorm", "pre", "1e-5", 161, 4096),
    "llama-3-8b": (4096, 32, "RMSNorm", "pre", "1e-5", 65, 8192),
    "llama-3.1-405b": (16384, 126, "RMSNorm", "pre", "1e-5", 253, 131072),
    "mistral-7b": (4096, 32, "RMSNorm", "pre", "1e-5", 65, 4096),
    "qwen2.5-7b": (3584, 28, "RMSNorm", "pre", "1e-6", 57, 131072),
    "qwen3-0.6b": (1024, 28, "RMSNorm", "pre", "1e-6", 113, 40960),
    "qwen3-8b": (4096, 36, "RMSNorm", "pre", "1e-6", 145, 40960),
    "gemma-2-2b": (2304, 26, "RMSNorm", "pre and post", "1e-6", 105, 8192),
    "gemma-2-9b": (3584, 42, "RMSNorm", "pre and post", "1e-6", 169, 8192),
    "gemma-3-1b": (1152, 26, "RMSNorm", "pre and post", "1e-6", 157, 131072),
    "phi-3-mini": (3072, 32, "RMSNorm", "pre", "1e-5", 65, 4096),
    "deepseek-v3": (7168, 61, "RMSNorm", "pre", "1e-6", 245, 4096),
    "olmo-2-7b": (4096, 32, "RMSNorm", "post", "1e-6", 129, 4096),
    "resnet-50": (64, 50, "BatchNorm", "after conv", "1e-5", 53, 0),
}


def widths(key: str) -> dict[int, int]:
    """How many norms of each width a model has."""
    found: dict[int, int] = {}
    for norms in PRESETS[key].norms:
        found[norms.d] = found.get(norms.d, 0) + norms.count
    return found


@pytest.mark.parametrize("key", [*PRESETS, *(set(COUNTED) - set(PRESETS))])
def test_a_preset_has_the_counted_figures(key):
    model = PRESETS[key]
    figures = (model.d, model.layers, model.kind, model.place, model.eps, model.calls, model.positions)
    assert figures == COUNTED[key]


@pytest.mark.parametrize("key", PRESETS)
def test_a_preset_gives_its_norm_and_names_its_source(key):
    model = PRESETS[key]
    norm = model.norm()
    assert (norm.name, norm.eps, norm.offset) == (model.kind, Fraction(model.eps), int(key.startswith("gemma")))
    assert model.source and model.source in model.about
    for norms in model.norms:
        one = model.norm_of(norms)
        assert one.name == model.kind and one.sizes_for(model.shape_of(norms, 2, 3))


def test_queries_and_keys_have_a_vector_a_head():
    qwen, gemma = PRESETS["qwen3-0.6b"], PRESETS["gemma-3-1b"]
    assert widths("qwen3-0.6b") == {1024: 57, 128: 56} and widths("gemma-3-1b") == {1152: 105, 256: 52}
    assert [(n.where, n.heads) for n in qwen.norms if n.heads > 1] == [("queries", 16), ("keys", 8)]
    assert [(n.where, n.heads) for n in gemma.norms if n.d == 256] == [("queries", 4), ("keys", 1)]
    assert ns.ledger(qwen.norm_of(qwen.norms[-1]), qwen.shape_of(qwen.norms[-1], 1, 5)).statistics == 5 * 8
    assert widths("olmo-2-7b") == {4096: 129}  # all heads together


def test_deepseek_norms_its_latents():
    assert widths("deepseek-v3") == {7168: 123, 1536: 61, 512: 61}


def test_an_image_and_a_sound_have_positions_of_their_own():
    assert widths("clip-vit-b32") == {768: 26, 512: 25}
    clip = PRESETS["clip-vit-b32"]
    assert {clip.shape_of(n, 1, 77)[1:] for n in clip.norms} == {(50, 768), (1, 768), (77, 512)}
    whisper = PRESETS["whisper-tiny"]
    counts = [(whisper.shape_of(n, 1, 448)[1], n.count) for n in whisper.norms]
    assert sum(count for positions, count in counts if positions == 1500) == 9
    assert sum(count for positions, count in counts if positions == 448) == 13


def test_resnets_batch_norms_by_their_channels():
    assert widths("resnet-50") == {64: 7, 256: 16, 128: 8, 512: 11, 1024: 7, 2048: 4}
    model = PRESETS["resnet-50"]
    cells = {model.shape_of(n, 2, 0): n.count for n in model.norms}
    assert cells[2, 64, 112 * 112] == 1 and cells[2, 2048, 49] == 4 and sum(cells.values()) == 53
    # the parameters of torchvision's resnet50 that its norms have: 53,120
    assert sum(2 * n.d * n.count for n in model.norms) == 53_120


@pytest.mark.parametrize(
    "key, words",
    [
        ("gemma-2-2b", "LitGPT has eps 1e-5"), ("gemma-3-1b", "LitGPT has eps 1e-5"), ("vit-base", "timm has eps 1e-6"),
        ("olmo-2-7b", "HF Olmo2Config has eps 1e-5"),
    ],
)  # fmt: skip
def test_where_two_sources_disagree_both_are_shown(key, words):
    model = PRESETS[key]
    assert words in model.about and model.eps not in words
    assert model.eps in dict(model.eps_by).values() and len(model.eps_by) == 2
