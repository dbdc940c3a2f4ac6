"""What a person chooses in the axes panel: a pattern of their own, groups, running statistics."""

import pytest

from normscope.lessons.site import respond
from tests.lessons.dom import parse
from tests.lessons.panel import after, number, panel, table, x_in

# --- a pattern of one's own


def test_a_typed_pattern_is_one_more_norm():
    query = after("pattern:B [S] (g [c])")
    part = panel(query)
    row = table(part.one(id="every"))[-1]
    assert row[:5] == ["your pattern ◂", "B [S] (g [c])", "S c", "B g", "2"]
    assert part.one(id="shared").one("figcaption").text == "your pattern B [S] (g [c])"
    assert row[5] == table(part.one(id="every"))[-2][5]  # GroupNorm by its pattern


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("B S [d", "'[' is never closed"),
        ("B S d", "reduces no axis"),
        ("[S] d", "x has 3 dimensions; the pattern '[S] d' needs 2."),
        ("B S S [d]", "axis 'S' stands twice"),
        (f"B S [{'d' * 60}]", "at most 60 characters"),
        ("[B], S d", "',' is no axis name"),
        ("B [S] (d [e])", "'B [S] (d [e])': name the split axis g, as in '(g [c])'; groups g gives its size."),
        ("B [S] (h g [c])", "name the split axis g"),
    ],
)
def test_a_pattern_that_cannot_be_had_is_explained_at_its_field(typed, why):
    query = after(f"pattern:{typed}")
    field = parse(respond("/axes", query)[2]).one("input", id="set-pattern")
    assert field.attributes["value"] == typed and field.attributes["aria-invalid"] == "true"
    assert why in panel(query).one(id="bad-pattern").text
    assert panel(query).one(id="shared").one("figcaption").text == "BatchNorm [B S] d"


def test_a_pattern_in_a_link_that_does_not_fit_says_so_in_place_of_the_cells():
    part = panel("v=1&norm=pattern&pattern=[S] d")
    assert part.one(id="shared").text == "x has 3 dimensions; the pattern '[S] d' needs 2."
    assert len(table(part.one(id="every"))) == 7
    for pattern, why in (
        ("B+S+d", "'B S d' reduces no axis; put brackets round one, as in 'B S [d]'."),
        ("B+[S]+(d+[e])", "'B [S] (d [e])': name the split axis g, as in '(g [c])'; groups g gives its size."),
    ):
        assert panel(f"v=1&norm=pattern&pattern={pattern}").one(id="shared").text == why


def test_choosing_a_pattern_before_one_is_typed_reduces_every_axis():
    assert after("layout:nchw", "norm:pattern") == "v=1&layout=nchw&norm=pattern&pattern=%5BN+C+H+W%5D"
    assert after("pattern:[B S] d", "pattern:") == "v=1&norm=layer_norm"


def test_another_layout_lets_the_pattern_go():
    assert after("pattern:[B S] d", "layout:ncl") == "v=1&layout=ncl&norm=layer_norm"
    assert after("pattern:[B S] d", "norm:rms_norm", "layout:ncl") == "v=1&layout=ncl&norm=rms_norm"


def test_the_layer_norm_of_tokens_is_one_click_away_in_a_transposed_layout():
    button = panel("v=1&layout=ncl").one(id="shared-words").one("button")
    assert button.attributes["data-do"] == "pattern:N [C] L"
    rows = table(panel(after("layout:ncl", "pattern:N [C] L")).one(id="every"))
    assert rows[-1][5] == "−0.999995" and rows[1][5] != "−0.999995"


# --- groups, running statistics


def test_groups_divide_the_features():
    assert after("groups:4") == "v=1&groups=4"
    query = after("groups:3")
    assert panel(query).one(id="bad-groups").text == "4 features do not divide into 3 groups."
    odd = "v=1&x=1,2,3;4,5,6&tokens=a,b&gamma=1,1,1&beta=0,0,0&sel=0,0"
    assert table(panel(odd).one(id="every"))[6][4] == "1"
    assert "3 features do not divide into 2 groups; g is 1 here." in panel(odd).one(id="scope-set").text
    assert "do not divide" not in panel().one(id="scope-set").text


