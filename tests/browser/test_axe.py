"""axe finds nothing, on any page, in light and in dark."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser.watching import settle

PAGES = {
    "home": "/",
    "missing": "/nothing-here",
    "bad state": "/inside?v=1&step=nonsense",
    "first view": "/inside",
    "pinned": "/inside?v=1&step=c&sel=mu.0.1",
    "edited": "/inside?v=1&step=y&sel=gamma.3&edits=gamma.3:-2,x.0.0.3:1e6",
    "refused": "/inside?v=1&do=eps:much",
    "real": "/inside?v=1&source=minilm&step=xhat&sel=xhat.0.3.99&copy=numpy",
    "model": "/inside?v=1&source=llama-3-8b&step=r&affine=none&copy=link&do=x.0.0.0:much",
}
# What another step changes; the rest of its page is the first view's. A whole page takes axe 4 s.
STEPS = {step: f"/inside?v=1&step={step}" for step in ("mu", "c", "q", "var", "r", "xhat", "scaled", "y")}
CHANGED = ["#heading", "#stage", "#formula", "#scrub"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(new_page, lab, scheme):
    # The checker is injected, which the page's own policy forbids; no colour may be on its way.
    page = new_page(allowed="status of 4", bypass_csp=True, color_scheme=scheme, reduced_motion="reduce")
    found = {name: violations(page, lab + path, None) for name, path in PAGES.items()}
    found |= {name: violations(page, lab + path, CHANGED) for name, path in STEPS.items()}
    assert {name: faults for name, faults in found.items() if faults} == {}


def test_axe_finds_nothing_while_a_cell_is_edited(new_page, lab):
    page = new_page(f"{lab}/inside", bypass_csp=True, reduced_motion="reduce")
    page.locator(".stage td").first.dblclick()
    settle(page)
    assert faults(page) == []


def test_axe_finds_nothing_where_the_theme_was_chosen(new_page, lab):
    page = new_page(f"{lab}/inside", bypass_csp=True, color_scheme="light", reduced_motion="reduce")
    page.click("[data-theme-toggle]")
    assert faults(page) == []


def test_axe_sees_a_fault(new_page, lab):
    page = new_page(f"{lab}/", bypass_csp=True)
    page.evaluate("document.querySelector('main').append(document.createElement('input'))")
    assert faults(page) == ["label: <input>"]


def violations(page, address, parts):
    page.goto(address)
    return faults(page, parts)


def faults(page, parts=None):
    """What axe finds, in the whole page or in some parts of it: the rule and the element, a line each."""
    found = Axe().run(page, {"include": parts} if parts else None).response["violations"]
    return [f"{rule['id']}: {node['html'][:120]}" for rule in found for node in rule["nodes"]]
