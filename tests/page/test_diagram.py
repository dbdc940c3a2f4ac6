"""Wiring diagrams, read back from their SVG: nothing overlaps, nothing is clipped, nothing goes unsaid."""

import re
from itertools import combinations, pairwise, product
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from normscope.norm import batch_norm, group_norm, instance_norm, layer_norm, rms_norm
from normscope.page.diagram import Box, Diagram, Wire, description, figure, svg
from normscope.page.fitting import measure
from normscope.steps import forward, running

WIDTHS = (1000, 390, 320, 296)
TAG = "computed in this step"
TYPE = {"title": (14, False), "label": (11, False), "value": (12, True), "tag": (11, False)}
LONG = "-" + "7" * 200 + "/" + "3" * 199
FIVE = ["residual>mean", "residual>centered", "mean>centered", "centered>variance", "centered>named", "variance>named"]


def of_program(program, lines=("11/27", "-2/3"), now=3):
    """One box an input and a step, a wire for each argument."""
    boxes = [Box(name, name, lines, "input") for name, _ in program.inputs]
    for at, step in enumerate(program):
        state = "now" if at == now else "done" if at < now else "ahead"
        kind = "named" if "sqrt" in step.op else "exact"
        boxes.append(Box(step.name, step.name, lines, kind, state, TAG if at == now else ""))
    wires = [Wire(arg, step.name) for step in program for arg in step.args if isinstance(arg, str)]
    return Diagram("d", "All steps", tuple(boxes), tuple(wires))


def five(lines=("5/2",), now=2):
    keys = ("residual", "mean", "centered", "variance", "named")
    states = ["done"] * now + ["now"] + ["ahead"] * (4 - now)
    boxes = (
        Box(key, key, lines, "named" if key == "named" else "exact", state, TAG if state == "now" else "")
        for key, state in zip(keys, states, strict=True)
    )
    return Diagram("five", "LayerNorm", tuple(boxes), tuple(Wire(*wire.split(">")) for wire in FIVE))


def graph(count, pairs):
    boxes = tuple(Box(str(at), f"step {at}", ("1/2",)) for at in range(count))
    return Diagram("g", "Graph", boxes, tuple(Wire(str(a), str(b)) for a, b in pairs))


NORMS = {
    "layer": forward(layer_norm().fit(3)),
    "layer, bare": forward(layer_norm(elementwise_affine=False).fit(2)),
    "rms": forward(rms_norm().fit(3)),
    "batch": forward(batch_norm().fit(4)),
    "batch, running": running(batch_norm().fit(2)),
    "instance": forward(instance_norm(affine=True).fit(4)),
    "group": forward(group_norm(2).fit(4)),
}

texts = st.text("0123456789/ -,wiM√μ数", max_size=60)


@st.composite
def diagrams(draw, most=14, arity=2):
    count = draw(st.integers(1, most))
    boxes, wires = [], []
    for at in range(count):
        kind = draw(st.sampled_from(["exact", "named", "input", "scaled by hand"]))
        state = draw(st.sampled_from(["", "now", "done", "ahead"]))
        tag = TAG if state == "now" else ""
        lines = tuple(draw(st.lists(texts, max_size=3)))
        boxes.append(Box(f"k{at}", draw(texts), lines, kind, state, tag))
        for source in draw(st.lists(st.integers(0, max(at - 1, 0)), max_size=arity)) if at else ():
            wires.append(Wire(f"k{source}", f"k{at}"))
    return Diagram("d", "Random", tuple(boxes), tuple(wires))


# Reading a drawing back


def read(diagram, width):
    root = ElementTree.fromstring(str(svg(diagram, width)))
    boxes = {node.get("data-box"): node for node in root.iter("g") if node.get("data-box")}
    wires = {(node.get("data-from"), node.get("data-to")): node for node in root.iter("g") if node.get("data-from")}
    return root, boxes, wires


def numbers(node):
    """The points of a path."""
    values = list(map(float, re.findall(r"-?\d+(?:\.\d+)?", node.get("d"))))
    return list(zip(values[::2], values[1::2], strict=True))


def outline(box):
    """Left, top, right, bottom."""
    shape = next(node for node in box if node.get("class") == "outline")
    if shape.tag == "path":
        xs, ys = zip(*numbers(shape), strict=True)
        return min(xs), min(ys), max(xs), max(ys)
    x, y, width, height = (float(shape.get(key)) for key in ("x", "y", "width", "height"))
    return x, y, x + width, y + height


