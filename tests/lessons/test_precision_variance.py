"""The variance several ways and its plot on "Precision", beside NumPy and exact fractions; a tensor's losses."""

from fractions import Fraction
from statistics import pvariance

import numpy as np
import pytest

from normscope.lessons.precision.rows import placed, row_of, shape
from normscope.lessons.precision.state import State
from normscope.lessons.site import respond
from normscope.lessons.sources import Synthetic, minilm
from normscope.losses import precision
from normscope.norm import layer_norm
from tests.lessons.precision import after, losses, number, page, ways

F = np.float32
RATIOS = [10 ** (-1 + k / 2) for k in range(17)]


def mean(values) -> np.float32:
    """A mean as the policies take it: the sum once in float64, then rounded, then divided."""
    return F(F(np.sum(np.asarray(values, np.float64))) / F(len(values)))


def by_hand(row) -> dict[str, float]:
    """The variance each way in NumPy's float32, from the formulas."""
    x = np.array(row, F)
    mu = mean(x)
    chunks = x.reshape(-1, int(np.sqrt(len(x))))
    means = np.array([mean(chunk) for chunk in chunks])
    within = mean([mean((chunk - own) ** 2) for chunk, own in zip(chunks, means, strict=True)])
    total, spread = F(0), F(0)
    for count, value in enumerate(x, 1):
        delta = value - total
        total = total + delta / F(count)
        spread = spread + delta * (value - total)
    return {
        "two-pass": float(mean((x - mu) ** 2)),
        "one-pass": float(mean(x * x) - mu * mu),
        "chunked": float(within + mean((means - mean(means)) ** 2)),
        "Welford": float(spread / F(len(x))),
    }


def ulp(value: Fraction) -> float:
    return float(np.spacing(F(float(value))))


def exact(row, dtype=float) -> Fraction:
    return pvariance([Fraction(float(value)) for value in np.array(row, dtype)])


@pytest.mark.parametrize(("mean_", "spread"), [(10, 1), (10000, 1), (40001.5, 1), (0, 0.001), (-777, 3)])
def test_each_way_gives_what_numpy_gives(mean_, spread):
    at = State(mean=mean_, spread=spread, policy="float32")
    shown = ways(page(f"v=1&mean={mean_}&spread={spread}&policy=float32&guess=shown"))
    wanted, right = by_hand(row_of(at)), exact(row_of(at), F)
    for way, value in wanted.items():
        assert number(shown[way][0]) == pytest.approx(value, rel=1e-6), way
        error = abs(Fraction(value) - right) / Fraction(ulp(right))
        assert number(shown[way][1]) == pytest.approx(float(error), rel=0.006), way
    given = exact(row_of(at))
    assert number(shown["storage"][0]) == pytest.approx(float(right), rel=1e-6)
    assert number(shown["storage"][1]) == pytest.approx(float(abs(right - given)) / ulp(given), rel=0.006)


@pytest.mark.parametrize(
    ("key", "value"), [("ort-40000", 0), ("ten-thousand", 0), ("pytorch-naive", 0), ("burn-fused", 0)]
)
def test_one_pass_gives_nothing_where_the_mean_is_large(key, value):
    shown = ways(after(f"fault:{key}", "guess:shown"))
    assert number(shown["one-pass"][0]) == value and number(shown["two-pass"][0]) > 0


# ---- the plot


def errors_by_hand(at: State) -> dict[str, list[float]]:
    unit = shape(at.shape, at.seed, at.d)
    made: dict[str, list[float]] = {"storage": []}
    for ratio in RATIOS:
        row = placed(unit, ratio, 1.0)
        right, given = exact(row, F), exact(row)
        made["storage"].append(float(abs(right - given)) / ulp(given))
        for way, value in by_hand(row).items():
            made.setdefault(way, []).append(float(abs(Fraction(value) - right)) / ulp(right))
    return made


def safe_by_hand(errors: list[float], most: float) -> float | None:
    wrong = [at for at, error in enumerate(errors) if not error <= most]
    first = wrong[0] if wrong else len(errors)
    return RATIOS[first - 1] if first else None


