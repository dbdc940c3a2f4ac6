"""The lesson in a browser: the numbers that it shows, the keyboard, small screens, motion, paper, what it says."""

import numpy as np
import pytest

import normscope as ns
from tests.browser.watching import address_settles, eventually, focus, settle, state

STEPS = ("x", "mu", "c", "q", "var", "r", "xhat", "scaled", "y")
SOURCES = ("symbolic", "minilm", "gpt2-small", "llama-3-8b")


# ---- the numbers


def shown(page, name):
    """Every number of a tensor in the strip as (text, exact value or None), by row."""
    rows = page.locator(f".strip [data-t={name}] [data-row]")
    return rows.evaluate_all(
        "rows => rows.map(row => [...row.querySelectorAll('td')].map(td => [td.textContent, td.dataset.v]))"
    )


def value(text):
    return float(text.replace("\N{MINUS SIGN}", "-"))


def unit(text):
    """What one more in the last digit of a text is worth."""
    digits, _, power = text.partition("e")
    return 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))


def exact(page, name):
    return np.array([[float(v or value(text)) for text, v in row] for row in shown(page, name)])


def assert_numbers(page, norm):
    """Every shown step is what ns.trace, over NumPy, makes of the shown inputs."""
    given = {
        name: exact(page, name)[0] for name in ("gamma", "beta") if page.locator(f".strip [data-t={name}]").count()
    }
    trace = ns.trace(exact(page, "x"), norm, **given)
    for name in trace:
        if name == "v":  # stands inside r
            continue
        for row, expected in zip(shown(page, name), np.asarray(trace[name]), strict=True):
            for (text, _), number in zip(row, expected, strict=True):
                assert abs(value(text) - number) <= 0.5001 * unit(text), (name, text, number)


@pytest.mark.parametrize("query", ["", "sizes=1,3,5&seed=7", "edits=x.0.0.0:-3.5,gamma.1:0,beta.7:2.25&sel=x.0.0.0"])
def test_the_numbers_are_those_of_the_trace(new_page, lab, query):
    page = new_page(f"{lab}/inside?v=1&{query}")
    assert_numbers(page, ns.layer_norm())
    page.focus("#cell input[type=range]")
    for _ in range(7):
        page.keyboard.press("ArrowRight")
    settle(page)
    assert_numbers(page, ns.layer_norm())
    page.select_option("[data-do=norm]", "rms_norm")
    settle(page)
    assert_numbers(page, ns.rms_norm(eps=1e-5))


def test_a_typed_number_reaches_every_step(new_page, lab):
    page = new_page(f"{lab}/inside?v=1&sizes=1,1,2")
    for k, number in enumerate(("1", "3")):
        page.locator(".stage td").nth(k).click()
        page.keyboard.press("Enter")
        page.keyboard.type(number)
        page.keyboard.press("Enter")
        settle(page)
    expected = {"mu": [2], "c": [-1, 1], "q": [1, 1], "var": [1], "r": [1], "xhat": [-1, 1]}
    assert {name: [value(text) for text, _ in shown(page, name)[0]] for name in expected} == expected


# ---- the keyboard


def tab_to(page, name, key="Tab"):
    for _ in range(150):
        if focus(page) == name:
            return
        page.keyboard.press(key)
        assert page.evaluate("watched.isVisiblyFocused()"), f"no focus is seen on {focus(page)}"
    pytest.fail(f"{name} cannot be reached with {key}")


