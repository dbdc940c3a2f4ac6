"""Norms of PyTorch modules, by what each computes (`oracle`: PyTorch runs them)."""

import pytest

import normscope as ns
from normscope.models.modules import ONLY_MODULES, is_module


def test_what_is_no_module_is_told_apart():
    assert not any(is_module(each) for each in (3, "model.onnx", ns.layer_norm(), print))


def torch_module():
    """PyTorch, or this test is left out."""
    return pytest.importorskip("torch")


def only(module):
    (found,) = ns.inspect(module)
    return found


@pytest.fixture
def nn():
    return torch_module().nn


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("make", "norm"),
    [
        (lambda nn: nn.LayerNorm(16), ns.layer_norm(16)),
        (lambda nn: nn.LayerNorm((4, 6), eps=1e-3), ns.layer_norm([4, 6], 1e-3)),
        (lambda nn: nn.LayerNorm(16, bias=False), ns.layer_norm(16, bias=False)),
        (lambda nn: nn.LayerNorm(16, elementwise_affine=False), ns.layer_norm(16, elementwise_affine=False)),
        (lambda nn: nn.LayerNorm(4096, eps=1e-12), ns.layer_norm(4096, 1e-12)),
        (lambda nn: nn.RMSNorm(16), ns.rms_norm(16)),
        (lambda nn: nn.RMSNorm(16, eps=1e-6), ns.rms_norm(16, 1e-6)),
        (lambda nn: nn.RMSNorm(16).half(), ns.rms_norm(16)),
        (lambda nn: nn.GroupNorm(2, 6), ns.group_norm(2, 6)),
        (lambda nn: nn.GroupNorm(1, 6), ns.group_norm(1, 6)),
        (lambda nn: nn.GroupNorm(3, 6, affine=False), ns.group_norm(3, affine=False)),
        (lambda nn: nn.BatchNorm1d(7), ns.batch_norm(7, training=False)),
        (lambda nn: nn.BatchNorm2d(7, eps=1e-3), ns.batch_norm(7, 1e-3, training=False)),
        (lambda nn: nn.BatchNorm3d(7), ns.batch_norm(7, training=False)),
        (lambda nn: nn.BatchNorm2d(7, affine=False), ns.batch_norm(7, affine=False, training=False)),
        (lambda nn: nn.BatchNorm2d(7, track_running_stats=False), ns.batch_norm(7)),
        (lambda nn: nn.InstanceNorm1d(7), ns.instance_norm()),
        (lambda nn: nn.InstanceNorm2d(7, affine=True), ns.instance_norm(7, affine=True)),
        (lambda nn: nn.InstanceNorm3d(7), ns.instance_norm()),
    ],
    ids=lambda value: f"{value.name}-{float(value.eps or 0):g}" if isinstance(value, ns.Norm) else "",
)
def test_torchs_own(nn, make, norm):
    found = only(make(nn))
    assert (found.norm, found.norm.name, found.warnings) == (norm, norm.name, ())


def classes(nn, torch):  # noqa: C901
    """Norms as people write them."""

    class LlamaRMSNorm(nn.Module):
        def __init__(self, size, eps=1e-6):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(size))
            self.variance_epsilon = eps

        def forward(self, hidden_states):
            dtype = hidden_states.dtype
            x = hidden_states.to(torch.float32)
            x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)
            return self.weight * x.to(dtype)

    class GemmaRMSNorm(nn.Module):
        def __init__(self, size, eps=1e-6):
            super().__init__()
            self.weight = nn.Parameter(torch.zeros(size))
            self.eps = eps

        def forward(self, x):
            made = x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + self.eps)
            return (made * (1.0 + self.weight.float())).type_as(x)

    class Tutorial(nn.Module):
        def __init__(self, size, eps=1e-6):
            super().__init__()
            self.a_2, self.b_2, self.eps = nn.Parameter(torch.ones(size)), nn.Parameter(torch.zeros(size)), eps

        def forward(self, x):
            return self.a_2 * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + self.eps) + self.b_2

    class LayerNorm2d(nn.LayerNorm):
        def forward(self, x):
            return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)

    class LiarRMSNorm(nn.Module):
        eps = 1e-5

        def forward(self, x):
            return nn.functional.layer_norm(x, x.shape[-1:], eps=1e-3)

    class OnePass(nn.Module):
        def forward(self, x):
            mean = x.mean(-1, keepdim=True)
            return (x - mean) * torch.rsqrt((x * x).mean(-1, keepdim=True) - mean * mean + 1e-5)

    class SumNorm(nn.Module):
        def forward(self, x):
            return x / x.sum(-1, keepdim=True)

    return {each.__name__: each for each in vars().copy().values() if isinstance(each, type)}


@pytest.fixture
def written(nn):
    return classes(nn, torch_module())


@pytest.mark.oracle
def test_classes_by_meaning(written):
    llama, gemma = only(written["LlamaRMSNorm"](32)), only(written["GemmaRMSNorm"](32, eps=1e-5))
    assert (llama.norm, llama.offset, llama.cast) == (ns.rms_norm(32, 1e-6), 0, "before gamma")
    assert (gemma.norm, gemma.offset, gemma.cast) == (ns.rms_norm(32, 1e-5, offset=1), 1, "after gamma")
    assert only(written["LayerNorm2d"](6)).norm == ns.Norm("N [C] H W", "C", sizes={"C": 6})


