"""The axes panel: LayerNorm beside BatchNorm as in the lesson, every norm in every layout, what a person may choose."""

import json
import random
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from normscope.kinds import NAMES, pattern
from normscope.lessons.axes_lab import page, scene
from normscope.lessons.axes_lab.layouts import arranged, square
from normscope.lessons.axes_lab.state import State
from normscope.lessons.site import respond
from tests.lessons.dom import parse

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "lessons.json").read_text())["C"]
LAYOUTS = ("tokens", "ncl", "nchw")


def panel(query="v=1"):
    status, _, body = respond("/axes", query)
    assert status == 200
    return parse(body).one("section", id="axes")


def after(*actions):
    """The address after some actions."""
    query = "v=1" + "".join(f"&do={action}" for action in actions)
    return respond("/axes", f"{query}&patch=")[2].splitlines()[0]


def table(part):
    """The cells of a table, row by row."""
    return [[cell.text for cell in row.walk() if cell.tag in ("th", "td")] for row in part.all("tr")]


def number(text):
    return float(text.replace("−", "-"))


# --- the lesson's figures


def test_lesson_C9_the_layout_is_declared_first():
    parts = panel().one("section", class_="column")
    text = parts.one(id="column-layouts").text
    assert "LayerNorm takes x as [1, 3, 4], (B, S, d), with normalized_shape 4." in text
    assert "BatchNorm1d takes it after a transpose to [N=1, C=4, L=3]" in text
    assert "The 3 positions are not 3 examples of a batch: N is 1." in text
    assert parts.text.index("normalized_shape") < parts.text.index("0.620757")


def test_lesson_C9_the_whole_table_with_z_of_the_selected_column():
    head, *rows = table(panel().one(id="column-table"))
    assert head == ["feature", "1", "2", "3", "4", "z, feature 1"]
    column = GOLDEN["batch_norm_feature_1"]["z"]
    assert [row[0] for row in rows] == list(column)
    assert [[number(cell) for cell in row[1:5]] for row in rows] == [list(map(float, x)) for x in GOLDEN["x"].values()]
    assert [row[5] for row in rows] == [z.replace("-", "−") for z in column.values()]


def test_lesson_C9_the_formula_and_the_statistics_of_column_and_row():
    side = panel().one(id="column-side")
    words, numbers = (math.text for math in side.all("math"))
    assert words.replace("\xa0", " ") == "z=x−column meancolumn variance+0.00001"
    assert numbers == "z=−1.000000−(−0.166667)0.348889+0.00001=−1.410811"
    assert table(side.one(id="column-statistics"))[1:] == [
        ["BatchNorm1d: column, feature 1", "−0.166667", "0.348889", "3"],
        ["LayerNorm: row, cat", "0.000000", "1.000000", "4"],
    ]


def test_lesson_C9_training_without_affine():
    text = panel().one("section", class_="column").text
    assert "Both in training: the statistics are those of this input, the variance that of the population." in text
    assert "Scale and shift are left out on both sides, so that the axes alone differ." in text


def test_lesson_C9_scale_and_shift_change_nothing_here():
    assert str(panel("v=1&gamma=3,3,3,3&beta=1,1,1,1").text) == str(panel().text)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_lesson_C9_the_lesson_stands_in_every_layout(layout):
    column = panel(f"v=1&layout={layout}").one("section", class_="column")
    assert column.text == panel().one("section", class_="column").text


def test_another_selection_reads_another_column():
    part = panel("v=1&sel=2,1")
    assert table(part.one(id="column-table"))[3][-1] == "1.403497"
    assert table(part.one(id="column-statistics"))[1][0] == "BatchNorm1d: column, feature 2"


# --- every norm, in every layout


def x_in(layout):
    """x by NumPy's own transpose."""
    x = np.array([[float(cell) for cell in row] for row in GOLDEN["x"].values()])[None]
    return x if layout == "tokens" else x.transpose(0, 2, 1).reshape((1, 4, 3) if layout == "ncl" else (1, 4, 1, 3))


