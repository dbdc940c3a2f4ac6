"""normscope export: any state of any lesson as one file that needs nothing and holds what the page showed."""

import json
import os
import stat
from pathlib import Path

import numpy as np
import pytest

from normscope.interfaces.export import page, still
from normscope.interfaces.export_command import LESSONS, address
from normscope.lessons import site
from normscope.page.html import el
from tests.lessons.dom import Node, parse

STATES = {
    "/axes": ["", "v=1&x=9,1;2,-3&tokens=a,b&gamma=1,1&beta=0,0&sel=0,1", "v=1&do=eps:much"],
    "/inside": ["", "v=1&step=var&sel=mu.0.1&copy=csv", "v=1&source=minilm&step=y&copy=link", "v=1&do=eps:much"],
    "/precision": ["", "v=1&do=fault:ort-40000&do=guess:zero&ladder=1", "v=1&do=spread:-1"],
    "/mistakes": ["", "v=1&show=keepdims-dropped&x=1,2;3,9", "v=1&quiz=1", "v=1&do=x:much"],
    "/named": ["", "v=1&panel=3&guesses=var:1/2&every=1", "v=1&panel=4&opened=1&x=1,2,4&update=0,0,0"],
    "/exercises": ["", "v=1&seed=3&count=4&rational=1", "v=1&answers=0"],
}
EVERY = [(path, query) for path in site.LESSONS for query in STATES[path]]


BEFORE = "<!DOCTYPE html>\n<title>an older page</title>"


def exported(path: str, query: str = "") -> Node:
    return parse(page(path, query, {}).html)


def numbers(tree: Node) -> list[str]:
    """What the page computes: tables, formulas and drawings, as text."""
    return [node.text for tag in ("td", "math", "svg", "h1", "h2") for node in tree.all(tag)]


# ---- the page


@pytest.mark.parametrize(("path", "query"), EVERY)
def test_nothing_needs_a_script_and_nothing_is_asked_for(path, query):
    tree = exported(path, query)
    for node in tree.walk():
        assert node.tag not in ("script", "button", "input", "select", "textarea", "iframe", "img"), node
        assert node.attributes.get("href", "#").startswith("#") or node.attributes["href"] == "data:,"
        for name in node.attributes:
            assert name not in ("src", "style") and not name.startswith("on")
            assert not name.startswith("data-") or name in ("data-t", "data-row", "data-v")
        assert node.attributes.get("role") not in ("grid", "button")
    (style,) = tree.all("style")
    assert "url(" not in style.text and "@import" not in style.text
    assert tree.one("link", rel="icon").attributes["href"] == "data:,"


@pytest.mark.parametrize(("path", "query"), EVERY)
def test_it_holds_what_the_lesson_shows(path, query):
    status, _, body = site.respond(path, query)
    shown, tree = parse(body).one("main"), exported(path, query).one("main")
    assert status == 200 and numbers(tree) == numbers(shown) and len(tree.all("h1")) == 1
    cells = [(node.attributes.get("data-v"), node.text) for node in shown.all("td")]
    assert cells == [(node.attributes.get("data-v"), node.text) for node in tree.all("td")]
    selected = [node.text for node in shown.all("td", aria_selected="true")]
    assert selected == [node.text for node in tree.all("td", aria_current="true")]


@pytest.mark.parametrize(("path", "query"), EVERY)
def test_what_can_be_set_is_told_by_its_value(path, query):
    shown, tree = (parse(text) for text in (site.respond(path, query)[2], page(path, query, {}).html))
    by_id = {node.attributes["id"]: node.text for node in tree.walk() if "id" in node.attributes}
    for control in shown.one("main").all("input") + shown.one("main").all("select"):
        if control.attributes.get("data-do", "drag.").startswith("drag."):
            continue
        expected = {value_of(control), control.attributes.get("aria-valuetext", value_of(control))}
        if control.tag != "select" or value_of(control):
            assert by_id[control.attributes["id"]] in expected | {"—"}, control.attributes
    messages = [node.text for node in shown.one("main").all(class_="bad")]
    assert messages == [node.text for node in tree.one("main").all(class_="bad")]


def value_of(control: Node) -> str:
    if control.tag == "select":
        options = control.all("option")
        chosen = [option for option in options if "selected" in option.attributes] or options
        return chosen[0].text if chosen[0].attributes["value"] else ""
    if control.attributes["type"] == "checkbox":
        return "☑" if "checked" in control.attributes else "☐"
    return control.attributes["value"]


