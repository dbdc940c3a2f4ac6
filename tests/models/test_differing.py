"""Two models' norms side by side."""

import pytest

import normscope as ns
from normscope.models.differing import Diff, Row, of_preset
from normscope.models.families import FAMILIES
from normscope.models.found import Found, Report
from normscope.models.summary import Summary
from tests.models.weights import folder


def rows(made):
    return {(row.where, row.field): (row.a, row.b) for row in made.different}


def report(*norms, names="layers.{}.norm", **fields):
    sizes = {"d": 8}
    return Report(tuple(Found(names.format(at), norm, sizes, offset=norm.offset, **fields)
                        for at, norm in enumerate(norms)))  # fmt: skip


def test_a_model_agrees_with_itself():
    for name in ns.presets.PRESETS:
        made = ns.diff(name, name)
        assert made.different == () and made.same, name


def test_gemma_is_no_llama():
    made = ns.diff("llama-2-7b", "gemma-3-1b")
    found = rows(made)
    assert found["model", "placement"] == ("pre", "pre and post")
    assert found["model", "QK-norm"] == (False, True)
    assert found["before attention", "eps"] == (1e-5, 1e-6)
    assert found["before attention", "offset"] == (0, 1)
    assert found["before attention", "cast"] == ("before gamma", "after gamma")
    assert found["queries", "count"] == (0, 26)
    assert set(made) == {"same", "different", "unknown", "paired"}
    assert made["different"][0] == {"where": "model", "field": "norms", "a": 65, "b": 157}
    assert made.text().splitlines()[2].startswith("differs")


