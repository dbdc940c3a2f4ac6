"""The page "Precision": its figures beside NumPy and exact fractions, its controls, what it refuses."""

import random
from fractions import Fraction
from itertools import pairwise
from statistics import pstdev, pvariance

import numpy as np
import pytest

from normscope.errors import StateError
from normscope.lessons.precision.actions import done
from normscope.lessons.precision.faults import FAULTS
from normscope.lessons.precision.rows import parameters, row_of
from normscope.lessons.precision.state import State, norm_of, policies_of
from normscope.lessons.site import respond
from normscope.losses import precision
from normscope.rungs import ladder
from normscope.views.policies import POLICIES, find
from tests.lessons.precision import after, line, number, page, policies, state, ways
from tests.lessons.test_site import main_of, patched, plain


def drawn_states(count: int) -> list[State]:
    draw = random.Random(7)
    made = []
    for _ in range(count):
        affine, norm = draw.choice(["none", "seeded"]), draw.choice(["layer_norm", "rms_norm"])
        mean, spread = draw.choice([0.0, -3.5, 10.0, 1000.0]), draw.choice([0.001, 0.5, 1.0, 300.0])
        row = {
            "shape": draw.choice(["normal", "even", "outlier"]),
            "d": draw.choice([2, 5, 16]),
            "seed": draw.randrange(9),
        }
        policy = draw.choice([name for name in POLICIES if name != "float64"])
        eps = draw.choice(["1e-5", "1e-12", "0.5"])
        made.append(State(mean=mean, spread=spread, eps=eps, norm=norm, affine=affine, policy=policy, **row))
    return made


def address(at: State) -> str:
    row = f"mean={at.mean!r}&spread={at.spread!r}&eps={at.eps}&d={at.d}&shape={at.shape}&seed={at.seed}"
    return f"v=1&{row}&norm={at.norm}&affine={at.affine}&policy={at.policy}"


def share_of(tree) -> str:
    return tree.one("div", id="dominance").one("b").text.split()[2].rstrip("%")


def near(value: float):
    """A number that a page writes with three digits at least."""
    return pytest.approx(value, rel=0.006, abs=1e-12, nan_ok=True)


# ---- the row and the policies


@pytest.mark.parametrize("at", drawn_states(24), ids=lambda at: at.policy)
def test_every_policy_loses_what_numpy_says(at):
    tree, x = page(address(at)), np.array(row_of(at))
    gamma, beta = parameters(at.affine, at.norm, at.seed, at.d)
    names = [policy.name for policy in policies_of(find(at.policy).storage)]
    shown = policies(tree)
    assert list(shown) == names
    for loss in precision(x, norm_of(at), gamma, beta, policies=names):
        statistics, cells, _, worst, broken = shown[loss.policy.name]
        assert (statistics, cells) == (loss.policy.statistics, loss.policy.cells)
        assert number(worst) == near(float(loss.worst_ulp.item()))
        assert broken == (loss.first_overflow(()) or "nothing")
        share = float(loss.eps_share.item())
        if loss.policy.name == at.policy and share == share:
            assert number(share_of(tree)) == near(100 * share)
    errors = [number(error) for error in line(tree, "error")]
    assert max(errors) <= number(shown[at.policy][3]) * 1.01 or at.d > 8


def test_the_table_holds_x_what_is_stored_and_both_ys():
    tree = page("v=1&d=8&policy=pytorch-bf16")
    x = np.array([number(cell) for cell in line(tree, "x")])
    import ml_dtypes

    assert [number(cell) for cell in line(tree, "stored")] == x.astype(ml_dtypes.bfloat16).astype(float).tolist()
    y = (x - x.mean()) / np.sqrt(x.var() + 1e-5)
    assert [number(cell) for cell in line(tree, "exact")] == pytest.approx(y.tolist(), rel=2e-5)
    got, unit = np.array([number(cell) for cell in line(tree, "y")]), 2.0 ** (np.frexp(abs(y).max())[1] - 1 - 7)
    assert [number(cell) for cell in line(tree, "error")] == pytest.approx((abs(got - y) / unit).tolist(), abs=0.01)