def test_every_reference_in_the_page_points_somewhere():
    for path, query in EVERY:
        tree = exported(path, query)
        ids = [node.attributes["id"] for node in tree.walk() if "id" in node.attributes]
        assert len(ids) == len(set(ids))
        for node in tree.walk():
            for name in ("aria-labelledby", "aria-describedby"):
                assert set(node.attributes.get(name, "").split()) <= set(ids)


def test_links_are_text_with_their_host_and_the_footer_says_the_state():
    tree = exported("/inside", "v=1&do=step:q&copy=link")
    assert "http://127.0.0.1:8417/inside?v=1&step=q" in tree.one("main").text
    assert tree.one("footer").text.endswith("http://127.0.0.1:8417/inside?v=1&step=q&copy=link")
    assert tree.all("a") == []


def test_each_control_is_lowered():
    def text(*children):
        return str(still(el("div", *children)))

    assert text(el("input", type="range", data_do="drag.x", value="1"), "a") == "<div>a</div>"
    lone = el("input", type="range", data_do="step", value="1", aria_valuetext="step 2 of 9")
    assert text(lone) == '<div><span class="value">step 2 of 9</span></div>'
    assert text(el("input", type="text", value="")) == '<div><span class="value">—</span></div>'
    assert text(el("input", type="file"), el("button", "Go", data_do="go:1"), el("textarea")) == ""
    assert text(el("ul", el("li", el("button", "Go"))), el("p", "kept", hidden=True)) == ""
    assert text(el("p", "Click a cell.", class_="hint hands")) == ""
    play = el("button", "Play", data_play="step", aria_pressed="false")
    choices = [el("button", word, aria_pressed=is_chosen) for word, is_chosen in (("yes", "true"), ("no", "false"))]
    expected = '<div><span class="choice chosen">yes</span><span class="choice">no</span></div>'
    assert text(play, *choices) == expected
    assert (
        text(el("details", el("summary", "Why"), "So."))
        == '<div><details open=""><summary>Why</summary>So.</details></div>'
    )
    assert (
        text(el("a", "see", href="#it"), el("a", "lab", href="/")) == '<div><a href="#it">see</a><span>lab</span></div>'
    )
    assert (
        text(el("svg", viewBox="0 0 1 1"), "1 < 2 & 3", el("br"))
        == '<div><svg viewBox="0 0 1 1"></svg>1 &lt; 2 &amp; 3<br></div>'
    )


# ---- the command


def test_the_lessons_are_those_of_the_site():
    assert set(LESSONS) == set(site.LESSONS)


@pytest.mark.parametrize("host", ["", "http://127.0.0.1:8417", "https://host.example/hub/user/", "localhost:9/"])
@pytest.mark.parametrize("path", sorted(site.LESSONS))
def test_a_link_with_any_host(run, host, path):
    query = STATES[path][1]
    link = f"{host}{path.lstrip('/') if host.endswith('/') else path}?{query}#main"
    assert run("export", link) == (0, page(path, query, {}).html, "")


@pytest.mark.parametrize("query", ["v=1&x=1,2,4&update=0,0,0&panel=3", "?v=1&x=1/2,3&update=0,0"])
def test_a_query_that_one_lesson_alone_can_read(run, query):
    assert run("export", query) == (0, page("/named", query.lstrip("?"), {}).html, "")


def test_a_query_that_many_can_read_needs_the_lesson(run):
    code, out, err = run("export", "v=1")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "inside and precision and mistakes and named" in err and "say --lesson, one of " in err
    assert run("export", "v=1", "--lesson", "named") == (0, page("/named", "", {}).html, "")
    assert run("export", "", "--lesson", "/exercises") == (0, page("/exercises", "", {}).html, "")


def test_what_is_an_address():
    assert address("inside") == ("/inside", "") and address("/") == ("/", "") and address(" ?a=b ") == ("", "a=b")
    assert address("v=1&guesses=mu:5/2") == ("", "v=1&guesses=mu:5/2")
    assert address("http://a/inside/?x=1?2") == ("/inside", "x=1?2")


def test_a_file_that_the_state_shows(run, tmp_path):
    np.save("x.npy", np.arange(6.0).reshape(1, 2, 3))
    np.save("g.npy", np.array([2.0, 1, 1]))
    code, out, err = run("export", "/inside?v=1&source=file", "--file", "x.npy", "--gamma", "g.npy", "--eps", "0.5")
    main = parse(out).one("main")
    assert (code, err) == (0, "") and "x.npy: float64, shape (1, 2, 3)." in main.text
    assert main.one(id="set-eps").text == "0.5"
    grids = {table.attributes.get("data-t"): [cell.text for cell in table.all("td")] for table in main.all("table")}
    assert grids["x"] == ["0.00", "1.00", "2.00", "3.00", "4.00", "5.00"] and grids["gamma"] == ["2.00", "1.00", "1.00"]
    code, out, err = run("export", "v=1&source=file")
    assert (code, out) == (2, "") and "give it with --file FILE" in err


