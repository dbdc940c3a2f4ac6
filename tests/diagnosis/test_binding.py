"""Which argument is which: by name, then by position."""

import inspect

import pytest

import normscope as ns
from normscope.diagnosis.binding import bind, is_backward
from normscope.diagnosis.naming import affine_axes, kind_of, reason

LAYER, BATCH = ns.layer_norm(), ns.batch_norm()


def roles(function, norm=LAYER, backward=False):
    binding = bind(function, norm, backward)
    assert not binding.problem, binding.problem
    return {each.name: each.role for each in binding.arguments if each.role != "default"}


@pytest.mark.parametrize(
    "signature, expected",
    [
        ("x, gamma, beta, eps", "x gamma beta eps"),
        ("input, weight, bias, eps=1e-5", "x gamma beta eps"),
        ("x, shift, scale, epsilon", "x beta gamma eps"),  # the name counts, not the place
        ("x, w, b", "x gamma beta"),
        ("x, g, b, eps", "x gamma beta eps"),
        ("a, b, c, d", "x gamma beta eps"),  # b is not beta here: nothing is named
        ("t, g, b", "x gamma beta"),
        ("x", "x"),
        ("hidden_states, normalized_shape, weight=None, bias=None, eps=1e-5", "x shape gamma beta eps"),
        ("x, axis", "x axis"),
        ("x, gamma, beta, ln_param", "x gamma beta options"),
    ],
)
def test_layer_norms(signature, expected):
    function = eval(f"lambda {signature}: 0")
    assert " ".join(roles(function).values()) == expected


def test_a_group_norm_and_batch_norms():
    def torch_like(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
        pass

    groups = roles(lambda x, G, w, b, eps: 0, ns.group_norm(2))
    assert groups == {"x": "x", "G": "num_groups", "w": "gamma", "b": "beta", "eps": "eps"}
    names = "x running_mean running_var gamma beta training momentum eps"
    assert " ".join(roles(torch_like, BATCH).values()) == names
    assert list(roles(lambda x, m, v: 0, ns.batch_norm(training=False)).values()) == [
        "x",
        "running_mean",
        "running_var",
    ]


def test_a_backward_takes_dy_first():
    def layer_norm_backward(dout, x, gamma, eps):
        pass

    assert is_backward(layer_norm_backward)
    assert not is_backward(lambda x, dy: 0)
    assert list(roles(layer_norm_backward, backward=True).values()) == ["dy", "x", "gamma", "eps"]


def test_unknown_parameters_are_bound_by_position_and_said():
    binding = bind(lambda x, gain2, beta: 0, LAYER)
    assert binding.guessed == ("gain2 as gamma",)


def test_what_has_a_default_and_no_role_keeps_it():
    def function(x, gamma, axis=-1, dtype=None, eps=1e-5):
        pass

    args, kwargs = bind(function, LAYER).arguments_for({"x": 1, "gamma": 2, "axis": 0, "eps": 3}, lambda role: None)
    assert (args, kwargs) == ([1, 2], {"eps": 3})


def test_keyword_only_parameters_are_given_by_name():
    binding = bind(lambda x, *, gamma, beta=None, eps=1e-5: 0, LAYER)
    assert binding.arguments_for({"x": 1, "gamma": 2, "eps": 3}, lambda role: None) == ([1], {"gamma": 2, "eps": 3})


def test_positional_only_parameters_are_given_by_position():
    def function(x, gamma=None, beta=None, /):
        pass

    bound = inspect.signature(function).bind
    args, kwargs = bind(function, LAYER).arguments_for({"x": 1, "gamma": 2, "beta": 3}, lambda role: None)
    assert bound(*args, **kwargs).args == (1, 2, 3)


@pytest.mark.parametrize(
    "function, problem",
    [
        (lambda: 0, "it takes no x"),
        (lambda a, b, c, d, e, f: 0, "parameter 'e' is none of x, gamma, beta, eps, and has no default"),
    ],
)
def test_what_cannot_be_called(function, problem):
    assert bind(function, LAYER).problem == problem


@pytest.mark.parametrize(
    "name, kind",
    [
        ("layer_norm", "layer_norm"), ("LlamaRMSNorm.forward", "rms_norm"), ("batchnorm_forward", "batch_norm"),
        ("batch_norm_eval", "batch_norm_eval"), ("bn_inference", "batch_norm_eval"), ("GroupNorm", "group_norm"),
        ("my_ln", "layer_norm"), ("InstanceNorm2d", "instance_norm"), ("normalize", ""), ("unbnd", ""),
        ("LayerNormSimple", "layer_norm"), ("BatchNormStats", "batch_norm"), ("layernorms", "layer_norm"),
        ("layer_norm_terms", "layer_norm"), ("BatchNormStrict", "batch_norm"), ("transformer_norm", ""),
        ("layer_norm_batch", "layer_norm"), ("group_layer_norm", "layer_norm"), ("in_layer_norm", "layer_norm"),
        ("mylayernorm2", "layer_norm"), ("RMSLayerNorm", "rms_norm"), ("rmsnorm_fwd", "rms_norm"),
        ("bn1", "batch_norm"), ("BNLayer", "batch_norm"), ("ln_batch", "layer_norm"), ("grouped_norm", "group_norm"),
        ("T5LayerNorm", "rms_norm"), ("LongT5LayerNorm.forward", "rms_norm"), ("test5_layer_norm", "layer_norm"),
        ("batched_norm", ""), ("BatchNorm2dEval", "batch_norm_eval"),
    ],
)  # fmt: skip
def test_the_kind_by_the_name(name, kind):
    assert kind_of(name) == kind


def test_a_layer_whose_name_says_another_norm_is_known():
    assert "it is RMSNorm" in reason("T5LayerNorm")
    assert reason("layer_norm") == "by the function's name"


@pytest.mark.parametrize(
    "pattern, axes",
    [("B S [d]", "d"), ("[N] C [H W]", "C"), ("N C [H W]", "C"), ("N (g [c]) [H W]", "(g c)"), ("[A] B C", None)],
)
def test_the_usual_affine_of_a_pattern(pattern, axes):
    assert affine_axes(ns.Norm(pattern)) == axes