def meet(a, b, slack=0.2):
    """Whether two rectangles have more than an edge in common."""
    return a[0] < b[2] - slack and b[0] < a[2] - slack and a[1] < b[3] - slack and b[1] < a[3] - slack


def hull(start, end):
    return min(start[0], end[0]), min(start[1], end[1]), max(start[0], end[0]), max(start[1], end[1])


def strokes(wire):
    """The straight pieces of a wire, as rectangles with some breadth; a bend keeps within its corner."""
    for start, end in pairwise(numbers(wire[0])):
        x, y, right, bottom = hull(start, end)
        yield x - 0.7, y - 0.7, right + 0.7, bottom + 0.7


def span(text):
    """Left, top, right, bottom of a text, by the estimate."""
    size, mono = TYPE[text.get("class")]
    said = "".join(node for node in [text.text or "", *(child.tail or "" for child in text)])
    width, x, y = measure(said, size, mono), float(text.get("x")), float(text.get("y"))
    left = x - width / 2 if text.get("text-anchor") == "middle" else x
    return left, y - size * 0.8, left + width, y + size * 0.25


def check(diagram, width):
    root, boxes, wires = read(diagram, width)
    places = {key: outline(box) for key, box in boxes.items()}
    sheet = (0.0, 0.0, float(root.get("width")), float(root.get("height")))
    assert root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"
    assert sheet[2] <= width
    assert set(places) == {box.key for box in diagram.boxes}
    assert set(wires) == {(wire.source, wire.target) for wire in diagram.wires}
    for (one, a), (other, b) in combinations(places.items(), 2):
        assert not meet(a, b), (one, other)
    for ends, wire in wires.items():
        check_wire(wire, places, ends, sheet)
    for key, box in boxes.items():
        check_text(box, places[key], sheet)


def check_wire(wire, places, ends, sheet):
    source, target = (places[key] for key in ends)
    points, tip = numbers(wire[0]), numbers(wire[1])[0]
    assert on_edge(points[0], source) and on_edge(tip, target), ends
    for stroke in strokes(wire):
        assert sheet[0] <= stroke[0] and stroke[2] <= sheet[2] and sheet[1] <= stroke[1] and stroke[3] <= sheet[3]
        for key, place in places.items():
            # the first and last pieces touch the boxes they join, but go no further into them than a stroke
            assert not meet(stroke, place, 0.8 if key in ends else 0.2), (ends, key)


def on_edge(point, place):
    (x, y), (left, top, right, bottom) = point, place
    beside = min(abs(x - left), abs(x - right)) < 0.2 and top < y < bottom
    return beside or (min(abs(y - top), abs(y - bottom)) < 0.2 and left < x < right)


def check_text(box, place, sheet):
    assert place[0] >= 1.5 and place[1] >= 1.5 and place[2] <= sheet[2] - 1.5 and place[3] <= sheet[3] - 1.5
    spans = [span(text) for text in box.iter("text")]
    for left, top, right, bottom in spans:
        assert place[0] + 5 <= left and right <= place[2] - 5 and place[1] <= top and bottom <= place[3]
    for a, b in combinations(spans, 2):
        assert not meet(a, b)


# Geometry


@given(diagrams(), st.sampled_from(WIDTHS))
def test_nothing_overlaps_and_all_text_fits(diagram, width):
    check(diagram, width)


@given(diagrams(most=40, arity=5), st.sampled_from([1000, 296]))
def test_crowded_diagrams_as_well(diagram, width):
    check(diagram, width)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("norm", NORMS)
def test_every_norm_with_all_steps_open(norm, width):
    for lines in (("11/27", "-2/3"), ("12345678901/98765432109",) * 8, (LONG,) * 2, ()):
        check(of_program(NORMS[norm], lines), width)


@pytest.mark.parametrize("far", [2, 7, 11, 17])
def test_wires_that_pass_whole_bands(far):
    chain = graph(30, [(at, at + 1) for at in range(29)] + [(at, at + far) for at in range(0, 30 - far, 3)])
    check(chain, 1000)
    check_lines(chain, 1000)
    _, boxes, _ = read(chain, 1000)
    assert len({outline(box)[3] for box in boxes.values()}) >= 4  # bands


