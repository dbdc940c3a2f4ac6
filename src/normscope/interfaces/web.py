"""The lab on this machine: `respond` behind Starlette and uvicorn, on 127.0.0.1 alone.

The server keeps no state: an address is all there is to a page, so every request is a GET. What it refuses
is written in `Gate`: other hosts (a page elsewhere could have its own name point here), and addresses too
long to be a state.
"""

import hashlib
import logging
import os
import re
import signal
import socket
import sys
import threading
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
    from uvicorn import Server

    from ..lessons.sources import Source

Respond = Callable[[str, str, Mapping[str, Any]], tuple[int, str, str]]

HOST = "127.0.0.1"
PORT = 8417
STATIC = Path(__file__).parent.parent / "static"
SHEETS = (
    "page",
    "inside",
    "named",
    "axes",
    "precision",
    "mistakes",
    "inspect",
)  # of equal selectors the later rule wins
TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
LOCAL = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:\d+)?", re.IGNORECASE)
LONGEST_QUERY = 64 * 1024
LONGEST_REQUEST_LINE = 4 * LONGEST_QUERY  # uvicorn drops the connection beyond this; up to it we can answer
WORTH_ZIPPING = 8 * 1024
ZIP_LEVEL = 1  # on loopback time is dearer than bytes: 1 ms for a page of 150 kB, a sixth of its size
SECURITY = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
BROKEN = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Normscope: an error</title>
<h1>This page could not be drawn</h1>
<p>That is a fault of Normscope, not yours. The terminal that it runs in says more.</p>
<p><a href="/">Back to the start</a></p></html>"""

log = logging.getLogger("normscope")


@dataclass(frozen=True)
class Asset:
    """One static file, read once."""

    type: str
    body: bytes

    @cached_property
    def hash(self) -> str:
        """What changes when the file does."""
        return hashlib.sha256(self.body).hexdigest()[:16]

    @cached_property
    def zipped(self) -> bytes:
        """The body, gzipped as well as it gets."""
        return gzip(self.body, 9)


class Gate:
    """Refuses a request before anything reads it, and gives every answer the security headers."""

    def __init__(self, app: "ASGIApp") -> None:
        self.app = app

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        from starlette.datastructures import Headers, MutableHeaders
        from starlette.responses import PlainTextResponse

        async def send_secured(message: "Message") -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(SECURITY)
            await send(message)

        app = self.app
        if scope["type"] != "http":  # a host's own start and stop
            await app(scope, receive, send)
            return
        if not LOCAL.fullmatch(Headers(scope=scope).get("host", "")):
            app = PlainTextResponse("The lab answers to localhost and 127.0.0.1 alone.", 400)
        elif len(scope["query_string"]) > LONGEST_QUERY:
            app = PlainTextResponse("This address is too long to be the state of a page.", 414)
        await app(scope, receive, send_secured)


def app(sources: "Mapping[str, Source]", respond: Respond | None = None) -> "Starlette":
    """The lab as an ASGI app, for any host.

    sources  the tensors that it can show, by the names that links give them
    respond  draws a page; the site's own unless a test gives another
    """
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.routing import Route

    from ..lessons.inside.measured import PATH as MEASURED
    from .measuring import Measuring

    if respond is None:
        from ..lessons.site import respond as site

        respond = site
    assets = {path.name: Asset(TYPES[path.suffix], path.read_bytes()) for path in STATIC.iterdir() if path.is_file()}
    assets["lab.css"] = Asset(TYPES[".css"], style().encode())

    async def page(request: "Request") -> "Response":
        return _page(request, respond, sources)

    async def static(request: "Request") -> "Response":
        return _asset(request, assets.get(request.path_params["name"]))

    routes = [
        Route("/static/{name}", static),
        Route(MEASURED, Measuring().answer),
        Route("/{path:path}", page),
    ]
    return Starlette(routes=routes, middleware=[Middleware(Gate)])


@lru_cache(maxsize=1)
def style() -> str:
    """The style sheet of the lab: one file to a browser, one for each kind of page to read."""
    return "\n".join((STATIC / "style" / f"{name}.css").read_text(encoding="utf-8") for name in SHEETS)


def _page(request: "Request", respond: Respond, sources: "Mapping[str, Source]") -> "Response":
    """What `respond` draws; it is called in the event loop, since it takes less than a thread's detour."""
    from starlette.responses import Response

    path, query = request.scope["path"], request.scope["query_string"].decode("latin-1")
    try:
        status, content_type, text = respond(path, query, sources)
    except Exception:
        log.exception("%s?%s could not be drawn", path, query)
        status, content_type, text = 500, "text/html; charset=utf-8", BROKEN
    headers = {"Cache-Control": "no-store", "Content-Type": content_type}
    body = text.encode()
    if len(body) >= WORTH_ZIPPING and _takes_gzip(request) and "patch=" not in query:
        body = gzip(body, ZIP_LEVEL)
        headers |= {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    return Response(body, status, headers)


def _asset(request: "Request", asset: Asset | None) -> "Response":
    """A static file: for ever if its address carries its hash, else asked about each time."""
    from starlette.responses import PlainTextResponse, Response

    if asset is None:
        return PlainTextResponse("There is no such file.", 404)
    is_pinned = request.url.query == f"v={asset.hash}"
    tag = f'"{asset.hash}"'
    headers = {"ETag": tag, "Vary": "Accept-Encoding", "Content-Type": asset.type}
    headers["Cache-Control"] = "max-age=31536000, immutable" if is_pinned else "no-cache"
    if request.headers.get("if-none-match") == tag:
        return Response(None, 304, headers)
    if _takes_gzip(request):
        return Response(asset.zipped, headers=headers | {"Content-Encoding": "gzip"})
    return Response(asset.body, headers=headers)


def _takes_gzip(request: "Request") -> bool:
    return "gzip" in request.headers.get("accept-encoding", "")


def gzip(body: bytes, level: int) -> bytes:
    """A gzip stream without a date, so that equal bodies stay equal."""
    packer = zlib.compressobj(level, wbits=16 + zlib.MAX_WBITS)
    return packer.compress(body) + packer.flush()


def serve(sources: "Mapping[str, Source]", port: int | None, browser: bool, path: str = "/") -> int:
    """Serve the lab until Ctrl-C; the exit code.

    port     the port to use, 0 for any free one, None for the usual one; another free one if it is taken
    browser  open a browser at `path`, where there is a display
    """
    listener = _listen(PORT if port is None else port)
    address = f"http://{HOST}:{listener.getsockname()[1]}{path}"
    interrupts: list[int] = []
    # From here on Ctrl-C only asks to stop: an exception could come in the middle of an import and be lost.
    before = signal.signal(signal.SIGINT, lambda number, frame: interrupts.append(number))
    try:
        print(f"Normscope is at {address}  (Ctrl-C stops it)", flush=True)
        if browser and has_display(os.environ, sys.platform):
            _open(address)
        server = _server(app(sources))
        signal.signal(signal.SIGINT, server.handle_exit)
        server.should_exit = server.should_exit or bool(interrupts)
        server.run(sockets=[listener])
    finally:
        signal.signal(signal.SIGINT, before)
    print()
    return 0


def _server(lab: "Starlette") -> "Server":
    """uvicorn with what one person on one machine needs; connections still open end with it."""
    from uvicorn import Config, Server

    config = Config(
        lab,
        lifespan="off",
        ws="none",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=120,
        timeout_graceful_shutdown=1,
        h11_max_incomplete_event_size=LONGEST_REQUEST_LINE,
    )
    return Server(config)


def _listen(port: int) -> socket.socket:
    """A listening socket on the port, or on any free one with a line that says so."""
    try:
        return bound(port)
    except OSError as taken:
        print(f"Port {port} is not free ({taken.strerror}); taking another one.", flush=True)
        return bound(0)


def bound(port: int) -> socket.socket:
    """A listening socket on this machine's own address; OSError if the port is taken."""
    # asyncio sends small answers at once only on sockets that name TCP: 40 ms an answer otherwise.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # elsewhere this would share the port with whoever has it
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        listener.listen()
    except OSError:
        listener.close()
        raise
    return listener


def has_display(environment: Mapping[str, str], platform: str) -> bool:
    """Whether a browser that is opened here would be seen by the person who typed the command.

    >>> has_display({"DISPLAY": ":0"}, "linux"), has_display({"SSH_TTY": "/dev/pts/0"}, "darwin")
    (True, False)
    """
    if environment.get("CI"):
        return False
    if environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"):
        return True
    return platform in ("darwin", "win32") and not {"SSH_CONNECTION", "SSH_TTY"} & environment.keys()


def _open(address: str) -> None:
    """Open a browser without waiting for it: the listener holds its first request until we serve."""
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(address,), name="browser", daemon=True).start()
