"""The lesson "A named step" and the exercises: axe, small screens, the keyboard, what is spoken, paper."""

from urllib.parse import quote, unquote

import pytest

from tests.browser.test_axe import faults, violations
from tests.browser.test_lesson import tab_to
from tests.browser.watching import eventually, focus, settle, state

LONG = ",".join(f"{10**29 + 7919 * k}/{3**50 + k}" for k in range(8))
WIDE = f"x={quote(LONG)}&update=0,0,0,0,0,0,0,1&guesses=mu:;c:;var:"
PANELS = ("residual add", "mean", "centered", "variance", "named layernorm", "closing")
# The first whole; of the rest what a panel changes: a whole page takes axe seconds.
CHANGED = ["#settings", "#heading", "#drawing", "#mathematics", "#guess", "#boundary", "#scrub", "#why"]
STATES = {
    "asked": "panel=2",
    "right": "panel=1&guesses=mu:5/2",
    "wrong": "panel=3&guesses=var:1/2",
    "all steps": "panel=4&every=1&gamma=2,1/3&beta=1,0",
    "opened": "panel=4&opened=1",
    "undefined": "panel=4&x=1,1&update=0,0&opened=1",
    "symbolic": "panel=4&opened=1&eps=eps",
    "pre-norm": "panel=4&wiring=pre",
    "RMSNorm": "panel=1&norm=rms_norm",
    "closing": "panel=5&opened=1",
    "long": f"panel=5&opened=1&digits=200&{WIDE}",
    "refused": "panel=1&do=x:two",
    "refused answer": "panel=1&do=guess.mu:1/0",
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(new_page, lab, scheme):
    page = new_page(bypass_csp=True, color_scheme=scheme, reduced_motion="reduce")
    found = {path: violations(page, lab + path, None) for path in ("/named", "/exercises")}
    for name, query in STATES.items():
        page.goto(f"{lab}/named?v=1&{query}")
        page.click("summary")
        found[name] = faults(page, CHANGED)
    assert {name: each for name, each in found.items() if each} == {}


# ---- small screens


@pytest.mark.parametrize("query", ["opened=1", f"{WIDE}&opened=1&digits=100", f"{WIDE}&eps=eps&every=1"])
def test_nothing_overflows_at_320_pixels(new_page, lab, query):
    page = new_page(viewport={"width": 320, "height": 640})
    page.goto(f"{lab}/named?v=1&{query}")
    page.click("summary")
    for at in range(page.locator("#scrub li").count()):
        page.locator("#scrub li button").nth(at).click()
        settle(page)
        assert page.evaluate("watched.overflow()") == [], unquote(state(page))


@pytest.mark.parametrize(
    "path", ["named?v=1&panel=1&do=guess.mu:1/0", f"named?v=1&do=x:{'7' * 1500}", "exercises?v=1&count=99"]
)
def test_no_message_and_no_sheet_overflows_at_320_pixels(new_page, lab, path):
    page = new_page(f"{lab}/{path}", viewport={"width": 320, "height": 640})
    assert page.evaluate("watched.overflow()") == []


def test_everything_is_big_enough_to_hit(new_page, lab):
    page = new_page(viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
    for path in ("named?v=1&panel=2", "named?v=1&panel=4&opened=1", "exercises"):
        page.goto(f"{lab}/{path}")
        small = page.evaluate("watched.smallTargets()")
        assert [target for target in small if "checkbox" not in target] == []  # a checkbox's label is hit as well


@pytest.mark.parametrize(("width", "shown"), [(1280, "wide"), (390, "narrow")])
def test_one_drawing_is_shown_and_its_text_alternative_says_what_it_shows(new_page, lab, width, shown):
    page = new_page(viewport={"width": width, "height": 800})
    page.goto(f"{lab}/named?v=1&panel=3&guesses=var:")
    (seen,) = [svg for svg in page.locator("#drawing svg").all() if svg.is_visible()]
    assert seen.get_attribute("class") == f"diagram-{shown}"
    words = seen.locator("desc").text_content()
    for box in seen.locator("g.box").all():
        title = " ".join(box.locator(".title").all_text_contents())
        kind, *values = box.locator(".label, .value").all_text_contents()
        assert f" {title}, {kind}" in words
        assert all(value in words for value in values)
    assert "variance, exact, computed in this step: 1/4" in words


# ---- the keyboard


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)
    settle(page)


def test_the_lesson_by_keyboard_alone(new_page, lab):
    page = new_page(f"{lab}/named")
    tab_to(page, "set-x")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("1, 2/3, 0.1")
    press(page, "Enter")
    assert (focus(page), page.input_value("#set-update")) == ("set-x", "1,-1,0")
    tab_to(page, "panel")
    for at, name in enumerate(PANELS):
        assert page.get_attribute("#panel", "aria-valuetext") == f"panel {at + 1} of 6: {name}"
        press(page, "ArrowRight")
    press(page, "Home", "ArrowRight")
    tab_to(page, "set-guess.mu", "Shift+Tab")
    page.keyboard.type("53/60")
    press(page, "Enter")
    assert focus(page) == "set-guess.mu"
    assert "53/60 is not it" in page.inner_text("#guess")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("53/90")
    press(page, "Enter")
    assert "53/90 is right." in page.inner_text("#guess")
    tab_to(page, "panel")
    press(page, *["ArrowRight"] * 3)
    tab_to(page, "set-opened", "Shift+Tab")
    press(page, "Space")
    assert focus(page) == "set-opened"
    tab_to(page, "set-digits")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("50")
    press(page, "Enter")
    assert focus(page) == "set-digits"
    assert [len(text.partition(".")[2]) for text in page.locator("#boundary code").all_text_contents()] == [50] * 3
    tab_to(page, "Why is this step named?")
    press(page, "Enter")
    assert page.locator(".why msqrt").first.is_visible()


def test_showing_a_value_keeps_the_focus(new_page, lab):
    page = new_page(f"{lab}/named?v=1&panel=3")
    tab_to(page, "guess.var:")
    press(page, "Enter")
    assert (focus(page), state(page)) == ("guess.var:", "v=1&panel=3&guesses=var:")


# ---- what is said


def test_a_refused_value_keeps_the_page_and_is_told_at_its_field(new_page, lab):
    page = new_page(f"{lab}/named?v=1&panel=3&guesses=var:")
    before = page.inner_text("#mathematics")
    for field, value, told in (
        ("x", "1/0,2", "divides by 0"),
        ("update", "1,2,3", "needs that of x"),
        ("eps", "-1", "must not be negative"),
        ("guess.var", "1,2", "your answer has 2 numbers; here it takes one number."),
        ("x", "7" * 10**6, "1,000 digits"),
    ):
        page.evaluate("field => document.getElementById(`set-${field}`).select()", field)
        page.keyboard.insert_text(value)
        press(page, "Enter")
        described = page.get_attribute(f"[id='set-{field}']", "aria-describedby")
        message = page.locator(f"[id='{described}']")
        assert told in message.inner_text(), field
        assert page.inner_text("#mathematics") == before
        eventually(lambda message=message: page.inner_text("#live"), message.inner_text())


def test_no_message_covers_a_field(new_page, lab):
    for width in (320, 800, 1000, 1280, 1440):
        page = new_page(viewport={"width": width, "height": 800})
        page.goto(f"{lab}/named?v=1&do=x:1/0,2")
        covered = page.evaluate("""() => {
            const told = document.querySelector('#bad-x').getBoundingClientRect();
            return [...document.querySelectorAll('#settings :is(input, select, button)')].filter(node => {
                const it = node.getBoundingClientRect();
                return it.left < told.right && told.left < it.right && it.top < told.bottom && told.top < it.bottom;
            }).map(node => node.id);
        }""")
        assert covered == [], width


def test_a_step_is_spoken_in_a_sentence(new_page, lab):
    page = new_page(f"{lab}/named")
    page.click("[data-by='1']")
    eventually(lambda: page.inner_text("#live"), "panel 2 of 6: mean. Your answer is awaited.")
    page.fill("[id='set-guess.mu']", "5/2")
    page.press("[id='set-guess.mu']", "Enter")
    said = "panel 2 of 6: mean, computed in this step: 5/2. 5/2 is right."
    eventually(lambda: page.inner_text("#live"), said)


# ---- paper


def test_the_answers_get_a_page_of_their_own(new_page, lab):
    page = new_page(f"{lab}/exercises?v=1&count=4")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.querySelector('#answers')).breakBefore") == "page"
    assert not page.locator("#settings").is_visible()
    assert page.locator("#answers li").count() == page.locator("#questions li").count() == 4
    assert pages(page) == 2
    page.emulate_media(media="screen")
    page.uncheck("#set-answers")
    settle(page)
    assert pages(page) == 1


def pages(page):
    return page.pdf(format="A4").count(b"/Type /Page\n")
