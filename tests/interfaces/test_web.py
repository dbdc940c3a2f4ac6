"""The server: what it refuses, what it sends with every answer, how it starts and stops."""

import gzip
import http.client
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest
import uvicorn
from starlette.testclient import TestClient

from normscope.interfaces import web

LOCAL = "http://127.0.0.1:8417"
HTML = "text/html; charset=utf-8"
PATIENCE = 60  # s; on a good day an answer takes 0.01, beside other tests on every core much more


def answering(body="<h1>Here</h1>", status=200):
    """A `respond` that keeps what it was asked."""
    asked = []

    def respond(path, query, sources):
        asked.append((path, query, sources))
        return status, HTML, body

    return respond, asked


@pytest.fixture(scope="module")
def lab():
    with TestClient(web.app({}), base_url=LOCAL) as client:
        yield client


# ---- pages


def test_a_page_is_what_respond_draws_with_its_raw_query():
    respond, asked = answering()
    sources = {"mine": object()}
    answer = TestClient(web.app(sources, respond), base_url=LOCAL).get("/inside?v=1&do=x.0.0%3A2&patch=")
    assert (answer.status_code, answer.text, answer.headers["content-type"]) == (200, "<h1>Here</h1>", HTML)
    assert asked == [("/inside", "v=1&do=x.0.0%3A2&patch=", sources)]


@pytest.mark.parametrize(("path", "status"), [("/", 200), ("/inside", 200), ("/nowhere", 404), ("/inside?v=0", 400)])
def test_every_answer_is_secured(lab, path, status):
    answer = lab.get(path)
    assert answer.status_code == status
    assert_secured(answer)
    assert answer.headers["cache-control"] == "no-store"


def assert_secured(answer):
    policy = answer.headers["content-security-policy"]
    assert set(policy.split("; ")) == {
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'",
        "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'",
    }  # fmt: skip
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"


def test_a_fault_is_a_page_without_a_traceback_and_a_log_with_one(caplog):
    def broken(path, query, sources):
        raise ZeroDivisionError("secret detail")

    answer = TestClient(web.app({}, broken), base_url=LOCAL).get("/inside?v=1")
    assert answer.status_code == 500
    assert "could not be drawn" in answer.text
    assert "secret" not in answer.text
    assert "ZeroDivisionError: secret detail" in caplog.text
    assert "/inside?v=1" in caplog.text
    assert_secured(answer)


@pytest.mark.parametrize("path", ["/inside", "/static/lab.js"])
def test_only_get_and_head(lab, path):
    head = lab.head(path)
    assert (head.status_code, head.content) == (200, b"")
    for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
        answer = lab.request(method, path)
        assert answer.status_code == 405, method
        assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD"}
        assert_secured(answer)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1", "127.0.0.1:65535", "[::1]", "[::1]:80"])
def test_this_machine_is_answered(lab, host):
    assert lab.get("/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["example.org", "localhost.example.org", "127.0.0.1.example.org:80", "xlocalhost", "127.0.0.2", "0.0.0.0",
     "127.0.0.1:80:80", "localhost:", "127a0b0c1", "", "[::2]"],
)  # fmt: skip
def test_other_hosts_are_refused(host):
    respond, asked = answering()
    answer = TestClient(web.app({}, respond), base_url=LOCAL).get("/", headers={"Host": host.encode()})
    assert answer.status_code == 400
    assert asked == []
    assert_secured(answer)


# ---- bytes


@pytest.mark.parametrize(
    ("size", "query", "accepts", "zipped"),
    [
        (20_000, "", "gzip", True),
        (20_000, "", "br", False),
        (20_000, "?patch=", "gzip", False),
        (900, "", "gzip", False),
    ],
)
def test_a_long_page_is_zipped_and_a_patch_never(size, query, accepts, zipped):
    client = TestClient(web.app({}, answering("x" * size)[0]), base_url=LOCAL)
    answer = client.get("/" + query, headers={"Accept-Encoding": accepts})
    assert answer.headers.get("content-encoding") == ("gzip" if zipped else None)
    assert answer.text == "x" * size
    assert (int(answer.headers["content-length"]) < size) == zipped


def test_static_files(lab):
    files = {path.name: path.read_bytes() for path in web.STATIC.iterdir() if path.is_file()}
    for name, body in {**files, "lab.css": web.style().encode()}.items():
        answer = lab.get(f"/static/{name}")
        assert answer.content == body
        assert answer.headers["content-type"] == web.TYPES[Path(name).suffix]
        assert answer.headers["cache-control"] == "no-cache"
        assert_secured(answer)


def test_the_style_sheet_is_all_of_its_parts_in_their_order():
    parts = {path.stem: path.read_text(encoding="utf-8") for path in (web.STATIC / "style").iterdir()}
    assert sorted(parts) == sorted(web.SHEETS)
    places = [web.style().index(parts[name]) for name in web.SHEETS]
    assert places == sorted(places) and places[0] == 0


def test_a_static_file_is_not_sent_twice(lab):
    tag = lab.get("/static/lab.js").headers["etag"]
    again = lab.get("/static/lab.js", headers={"If-None-Match": tag})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    assert lab.get("/static/lab.js", headers={"If-None-Match": '"another"'}).status_code == 200
    pinned = lab.get(f"/static/lab.js?v={tag.strip(chr(34))}")
    assert "immutable" in pinned.headers["cache-control"]
    assert lab.get("/static/lab.js?v=old").headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("name", ["nothing.js", "../web.py", "..%2fweb.py", "%2e%2e/web.py", "/etc/passwd", ""])
