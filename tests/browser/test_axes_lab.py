"""The axes lab in a browser: its numbers after any edits, what is spoken, small screens by touch, CSV, axe."""

import random

import numpy as np
import pytest

from normscope.lessons.site import respond
from tests.browser import walking
from tests.browser.test_axe import faults, violations
from tests.browser.watching import address_settles, eventually, settle, state

LESSON = "cat, feature 1. Row mean 0.0000, variance 1.000000, denominator 1.000005. x −1.00, z −0.999995, y −1.099994. "
SHARED = "Scale 1.20 and shift 0.10, shared with feature 1 of the other tokens."


def value(text):
    return float(text.replace("\N{MINUS SIGN}", "-"))


def numbers(page, name):
    """The rows of x, gamma or beta, as exactly as the page has them; while the page changes, of any lengths."""
    rows = page.locator(f".signals [data-t={name}] [data-row]").evaluate_all(
        "rows => rows.map(row => [...row.querySelectorAll('td')].map(td => td.dataset.v ?? td.textContent))"
    )
    return [[value(cell) for cell in row] for row in rows]


def table(page, name):
    """The numbers of x, gamma or beta as an array."""
    return np.array(numbers(page, name))


def assert_numbers(page):
    """The table of the selected row is what NumPy makes of the inputs shown."""
    x, gamma, beta = table(page, "x"), table(page, "gamma")[0], table(page, "beta")[0]
    token = page.locator(".signals [data-t=x] [aria-selected=true]").evaluate(
        "cell => Number(cell.closest('[data-row]').dataset.row)"
    )
    eps = float(page.input_value("#set-eps"))
    z = (x[token] - x[token].mean()) / np.sqrt(x[token].var() + eps)
    expected = np.stack([x[token], z, gamma * z + beta], axis=1)
    shown = page.locator("#row tr").evaluate_all(
        "rows => rows.map(row => [...row.querySelectorAll('td')].map(td => td.textContent))"
    )
    assert np.array([[value(cell) for cell in row] for row in shown]) == pytest.approx(expected, abs=0.51e-6)


class Person(walking.Person):
    """Someone who tries everything in this lesson, by a seed."""

    def actions(self):
        return {
            self.drag: 6, self.type_exactly: 4, self.walk_cells: 5, self.edit_cell: 4, self.press_button: 6,
            self.choose: 4, self.refuse: 1, self.go_back: 1,
        }  # fmt: skip

    def drag(self):
        self.pick("main .cell input[type=range]").focus()
        self.keys("ArrowRight", "ArrowUp", "ArrowLeft", "PageDown", "End", most=10)

    def type_exactly(self):
        self.fill("main .cell input[type=text]", self.number())

    def walk_cells(self):
        self.pick(".signals td[tabindex='0']").focus()
        self.keys("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp", "Home", "End", "Control+Home")

    def edit_cell(self):
        self.edit(".signals td")

    def press_button(self):
        self.pick("main button:not([aria-disabled=true], [data-copy], [data-from])").click()

    def choose(self):
        self.option("main select")

    def refuse(self):
        self.fill("main input[type=text]", "nonsense")


def holds(page):
    """The numbers are right, where no wrong value stands in a field."""
    query = state(page)
    if "bad=" not in query and "eps=-" not in query:
        assert_numbers(page)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_page_is_what_respond_draws_after_anything(new_page, lab, seed):
    walking.walk(Person(new_page(f"{lab}/axes"), seed), 30, holds)


# ---- out of sight, the page may wait for a hand that moves

MOVING = """() => {
    const slider = document.getElementById('slide-x.1.0');
    window.hand = setInterval(() => {
        slider.stepUp();
        slider.dispatchEvent(new InputEvent('input', {bubbles: true}));
    }, 30);
}"""


