"""The lab's measurement: drawn into the page or as one, one at a time, bounded, refused politely."""

import asyncio
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.testclient import TestClient

from normscope.interfaces import measuring, web
from normscope.lessons import site
from tests.interfaces.test_measure import DATA
from tests.lessons.dom import parse

LOCAL = "http://127.0.0.1:8417"
ASKED = "/measured?shape=2,4,8&norm=layer_norm&affine=both&storage=float32&eps=1/100000"
PART = f"{ASKED}&patch="


def client():
    return TestClient(web.app({}), base_url=LOCAL)


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(measuring, "SECONDS", 0.01)


@pytest.fixture
def canned(monkeypatch):
    """A measurement that takes no time; the commands that were run."""
    ran = []

    async def run(words, request):
        ran.append(words)
        return DATA

    monkeypatch.setattr(measuring, "_run", run)
    return ran


def test_the_button_of_the_page_is_answered_by_a_measurement(quick):
    form = parse(site.respond("/inside", "v=1&sizes=1,2,8&affine=scale")[2]).one(id="measured").one("form")
    fields = {node.attributes["name"]: node.attributes["value"] for node in form.all("input")}
    answer = client().get(form.attributes["action"], params=fields | {"patch": ""})
    assert answer.status_code == 200 and answer.headers["cache-control"] == "no-store"
    (place,) = [node for node in parse(answer.text).all() if node.attributes.get("id") == form.attributes["data-into"]]
    assert "to the byte" in place.one(class_="summary").text and len(place.all("svg")) == 2
    again = {node.attributes["name"]: node.attributes["value"] for node in place.one("form").all("input")}
    assert again == fields and place.one("button").text == "Measure again"


def test_without_a_script_it_is_a_page(canned):
    answer = client().get(ASKED)
    assert answer.text.startswith("<!doctype html>")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    tree = parse(answer.text)
    assert tree.one("title").text == "Measured | Normscope" and tree.one(id="main").one(id="measured").one("table")


def test_what_was_asked_is_what_is_run(canned):
    client().get("/measured?shape=3,16&norm=rms_norm&affine=none&storage=bfloat16&eps=1/7")
    (words,) = canned
    assert words[:4] == ["measure", "--json", "--shape", "3,16"] and words[4:6] == ["--dtype", "bfloat16"]
    assert words[6:] == [
        "--norm", "rms_norm", "--no-affine", "--eps", "1/7", "--time", "4.0", "--memory", "1024",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "query",
    ["", "shape=2,4", "shape=2,x&norm=layer_norm&affine=both&storage=float32",
     "shape=2,4&norm=batch_norm&affine=both&storage=float32", "shape=2,4&norm=layer_norm&affine=all&storage=float32",
     "shape=2,4&norm=layer_norm&affine=both&storage=float8_e5m2",
     "shape=0,4&norm=layer_norm&affine=both&storage=float32",
     "shape=2,4&norm=layer_norm&affine=both&storage=float32&eps=-1",
     "shape=2,4&norm=layer_norm&affine=both&storage=float32&plot=/tmp/x.svg"],
)  # fmt: skip
def test_an_address_that_no_button_makes_is_refused(canned, query):
    answer = client().get(f"/measured?{query}&patch=")
    assert answer.status_code == 400 and canned == []
    assert len(parse(answer.text).one(class_="bad").text) > 20


def test_a_request_by_another_page_is_refused(canned):
    for site_said, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)):
        assert client().get(PART, headers={"Sec-Fetch-Site": site_said}).status_code == status
    assert len(canned) == 2


def test_asking_for_the_head_measures_nothing(canned):
    assert client().head(PART).status_code == 403 and canned == []


def test_what_is_too_large_is_refused_before_anything_runs(canned, monkeypatch):
    answer = client().get("/measured?shape=1,131072,16384&norm=rms_norm&affine=scale&storage=float32&patch=")
    assert answer.status_code == 413 and canned == []
    assert "The lab does not measure this" in parse(answer.text).one(class_="bad").text
    monkeypatch.setattr(measuring, "available", lambda: 4000)
    assert "1.95 KiB may be used" in client().get(PART).text
    monkeypatch.setattr(measuring, "available", lambda: None)
    assert client().get(PART).status_code == 200


def test_one_at_a_time(monkeypatch):
    started, goes_on = threading.Event(), threading.Event()

    async def run(words, request):
        started.set()
        for _ in range(1000):  # not for ever, where two at once are let in
            if not goes_on.is_set():
                await asyncio.sleep(0.01)
        return DATA

    monkeypatch.setattr(measuring, "_run", run)
    with client() as lab:
        answers = []
        first = threading.Thread(target=lambda: answers.append(lab.get(PART)))
        first.start()
        assert started.wait(5)
        busy = lab.get(PART)
        assert busy.status_code == 409 and measuring.BUSY in parse(busy.text).one(class_="bad").text
        assert lab.get("/inside").status_code == 200  # the lab goes on
        goes_on.set()
        first.join()
        assert answers[0].status_code == 200 and lab.get(PART).status_code == 200


def test_a_measurement_that_takes_too_long_is_ended(monkeypatch):
    monkeypatch.setattr(measuring, "LONGEST", 0.5)
    monkeypatch.setattr(measuring, "COMMAND", "import time; time.sleep(60)")
    started = time.monotonic()
    answer = client().get(PART)
    assert answer.status_code == 504 and "took more than 0.5 s and was ended" in answer.text
    assert time.monotonic() - started < 10


def test_a_measurement_that_breaks_off_says_why_and_the_next_one_runs(monkeypatch, canned):
    monkeypatch.undo()
    monkeypatch.setattr(measuring, "COMMAND", "import sys; sys.exit('Error: out of luck')")
    lab = client()
    for _ in range(2):
        answer = lab.get(PART)
        assert answer.status_code == 500 and "out of luck" in parse(answer.text).one(class_="bad").text


def test_nobody_waits(monkeypatch):
    """The process is ended when the page that asked is left."""
    monkeypatch.setattr(measuring, "COMMAND", "import time; time.sleep(60)")

    class Left:
        async def is_disconnected(self):
            return True

    async def ended():
        with pytest.raises(measuring.Refused, match="Nobody waits"):
            await measuring._run([], Left())

    started = time.monotonic()
    with ThreadPoolExecutor() as other:  # where another test's loop runs in this thread
        other.submit(asyncio.run, ended()).result()
    assert time.monotonic() - started < 10


def test_the_process_cannot_be_led_astray_by_files_where_the_server_was_started(quick, tmp_path, monkeypatch):
    (tmp_path / "json.py").write_text("raise SystemExit('astray')")
    monkeypatch.chdir(tmp_path)
    assert sys.flags.safe_path in (0, 1) and client().get(PART).status_code == 200