def test_every_entry_of_a_box_has_a_place_of_its_own():
    _, _, wires = read(graph(13, [(at, 12) for at in range(12)]), 1000)
    heights = sorted(numbers(wire[1])[0][1] for wire in wires.values())
    assert all(b - a >= 8 for a, b in pairwise(heights))


@pytest.mark.parametrize("diagram", [five(), *map(of_program, NORMS.values())], ids=["five", *NORMS])
@pytest.mark.parametrize("width", WIDTHS)
def test_two_values_never_share_a_line(diagram, width):
    check_lines(diagram, width)


@given(diagrams(), st.sampled_from(WIDTHS))
def test_two_values_never_share_a_line_in_any_straight_line_program(diagram, width):
    check_lines(diagram, width)


def test_a_wire_that_would_enter_level_with_another_that_leaves_steps_aside():
    lines = {"a": (), "b": (), "sum": ("1", "2"), "low": ()}
    boxes = tuple(Box(key, key, values) for key, values in lines.items())
    wires = (Wire("a", "sum"), Wire("b", "sum"), Wire("a", "low"))
    check_lines(Diagram("g", "Level", boxes, wires), 1000)


def check_lines(diagram, width):
    _, _, wires = read(diagram, width)
    for (a, one), (b, other) in combinations(wires.items(), 2):
        if a[0] == b[0]:
            continue
        for x, y in product(pairwise(numbers(one[0])), pairwise(numbers(other[0]))):
            assert not along(hull(*x), hull(*y)), (a, b)


def along(a, b, near=3):
    """Whether two straight pieces run beside each other within a few px, for more than a few px."""
    for across, on in ((0, 1), (1, 0)):
        level = a[across] == a[across + 2] and b[across] == b[across + 2] and abs(a[across] - b[across]) < near
        if level and min(a[on + 2], b[on + 2]) - max(a[on], b[on]) > near:
            return True
    return False


def test_the_five_boxes_stand_in_one_line_or_one_file():
    _, boxes, _ = read(five(), 1000)
    places = [outline(box) for box in boxes.values()]
    assert all(a[2] < b[0] for a, b in pairwise(places))
    assert len({(top + bottom) / 2 for _, top, _, bottom in places}) == 1
    _, boxes, _ = read(five(), 320)
    assert all(a[3] < b[1] for a, b in pairwise(map(outline, boxes.values())))


def test_no_box_moves_from_step_to_step():
    drawings = [read(five(("1/2", "-1/2"), now), width)[1] for width in (1000, 320) for now in range(5)]
    for drawn in (drawings[:5], drawings[5:]):
        assert len({tuple(map(outline, boxes.values())) for boxes in drawn}) == 1


# What is said


def test_kinds_are_told_apart_by_shape_and_label():
    _, boxes, _ = read(of_program(NORMS["layer"]), 1000)
    shapes = {key: [(node.tag, node.get("class"), node.get("rx")) for node in boxes[key] if node.tag != "text"]
              for key in ("x", "mu", "r")}  # fmt: skip
    assert shapes["x"] == [("path", "outline", None)]
    assert shapes["mu"] == [("rect", "outline", None)]
    assert shapes["r"] == [("rect", "outline", "12"), ("rect", "inner", "8")]
    for key, kind in (("x", "input"), ("mu", "exact"), ("r", "named")):
        assert [text.text for text in boxes[key].iter("text") if text.get("class") == "label"] == [kind]
        assert kind in boxes[key].get("class").split()


def test_computed_in_this_step_is_marked_on_one_box_and_its_wires():
    _, boxes, wires = read(five(), 1000)
    said = {key: "".join(t.text for t in box.iter("text") if t.get("class") == "tag") for key, box in boxes.items()}
    assert [key for key, tag in said.items() if tag] == ["centered"]
    assert said["centered"].replace(" ", "") == TAG.replace(" ", "")
    now = {ends for ends, wire in wires.items() if "now" in wire.get("class").split()}
    assert now == {("residual", "centered"), ("mean", "centered")}
    ahead = {key for key, box in boxes.items() if "ahead" in box.get("class").split()}
    assert ahead == {"variance", "named"}


