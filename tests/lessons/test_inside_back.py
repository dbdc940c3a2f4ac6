"""The way back in the lesson: its figures against a Jacobian written out, its words, ledger, slopes and copies."""

import numpy as np
import pytest

from normscope.lessons.site import respond
from normscope.lessons.sources import preset, symbolic
from normscope.page.numbers import fixed, short
from tests.lessons.dom import Node
from tests.lessons.test_inside import STEPS, cells, page, strip

BACK = ["dy", "dbeta", "dgamma", "dxhat", "mean_dxhat", "mean_dxhat_xhat", "centered", "along", "across", "dx"]


def shown_dy() -> np.ndarray:
    """dy as the page's fields have it."""
    rows = [page(f"back=1&sel=dy.{b}.{s}.0").one(id=f"dy-{b}-{s}").all("td") for b in range(2) for s in range(4)]
    return np.array([[float(td.attributes.get("data-v", td.text.replace("−", "-"))) for td in row] for row in rows])


def jacobian(x: np.ndarray, gamma: np.ndarray, dy: np.ndarray, center: bool = True) -> dict[str, np.ndarray]:
    """The gradients of one row after the other, by the matrix of all derivatives of x̂."""
    d = x.shape[-1]
    made = {"dx": np.zeros_like(x), "xhat": np.zeros_like(x)}
    for at, row in enumerate(x):
        c = row - row.mean() if center else row
        r = 1 / np.sqrt((c**2).mean() + 1e-5)
        matrix = r * (np.eye(d) - (1 / d if center else 0) - np.outer(c * r, c * r) / d)
        made["dx"][at], made["xhat"][at] = matrix.T @ (gamma * dy[at]), c * r
    return made | {"dgamma": np.einsum("rk,rk->k", dy, made["xhat"]), "dbeta": np.einsum("rk->k", dy)}


def given() -> tuple[np.ndarray, np.ndarray]:
    source = symbolic((2, 4, 8), 0)
    return np.array(source.rows(range(2), range(4))).reshape(8, 8), np.array(source.gamma)


def table(tree: Node, name: str, wanted: np.ndarray) -> None:
    assert cells(strip(tree, name)) == [[short(value) for value in row] for row in np.atleast_2d(wanted)], name


def test_the_first_view_has_no_way_back_and_a_switch_to_it():
    tree = page()
    assert not tree.all("table", data_t="dx") and len(tree.one(id="scrub").all("ol")) == 1
    assert tree.one("button", id="back").attributes["data-do"] == "back:1"
    assert [node.attributes["data-do"] for node in page("step=y").one(id="formula").all("button")] == ["back:1"]
    assert respond("/inside", "v=1&step=y&do=back:1&patch=")[2].splitlines()[0] == "v=1&back=1&step=dy"


def test_the_walk_goes_on_to_dx_in_a_second_line():
    scrub = page("back=1&step=dx").one(id="scrub")
    forward, back = scrub.all("ol")
    assert [len(line.all("button")) for line in (forward, back)] == [9, 10]
    assert [line.attributes["aria-label"] for line in (forward, back)] == ["forward", "back"]
    assert back.all("button")[-1].attributes == {"type": "button", "data-do": "step:18", "aria-current": "step"}
    for at, name in enumerate([*STEPS, *BACK]):
        line = respond("/inside", f"v=1&back=1&step=c&do=step:{at}&patch=")[2].splitlines()[0]
        assert line == ("v=1&back=1" if name == "x" else f"v=1&back=1&step={name}")


def test_the_gradients_are_those_of_the_jacobian():
    x, gamma = given()
    tree, wanted = page("back=1&step=dx"), jacobian(x, gamma, shown_dy())
    for name in ("dx", "dgamma", "dbeta"):
        table(tree, name, wanted[name])


def test_the_steps_between():
    x, gamma = given()
    dy = shown_dy()
    xhat = jacobian(x, gamma, dy)["xhat"]
    dxhat = dy * gamma
    tree = page("back=1&step=dx")
    along = xhat * np.mean(dxhat * xhat, 1)[:, None]
    table(tree, "dxhat", dxhat)
    table(tree, "mean_dxhat", dxhat.sum(1)[:, None] / 8)
    table(tree, "along", along)
    table(tree, "across", dxhat - dxhat.sum(1)[:, None] / 8 - along)


