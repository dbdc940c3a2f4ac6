"""The page "Precision", for tests: what a person does to it, and what they read off it."""

from urllib.parse import quote

from normscope.lessons.site import respond
from tests.lessons.dom import Node, parse


def page(query: str = "", sources=None) -> Node:
    status, _, body = respond("/precision", query, sources or {})
    assert status == 200, body
    return parse(body)


def after(*actions: str, query: str = "v=1", sources=None) -> Node:
    return page("&".join([query, *(f"do={quote(action)}" for action in actions)]), sources)


def state(*actions: str, query: str = "v=1") -> str:
    """The address after some actions."""
    done = "".join(f"&do={quote(action)}" for action in actions)
    return respond("/precision", f"{query}{done}&patch=")[2].splitlines()[0]


def number(text: str) -> float:
    """A number as the page writes it."""
    return float(text.replace("−", "-").replace("∞", "inf").replace("undefined", "nan"))


def line(tree: Node, name: str) -> list[str]:
    """One line of the row's table: x, stored, exact, y or error."""
    return [cell.text for cell in tree.one("tbody", data_t=name).all("td")]


def policies(tree: Node) -> dict[str, list[str]]:
    """Statistics, cells, variance, worst ulp and what breaks, by policy."""
    rows = tree.one("tbody", id="policies").all("tr")
    return {row.one("th").text.split()[0]: [cell.text for cell in row.all("td")] for row in rows}


def ways(tree: Node) -> dict[str, list[str]]:
    """Variance, error and the ratio that is safe, by way."""
    rows = tree.one("tbody", id="ways").all("tr")
    return {row.one("span").text: [cell.text for cell in row.all("td")] for row in rows}


def losses(tree: Node) -> dict[str, list[str]]:
    """The tensor's table: worst ulp of each row, overflow and eps, by policy."""
    table = tree.one("section", id="tensor").one("table")
    return {row.one("th").text: [cell.text for cell in row.all("td")] for row in table.one("tbody").all("tr")}