@pytest.mark.parametrize("shape", ["normal", "even", "outlier"])
def test_a_row_has_its_mean_and_its_spread_and_is_the_same_again(shape):
    at = State(mean=-12.5, spread=0.25, d=33, shape=shape, seed=4)
    row = row_of(at)
    assert sum(row) / 33 == pytest.approx(-12.5, abs=1e-4) and pstdev(row) == pytest.approx(0.25, abs=1e-4)
    assert row == row_of(at) and len(row) == 33
    steps = {round(b - a, 3) for a, b in pairwise(row)}
    assert (len(steps) <= 2) == (shape == "even")
    far = sorted(abs(value + 12.5) for value in row)
    assert (far[-1] > 3 * far[-2]) == (shape == "outlier")


def test_the_table_turns_and_a_cell_is_selected():
    tree = after("d:16", "first:8", "sel:error.0.3")
    (cell,) = tree.all("td", aria_selected="true")
    assert cell.attributes["tabindex"] == "0" and tree.all("td", tabindex="0") == [cell]
    assert cell in tree.one("tbody", data_t="error").all("td")
    assert [head.text for head in tree.one("thead", id="row-head").all("th")][1:] == [str(k) for k in range(9, 17)]
    assert state("d:16", "first:8", "sel:error.0.3") == "v=1&d=16&sel=error.11&first=8"
    assert state("sel:y.0.5", "d:4") == "v=1&d=4&sel=y.3"
    assert state("sel:") == "v=1"


# ---- controls


@pytest.mark.parametrize(
    ("action", "query"),
    [
        ("drag.mean:3", "v=1&mean=1000"),
        ("drag.mean:-2", "v=1&mean=0"),
        ("drag.mean:0.05", "v=1&mean=1.12"),
        ("mean:-40001.5", "v=1&mean=-40001.5"),
        ("drag.spread:-4", "v=1&spread=0"),
        ("drag.spread:1.5", "v=1&spread=31.6"),
        ("spread:0.25", "v=1&spread=0.25"),
        ("drag.eps:-13", "v=1&eps=0"),
        ("drag.eps:-6", "v=1&eps=1e-06"),
        ("eps:1e-12", "v=1&eps=1e-12"),
        ("drag.d:6", "v=1&d=64"),
        ("drag.d:99", "v=1&d=64"),
        ("d:3", "v=1&d=3"),
        ("format:float16", "v=1&policy=pytorch-fp16"),
        ("format:float32", "v=1&policy=pytorch-fp32"),
        ("format:float8_e4m3fn", "v=1&policy=pytorch-e4m3fn"),
        ("policy:naive-bf16", "v=1&policy=naive-bf16"),
        ("norm:rms_norm", "v=1&norm=rms_norm"),
        ("affine:seeded", "v=1&affine=seeded"),
        ("shape:outlier", "v=1&shape=outlier"),
        ("seed:7", "v=1&seed=7"),
        ("safe:16", "v=1&safe=16"),
        ("guess:off", "v=1&guess=off"),
        ("ladder:1", "v=1&ladder=1"),
        ("source:minilm", "v=1&source=minilm"),
        ("reset:1", "v=1"),
    ],
)
def test_each_control_sets_its_field(action, query):
    assert state(action) == query
    assert state(action, query=query) == query


EXTREMES = ["mean=-1e30", "mean=1e30&spread=5e-324", "spread=1e30&policy=float64", "eps=1/3", "eps=1e-300&spread=0"]


@pytest.mark.parametrize("query", [f"{each}&ladder=1&guess=off" for each in EXTREMES])
@pytest.mark.parametrize("policy", ["naive-e5m2", "naive-e4m3fn", "statistics-fp16"])
def test_what_lies_far_out_is_drawn_too(query, policy):
    rest = "" if "policy" in query else f"&policy={policy}"
    assert page(f"v=1&{query}{rest}").one("section", id="rungs").text


def test_a_slider_keeps_the_sign_of_the_mean():
    assert state("mean:-5", "drag.mean:3") == "v=1&mean=-1000"


def test_sliders_stand_where_their_numbers_are():
    tree = page("v=1&mean=-1000&spread=0&eps=0.5&d=24")
    places = {
        field: tree.one("input", id=f"slide-{field}").attributes["value"] for field in ("mean", "spread", "eps", "d")
    }
    assert places == {"mean": "3", "spread": "-4", "eps": "-0.25", "d": "5"}
    fields = {field: tree.one("input", id=f"set-{field}").attributes["value"] for field in places}
    assert fields == {"mean": "-1000", "spread": "0", "eps": "0.5", "d": "24"}
    assert tree.one("input", id="slide-mean").attributes["aria-valuetext"] == "mean: -1000"