@pytest.mark.parametrize("affine", ["scale", "none"])
@pytest.mark.parametrize("norm", ["layer_norm", "rms_norm"])
def test_every_norm_and_affine(norm, affine):
    x, gamma = given()
    scale = gamma if affine == "scale" else np.ones(8)
    tree = page(f"back=1&step=dx&norm={norm}&affine={affine}")
    wanted = jacobian(x, scale, shown_dy(), center=norm == "layer_norm")
    table(tree, "dx", wanted["dx"])
    names = [node.attributes["data-t"] for node in tree.one("section", class_="all").all("table")]
    assert ("dgamma" in names) == (affine == "scale") and "dbeta" not in names
    assert ("mean_dxhat" in names) == ("centered" in names) == (norm == "layer_norm")
    for name in names:
        if name not in ("gamma", "beta"):
            step = page(f"back=1&norm={norm}&affine={affine}&step={name}")
            assert step.one(id="stage").all("table", data_t=name) and step.one("p", class_="notice").text


def test_y_sum_has_no_gradient_without_gamma():
    tree = page("back=1&step=dx&affine=none&dy=ones")
    assert cells(strip(tree, "dy")) == [["1.00"] * 8] * 8 and cells(strip(tree, "centered")) == [["0.00"] * 8] * 8
    assert all(abs(float(c.replace("−", "-"))) < 1e-14 for row in cells(strip(tree, "dx")) for c in row)
    assert "the loss is y.sum(): every row of y sums to 0" in tree.one(id="formula").text
    assert "rounding, to float64 here." in tree.one(id="formula").text
    assert "Only gamma makes dx differ from 0" in page("back=1&step=dx&dy=ones").one(id="formula").text
    pressed = {b.text: b.attributes["aria-pressed"] for b in tree.one(id="cell").all("button")}
    assert pressed == {"from the seed": "false", "all ones: the loss y.sum()": "true"}


@pytest.mark.parametrize("rounding", ["pytorch", "steps"])
def test_what_is_left_of_the_gradient_of_y_sum_is_its_formats_rounding(rounding):
    query = f"affine=none&storage=float8_e4m3fn&rounding={rounding}&back=1&dy=ones&step=dx"
    assert "what is left of it is rounding, to float8_e4m3fn here." in page(query).one(id="formula").text


def test_a_dy_with_another_number_is_not_all_ones():
    assert "y.sum()" not in page("affine=none&back=1&dy=ones&step=dx&edits=dy.0.0.0:2").one(id="formula").text


def test_dy_is_edited_undone_and_seeded():
    def after(query: str, do: str) -> str:
        return respond("/inside", f"{query}&do={do}&patch=")[2].splitlines()[0]

    edited = after("v=1&back=1&step=dy", "dy.0.1.2:3")
    assert edited == "v=1&back=1&step=dy&edits=dy.0.1.2:3"
    assert cells(strip(page("back=1&edits=dy.0.1.2:3"), "dy"))[1][2] == "3.00"
    assert after(edited, "undo:1") == "v=1&back=1&step=dy"
    assert after(edited, "dy:ones") == "v=1&back=1&dy=ones&step=dy"
    assert cells(strip(page("back=1&seed=1"), "dy")) != cells(strip(page("back=1"), "dy"))
    assert after("v=1&back=1&step=dx&sel=dx.0.1.2", "back:0") == "v=1&step=y"
    assert after("v=1&back=1&step=c&sel=c.0.1.2", "back:0") == "v=1&step=c&sel=c.0.1.2"


def test_the_formula_of_dx_in_letters_and_in_numbers():
    formula = page("back=1&step=dx&sel=dx.0.1.2").one(id="formula")
    x, gamma = given()
    assert formula.all("math")[0].text == "dxb,s,i=rb,s·dx̂⊥b,s,i=rb,s·(dx̂b,s,i−⟨dx̂⟩b,s−x̂b,s,i·⟨dx̂·x̂⟩b,s)"
    wanted = jacobian(x, gamma, shown_dy())["dx"][1, 2]
    assert formula.all("math")[1].text.endswith("=" + fixed(wanted))


def test_a_parameters_gradient_is_the_sum_of_a_column():
    formula = page("back=1&step=dgamma&sel=dgamma.3").one(id="formula")
    assert formula.all("math")[0].text == "dγi=∑b,sdyb,s,i·x̂b,s,i"
    x, gamma = given()
    dy = shown_dy()
    wanted = jacobian(x, gamma, dy)
    first = f"{fixed(dy[0, 3], 4)}·({fixed(wanted['xhat'][0, 3], 4)})"
    assert formula.all("math")[1].text.startswith(f"dγi={first}")
    assert formula.all("math")[1].text.endswith("=" + fixed(wanted["dgamma"][3]))