def test_nothing_else_is_static(lab, name):
    answer = lab.get(f"/static/{name}")
    assert answer.status_code == 404
    assert "import" not in answer.text


def test_zipping_is_reproducible():
    assert web.gzip(b"a" * 100, 1) == web.gzip(b"a" * 100, 1)
    assert gzip.decompress(web.gzip(b"a" * 100, 9)) == b"a" * 100


# ---- starting and stopping

SERVE = "import sys; from normscope.interfaces.web import serve; sys.exit(serve({}, %r, False, %r))"


@contextmanager
def served(port=0, path="/"):
    """A server process, the lines that it has printed so far, and its port."""
    command = [sys.executable, "-c", SERVE % (port, path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    too_late = threading.Timer(20, process.kill)
    too_late.start()
    try:
        lines = []
        for line in process.stdout:
            lines.append(line)
            if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                break
        yield process, lines, int(found[1])
    finally:
        too_late.cancel()
        process.kill()
        process.communicate()


def connected(port):
    """A connection that stays open until its block ends."""
    return closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE))


def test_it_says_where_it_is_and_is_there():
    with served(path="/inside?v=1") as (_, (line,), port):
        assert line == f"Normscope is at http://127.0.0.1:{port}/inside?v=1  (Ctrl-C stops it)\n"
        with urlopen(f"http://127.0.0.1:{port}/inside?v=1", timeout=PATIENCE) as answer:
            assert "server" not in {name.lower() for name in answer.headers}
            assert b"Inside LayerNorm" in answer.read()


def test_only_this_machine_can_connect():
    with served() as (_, _, port):
        outward = socket.gethostbyname_ex(socket.gethostname())[2]
        for address in [address for address in outward if not address.startswith("127.0.0.1")]:
            with pytest.raises(OSError, match=r"refused|timed out"):
                socket.create_connection((address, port), timeout=2)


def test_an_answer_does_not_wait_for_the_one_before_it():
    """asyncio turns Nagle's delay off on sockets that name TCP, and on no others."""
    with closing(web.bound(0)) as listener:
        assert listener.proto == socket.IPPROTO_TCP


@pytest.mark.parametrize("connections", [0, 3])
def test_ctrl_c_stops_it_at_once(connections):
    with served() as (process, _, port):
        urlopen(f"http://127.0.0.1:{port}/", timeout=PATIENCE).close()
        with ExitStack() as kept:
            for _ in range(connections):
                kept.enter_context(connected(port)).request("GET", "/")
            started = time.monotonic()
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=PATIENCE) == 0
            assert time.monotonic() - started < 1
        assert process.stderr.read() == ""


@pytest.mark.parametrize("wait", [0, 0.05, 0.1, 0.2, 0.3])
def test_ctrl_c_while_it_starts(wait):
    with served() as (process, _, _):
        time.sleep(wait)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=PATIENCE) == 0
        assert process.stderr.read() == ""


def test_a_taken_port_is_said_and_another_one_used():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with served(port) as (_, (first, second), other):
            assert other != port
            assert re.fullmatch(rf"Port {port} is not free \(.*\); taking another one\.\n", first)
            assert str(other) in second
            assert urlopen(f"http://127.0.0.1:{other}/", timeout=PATIENCE).status == 200


def test_the_port_is_free_again_at_once():
    with served() as (process, _, port), connected(port) as connection:
        connection.request("GET", "/")
        connection.getresponse().read()
        process.send_signal(signal.SIGINT)
        process.wait(timeout=PATIENCE)
    with served(port) as (_, lines, again):
        assert again == port, lines


@pytest.mark.parametrize(("length", "status"), [(0, 200), (1, 414), (web.LONGEST_QUERY, 414)])
def test_an_address_has_a_longest_length(length, status):
    with served() as (_, _, port), connected(port) as connection:
        connection.request("GET", "/?" + "a" * (web.LONGEST_QUERY + length))
        assert connection.getresponse().status == status


@pytest.mark.parametrize(
    ("environment", "platform", "seen"),
    [
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({}, "linux", False),
        ({"DISPLAY": ":0", "CI": "true"}, "linux", False),
        ({"SSH_CONNECTION": "a", "DISPLAY": "localhost:10.0"}, "linux", True),
        ({}, "darwin", True),
        ({}, "win32", True),
        ({"SSH_TTY": "/dev/ttys0"}, "darwin", False),
        ({"CI": "1"}, "win32", False),
    ],
)
def test_a_browser_opens_where_someone_sees_it(environment, platform, seen):
    assert web.has_display(environment, platform) == seen


@pytest.mark.parametrize(("browser", "display", "opened"), [(True, ":0", 1), (False, ":0", 0), (True, "", 0)])
def test_the_browser_is_opened_at_the_page(monkeypatch, capsys, browser, display, opened):
    calls = []
    monkeypatch.setenv("DISPLAY", display)
    for name in ("CI", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("webbrowser.open", calls.append)
    monkeypatch.setattr(uvicorn.Server, "run", lambda server, sockets: sockets[0].close())
    assert web.serve({}, 0, browser, "/inside") == 0
    for thread in threading.enumerate():
        if thread.name == "browser":
            thread.join(timeout=1)
    assert [call for call in calls if call in capsys.readouterr().out] == calls
    assert len(calls) == opened
