"""How a comparison is told: what `axis` means to a framework, notes, JSON, text and notebook."""

import json
import re

import numpy as np
import pytest

import normscope as ns
from normscope.kinds import NAMES
from normscope.page.json import dumps
from tests.comparing import EVERY, X, one, random

# --- what `axis` means

KEPT_OR_REDUCED = {  # of keras.layers, read in its documentation and code
    "layer_norm": ("LayerNormalization", "reduced"),
    "rms_norm": ("RMSNormalization", "reduced"),
    "batch_norm": ("BatchNormalization", "kept"),
    "batch_norm_eval": ("BatchNormalization", "kept"),
    "instance_norm": ("GroupNormalization(groups=-1", "kept"),
    "group_norm": ("GroupNormalization(groups=2", "split"),
}


@pytest.mark.parametrize(("name", "layout", "shape"), EVERY)
def test_keras_axis_names_the_reduced_axes_of_some_layers_and_the_kept_one_of_others(name, layout, shape):
    each = one(random(shape), name, layout=layout)
    layer, what = KEPT_OR_REDUCED[name]
    text = each.axis["Keras"]
    assert text.startswith(layer) and f"axis names {'the axis that is split' if what == 'split' else ''}" in text
    written = eval(re.search(r"axis=(-?\d+|\([^)]*\))\)", text)[1])
    dims = {i % len(shape) for i in (written if isinstance(written, tuple) else (written,))}
    feature = {len(shape) - 1 if layout == "tokens" else 1}
    trailing = set(range(min(feature), len(shape)))
    assert dims == (trailing if what == "reduced" else feature)


@pytest.mark.parametrize(("name", "layout", "shape"), EVERY)
def test_numpys_axis_is_the_reduced_one(name, layout, shape):
    x = random(shape)
    each = one(x, name, layout=layout)
    at = eval(re.search(r"mean\(axis=(\d+|\([^)]*\))\)", each.axis["NumPy"])[1])
    assert ("reshape" in each.axis["NumPy"]) == (name == "group_norm")
    split = x.reshape(tuple(each.trace.sizes.values()))
    np.testing.assert_allclose(np.ravel(split.mean(axis=at)), np.ravel(x.reshape(split.shape).mean(at)))
    assert np.size(split.mean(axis=at)) == each.groups


def test_pytorch_lists_the_reduced_sizes_of_some_and_has_no_axis_for_others():
    def told(name, x, **options):
        return one(x, name, **options).axis["PyTorch"]

    assert told("layer_norm", random((2, 3, 4))).startswith("LayerNorm([4]): normalized_shape lists the sizes of")
    assert told("layer_norm", random((2, 4, 2, 3)), layout="channels").startswith("LayerNorm([4, 2, 3]): ")
    assert told("batch_norm", random((2, 3, 4))).startswith("BatchNorm1d(4): no axis; of x as (2, 4, 3) it keeps")
    assert told("batch_norm", random((3, 4))).startswith("BatchNorm1d(4): no axis; of x as (3, 4) it keeps")
    assert told("batch_norm_eval", random((2, 4, 2, 3)), layout="channels").startswith(
        "BatchNorm2d(4): no axis; of x as"
    )
    assert "of x as (1, 4, 3) it keeps dimensions 0 and 1" in told("instance_norm", random((3, 4)))
    assert "GroupNorm(2, 4): no axis; of x as (1, 4, 3)" in told("group_norm", random((3, 4)))
    assert "LayerNormalization(axis=-1)" in one(X, "layer_norm").axis["Keras"]  # whatever the rank, as people write it
    assert "of x as (5, 4) it keeps dimension 0" in told("group_norm", random((5, 4)), layout="channels")
    assert set(one(X, "[S d]").axis) == {"NumPy"}


@pytest.mark.parametrize(
    ("norm", "name", "shape", "layout"),
    [
        (ns.layer_norm(), "layer_norm", (3, 4), "tokens"),
        (ns.layer_norm(4), "layer_norm", (2, 3, 4), "tokens"),
        (ns.rms_norm(), "rms_norm", (2, 3, 4), "tokens"),
        (ns.batch_norm(), "batch_norm", (2, 4, 3), "channels"),
        (ns.batch_norm(training=False), "batch_norm_eval", (5, 4), "channels"),
        (ns.instance_norm(), "instance_norm", (2, 4, 2, 3), "channels"),
        (ns.group_norm(2), "group_norm", (2, 4, 3), "channels"),
    ],
)
def test_a_norm_has_the_words_of_its_name(norm, name, shape, layout):
    x = random(shape)
    assert one(x, norm).axis == one(x, name, layout=layout).axis
    assert set(one(x, norm).axis) == {"PyTorch", "Keras", "NumPy"}