def test_what_is_out_of_sight_is_drawn_once_the_hand_rests_or_it_is_looked_at(new_page, lab):
    page = new_page(f"{lab}/axes")
    page.evaluate(MOVING)
    page.wait_for_function("() => watched.requests > 4")  # the first answers tell the script which parts there are
    before = page.inner_text("#every")
    page.wait_for_function("() => watched.requests > 12")
    assert page.inner_text("#every") == before
    page.locator("#every").scroll_into_view_if_needed()
    page.wait_for_function("before => document.getElementById('every').innerText !== before", arg=before)
    page.evaluate("() => scrollTo(0, 0)")
    page.evaluate("() => clearInterval(hand)")
    assert page.evaluate("html => watched.difference(html)", respond("/axes", address_settles(page))[2]) == ""


# ---- what is spoken (C11)


def spoken(page):
    """Every text that the live region gets from now on."""
    page.evaluate("""() => {
        const live = document.getElementById('live');
        window.spoken = [];
        new MutationObserver(() => window.spoken.push(live.textContent)).observe(live, {childList: true});
    }""")


def test_lesson_C11_the_live_region_tells_the_selection(new_page, lab):
    page = new_page(f"{lab}/axes")
    spoken(page)
    page.fill("[id='exact-x.1.0']", "2")
    page.press("[id='exact-x.1.0']", "Enter")
    said = (
        "cat, feature 1. Row mean 0.7500, variance 1.187500, denominator 1.089729. x 2.00, z 1.147074, y 1.476489. "
        "Scale 1.20 and shift 0.10, shared with feature 1 of the other tokens."
    )
    eventually(lambda: page.inner_text("#live"), said)
    page.click("[data-do='undo:1']")
    eventually(lambda: page.inner_text("#live"), LESSON + SHARED)
    assert page.evaluate("window.spoken") == [said, LESSON + SHARED]
    assert page.locator("[aria-live]:not([aria-live=off]), [role=status]").count() == 1


def test_lesson_C11_of_two_fast_edits_the_last_is_spoken_once(new_page, lab):
    page = new_page(f"{lab}/axes")
    spoken(page)
    page.focus("[id='slide-x.1.0']")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    said = (
        "cat, feature 1. Row mean 0.0250, variance 0.951875, denominator 0.975646. x −0.90, z −0.948090, y −1.037708. "
        "Scale 1.20 and shift 0.10, shared with feature 1 of the other tokens."
    )
    eventually(lambda: page.inner_text("#live"), said)
    page.wait_for_timeout(700)
    assert page.evaluate("window.spoken") == [said]


# ---- touch and small screens


@pytest.fixture
def phone(new_page, lab):
    return new_page(f"{lab}/axes", viewport={"width": 320, "height": 640}, has_touch=True, is_mobile=True)


def test_lesson_C12_the_lesson_by_touch_at_320_pixels(phone):
    phone.locator(".signals [data-row='2'] td").nth(1).tap()
    settle(phone)
    assert state(phone) == "v=1&sel=2,1"
    slider = phone.locator("[id='slide-x.2.1']")
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    phone.touchscreen.tap(box["x"] + box["width"] * 0.75, box["y"] + box["height"] / 2)
    settle(phone)
    assert value(phone.input_value("[id='exact-x.2.1']")) == pytest.approx(2.8, abs=0.5)
    assert_numbers(phone)
    phone.locator("[data-do='constant:2']").tap()
    settle(phone)
    assert set(table(phone, "x")[2]) == {0.0}
    phone.locator("[data-do='reset:1']").tap()
    settle(phone)
    assert state(phone) == "v=1"
    phone.select_option("#set-task", "shift")
    settle(phone)
    phone.locator("[data-do='guess.shift:stays']").tap()
    settle(phone)
    phone.locator("[data-do='try.shift:1']").tap()
    settle(phone)
    assert phone.locator("#task .right").is_visible() and table(phone, "x")[1].tolist() == [1, 1, 3, 3]
    assert phone.evaluate("watched.overflow()") == []
    small = phone.evaluate("watched.smallTargets()")
    assert small == []


