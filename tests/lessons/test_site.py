"""respond(): every page, and patches that turn one drawing into the next."""

import random

import pytest

from normscope.lessons.site import respond
from normscope.lessons.sources import MODELS, Synthetic
from tests.lessons.dom import Node, parse

PATHS = [
    "/",
    "/axes",
    "/axes?v=1&bad=table:1,x",
    "/inside",
    "/inside?v=1&source=minilm",
    "/inside?v=9",
    "/precision",
    "/nowhere",
]
PATHS += ["/mistakes", "/mistakes?v=1&bad=x:q", "/mistakes?v=1&quiz=1"]


def get(address: str, sources=None) -> tuple[int, str, str]:
    path, _, query = address.partition("?")
    return respond(path, query, sources or {})


@pytest.mark.parametrize("address", PATHS)
def test_every_page_is_well_formed_and_has_one_heading(address):
    status, kind, body = get(address)
    tree = parse(body)
    assert kind == "text/html; charset=utf-8"
    assert len(tree.all("h1")) == 1 and len(tree.all("main", id="main")) == 1
    ids = [node.attributes["id"] for node in tree.walk() if "id" in node.attributes]
    assert len(ids) == len(set(ids))
    assert status == {"/inside?v=9": 400, "/nowhere": 404}.get(address, 200)


@pytest.mark.parametrize("address", PATHS)
def test_nothing_is_inline_and_nothing_comes_from_elsewhere(address):
    for node in parse(get(address)[2]).walk():
        assert "style" not in node.attributes and node.tag != "style"
        assert not any(name.startswith("on") for name in node.attributes)
        if node.attributes.get("rel") == "external noreferrer":  # a link asks nobody for anything
            continue
        for name in ("src", "href"):
            assert node.attributes.get(name, "/").startswith(("/", "#"))
        if node.tag == "script":
            assert node.attributes["src"].startswith("/static/") and not node.children


def test_every_label_and_reference_points_somewhere():
    inside = ("", "v=1&bad=eps:x", "v=1&source=minilm&bad=at.S:x", "v=1&bad=x.0.0.0:q", "v=1&bad=odd:x")
    axes = ("", "v=1&bad=eps:x", "v=1&bad=x.1.0:q", "v=1&bad=table:1,x", "v=1&bad=odd:x")
    precision = ("", "v=1&bad=mean:x", "v=1&bad=seed:x&ladder=1&guess=near", "v=1&source=minilm&bad=odd:x")
    every = {"/inside": inside, "/axes": axes, "/precision": precision}
    for address in [f"{path}?{query}" for path, queries in every.items() for query in queries]:
        tree = parse(get(address)[2])
        ids = {node.attributes["id"] for node in tree.walk() if "id" in node.attributes}
        for node in tree.walk():
            for name in ("for", "aria-describedby", "aria-labelledby"):
                assert node.attributes.get(name) is None or node.attributes[name] in ids, node


def test_home_lists_the_lessons_and_the_persons_tensors():
    body = get("/", {"mine": Synthetic("mine.npy, 3 x 4", "from a file", (1, 3, 4))})[2]
    for path in ("/inside", "/precision"):
        assert f'href="{path}?v=1&amp;source=mine"' in body and "mine.npy" in body
    for link in parse(body).all("a"):
        if link.attributes["href"].startswith("/"):
            assert get(link.attributes["href"], {"mine": Synthetic("", "", (1, 3, 4))})[0] == 200


def test_text_from_an_address_or_a_source_is_escaped():
    nasty = "<script>alert(1)</script>"
    sources = {"mine": Synthetic(nasty, nasty, (1, 1, 2), tokens=(nasty,))}
    for address in (f"/{nasty}", f"/inside?{nasty}=1", f"/inside?v=1&bad=eps:{nasty}", "/", "/inside?v=1&source=mine"):
        assert nasty not in get(address, sources)[2]


def main_of(body: str) -> Node:
    return parse(body).one("main", id="main")


def plain(node: Node):
    """A tree to compare: tag, attributes, children."""
    if node.tag == "#text":
        return node.words[0]
    skipped = {"data-query", "data-feeds"} if node.tag == "main" else set()
    attributes = {name: value for name, value in node.attributes.items() if name not in skipped}
    return node.tag, attributes, [plain(child) for child in node.children]


def patched(shown: Node, body: str) -> tuple[str, Node]:
    """The new state and the tree after a patch, as the script does it: elements are replaced by their ids."""
    query, _, html = body.partition("\n")
    fragments = [template.children[0] for template in parse(html).children]
    if [node.tag for node in fragments] == ["main"]:
        return query, fragments[0]
    by_id = {node.attributes["id"]: node for node in fragments}

    def swap(node: Node) -> None:
        node.children = [by_id.get(child.attributes.get("id", ""), child) for child in node.children]
        for child in node.children:
            swap(child)

    swap(shown)
    return query, shown


DOES = [
    "step:0", "step:4", "step:8", "sel:x.0.1.2", "sel:mu.0.1", "sel:gamma.1", "sel:", "x.0.0.1:3.5", "gamma.2:-1",
    "eps:0", "eps:oops", "affine:none", "affine:both", "norm:rms_norm", "norm:layer_norm", "storage:bfloat16",
    "source:minilm", "source:symbolic", "source:t5-small", "at.S:4", "at.d:8", "size.S:2", "seed:3", "undo:1",
    "reset:1", "copy:csv", "copy:",
]  # fmt: skip


def test_a_patched_page_is_the_page_drawn_afresh():
    draw = random.Random(1)
    query, shown, small = "v=1", main_of(get("/inside?v=1")[2]), 0
    for _ in range(120):
        actions = "".join(f"&do={draw.choice(DOES)}" for _ in range(draw.choice((1, 1, 1, 3))))
        body = get(f"/inside?{query}{actions}&patch=")[2]
        small += "<main" not in body
        query, shown = patched(shown, body)
        assert plain(shown) == plain(main_of(get(f"/inside?{query}")[2])), (query, actions)
    assert small > 60


def test_a_patch_from_an_unreadable_drawing_is_the_whole_page():
    body = get("/inside?v=1&step=q&patch=v%3D1%26step%3Dnowhere")[2]
    assert body.startswith("v=1&step=q\n<template><main ")


def test_a_patch_between_two_addresses():
    query, shown = patched(main_of(get("/inside?v=1&step=c")[2]), get("/inside?v=1&step=q&patch=v%3D1%26step%3Dc")[2])
    assert query == "v=1&step=q"
    assert plain(shown) == plain(main_of(get("/inside?v=1&step=q")[2]))


def test_one_edit_is_a_small_patch():
    whole = len(get("/inside?v=1&step=xhat")[2])
    patch = len(get("/inside?v=1&step=xhat&do=x.0.1.2:3&patch=")[2])
    assert patch < whole / 2


@pytest.mark.parametrize("key", [*MODELS, "symbolic", "minilm"])
def test_every_choice_of_tensor_can_be_drawn(key):
    assert get(f"/inside?v=1&do=source:{key}")[0] == 200
