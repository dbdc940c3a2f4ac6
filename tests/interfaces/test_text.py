"""Tables for a terminal: windows, alignment, colour; a ledger's repr."""

import numpy as np
import pytest

import normscope as ns
from normscope.page import text

SMALL = """\
xhat = mul(c, r)  B=2 S=2 d=3
  B  S    d=0      1    2
  0  0      0      1    2
  0  1  3.125      4   -5
  1  0    inf    nan  1.5
  1  1      9  1e-09   11"""

CUT = """\
x  S=100 d=1000
  S     d=0      1      2  …    997    998    999
  0       0      1      2  …    997    998    999
  1    1000   1001   1002  …   1997   1998   1999
  2    2000   2001   2002  …   2997   2998   2999
  …       …      …      …  …      …      …      …
  97  97000  97001  97002  …  97997  97998  97999
  98  98000  98001  98002  …  98997  98998  98999
  99  99000  99001  99002  …  99997  99998  99999"""

NARROW = """\
x  S=100 d=1000
  S     d=0  …    999
  0       0  …    999
  1    1000  …   1999
  2    2000  …   2999
  …       …  …      …
  97  97000  …  97999
  98  98000  …  98999
  99  99000  …  99999"""

COUNTED = np.arange(100_000.0).reshape(100, 1000)


def test_a_small_tensor_is_shown_whole():
    values = [[[0.0, 1.0, 2.0], [3.125, 4.0, -5.0]], [[np.inf, np.nan, 1.5], [9.0, 1e-9, 11.0]]]
    made = text.tensor("xhat = mul(c, r)", ("B", "S", "d"), (2, 2, 3), values)
    assert made == SMALL
    assert text.tensor("xhat = mul(c, r)", ("B", "S", "d"), (2, 2, 3), np.array(values)) == SMALL


@pytest.mark.parametrize(("width", "wanted"), [(80, CUT), (10, NARROW)])
def test_a_large_tensor_is_cut_to_its_edges_and_to_the_width(width, wanted):
    assert text.tensor("x", ("S", "d"), (100, 1000), COUNTED, width=width) == wanted


def test_eight_rows_and_columns_are_not_cut_and_nine_are():
    made = text.tensor("x", ("S", "d"), (8, 8), np.zeros((8, 8)))
    assert "…" not in made and len(made.splitlines()) == 10
    made = text.tensor("x", ("S", "d"), (9, 9), np.zeros((9, 9)))
    assert "…" in made and len(made.splitlines()) == 9


def test_whole_leaves_nothing_out():
    made = text.tensor("x", ("S", "d"), (100, 1000), COUNTED, whole=True)
    assert "…" not in made and made.splitlines()[-1].split()[1:] == [f"{v:.5g}" for v in COUNTED[-1]]


@pytest.mark.parametrize(
    ("axes", "own", "values", "lines"),
    [
        (("N", "C", "H"), ("C",), [[[0.0], [1.0]]], ["mu  C=2", "  C  value", "  0      0", "  1      1"]),
        (("N", "C"), ("C",), [[0.0, 1.0]], ["mu  C=2", "  C=0  1", "    0  1"]),
        (("N", "C"), (), [[0.5]], ["mu", "  value", "    0.5"]),
    ],
)
def test_a_statistic_has_a_line_for_each_of_its_own_positions(axes, own, values, lines):
    assert text.tensor("mu", axes, np.shape(values), values, own).splitlines() == lines


def test_tokens_name_the_rows_and_cannot_steer_the_terminal():
    tokens = {"S": ["the", "\x1b[31m\n", "a very long token"]}
    made = text.tensor("x", ("S", "d"), (3, 1), [[0.0]] * 3, tokens=tokens)
    assert [line.split("  ")[1] for line in made.splitlines()[2:]] == [
        "0 the",
        r"1 \x1b[31m\n",
        "2 a very long t…",
    ]