def test_the_lesson_by_keyboard_alone(new_page, lab):
    page = new_page(f"{lab}/inside")
    tab_to(page, "x 0.0 0")
    for key in ("ArrowRight", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    page.keyboard.type("4.5")
    page.keyboard.press("Enter")
    settle(page)
    assert (focus(page), state(page)) == ("x 0.1 1", "v=1&sel=x.0.1.1&edits=x.0.1.1:4.5")
    tab_to(page, "slide-gamma.1")
    page.keyboard.press("Home")
    tab_to(page, "step")
    for at, name in enumerate(STEPS):
        assert page.get_attribute("#step", "aria-valuetext").startswith(f"step {at + 1} of 9: ")
        assert address_settles(page).partition("&step=")[2].partition("&")[0] in (name, ""), "the walk"
        page.keyboard.press("ArrowRight")
        settle(page)
    tab_to(page, "undo:1", "Shift+Tab")
    page.keyboard.press("Enter")
    settle(page)
    assert "gamma" not in state(page)
    assert "step=y" in state(page)


def test_tab_goes_round_and_stops_once_in_every_tensor(new_page, lab):
    page = new_page(f"{lab}/inside?v=1&step=c")
    stops = []
    for _ in range(200):
        page.keyboard.press("Tab")
        stops.append(page.evaluate("watched.grid()"))
        if focus(page) == "nothing":
            break
    else:
        pytest.fail("Tab never leaves the page")
    grids = [grid for grid in stops if grid is not None]
    assert len(grids) == len(set(grids)) == page.locator("[role=grid]").count()


# ---- what is spoken


def test_the_last_of_two_fast_presses_is_spoken(new_page, lab):
    page = new_page(f"{lab}/inside")
    page.evaluate("""() => {
        window.spoken = [];
        const live = document.querySelector('#live');
        new MutationObserver(() => spoken.push(live.textContent)).observe(live, {childList: true, subtree: true});
    }""")
    page.click("[data-by='1']")
    page.click("[data-by='1']")
    eventually(lambda: page.evaluate("spoken.length"), 1)
    page.wait_for_timeout(700)
    (sentence,) = page.evaluate("spoken")
    assert sentence.startswith("Step 3 of 9, centered;")
    assert sentence == page.locator("#say").text_content()


def test_a_refused_value_is_spoken_and_stands_at_its_field(new_page, lab):
    page = new_page(f"{lab}/inside")
    page.fill("#set-eps", "-1")
    page.press("#set-eps", "Enter")
    settle(page)
    described = page.get_attribute("#set-eps", "aria-describedby")
    complaint = page.inner_text(f"[id='{described}']")
    assert "eps" in complaint
    eventually(lambda: page.inner_text("#live"), complaint)


# ---- small screens, touch, motion, paper


@pytest.mark.parametrize("source", SOURCES)
def test_nothing_overflows_at_320_pixels(new_page, lab, source):
    page = new_page(viewport={"width": 320, "height": 640})
    page.goto(f"{lab}/inside?v=1&source={source}&copy=numpy")
    for at in range(page.locator("#scrub li").count()):
        page.locator("#scrub li button").nth(at).click()
        settle(page)
        assert page.evaluate("watched.overflow()") == [], state(page)


@pytest.mark.parametrize("path", ["/", "/nothing-here", "/inside?v=9"])
def test_no_other_page_overflows_at_320_pixels(new_page, lab, path):
    page = new_page(f"{lab}{path}", allowed="status of 40", viewport={"width": 320, "height": 640})
    assert page.evaluate("watched.overflow()") == []


def test_touch_selects_a_cell_and_everything_is_big_enough_to_hit(new_page, lab):
    page = new_page(viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
    page.goto(f"{lab}/inside")
    page.locator(".stage td").nth(5).tap()
    settle(page)
    assert state(page) == "v=1&sel=x.0.0.5"
    assert page.evaluate("watched.smallTargets()") == []


def test_reduced_motion_moves_nothing_and_shows_every_step(new_page, lab):
    page = new_page(f"{lab}/inside", reduced_motion="reduce")
    page.clock.install()
    page.click("[data-play]")
    seen = []
    for _ in STEPS[1:]:
        settle(page)
        assert page.evaluate("document.getAnimations().length") == 0
        seen.append(state(page).partition("step=")[2])
        page.clock.run_for(1200)
    assert seen == list(STEPS[1:])
    assert page.get_attribute("[data-play]", "aria-pressed") == "false"


def test_steps_move_where_motion_is_welcome(new_page, lab):
    page = new_page(f"{lab}/inside?v=1&step=mu")
    page.evaluate("""() => {
        window.begun = [];
        document.addEventListener('animationstart', event => begun.push(event.animationName));
    }""")
    page.click("[data-by='1']")
    settle(page)
    eventually(lambda: page.evaluate("begun.includes('along') && begun.includes('arrive')"), True)


@pytest.mark.parametrize("theme", [None, "dark"])
def test_paper_gets_the_lesson_without_its_controls(new_page, lab, theme):
    page = new_page(f"{lab}/inside?v=1&step=xhat", color_scheme="light")
    if theme:
        page.click("[data-theme-toggle]")
    page.emulate_media(media="print")
    for gone in (".top", ".walk", "#settings", ".skip"):
        assert not page.locator(gone).is_visible(), gone
    for there in ("h1", "#stage", ".strip", "#formula", "#ledger"):
        assert page.locator(there).is_visible(), there
    assert page.evaluate("watched.luminance(getComputedStyle(document.body).color)") < 0.2, "pale ink on white paper"
    assert page.evaluate("watched.overflow()") == []


# ---- addresses


def test_a_bad_address_says_why_and_leads_back(new_page, lab):
    page = new_page(f"{lab}/inside?v=1&step=nonsense", allowed="status of 400")
    assert "cannot be read" in page.inner_text("h1")
    assert "nonsense" in page.inner_text("main")
    page.click("main a")
    assert page.inner_text("h1") == "Inside LayerNorm"


def test_going_back_to_a_bad_address_shows_its_page(new_page, lab):
    page = new_page(f"{lab}/inside", allowed="status of 400")
    address_settles(page)  # the page writes its own once, a quarter of a second after it was asked for
    page.evaluate("history.pushState(null, '', '?v=1&step=nonsense')")
    page.evaluate("history.pushState(null, '', '?v=1&step=mu')")
    page.evaluate("history.back()")
    eventually(lambda: page.inner_text("h1"), "This address cannot be read")


def test_the_address_alone_brings_the_page_back(new_page, lab):
    page = new_page(f"{lab}/inside")
    page.locator(".stage td").nth(3).click()
    page.focus("#step")
    page.keyboard.press("End")
    page.select_option("[data-do=storage]", "bfloat16")
    query = address_settles(page)
    again = new_page(f"{lab}/inside?{query}")
    assert page.evaluate("html => watched.difference(html)", again.content()) == ""


def test_every_link_of_the_home_page_leads_somewhere(new_page, lab):
    page = new_page(f"{lab}/")
    links = page.locator("main a").evaluate_all("links => links.map(link => link.href)")
    assert len(links) >= 4
    for link in links:
        page.goto(link)
        assert page.locator("main.lesson h1").count() == 1, link
        assert page.locator("table[role=grid]").count() > 5 or "/inside" not in link, link
