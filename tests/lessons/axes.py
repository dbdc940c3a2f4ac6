"""The axes lab's page, for tests: what a person does to it, and what they read off it."""

from urllib.parse import quote

from normscope.lessons.site import respond
from tests.lessons.dom import Node, parse


def page(query: str = "") -> Node:
    status, _, body = respond("/axes", query)
    assert status == 200, body
    return parse(body)


def after(*actions: str, query: str = "v=1") -> Node:
    return page("&".join([query, *(f"do={quote(action)}" for action in actions)]))


def state(*actions: str, query: str = "v=1") -> str:
    """The address after some actions."""
    done = "".join(f"&do={quote(action)}" for action in actions)
    return respond("/axes", f"{query}{done}&patch=")[2].splitlines()[0]


def plain(text: str) -> str:
    return text.replace("−", "-").replace("·", "*").replace("√", "sqrt")


def formula(node: Node) -> str:
    """Mathematics as a line of text."""
    if node.tag == "#text":
        return plain(node.words[0])
    parts = [formula(child) for child in node.children]
    if node.tag == "mfrac":
        return f"({parts[0]}) / {parts[1]}"
    if node.tag == "msqrt":
        return f"sqrt({''.join(parts)})"
    if node.tag == "msup":
        return "^".join(parts)
    if node.tag == "mo" and parts[0] in "+-*=":
        return f" {parts[0]} "
    return "".join(parts)


def line(tree: Node, name: str) -> str:
    return formula(tree.one(id=f"numbers-{name}").one("math"))


def numbers(tree: Node) -> list[list[str]]:
    """The table of the selected row: x, z and y, feature by feature."""
    return [[plain(cell.text) for cell in row.all("td")] for row in tree.one("tbody", id="row").all("tr")]


def signals(tree: Node, name: str = "x") -> list[list[str]]:
    """The numbers of x, gamma or beta in the table."""
    body = tree.one("tbody", data_t=name)
    return [[cell.attributes.get("data-v", plain(cell.text)) for cell in row.all("td")] for row in body.all("tr")]


def marks(tree: Node, name: str, kind: str = "mark") -> list[float]:
    """Where the marks of a plot are, in percent."""
    svg = tree.one("svg", id=f"{name}-marks")
    return [float(mark.attributes["x"].rstrip("%")) for mark in svg.all("rect", class_=kind)]


def percent(value: float, low: float = -5, high: float = 5) -> float:
    return 8 + 89 * (value - low) / (high - low)


def card(tree: Node, id: str) -> str:
    return plain(tree.one(id=f"card-{id}").text)