@pytest.mark.parametrize("batches", [0, 1, 3])
def test_running_statistics_in_both_conventions(batches):
    _, torch, keras = table(panel(f"v=1&batches={batches}&momentum=0.3&sel=0,1").one(id="running-table"))
    column = x_in("tokens")[0, :, 1]
    mean, unbiased, biased = 0.0, 1.0, 1.0
    for _ in range(batches):
        mean = 0.7 * mean + 0.3 * column.mean()
        unbiased = 0.7 * unbiased + 0.3 * column.var(ddof=1)
        biased = 0.7 * biased + 0.3 * column.var()
    assert torch[0] == "PyTorch ◂" and torch[1] == "0.3" and torch[3] == "over n − 1 = 2"
    assert keras[0] == "Keras" and keras[1] == "0.7" and keras[3] == "over n = 3"
    assert torch[2] == keras[2] == "0.7 × old + 0.3 × batch"
    assert number(torch[4]) == number(keras[4]) == pytest.approx(mean, abs=5e-7)
    assert number(torch[5]) == pytest.approx(unbiased, abs=5e-7)
    assert number(keras[5]) == pytest.approx(biased, abs=5e-7)


def test_another_convention_tells_the_same_update_from_the_other_side():
    query = after("convention:keras")
    assert query == "v=1&momentum=0.9&convention=keras"
    assert after("convention:keras", "convention:pytorch") == "v=1"
    here, there = (table(panel(each).one(id="running-table")) for each in (query, "v=1"))
    assert [row[1:] for row in here[1:]] == [row[1:] for row in there[1:]]
    z = [table(panel(each).one(id="every"))[4][5] for each in (query, "v=1")]
    assert z[0] != z[1]  # evaluation uses the variance over n, not over n − 1


def test_the_count_of_batches_is_told():
    text = panel("v=1&batches=3&sel=0,2").one(id="running-words").text
    assert "Of feature 3, from mean 0 and variance 1, after 3 batches, each of them this table" in text
    assert "(num_batches_tracked = 3)" in text
    assert ", after 1 batch, which is this table (num" in panel().one(id="running-words").text
    assert ", before any batch (num" in panel("v=1&batches=0").one(id="running-words").text
    one = panel("v=1&x=1,2&tokens=a&gamma=1,1&beta=0,0&sel=0,0").one(id="running-words").text
    assert "PyTorch refuses to train BatchNorm on it, and InstanceNorm too" in one and "refuses" not in text


@pytest.mark.parametrize(
    ("action", "why"),
    [
        ("momentum:1.5", "momentum is '1.5'; it must be a number from 0 to 1."),
        ("momentum:nan", "momentum is 'nan'; it must be a number from 0 to 1."),
        ("batches:1001", "batches is 1001; it must be a whole number from 0 to 1,000."),
        ("batches:-1", "batches is -1; it must be a whole number from 0 to 1,000."),
        ("batches:many", "batches is many; it must be a whole number from 0 to 1,000."),
        ("batches:", "batches is empty; it must be a whole number from 0 to 1,000."),
        ("batches:" + "9" * 5000, f"batches is {'9' * 20}; it must be a whole number from 0 to 1,000."),
        ("groups:-1", "groups is -1; it must be a whole number from 1 to 32."),
        ("groups:0", "groups is 0; it must be a whole number from 1 to 32."),
    ],
)
def test_a_number_that_cannot_be_had_is_explained_at_its_field(action, why):
    field = action.partition(":")[0]
    assert panel(after(action)).one(id=f"bad-{field}").text == why


@pytest.mark.parametrize(
    "query",
    ["norm=batchnorm", "norm=pattern", "momentum=2", "batches=1001", "groups=0", "groups=33", f"pattern={'d' * 61}"],
)
def test_a_link_that_cannot_be_had_is_refused(query):
    assert respond("/axes", f"v=1&{query}")[0] == 400