@pytest.mark.parametrize(("step", "cell"), [("dx", (1, 2)), ("dgamma", (3,)), ("dbeta", (5,))])
def test_a_finite_difference_stands_beside_a_gradient(step, cell):
    x, gamma = given()
    wanted = jacobian(x, gamma, shown_dy())[step][cell]
    sel = f"{step}.0.1.2" if step == "dx" else f"{step}.{cell[0]}"
    text = page(f"back=1&step={step}&sel={sel}").one("p", class_="check").text
    slope = float(text.partition("a slope of ")[2].split(". ")[0].replace("−", "-"))
    assert slope == pytest.approx(wanted, abs=2e-6) and text.endswith(f"{step} is {fixed(wanted)}.")
    assert not page("back=1&step=across").all("p", class_="check")


def edited(numbers: list[str]) -> str:
    """One row of these numbers, as an address has it."""
    edits = ",".join(f"x.0.0.{k}:{number}" for k, number in enumerate(numbers))
    return f"sizes=1,1,{len(numbers)}&edits={edits}&back=1&affine=none"


@pytest.mark.parametrize(
    ("numbers", "slope"),
    [(["1e10", "10000000001", "10000000003"], True), (["1e12", "1000000000001", "1000000000003"], False)],
)
def test_a_finite_difference_far_from_0(numbers, slope):
    text = page(f"{edited(numbers)}&step=dx").one("p", class_="check").text
    gradient = float(text.rpartition("dx is ")[2].rstrip(".").replace("−", "-"))
    if slope:
        found = float(text.partition("a slope of ")[2].split(". ")[0].replace("−", "-"))
        assert found == pytest.approx(gradient, rel=2e-3)
    else:
        assert text.startswith("No finite difference: no step is small enough here") and "slope" not in text


@pytest.mark.parametrize("numbers", [["3"], ["2", "2", "2"]])
@pytest.mark.parametrize("norm", ["layer_norm", "rms_norm"])
def test_a_row_without_spread_and_without_eps_is_said_to_be_undefined(numbers, norm):
    numbers = numbers if norm == "layer_norm" else ["0"] * len(numbers)
    for step in ("xhat", "mean_dxhat_xhat", "along", "across", "dx"):
        address = f"{edited(numbers)}&eps=0&norm={norm}&dy=ones&step={step}"
        said = page(address).one(id="formula").text
        assert "In this row variance + eps is 0" in said and "nan" not in said
        assert "variance + eps is 0" not in page(address.replace("eps=0", "eps=1e-5")).one(id="formula").text
    assert (
        "no step is small enough" in said
        and "variance + eps is 0" not in page(f"{edited(numbers)}&eps=0&step=c").one(id="formula").text
    )
    assert (
        "Of d directions a row that is not" in page(f"{edited(numbers)}&norm={norm}&step=across").one(id="formula").text
    )


def test_a_sum_over_rows_of_which_one_is_undefined_has_no_number():
    query = "sizes=1,2,2&edits=x.0.0.0:1,x.0.0.1:1&eps=0&back=1&step=dgamma"
    text = page(query).one("p", class_="check").text
    assert "moves the loss sum(dy · y) by NaN, a slope of NaN. dgamma is NaN." in text


def test_long_rows_say_why_there_is_no_difference():
    assert "No finite difference here" in page("source=llama-3-8b&back=1&step=dx").one(id="formula").text


def test_what_a_pinned_gradient_reads():
    tree = page("back=1&step=dgamma&sel=dgamma.3")
    read = {
        name: {
            (tr.attributes["data-row"], at)
            for tr in strip(tree, name).one("tbody").all("tr")
            for at, td in enumerate(tr.all("td"))
            if "reads" in td.attributes.get("class", "").split()
        }
        for name in ("dy", "xhat", "mean_dxhat", "gamma")
    }
    column = {(f"{b}.{s}", 3) for b in range(2) for s in range(4)}
    assert read == {"dy": column, "xhat": column, "mean_dxhat": set(), "gamma": set()}