@pytest.mark.parametrize(
    ("action", "field", "message"),
    [
        ("mean:much", "mean", "'much' is no finite number; type one such as 1.25."),
        ("mean:1e31", "mean", "the mean is 1e+31; here it lies within ±1e+30."),
        ("spread:-1", "spread", "the spread is -1; it is 0 or more, and at most 1e+30."),
        ("spread:inf", "spread", "'inf' is no finite number; type one such as 1.25."),
        ("eps:-1", "eps", "eps"),
        ("eps:", "eps", "eps"),
        ("d:1", "d", "d is 1; here it goes from 2 to 64."),
        ("d:65", "d", "d is 65; here it goes from 2 to 64."),
        ("d:2.5", "d", "d is '2.5'; give a whole number from 2 to 64."),
        ("seed:-1", "seed", "'-1' is no whole number from 0; type one such as 3."),
        ("policy:half", "other", "'half' is none of float64, float32, pytorch-fp32, "),
        ("format:float128", "other", "'float128' is not understood here."),
        ("sel:z.0.1", "other", "'z.0.1' is not understood here."),
        ("sel:y.0.8", "other", "feature 9 is selected; the row has 8."),
        ("first:3", "other", "first is 3; the table starts at a multiple of 8 below 8."),
        ("fault:none", "other", "'none' is not understood here."),
        ("source:mine", "other", "there is no source 'mine' here; there are minilm."),
        ("odd:1", "other", "there is no field 'odd' here."),
    ],
)
def test_what_cannot_be_done_is_told_beside_its_field(action, field, message):
    tree = after(action)
    told = tree.one("p", id=f"bad-{field}")
    assert told.text.startswith(message) and tree.one("p", id="say").text == told.text
    name, _, value = action.partition(":")
    if field != "other":
        box = tree.one("input", id=f"set-{field}")
        assert box.attributes["value"] == value and box.attributes["aria-describedby"] == f"bad-{field}"
    assert state(action).startswith(f"v=1&bad={name}")


@pytest.mark.parametrize(
    "query", ["mean=nan", "mean=x", "d=65", "eps=x", "policy=half", "sel=y.99", "fault=x", "source=x", "at=0&guess=x"]
)
def test_an_address_that_does_not_fit_is_refused(query):
    assert respond("/precision", f"v=1&{query}")[0] == 400


# ---- eps


def test_eps_dominance_is_told_in_a_number_and_in_words():
    told = page("v=1&mean=0&spread=0.001&eps=1e-3&policy=float32&d=64").one("div", id="dominance").text
    assert told.startswith("var eps eps is 99.9% of var + eps: it dominates") or "99.9%" in told
    assert "spread is 0.0316; without eps it would be 1." in told
    half = page("v=1&mean=0&spread=1&eps=1&policy=float32").one("div", id="dominance").text
    assert "eps is 50% of var + eps" in half and "spread is 0.7071" in half
    assert "it does not matter here" in page("v=1").one("div", id="dominance").text
    bar = page("v=1&mean=0&spread=1&eps=1&policy=float32").one("svg", class_="share")
    assert float(bar.one("rect", class_="eps").attributes["width"].rstrip("%")) == pytest.approx(50, abs=0.1)


def test_no_share_is_made_up_where_there_is_none():
    assert "there is no share of eps" in page("v=1&spread=0&eps=0").one("div", id="dominance").text


@pytest.mark.parametrize("key", ["bert-eps", "padding"])
def test_an_eps_that_is_rounded_away_is_told_as_lost(key):
    told = after(f"fault:{key}").one("div", id="dominance").text
    assert told.startswith("eps is lost: var + eps rounds to 0 in float16.r is no finite number")
    assert "of var + eps" not in told and "√eps" not in told
    assert "of var + eps:" in after(f"fault:{key}", "policy:statistics-fp16").one("div", id="dominance").text


def test_an_eps_that_changes_nothing_is_told_so():
    told = page("v=1&mean=0&policy=steps-e5m2&eps=1e-5").one("div", id="dominance").text
    assert "eps is 0% of var + eps: adding it changes nothing, it is rounded away." in told


