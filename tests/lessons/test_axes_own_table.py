"""A person's own table in the axes lab: pasted CSV, and exact figures for any of them."""

import re
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.lessons.axes import after, card, line, marks, numbers, page, plain, signals, state

EDGES = (8.0, 97.0)  # percent of a lane's width, where its axis ends


def test_a_table_is_pasted_with_a_header_and_names():
    tree = after("table:token,a,b\ncat,1,-1\nsat,0.5,2\nmat,0,0")
    assert [row.one("th").text for row in tree.one("tbody", data_t="x").all("tr")] == ["cat", "sat", "mat"]
    assert signals(tree) == [["1", "-1"], ["0.5", "2"], ["0", "0"]]
    assert signals(tree, "gamma") == [["1.2", "0.8"]]  # what fits is kept
    assert tree.one("h2", id="selected").text == "cat, feature 1"
    wide = after("table:1\t2\t3\t4\t5\t6")
    assert signals(wide, "gamma") == [["1.2", "0.8", "1", "1", "1", "1"]]
    assert signals(wide, "beta") == [["0.1", "-0.2", "0", "0.4", "0", "0"]]
    assert wide.one("tbody", data_t="x").one("tr").one("th").text == "token 1"


def test_names_with_odd_signs_survive_the_address():
    address = state('table:",",1,2\n"50%2C",3,4\n<b>,5,6\ncafé,7,8\n' + "w" * 40 + ",9,9")
    heads = [row.one("th").text for row in page(address).one("tbody", data_t="x").all("tr")]
    assert heads == [",", "50%2C", "<b>", "café", "w" * 13 + "…"]
    assert state("zoom:fixed", query=address) == address


def test_a_full_table_of_long_numbers_fits_an_address():
    rows = [[-(1 / 3) * (1 + i * 32 + j) / 1024 for j in range(32)] for i in range(32)]
    text = "\n".join(",".join(map(repr, row)) for row in rows)
    address = state(f"table:{text}")
    assert 19_000 < len(address) < 60_000
    assert [[float(v) for v in row] for row in signals(page(address))] == rows
    again = state(f"table:{text}", "x.31.31:1", query=address)
    assert signals(page(again))[31][31] == "1"
    spoiled = "x" + text  # the fault is in the first line, what follows is long
    assert len(state(f"table:{spoiled},", query=address)) < 60_000


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "the table cannot be read: it is empty; give a row of numbers a line."),
        (
            "1,2\n3",
            "the table cannot be read: line 2 has 1 cell, line 1 has 2; give every line the same number of cells.",
        ),
        (
            "1,x\n2,y\n3,4",
            "the table cannot be read: line 2, column 2 is 'y', which is no number; columns are separated by comma, "
            "semicolon or tab.",
        ),
        ("1,5;2,5", "the table cannot be read: line 1, column 1 is '1,5', a decimal comma; write 1.5."),
        ("1,nan", "the row of token 1 has a number that is not finite; write an ordinary one."),
        ("cat,inf,1\nsat,1,1", "the row of cat has a number that is not finite; write an ordinary one."),
        (",".join("1" * 33), "it is a table of 1 token and 33 features; give at most 32 of each."),
        ("\n".join("1" * 33), "it is a table of 33 tokens and 1 feature; give at most 32 of each."),
        (
            "1.5," * 7000,
            "the table is longer than 24,000 characters, more than an address carries; give its numbers fewer digits.",
        ),
    ],
)
def test_a_table_that_cannot_be_read_is_refused_in_one_line(text, complaint):
    address = state(f"table:{text}")
    tree = page(address)
    assert tree.one("p", id="bad-table").text == complaint == tree.one("p", id="say").text
    assert signals(tree) == signals(page())
    assert tree.one("textarea", id="paste").attributes["aria-describedby"] == "bad-table"
    assert state("zoom:fit", query=address).startswith("v=1&zoom=fit&bad=table:")  # looking keeps the complaint
    assert state("x.0.0:1", query=address).startswith("v=1&x=1,")


def test_the_lanes_page_where_there_are_more_than_eight_features():
    address = state("table:" + ",".join(map(str, range(20))))
    tree = page(address)
    assert [text.text for text in tree.one("svg", id="x-axis").all("text", class_="nr")] == list("12345678")
    assert "features 1 to 8 of 20" in tree.one("div", id="lanes-head").text
    last = after("first:16", query=address)
    assert [text.text for text in last.one("svg", id="x-axis").all("text", class_="nr")] == ["17", "18", "19", "20"]
    assert last.one("svg", id="x-marks").one("rect", class_="chosen").attributes["y"] == "-100"
    assert "first=8" in state("sel:x.0.9", query=address)
    assert len(numbers(tree)) == 20