def test_a_gradient_has_the_colour_of_its_value_and_a_mark_of_its_own():
    tree = page("back=1&step=dx")
    classes = {node.one("table").attributes["data-t"]: node.attributes["class"] for node in tree.all("figure")}
    assert "input" in classes["x"] and "grad" not in classes["x"]
    for name, role in {"dy": "output", "dgamma": "param", "dxhat": "unit", "mean_dxhat": "stat", "dx": "input"}.items():
        assert {role, "grad"} <= set(classes[name].split())


def test_a_window_sums_over_the_rows_that_are_shown():
    tree = page("source=gpt2-small&back=1&step=dbeta")
    dy = np.array([[float(td.replace("−", "-")) for td in row] for row in cells(strip(tree, "dy"))])
    table(tree, "dbeta", dy.sum(0))
    formula = tree.one(id="formula").text
    assert "1,020 rows of 0" in formula
    assert "rows that are not shown have a dy of 0" in page("source=gpt2-small&back=1&step=dy").one(id="formula").text
    assert preset("gpt2-small", (1, 1024, 768), 0).shape[1] - 4 == 1020


def test_the_ledger_has_the_way_back():
    forward, back = page("back=1").one(id="ledger").all("table")
    rows = {tr.one("th").text: [td.text for td in tr.all("td")] for tr in back.one("tbody").all("tr")}
    assert {name: row[3] for name, row in rows.items() if row[3]} == {
        "dbeta": "56", "dy_xhat": "64", "dgamma": "56", "dxhat": "64", "mean_dxhat": "64", "dxhat_xhat": "64",
        "mean_dxhat_xhat": "64", "along": "64", "centered": "64", "across": "64", "dx": "64",
    }  # fmt: skip
    assert {name: row[2] for name, row in rows.items() if row[2]} == {
        "dy (given)": "256", "x (saved)": "256", "mu (saved)": "32", "r (saved)": "32", "gamma (read again)": "32",
        "dx": "256", "dgamma": "32", "dbeta": "32",
    }  # fmt: skip
    text = page("back=1").one(id="ledger").text
    assert "r, xhat (288 B)" in text and "x, mu, r (320 B)" in text and "1,144 FLOPs" in text
    assert len(page().one(id="ledger").all("table")) == 1 and forward.text == page().one(id="ledger").one("table").text


def test_the_words_say_what_is_seen():
    assert "by way of mean(x̂), which is 0" in page("back=1&step=mean_dxhat").one(id="formula").text
    assert "saved by the forward pass" in page("back=1&step=dgamma").one(id="formula").text
    assert "the only one on the way back" in page("norm=rms_norm&back=1&step=mean_dxhat_xhat").one(id="formula").text


@pytest.mark.parametrize("query", ["", "&norm=rms_norm", "&affine=none", "&storage=bfloat16"])
def test_the_numpy_copy_goes_back_too(query):
    scope: dict = {}
    pre = page(f"back=1&copy=numpy{query}").one("pre")
    exec("".join(node.words[0] for node in pre.children), scope)
    x, gamma = given()
    wanted = jacobian(x, np.ones(8) if "none" in query else gamma, shown_dy(), "rms" not in query)
    for name in ("dx", *([] if "none" in query else ["dgamma"])):
        assert np.allclose(scope[name].reshape(wanted[name].shape), wanted[name], rtol=1e-9, atol=1e-12)


def test_the_other_copies_go_back_too():
    assert "dx, dgamma, dbeta = torch.autograd.grad(y, [x, gamma, beta], dy)" in page("back=1&copy=pytorch").text
    assert "(dx,) = torch.autograd.grad(y, [x], dy)" in page("back=1&copy=pytorch&affine=none").text
    assert "autograd" not in page("copy=pytorch").text
    latex = page("back=1&copy=latex").one("pre").text
    assert r"d\gamma_{i} &= \sum_{b,s} dy_{b,s,i} \cdot \hat{x}_{b,s,i}" in latex
    assert "parallel" not in latex and r"dx_{b,s,i} &= r_{b,s} \cdot" in latex
    csv = "".join(node.words[0] for node in page("back=1&copy=csv").one("pre").children).splitlines()
    assert csv[0] == ",".join(["b,s,feature", *STEPS, *BACK]) and len(csv) == 65


def test_an_address_without_the_way_back_has_none_of_its_steps():
    status, _, body = respond("/inside", "v=1&step=dx")
    assert status == 400 and "there is no step" in body
    assert respond("/inside", "v=1&sel=dx.0.0.0")[0] == 400
