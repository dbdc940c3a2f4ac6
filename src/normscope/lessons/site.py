"""Every page as a pure function of its address and the tensors at hand."""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ..errors import StateError
from ..page.html import Html, changed, el
from . import sheet
from .axes_lab import page as axes_lab
from .home import home, missing, unreadable
from .inside import page as inside
from .lesson import Lesson
from .museum import page as museum
from .precision import page as precision
from .shell import document
from .sources import Source
from .state import split
from .wiring import page as wiring

HTML = "text/html; charset=utf-8"
PAGES = (axes_lab, inside, precision, museum, wiring, sheet)
LESSONS: Mapping[str, Lesson] = {page.LESSON.path: page.LESSON for page in PAGES}
NONE: Mapping[str, Source] = {}

Answer = tuple[int, str, str]
Named = tuple[tuple[str, Source], ...]


def respond(path: str, query: str, sources: Mapping[str, Source] = NONE) -> Answer:
    """The answer to a GET: status, type and body.

    path     "/", or a lesson's
    query    the state, `do=FIELD:VALUE` for every action, and `patch=WAS` where only what differs from the
             drawing of WAS is wanted: then the first line is the new state, the rest the changed regions
    sources  the tensors that the server was started with, by the names that a state may use

    >>> status, kind, body = respond("/inside", "v=1&step=mu")
    >>> status, "<h1>Inside LayerNorm</h1>" in body
    (200, True)
    >>> respond("/inside", "v=1&do=step:q&patch=")[2].splitlines()[0]
    'v=1&step=q'
    """
    if path == "/":
        return 200, HTML, document("Normscope", home(sources), path)
    if path not in LESSONS:
        return 404, HTML, document("No such page", missing(path))
    lesson, named = LESSONS[path], tuple(sources.items())
    try:
        asked = split(query)
        state = lesson.state_of(asked, sources)
    except StateError as error:
        return 400, HTML, document("Unreadable address", unreadable(str(error), path))
    if asked.patch is None:
        return 200, HTML, document(lesson.title, _main(lesson, state, named), path)
    was = asked.patch or query.partition("&do=")[0]
    return 200, HTML, _patch(lesson, state, was, named)


@lru_cache(maxsize=32)
def _drawn(lesson: Lesson, state: Any, named: Named) -> Html:
    """A state's drawing; kept, since the next patch starts from it."""
    return lesson.draw(state, dict(named))


def _main(lesson: Lesson, state: Any, named: Named) -> Html:
    feeds = json.dumps(lesson.feeds(state, dict(named)), separators=(",", ":"))
    query = lesson.canonical(state)
    return el("main", _drawn(lesson, state, named), id="main", class_="lesson", data_query=query, data_feeds=feeds)


def _patch(lesson: Lesson, state: Any, was: str, named: Named) -> str:
    """The new state and the regions that differ; the whole main element where the layout differs."""
    try:
        regions = changed(_drawn(lesson, _state(lesson, was, named), named), _drawn(lesson, state, named))
    except StateError:
        regions = None
    pieces = [str(_main(lesson, state, named))] if regions is None else [region.html for region in regions]
    # Each in a template of its own: a bare <tr> is lost where HTML is parsed behind a <div>.
    body = "".join(f"<template>{piece}</template>" for piece in pieces)
    return f"{lesson.canonical(state)}\n{body}"


def _state(lesson: Lesson, query: str, named: Named) -> Any:
    return lesson.state_of(split(query), dict(named))