def test_what_is_saturated_is_told_as_finite():
    row = "v=1&mean=1000&spread=300&policy"
    tree = page(f"{row}=pytorch-e4m3fn")
    told = tree.one("div", id="dominance").text
    assert "x ended at the largest number, 448: y is finite, but not this row’s." in told
    assert "no finite number" not in told and policies(tree)["pytorch-e4m3fn"][-1] == "x"
    assert (
        "x is no finite number, and with it y is lost."
        in page("v=1&mean=1e6&policy=pytorch-fp16").one("div", id="dominance").text
    )


@pytest.mark.parametrize(("mean", "breaks"), [("448", "nothing"), ("464", "nothing"), ("465", "x"), ("500", "x")])
def test_the_largest_number_itself_breaks_nothing(mean, breaks):
    assert policies(page(f"v=1&mean={mean}&spread=0&policy=pytorch-e4m3fn"))["pytorch-e4m3fn"][-1] == breaks


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("mean=1e30", "no spread at all: at 1e30 its numbers lie 1.41e14 apart."),
        ("mean=3e16", "a spread of 1.32: at 3e16 its numbers lie 4 apart."),
        ("mean=1e12", ""),
        ("mean=1e30&spread=0", ""),
        ("mean=0&spread=1e-300", ""),
        ("mean=0&spread=1e30", ""),
    ],
)
def test_a_row_that_float64_itself_cannot_hold_is_told(row, told):
    text = page(f"v=1&{row}&policy=float32").one("div", id="row-told").text
    assert ("float64 itself leaves this row" in text) == bool(told) and told in text


# ---- the ladder


def test_the_ladder_is_that_of_the_selected_cell():
    tree = after("sel:y.0.2", "ladder:1", "d:4")
    at = State(d=4)
    rungs = ladder(list(row_of(at)), norm_of(at), "y", (2,), kind="pytorch")
    rows = tree.one("section", id="rungs").one("tbody").all("tr")
    assert [row.one("th").text for row in rows] == [rung.name for rung in rungs]
    assert [row.all("td")[2].text for row in rows] == [rung.bits for rung in rungs]
    for row, rung in zip(rows, rungs, strict=True):
        value, error, _ = (cell.text for cell in row.all("td"))
        if rung.value is None:
            assert value.replace("−", "-") == rung.text or f"{len(rung.text):,} signs" in value
        else:
            assert number(value) == rung.value and number(error) == pytest.approx(rung.ulps, rel=0.006)
    assert [row.one("th").text for row in rows][:3] == ["named root", "closed form", "decimals"]


def test_the_ladder_says_what_its_ulp_is_beside_that_of_the_table():
    told = page("v=1&ladder=1").one("section", id="rungs").one("p").text
    assert told.startswith("An ulp here is that of each format at the exact value; in the row’s table")


def test_the_ladder_of_x_and_of_a_row_without_a_root():
    assert "fraction" in after("sel:x.0.0", "ladder:1").one("section", id="rungs").text
    assert "undefined" in after("spread:0", "eps:0", "ladder:1").one("section", id="rungs").text
    assert page("v=1").one("section", id="rungs").all("table") == []


# ---- patches


DOES = [
    "drag.mean:3", "drag.spread:-1", "drag.eps:0", "d:5", "mean:-2", "spread:0", "eps:0", "eps:oops", "seed:3",
    "seed:x", "shape:even", "format:float16", "format:float8_e5m2", "format:float32", "policy:steps-fp16",
    "norm:rms_norm", "affine:seeded", "safe:1", "guess:zero", "guess:", "sel:y.0.1", "first:8", "first:0",
    "ladder:1", "ladder:0", "fault:ort-40000", "fault:padding", "source:minilm", "at:4", "source:", "reset:1", "odd:1",
]  # fmt: skip


def test_a_patched_page_is_the_page_drawn_afresh():
    draw = random.Random(3)
    query, shown, small = "v=1", main_of(respond("/precision", "v=1")[2]), 0
    for _ in range(60):
        actions = "".join(f"&do={draw.choice(DOES)}" for _ in range(draw.choice((1, 1, 3))))
        body = respond("/precision", f"{query}{actions}&patch=")[2]
        small += "<main" not in body
        query, shown = patched(shown, body)
        assert plain(shown) == plain(main_of(respond("/precision", query)[2])), (query, actions)
    assert small > 50