@pytest.mark.parametrize(
    ("other", "field", "values"),
    [
        (ns.layer_norm(8, 1e-6), "eps", (1e-5, 1e-6)),
        (ns.rms_norm(8, 1e-5), "kind", ("LayerNorm", "RMSNorm")),
        (ns.layer_norm(8, bias=False), "bias", (True, False)),
        (ns.layer_norm(8, offset=1), "offset", (0, 1)),
        (ns.layer_norm(8, elementwise_affine=False), "gamma", (True, False)),
        (ns.layer_norm([2, 4]), "axes", ("... [d]", "... [d1 d2]")),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_each_field(other, field, values):
    made = ns.diff(report(*[ns.layer_norm(8)] * 3), report(*[other] * 3))
    assert rows(made)["layers.*.norm", field] == values


def test_one_pass_cast_order_and_faults_differ():
    plain = report(ns.layer_norm(8), form="fused", cast="after gamma")
    other = report(ns.layer_norm(8), form="one-pass", cast="before gamma", warnings=("the variance is one-pass, E...",))
    found = rows(ns.diff(plain, other))
    assert found == {
        ("layers.0.norm", "cast"): ("after gamma", "before gamma"),
        ("layers.0.norm", "variance"): ("two-pass", "one-pass"),
    }


def test_the_one_layer_that_differs_is_named():
    odd = [ns.layer_norm(8), ns.layer_norm(8, 1e-3), ns.layer_norm(8)]
    found = rows(ns.diff(report(*[ns.layer_norm(8)] * 3), report(*odd)))
    assert found == {("layers.1.norm", "eps"): (1e-5, 1e-3)}


def test_what_is_not_told_is_no_difference():
    made = ns.diff(report(ns.layer_norm(8)), report(ns.layer_norm(8, None), unknown=("eps", "kind")))
    assert made.different == ()
    assert {row.field for row in made.unsure} >= {"eps", "kind"}
    assert {"where": "layers.0.norm", "field": "eps"} in made["unknown"]


def test_the_machines_eps_is_that_of_float32():
    assert ns.diff(report(ns.rms_norm(8)), report(ns.rms_norm(8, 2.0**-23))).different == ()
    assert rows(ns.diff(report(ns.rms_norm(8)), report(ns.rms_norm(8, 1e-6))))


def test_norms_are_paired_by_paths_whatever_stands_before_them():
    one, other = report(ns.layer_norm(8)), report(ns.layer_norm(8), names="bert/layers/{}/norm")
    assert ns.diff(one, other).different == ()
    assert ns.diff(one, other).paired == "by their paths"


@pytest.mark.parametrize(("gamma", "same"), [(1.2, True), (0.2, False)])
def test_an_offset_that_an_exporter_folded_is_no_difference(gamma, same):
    def summarised(at):
        return {"gamma": Summary(8, at - 0.1, at + 0.1, at)}

    weights = report(ns.rms_norm(8, 1e-6, offset=1), parameters=summarised(0.2))
    for unknown in ((), ("offset",)):
        graph = report(ns.rms_norm(8, 1e-6), parameters=summarised(gamma), unknown=unknown)
        assert (ns.diff(weights, graph).different == ()) == same
        assert (("layers.0.norm", "offset") in rows(ns.diff(weights, graph))) != same


def test_a_gamma_that_may_be_one_plus_w_is_no_difference():
    told, graph = (report(ns.rms_norm(8, 1e-6, offset=at), unknown=("offset",) * (not at)) for at in (1, 0))
    made = ns.diff(told, graph)
    assert made.different == ()
    assert {"where": "layers.0.norm", "field": "offset"} in made["unknown"]


def test_a_graphs_gamma_tells_no_offset_beside_a_model_without_weights():
    gamma = {"gamma": Summary(8, 0.9, 1.1, 1.0)}
    graph = report(ns.rms_norm(8, 1e-6), parameters=gamma, tensors={"x": "a", "y": "b", "gamma": "c"})
    config = report(ns.rms_norm(8, 1e-6, offset=1))
    for sides in ((graph, config), (config, graph)):
        made = ns.diff(*sides)
        assert made.different == () and "offset" in {row.field for row in made.unsure}
    code = report(ns.rms_norm(8, 1e-6), parameters=gamma, tensors={"gamma": "c"})
    assert rows(ns.diff(code, config)) == {("layers.0.norm", "offset"): (0, 1)}
    explicit = report(ns.rms_norm(8, 1e-6, offset=1), tensors={"x": "a", "y": "b", "gamma": "c"})
    assert rows(ns.diff(explicit, code)) == {("layers.0.norm", "offset"): (1, 0)}


def test_the_modules_of_a_list_are_not_one():
    def sides(*norms):
        return Report(tuple(Found(f"net.{at}", norm) for at, norm in enumerate(norms)))

    made = ns.diff(sides(ns.layer_norm(8), ns.rms_norm(8)), sides(ns.layer_norm(8), ns.rms_norm(8, 1e-6)))
    assert rows(made) == {("net.1", "eps"): ("machine", 1e-6)}
    assert {row.where for row in made.same} == {"model", "net.0", "net.1"}


def test_places_that_have_the_same_fields_are_one_line():
    lines = ns.diff("llama-3-8b", "llama-3-8b").text().splitlines()
    assert len(lines) == 4 and lines[0].startswith("The norms agree; 36 fields agree.")
    assert lines[3].split("  ")[1] == "before attention; before the MLP; final"
    one = Diff((Row("model", "norms", 1, 1),), ())
    assert one.text().startswith("The norms agree; 1 field agrees.")


@pytest.mark.parametrize("name", ns.presets.PRESETS)
def test_a_preset_says_what_its_family_says(name):
    preset = ns.presets.PRESETS[name]
    made = of_preset(preset).norms
    if not preset.model_type:
        assert name == "resnet-50" and {each.cast for each in made} == {""}
        return
    family = FAMILIES[preset.model_type]
    bias = family.bias if isinstance(family.bias, bool) else False
    assert (preset.kind, preset.offset) == (family.kind, family.offset)
    assert preset.kind == "RMSNorm" or preset.bias == bias
    places = {each.place.removeprefix("text, ") for each in made if not each.place.startswith("image")}
    assert places <= set(family.sites.values())
    assert {each.cast for each in made} == {family.cast}


def test_the_same_weights_have_the_same_offset():
    fields = {"parameters": {"gamma": Summary(8, 0.9, 1.1, 1.0)}}
    told, graph = report(ns.rms_norm(8), **fields), report(ns.rms_norm(8), unknown=("offset",), **fields)
    assert {"where": "layers.0.norm", "field": "offset"} not in ns.diff(told, graph)["unknown"]
    assert {"where": "layers.0.norm", "field": "offset"} in ns.diff(graph, graph)["unknown"]


def test_the_final_norm_is_no_layers_norm():
    final, layer = ns.layer_norm(8, 1e-3), ns.layer_norm(8)
    one = Report((Found("norm", final), Found("layers.0.norm", layer)))
    other = Report((Found("model.layers.0.norm", layer), Found("model.norm", final)))
    assert ns.diff(one, other).different == () and ns.diff(other, one).different == ()


def test_norms_without_paths_in_common_are_paired_in_order():
    one, other = report(*[ns.layer_norm(8)] * 2), report(*[ns.layer_norm(8, 1e-6)] * 2, names="node_{}")
    made = ns.diff(one, other)
    assert made.paired == "in the order in which they stand"
    assert rows(made) == {("layers.*.norm", "eps"): (1e-5, 1e-6)}


def test_what_has_no_path_in_common_is_paired_in_order():
    def sides(name, *last):
        norms = [Found(f"layers.{at}.norm", ns.layer_norm(8)) for at in range(3)]
        return Report((*norms, *(Found(name, norm) for norm in last)))

    made = ns.diff(sides("1", ns.layer_norm(8)), sides("/1/ReduceL2", ns.rms_norm(8)))
    assert made.paired == "by their paths, the rest in the order in which they stand"
    assert rows(made)["1", "kind"] == ("LayerNorm", "RMSNorm")
    assert ns.diff(sides("1"), sides("2")).paired == "by their paths"
    assert rows(ns.diff(sides("1", ns.layer_norm(8)), sides("2")))["1", "count"] == (1, 0)


def test_a_norm_that_one_lacks_is_counted():
    made = ns.diff(report(*[ns.layer_norm(8)] * 3), report(*[ns.layer_norm(8)] * 2))
    assert rows(made) == {("model", "norms"): (3, 2), ("layers.*.norm", "count"): (3, 2)}


def test_a_preset_beside_a_folder(tmp_path):
    fields = {"model_type": "gemma2", "hidden_size": 2304, "num_hidden_layers": 26, "rms_norm_eps": 1e-5}
    found = rows(ns.diff("gemma-2-2b", folder(tmp_path, fields)))
    assert {field for _, field in found} == {"eps"} and len(found) == 5
    assert "<table" in ns.diff("gemma-2-2b", tmp_path)._repr_html_()