def test_values_of_a_box_ahead_are_not_given_away():
    diagram = five(("41/17",), now=0)
    assert str(svg(diagram, 1000)).count("41/17") == 2  # in residual and in the description
    assert description(diagram).count("41/17") == 1


def test_a_number_of_200_digits_is_shortened_and_kept_whole_in_its_title():
    root, boxes, _ = read(five((LONG,)), 1000)
    mean = next(text for text in boxes["mean"].iter("text") if text.get("class") == "value")
    assert mean[0].tag == "title" and mean[0].text == LONG
    assert LONG not in root.find("desc").text and "-7777777777…777777/3333333333…333333" in root.find("desc").text


def test_a_value_of_many_lines_is_cut_and_kept_whole_in_its_title():
    vector = "(" + ", ".join(["12345/67891"] * 40) + ")"
    _, boxes, _ = read(five((vector,)), 320)
    values = [text for text in boxes["mean"].iter("text") if text.get("class") == "value"]
    assert len(values) == 8 and values[-1].text == "…" and values[0][0].text == vector


def test_a_continued_value_is_shown_in_full():
    _, boxes, _ = read(five(("12345678901/98765432109",)), 1000)
    pieces = [text.text for text in boxes["mean"].iter("text") if text.get("class") == "value"]
    assert "".join(pieces) == "12345678901/98765432109"


@given(diagrams())
def test_the_description_names_every_box_and_wire(diagram):
    said = description(diagram)
    at = 0
    for box in diagram.boxes:
        takes = dict.fromkeys(wire.source for wire in diagram.wires if wire.target == box.key)
        feeds = dict.fromkeys(wire.target for wire in diagram.wires if wire.source == box.key)
        titles = {other.key: other.title for other in diagram.boxes}
        for words in (box.title, box.kind, box.tag, "; takes " * bool(takes), *(titles[key] for key in takes),
                      "; feeds " * bool(feeds)):  # fmt: skip
            assert (at := said.find(words, at)) >= 0, words
        assert all(titles[key] in said[at:] for key in feeds)


def test_the_description_in_full():
    assert description(five(now=1)) == (
        "LayerNorm. 5 boxes: 4 exact, 1 named. "
        "residual, exact, computed in an earlier step: 5/2; feeds mean, centered. "
        "mean, exact, computed in this step: 5/2; takes residual; feeds centered. "
        "centered, exact, not computed yet; takes residual, mean; feeds variance, named. "
        "variance, exact, not computed yet; takes centered; feeds named. "
        "named, named, not computed yet; takes centered, variance."
    )


def test_drawing_is_deterministic():
    first = str(svg(five(), 1000))
    svg.cache_clear()
    assert str(svg(five(), 1000)) == first


def test_both_drawings_have_ids_of_their_own_and_no_inline_style():
    page = str(figure(five()))
    root = ElementTree.fromstring(page)
    ids = [node.get("id") for node in root.iter() if node.get("id")]
    assert len(ids) == len(set(ids)) == 4
    for drawing in root:
        assert drawing.get("role") == "img" and set(drawing.get("aria-labelledby").split()) <= set(ids)
        assert [child.tag for child in drawing][:2] == ["title", "desc"]
    assert [drawing.get("class") for drawing in root] == ["diagram-wide", "diagram-narrow"]
    assert "style" not in page


def test_text_is_escaped():
    diagram = Diagram("d", "a < b & c", (Box("x", '<b>"', ("1 < 2",), "in&put"),), ())
    assert "1 < 2" in "".join(ElementTree.fromstring(str(svg(diagram, 1000))).itertext())


def test_an_empty_diagram_is_drawn():
    root, boxes, wires = read(Diagram("d", "Nothing", (), ()), 320)
    assert not boxes and not wires and float(root.get("width")) <= 320


@pytest.mark.parametrize("wire", [("b", "a"), ("a", "a"), ("a", "z"), ("z", "a")])
def test_a_wire_leads_from_a_box_to_a_later_one(wire):
    with pytest.raises(ValueError, match="no wire leads"):
        Diagram("d", "d", (Box("a", "a"), Box("b", "b")), (Wire(*wire),))


def test_two_boxes_do_not_share_a_key():
    with pytest.raises(ValueError, match="share a key"):
        Diagram("d", "d", (Box("a", "a"), Box("a", "b")), ())