def test_a_step_of_a_slider_is_a_small_patch():
    whole = len(respond("/precision", "v=1")[2])
    assert len(respond("/precision", "v=1&mean=12&do=drag.mean:1.05&patch=")[2]) < whole / 4


# ---- presets


def test_every_preset_cites_a_report_and_sets_a_state_that_stands():
    for key, fault in FAULTS.items():
        assert fault.url.startswith("https://github.com/") and fault.url.split("/")[5] in ("issues", "pull")
        made = done(State(seed=5, safe="16"), "fault", key)
        assert made.fault == key and made.safe == "16" and made.seed == fault.sets.get("seed", 0)
        assert all(getattr(made, field) == value for field, value in fault.sets.items())
        tree = after(f"fault:{key}")
        told = tree.one("p", id="fault-told")
        assert told.one("a").attributes["href"] == fault.url and told.text.startswith(fault.told)
        assert (ways(tree)["one-pass"][0] == "?") == fault.asks
        assert len(tree.all("button", aria_pressed="true", data_do=f"fault:{key}")) == 1
    assert "fault" not in state("fault:padding", "mean:1")
    with pytest.raises(StateError):
        done(State(), "odd", "")


@pytest.mark.parametrize(
    ("key", "breaks"),
    [("llama-squares", "q"), ("tensorrt-pow", "q"), ("bert-eps", "r"), ("padding", "r"), ("ort-40000", "nothing")],
)
def test_a_preset_breaks_where_its_report_says(key, breaks):
    tree = after(f"fault:{key}")
    assert policies(tree)[FAULTS[key].sets["policy"]][-1] == breaks


def test_presets_show_what_their_reports_tell():
    assert line(after("fault:ort-40000"), "x") == ["40000", "40001", "40002", "40003"]
    burn = [number(cell) for cell in line(after("fault:burn-fused"), "x")]
    assert burn == [round(1000 + i / 1000, 3) for i in range(8)]
    assert set(line(after("fault:jax-negative"), "x")) == {"−11.000002"}
    assert number(ways(after("fault:jax-negative", "guess:negative"))["one-pass"][0]) < -1e-5  # below -eps: no root
    assert max(map(abs, row_of(done(State(), "fault", "llama-squares")))) ** 2 > 65504
    deep, order = policies(after("fault:gemma-deep")), policies(after("fault:cast-order"))
    assert number(deep["naive-bf16"][3]) > 2 * number(deep["pytorch-bf16"][3])
    assert number(order["llama-bf16"][3]) > number(order["pytorch-bf16"][3]) + 0.5
    assert order["gemma-bf16"][3] == order["pytorch-bf16"][3]  # its finer w changes nothing here
    ys = line(after("fault:bert-eps"), "y")
    assert set(ys) == {"∞", "−∞"} and "y infinite" in FAULTS["bert-eps"].told


def test_the_exact_variance_is_a_fraction_of_the_stored_row():
    told = after("fault:ort-40000").one("p", id="exact-variance").text
    assert told == "Exactly 5/4 = 1.25, of the stored row"
    tree = page("v=1&d=8")
    exact = pvariance([Fraction(number(cell)) for cell in line(tree, "stored")])
    assert tree.one("p", id="exact-variance").text.startswith(f"Exactly {exact} = ")


def test_a_long_exact_variance_loses_its_middle_and_gets_decimals():
    told = page("v=1&mean=0&spread=1e24&policy=float32").one("p", id="exact-variance").text
    head, tail = told.removeprefix("Exactly ").partition(" = ")[0].split("…")
    stored = row_of(State(mean=0.0, spread=1e24))
    exact = str(pvariance([Fraction(float(np.float32(value))) for value in stored]))
    assert exact.isdecimal() and len(exact) == 49 and exact.startswith(head) and exact.endswith(tail)
    assert number(told.partition(" = ")[2].partition(",")[0]) == pytest.approx(int(exact), rel=1e-8)


@pytest.mark.parametrize("field", ["seed", "d", "first", "at"])
@pytest.mark.parametrize("value", ["3,4", "", "x", "-1", "1.5", "9" * 5000])
def test_a_whole_number_is_read_whole_or_refused(field, value):
    assert respond("/precision", f"v=1&{field}={value}")[0] == 400
    body = respond("/precision", f"v=1&do={field}:{value}")[2]
    assert 'class="bad"' in body
