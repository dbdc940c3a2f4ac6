"""An exported page, opened from the disk with every request blocked: the numbers, both themes, small screens, paper."""

import pytest

from normscope.interfaces.export import page as exported
from normscope.lessons import site
from tests.browser.test_axe import faults

STATES = {
    "/axes": "v=1&x=9,-7;1,1&tokens=a,b&gamma=1,1&beta=0,0&sel=0,1",
    "/inside": "v=1&step=var&sel=mu.0.1&copy=csv",
    "/mistakes": "v=1&show=eps-twice",
    "/named": "v=1&panel=3&guesses=var:1/2&every=1",
    "/precision": "v=1&do=fault:ort-40000&do=guess:zero&ladder=1&source=minilm",
    "/exercises": "v=1&count=3",
}
ADDRESS = "http://127.0.0.1/page.html"


@pytest.fixture(params=sorted(site.LESSONS))
def text(request):
    return exported(request.param, STATES[request.param], {}).html


def opened(new_page, text, **options):
    """The page alone in the world: whatever else it asks for is counted and not answered."""
    page = new_page(**options)
    asked = []

    def answer(route):
        asked.append(route.request.url)
        if len(asked) == 1:
            route.fulfill(body=text, content_type="text/html; charset=utf-8")
        else:
            route.abort()

    page.route("**/*", answer)
    page.goto(ADDRESS, wait_until="networkidle")
    return page, asked


def test_it_stands_alone(new_page, text):
    page, asked = opened(new_page, text)
    assert asked == [ADDRESS]
    assert page.evaluate("document.scripts.length") == 0
    assert page.locator("button, input, select, textarea, [data-do]").count() == 0
    assert page.evaluate("getComputedStyle(document.body).fontSize") == "15px"  # its style is inside
    drawn = [element for element in page.locator("td, math, svg").all() if element.is_visible()]
    assert len(drawn) > 3


def test_it_follows_the_theme_of_the_system(new_page, text):
    found = {}
    for scheme in ("light", "dark"):
        page, _ = opened(new_page, text, color_scheme=scheme)
        found[scheme] = page.evaluate("watched.luminance(getComputedStyle(document.body).backgroundColor)")
    assert found["light"] > 0.9 and found["dark"] < 0.2


def test_axe_finds_nothing(new_page, text):
    scheme = "dark" if "A named step" in text else "light"  # their tokens are the lab's, which is looked at in both
    page, _ = opened(new_page, text, color_scheme=scheme, bypass_csp=True)
    assert faults(page) == []


def test_nothing_overflows_at_320_pixels(new_page, text):
    page, _ = opened(new_page, text, viewport={"width": 320, "height": 640})
    assert page.evaluate("watched.overflow()") == []


def test_paper_shows_what_was_set(new_page, text):
    page, _ = opened(new_page, text)
    page.emulate_media(media="print")
    values = page.locator("main span.value").all()
    assert values and all(value.is_visible() for value in values)
    assert page.pdf(format="A4").startswith(b"%PDF")