CELLS = st.integers(-8000, 8000).map(lambda thousandths: Fraction(thousandths, 1000))


@st.composite
def tables(draw):
    tokens, features = draw(st.integers(1, 4)), draw(st.integers(1, 10))
    numbers_of = st.lists(CELLS, min_size=features, max_size=features)
    rows = draw(st.lists(numbers_of, min_size=tokens, max_size=tokens))
    place = draw(st.integers(0, tokens - 1)), draw(st.integers(0, features - 1))
    return rows, draw(numbers_of), draw(numbers_of), place


def decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def worked_out(row, gamma, beta) -> dict[str, list[Decimal]]:
    """LayerNorm by its definition, in fractions up to the root and in 50 digits beyond it."""
    mean = sum(row) / len(row)
    variance = sum((value - mean) ** 2 for value in row) / len(row)
    with localcontext() as context:
        context.prec = 50
        root = decimal(variance + Fraction(1, 100000)).sqrt()
        z = [decimal(value - mean) / root for value in row]
        y = [decimal(g) * each + decimal(b) for g, each, b in zip(gamma, z, beta, strict=True)]
        mean_y = sum(y) / len(y)
        std_y = (sum((each - mean_y) ** 2 for each in y) / len(y)).sqrt()
        figures = [decimal(mean), decimal(variance), root, mean_y, std_y]
    return {"x": [decimal(value) for value in row], "z": z, "y": y, "figures": figures}


def near(shown: str, wanted: Decimal, digits: int = 6) -> bool:
    """Whether a shown number is the wanted one, rounded; at a tie to either side."""
    return abs(Decimal(plain(shown)) - wanted) <= Decimal("0.5000001") * Decimal(10) ** -digits


@settings(max_examples=40, deadline=None)
@given(tables())
def test_any_table_shows_what_an_exact_computation_gives(made):
    rows, gamma, beta, (token, feature) = made
    texts = {"gamma": gamma, "beta": beta}
    actions = ["table:" + "\n".join(",".join(f"{float(v)!r}" for v in row) for row in rows)]
    actions += [f"{name}.{at}:{float(v)!r}" for name, values in texts.items() for at, v in enumerate(values)]
    tree = after(*actions, f"sel:x.{token}.{feature}")
    wanted = worked_out(rows[token], gamma, beta)
    for at, shown in enumerate(numbers(tree)):
        assert all(near(text, wanted[name][at]) for text, name in zip(shown, "xzy", strict=True)), shown
    mean, variance, root, mean_y, std_y = wanted["figures"]
    assert near(card(tree, "mean"), mean, 4) and near(card(tree, "variance"), variance, 4)
    assert near(card(tree, "variance-1"), root) and near(card(tree, "mean-1"), mean_y)
    assert near(card(tree, "spread"), std_y, 4)
    assert line(tree, "z").endswith(numbers(tree)[feature][1]) and line(tree, "y").endswith(numbers(tree)[feature][2])


@settings(max_examples=30, deadline=None)
@given(tables(), CELLS)
def test_an_edit_moves_its_row_and_no_other(made, value):
    rows, _, _, (token, feature) = made
    table = "table:" + "\n".join(",".join(f"{float(v)!r}" for v in row) for row in rows)
    edit = f"x.{token}.{feature}:{float(value)!r}"
    before = [numbers(after(table, f"sel:x.{t}.0")) for t in range(len(rows))]
    now = [numbers(after(table, edit, f"sel:x.{t}.0")) for t in range(len(rows))]
    assert all(before[t] == now[t] for t in range(len(rows)) if t != token)
    said = after(table, edit).one(id="moved").text
    count = int(re.search(r"Outputs that moved: ([0-9]+) of", said)[1])
    steps = [abs(Decimal(a[2]) - Decimal(b[2])) for a, b in zip(before[token], now[token], strict=True)]
    assert sum(step > Decimal("1e-6") for step in steps) <= count <= sum(step > 0 for step in steps)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=9),
    st.sampled_from(["fixed", "fit"]),
)
def test_any_finite_numbers_can_be_drawn(values, zoom):
    tree = after("table:" + ",".join(map(repr, values)), f"zoom:{zoom}")
    for name in ("x", "xhat", "y"):
        assert all(at == -100 or EDGES[0] <= at <= EDGES[1] for at in marks(tree, name))