@pytest.mark.parametrize("code", [0, 7, 27, 0x7F, 0x85, 0x200B, *range(0x202A, 0x202F), *range(0x2066, 0x206A)])
def test_a_token_cannot_turn_the_text_around(code):
    shown = text.printable(f"a{chr(code)}b")
    assert shown.isascii() and shown.isprintable()
    assert shown == f"a{ascii(chr(code))[1:-1]}b"


def test_a_tensor_without_rows_is_a_head():
    assert text.tensor("x", ("S", "d"), (0, 2), []) == "x  S=0 d=2\n  S  d=0  1"


@pytest.mark.parametrize(
    ("choice", "environ", "terminal", "wanted"),
    [
        (None, {}, True, True),
        (None, {}, False, False),
        (None, {"TERM": "dumb"}, True, False),
        (None, {"FORCE_COLOR": "1"}, False, True),
        (None, {"NO_COLOR": "1"}, True, False),
        (None, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, False),
        (None, {"NO_COLOR": "", "FORCE_COLOR": ""}, True, True),
        (True, {"NO_COLOR": "1"}, False, True),
        (False, {"FORCE_COLOR": "1"}, True, False),
    ],
)
def test_the_option_beats_no_color_beats_force_color_beats_the_terminal(choice, environ, terminal, wanted):
    assert text.wants_color(choice, environ, terminal) is wanted


LEDGER = """\
LayerNorm 'B S [d]' of x (B=2, S=4, d=8), float32, statistics in float32
step           shape      staged bytes            fused bytes    FLOPs  1/sqrt
x (input)                          256                    256
gamma (input)                       32                     32
beta (input)                        32                     32
mu             2 x 4 x 1            32                      0       64       0
c              2 x 4 x 8           256                      0       64       0
q              2 x 4 x 8           256                      0       64       0
var            2 x 4 x 1            32                      0       64       0
v, r, xhat     2 x 4 x 8           256                      0       72       8
scaled         2 x 4 x 8           256                      0       64       0
y              2 x 4 x 8             0                    256       64       0
total                            1,408  1.38 KiB          576      456       8
A trace in float32 keeps every step apart: 1,728 bytes (1.69 KiB).
Other tools count by other conventions:
  torch FlopCounterMode says 0 FLOPs: counts matrix products, convolutions and attention alone.
  torchinfo says 32 multiply-adds: every parameter once for each entry of the first axis, whatever it does there.
  thop says 256 operations: 2 a cell, doubled where there are gamma and beta.
  fvcore says 320 FLOPs: 4 a cell, and 1 more for gamma and beta together.
  calflops says 320 FLOPs: as fvcore."""


def test_the_ledgers_repr_is_a_table():
    assert repr(ns.ledger(ns.layer_norm(), (2, 4, 8))) == LEDGER


def test_the_ledgers_table_adds_up():
    cost = ns.ledger(ns.layer_norm(elementwise_affine=False), (8, 1024, 768), "bfloat16")
    *rows, total, named, apart = repr(cost).partition("Other tools")[0].splitlines()[2:]
    assert named == "y is xhat: the norm has no gamma and beta."
    assert apart == "A trace in float32 keeps every step apart: 100,794,368 bytes (96.1 MiB)."
    exact = [[int(cell.replace(",", "")) for cell in line.split() if cell.replace(",", "").isdigit()] for line in rows]
    assert sum(row[-2] for row in exact[1:]) == cost.flops == 31_465_472
    assert f"{cost.peak_bytes:,}" in total and f"{cost.fused_bytes:,}" in total


def test_colour_is_in_the_table_only_when_asked_for():
    cost = ns.ledger(ns.layer_norm(), (2, 4, 8))
    assert "\x1b[" not in cost.text() and "\x1b[2mstep" in cost.text(color=True)
    assert "\x1b[1mx\x1b[0m" in text.tensor("x", ("d",), (1,), [0.0], color=True)