OVER = {  # NumPy's axes, by hand
    "tokens": {"layer_norm": 2, "rms_norm": 2, "batch_norm": (0, 1), "instance_norm": 1},
    "ncl": {"layer_norm": (1, 2), "rms_norm": (1, 2), "batch_norm": (0, 2), "instance_norm": 2},
    "nchw": {"layer_norm": (1, 2, 3), "rms_norm": (1, 2, 3), "batch_norm": (0, 2, 3), "instance_norm": (2, 3)},
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_table_of_every_norm(layout):
    _, *rows = table(panel(f"v=1&layout={layout}&sel=2,1").one(id="every"))
    assert [row[0].removesuffix(" ◂") for row in rows] == list(NAMES.values())
    x = x_in(layout)
    for name, row in zip(NAMES, rows, strict=True):
        assert row[1] == pattern(name, x.ndim, "tokens" if layout == "tokens" else "channels")
        reduced = re.findall(r"\w+", "".join(re.findall(r"\[[^]]*\]", row[1])))
        assert row[2].split() == reduced
        assert row[3].split() == [axis for axis in re.findall(r"\w+", row[1]) if axis not in reduced]
        if name not in OVER[layout]:
            continue
        over = OVER[layout][name]
        mean = 0 if name == "rms_norm" else x.mean(over, keepdims=True)
        variance = ((x - mean) ** 2).mean(over, keepdims=True)
        z = (x - mean) / np.sqrt(variance + 1e-5)
        selected = z[0, 2, 1] if layout == "tokens" else z.reshape(1, 4, 3)[0, 1, 2]
        assert row[5] == f"{selected:.6f}".replace("-", "−")
        assert row[4] == str(variance.size)
        assert row[6] == f"{x.size // variance.size} of 12"


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("norm", NAMES)
def test_the_cells_are_numbered_and_those_that_move_are_marked(layout, norm):
    state = replace(State(), layout=layout, norm=norm, sel=(2, 1))
    part = panel(page.canonical(state)).one(id="shared")
    seen = scene.scene(state)
    chosen = seen.chosen
    cells = part.all("td")
    assert len(cells) == 12
    marked = {at for at, cell in enumerate(cells) if "↕" in cell.text}
    assert len(marked) == chosen.moves
    numbers = [int(cell.one("small").text.split()[0]) for cell in cells]
    assert numbers == [group + 1 for group in chosen.group_of]
    (here,) = [at for at, cell in enumerate(cells) if cell.attributes.get("aria-selected") == "true"]
    assert here in marked
    assert marked == ({here} if norm == "batch_norm_eval" else {at for at in range(12) if numbers[at] == numbers[here]})
    assert [number(cell.text.split()[0]) for cell in cells] == list(x_in(layout).ravel())
    assert all(cell.fits("td", {"class_": f"g{(n - 1) % 6 + 1}"}) for cell, n in zip(cells, numbers, strict=True))


def test_the_counts_in_words():
    def told(norm, query="v=1"):
        return panel(f"{query}&norm={norm}").one("p", class_="counts").text

    assert told("layer_norm") == (
        "12 cells, 3 statistics of 4 cells. Change the selected cell and 4 outputs move, 8 stay."
    )
    assert told("batch_norm_eval") == (
        "12 cells, 4 statistics, given by training. Change the selected cell and 1 output moves, 11 stay: what this "
        "input holds does not touch the statistics."
    )
    one = "v=1&x=1,2&tokens=a&gamma=1,1&beta=0,0&sel=0,0"
    assert told("batch_norm", one) == (
        "2 cells, 2 statistics of 1 cell. Change the selected cell and no output moves, 2 stay: a cell alone is its "
        "own mean."
    )
    assert told("layer_norm", one).startswith("2 cells, 1 statistic of 2 cells. Change the selected cell and 2 outputs")


def test_reduced_and_kept_axes_and_what_axis_means_stand_beside():
    facts = panel("v=1&norm=batch_norm").one(id="shared-words").one("dl")
    told = dict(zip([each.text for each in facts.all("dt")], [each.text for each in facts.all("dd")], strict=True))
    assert told["reduced"] == "B (1), S (3)" and told["kept"] == "d (4)"
    assert told["Keras"] == "BatchNormalization(axis=-1): axis names the kept axis, d"
    assert told["NumPy"] == "mean(axis=(0, 1)): axis names the reduced axes, B S"


def test_the_transpose_is_written_out():
    def told(layout, query="v=1"):
        return panel(f"{query}&layout={layout}").one(id="shared-words").text

    assert "x as (B, S, d) = (1, 3, 4): one item of 3 tokens" in told("tokens")
    assert "x.transpose(1, 2): (B, S, d) = (1, 3, 4) becomes (N, C, L) = (1, 4, 3)" in told("ncl")
    assert "x.transpose(1, 2).reshape(1, 4, 1, 3): (B, S, d) = (1, 3, 4) becomes (N, C, H, W) = (1, 4, 1, 3)" in told(
        "nchw"
    )


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("count", [1, 2, 3, 4, 12, 32])
def test_the_layouts_are_numpys(layout, count):
    rng = random.Random(count)
    rows = tuple(tuple(rng.random() for _ in range(5)) for _ in range(count))
    seen = arranged(rows, ("t",) * count, layout)
    high, wide = square(count)
    assert high * wide == count and high <= wide
    x = np.array(rows)[None]
    turned = {"tokens": x, "ncl": x.transpose(0, 2, 1), "nchw": x.transpose(0, 2, 1).reshape(1, 5, high, wide)}[layout]
    assert np.array_equal(np.array(seen.x), turned) and seen.shape == turned.shape
    assert turned[seen.index(count - 1, 3)] == rows[count - 1][3]
    if seen.how:
        assert np.array_equal(eval(seen.how.replace("transpose(1, 2)", "transpose(0, 2, 1)"), {"x": x}), turned)


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
    one = panel("v=1&x=1,2&tokens=a&gamma=1,1&beta=0,0&sel=0,0").one(id="running-words").text
    assert "PyTorch refuses to train on it" in one and "refuses" not in text


@pytest.mark.parametrize(
    ("action", "why"),
    [
        ("momentum:1.5", "momentum is '1.5'; it must be a number from 0 to 1."),
        ("momentum:nan", "momentum is 'nan'; it must be a number from 0 to 1."),
        ("batches:1001", "batches is 1001; it must be a whole number from 0 to 1,000."),
        ("groups:0", "groups is 0; it is a whole number from 1 to 32."),
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


# --- selecting in the panel


def test_a_cell_of_the_panel_selects_the_same_number_in_every_layout():
    assert after("sel:x.2.1") == "v=1&sel=2,1"
    assert after("layout:ncl", "sel:turned.1.2") == "v=1&sel=2,1&layout=ncl"
    assert panel("v=1").one("table", role="grid").attributes["data-t"] == "x"
    assert panel("v=1&layout=nchw").one("table", role="grid").attributes["data-t"] == "turned"


def test_a_selection_redraws_only_what_it_changes():
    answer = parse(respond("/axes", "v=1&norm=layer_norm&do=sel:x.1.1&patch=")[2])
    ids = {node.attributes["id"] for node in answer.walk() if "id" in node.attributes}
    assert {"column-table", "column-side", "shared", "every", "running-table"} <= ids
    assert not {"scope-set", "running-set", "shared-words", "axes"} & ids


def test_the_largest_table_is_drawn():
    row = ",".join(str(i / 7) for i in range(32))
    query = f"v=1&x={';'.join([row] * 32)}&tokens={','.join(['t'] * 32)}&gamma={row}&beta={row}&layout=nchw"
    assert len(panel(query).one(id="shared").all("td")) == 1024
