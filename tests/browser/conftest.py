"""A real Chromium, the lab served to it, and a page that notices what must never happen."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import uvicorn
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from normscope.interfaces import web
from tests.browser import fake
from tests.browser.watching import PATIENCE
from tools import chromium

SCRIPT = (Path(__file__).parent / "watch.js").read_text()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = chromium.find()
    assert path, f"no Chromium: {chromium.advice()}"
    with sync_playwright() as playwright:
        chosen = playwright.chromium.launch(executable_path=path, headless=True, args=chromium.switches())
        yield chosen
        chosen.close()


@contextmanager
def served(app: object) -> Iterator[str]:
    """The address of an app, served in a thread."""
    listener = web.bound(0)
    server = uvicorn.Server(uvicorn.Config(app, lifespan="off", ws="none", log_config=None, access_log=False))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(timeout=10)


@pytest.fixture(scope="session")
def lab() -> Iterator[str]:
    """The address of the real lab."""
    with served(web.app({})) as address:
        yield address


@pytest.fixture(scope="session")
def fake_lab() -> Iterator[str]:
    """The address of a site that is the fake page."""
    with served(web.app({}, fake.respond)) as address:
        yield address


@pytest.fixture
def new_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Open pages that are watched: no error on the console, no request that leaves this machine.

    `allowed` is a part of the console errors that a test provokes.
    """
    contexts: list[BrowserContext] = []
    faults: list[str] = []

    def make(address: str = "", allowed: str = "", **options: object) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}} | options)
        contexts.append(context)
        context.set_default_timeout(PATIENCE)
        context.add_init_script(SCRIPT)
        page = context.new_page()

        def on_console(message):
            if message.type in ("error", "warning") and not (allowed and allowed in message.text):
                faults.append(f"console: {message.text}")

        def on_request(request):
            if urlsplit(request.url).hostname not in ("127.0.0.1", None):
                faults.append(f"request to {request.url}")

        page.on("console", on_console)
        page.on("pageerror", lambda error: faults.append(f"script: {error}"))
        page.on("request", on_request)
        if address:
            page.goto(address)
        return page

    yield make
    for context in contexts:
        context.close()
    assert not faults


@pytest.fixture
def page(new_page: Callable[..., Page], fake_lab: str) -> Page:
    """The fake page."""
    return new_page(f"{fake_lab}/fake")
