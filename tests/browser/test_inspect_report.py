"""The page of a run, opened from the disk with every request blocked: both themes, a small screen, axe."""

import numpy as np
import pytest

from normscope.interfaces.inspect_report import report
from normscope.interfaces.inspect_run import Run
from normscope.models.found import Found
from normscope.models.measuring import measured
from normscope.models.passing import Passage
from normscope.norm import layer_norm
from tests.browser.test_axe import faults
from tests.browser.test_export import ADDRESS, opened


@pytest.fixture(scope="module")
def text():
    x = np.random.default_rng(0).normal(size=(4, 32)).astype(np.float32)
    given = {"gamma": np.linspace(0.5, 2, 32), "beta": np.linspace(-1, 1, 32)}
    norms = [
        measured(
            Passage(Found(f"model/encoder/layer.{at}/attention/output/norm", layer_norm(32)), x * 1.5**at, x, given)
        )
        for at in range(25)
    ]
    made = Run(tuple(norms), ("input_ids is cast from int32 to int64.",))
    command = f"normscope inspect {'folder/' * 20}model.onnx --run input.npz"
    return report("model.onnx", "input.npz", made, command, ["one.norm: the variance is one-pass."])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_stands_alone_in_both_themes(new_page, text, scheme):
    page, asked = opened(new_page, text, color_scheme=scheme, bypass_csp=True)
    assert asked == [ADDRESS]
    assert page.locator(".depths svg[role=img]").count() == 7
    assert faults(page) == []
    light = page.evaluate("watched.luminance(getComputedStyle(document.body).backgroundColor)")
    assert (light > 0.9) == (scheme == "light")


def test_every_norm_is_in_sight_and_the_heads_of_plots_are_level(new_page, text):
    page, _ = opened(new_page, text, viewport={"width": 1440, "height": 900})
    frame = page.locator(".every .frame")
    assert frame.evaluate("each => each.scrollHeight - each.clientHeight") == 0
    assert frame.locator("tbody tr").last.inner_text().split("\t")[:5] == [
        "25", "model/encoder/layer.24/attention/output/norm", "LayerNorm", "S [d]", "1e-5",
    ]  # fmt: skip
    tops = [each.bounding_box()["y"] for each in page.locator(".depths .curves").all()]
    assert tops[0] == tops[1] and tops[2] == tops[3] and tops[4] == tops[5]
    assert page.locator(".said li").all_inner_texts()[:2] == [
        "one.norm: the variance is one-pass.",
        "input_ids is cast from int32 to int64.",
    ]


@pytest.mark.parametrize("width", [320, 390])
def test_nothing_overflows_on_a_phone(new_page, text, width):
    page, _ = opened(new_page, text, viewport={"width": width, "height": 640})
    assert page.evaluate("watched.overflow()") == []
