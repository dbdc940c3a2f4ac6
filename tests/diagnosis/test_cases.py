"""Every public fault is named, every right implementation is correct."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import normscope as ns
from normscope.diagnosis.judge import judge
from normscope.lessons.site import respond
from tests.diagnosis.asking import Local

CASES = Path(__file__).resolve().parent.parent / "cases"
NORMS = {
    "layer_norm": ns.layer_norm(),
    "rms_norm": ns.rms_norm(),
    "group_norm": ns.group_norm(2),
    "batch_norm_train": ns.batch_norm(),
    "layer_norm_backward": ns.layer_norm(),
    "layer_norm_nchw": ns.Norm("N [C] H W", "C"),
}
EXPECTED = {
    "A01_std_ddof1_eps_outside": {"correction-1", "eps-outside-root"},
    "A02_var_ddof1": {"correction-1"},
    "A03_eps_outside_sqrt": {"eps-outside-root"},
    "A04_sqrt_of_std": {"correction-1", "root-of-std"},
    "A08_eps_zero": {"eps-missing"},
    "A09_eps_fixed_1e12": {"eps-fixed"},
    "A11_eps_fixed_1e3": {"eps-fixed"},
    "A12_eps_after_rescale": {"eps-after-rescale"},
    "A13_eps_added_to_xhat": {"eps-added-to-xhat"},
    "A16_eps_overwritten_by_axis": {"eps-fixed"},
    "A20_axis_all_but_last": {"wrong-axes"},
    "A24_keepdims_dropped": {"keepdims-dropped"},
    "A25_local_shard_statistics": {"statistics-per-chunk"},
    "A26_ignores_offset_and_strides": {"ignores-offset-and-strides"},
    "A30_rms_no_mean": {"rms-instead-of-layer-norm"},
    "A40_gamma_plus_one": {"gamma-plus-one"},
    "A43_gamma_beta_swapped": {"gamma-beta-swapped"},
    "A44_affine_scalar": {"affine-scalar"},
    "A45_affine_ignored": {"affine-ignored"},
    "A46_gamma_on_wrong_axis": {"affine-on-wrong-axis"},
    "A50_padded_lanes_in_variance": {"padded-lanes-counted"},
    "A51_columns_beyond_block_ignored": {"columns-beyond-block-ignored"},
    "A53_average_of_chunk_variances": {"between-chunk-term-missing"},
    "A54_chunks_merged_with_equal_weights": {"chunks-merged-with-equal-weights"},
    "A60_one_pass_float32": {"one-pass-variance"},
    "A63_eps_in_half": {"eps-in-half"},
    "A66_rstd_in_bf16": {"rstd-in-bf16"},
    "A69_variance_stored_in_half": {"variance-in-half"},
    "A71_one_pass_bf16": {"one-pass-in-bf16"},
    "B01_bn_running_var_biased": {"running-variance-biased"},
    "B02_bn_momentum_inverted": {"momentum-inverted"},
    "B05_bn_padding_counted": {"padding-counted"},
    "B10_gn_affine_per_group": {"affine-per-group"},
    "B13_gn_block_bleeds_into_next_group": {"block-bleeds-into-next-row"},
    "B14_gn_one_group_as_layernorm": {"wrong-axes"},
    "B20_rms_eps_outside": {"eps-outside-root"},
    "B21_rms_scale_inverted": {"scale-inverted"},
    "B22_rms_uses_variance": {"variance-instead-of-mean-square"},
    "G05_backward_assumes_two_axes": {"gradient-over-wrong-axes"},
    "G06_xhat_recovered_from_output": {"xhat-from-output"},
    "G07_sqrt_gradient_at_zero": {"eps-outside-root", "root-gradient-at-zero"},
    "X01_divide_by_variance": {"root-missing"},
    "X02_beta_missing": {"shift-missing"},
    "X05_normalized_twice": {"normalized-twice"},
    "X06_eps_twice": {"eps-twice"},
}


def loaded(path: Path) -> Any:
    """The one public function of a case."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return next(value for name, value in vars(module).items() if callable(value) and not name.startswith("_"))


def masked(statistics: Any) -> Any:
    """Statistics of the rows that a mask keeps, as a norm of those rows."""

    def norm(x, eps):
        padded = np.concatenate([x, np.zeros_like(x[:2])])
        mean, var = statistics(padded, np.arange(len(padded)) < len(x))
        return (x - mean) / np.sqrt(var + eps)

    return norm


def verdict(path: Path, dtype: str = "float64") -> Any:
    """The judgement of a case."""
    function = loaded(path)
    if function.__name__ == "batch_norm_masked_stats":
        return judge(Local(masked(function)), ns.Norm("[N] C"), dtype=dtype)
    norm = NORMS[function.__name__]
    if function.__name__ == "layer_norm_backward":
        return judge(None, norm, backward=Local(function, ("dx", "dgamma", "dbeta")), dtype=dtype)
    return judge(Local(function, ("y", "running_mean", "running_var")), norm, dtype=dtype)


def cases(kind: str) -> list[Path]:
    return sorted((CASES / kind).glob("*.py"))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("path", cases("mistakes"), ids=lambda path: path.stem)
def test_every_mistake_is_named(path, dtype):
    made = verdict(path, dtype)
    if path.stem == "A68_fused_scale_shift":
        assert made.verdict == "correct", made
        assert any(note.startswith("fused-scale-shift") for note in made.notes)
        return
    assert set(made.ids) == EXPECTED[path.stem], made
    assert made.verdict == "mistake"
    for finding in made.findings:
        assert finding.name and finding.evidence and finding.fix and finding.input and finding.formula
        path, _, query = finding.link.partition("?")
        assert respond(path, query)[0] == 200, finding.link


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("path", cases("correct"), ids=lambda path: path.stem)
def test_every_right_implementation_is_correct(path, dtype):
    made = verdict(path, dtype)
    assert (made.verdict, made.findings) == ("correct", ()), made
