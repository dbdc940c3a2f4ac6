"""The axes panel, for tests: what a person does to it, and what they read off it."""

import json
from pathlib import Path

import numpy as np

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


def x_in(layout):
    """x by NumPy's own transpose."""
    x = np.array([[float(cell) for cell in row] for row in GOLDEN["x"].values()])[None]
    return x if layout == "tokens" else x.transpose(0, 2, 1).reshape((1, 4, 3) if layout == "ncl" else (1, 4, 1, 3))
