"""The axes panel: LayerNorm beside BatchNorm as in the lesson, every norm in every layout, and selecting in it."""

import random
import re
from dataclasses import replace

import numpy as np
import pytest

from normscope.kinds import NAMES, pattern
from normscope.lessons.axes_lab import page, scene
from normscope.lessons.axes_lab.layouts import arranged, square
from normscope.lessons.axes_lab.state import State
from normscope.lessons.site import respond
from tests.lessons.dom import parse
from tests.lessons.panel import GOLDEN, LAYOUTS, after, number, panel, table, x_in

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
    part = panel(page.LESSON.canonical(state)).one(id="shared")
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
        "12 cells, 4 running statistics. Change the selected cell and 1 output moves, 11 stay, with the running "
        "statistics held. Here they come from this table, so an edit changes them too."
    )
    for query in ("v=1&batches=0", "v=1&momentum=0", "v=1&momentum=1&convention=keras"):
        assert told("batch_norm_eval", query).endswith("held. This table has no part in them.")
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
