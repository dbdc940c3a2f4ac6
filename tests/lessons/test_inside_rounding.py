"""The lesson's rounded values against NumPy and ml_dtypes, written op by op for every kind."""

import ml_dtypes
import numpy as np
import pytest

from normscope.interfaces.files import FileSource, read
from normscope.lessons.site import respond
from normscope.lessons.sources import minilm, symbolic
from normscope.page.numbers import fixed, short
from tests.lessons.dom import parse
from tests.lessons.test_inside import cells, page, strip

F32 = np.float32
EPS = F32(1e-5)
NARROW = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16, "float8_e5m2": ml_dtypes.float8_e5m2}


def mean(x):
    """The sum rounded once, then the division."""
    return np.sum(x.astype(float), -1, keepdims=True).astype(F32) / F32(x.shape[-1])


def oracle(x, gamma, beta, storage, kind):
    """LayerNorm's steps in float32, each cast as the kind has it."""

    def kept(values):
        return np.asarray(values, F32).astype(storage).astype(F32)

    whole = kind in ("statistics", "steps")
    cast = kept if whole else F32
    stat = kept if kind == "steps" else F32
    x, beta = kept(x), kept(beta)
    mu = stat(mean(x))
    c = cast(x - mu)
    q = cast(c * c)
    var = stat(mean(q))
    r = stat(F32(1) / np.sqrt(stat(var + EPS)))
    steps = {"x": x, "mu": mu, "c": c, "q": q, "var": var, "r": r}
    if kind == "gemma":
        gain = kept(np.asarray(gamma) - 1) + F32(1)
        xhat = c * r
        return steps | {"xhat": xhat, "y": kept(xhat * gain + beta)}
    gamma = kept(gamma)
    if kind == "pytorch":  # both products go into a fused multiply-add
        xhat = F32(x.astype(float) * r - F32(mu * r))
        return steps | {"xhat": xhat, "y": kept(F32(xhat.astype(float) * gamma + beta))}
    xhat = kept(c * r)
    scaled = kept(xhat * gamma)
    return steps | {"xhat": xhat, "scaled": scaled, "y": kept(scaled + beta)}


def given():
    source = symbolic((2, 4, 8), 0)
    return np.array(source.rows(range(2), range(4))), source.gamma, source.beta


@pytest.mark.parametrize("kind", ["statistics", "steps", "pytorch", "llama", "gemma"])
@pytest.mark.parametrize("storage", NARROW)
def test_every_step_is_that_of_numpy_and_ml_dtypes(storage, kind):
    tree = page(f"storage={storage}&rounding={kind}")
    for name, values in oracle(*given(), NARROW[storage], kind).items():
        assert cells(strip(tree, name)) == [[short(value) for value in row] for row in values.reshape(8, -1)], name


def test_a_precision_of_16_bits_rounds_by_itself_with_the_ledgers_statistics():
    alone, chosen = page("storage=bfloat16"), page("storage=bfloat16&rounding=statistics")
    for name in ("x", "mu", "xhat", "y"):
        assert cells(strip(alone, name)) == cells(strip(chosen, name))
    assert cells(strip(alone, "xhat")) != cells(strip(page(), "xhat"))
    assert cells(strip(page("storage=bfloat16&rounding=none"), "xhat")) == cells(strip(page(), "xhat"))


def test_float32_rounds_where_it_is_chosen():
    x, _, _ = given()
    formula = page("storage=float32&rounding=steps&step=xhat&sel=xhat.0.2.1").one(id="formula").text
    f = F32(x)
    mu = mean(f)
    wanted = ((f - mu) * (F32(1) / np.sqrt(mean((f - mu) ** 2) + EPS)))[0, 2, 1]
    assert formula.partition("float32:")[2].partition("A row")[0].endswith("=" + fixed(float(wanted)))


def test_the_choices_follow_the_precision():
    def kinds(storage):
        return [node.attributes["value"] for node in page(f"storage={storage}").one(id="set-rounding").all("option")]

    assert kinds("float64") == ["none"] and kinds("float32") == ["none", "steps", "pytorch"]
    assert kinds("float16") == ["none", "statistics", "steps", "pytorch", "llama", "gemma"]
    status, _, body = respond("/inside", "v=1&rounding=llama")
    assert status == 400 and "float32 has no rounding" in body