@pytest.mark.parametrize("most", [1, 4, 16, 256])
def test_the_safe_region_is_where_every_error_so_far_is_small(most):
    at = State(policy="float32")
    tree, errors = page(f"v=1&policy=float32&guess=shown&safe={most}"), errors_by_hand(at)
    shown = ways(tree)
    for way, own in errors.items():
        reach = safe_by_hand(own, most)
        text = shown[way][2].removesuffix(" and on")
        assert text == "nowhere" if reach is None else number(text) == pytest.approx(reach, rel=0.002)
    svg = tree.one("svg", id="error-curves")
    tinted, reach = svg.one("rect", class_="safe"), safe_by_hand(errors["storage"], most)
    x = float(tinted.attributes["x"].rstrip("%"))
    width = 0 if reach is None else 81 * (np.log10(reach) + 1) / 8
    assert x == 15 and float(tinted.attributes["width"].rstrip("%")) == pytest.approx(width, abs=0.02)
    y = 230 - 220 * (np.log10(most) + 3) / 10
    assert float(tinted.attributes["y"]) == pytest.approx(y, abs=0.06)
    assert f"safe: at most {most} ulp" in svg.text


def test_the_numbers_of_the_plot_stand_in_its_table():
    tree, errors = page("v=1&policy=float32&guess=shown"), errors_by_hand(State(policy="float32"))
    table = tree.one("details", id="plot-numbers")
    names = [head.text for head in table.one("thead").all("th")][1:]
    assert names == ["two-pass", "one-pass", "chunked", "Welford", "storage"]
    for at, row in enumerate(table.one("tbody").all("tr")):
        assert number(row.one("th").text) == pytest.approx(RATIOS[at], rel=0.002)
        for name, cell in zip(names, row.all("td"), strict=True):
            assert number(cell.text) == pytest.approx(errors[name][at], rel=0.006), (name, at)
    discs = tree.one("svg", id="error-curves").one("g", class_="disc").all("circle")
    heights = [230 - 220 * (np.log10(np.clip(error, 1e-3, 1e7)) + 3) / 10 for error in errors["two-pass"]]
    assert [float(disc.attributes["cy"]) for disc in discs] == pytest.approx(heights, abs=0.06)


def test_the_row_is_marked_on_the_plot():
    tree = page("v=1&mean=-300&spread=3&policy=float32&guess=shown")
    now = tree.one("svg", id="error-now")
    at = 15 + 81 * 3 / 8
    assert float(now.one("line").attributes["x1"].rstrip("%")) == pytest.approx(at, abs=0.01)
    error = number(ways(tree)["Welford"][1])
    y = 230 - 220 * (np.log10(error) + 3) / 10
    assert float(now.one("g", class_="ring").one("circle").attributes["cy"]) == pytest.approx(y, abs=0.6)
    assert "Your row lies at 100." in tree.one("p", id="plot-told").text
    assert "Your row is constant" in page("v=1&spread=0").one("p", id="plot-told").text


def test_the_curves_end_where_storing_leaves_no_variance():
    tree = page("v=1&policy=pytorch-bf16&guess=shown&d=16")
    rows = tree.one("details", id="plot-numbers").one("tbody").all("tr")
    last = [cell.text for cell in rows[-1].all("td")]
    assert last[:4] == ["undefined"] * 4 and number(last[4]) == pytest.approx(256, rel=0.2)
    marks = tree.one("svg", id="error-curves").one("g", class_="disc").all("circle")
    assert 0 < len(marks) < len(rows)


def test_a_row_beyond_the_largest_number_is_stored_as_it_and_so_is_its_variance():
    tree = page("v=1&mean=1000&spread=1&policy=pytorch-e4m3fn&guess=near&d=4")
    assert [cell.text for cell in tree.one("tbody", data_t="stored").all("td")] == ["448"] * 4
    assert tree.one("p", id="exact-variance").text == "Exactly 0, of the stored row"


# ---- predict, then reveal


def test_the_one_pass_variance_is_hidden_until_it_is_guessed():
    tree = after("fault:ort-40000")
    assert ways(tree)["one-pass"] == ["?", "?", "?"]
    assert tree.one("svg", id="error-curves").all("g", class_="square") == []
    assert "one-pass" not in tree.one("details", id="plot-numbers").text
    shown = after("fault:ort-40000", "guess:shown")
    assert ways(shown)["one-pass"][0] == "0" and shown.one("svg", id="error-curves").all("g", class_="square")