def test_a_place_or_a_name_alone_is_a_norm_of_a_comparison():
    made = ns.compare(X)
    for key in (slice(0, 1), 1.0, None):
        with pytest.raises(TypeError, match=r"comparison.norms is the tuple of all, for slices"):
            made[key]
    with pytest.raises(KeyError, match="the comparison has no 'rms_norm'"):
        made["rms_norm"]


# --- how it is written


@pytest.mark.parametrize("lists", [True, False])
def test_what_one_cell_cannot_have_is_noted(lists):
    x = [[1.0, 2.0]] if lists else np.array([[1.0, 2.0]])
    note = "a statistic has one cell here: PyTorch refuses to train on it, and there is no variance over n - 1."
    made = ns.compare(x, ["layer_norm", "batch_norm", "batch_norm_eval", "instance_norm"])
    assert [note in each.notes for each in made] == [False, True, True, True]
    assert [note in each["notes"] for each in made.to_json()["norms"]] == [False, True, True, True]
    told = f"BatchNorm, BatchNorm, evaluation, InstanceNorm: {note}"
    assert repr(made).endswith(told) and f"<p>{told}</p>" in made._repr_html_()
    assert not ns.compare(x, "batch_norm_eval", batches=0)[0].notes
    assert not ns.compare(X, NAMES, num_groups=2, eps=1e-5).notes
    assert ns.compare([[1, 2]], "layer_norm").notes == ["LayerNorm: x holds integers; computed in float64."] or lists


def test_json_has_full_precision_and_the_shape_of_x():
    made = ns.compare([X], ["layer_norm", "group_norm", "batch_norm"], num_groups=2)
    data = json.loads(dumps(made.to_json()))
    assert list(data) == ["norms"]
    first, second, third = data["norms"]
    assert {key: first[key] for key in ("name", "pattern", "reduced", "kept", "groups", "cells", "moves")} == {
        "name": "layer_norm", "pattern": "B S [d]", "reduced": ["d"], "kept": ["B", "S"], "groups": 3, "cells": 4,
        "moves": 4,
    }  # fmt: skip
    assert first["xhat"] == ns.trace([X], ns.layer_norm())["xhat"]
    assert np.shape(second["xhat"]) == (1, 3, 4) and np.shape(second["mean"]) == (1, 2)
    assert third["running"] == {
        "mean": third["running"]["mean"], "var": third["running"]["var"], "batches": 1, "momentum": 0.1,
        "convention": "pytorch",
    }  # fmt: skip
    assert "running" not in first and first["eps"] == 1e-5


def test_json_spells_what_is_no_number():
    data = json.loads(dumps(ns.compare([[float("inf"), 1.0]], "layer_norm").to_json()), parse_constant=pytest.fail)
    assert data["norms"][0]["variance"] == ["NaN"]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_arrays_stay_arrays_and_lists_stay_lists(dtype):
    x = random((2, 3, 4)).astype(dtype)
    for each, plain in zip(*(ns.compare(v, NAMES, num_groups=2) for v in (x, x.tolist())), strict=True):
        assert each.xhat.dtype == dtype and isinstance(plain.xhat, list)
        np.testing.assert_allclose(each.xhat, plain.xhat, rtol=1e-4 if dtype == "float32" else 1e-12, atol=1e-6)


def test_the_table_as_text_and_for_a_notebook():
    made = ns.compare([X], ["layer_norm", "batch_norm_eval", "[B S d]"])
    assert repr(made) == (
        "x of shape (1, 3, 4) under 3 norms\n"
        "  norm                   pattern  reduced  kept  statistics  cells each  one cell moves\n"
        "  LayerNorm              B S [d]  d        B S            3           4               4\n"
        "  BatchNorm, evaluation  [B S] d  B S      d              4           3               1\n"
        "  norm                   [B S d]  B S d    -              1          12              12"
    )
    html = made._repr_html_()
    assert html.count("<details>") == 3 and "<code>xhat of LayerNorm 'B S [d]'</code>" in html
    assert html.count("<table>") == 4 and "0.4888" in html