def state_after(query, do):
    return respond("/inside", f"{query}&do={do}&patch=")[2].splitlines()[0]


def test_another_precision_gives_up_a_rounding_that_it_lacks():
    assert (
        state_after("v=1&storage=float16&rounding=gemma", "storage:bfloat16") == "v=1&storage=bfloat16&rounding=gemma"
    )
    assert state_after("v=1&storage=float16&rounding=gemma", "storage:float32") == "v=1"
    assert state_after("v=1&storage=float16&rounding=gemma&step=gain&sel=gain.2", "rounding:llama") == (
        "v=1&storage=float16&rounding=llama"
    )


def test_the_walk_has_the_steps_of_the_order():
    jumps = page("storage=bfloat16&rounding=pytorch").one(id="scrub").all("button")
    assert [jump.one("var").text for jump in jumps][5:8] == ["r", "(μ·r)", "(x·r)"]
    first = [jump.one("var").text for jump in page("storage=bfloat16&rounding=gemma").one(id="scrub").all("button")]
    assert first[:3] == ["x", "w", "(1+w)"]
    stage = page("storage=bfloat16&rounding=gemma&step=gain").one(id="stage")
    assert [len(row) for row in cells(stage.all("table", data_t="gain")[0])] == [8]
    assert "not rounded on its own" in page("storage=bfloat16&rounding=pytorch&step=xr").one(id="stage").text


def test_a_field_keeps_what_was_typed_and_the_page_says_what_is_stored():
    tree = page("storage=bfloat16&edits=x.0.1.2:0.1&sel=x.0.1.2")
    assert tree.one(id="exact-x.0.1.2").attributes["value"] == "0.1"
    assert "x = 0.100098 in bfloat16" in tree.one(id="cell").text
    cell = tree.one(id="x-0-1").all("td")[2]
    assert cell.attributes.get("data-v") == "0.1"
    assert "Stored as" not in page("edits=x.0.1.2:0.1&sel=x.0.1.2").one(id="cell").text


def test_the_page_says_how_it_rounds():
    assert "policy llama-fp16" in page("storage=float16&rounding=llama").one("section", class_="notes").text
    assert "Rounding is none" in page().one("section", class_="notes").text
    assert "float16" in page("storage=float16").one(id="c-caption").text
    assert "float32" in page("storage=float16").one(id="mu-caption").text


def test_real_activations_keep_the_statistics_of_whole_rows():
    source = minilm()
    x = np.array(source.x, F32).reshape(14, 384)[2:6]
    wanted = oracle(x, source.gamma, source.beta, ml_dtypes.bfloat16, "statistics")
    tree = page("source=minilm&storage=bfloat16&at=0,2,96")
    for name in ("mu", "var", "y"):
        shown = wanted[name] if wanted[name].shape[1] == 1 else wanted[name][:, 96:104]
        assert cells(strip(tree, name)) == [[short(value) for value in row] for row in shown], name


def test_float8_saturates_as_pytorch_casts():
    assert cells(strip(page("storage=float8_e4m3fn&edits=x.0.0.0:1000"), "x"))[0][0] == "448.0"
    assert cells(strip(page("storage=float8_e5m2&edits=x.0.0.0:1e6"), "x"))[0][0] == "∞"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_own_array_is_rounded_as_lists_are(tmp_path, dtype):
    x = np.array(symbolic((1, 2, 8), 0).rows(range(1), range(2)), dtype)
    np.save(tmp_path / "x.npy", x)
    sources = {"own": FileSource.of(read(tmp_path / "x.npy"))}
    tree = parse(respond("/inside", "v=1&source=own&storage=float16&rounding=steps&back=1&step=dx", sources)[2])
    wanted = oracle(x, [1.0] * 8, [0.0] * 8, np.float16, "steps")
    assert cells(strip(tree, "xhat")) == [[short(value) for value in row] for row in wanted["xhat"].reshape(2, 8)]


def test_the_order_of_pytorch_is_named_as_that_of_its_cpu_kernel():
    tree = page("storage=bfloat16&rounding=pytorch&step=mr")
    chosen = {option.attributes["value"]: option.text for option in tree.one("select", id="set-rounding").all("option")}
    assert chosen["pytorch"] == "as PyTorch's CPU kernel"
    assert "PyTorch's CPU kernel for narrow formats takes x·r − μ·r" in tree.one(id="formula").text