WIDE = "x=" + ";".join(",".join(f"{(7 * t + 3 * k) % 11 - 5}.25" for k in range(32)) for t in range(32))
WIDE += (
    "&tokens="
    + ",".join(f"token-number-{t}" for t in range(32))
    + f"&gamma={','.join('1' * 32)}&beta={','.join('0' * 32)}"
)
NARROW = (
    "task=mean&guesses=mean:beta@1.0&do=try.mean:1",
    f"{WIDE}&sel=9,12&first=8",
    "layout=nchw&norm=group_norm",
    "do=x.1.0:12345.678",
    "do=pattern:[",
    "zoom=fit&do=x.1.0:1e9",
)


@pytest.mark.parametrize("query", NARROW)
def test_nothing_overflows_at_320_pixels(new_page, lab, query):
    page = new_page(f"{lab}/axes?v=1&{query}", viewport={"width": 320, "height": 640})
    page.locator(".own summary").click()
    assert page.evaluate("watched.overflow()") == []


# ---- a person's own table


CSV = "token,a,b,c\nsun,1,2,3\nmoon,-0.5,0,4.25\n"


def test_a_csv_is_opened_in_the_page(new_page, lab, tmp_path):
    page = new_page(f"{lab}/axes")
    (tmp_path / "mine.csv").write_text(CSV)
    page.click(".own summary")
    page.set_input_files("#open", tmp_path / "mine.csv")
    eventually(lambda: numbers(page, "x"), [[1, 2, 3], [-0.5, 0, 4.25]])
    settle(page)
    assert page.locator(".signals tbody th").all_text_contents()[:2] == ["sun", "moon"]
    assert_numbers(page)
    assert page.evaluate("html => watched.difference(html)", respond("/axes", address_settles(page))[2]) == ""
    page.reload()
    assert table(page, "x").tolist() == [[1, 2, 3], [-0.5, 0, 4.25]]


def test_a_pasted_table_is_used_and_a_wrong_one_is_told(new_page, lab):
    page = new_page(f"{lab}/axes")
    page.click(".own summary")
    page.fill("#paste", "1,2\n3")
    page.click("[data-from=paste]")
    settle(page)
    assert page.locator("#own .bad").is_visible() and table(page, "x").shape == (3, 4)
    page.fill("#paste", CSV.replace(",", "\t"))
    page.click("[data-from=paste]")
    settle(page)
    assert table(page, "x").shape == (2, 3) and page.locator("#own .bad").count() == 0
    assert_numbers(page)


def test_a_full_table_of_32_by_32_fits_the_address(new_page, lab, tmp_path):
    draw = random.Random(3)
    rows = [[round(draw.uniform(-99, 99), 3) for _ in range(32)] for _ in range(32)]
    (tmp_path / "full.csv").write_text("\n".join(",".join(map(str, row)) for row in rows))
    page = new_page(f"{lab}/axes")
    page.click(".own summary")
    page.set_input_files("#open", tmp_path / "full.csv")
    eventually(lambda: numbers(page, "x"), rows)
    assert_numbers(page)
    page.locator(".signals [data-row='31'] td").nth(31).click()
    settle(page)
    assert "sel=31,31" in state(page)
    assert_numbers(page)


# ---- axe


STATES = {
    "refused": "do=x.1.0:much",
    "moved": "do=x.1.0:9&do=sel:x.1.1&zoom=fit",
    "asked": "task=scale",
    "number": "task=constant&do=guess.constant:much",
    "wrong": "task=outlier&do=guess.outlier:stay&do=try.outlier:1",
    "right": "task=swap&do=guess.swap:x&do=try.swap:1",
    "groups": "layout=nchw&norm=group_norm&do=pattern:[N C] H W",
}
CHANGED = [".cell", "#task", ".plots"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(new_page, lab, scheme):
    page = new_page(bypass_csp=True, color_scheme=scheme, reduced_motion="reduce")
    found = {"first view": violations(page, f"{lab}/axes", None)}
    for name, query in STATES.items():
        page.goto(f"{lab}/axes?v=1&{query}")
        found[name] = faults(page, None if name == "groups" else CHANGED)
    assert {name: each for name, each in found.items() if each} == {}
