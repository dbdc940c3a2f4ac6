"""Numbers against depth: where a mark lies, what it tells, and the table behind the plot."""

import re

from normscope.page.curves import BOTTOM, TOP
from normscope.page.depth import Depth, Series, drawing, numbers
from tests.lessons.dom import parse

NAN, INF = float("nan"), float("inf")


def plot(*values, powers=True, layers=None):
    names = layers or tuple(f"layer {at}" for at in range(len(values)))
    return Depth("p", "what it shows", "unit", names, (Series("most", "disc", values),), powers)


def places(made):
    """Of every mark the place across in percent, and up in px."""
    return [(float(x), float(y)) for x, y in re.findall(r'<circle cx="([\d.]+)%" cy="([\d.]+)"', str(drawing(made)))]


def test_a_power_of_ten_is_one_step_up():
    (_, low), (_, middle), (_, high) = places(plot(1.0, 10.0, 100.0))
    assert (low, high) == (BOTTOM, TOP)
    assert middle == (BOTTOM + TOP) / 2


def test_a_plain_axis_holds_negative_numbers():
    (_, low), (_, zero), (_, high) = places(plot(-2.0, 0.0, 2.0, powers=False))
    assert (low, high) == (BOTTOM, TOP)
    assert zero == (BOTTOM + TOP) / 2


def test_layers_are_evenly_apart_and_one_stands_in_the_middle():
    across = [x for x, _ in places(plot(1.0, 2.0, 3.0))]
    assert across[1] - across[0] == across[2] - across[1] > 0
    assert 50 < places(plot(1.0))[0][0] < 60


def test_what_is_no_number_ends_the_line_and_what_is_infinite_lies_on_top():
    made = plot(1.0, NAN, 2.0, INF, 0.0)
    assert len(places(made)) == 4
    assert places(made)[2][1] == TOP
    assert places(made)[3][1] == BOTTOM
    group = next(node for node in parse(str(drawing(made))).all("g") if "curve" in node.attributes.get("class", ""))
    assert len(list(group.all("line"))) == 2  # from 2 to infinity, and from there to 0


def test_a_mark_tells_its_layer():
    titles = [node.text for node in parse(str(drawing(plot(1.5, 2.0, layers=("a<b", "c"))))).all("title")]
    assert titles == ["1 a<b: most 1.5", "2 c: most 2"]


def test_many_layers_have_few_numbers():
    texts = [node.text for node in parse(str(drawing(plot(*range(1, 162))))).all("text") if node.text.isdigit()]
    assert "1" in texts and len(texts) < 16


def test_the_table_has_every_number():
    assert numbers(plot(1.5, NAN)) == [["1", "layer 0", "1.5"], ["2", "layer 1", "NaN"]]