def test_a_page_is_written_whole_and_only_where_it_was_named(run, tmp_path):
    target = tmp_path / "page.html"
    target.write_text(BEFORE)
    target.chmod(0o640)
    (tmp_path / "link.html").symlink_to(target)
    assert run("export", "/named", "-o", "link.html") == (0, "", "")
    assert target.read_text() == page("/named", "", {}).html
    assert stat.S_IMODE(target.stat().st_mode) == 0o640 and (tmp_path / "link.html").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.html", "page.html"]


def test_a_page_that_cannot_be_written_leaves_what_was_there(run, tmp_path, monkeypatch):
    target = tmp_path / "page.html"
    target.write_text(BEFORE)
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    code, out, err = run("export", "/named", "-o", "page.html")
    assert (code, out) == (3, "") and "cannot be written" in err and "No space left on device" in err
    assert target.read_text() == BEFORE and [path.name for path in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.parametrize("held", ["1,2\n3,4\n", "text about <html>", "\x00\x01"])
def test_a_file_that_is_no_page_is_never_overwritten(run, tmp_path, held):
    target = tmp_path / "t.csv"
    target.write_text(held)
    code, out, err = run("export", "/named", "-o", "t.csv")
    assert (code, out) == (3, "") and err.count("\n") == 1
    assert "t.csv is there and is no HTML page; name another file, or delete it first." in err
    assert target.read_text() == held and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("held", ["", "  \n<HTML>", "\ufeff<!doctype html>"])
def test_a_page_or_an_empty_file_is_written_anew(run, tmp_path, held):
    (tmp_path / "page.html").write_text(held, encoding="utf-8")
    assert run("export", "/named", "-o", "page.html") == (0, "", "")
    assert (tmp_path / "page.html").read_text() == page("/named", "", {}).html


def test_a_device_is_written_to_and_not_replaced(run):
    assert run("export", "/named", "-o", "/dev/null") == (0, "", "")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_json(run):
    code, out, err = run("export", "/inside?v=1&do=step:q", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == page("/inside", "v=1&step=q", {})._asdict()
    code, out, err = run("export", "/named", "-o", "n.html", "--json")
    assert json.loads(out) == {"lesson": "/named", "state": "v=1", "html": None, "file": "n.html"}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("/nowhere",), 2, "'nowhere' is no lesson; the lessons are "),
        (("/",), 2, "'/' is the first page, which is no lesson; the lessons are "),
        (("http://host/?v=1",), 2, "'/' is the first page"),
        (("http://host/inside?v=9",), 2, "state version '9'"),
        (("/inside?v=1&step=zzz",), 2, "there is no step 'zzz'"),
        (("v=1&step=zzz",), 2, "no lesson can read it as it is; say --lesson"),
        (("/inside", "--lesson", "named"), 2, "the link is of 'inside' and --lesson is 'named'"),
        (("v=1", "--lesson", "other"), 2, "'other' is no lesson"),
        (("/inside", "--eps", "1"), 2, "--eps belongs to --file; give the file too"),
        (("/inside?v=1&source=file",), 2, "give it with --file FILE"),
        (("/inside?v=1&do=source:file",), 2, "give it with --file FILE"),
        (("/inside", "--file", "x.npy"), 2, "the state does not show the file"),
        (("/inside?v=1&source=file", "--file", "none.npy"), 2, "there is no such file"),
        (("/inside?v=1&source=file", "--file", "bad.npy"), 3, "it is no .npy file"),
        (("/inside?v=1&source=file", "--file", "x.npy", "-o", "x.npy"), 3, "would overwrite x.npy, which is the input"),
        (("/named", "-o", "folder"), 3, "cannot be written"),
        (("/named", "-o", "no/such/page.html"), 3, "cannot be written"),
        ((), 2, "Missing argument 'STATE'."),
    ],
    ids=lambda value: str(value)[:40],
)  # fmt: skip
def test_what_cannot_be_exported_is_one_line(run, tmp_path, arguments, code, message):
    np.save("x.npy", np.ones((1, 2)))
    (tmp_path / "bad.npy").write_text("text")
    (tmp_path / "folder").mkdir()
    before = (tmp_path / "x.npy").read_bytes()
    got, out, err = run("export", *arguments)
    assert (got, out, err.count("\n")) == (code, "", 1) and message in err
    assert (tmp_path / "x.npy").read_bytes() == before