@pytest.mark.oracle
def test_wrong_forms_are_told(written):
    tutorial = only(written["Tutorial"](12))
    assert tutorial.norm.correction == 1
    assert [each.partition(";")[0] for each in tutorial.warnings] == [
        "eps is added to the standard deviation, after the root",
        "the variance divides by n - 1 (an unbiased estimate)",
    ]
    liar = only(written["LiarRMSNorm"]())
    assert liar.warnings == (
        "its class is called LiarRMSNorm, but it subtracts the mean.",
        "its eps is 1e-05, but what it adds is 0.001.",
    )
    assert only(written["OnePass"]()).form == "one-pass"
    report = ns.inspect(written["SumNorm"]())
    called = "the module is called SumNorm, but it computes none that is known."
    assert not report and report.warnings == (called, ONLY_MODULES)


@pytest.mark.oracle
def test_what_keeps_a_row_of_zeros_from_nan_is_told(nn):
    torch = torch_module()

    class Norm(nn.Module):
        def __init__(self, floor):
            super().__init__()
            self.g, self.floor = nn.Parameter(torch.ones(64)), floor

        def forward(self, x):
            length = x.norm(dim=-1, keepdim=True)
            return x / {"max": length.clamp(min=1e-12), "": length}.get(self.floor, length + (length == 0)) * 8 * self.g

    told = {floor: only(Norm(floor)) for floor in ("max", "", "one")}
    assert told["max"].eps == pytest.approx(1.25e-13)
    assert told["max"].warnings[0].startswith("eps is a floor under the root mean square")
    assert told[""].warnings == ("there is no eps: a row of zeros divides by 0.",)
    assert told["one"].warnings == ("there is no eps, but a row of zeros gives numbers: how, is not understood.",)


@pytest.mark.oracle
def test_other_modules_are_none(nn):
    others = (
        nn.Linear(16, 16), nn.Conv2d(3, 3, 3, padding=1), nn.GELU(), nn.Softmax(-1), nn.Dropout(), nn.Embedding(9, 16),
        nn.PReLU(), nn.MultiheadAttention(16, 2), nn.LSTM(16, 16), nn.Sigmoid(), nn.Identity(), nn.Bilinear(4, 4, 4),
    )  # fmt: skip
    report = ns.inspect(nn.Sequential(*others))
    assert not report and report.warnings == (ONLY_MODULES,)


@pytest.mark.oracle
def test_a_norm_that_is_a_function_is_told(nn):
    class Block(nn.Module):
        def __init__(self, norm):
            super().__init__()
            self.layer_norm, self.linear = norm, nn.Linear(8, 8)

        def forward(self, x):
            return self.linear(self.layer_norm(x) + self._more(x))

        def _more(self, x):
            return [nn.functional.rms_norm(each, (8,)) for each in x]

    (warning,) = ns.inspect(nn.Sequential(Block(nn.Identity()), nn.LayerNorm(8), Block(nn.Identity()))).warnings
    assert warning.startswith("0 and 1 more: Block names rms_norm, a function that is a norm: it is no module")
    assert ns.inspect(nn.Sequential(nn.TransformerEncoderLayer(8, 2), nn.LayerNorm(8))).warnings == ()


@pytest.mark.oracle
def test_a_model_is_neither_run_nor_changed(nn, written):
    torch = torch_module()
    model = nn.Sequential(nn.TransformerEncoderLayer(16, 2), nn.BatchNorm1d(7), written["LlamaRMSNorm"](8)).half()
    model.requires_grad_(False)
    before = {name: each.clone() for name, each in model.state_dict().items()}

    def refuse(*_):
        raise AssertionError("a hook ran")

    for each in model.modules():
        each.register_forward_hook(refuse)
        each.register_forward_pre_hook(refuse)
    report = ns.inspect(model)
    assert [each.where for each in report] == ["0.norm1", "0.norm2", "1", "2"]
    assert {each.dtype for each in report} == {"float16"} and report[0].tensors["gamma"] == "0.norm1.weight"
    assert all(each.training for each in model.modules())
    after = model.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)


@pytest.mark.oracle
def test_parameters_are_summarised_and_a_model_without_cells_is_read(nn):
    torch = torch_module()
    layer = nn.LayerNorm(64)
    with torch.no_grad():
        layer.weight[:] = torch.linspace(0.9, 1.1, 64)
        layer.weight[7] = 20
    assert only(layer).parameters["gamma"].outliers == ((7, 20.0),)
    with torch.device("meta"):
        meta = nn.RMSNorm(64, eps=1e-6)
    assert only(meta).norm == ns.rms_norm(64, 1e-6) and only(meta).parameters == {}


@pytest.mark.oracle
def test_a_hundred_equal_layers_are_tried_once(nn, written, monkeypatch):
    from normscope.models import modules

    calls = []
    once = modules._try
    monkeypatch.setattr(modules, "_try", lambda module: (calls.append(module), once(module))[1])
    model = nn.Sequential(*(nn.Sequential(nn.LayerNorm(64), nn.Linear(64, 64)) for _ in range(100)))
    done = []
    assert len(ns.inspect(model, progress=lambda at, total: done.append((at, total)))) == 100
    assert len(calls) == 2 and done[-1] == (301, 301)


@pytest.mark.oracle
def test_a_hugging_face_config_tells_the_place(nn):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.ModuleDict({"input_layernorm": nn.RMSNorm(8, eps=1e-6)})])
            self.config = type("Config", (), {"to_dict": lambda self: {"model_type": "llama"}})()

    assert only(Model()).place == "before attention"