@pytest.mark.parametrize(
    ("actions", "truth"),
    [
        (("fault:ort-40000",), "zero"),
        (("fault:jax-negative",), "negative"),
        (("policy:float32", "mean:1"), "near"),
        (("policy:float32", "d:16", "mean:2000"), "off"),
        (("fault:llama-squares",), "off"),
    ],
)
def test_a_guess_is_judged(actions, truth):
    for guess in ("near", "off", "zero", "negative"):
        judged = after(*actions, f"guess:{guess}").one("div", id="question").one("div", class_="judged")
        assert ("right" in judged.attributes["class"].split()) == (guess == truth), judged.text
    told = after(*actions, "guess:near").one("div", id="question").text
    assert ("beyond the largest number" in told) == (actions == ("fault:llama-squares",))


def test_another_row_forgets_the_guess_and_shows_what_was_shown():
    tree = after("fault:ort-40000", "guess:near", "mean:7")
    assert tree.one("div", id="question").all("div", class_="judged") == []
    assert ways(tree)["one-pass"][0] != "?"
    assert ways(after("mean:7"))["one-pass"][0] == "?"
    assert ways(after("guess:shown", "guess:"))["one-pass"][0] == "?"


# ---- a person's tensor


def check(tree, x, gamma, beta, names, first=0):
    shown = losses(tree)
    norm = layer_norm(elementwise_affine=gamma is not None).fit(2)
    for loss in precision(x, norm, gamma, beta, policies=list(shown)):
        *worst, overflow, eps = shown[loss.policy.name]
        assert len(worst) == len(x)
        for row, text in enumerate(worst):
            assert number(text.split()[0]) == pytest.approx(float(loss.worst_ulp[row]), rel=0.006)
            broken = loss.first_overflow((row,))
            assert (f"breaks at {broken}" in text) if broken else "breaks" not in text
        broken = [loss.first_overflow((row,)) for row in range(len(x)) if loss.overflow[row] >= 0]
        assert overflow == (f"{broken[0]}, in {len(broken)} of {len(x)}" if broken else "nothing")
        shares = [share for share in loss.eps_share.tolist() if share == share]
        assert number(eps.rstrip("%")) == pytest.approx(100 * max(shares), rel=0.006)
    heads = [head.text for head in tree.one("section", id="tensor").one("thead").all("th")]
    assert heads == ["policy", *names, "breaks at", "most eps"]


@pytest.mark.parametrize("storage", ["bfloat16", "float16", "float8_e4m3fn"])
def test_minilm_loses_what_numpy_says(storage):
    source = minilm()
    x = np.array(source.rows(range(1), range(4, 8))[0])
    tree = after(f"format:{storage}", "source:minilm", "at:4")
    check(tree, x, np.array(source.gamma), np.array(source.beta), [f"{k} {source.tokens[k]}" for k in range(4, 8)])
    assert "rows 4 to 7 of 14, 384 features each" in tree.one("section", id="tensor").text


class Wild(Synthetic):
    """Rows of which one is too large for float16."""

    def rows(self, b, s):
        return [[[cell * (30000 if j == 1 else 1) for cell in self._row(i, j)] for j in s] for i in b]

    gamma = beta = None


MINE = {"mine": Wild("mine.npy", "from a file", (2, 3, 8), seed=2)}


def test_a_file_is_seen_row_by_row_and_overflow_is_told():
    tree = after("format:float16", "source:mine", sources=MINE)
    x = np.array(MINE["mine"].rows(range(2), range(3))).reshape(6, 8)
    check(tree, x, None, None, [str(k) for k in range(6)])
    assert " of 6" in losses(tree)["steps-fp16"][-2]
    assert "normscope precision mine" in tree.one("section", id="tensor").text
    assert [option.text for option in tree.one("select", id="set-source").all("option")][-1] == "mine.npy"


def test_a_window_of_long_rows_is_small_and_rows_too_long_are_left_to_the_command():
    long = {"long": Synthetic("long.npy", "", (1, 3, 1500)), "huge": Synthetic("huge.npy", "", (1, 3, 5000))}
    shown = losses(after("format:float32", "source:long", "at:2", sources=long))
    assert len(shown["float32"]) == 3
    told = after("source:huge", sources=long).one("section", id="tensor").text
    assert "A row has 5,000 features; rows of up to 4,096 are computed here." in told
    assert (
        after("source:long", "at:3", sources=long)
        .one("p", id="bad-other")
        .text.startswith("the window starts at row 3")
    )
    assert respond("/precision", "v=1&source=long&at=3", long)[0] == 400
