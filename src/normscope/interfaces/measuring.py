"""The lab's measurement: asked for by a button, made in a process of its own, one at a time.

A process of its own does not slow the lab down, can be ended when it takes too long or nobody waits for it any
more, and gives its memory back. What would take too much is refused before it starts.
"""

import asyncio
import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl

from ..errors import NormscopeError, StateError
from ..lessons.inside import measured as place
from ..page.html import Html, el, group
from . import measured
from .memory import available

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from ..norm import Norm

SECONDS = 4.0  # of samples
LONGEST = 60.0  # seconds until the process is ended
MOST_BYTES = 2**30
LOOK = 0.25  # seconds between looks at whether somebody still waits
FIELDS = ("shape", "norm", "affine", "eps", "storage")
KINDS = ("layer_norm", "rms_norm")
OURS = ("same-origin", "none")  # what a browser says of a request by the lab itself, or typed by the person
AFFINES: Mapping[str, tuple[str, ...]] = {"both": (), "scale": ("--no-bias",), "none": ("--no-affine",)}
COMMAND = "import sys; from normscope.interfaces.cli import main; sys.exit(main(sys.argv[1:]))"
BUSY = "Another measurement is being made; two at once would disturb each other. Try again when it is done."
ELSEWHERE = "A measurement is asked for by the lab's own button alone."
GONE = "Nobody waits for this measurement any more."


class Refused(Exception):
    """Why there is no measurement, and the status that says so."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Asked(NamedTuple):
    """What is asked for, and the same as the form's fields."""

    norm: "Norm"
    shape: tuple[int, ...]
    storage: str
    fields: dict[str, str]


def read(query: str) -> Asked:
    """What a query asks for.

    >>> read("shape=2,4,8&norm=rms_norm&affine=scale&storage=float32&eps=1e-6").shape
    (2, 4, 8)

    Raises StateError for a query that no button makes.
    """
    given = {name: value for name, value in parse_qsl(query) if name != "patch"}
    if given.keys() - set(FIELDS) or given.get("norm") not in KINDS or given.get("affine") not in AFFINES:
        raise StateError("this address asks for no measurement.")
    try:
        shape = tuple(int(size) for size in given["shape"].split(","))
        return Asked(_norm(given["norm"], given["affine"], given.get("eps")), shape, given["storage"], given)
    except (KeyError, ValueError) as error:
        raise StateError(f"this address asks for no measurement: {error}") from None


def _norm(kind: str, affine: str, eps: str | None) -> "Norm":
    from ..norm import layer_norm, rms_norm

    given = {"eps": eps, "elementwise_affine": affine != "none"}
    return rms_norm(**given) if kind == "rms_norm" else layer_norm(**given, bias=affine == "both")  # type: ignore[arg-type]


def arguments(asked: Asked) -> list[str]:
    """The command that makes the measurement."""
    fields = asked.fields
    x = ["--shape", fields["shape"], "--dtype", asked.storage]
    norm = [
        "--norm",
        fields["norm"],
        *AFFINES[fields["affine"]],
        *(["--eps", fields["eps"]] if "eps" in fields else []),
    ]
    return ["measure", "--json", *x, *norm, "--time", str(SECONDS), "--memory", str(MOST_BYTES // 2**20)]


class Measuring:
    """The endpoint: one measurement at a time."""

    def __init__(self) -> None:
        self._is_busy = False

    async def answer(self, request: "Request") -> "Response":
        """The measurement, or why there is none, as a part of the page or as a page of its own."""
        query = request.scope["query_string"].decode("latin-1")
        fields, status = {}, 200
        try:
            if request.method != "GET" or request.headers.get("sec-fetch-site", "none") not in OURS:
                raise Refused(403, ELSEWHERE)
            asked = read(query)
            fields = asked.fields
            body = measured.drawing(await self._measured(asked, request))
        except Refused as refused:
            status, body = refused.status, el("p", str(refused), class_="bad")
        except NormscopeError as error:
            status, body = 400, el("p", str(error), class_="bad")
        return _response(status, fields, body, "patch=" in query)

    async def _measured(self, asked: Asked, request: "Request") -> dict[str, Any]:
        _bounded(asked)
        if self._is_busy:
            raise Refused(409, BUSY)
        self._is_busy = True
        try:
            return await _run(arguments(asked), request)
        finally:
            self._is_busy = False


def _bounded(asked: Asked) -> None:
    """Refuse what would hold too much memory."""
    from ..kernels import limits

    free = available()
    most = MOST_BYTES if free is None else min(MOST_BYTES, free // 2)
    if why := limits.refusal(limits.checked(asked.shape, asked.norm, asked.storage), most):
        raise Refused(413, f"The lab does not measure this: {why}")


async def _run(words: list[str], request: "Request") -> dict[str, Any]:
    """What the command prints; its process is ended when it is too late or nobody waits."""
    pipe = asyncio.subprocess.PIPE
    run = (sys.executable, "-P", "-c", COMMAND, *words)
    process = await asyncio.create_subprocess_exec(*run, stdout=pipe, stderr=pipe)
    try:
        out, told = await _communicated(process, request)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise Refused(500, told.decode(errors="replace").strip().rpartition("\n")[2] or "The measurement broke off.")
    data: dict[str, Any] = json.loads(out)
    return data


async def _communicated(process: asyncio.subprocess.Process, request: "Request") -> tuple[bytes, bytes]:
    """What it writes, unless it takes too long or the page is left."""
    work = asyncio.ensure_future(process.communicate())
    try:
        for _ in range(round(LONGEST / LOOK)):
            done, _pending = await asyncio.wait([work], timeout=LOOK)
            if done:
                return work.result()
            if await request.is_disconnected():
                raise Refused(499, GONE)
    finally:
        work.cancel()
    raise Refused(504, f"The measurement took more than {LONGEST:g} s and was ended; take a smaller x.")


def _response(status: int, fields: Mapping[str, str], body: Html, is_part: bool) -> "Response":
    from starlette.responses import Response

    from ..lessons.shell import document

    asking = place.form(fields, "Measure again") if fields else group()
    drawn = place.section(asking, el("div", body, class_="result", role="group", aria_label="Measurement"))
    text = str(drawn) if is_part else document("Measured", el("main", drawn, id="main", class_="lesson"), place.PATH)
    headers = {"Cache-Control": "no-store", "Content-Type": "text/html; charset=utf-8"}
    return Response(text, status, headers)
